"""Processes that edit one document through ``palimpsest edit`` while a proxy cuts their connections."""
