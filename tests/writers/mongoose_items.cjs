// Saves items through a mongoose plugin and prints the stored document behind every save. With ROUND it goes on with the
// items that are there: it prints the states that the plugin reads, brings an earlier one back, and saves on.
"use strict";

const { createRequire } = require("module");
const { Scenario, COUNT, STATES, SEED } = require("./scenario.cjs");

const FIELDS = ["title", "price", "stock", "active", "due", "tags", "address", "lines", "text"];
const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// plug(schema, mongoose, require) adds the library to the schema; options: before(document, scenario), remove, schema,
// after(mongoose), once all is written, and read(Item, document, mongoose, require), which gives all states from the
// oldest to the one that the document has.
module.exports = function run(folder, plug, options = {}) {
  const work = process.env.ROUND ? goOn : write;
  work(folder, plug, options).then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
};

async function connected(plug, options) {
  const load = createRequire(`${process.env.MODULES}/package.json`);
  const mongoose = load("mongoose");
  const { EJSON } = load("told");
  const major = parseInt(mongoose.version, 10);
  const line = new mongoose.Schema({ sku: String, qty: Number, note: String });
  const schema = new mongoose.Schema(
    {
      title: String, price: Number, stock: Number, active: Boolean, due: Date, tags: [String],
      address: { street: String, city: String }, lines: [line], text: String,
    },
    options.schema || {},
  );
  plug(schema, mongoose, load);
  const Item = mongoose.model("Item", schema, "items");
  await mongoose.connect(process.env.MONGO, major < 6 ? { useNewUrlParser: true, useUnifiedTopology: true } : {});
  const stored = mongoose.connection.db.collection("items");
  const tell = async (id, kind) => {
    const state = await stored.findOne({ _id: id });
    console.log(EJSON.stringify({ ns: "shop.items", id, kind, state }, { relaxed: false }));
  };
  const scenario = new Scenario(SEED);
  const before = options.before || (() => {});
  const save = async (document) => {
    if (!document.isModified()) return;
    before(document, scenario);
    await document.save();
    await tell(document._id, "saved");
    await new Promise((done) => setTimeout(done, 2)); // their clocks count milliseconds
  };
  const change = async (id) => {
    const document = await Item.findById(id);
    const was = JSON.parse(JSON.stringify(document.toObject()));
    const now = scenario.change({ ...was, due: new Date(was.due) });
    FIELDS.filter((name) => !same(was[name], now[name])).forEach((name) => document.set(name, now[name]));
    await save(document);
  };
  const print = (line) => console.log(EJSON.stringify(line, { relaxed: false }));
  return { Item, mongoose, load, tell, print, scenario, before, save, change };
}

async function goOn(folder, plug, options) {
  const { Item, mongoose, load, print, scenario, save, change } = await connected(plug, options);
  const bare = (state) => JSON.parse(JSON.stringify(state, (name, value) => (name === "_id" ? undefined : value)));
  const plain = (state) => JSON.parse(JSON.stringify(state));
  for (const { _id: id } of await Item.find({}, { _id: 1 }).sort({ _id: 1 })) {
    const document = await Item.findById(id);
    const states = (await options.read(Item, document, mongoose, load)).map((state) =>
      Object.fromEntries(FIELDS.filter((name) => name in plain(state)).map((name) => [name, plain(state)[name]])),
    );
    print({ ns: "shop.items", id, kind: "read", state: states });
    const old = states[scenario.int(states.length)] || {};
    FIELDS.filter((name) => name in old && !same(bare(document.toObject())[name], bare(old)[name])).forEach((name) =>
      document.set(name, name === "address" ? { ...plain(document.toObject()).address, ...old.address } : old[name]),
    );
    await save(document);
    await change(id);
  }
  await new Promise((done) => setTimeout(done, 300)); // what a library writes behind a save
}

async function write(folder, plug, options) {
  const { Item, mongoose, tell, scenario, before, change } = await connected(plug, options);
  for (let number = 0; number < COUNT; number++) {
    const item = new Item(scenario.first());
    before(item, scenario);
    await item.save();
    await tell(item._id, "created");
    for (let left = 1 + scenario.int(STATES); left > 0; left--) await change(item._id);
    if (options.remove && number % 5 === 4) {
      const document = await Item.findById(item._id);
      before(document, scenario);
      await (document.remove ? document.remove() : document.deleteOne());
      await tell(item._id, "removed");
    }
  }
  await new Promise((done) => setTimeout(done, 300)); // what a library writes behind a save
  if (options.after) await options.after(mongoose);
}
