"""Histories as files: in a git repository, in a folder or as lines of JSON, for other programs and to be read back."""
