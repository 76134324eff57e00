"""The catalogue of the window's texts, kept in step with the code."""
