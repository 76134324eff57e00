"""The views, one room each; none imports another."""
