"""Two documents walked, aligned and patched as bytes; ``model.diff`` is the door."""
