"""What makes the window start fast."""
