"""The editor of one document: fields, JSON, drafts, saving."""
