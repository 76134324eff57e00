"""The interface of a layout's check for damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Protocol

from model.checks.ordered_reading import OrderedReading
from model.foundation.findings import Finding, Unchecked
from model.values.canonical import Value


class Check(Protocol):
    """Checks one collection, and the second collection that belongs to it."""

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all documents; ``reading`` is told of the progress."""
