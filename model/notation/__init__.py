"""Extended JSON read and written, and values shown to people and typed by them; ``model.text`` is the door."""
