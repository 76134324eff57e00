"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-version"), { strategy: "collection", collection: "items_versions", mongoose });
}, { remove: true });
