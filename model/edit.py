"""Read, change, swap: how an edit ends, and what a failed swap means.

A swap succeeds only on the version it began from. Where it does not, :func:`conflict` reads the document again and
says which of the different things happened; nothing has been written then.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from model.canonical import Path
from model.merge import Merge
from model.records import Version


@dataclass(frozen=True)
class Conflict:
    """Why a swap did not happen, and the three sides of it.

    ``kind``: ``changed`` other fields or values, ``deleted`` it is gone, ``identical`` it has my edit's content
    already, ``types`` only BSON types or field order differ from the base, ``aba`` the version moved on but the
    content is the base's again.
    """

    base: Version
    mine: bytes
    theirs: Version | None  # None where deleted
    kind: Literal["changed", "deleted", "identical", "types", "aba"]
    merge: Merge | None  # None where deleted; without conflicts it can be saved over ``theirs`` as it is
    changed_by_them: tuple[Path, ...]  # from base to theirs
    changed_by_me: tuple[Path, ...]  # from base to mine

    @property
    def both(self) -> tuple[Path, ...]:
        """The paths where the merge needs a person."""
        return () if self.merge is None else tuple(d.path for d in self.merge.conflicts)
