"""Work over many documents: batches, migration, taking back, import."""
