"""Readers, writers, ids, guards and numbering, of which layouts are composed."""
