"""The command line: ``palimpsest COMMAND …``, without Qt and without a display."""
