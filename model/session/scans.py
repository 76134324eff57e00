"""The search for damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.repair.damage_classes import class_of
from model.scan import Mark, Pace, Scan, ScanEstimate, Summary
from model.session.connection import Connection
from model.values.canonical import Value

__all__ = ["Mark", "ScanEstimate", "Scans", "Summary"]


class Scans:
    """Scans for damage, and estimates of their cost."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._catalogue, self._port, self._dump = connection.catalogue, connection.port, connection.dump

    def scan(
        self,
        places: Sequence[str] = (),
        ids: Sequence[Value] | None = None,
        pace: Pace = "fast",
        checkpoint: Checkpoint = no_checkpoint,
        now: dt.datetime | None = None,
        mark: Mark | None = None,
    ) -> Scan:
        """Look for damage in some collections or databases, in all, or in some documents of one collection.

        Yields each ``Finding`` and ``Unchecked``: at once if a profile states the layout, else at the end of its
        collection, when all of them together show whether the layout is in doubt. ``summary`` counts the work,
        ``mark`` is where another scan can resume. Use the pace "gentle" for production.
        """
        port = self._port.gentle() if pace == "gentle" else self._port.aside()
        primary = self._port if port.reads_aside else None
        self._dump.need(*places)
        return Scan(self._catalogue, port, class_of, places, ids, pace, checkpoint, now, mark, primary)

    def estimate(self, places: Sequence[str] = (), checkpoint: Checkpoint = no_checkpoint) -> ScanEstimate:
        """How much a scan of these places would read, and roughly how long that takes."""
        checkpoint(0, None)
        return Scan(self._catalogue, self._port, class_of, places).estimate()
