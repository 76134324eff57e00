"""The rules that a collection has for its documents: MongoDB's validators, judged by the server that has them.

A write that stands alone leaves this to the server. One that follows others asks first, because what was written
before a rejected write would stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from model.errors import Refused
from model.server import guards
from model.server.retry import Port, Terms
from model.storage.indexes import LOOK_MS
from model.text.names import split
from model.values.canonical import Value


def are_broken(server: Port, ns: str, stored: bytes, made: bytes) -> bool:
    """Whether the server will reject ``made`` in the place of a ``stored`` document, by the rules of the collection.

    True also if the document is gone. False if the server cannot tell: the write itself will show it then.
    """
    seen: Mapping[str, Any] | None = None
    for again in (False, True):  # the rules may be some minutes old
        options = _options(server, ns, again)
        if options != seen and not _breaks(server, ns, options, stored, made):
            return False
        seen = options
    return True


def _options(server: Port, ns: str, again: bool) -> Mapping[str, Any]:
    """The collection's options, as a port remembers them, if it does; {} if they may not be seen."""
    known: Callable[..., Mapping[str, Any]] | None = getattr(server, "remembered_options", None)
    if known is not None:
        return known(ns, again)
    db, name = split(ns)
    try:
        return next((options for each, _, options in server.collections(db) if each == name), {})
    except Refused:
        return {}


def _breaks(server: Port, ns: str, options: Mapping[str, Any], stored: bytes, made: bytes) -> bool:
    rules = options.get("validator")
    if not rules or options.get("validationAction") == "warn" or options.get("validationLevel") == "off":
        return False
    try:
        if _meets(server, ns, rules, stored, made):
            return False
        # Documents that broke the rules before may go on doing so.
        return options.get("validationLevel") != "moderate" or _meets(server, ns, rules, stored, stored)
    except Refused:
        return False


def _meets(server: Port, ns: str, rules: Terms, stored: bytes, raw: bytes) -> bool:
    """Whether the document of this ``_id`` would be found by the rules, if it was ``raw``."""
    stages: list[Terms] = [
        {"$match": guards.by_id(guards.physical_id(stored))},
        {"$replaceRoot": {"newRoot": {"$literal": Value.document(raw)}}},
        {"$match": rules},
        {"$project": {"_id": 1}},
    ]
    return next(server.aggregate(ns, stages, max_ms=LOOK_MS, batch=1), None) is not None
