"""The encoding of a text, found from its first bytes: UTF-8, or UTF-16 in either byte order."""

from __future__ import annotations

import codecs


def unicode_of(head: bytes) -> str:
    """The encoding of a text that starts with these bytes: a byte order mark, or the first characters of a document.

    A BSON document counts as UTF-8: its length, four bytes, ends with two zeros.
    """
    if head[2:4] == b"\0\0":
        return "utf-8"
    if head.startswith(codecs.BOM_UTF16_LE) or (head[:1] in (b"{", b"[", b"/") and head[1:2] == b"\0"):
        return "utf-16-le"
    if head.startswith(codecs.BOM_UTF16_BE) or (head[:1] == b"\0" and head[1:2] in (b"{", b"[", b"/")):
        return "utf-16-be"
    return "utf-8"
