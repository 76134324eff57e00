"""What each action of the program needs of a server, and how it ends on servers that people really use."""
