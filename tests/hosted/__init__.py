"""What each action of the program needs of a server, and what becomes of it on servers that people really have."""
