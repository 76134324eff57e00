"""The document list of a collection."""
