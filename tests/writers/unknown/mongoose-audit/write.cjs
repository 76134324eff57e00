"use strict";

require("../../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("@sliit-foss/mongoose-audit").plugin, { getUser: () => "ana" });
}, { remove: true });
