"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-vermongo/dist"), { collection: "items.vermongo", mongoose });
}, { remove: true });
