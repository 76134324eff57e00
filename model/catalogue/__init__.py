"""Finds out which layout each collection has, and why."""
