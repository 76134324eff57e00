"""One value whole: wrapped text, bytes, pictures."""
