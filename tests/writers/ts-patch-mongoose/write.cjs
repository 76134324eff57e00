"use strict";

require("../mongoose_items.cjs")(__dirname, (schema, mongoose, load) => {
  schema.plugin(load("ts-patch-mongoose").patchHistoryPlugin, {
    eventCreated: "created",
    eventUpdated: "updated",
    eventDeleted: "deleted",
    getUser: async () => ({ name: "ana" }),
    getReason: async () => "asked for",
  });
}, { remove: true, schema: { timestamps: true } });
