// Commits the events of some streams, several at a time, and a snapshot now and then.
"use strict";

const { createRequire } = require("module");
const { Scenario, COUNT, STATES, SEED } = require("../../scenario.cjs");

const load = createRequire(`${process.env.MODULES}/package.json`);
const store = load("eventstore")({ type: "mongodb", url: `${process.env.MONGO}&useUnifiedTopology=true`, options: {} });
const scenario = new Scenario(SEED);

const promised = (ask) => new Promise((done, failed) => ask((error, value) => (error ? failed(error) : done(value))));

async function commit(id, first) {
  const stream = await promised((said) => store.getEventStream({ aggregateId: id, aggregate: "item", context: "shop" }, said));
  const events = Array.from({ length: 1 + scenario.int(4) }, (_, at) =>
    first && at === 0
      ? { event: "created", payload: { title: scenario.words(2), price: scenario.int(90) } }
      : scenario.pick([
          { event: "renamed", payload: { title: scenario.words(2) } },
          { event: "priceChanged", payload: { price: scenario.int(90) } },
        ]),
  );
  stream.addEvents(events);
  const stored = await promised((said) => stream.commit(said));
  if (scenario.int(3) === 0) {
    const data = { title: scenario.words(2), price: scenario.int(90) };
    await promised((said) =>
      store.createSnapshot({ streamId: id, aggregate: "item", context: "shop", data, revision: stored.lastRevision, version: 1 }, said),
    );
  }
}

async function write() {
  await promised((said) => store.init(said));
  for (let number = 0; number < COUNT; number++) {
    for (let at = 0; at < 1 + scenario.int(STATES); at++) await commit(`item-${number}`, at === 0);
  }
}

write().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
