"""Documents and values as bytes: what the whole model stands on."""
