"""The rules that a collection has for its documents: MongoDB's validators, judged by the server that has them.

A write that stands alone leaves this to the server. One that follows others asks first, because what was written
before a rejected write would stay.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from model.errors import Refused
from model.server import guards
from model.server.retry import Port, Terms
from model.storage.indexes import LOOK_MS
from model.text.names import split
from model.values import canonical as c
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


def are_there(server: Port, ns: str) -> bool:
    """Whether a collection has rules that reject documents; asks the server."""
    return _rules(_options(server, ns, again=True)) is not None


def broken(server: Port, ns: str, wanted: Sequence[tuple[bytes | None, bytes]]) -> list[bool]:
    """Whether the server will reject each of some documents, each with the one in whose place it is put, if any.

    All are judged by one query. False for all if the server cannot tell.
    """
    seen: Mapping[str, Any] | None = None
    found = [False] * len(wanted)
    for again in (False, True):  # the rules may be some minutes old
        options = _options(server, ns, again)
        if options != seen:
            found = _broken(server, ns, options, wanted)
        if not any(found):
            return found
        seen = options
    return found


def _broken(
    server: Port, ns: str, options: Mapping[str, Any], wanted: Sequence[tuple[bytes | None, bytes]]
) -> list[bool]:
    if not wanted or (rules := _rules(options)) is None:
        return [False] * len(wanted)
    try:
        meet = _meeting(server, ns, rules, [after for _, after in wanted])
        found = [not each for each in meet]
        if options.get("validationLevel") == "moderate" and any(found):
            # Documents that broke the rules before may go on doing so.
            old = [before if bad else None for bad, (before, _) in zip(found, wanted, strict=True)]
            stored = [each for each in old if each is not None]
            met = iter(_meeting(server, ns, rules, stored) if stored else [])
            found = [bad and (each is None or next(met)) for bad, each in zip(found, old, strict=True)]
    except Refused:
        return [False] * len(wanted)
    return found


def _meeting(server: Port, ns: str, rules: Terms, raws: Sequence[bytes]) -> list[bool]:
    """Whether each of some documents would be found by the rules, in a collection that may be empty."""
    stages: list[Terms] = [
        {"$collStats": {"count": {}}},  # one document, also of an empty collection
        {"$project": {"_id": 0, "each": {"$literal": c.array(map(Value.document, raws))}}},
        {"$unwind": "$each"},
        {"$replaceRoot": {"newRoot": "$each"}},
        {"$match": rules},
        {"$project": {"_id": 1}},
    ]
    met = {c.get(raw, ("_id",)) for raw in server.aggregate(ns, stages, max_ms=LOOK_MS, batch=len(raws))}
    return [c.get(raw, ("_id",)) in met for raw in raws]


def _rules(options: Mapping[str, Any]) -> Terms | None:
    """The rules that reject documents; None without any."""
    rules: Terms | None = options.get("validator")
    off = options.get("validationAction") == "warn" or options.get("validationLevel") == "off"
    return None if off or not rules else rules


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
    if (rules := _rules(options)) is None:
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
