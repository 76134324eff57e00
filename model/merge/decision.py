"""One place where the sides of a merge differ, and the value taken there.

Kinds, conflict or not: ``changed`` (a value), ``added``, ``deleted`` (a conflict if the other side changed it),
``type`` (a BSON type, against a value), ``text`` (lines of one text), ``inserted`` (elements without key in one place
of an array), ``order`` (of fields or elements), ``array`` (both sides changed it so that its elements cannot be
matched).
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.errors import Refused
from model.text import path_text
from model.values import canonical as c
from model.values.canonical import Path, Value

Who: TypeAlias = Literal["mine", "theirs", "both"]

ACTIONS = ("base", "mine", "theirs", "both")


class Decision(Struct, frozen=True):
    """Each side's value in one place (None: nothing there), and the value taken.

    ``path`` is a path in the base; for an addition, in the side that added it. ``conflict`` means that a person must
    choose, ``open`` that nobody has chosen yet; ``action`` is then ``base``. Values of an ``order`` are lists of
    names or of elements' identities; values of ``inserted`` are each side's elements.
    """

    path: Path
    base: Value | None
    mine: Value | None
    theirs: Value | None
    kind: str
    conflict: bool
    action: str | Value
    who: Who
    hint: str = ""  # "renamed to …", if that is likely; "moved", if one side moved what the other removed
    both: Value | None = None  # the value for "both"; None if that is impossible
    index: int = 0  # its index among the merge's decisions
    open: bool = False
    initial: str = "base"  # the action before anybody chose

    @property
    def result(self) -> Value | None:
        """The value taken; None for nothing."""
        if isinstance(self.action, Value):
            return self.action
        if self.action == "both":
            return self.both
        return {"base": self.base, "mine": self.mine, "theirs": self.theirs}[self.action]

    def chosen(self, action: object) -> Decision:
        """This decision with another action; raises ``Refused`` if that is impossible here."""
        if isinstance(action, str) and action in ACTIONS:
            if action == "both" and self.both is None:
                raise Refused(f"Both cannot be kept at {self.place}: choose one side or give a value.")
            return replace(self, action=action, open=False)
        value = action if isinstance(action, Value) else Value.of(action)
        self.check(value)
        return replace(self, action=value, open=False)

    def check(self, value: Value) -> None:
        """Raise ``Refused`` if a person's own value does not fit."""
        if self.kind == "inserted" and value.type != c.ARRAY:
            raise Refused(f"What is inserted at {self.place} is an array of elements; give one.")
        if self.kind == "order":
            known = [c.items(side) for side in (self.base, self.mine) if side is not None]
            given = c.items(value) if value.type == c.ARRAY else []
            # As sets with repetitions: an element may occur twice, and must then be named twice.
            if sorted(given, key=_sortable) not in [sorted(names, key=_sortable) for names in known]:
                raise Refused(f"An order for {self.place} is an array of the same {len(known[-1])} names, each once.")

    def reopened(self) -> Decision:
        """This decision reset to its state before anybody chose."""
        return replace(self, action=self.initial, open=self.conflict)

    @property
    def place(self) -> str:
        """The path as text."""
        return path_text(self.path) or "the whole document"


def _sortable(value: Value) -> tuple[int, bytes]:
    return value.type, value.data
