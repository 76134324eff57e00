// Submits operations of the type json0, with a milestone every ten.
"use strict";

const { createRequire } = require("module");
const { Scenario, COUNT, STATES, SEED } = require("../scenario.cjs");

const load = createRequire(`${process.env.MODULES}/package.json`);
const { EJSON } = load("told");
const ShareDB = load("sharedb");
const { MongoClient } = load("mongodb");

const promised = (call) => new Promise((done, failed) => call((error, value) => (error ? failed(error) : done(value))));
const connect = (callback) => MongoClient.connect(process.env.MONGO).then((client) => callback(null, client), callback);

function operation(state, scenario) {
  const { title, tags, lines, address } = state;
  const at = scenario.int(title.length);
  const plain = /^[ -~]*$/.test(title);
  return scenario.pick([
    () => [{ p: ["title"], od: title, oi: scenario.words(3) }],
    () => [{ p: ["stock"], na: 1 + scenario.int(4) }],
    () => [{ p: ["tags", tags.length], li: scenario.pick(["x", "y", "z"]) }],
    () => (tags.length ? [{ p: ["tags", 0], ld: tags[0] }] : []),
    () => [{ p: ["lines", 0], li: scenario.line() }],
    () => (lines.length > 1 ? [{ p: ["lines", 0], lm: lines.length - 1 }] : []),
    () => (plain ? [{ p: ["title", at], si: "qq" }, { p: ["title", at + 2], sd: title.slice(at, at + 1) }] : []),
    () => [{ p: ["address", "city"], od: address.city, oi: scenario.pick(["a", "b"]) }],
  ])();
}

async function main() {
  const backend = new ShareDB({
    db: new (load("sharedb-mongo"))({ mongo: connect }),
    milestoneDb: new (load("sharedb-milestone-mongo"))({ mongo: connect, interval: 10 }),
  });
  const connection = backend.connect();
  const stored = (await MongoClient.connect(process.env.MONGO)).db("shop").collection("items");
  const tell = async (id, kind) => {
    const state = await stored.findOne({ _id: id });
    console.log(EJSON.stringify({ ns: "shop.items", id, kind, state }, { relaxed: false }));
  };
  const scenario = new Scenario(SEED);
  for (let number = 0; number < COUNT; number++) {
    const document = connection.get("items", `K-${number}`);
    const { text, ...first } = JSON.parse(JSON.stringify(scenario.first()));
    await promised((done) => document.create(first, done));
    await tell(document.id, "created");
    for (let left = 1 + scenario.int(STATES); left > 0; left--) {
      const made = operation(document.data, scenario);
      if (!made.length) continue;
      await promised((done) => document.submitOp(made, done));
      await tell(document.id, "saved");
    }
    if (number % 5 === 4) {
      await promised((done) => document.del(done));
      await tell(document.id, "removed");
    }
  }
  await new Promise((done) => setTimeout(done, 500)); // milestones are written behind an operation
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
