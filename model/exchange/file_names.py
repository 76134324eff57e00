"""File names for ids and versions: valid on every system, and never one name for two ids."""

from __future__ import annotations

import base64
import hashlib
import re

from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

_PLAIN = re.compile(r"[a-z][a-z0-9_-]{0,59}\Z")
_LIKE_AN_OBJECT_ID = re.compile(r"[0-9a-f]{24}\Z")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\Z")  # what Windows opens instead of a file


def file_name(id: Value) -> str:
    """The file name for an id, without ending: readable; for most ids, followed by a hash.

    Only names in small letters need no hash: some systems take ``A`` for ``a``, and would put two ids into one file.
    """
    if id.type == c.STRING:
        said = str(id.python())
        if _PLAIN.match(said) and not _LIKE_AN_OBJECT_ID.match(said) and not _DEVICES.match(said):
            return said
    if id.type == c.OBJECT_ID:
        return id.data.hex()
    if id.type == c.INT32 and not id.python() < 0:
        return str(id.python())
    said = re.sub(r"[^A-Za-z0-9_-]+", "-", id_name(id)).strip("-")[:40]
    if not said or _DEVICES.match(said.lower()):
        said = f"id-{said}".rstrip("-")
    return f"{said}.{_hash(id)}"


def folder_name(id: Value) -> str:
    """The folder for an id, one of 256, so that none holds too many files."""
    return hashlib.sha256(bytes([id.type]) + id.data).hexdigest()[:2]


def version_file_name(v: Value, twice: bytes | None = None) -> str:
    """The name for one of a document's versions; if another version has its number, ``twice`` is its content."""
    name = file_name(v)
    if v.type in (c.INT32, c.INT64) and v.python() >= 0:
        name = f"{v.python():06}"
    return name if twice is None else f"{name}.{hashlib.sha256(twice).hexdigest()[:16]}"


def _hash(id: Value) -> str:
    digest = hashlib.sha256(bytes([id.type]) + id.data).digest()[:16]
    return base64.b32encode(digest).decode().rstrip("=").lower()
