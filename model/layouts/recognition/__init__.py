"""The evidence for a layout in the data: samples, names, keys, chains, pairs of collections."""
