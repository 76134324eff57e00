"""Damage planted by the hundred, and clean documents by the hundred thousand: what a scan must find, and must not."""
