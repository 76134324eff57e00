"""Versions as their events report them, and facts that the events lack.

An update names only the fields that it changed. An author who edits again is in none of these events, nor is a
document's own id if that differs from ``_id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.over_time.activity import Activity
from model.values.canonical import Value

Place: TypeAlias = tuple[str, Value | None]
"""A collection, and the ``_id`` of a stored document."""
_Known: TypeAlias = dict[Place, dict[str, str | None]]  # author and reason of versions, as far as certain


class ToldVersion(Struct, frozen=True):
    """A version as its event reports it; ``key`` finds the stored document."""

    row: Activity
    key: Value | None = None
    unnamed: bool = False  # the row has the stored key instead of the document's id
    unsaid: frozenset[str] = frozenset()  # those of author and reason that did not change

    @property
    def place(self) -> Place:
        """Where the stored document is."""
        return self.row.ns, self.key


def completed(told: Sequence[ToldVersion], now: Mapping[Place, Activity]) -> list[Activity]:
    """The rows of versions in event order, with missing facts added.

    ``now`` are current versions of stored documents, looked up afterwards. If one is the newest reported version, it
    gives that version's author; a value that no event changed is also valid before and after it.
    """
    before: _Known = {}
    rows = [_filled(each, before, each.row) for each in told]
    behind: _Known = {}
    for at in reversed(range(len(told))):
        each, there = told[at], now.get(told[at].place)
        if there is not None and each.place not in behind and there.v == rows[at].v:
            behind[each.place] = {"author": there.author, "reason": there.reason}
        known = behind.get(each.place, {})
        certain = {name: known[name] for name in each.unsaid if name in known}
        behind[each.place] = certain
        named = there.id if each.unnamed and there is not None else rows[at].id
        rows[at] = replace(rows[at], id=named, **certain)
    return rows


def _filled(each: ToldVersion, before: _Known, row: Activity) -> Activity:
    """A row with values that an earlier event reported and none has changed since."""
    known = before.setdefault(each.place, {})
    certain = {name: known[name] for name in each.unsaid if name in known}
    row = replace(row, **certain) if certain else row
    said: Iterable[tuple[str, str | None]] = (("author", row.author), ("reason", row.reason))
    known.update({name: value for name, value in said if name not in each.unsaid or name in certain})
    return row
