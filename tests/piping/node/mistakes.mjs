// Nine ways of saving that articles recommend: node mistakes.mjs MODULES NAME EDITS ID, as mistakes.py has them.
import { createRequire } from "node:module";

const [modules, name, edits, id] = process.argv.slice(2);
const { MongoClient, MongoNetworkError, ObjectId } = createRequire(`${modules}/`)("mongodb");
const WRITERS = 3, TRIES = 6, DUPLICATE = 11000;
const client = new MongoClient(process.env.PALIMPSEST_PIPE, { retryWrites: false, minHeartbeatFrequencyMS: 20 });
const db = client.db("shop"), docs = db.collection("docs"), past = db.collection("docs_past");

const lost = (error) => error instanceof MongoNetworkError || error.name === "MongoPoolClearedError";

async function twice(send) {
  try {
    return await send();
  } catch (error) {
    if (!lost(error)) throw error;
    return send();
  }
}

async function read(ask) {
  for (let n = 0; n < 20; n++) {
    try {
      return await ask();
    } catch (error) {
      if (!lost(error)) throw error;
    }
  }
  throw new Error("the pipe does not answer");
}

const newest = (id) => read(() => docs.findOne({ docId: id }, { sort: { v: -1 } }));
const stored = (id) => read(() => docs.findOne({ _id: id }));
const bare = ({ _id, ...rest }) => rest;
const marked = (doc, mark) => ({ ...bare(doc), v: doc.v + 1, [mark]: (doc[mark] ?? 0) + 1 });

async function insert(into, doc) {
  try {
    await into.insertOne(bare(doc));
    return true;
  } catch (error) {
    if (error.code === DUPLICATE) return false;
    throw error;
  }
}

const swap = async (id, base, mark) =>
  (await twice(() => docs.replaceOne({ _id: id, v: base.v }, marked(base, mark)))).matchedCount > 0;

const MISTAKES = {
  "duplicate-is-success": async (id, mark) => {
    const doc = marked(await newest(id), mark);
    try {
      return await insert(docs, doc);
    } catch (error) {
      if (!lost(error)) throw error;
      await insert(docs, doc);
      return true; // "a duplicate: it must have been mine"
    }
  },
  flagged: async (id, mark) => {
    const base = await newest(id);
    if (!(await twice(() => insert(docs, { ...marked(base, mark), current: true })))) return false;
    await twice(() => docs.updateOne({ docId: id, v: base.v }, { $unset: { current: "" } }));
    return true;
  },
  embedded: async (id, mark) => {
    const base = (await stored(id)).current;
    const change = { $set: { current: marked(base, mark) }, $push: { prev: base } };
    return (await twice(() => docs.updateOne({ _id: id, "current.v": base.v }, change))).matchedCount > 0;
  },
  "current-first": async (id, mark) => {
    const base = await stored(id);
    if (!(await swap(id, base, mark))) return false;
    await twice(() => insert(past, { ...base, docId: id }));
    return true;
  },
  "archive-inserted": async (id, mark) => {
    const base = await stored(id);
    return (await twice(() => insert(past, { ...base, docId: id }))) && swap(id, base, mark);
  },
  "archive-set": async (id, mark) => {
    const base = await stored(id), { _id, v, ...body } = base;
    await twice(() => past.updateOne({ docId: id, v }, { $set: { ...body, docId: id } }, { upsert: true }));
    return swap(id, base, mark);
  },
  "raised-twice": async (id, mark) => {
    await twice(() => docs.updateOne({ _id: id }, { $inc: { [mark]: 1 } }, { upsert: true }));
    return true;
  },
  "two-steps": async (id, mark) => {
    const token = new ObjectId();
    await twice(() => docs.updateOne({ _id: id }, { $addToSet: { pending: token } }, { upsert: true }));
    const change = { $pull: { pending: token }, $inc: { [mark]: 1 } };
    await twice(() => docs.updateOne({ _id: id, pending: token }, change));
    return true;
  },
  replaced: async (id, mark) => {
    const doc = await stored(id);
    await twice(() => docs.replaceOne({ _id: id }, { ...bare(doc), [mark]: (doc[mark] ?? 0) + 1 }));
    return true;
  },
};

async function write(mark) {
  for (let number = 0; number < Number(edits); number++) {
    let told = "unknown";
    try {
      for (let n = 0; n < TRIES && told === "unknown"; n++) if (await MISTAKES[name](id, mark)) told = "applied";
    } catch (error) {
      if (!lost(error)) throw error;
    }
    await read(() => db.command({ ping: 1, comment: { told, ns: "shop.docs", id, inc: { [mark]: 1 } } }));
  }
}

await Promise.all(Array.from({ length: WRITERS }, (_, n) => write(`w${n}`)));
await client.close();
