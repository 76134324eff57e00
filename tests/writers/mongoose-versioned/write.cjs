"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-versioned"), { collection: "items.versioning", mongoose });
}, { remove: true });
