"""Three documents walked together, and what is decided where they meet; ``model.merge`` is the door."""
