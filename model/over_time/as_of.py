"""A collection as it stood at a moment, and the difference between two moments.

The version of a document at a moment is the last one whose time is not after it. That is proven where the versions of
that time or earlier are the first ones without exception, and the next one is there with a time of its own; a gap
behind it, a version without a time, or times that contradict the order of versions leave it open, which is said.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from model.errors import NotFound, Refused
from model.layouts.base import Layout
from model.over_time.activity import unsigned
from model.over_time.span import everyone
from model.records import Checkpoint, Version, no_checkpoint
from model.text.plain_values import plain_document, plain_moment, plain_value
from model.values import canonical as c
from model.values.canonical import Value

Difference: TypeAlias = Literal["added", "removed", "changed", "unproven"]


@dataclass(frozen=True, slots=True)
class StateAt:
    """One document at a moment. ``v`` is None where nobody can tell which version it was, or whether there was one."""

    ns: str
    id: Value
    v: Value | None
    at: dt.datetime | None
    proven: bool
    content: bytes | None = None  # where it was asked for


@dataclass(frozen=True, slots=True)
class Compared:
    """One document that was not the same at two moments; ``before`` and ``after`` are None where it was not there."""

    ns: str
    id: Value
    change: Difference
    before: StateAt | None
    after: StateAt | None


@dataclass
class AsOf:
    """The documents of a collection as they stood at a moment, in no particular order; iterate over it once."""

    layout: Layout
    moment: dt.datetime
    condition: Callable[[bytes], bool] | None = None  # of the document with its id, as it was then
    contents: bool = False
    checkpoint: Checkpoint = no_checkpoint
    documents: int = 0  # that were read
    unproven: int = 0
    unread: list[str] = field(default_factory=list)  # sentences on documents that could not be read

    def __iter__(self) -> Iterator[StateAt]:
        """Each document that was there, and each of which nobody can tell."""
        for id in everyone(self.layout):
            self.documents += 1
            self.checkpoint(self.documents, None)
            try:
                found = self.of(id)
            except NotFound:
                continue
            except Refused as error:
                self.unread.append(str(error))
                continue
            if found is not None:
                self.unproven += not found.proven
                yield found

    def frame(self) -> list[dict[str, Any]]:
        """The documents as plain rows for ``pandas.DataFrame``, in no particular order.

        Columns: ns, id, v, at, proven, and content, the document's fields as a dict, None where it was not asked for
        or is not known.
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

    def of(self, id: Value) -> StateAt | None:
        """One document; None where it was not there, or does not match. Raises ``NotFound`` and ``Refused``."""
        found = state_at(self.layout, id, self.moment)
        if found is None or found.v is None or not (self.contents or self.condition):
            return found
        version = self.layout.version(id, found.v)
        if version.content is None:
            return StateAt(found.ns, id, found.v, found.at, False)
        whole = c.document([("_id", id), *c.fields(version.content)])
        if self.condition is not None and not self.condition(whole):
            return None
        return StateAt(found.ns, id, found.v, found.at, found.proven, version.content if self.contents else None)


def state_at(layout: Layout, id: Value, moment: dt.datetime) -> StateAt | None:
    """The version of a document at a moment, without its content; None where it was not there."""
    versions = [*layout.history(id)]
    versions.reverse()
    past = [n for n, each in enumerate(versions) if each.at is not None and each.at <= moment]
    if not past:
        first = versions[0]
        if first.state != "missing" and first.at is not None:
            return None
        return StateAt(layout.ns, id, None, None, False)
    last = past[-1]
    found, behind = versions[last], versions[last + 1] if last + 1 < len(versions) else None
    in_order = all(each.at is None or each.at <= moment for each in versions[:last])
    followed = behind.at is not None and behind.state != "missing" if behind is not None else _goes_on(found)
    proven = in_order and followed and found.state == "present"
    if found.deleted and proven:
        return None
    return StateAt(layout.ns, id, found.v, found.at, proven)


def _goes_on(newest: Version) -> bool:
    """Whether the newest version is what is there now: of a document that is gone nobody knows since when."""
    return newest.current or newest.deleted


def compared(
    layout: Layout, first: dt.datetime, then: dt.datetime, checkpoint: Checkpoint = no_checkpoint
) -> Iterator[Compared]:
    """Each document that was not the same at two moments, the first of which comes first."""
    for done, id in enumerate(everyone(layout), 1):
        checkpoint(done, None)
        try:
            before, after = state_at(layout, id, first), state_at(layout, id, then)
        except NotFound:
            continue
        if change := _change(layout, id, before, after):
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
