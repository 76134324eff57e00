"""The rows of a comparison: grouped, fetched when they are reached, drawn, copied."""
