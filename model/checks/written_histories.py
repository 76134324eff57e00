"""Checks histories that another program writes: missing rows, patches that do not apply, differences."""

from __future__ import annotations

import datetime as dt
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol

from msgspec import Struct

from model.checks.ordered_reading import BrokenOff, OrderedReading, all_of
from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.foundation.records import Contents, Version
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

DIFFERS = "differs from its newest row"


class Histories(Protocol):
    """What the check reads histories from."""

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The versions newest first."""


class WrittenHistories(Struct):
    """Checks each document's history as it is displayed; ``together`` returns documents, each with its reader."""

    profile: CollectionProfile
    together: Callable[[Iterable[Value]], Iterable[tuple[Value, Histories]]]

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """V2 for a missing row, D1 for a patch that does not apply, A2 for a document unlike its newest row."""
        if ids is not None:
            for id, reader in self.together(ids):
                reading.looked()
                yield from self._of_document(reader, id)
            return
        read: deque[bytes] = deque()  # not checked yet
        ended: list[BrokenOff] = []
        for id, reader in self.together(self._each(reading, read, ended)):
            yield from self._of_document(reader, id)
            raw = read.popleft()
            reading.last = raw if reading.in_order else None
        for error in ended:
            yield Unchecked(self.profile.ns, str(error))

    def _each(self, reading: OrderedReading, read: deque[bytes], ended: list[BrokenOff]) -> Iterator[Value]:
        """The documents in reading order, up to where the reading broke off."""
        try:
            for raw in all_of(reading, self.profile.ns, last=reading.after):
                if (id := c.get(raw, (self.profile.id,))) is not None:
                    read.append(raw)
                    yield id
        except BrokenOff as error:
            ended.append(error)

    def _of_document(self, reader: Histories, id: Value) -> Iterator[Finding | Unchecked]:
        ns = self.profile.ns
        try:
            versions = list(reader.history(id, contents=True))
        except NotFound:
            return
        except Refused as error:
            yield Unchecked(ns, str(error), id)
            return
        gone = tuple(each.v for each in versions if each.state == "missing" and each.v is not None)
        if gone:
            said = f"{len(gone)} row{'s are' if len(gone) > 1 else ' is'} missing"
            yield Finding("V2", ns, id, gone[::-1], said, None, self._evidence(versions))
        unproven = [each for each in versions if each.state == "unproven" and each.v is not None]
        if unproven:
            first = min(unproven, key=lambda each: abs(versions.index(each) - self._known(versions)))
            numbers = tuple(each.v for each in unproven if each.v is not None)
            said = f"{version_name(first.v)}: {first.detail}"
            yield Finding("D1", ns, id, numbers[::-1], said, None, self._evidence(versions))
        for each in versions:
            if each.current and each.detail == DIFFERS and each.v is not None:
                yield Finding("A2", ns, id, (each.v,), f"the document {DIFFERS}", None, self._evidence([each]), each.at)

    @staticmethod
    def _known(versions: Sequence[Version]) -> int:
        """The position of the last known state; the unproven one next to it shows the wrong patch."""
        return next((at for at, each in enumerate(versions) if each.content is not None and not each.current), 0)

    def _evidence(self, versions: Sequence[Version]) -> tuple[Evidence, ...]:
        found = next((each for each in versions if each.raw is not None), None)
        if found is None or found.raw is None:
            return ()
        ns = self.profile.ns if found.current else self.profile.archive
        return (Evidence(ns, "in the document" if found.current else "in the history", found.raw, found.v),)
