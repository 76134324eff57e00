// Saves posts with drafts, pages without, and a global, through Payload's own programming interface.
import { createRequire } from "module";

const { Scenario, COUNT, STATES, SEED } = createRequire(import.meta.url)("../scenario.cjs");
const load = createRequire(`${process.env.MODULES}/package.json`);
const { EJSON } = load("told");
const { buildConfig, getPayload } = await import(`${process.env.MODULES}/node_modules/payload/dist/index.js`);
const { mongooseAdapter } = await import(`${process.env.MODULES}/node_modules/@payloadcms/db-mongodb/dist/index.js`);

const text = (name) => ({ name, type: "text" });
const number = (name) => ({ name, type: "number" });
const config = buildConfig({
  secret: "none",
  telemetry: false,
  db: mongooseAdapter({ url: process.env.MONGO, transactionOptions: false }),
  collections: [
    {
      slug: "posts",
      versions: { drafts: true, maxPerDoc: 0 },
      fields: [
        text("title"), number("price"), number("stock"), { name: "active", type: "checkbox" },
        { name: "due", type: "date" }, { name: "address", type: "group", fields: [text("street"), text("city")] },
        { name: "lines", type: "array", fields: [text("sku"), number("qty"), text("note")] },
        { name: "text", type: "textarea" },
      ],
    },
    { slug: "pages", versions: { maxPerDoc: 0 }, fields: [text("title"), number("stock")] },
  ],
  globals: [
    { slug: "header", versions: { max: 0 }, fields: [text("title"), number("stock")] },
    { slug: "footer", versions: { max: 0, drafts: true }, fields: [text("title"), number("stock")] },
  ],
});
const payload = await getPayload({ config });
const db = payload.db.connection.db;
const objectId = (id) => new payload.db.connection.base.Types.ObjectId(id);
const scenario = new Scenario(SEED);

async function tell(collection, id, kind) {
  const state = await db.collection(collection).findOne({ _id: objectId(id) });
  console.log(EJSON.stringify({ ns: `shop.${collection}`, id: objectId(id), kind, state }, { relaxed: false }));
}

async function tellGlobal(globalType, kind) {
  const { _id } = await db.collection("globals").findOne({ globalType });
  await tell("globals", String(_id), kind);
}

for (let post = 0; post < COUNT; post++) {
  const { tags, ...first } = scenario.first();
  let saved = await payload.create({ collection: "posts", data: { ...first, due: first.due.toISOString(), _status: "published" } });
  await tell("posts", saved.id, "created");
  for (let left = 1 + scenario.int(STATES); left > 0; left--) {
    const { id, createdAt, updatedAt, tags: none, ...data } = scenario.change({ ...saved, tags: [] });
    const draft = scenario.random() < 0.3;
    data.due = new Date(data.due).toISOString();
    saved = await payload.update({ collection: "posts", id, data: { ...data, _status: draft ? "draft" : "published" }, draft });
    await tell("posts", id, draft ? "draft" : "saved");
  }
  if (post % 5 === 4) {
    await payload.delete({ collection: "posts", id: saved.id });
    await tell("posts", saved.id, "purged");
  }
}
for (let page = 0; page < 4; page++) {
  let saved = await payload.create({ collection: "pages", data: { title: scenario.words(2), stock: 1 } });
  await tell("pages", saved.id, "created");
  for (let stock = 2; stock < 8; stock++) {
    saved = await payload.update({ collection: "pages", id: saved.id, data: { stock, title: scenario.words(2) } });
    await tell("pages", saved.id, "saved");
  }
}
for (let stock = 0; stock < 5; stock++) {
  await payload.updateGlobal({ slug: "header", data: { title: scenario.words(2), stock } });
  await tellGlobal("header", stock ? "saved" : "created");
}
for (let stock = 0; stock < 7; stock++) {
  const draft = stock === 3 || stock === 6;
  const data = { title: scenario.words(2), stock, _status: draft ? "draft" : "published" };
  await payload.updateGlobal({ slug: "footer", data, draft });
  await tellGlobal("footer", draft ? "draft" : stock ? "saved" : "created");
}
process.exit(0);
