"""The ``_id`` of a stored document: always at the front, and created if missing."""

from __future__ import annotations

from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c
from model.values.canonical import Value


def identified(raw: bytes, position: int) -> bytes:
    """A document with an ``_id``; a missing one is made from the position, so that each reading gives an equal one."""
    if order.field(raw, b"_id\x00") is not None:
        return raw
    return with_id(raw, (c.OBJECT_ID, bytes(8) + position.to_bytes(4, "big")))


def repeated_id(ns: str, id: Value, others: int) -> str:
    """The sentence for an ``_id`` that several documents have, in a collection with ``others`` more like it."""
    from model import text  # only damaged files need it, and not each process that serves the sample

    more = f", and {others:,} more like it" if others else ""
    return f"{ns} holds several documents with the _id {text.shown(id, limit=60)}{more}; its list shows all of them."


def with_id(new: bytes, kept: Element | None) -> bytes:
    """The document with ``_id`` first: ``kept`` if given, else its own; raises an error if the two differ."""
    own = order.field(new, b"_id\x00")
    if kept is None:
        kept = own
    elif own is not None and own != kept and order.key(*own) != order.key(*kept):
        raise CommandError(
            66, "After applying the update, the (immutable) field '_id' was found to have been altered to another value"
        )
    if kept is None or (new.startswith(b"_id\x00" + kept[1], 5) and new[4] == kept[0]):
        return new
    head = bytes((kept[0],)) + b"_id\x00" + kept[1]
    rest = c.without(new, ["_id"])
    return (len(rest) + len(head)).to_bytes(4, "little") + head + rest[4:]
