"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("ts-patch-mongoose").patchHistoryPlugin, {
    eventCreated: "created",
    eventUpdated: "updated",
    eventDeleted: "deleted",
    getUser: async () => ({ name: "ana" }),
    getReason: async () => "asked for",
  });
}, {
  remove: true,
  schema: { timestamps: true },
  read: async (Item, document, mongoose, load) => {
    const rows = mongoose.connection.db.collection("history").find({ collectionId: document._id }).sort({ createdAt: 1 });
    const states = [];
    for await (const row of rows) {
      const before = states.length ? states[states.length - 1] : JSON.parse(JSON.stringify(row.doc));
      states.push(load("fast-json-patch").applyPatch(before, row.patch, true, false).newDocument);
    }
    return states;
  },
});
