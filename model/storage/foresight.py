"""What a collection's rules and unique indexes would reject, foreseen for many writes before the first is sent.

The server judges by its rules, some hundred documents in one query. Keys of unique indexes are compared among the
documents of a plan, in their order, and with those that are stored. Nothing is guaranteed: a server that cannot be
asked rejects the write itself, and others write meanwhile.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from model.errors import Refused, Unreachable, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.mql import order
from model.mql.command_error import CommandError
from model.server.driver_errors import BREAKS_RULES
from model.server.retry import Port
from model.storage import document_rules, indexes
from model.storage.indexes import UniqueIndex
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

TOGETHER = 100  # documents in one query
ROOM = 4 << 20  # bytes of them

_Key = tuple[order.Key, ...]


class Foreseen(Struct, frozen=True):
    """A stored document that a write would make, in the place of ``before`` if it replaces that."""

    id: Value
    before: bytes | None
    after: bytes


class Foresight(Struct):
    """Looks ahead for one plan: what it has looked at counts as written, unless it would be rejected."""

    server: Port
    profile: CollectionProfile
    deciding: Sequence[str]  # the fields of the layout's own unique index
    several: bool  # whether each version is a document
    _taken: dict[str, dict[_Key, Value]] = field(default_factory=dict)  # index -> keys that the plan gives away
    _moved: set[Value] = field(default_factory=set)  # the physical ids of documents that the plan replaces

    def is_needed(self) -> bool:
        """Whether the collection has anything that could reject a document; asks the server."""
        return document_rules.are_there(self.server, self.profile.ns) or any(self._indexes(again=True))

    def why_not(self, wanted: Sequence[Foreseen]) -> list[str]:
        """Why each of some documents would be rejected, one sentence each; "" if nothing is known to reject it."""
        said: list[str] = []
        for some in _batches(wanted):
            broken = document_rules.broken(self.server, self.profile.ns, [(each.before, each.after) for each in some])
            told = [BREAKS_RULES if each else "" for each in broken]
            try:
                told = self._held(some, told)
            except Unreachable:
                raise
            except (Refused, Unreadable, CommandError, RecursionError):
                pass  # the writes themselves will show it
            said += told
        return said

    def _indexes(self, again: bool = False) -> list[UniqueIndex]:
        return list(indexes.others(self.server, self.profile.ns, self.deciding, again))

    def _held(self, some: Sequence[Foreseen], told: list[str]) -> list[str]:
        """The reasons, with those of unique indexes."""
        found = self._indexes()
        holders = {index.name: self._holders(index, some) for index in found}
        if any(holders.values()):  # an index may have been dropped since it was seen
            found = self._indexes(again=True)
            holders |= {index.name: self._holders(index, some) for index in found if index.name not in holders}
        said = []
        for each, why in zip(some, told, strict=True):
            why = why or next(filter(None, (self._holder(index, holders[index.name], each) for index in found)), "")
            if not why:
                self._note(found, each)
            said.append(why)
        return said

    def _holders(self, index: UniqueIndex, some: Sequence[Foreseen]) -> dict[_Key, bytes]:
        """The stored documents that have a key of these, by key."""
        stored = index.holders(self.server, self.profile.ns, [each.after for each in some if index.covers(each.after)])
        return {key: raw for raw in stored if index.covers(raw) for key in _keys(index, raw)}

    def _holder(self, index: UniqueIndex, stored: dict[_Key, bytes], each: Foreseen) -> str:
        """Why an index would reject a document, one sentence; "" if it would not."""
        if not index.covers(each.after):
            return ""
        had = set(_keys(index, each.before)) if each.before is not None and index.covers(each.before) else set()
        for key in _keys(index, each.after):
            if key in had:
                continue
            if (by := self._taken.get(index.name, {}).get(key)) is not None:
                return _said(index, each, by, True, self.several)
            there = stored.get(key)
            if there is not None and not self._is_gone(there, each):
                other = c.get(there, (self.profile.id,)) or _physical(there)
                return _said(index, each, other, False, self.several)
        return ""

    def _is_gone(self, there: bytes, each: Foreseen) -> bool:
        """Whether a stored document has another key by the time that a write is sent."""
        own = _physical(each.after) if each.before is not None or not self.several else None
        return _physical(there) == own or _physical(there) in self._moved

    def _note(self, found: Sequence[UniqueIndex], each: Foreseen) -> None:
        """Treat a document as written."""
        for index in found:
            if index.covers(each.after):
                self._taken.setdefault(index.name, {}).update(dict.fromkeys(_keys(index, each.after), each.id))
        if each.before is not None and not self.several:
            self._moved.add(_physical(each.after))


def _batches(wanted: Sequence[Foreseen]) -> Iterator[list[Foreseen]]:
    """Some documents after another, as many as a query holds."""
    some: list[Foreseen] = []
    size = 0
    for each in wanted:
        if some and (len(some) == TOGETHER or size + len(each.after) > ROOM):
            yield some
            some, size = [], 0
        some.append(each)
        size += len(each.after)
    if some:
        yield some


def _keys(index: UniqueIndex, raw: bytes) -> list[_Key]:
    """Every entry that an index has for a document."""
    return list(itertools.product(*index.keys(raw)))


def _physical(raw: bytes) -> Value:
    return c.get(raw, ("_id",)) or Value.of(None)


def _said(index: UniqueIndex, each: Foreseen, by: Value, planned: bool, several: bool) -> str:
    """The sentence on a key that a stored document has, or one that the plan writes before."""
    key = index.told(each.after).key
    if several and by == each.id:
        return (
            f"The unique index {index.name} lets one version of a document have {key}, so no further version can be "
            "inserted; drop this index, or change the value."
        )
    if not planned:
        return (
            f"{id_name(by)} holds {key} already, and the unique index {index.name} lets no other document have it; "
            "choose another value."
        )
    return (
        f"{id_name(by)} is given {key} by this plan too, and the unique index {index.name} lets no other document have "
        "it; choose another value."
    )
