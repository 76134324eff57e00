"""Real histories exported to git and imported again: byte for byte equal in every layout that keeps versions."""
