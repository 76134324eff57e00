"""Collections of two sessions side by side, and documents copied from one to the other."""

from __future__ import annotations

from model.browsing.setup_differences import SetupDifference, compared
from model.diff.comparison_rules import EXACT, ComparisonRules, names_from_text
from model.errors import Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.operations.copying_across import Copied, CopyAcross, CopyPlan, new_copies
from model.operations.side_by_side import Side, SideBySide, Standing, flipped
from model.session.connection import Connection
from model.text.typed_terms import filter_terms

__all__ = [
    "Copied", "CopyAcross", "CopyPlan", "SetupDifference", "SideBySide", "Standing", "TwoCollections", "flipped",
    "new_copies",
]  # fmt: skip


class TwoCollections:
    """A collection here, and one there."""

    def __init__(
        self, here: Connection, ns: str, there: Connection, other: str, key: str = "", filter: str = ""
    ) -> None:
        """Created by a session. ``key`` is a path by which documents are paired; "" means their ids. ``filter`` is
        typed: what matches it on either side is compared; "" means all.

        Raises ``NotFound``, ``Unreadable`` and ``Refused``.
        """
        self._here, self._ns, self._there, self._other = here, ns, there, other
        named = names_from_text(key) if key.strip() else ()
        if key.strip() and not named:
            raise Refused("The key to pair documents by is a field, as in --key number.")
        self._key, self.filter = named, filter.strip()
        self._terms = filter_terms(self.filter) if self.filter else None
        self._sides = self._side(here, ns), self._side(there, other)

    def _side(self, connection: Connection, ns: str) -> Side:
        connection.dump.need(ns)
        layout, info = connection.catalogue.layout(ns), connection.catalogue.info(ns)
        return Side(layout, info.keeps_history, () if self._key == (layout.profile.id,) else self._key, self._terms)

    @property
    def copying(self) -> CopyAcross:
        """Copies documents from here to there, by a plan."""
        there = self._there
        trust = there.trust
        return CopyAcross(*self._sides, self._here.source, there.writer, trust.check_allowed, trust.is_production)

    def setup(self) -> tuple[tuple[SetupDifference, ...], str]:
        """The indexes and options that differ, and a sentence on what could not be compared, else ""."""
        sides = ((self._here, self._ns), (self._there, self._other))
        here, there = ((each.port, ns, each.opened.is_local and not each.is_sample) for each, ns in sides)
        return compared(here, there)

    @property
    def unordered(self) -> ComparisonRules:
        """The rules that the profile of the first collection states."""
        paths = self._sides[0].layout.profile.unordered
        return ComparisonRules(unordered=tuple(map(names_from_text, paths)))

    def compare(self, rules: ComparisonRules = EXACT, checkpoint: Checkpoint = no_checkpoint) -> SideBySide:
        """What differs, as it is found; read once."""
        return SideBySide(*self._sides, rules, checkpoint)
