"use strict";

require("../../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-user-history-plugin").default || load("mongoose-user-history-plugin"));
}, { remove: true });
