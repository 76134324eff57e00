"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("mongoose-patch-history").default, { mongoose, name: "itemPatches" });
}, {
  read: async (Item, document) => {
    const patches = await Item.Patches.find({ ref: document._id }).sort({ date: 1 });
    const states = [];
    for (const patch of patches.slice(0, -1)) {
      const again = await Item.findById(document._id);
      await again.rollback(patch.id, {}, false);
      states.push(again.toObject());
    }
    return [...states, document.toObject()];
  },
});
