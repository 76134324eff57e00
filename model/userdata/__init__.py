"""The files on the person's computer: journal, drafts, saved connections, locks."""
