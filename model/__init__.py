"""Versioned documents in MongoDB: read, compare, merge and write, without a window."""
