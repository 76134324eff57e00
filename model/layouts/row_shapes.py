"""What a document's program knows of its fields, as far as the data tell: names and kinds of values.

A program with a schema leaves fields out of its rows that it does not know, and cannot load values of another kind than
its own. An edit that brings such a field would make its next row tell of a state that never was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model.layouts.current_documents import CurrentDocuments
from model.text import path_text
from model.values import canonical as c
from model.values.canonical import Value
from model.values.leaves import addressable

Steps = tuple[str, ...]  # names from the top down; elements of an array have no step of their own
_NUMBER = "number"


def strange(content: bytes, base: bytes, states: Sequence[bytes], current: CurrentDocuments, who: str) -> str:
    """Why the program may not know a content, one sentence; "" where it surely does.

    ``states`` are earlier ones of the same document, with the types that the program gave them.
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


def _is_known(path: Steps, current: CurrentDocuments) -> bool:
    return all(map(addressable, path)) and current.any({".".join(path): {"$exists": True}})


def _shape(value: Value, path: Steps = ()) -> Iterator[tuple[Steps, str]]:
    """Each path of a value with the kind of what stands there."""
    if path:
        yield path, _NUMBER if value.type in (c.DOUBLE, c.INT32) else value.kind
    if value.type == c.OBJECT:
        for name, each in c.fields(value.data):
            yield from _shape(each, (*path, name))
    elif value.type == c.ARRAY:
        for each in c.items(value):
            if each.is_container:
                yield from (found for found in _shape(each, path) if found[0] != path)
