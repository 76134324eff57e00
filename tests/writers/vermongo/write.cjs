"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-vermongo/dist"), { collection: "items.vermongo", mongoose });
}, {
  remove: true,
  read: async (Item, document) => {
    const rows = await Item.VersionedModel.find({ "_id._id": document._id }).sort({ _version: 1 });
    return [...rows, document];
  },
});
