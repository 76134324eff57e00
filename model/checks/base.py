"""The interface of a layout's search for damage."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Protocol

from model.checks.ordered_reading import OrderedReading
from model.foundation.findings import Finding, Unchecked
from model.values.canonical import Value


class Check(Protocol):
    """The search through one collection, and the second one that belongs to it."""

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some documents, or of all; ``reading`` is told how far it is."""
