"""Work over many documents: batches, migration, taking back changes, import."""
