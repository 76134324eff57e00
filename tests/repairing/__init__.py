"""Repairs tested: each class planted, repaired, killed on the way, beside living writers, and undone."""
