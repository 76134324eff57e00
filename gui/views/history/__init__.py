"""All versions of one document: the change map, and the blame."""
