"""The manual in a window of its own: its topics, its pages, and finding words in all of them."""
