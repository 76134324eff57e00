"""Numbers of bytes as people read them."""

from __future__ import annotations


def size_text(count: int) -> str:
    """A number of bytes as people read it: ``812 B``, ``2.9 KB``, ``15.1 MB``."""
    if count < 1024:
        return f"{count} B"
    number, unit = count / 1024, "KB"
    if number >= 1024:
        number, unit = number / 1024, "MB"
    return f"{number:.1f} {unit}"
