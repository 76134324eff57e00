"""Programs that lock optimistically, and edits by the product between their reading and saving."""
