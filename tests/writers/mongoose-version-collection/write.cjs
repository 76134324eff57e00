"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-version"), { strategy: "collection", collection: "items_versions", mongoose });
}, {
  remove: true,
  read: (Item, document) => Item.VersionedModel.find({ refId: document._id }).sort({ refVersion: 1, _id: 1 }),
});
