"""A collection as it stood at a moment, and the difference between two moments.

A document's version at a moment is the last one whose time is not later. That is proven if all versions up to that
time are the document's first ones, and the next version exists with a time of its own. A gap after it, a version
without a time, or times that contradict the order make it doubtful, and that is reported.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from model.errors import NotFound, Refused, Unreachable
from model.foundation.records import Checkpoint, Doubt, Row, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.history_batches import together
from model.mql import order
from model.over_time.activity import unsigned
from model.over_time.span import everyone
from model.text.plain_values import plain_document, plain_moment, plain_value
from model.values import canonical as c
from model.values.canonical import Value

Difference: TypeAlias = Literal["added", "removed", "changed", "unproven"]

NAMED = 5
"""The most unreadable documents that are reported one by one."""

DOUBTS: Mapping[Doubt, str] = {
    "gap": "a version is missing there",
    "undated": "no time was kept",
    "clock": "a clock ran backwards",
    "content": "its content cannot be proven",
    "above": "it stands above the current version",
    "deleted": "it was deleted, and nobody knows when",
}
"""Why a state cannot be proven, in a few words."""


class StateAt(Struct, frozen=True):
    """One document at a moment.

    ``v`` is None if nobody can tell which version it was, or whether it existed. It is None with a time ``at`` for a
    current version without a number of its own.
    """

    ns: str
    id: Value
    v: Value | None
    at: dt.datetime | None
    doubt: Doubt | None = None  # why it cannot be proven; None if it is proven
    content: bytes | None = None  # if requested

    @property
    def is_stored(self) -> bool:
        """Whether its version can be read."""
        return self.v is not None or self.at is not None

    @property
    def proven(self) -> bool:
        """Whether the document certainly stood like this at that moment."""
        return self.doubt is None


class Compared(Struct, frozen=True):
    """One document that differs between two moments; ``before`` or ``after`` is None if it did not exist."""

    ns: str
    id: Value
    change: Difference
    before: StateAt | None
    after: StateAt | None


def _by_id(id: Value, version: Version) -> bytes:
    return c.document([("_id", id), *c.fields(version.content or c.EMPTY)])


_EXACT = (c.STRING, c.OBJECT_ID, c.BINARY, c.DATE)  # types of ids that equal only themselves
_NAMED = (*_EXACT, c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128, c.BOOLEAN)  # types of ids that a filter may name


class AsOf(Struct):
    """The documents of a collection as they stood at a moment, in no particular order; iterate over it once."""

    layout: Layout
    moment: dt.datetime
    condition: Callable[[bytes], bool] | None = None  # on the document with its id, as it was then
    contents: bool = False
    checkpoint: Checkpoint = no_checkpoint
    seen: Callable[[Value, Version], bytes] = _by_id  # a version as the condition sees it
    fields: Collection[str] = ()  # named by the condition
    ids: Sequence[Value] | None = None  # the only ones that the condition may hold for; None if it may for others
    documents: int = 0  # that were read
    unproven: int = 0
    judged: int = 0  # documents tested by the condition
    lacking: dict[str, int] = field(default_factory=dict)  # how many of these lacked a field
    unread: list[str] = field(default_factory=list)  # sentences on documents that could not be read

    def __iter__(self) -> Iterator[StateAt]:
        """Each document that existed, and those whose state is unknown."""
        yield from (found for found in self._read(self.checkpoint) if found is not None)

    def frame(self) -> list[dict[str, Any]]:
        """The documents as plain rows for a pandas data frame, in no particular order.

        Columns: ns, id, v, at, proven, and content, the document's fields as a dict, None if not requested or
        unknown.
        """
        return [
            {
                "ns": each.ns,
                "id": plain_value(each.id),
                "v": None if each.v is None else plain_value(each.v),
                "at": plain_moment(each.at),
                "proven": each.proven,
                "content": None if each.content is None else plain_document(each.content),
            }
            for each in self
        ]

    def rows(self) -> Iterator[Row | None]:
        """Each state as a row of a list, without its document; None for each document without a row."""
        for found in self._read(no_checkpoint):
            yield Row(found.id, found.v, found.at, 0, b"", doubt=found.doubt) if found is not None else None

    def _read(self, checkpoint: Checkpoint) -> Iterator[StateAt | None]:
        """Each document, counted; None if it did not exist, does not match, or could not be read."""
        # Also documents that are deleted today: they may have existed at that moment.
        known = self.ids is not None and all(id.type in _EXACT for id in self.ids)
        wanted = iter(self.ids or ()) if known else everyone(self.layout, self.ids)
        for id, layout in together(self.layout, wanted):
            self.documents += 1
            checkpoint(self.documents, None)
            yield self._one(layout, id)

    def _one(self, layout: Layout, id: Value) -> StateAt | None:
        try:
            found = self._state_of(layout, id)
        except NotFound:
            return None
        except Unreachable:
            raise
        except Refused as error:
            self.unread.append(str(error))
            return None
        if found is not None:
            self.unproven += not found.proven
        return found

    def _state_of(self, layout: Layout, id: Value) -> StateAt | None:
        """One document; None if it did not exist, or does not match. Raises ``NotFound`` and ``Refused``."""
        found = state_at(layout, id, self.moment)
        if found is None or not found.is_stored or not (self.contents or self.condition):
            return found
        version = layout.version(id, found.v)
        if version.content is None:
            return replace(found, doubt=found.doubt or "content")
        if self.condition is not None:
            whole = self.seen(id, version)
            self._note_lacking(whole)
            if not self.condition(whole):
                return None
        return replace(found, content=version.content if self.contents else None)

    def _note_lacking(self, document: bytes) -> None:
        self.judged += 1
        for name in self.fields:
            if not any(order.reach(document, order.path_of(name))):
                self.lacking[name] = self.lacking.get(name, 0) + 1

    @property
    def notes(self) -> list[str]:
        """Notes for people about missing fields and unread documents."""
        found = []
        for name, count in self.lacking.items():
            if count == self.judged:
                found.append(f"No document had {name} then.")
            else:
                found.append(f"{count:,} of {self.judged:,} documents had no {name} then.")
        more = len(self.unread) - NAMED
        return [*found, *self.unread[:NAMED], *([f"{more:,} further documents could not be read."] if more > 0 else [])]


def named_fields(filter: bytes) -> list[str]:
    """The fields that a filter tests, except those only tested for existence."""
    found: list[str] = []
    for name, operand in c.fields(filter):
        if name in ("$and", "$or") and operand.type == c.ARRAY:
            for _, part in c.fields(operand.data):
                found += named_fields(part.data) if part.type == c.OBJECT else []
        elif not name.startswith("$") and not (operand.type == c.OBJECT and c.get(operand.data, ("$exists",))):
            found.append(name)
    return list(dict.fromkeys(found))


def ids_in(filter: bytes, layout: Layout) -> list[Value] | None:
    """The ids that a filter names, so that no other document needs to be read; None if it leaves ids open.

    Stored ids may be equal numbers of other types. An id of several parts is named by all of these.
    """
    fields, parts = dict(c.fields(filter)), layout.profile.id_parts
    if parts:
        values = [fields[part] for part in parts if part in fields]
        if len(values) < len(parts) or not all(value.type in _NAMED for value in values):
            return None
        return [Value.document(c.document(zip(parts, values, strict=True)))]
    named = fields.get(layout.profile.id)
    if named is None:
        return None
    one_of = c.fields(named.data) if named.type == c.OBJECT else []
    listed = [name for name, _ in one_of] == ["$in"] and one_of[0][1].type == c.ARRAY
    values = c.items(one_of[0][1]) if listed else [named]
    return list(dict.fromkeys(values)) if all(value.type in _NAMED for value in values) else None


def state_at(layout: Layout, id: Value, moment: dt.datetime) -> StateAt | None:
    """The version of a document at a moment, without its content; None if it did not exist."""
    return _state_at(layout.ns, id, _oldest_first(layout, id), moment)


def _oldest_first(layout: Layout, id: Value) -> list[Version]:
    return [each for each in layout.history(id) if each.landed and not each.aside][::-1]


def _state_at(ns: str, id: Value, versions: Sequence[Version], moment: dt.datetime) -> StateAt | None:
    """The version of a document that was current at a moment; None if there was none. ``versions`` are oldest first."""
    # The last one in order of numbers decides, not the latest in time: clocks may disagree, numbers cannot.
    past = [n for n, each in enumerate(versions) if each.at is not None and each.at <= moment]
    if not versions:  # nothing but drafts
        return None
    if not past:
        first = versions[0]
        # It began later, as the time of its first version proves.
        if first.state != "missing" and first.at is not None:
            return None
        return StateAt(ns, id, None, None, "gap" if first.state == "missing" else "undated")
    found, doubt = versions[past[-1]], _doubt(versions, past[-1], moment)
    if found.deleted and doubt is None:
        return None
    return StateAt(ns, id, found.v, found.at, doubt)


def _doubt(versions: Sequence[Version], last: int, moment: dt.datetime) -> Doubt | None:
    """Why it is doubtful that version ``last`` was current at a moment; None if it certainly was."""
    found, behind = versions[last], versions[last + 1] if last + 1 < len(versions) else None
    # A version before it claims a later time, so one of the clocks was wrong, and nobody knows which.
    if any(each.at is not None and each.at > moment for each in versions[:last]):
        return "clock"
    if behind is not None and behind.state == "missing":
        return "gap"
    if behind is not None and behind.at is None:
        return "undated"
    if behind is None and not (found.current or found.deleted):
        return "above" if any(each.current for each in versions) else "deleted"
    return "content" if found.state != "present" else None


def compared(
    layout: Layout, first: dt.datetime, then: dt.datetime, checkpoint: Checkpoint = no_checkpoint
) -> Iterator[Compared]:
    """Each document that differs between two moments; ``first`` is the earlier moment."""
    for done, (id, read) in enumerate(together(layout, everyone(layout)), 1):
        checkpoint(done, None)
        try:
            versions = _oldest_first(read, id)
            before, after = (_state_at(layout.ns, id, versions, moment) for moment in (first, then))
        except NotFound:
            continue
        if change := _change(read, id, before, after):
            yield Compared(layout.ns, id, change, before, after)


def _change(layout: Layout, id: Value, before: StateAt | None, after: StateAt | None) -> Difference | None:
    if not all(each is None or each.proven for each in (before, after)):
        return "unproven"
    if before is None or after is None:
        return None if before is after else "added" if before is None else "removed"
    if before.v == after.v:
        return None
    contents = [unsigned(layout, layout.version(id, each.v)).content for each in (before, after)]
    if None in contents:
        return "unproven"
    return "changed" if contents[0] != contents[1] else None
