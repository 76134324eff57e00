"use strict";

const { omit, metadata, expired } = JSON.parse(process.env.OPTIONS || "{}");

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("ts-patch-mongoose").patchHistoryPlugin, {
    eventCreated: "created",
    eventUpdated: "updated",
    eventDeleted: "deleted",
    omit,
    getUser: async () => ({ name: "ana" }),
    getReason: async () => "asked for",
    getMetadata: metadata ? async () => metadata : undefined,
  });
}, {
  remove: true,
  schema: { timestamps: true },
  // What a server deletes by the index that setPatchHistoryTTL makes: all rows up to a time.
  after: expired && (async (mongoose) => {
    const history = mongoose.connection.db.collection("history");
    const rows = await history.find().sort({ createdAt: 1 }).toArray();
    await history.deleteMany({ createdAt: { $lt: rows[Math.floor(rows.length * expired)].createdAt } });
  }),
  read: async (Item, document, mongoose, load) => {
    const rows = mongoose.connection.db.collection("history").find({ collectionId: document._id }).sort({ createdAt: 1 });
    const states = [];
    for await (const row of rows) {
      if (!row.doc && !states.length) return []; // the rows before it have expired
      const before = states.length ? states[states.length - 1] : JSON.parse(JSON.stringify(row.doc));
      states.push(load("fast-json-patch").applyPatch(before, row.patch, true, false).newDocument);
    }
    return states;
  },
});
