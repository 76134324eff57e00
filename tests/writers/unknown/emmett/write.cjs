// Appends events to streams, each of which is one document.
"use strict";

const { createRequire } = require("module");
const { Scenario, COUNT, STATES, SEED } = require("../../scenario.cjs");

const load = createRequire(`${process.env.MODULES}/package.json`);
const { getMongoDBEventStore } = load("@event-driven-io/emmett-mongodb");
const { MongoClient } = load("mongodb");
const scenario = new Scenario(SEED);

async function write() {
  const client = await new MongoClient(process.env.MONGO).connect();
  const store = getMongoDBEventStore({ client });
  for (let number = 0; number < COUNT; number++) {
    await store.appendToStream(`item:${number}`, [{ type: "ItemCreated", data: { title: scenario.words(2), price: 1 } }]);
    for (let left = scenario.int(STATES); left > 0; left--) {
      await store.appendToStream(`item:${number}`, [{ type: "PriceChanged", data: { price: scenario.int(90) } }]);
    }
  }
}

write().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
