"""The widths of the columns in a list of changes, and which columns are left out if it is narrow."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from msgspec import Struct

from gui.style import theme
from gui.style.cells import Cell, full_width
from gui.views.activity.activity_model import BY, COLLECTION, DOCUMENT, FIELDS, REASON, VERSION, WHAT, WHEN

LEAST = 100  # u in which a fields column is still useful
GIVE_WAY = (REASON, FIELDS, VERSION, BY)
SHORT = (WHEN, VERSION, WHAT)  # their texts are short, and shown whole
MOST = {BY: 120, DOCUMENT: 120, COLLECTION: 120, REASON: 140}  # u; longer texts are cut if there is too little room
MEASURED = 100  # rows whose texts decide how wide a column should be
Widths = Mapping[int, int]


class ChangeColumns(Struct, frozen=True):
    """The visible columns with their widths in pixels; fields take the rest."""

    widths: tuple[tuple[int, int], ...]

    @property
    def shown(self) -> frozenset[int]:
        """The columns that fit."""
        return frozenset(at for at, _ in self.widths)


def needs(cells: Iterable[tuple[int, Cell]], before: Widths | None = None) -> dict[int, int]:
    """The widths that show the texts of some cells, by column; none is less than ``before``."""
    found = dict(before or {})
    for at, cell in cells:
        if cell.spans:
            found[at] = max(found.get(at, 0), round(full_width(cell) + 0.5))
    return found


def shared(
    room: int, given: Sequence[int], heads: Sequence[int], words: Widths, there: Collection[int]
) -> ChangeColumns:
    """Widths for the columns that are ``there``: the ``given`` ones, or what ``words`` need if there is too little
    room.

    Columns that still do not fit are left out one by one, and ids are cut in the middle.
    """
    columns = sorted(there)
    wide = {at: max(given[at], heads[at], words.get(at, 0) if at in SHORT else 0) for at in columns}
    if FIELDS in wide:
        wide[FIELDS] = theme.px(LEAST)
    if sum(wide.values()) <= room:
        return ChangeColumns(tuple(wide.items()))
    least = {at: _least(at, heads[at], words.get(at, 0) or given[at]) for at in columns}
    for at in GIVE_WAY:
        if sum(least.values()) <= room:
            break
        least.pop(at, None)
    for at in (COLLECTION, DOCUMENT):
        if at in least:
            least[at] = max(min(heads[at], least[at]), least[at] - max(0, sum(least.values()) - room))
    return ChangeColumns(tuple(least.items()))


def _least(at: int, head: int, words: int) -> int:
    if at == FIELDS:
        return theme.px(LEAST)
    return max(head, min(words, theme.px(MOST[at])) if at in MOST else words)
