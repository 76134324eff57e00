"""The sheet in which a person states a collection's layout, with a preview of the result."""
