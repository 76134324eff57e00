"use strict";

require("../../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  const trackedFields = ["title", "price", "stock", "active", "due", "tags", "text"].map((value) => ({ value }));
  schema.plugin(load("mongoose-log-history").changeLoggingPlugin, { modelName: "item", trackedFields, saveWholeDoc: true });
}, { remove: true });
