"""Which layout each collection has, and on what grounds."""
