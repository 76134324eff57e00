"""Documents and values as bytes, on which the whole model is built."""
