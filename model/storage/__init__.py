"""Readers, writers, ids, guards and numbering, from which layouts are composed."""
