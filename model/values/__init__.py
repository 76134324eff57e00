"""Documents and values as bytes: the ground of the whole model."""
