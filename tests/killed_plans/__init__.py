"""Plans whose process is killed at every write."""
