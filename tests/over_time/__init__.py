"""Activity and past states against an oracle that remembers every edit, over all layouts and beside other programs."""
