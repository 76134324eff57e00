"""The timeline of one document."""
