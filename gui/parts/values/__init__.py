"""A single whole value: wrapped text, bytes, pictures."""
