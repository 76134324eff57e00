"""Collections over time: who changed what, and how they stood at a moment."""
