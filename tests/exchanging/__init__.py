"""Real histories taken out to git and brought back in: equal to the byte in every layout that keeps versions."""
