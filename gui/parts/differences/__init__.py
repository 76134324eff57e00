"""The rows of a comparison: grouped, fetched as they are reached, drawn, copied."""
