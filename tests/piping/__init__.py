"""Programs of three languages behind the pipe: published mistakes that it convicts, and code that it lets pass."""
