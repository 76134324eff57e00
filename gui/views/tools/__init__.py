"""Pending tokens, the journal and the drafts."""
