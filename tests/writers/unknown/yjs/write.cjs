// Stores the updates of texts that several people edit, as y-mongodb-provider keeps them.
"use strict";

const { createRequire } = require("module");
const { Scenario, COUNT, STATES, SEED } = require("../../scenario.cjs");

const load = createRequire(`${process.env.MODULES}/package.json`);
const Y = load("yjs");
const { MongodbPersistence } = load("y-mongodb-provider");
const scenario = new Scenario(SEED);

async function write() {
  const store = new MongodbPersistence(process.env.MONGO, { collectionName: "transactions" });
  for (let number = 0; number < COUNT; number++) {
    const document = new Y.Doc();
    const updates = [];
    document.on("update", (update) => updates.push(update));
    for (let left = 1 + scenario.int(STATES); left > 0; left--) document.getText("text").insert(0, scenario.words(1));
    for (const update of updates) await store.storeUpdate(`text-${number}`, update);
    await store.setMeta(`text-${number}`, "owner", "ana");
  }
}

write().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
