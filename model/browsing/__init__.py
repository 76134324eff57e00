"""Facts about a collection for whoever looks through it: its fields and types, its indexes, and the way of a query."""
