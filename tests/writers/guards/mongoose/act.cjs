// Creates, reads and saves items as mongoose does, one command a line; the answer to each is one line.
"use strict";

const { createRequire } = require("module");
const readline = require("readline");

const load = createRequire(`${process.env.MODULES}/package.json`);
const mongoose = load("mongoose");
const line = new mongoose.Schema({ sku: String, qty: Number }, { _id: false });
const Item = mongoose.model("Item", new mongoose.Schema({ _id: String, title: String, lines: [line] }), "items");
const held = new Map(); // who -> the document as it was read

const commands = {
  async create(id, ...skus) {
    await new Item({ _id: id, title: "new", lines: skus.map((sku) => ({ sku, qty: 0 })) }).save();
    return "done";
  },
  async read(who, id) {
    held.set(who, await Item.findById(id));
    return "done";
  },
  async save(who, sku) {
    const item = held.get(who);
    const at = item.lines.findIndex((each) => each.sku === sku);
    item.lines[at].qty += 1; // mongoose sends lines.<at>.qty
    try {
      await item.save();
      return "saved";
    } catch (error) {
      return `${error.name} ${error.message.split("\n")[0]}`;
    }
  },
};

async function main() {
  await mongoose.connect(process.env.MONGO);
  console.log("ready");
  for await (const said of readline.createInterface({ input: process.stdin })) {
    const [name, ...words] = said.split(" ");
    console.log(await commands[name](...words));
  }
  await mongoose.disconnect();
}

main().then(
  () => process.exit(0),
  (error) => {
    console.error(error);
    process.exit(1);
  },
);
