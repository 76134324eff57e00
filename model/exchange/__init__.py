"""Histories as files: a git repository, a folder, or lines of JSON, for other programs and for import."""
