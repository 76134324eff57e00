"""The names of documents, versions and collections in sentences."""

from __future__ import annotations

from model import text
from model.errors import Refused
from model.values import canonical
from model.values.canonical import Value


def split(ns: str) -> tuple[str, str]:
    """Database and collection of a namespace; only the collection's name may contain dots."""
    db, dot, collection = ns.partition(".")
    if not (db and dot and collection):
        raise Refused(f"{ns} is not a collection; write it as database.collection.")
    return db, collection


def id_name(id: Value) -> str:
    """A document's id as people read it: a string without quotes, other types as displayed."""
    return str(id.python()) if id.type == canonical.STRING else text.shown(id)


def version_name(v: Value | None) -> str:
    """A version as people read it: v12, the first digits of a hash, or "the current version" without one."""
    if v is None:
        return "the current version"
    if v.type == canonical.STRING:
        return str(v.python())[:8]
    if v.type == canonical.BINARY:
        return v.data[5:].hex()[:8]
    if v.type in (canonical.INT32, canonical.INT64):
        return f"v{v.python()}"
    return text.shown(v)
