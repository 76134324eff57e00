"""Programs that lock optimistically, and edits of the product between their reading and their saving."""
