"""What another program knows of its documents' fields, judged from the data: names and kinds of values.

A program with a schema omits unknown fields from its rows, and cannot load values of another kind. If an edit added
such a field, the program's next row would describe a state that never existed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from bson import ObjectId
from bson.errors import InvalidId

from model.patches.tree import written_as_text
from model.storage.current_documents import CurrentDocuments
from model.text import path_text
from model.values import canonical as c
from model.values.canonical import Value
from model.values.leaves import addressable

Steps = tuple[str, ...]  # names from the top down; array elements have no step of their own
_NUMBER = "number"


def strange(content: bytes, base: bytes, states: Sequence[bytes], current: CurrentDocuments, who: str) -> str:
    """Why the program may not know a content, one sentence; "" if it certainly does.

    ``states`` are earlier states of the document, with the types that the program wrote.
    """
    before: dict[Steps, set[str]] = {}
    for state in (base, *states):
        for path, kind in _shape(Value.document(state)):
            before.setdefault(path, set()).add(kind)
    for path, kind in _shape(Value.document(content)):
        known = before.get(path, set()) - {"Null"}
        if kind in known or (kind == "Null" and path in before):
            continue
        said = path_text(path)
        if known:
            return (
                f"{said} would be a {kind}, and has been a {' or a '.join(sorted(known))} so far, which {who} may not "
                "be able to read; keep its type."
            )
        if path not in before and not _is_known(path, current):
            return (
                f"No document of {current.ns} has a field {said}, so {who} may not know it, and would leave it out of "
                "its rows; add it there."
            )
    return ""


def retyped(content: bytes, base: bytes, current: CurrentDocuments) -> bytes:
    """A content with texts converted to dates and ObjectIds, in fields where the program stores such values.

    The current document shows a field's type, else another document with the field.
    """
    known: dict[Steps, set[str]] = {}
    for path, kind in _shape(Value.document(base)):
        known.setdefault(path, set()).add(kind)

    def kinds(path: Steps) -> set[str]:
        if path not in known:
            known[path] = _kinds_elsewhere(path, current)
        return known[path] - {"Null"}

    def typed(value: Value, path: Steps) -> Value:
        if value.type == c.OBJECT:
            return Value.document(c.document((name, typed(each, (*path, name))) for name, each in c.fields(value.data)))
        if value.type == c.ARRAY:
            return c.array(typed(each, path) for each in c.items(value))
        found = _out_of_text(value) if value.type == c.STRING else None
        return found if found is not None and kinds(path) == {found.kind} else value

    return typed(Value.document(content), ()).data


def _kinds_elsewhere(path: Steps, current: CurrentDocuments) -> set[str]:
    """The kinds of a field's value in another document."""
    if not all(map(addressable, path)):
        return set()
    there = {".".join(path): {"$exists": True, "$ne": None}}
    raw = next(iter(current.server.find(current.ns, there, limit=1)), None)
    return {kind for found, kind in _shape(Value.document(raw)) if found == path} if raw is not None else set()


def _out_of_text(value: Value) -> Value | None:
    """The date or ObjectId that a text represents; None if neither."""
    said = str(value.python())
    try:
        found = Value.of(ObjectId(said)) if len(said) == 24 and "-" not in said else Value.of(_moment(said))
    except (ValueError, InvalidId):
        return None
    return found if written_as_text(found) == said else None


def _moment(said: str) -> dt.datetime:
    return dt.datetime.strptime(said, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=dt.UTC)


def _is_known(path: Steps, current: CurrentDocuments) -> bool:
    return all(map(addressable, path)) and current.any({".".join(path): {"$exists": True}})


def _shape(value: Value, path: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Each path in a value, with the kind of the value there."""
    if path:
        yield path, _NUMBER if value.type in (c.DOUBLE, c.INT32) else value.kind
    if value.type == c.OBJECT:
        for name, each in c.fields(value.data):
            yield from _shape(each, (*path, name))
    elif value.type == c.ARRAY:
        for each in c.items(value):
            if each.is_container:
                yield from (found for found in _shape(each, path) if found[0] != path)
