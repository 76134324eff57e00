"""The window's own parts around the pages: title row, sidebar, tabs, welcome, connecting, settings."""
