"""What layouts have that looks for damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Protocol

from model.findings import Finding, Unchecked
from model.layouts.checks.ordered_reading import OrderedReading
from model.values.canonical import Value


class Check(Protocol):
    """Looks through one collection, with all that belongs to it."""

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """What is wrong with some documents, or with all; ``reading`` is told how far it is."""
