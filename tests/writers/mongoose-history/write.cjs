"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-history"), { mongoose });
}, {
  remove: true,
  read: async (Item, document) => {
    const rows = await Item.historyModel().find({ "d._id": document._id }).sort({ t: 1 });
    return rows.map((row) => row.d);
  },
});
