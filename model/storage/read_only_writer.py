"""The writer of layouts that are only read: it answers every request with the reason, one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

from bson import ObjectId

from model.errors import Refused
from model.foundation.records import Outcome, Version
from model.server.retry import Write
from model.storage.outcomes import Outcomes
from model.storage.swap_steps import Made, Stamp
from model.values.canonical import Value


class ReadOnlyWriter:
    """The writer of a collection that is never written; ``reason`` says why, and what to do instead."""

    def __init__(self, ns: str, reason: str, read: Callable[[Value], Version]) -> None:
        self.reason = reason
        self._outcomes = Outcomes(ns, read, lambda raw, token: False)

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes that the sender of a write is told."""
        return self._outcomes

    @property
    def unique(self) -> tuple[str, ...]:
        """Empty: nothing is inserted."""
        return ()

    def hindrance(self, base: Version) -> str:
        """The reason why no version can follow."""
        return self.reason

    def refuse(self) -> NoReturn:
        """Raise ``Refused`` with the reason."""
        raise Refused(self.reason)

    def missing_index(self, remembered: bool = False) -> str | None:
        """None: no index would make the collection writable."""
        return None

    def written_since(self, removed: Sequence[tuple[str, bytes]]) -> Outcome | None:
        """None: only those who can write have to look."""
        return None

    def create_index(self) -> None:
        """Raise ``Refused``."""
        self.refuse()

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """Raise ``Refused``."""
        self.refuse()

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """Raise ``Refused``."""
        self.refuse()

    def first_number(self, id: Value, stamp: Stamp) -> Value | None:
        """Raise ``Refused``."""
        self.refuse()

    def prepared(self, id: Value, base: Version) -> Outcome | None:
        """Raise ``Refused``."""
        self.refuse()

    def occupied(self, id: Value) -> bool:
        """Raise ``Refused``."""
        self.refuse()

    def ended(self, id: Value) -> Version | None:
        """Raise ``Refused``."""
        self.refuse()

    def undeletable(self, base: Version) -> str:
        """The reason why nothing is deleted."""
        return self.reason

    def new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """Raise ``Refused``."""
        self.refuse()

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Empty: nothing is ever removed."""
        return ()

    def delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Raise ``Refused``."""
        self.refuse()

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """Empty: nothing is ever removed."""
        return ()

    def purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None = None) -> Outcome:
        """Raise ``Refused``."""
        self.refuse()

    def stands(self, raw: bytes) -> bool | None:
        """None: nothing is ever removed."""
        return None

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """None: no write is ever in doubt."""
        return None

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """False: nothing was ever sent."""
        return False
