"""For tests of layouts: a layout over a database of its own, and looks at it by plain PyMongo."""

from __future__ import annotations

from typing import Any

import bson

from model.catalogue.recognise import bind
from model.layouts.base import Layout
from model.layouts.registry import has_archive
from model.profile import stated
from model.server.retry import Port, Server
from model.values import canonical as c
from model.values.canonical import Value

NAMES: dict[str, dict[str, str]] = {
    "default": {},
    "other": {
        "version": "rev",
        "token": "writeToken",
        "archive_id": "of",
        "current": "now",
        "prev": "before",
        "hash": "digest",
    },
}


def layout_of(server: Port, database: str, name: str, indexed: bool = True, **fields: Any) -> Layout:
    """A layout over ``database.things``, with the index that it needs, and a token unless it is told otherwise."""
    fields.setdefault("token", "_w")
    if has_archive(name):
        fields.setdefault("archive", f"{database}.things_past")
    layout = bind(server, stated(f"{database}.things", name, **fields))
    if indexed and layout.missing_index():
        layout.create_index()
    return layout


def doc(**fields: Any) -> bytes:
    """A content."""
    return c.encode(fields)


def raw_find(server: Server, ns: str, **filter: Any) -> list[dict[str, Any]]:
    """Decoded documents of a collection, as they are stored."""
    return [bson.decode(raw) for raw in server.find(ns, filter)]


def v(number: int) -> Value:
    """A version number."""
    return Value.of(number)
