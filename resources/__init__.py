"""Icons and other files that the program ships."""
