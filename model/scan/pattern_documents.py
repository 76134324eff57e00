"""Reads documents for the checks of patterns: each once; damaged ones are reported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model.checks.bson_damage import damage_of
from model.checks.chains import left_out, unreadable
from model.checks.ordered_reading import BrokenOff, OrderedReading, all_of, by_ids
from model.foundation.findings import Finding, Unchecked
from model.server.retry import Port
from model.storage.reserved_fields import legible_field
from model.values.canonical import Value


class PatternDocuments:
    """Some or all documents of one collection; unreadable ones are reported at the end."""

    def __init__(self, server: Port, ns: str, id: str, reading: OrderedReading) -> None:
        """``id`` is the field by which documents are found."""
        self._server, self._ns, self._id, self._reading = server, ns, id, reading
        self.spotted: list[Finding] = []
        self.unchecked: list[Unchecked] = []

    def read(self, ids: Sequence[Value] | None) -> Iterator[tuple[Value, bytes]]:
        """Each document that decodes, with its id; others are added to :attr:`spotted`."""
        broken = 0
        try:
            for raw in self._found(ids):
                self._reading.histories += 1
                damage = damage_of(raw)
                if damage:
                    self.spotted.append(unreadable(self._ns, self._ns, raw, damage, self._id))
                id = legible_field(raw, self._id)
                if damage == "does not decode":
                    broken += 1
                elif id is not None:
                    yield id, raw
        except BrokenOff as error:
            self.unchecked.append(Unchecked(self._ns, str(error)))
        if broken:
            self.unchecked.append(Unchecked(self._ns, left_out(broken, "do not decode")))

    def _found(self, ids: Sequence[Value] | None) -> Iterator[bytes]:
        if ids is None:
            yield from all_of(self._reading, self._ns)
            return
        for _, raw in by_ids(self._server, self._ns, self._id, ids):
            self._reading.looked()
            yield raw

    def drained(self) -> Iterator[Finding]:
        """The findings since the last call."""
        spotted, self.spotted = self.spotted, []
        yield from spotted
