"""Histories in which each object of a document has its own rows, as JaVers stores them.

A row's key is ``Item/K-1`` for the document and ``Item/K-1#lines/0`` for a part of it. In a state, a reference with
the part's ``fragment`` replaces the part. The state at a commit is the document's newest row so far, with each
reference replaced by the part's newest row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from bson import Int64

from model.foundation.collection_profile import CollectionProfile
from model.patches import DoesNotApply, Node, document_of, tree_of
from model.patches.meaning import in_form_of, same_meaning
from model.storage.row_paths import value_at
from model.values import canonical as c
from model.values.canonical import Value


def assembled(rows: Sequence[bytes], profile: CollectionProfile) -> Iterator[bytes]:
    """One row per commit with the whole state, from all rows of a document and its parts in order."""
    parts: dict[str, Value] = {}
    top = ""
    for _, together in groupby(rows, lambda raw: value_at(raw, profile.order)):
        last = c.EMPTY
        for raw in together:
            key, state = value_at(raw, profile.parts), value_at(raw, profile.content)
            if key is None or key.type != c.STRING or state is None or state.type != c.OBJECT:
                continue
            name = str(key.python())
            top = top or name.partition("#")[0]
            parts[name] = state
            if name == top or not last or value_at(last, profile.parts) != Value.of(top):
                last = raw
        if top in parts:
            whole = _resolved(parts[top], top, parts, ())
            yield _with_state(last, profile.content, whole, removed=_is_part(last, profile, top))


def _is_part(row: bytes, profile: CollectionProfile, top: str) -> bool:
    return value_at(row, profile.parts) != Value.of(top)


def _with_state(row: bytes, content: str, state: Value, removed: bool) -> bytes:
    """The row with the whole state; a row about a part loses the operation, which concerned the part."""
    row = c.put(row, (content,), state)
    return c.without(row, ("type",)) if removed else row


def _resolved(state: Value, top: str, parts: dict[str, Value], inside: tuple[str, ...]) -> Value:
    """A state with its parts inserted; a part inside itself stays a reference."""
    if state.type == c.ARRAY:
        return c.array(_resolved(each, top, parts, inside) for each in c.items(state))
    if state.type != c.OBJECT:
        return state
    fragment = c.get(state.data, ("fragment",))
    if fragment is not None and fragment.type == c.STRING and c.get(state.data, ("ownerId",)) is not None:
        key = f"{top}#{fragment.python()}"
        if key in parts and key not in inside:
            return _resolved(parts[key], top, parts, (*inside, key))
    return Value.document(c.document((n, _resolved(v, top, parts, inside)) for n, v in c.fields(state.data)))


def filled(state: bytes, like: bytes, id: Value | None = None) -> bytes:
    """The state in the form of the current document, whose content is ``like``.

    JaVers omits numbers and booleans that are 0 or false, writes dates and ids as text, has the id under the name that
    it has in the program, and keeps no order of the fields: they stand in that of the document, those that it lacks at
    the end.
    """
    whole = _filled(Value.document(state), Value.document(like)).data
    try:
        mine, theirs = tree_of(whole), tree_of(like)
    except DoesNotApply:
        return whole
    named = {name for name, node in mine.items() if id is not None and name not in theirs and same_meaning(node, id)}
    mine = {name: node for name, node in mine.items() if name not in named}
    return document_of(_in_order_of(in_form_of(mine, theirs), theirs))


def _in_order_of(node: Node, like: Node | None) -> Node:
    if isinstance(node, dict) and isinstance(like, dict):
        names = [*(name for name in like if name in node), *(name for name in node if name not in like)]
        return {name: _in_order_of(node[name], like.get(name)) for name in names}
    if isinstance(node, list) and isinstance(like, list):
        # Elements beyond those of the other array are taken to be like its last one.
        return [_in_order_of(each, like[min(at, len(like) - 1)] if like else None) for at, each in enumerate(node)]
    return node


def _filled(state: Value, like: Value) -> Value:
    theirs = dict(c.fields(like.data))
    pairs = [
        (name, _filled(value, theirs[name]) if _both_documents(value, theirs.get(name)) else value)
        for name, value in c.fields(state.data)
    ]
    there = {name for name, _ in pairs}
    pairs += [(name, _ZERO[value.type]) for name, value in theirs.items() if name not in there and value.type in _ZERO]
    return Value.document(c.document(pairs))


def _both_documents(one: Value, other: Value | None) -> bool:
    return other is not None and one.type == other.type == c.OBJECT


_ZERO = {c.BOOLEAN: Value.of(False), c.INT32: Value.of(0), c.INT64: Value.of(Int64(0)), c.DOUBLE: Value.of(0.0)}
