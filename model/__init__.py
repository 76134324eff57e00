"""Versioned documents in MongoDB: read, compare, merge and write, without a window."""

__version__ = "0.1.0"
