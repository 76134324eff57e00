"""Two versions beside each other."""
