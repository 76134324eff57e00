"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-diff-history/diffHistory").plugin);
},
  {
    before: (document, scenario) => {
      document.__user = scenario.pick(["ana", "ben"]);
      document.__reason = scenario.words(2);
    },
  },
);
