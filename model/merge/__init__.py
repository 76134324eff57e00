"""Merges two edits of one document: base, mine and theirs give decisions, and the decisions give the merged document.

A change by one side is taken, and so is an equal change by both. Different changes in one place are a conflict; it
keeps the base's value until somebody chooses. Array elements are matched if they are equal or have an equal identity
key. Laws::

    merge(b, x, b).document() == merge(b, b, x).document() == merge(b, x, x).document() == x
    merge(b, x, y) and merge(b, y, x) agree, except in the order of names that both sides added
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from model.errors import Refused
from model.merge.decision import Decision
from model.merge.merged_form import Part, build
from model.merge.planner import Planner
from model.values import canonical as c

__all__ = ["Decision", "Merge", "merge"]


class Merge(Struct, frozen=True):
    """The decisions of a merge, in document order, and the document that follows from them."""

    decisions: tuple[Decision, ...]
    top: Part

    @property
    def conflicts(self) -> tuple[Decision, ...]:
        """The decisions that a person must still make."""
        return tuple(decision for decision in self.decisions if decision.open)

    @property
    def unresolved(self) -> int:
        """The number of decisions that a person must still make."""
        return len(self.conflicts)

    def choose(self, conflict: Decision, action: object) -> Merge:
        """The merge with one decision made: ``action`` is base, mine, theirs, both, or a value.

        Any other string is taken as a value; for one of these four words as a value, pass ``Value.of(…)``. The
        decision may be from an earlier state of this merge. Raises ``Refused`` if the action is impossible there.
        """
        return self._with(self._known(conflict).chosen(action))

    def reopen(self, decision: Decision) -> Merge:
        """The merge with a decision reset to its state before anybody chose."""
        return self._with(self._known(decision).reopened())

    def _known(self, decision: Decision) -> Decision:
        # A place in the list alone proves nothing: another merge has other decisions at these places.
        if not 0 <= decision.index < len(self.decisions) or self.decisions[decision.index].path != decision.path:
            raise Refused("This decision belongs to another merge; choose among those of this one.")
        return self.decisions[decision.index]

    def _with(self, decision: Decision) -> Merge:
        i = decision.index
        return replace(self, decisions=(*self.decisions[:i], decision, *self.decisions[i + 1 :]))

    def document(self) -> bytes:
        """The merged document; raises ``Refused`` while a conflict is open."""
        waiting = self.conflicts
        if waiting:
            places = ", ".join(decision.place for decision in waiting[:3])
            more = f" and {len(waiting) - 3} more" if len(waiting) > 3 else ""
            raise Refused(f"Both sides changed {places}{more} in different ways; choose first.")
        return self.preview()

    def preview(self) -> bytes:
        """The document so far, with the base's value for each open conflict."""
        result = build(self.top, self.decisions)
        if result is None or result.type != c.OBJECT:
            raise Refused("What was chosen for the whole document is not a document; choose again.")
        return result.data


def merge(base: bytes, mine: bytes, theirs: bytes, keys: Sequence[str] = ("_id",)) -> Merge:
    """The merge of two edits of ``base``; ``keys`` as in ``model.diff.diff``.

    Raises ``Unreadable`` if one of the three is not BSON.
    """
    planner = Planner(base, mine, theirs, keys)
    top = planner.run()
    return Merge(tuple(planner.decisions), top)
