"""The documents after their last event: as many of the newest as there is room for."""

from __future__ import annotations

from collections import OrderedDict

from model.values.canonical import Value

DOCUMENTS = 5000
BYTES = 64 << 20


class RecentDocuments:
    """Documents by ``_id``; those not seen for the longest time go first."""

    def __init__(self) -> None:
        self._states: OrderedDict[Value, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: Value) -> bytes | None:
        """The document, if it is remembered."""
        return self._states.get(key)

    def put(self, key: Value, raw: bytes | None) -> None:
        """Remember a document; None means that its state is not certain."""
        # Taken out and put in again, because the order of insertion is that of age.
        old = self._states.pop(key, None)
        self._size -= len(old) if old is not None else 0
        if raw is None:
            return
        self._states[key] = raw
        self._size += len(raw)
        while len(self._states) > DOCUMENTS or self._size > BYTES:
            _, gone = self._states.popitem(last=False)
            self._size -= len(gone)

    def clear(self) -> None:
        """Forget all documents."""
        self._states.clear()
        self._size = 0
