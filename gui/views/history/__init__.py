"""All versions of one document: the change map, and who set what."""
