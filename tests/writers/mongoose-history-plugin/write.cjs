"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-history-plugin")({ mongoose }));
},
  {
    before: (document, scenario) => {
      document.__history = { event: scenario.pick(["edited", "imported"]), reason: scenario.words(2), method: "save" };
    },
  },
);
