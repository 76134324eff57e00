"""The encoding of a text out of its first bytes: UTF-8, or UTF-16 in either order."""

from __future__ import annotations

import codecs


def unicode_of(head: bytes) -> str:
    """The encoding of a text that begins with these four bytes, a byte order mark or the first signs of a document.

    A BSON document is none: its length ends with two bytes of 0.
    """
    if head[2:4] == b"\0\0":
        return "utf-8"
    if head.startswith(codecs.BOM_UTF16_LE) or (head[:1] in (b"{", b"[", b"/") and head[1:2] == b"\0"):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) or (head[:1] == b"\0" and head[1:2] in (b"{", b"[", b"/")):
        return "utf-16-be"
    return "utf-8"
