"""The sample data: one insurer in Hamburg, told so that every layout, length and kind of damage is met once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from model.local.sample.contracts import Contracts
from model.local.sample.ground import UNIQUE_ID_VERSION

IndexSpec: TypeAlias = tuple[tuple[tuple[str, int], ...], bool]
"""((field, direction), …) and whether it is unique."""
Collection: TypeAlias = tuple[str, list[IndexSpec], Iterable[bytes]]


def build(now: int | None = None) -> Iterator[Collection]:
    """Each collection: ns, indexes beside that on ``_id``, documents as stored.

    The bytes are the same in every run, but for what has to be young: that is dated from ``now``, in seconds.
    """
    contracts = Contracts(int(time.time()) if now is None else now)
    yield "insurance.contracts", [], contracts.current
    yield "insurance.contracts_history", [UNIQUE_ID_VERSION], contracts.history
