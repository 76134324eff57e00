"use strict";

require("../../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-version-history"));
}, { remove: true });
