"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-versioned"), { collection: "items.versioning", mongoose });
}, {
  remove: true,
  read: async (Item, document) => {
    const numbers = Array.from({ length: document._version }, (_, number) => number + 1);
    return Promise.all(numbers.map((number) => Item.findVersion(document._id, number, Item)));
  },
});
