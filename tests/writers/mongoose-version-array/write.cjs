"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-version"), { strategy: "array", collection: "versions", mongoose });
}, {
  remove: true,
  read: async (Item, document) => (await Item.VersionedModel.findOne({ refId: document._id })).versions,
});
