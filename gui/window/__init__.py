"""The window and its own parts: title row, sidebar, tabs, welcome, connecting, settings."""
