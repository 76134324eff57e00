"""The rows of a document's tree, read from raw bytes as far as they are expanded. No Qt.

A container with more than :data:`MOST` fields shows them in groups of that size, so that no node ever has more child
rows, however long an array is.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from model.errors import Unreadable
from model.values.canonical import ARRAY, EMPTY, OBJECT, Path, Value, elements, fields, name_of

if TYPE_CHECKING:
    from gui.parts.fields.edit_changes import Change, EditChanges
    from gui.style.cells import Cell

MOST = 1000


class FieldEntry(NamedTuple):
    """The field, or part of a field, that a row will show."""

    kind: str
    name: str | int
    value: Value
    position: int
    end: int = 0
    lost: Change | None = None


class FieldNode(Struct, eq=False):
    """One row.

    ``kind`` is ``field``; ``ghost``, removed and still shown; ``locked``, kept by the layout for itself; or
    ``group``, the fields from ``position`` to before ``end`` of a long container, whose value it has.
    """

    key: int
    parent: FieldNode | None
    row: int
    kind: str
    name: str | int
    value: Value
    position: int  # among the content's fields; meaningless for ghosts and locked fields
    end: int = 0
    lost: Change | None = None  # a ghost's change
    children: list[FieldNode] | None = None  # None: not expanded yet
    is_open: bool = False
    load_anyway: bool = False
    cells: dict[int, Cell] = field(default_factory=dict)
    walk: list[tuple[bytes, int, int, int]] | None = None  # the fields inside, once they were looked at
    ghosts: dict[int, list[Change]] = field(default_factory=dict)

    @property
    def holds_any(self) -> bool:
        """Whether there is anything inside."""
        return self.value.is_container and (len(self.value.data) > len(EMPTY) or bool(self.ghosts))

    @property
    def container(self) -> FieldNode:
        """The node of the container itself; a group is only a part of one."""
        return self.parent if self.kind == "group" and self.parent is not None else self

    @property
    def is_long(self) -> bool:
        """Whether the fields inside are shown in groups."""
        return self.kind != "group" and len(self.walked()) > MOST

    def walked(self) -> list[tuple[bytes, int, int, int]]:
        """Name, type and place of each field inside; none if these cannot be read."""
        holder = self.container
        if holder.walk is None:
            try:
                holder.walk = list(elements(holder.value.data)) if holder.value.is_container else []
            except Unreadable:
                holder.walk = []
        return holder.walk

    def look(self, path: Path, changes: EditChanges | None) -> None:
        """Read the inside again, and find out which of its fields were removed."""
        self.walk = None
        self.ghosts = {}
        if changes is not None and self.kind == "field" and changes.gone.get(path):
            is_array = self.value.type == ARRAY
            names = range(len(self.walked())) if is_array else [name_of(found[0]) for found in self.walked()]
            self.ghosts = changes.ghosts(path, names)

    def inside(self) -> list[FieldEntry]:
        """The entries for the rows below this one."""
        total = len(self.walked())
        if self.is_long:
            ranges = [(at, min(at + MOST, total)) for at in range(0, total, MOST)]
            return [FieldEntry("group", start, self.value, start, end) for start, end in ranges]
        return self._part(self.position, self.end) if self.kind == "group" else self._part(0, total)

    def _part(self, start: int, end: int) -> list[FieldEntry]:
        holder = self.container
        data, is_array = holder.value.data, holder.value.type == ARRAY
        walk, kind = self.walked(), holder.kind
        made: list[FieldEntry] = []
        for at in range(start, end):
            made += self._lost(at)
            name, type_, a, b = walk[at]
            made.append(FieldEntry(kind, at if is_array else name_of(name), Value(type_, data[a:b]), at))
        if end == len(walk):
            made += self._lost(end)
        return made

    def _lost(self, at: int) -> list[FieldEntry]:
        gone = self.container.ghosts.get(at, ())
        return [FieldEntry("ghost", c.path[-1], c.old, -1, 0, c) for c in gone if c.old is not None]

    def position_of(self, step: str | int) -> int:
        """The position that a field inside has, or would have if it existed; -1 for a step of the other kind."""
        walk = self.walked()
        if (self.value.type == ARRAY) != isinstance(step, int):
            return -1
        if isinstance(step, int):
            return min(step, len(walk))
        for at, found in enumerate(walk):
            if name_of(found[0]) == step:
                return at
        return next((at for at, lost in self.ghosts.items() if any(c.path[-1] == step for c in lost)), -1)


def rows_kept(old: Sequence[FieldNode], new: Sequence[FieldEntry], by_value: bool, renamed: bool) -> list[int | None]:
    """For each entry the position of the row that stands for it already; None for one that needs a new row.

    Fields keep their row by name, elements (``by_value``) by value, else by ``_id``, else by position where no other
    element came or went beside them. With ``renamed``, a field that has no row yet gets the one of a field that has
    gone from the same place.
    """
    head, tail = _alike_ends(old, new, _by_value if by_value else _by_name)
    kept: list[int | None] = [*range(head), *([None] * (len(new) - head - tail)), *range(len(old) - tail, len(old))]
    free = dict.fromkeys(range(head, len(old) - tail))
    for sign in (_by_value, _by_element_id) if by_value else (_by_name,):
        _match(old, new, kept, free, sign)
    if free and (by_value or renamed):
        _pair_between(kept, len(old), free, renamed)
    return kept


def _by_name(row: FieldNode | FieldEntry) -> Hashable:
    return row.kind if row.kind in ("locked", "group") else "", row.name


def _by_value(row: FieldNode | FieldEntry) -> Hashable:
    return row.kind, row.value


def _by_element_id(row: FieldNode | FieldEntry) -> Hashable:
    if row.value.type != OBJECT:
        return None
    try:
        return next((value for name, value in fields(row.value.data) if name == "_id"), None)
    except Unreadable:
        return None


def _alike_ends(
    old: Sequence[FieldNode], new: Sequence[FieldEntry], sign: Callable[[FieldNode | FieldEntry], Hashable]
) -> tuple[int, int]:
    """How many rows at the beginning and at the end stay what they are."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if sign(old[i]) != sign(new[i])), shorter)
    most = shorter - head
    return head, next((i for i in range(most) if sign(old[-1 - i]) != sign(new[-1 - i])), most)


def _match(
    old: Sequence[FieldNode],
    new: Sequence[FieldEntry],
    kept: list[int | None],
    free: dict[int, None],
    sign: Callable[[FieldNode | FieldEntry], Hashable],
) -> None:
    """Give each entry that has none the first free row with the same sign."""
    there: dict[Hashable, list[int]] = {}
    for at in reversed(free):
        there.setdefault(sign(old[at]), []).append(at)
    for i, entry in enumerate(new):
        if kept[i] is None and (found := sign(entry)) is not None and there.get(found):
            kept[i] = at = there[found].pop()
            del free[at]


def _pair_between(kept: list[int | None], count: int, free: dict[int, None], renamed: bool) -> None:
    """Pair entries and free rows between the same two rows; without ``renamed`` only where they are as many."""
    i = 0
    while i < len(kept):
        if kept[i] is not None:
            i += 1
            continue
        end = next((at for at in range(i, len(kept)) if kept[at] is not None), len(kept))
        before, after = kept[i - 1] if i else -1, kept[end] if end < len(kept) else count
        rows = [at for at in free if before is not None and after is not None and before < at < after]
        if renamed or len(rows) == end - i:
            for at, row in zip(range(i, end), rows, strict=False):
                kept[at] = row
                del free[row]
        i = end
