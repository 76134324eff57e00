"""A diff as JSON Patch (RFC 6902), for the relaxed Extended JSON of both documents.

JSON objects have no order, so a reorder of fields is left out. A change of type that relaxed notation does not show
becomes a replacement by an equal text. Documents and arrays that need an escape form on either side are replaced
whole. Operations are in the order of application: first those inside elements, while positions are still the old
ones, then those of the array itself.
"""

from __future__ import annotations

from collections.abc import Collection

from model.diff.operations import Add, Diff, Move, Operation, Remove, Reorder
from model.text.json_writer import Style, needs_elements, needs_fields, write
from model.text.scalars import quoted
from model.values import canonical as c
from model.values.canonical import Path, Value

_RELAXED = Style("relaxed")


class _Place:
    """The operations by place, in the old document (all but additions) or in the new one (additions)."""

    __slots__ = ("at", "below")

    def __init__(self) -> None:
        self.at: list[Operation] = []
        self.below: dict[str | int, _Place] = {}

    def put(self, path: Path, op: Operation) -> None:
        place = self
        for step in path:
            place = place.below.setdefault(step, _Place())
        place.at.append(op)


def json_patch(changes: Diff, a: Value, b: Value) -> str:
    """The patch as one line of JSON, an array; applied to the relaxed JSON of ``a``, it gives that of ``b``."""
    old, new = _Place(), _Place()
    for op in changes:
        (new if isinstance(op, Add) else old).put(op.path, op)
    out: list[str] = []
    # A container's own operations wait on the stack, as text, until those inside it are written.
    stack: list[tuple[str, Value, Value, _Place, _Place] | list[str]] = [("", a, b, old, new)]
    while stack:
        task = stack.pop()
        if isinstance(task, list):
            out += task
            continue
        pointer, before, after, left, right = task
        if before == after:
            continue
        whole = [op for op in left.at if not isinstance(op, Move | Reorder)]
        if whole or not before.is_container or before.type != after.type or not (_plain(before) and _plain(after)):
            out.append(_line("replace", pointer, write(after, _RELAXED)))
        elif before.type == c.OBJECT:
            own, inside = _document(pointer, before, after, left, right)
            stack += [own, *reversed(inside)]
        else:
            own, inside = _array(pointer, before, after, left, right)
            stack += [own, *reversed(inside)]
    return "[" + ", ".join(out) + "]"


_Inside = list["tuple[str, Value, Value, _Place, _Place] | list[str]"]


def _document(pointer: str, before: Value, after: Value, left: _Place, right: _Place) -> tuple[list[str], _Inside]:
    olds, news = dict(c.fields(before.data)), dict(c.fields(after.data))
    own: list[str] = []
    inside: _Inside = []
    for name, value in olds.items():
        here = f"{pointer}/{_escaped(name)}"
        if name not in news:
            own.append(_line("remove", here))
        elif value != news[name]:
            inside.append((here, value, news[name], _below(left, name), _below(right, name)))
    for name, value in news.items():
        if name not in olds:
            own.append(_line("add", f"{pointer}/{_escaped(name)}", write(value, _RELAXED)))
    return own, inside


def _array(pointer: str, before: Value, after: Value, left: _Place, right: _Place) -> tuple[list[str], _Inside]:
    olds, news = c.items(before), c.items(after)
    gone: list[int] = []
    moved: dict[int, int] = {}  # new position -> old position
    for i, place in left.below.items():
        for op in place.at:
            if isinstance(op, Remove):
                gone.append(int(i))
            elif isinstance(op, Move):
                moved[int(op.to_path[-1])] = int(i)
    added = {int(j) for j, place in right.below.items() if any(isinstance(op, Add) for op in place.at)}
    leaving = set(gone) | set(moved.values())
    kept = iter([i for i in range(len(olds)) if i not in leaving])
    source = [None if j in added else moved[j] if j in moved else next(kept) for j in range(len(news))]
    inside: _Inside = [
        (f"{pointer}/{i}", olds[i], news[j], _below(left, i), _below(right, j))
        for j, i in enumerate(source)
        if i is not None and olds[i] != news[j]
    ]
    own = [_line("remove", f"{pointer}/{i}") for i in sorted(gone, reverse=True)]
    if moved:
        own += _placed(pointer, len(olds), set(gone), source, moved.keys(), news)
    else:
        own += [_line("add", f"{pointer}/{j}", write(news[j], _RELAXED)) for j in sorted(added)]
    return own, inside


def _placed(
    pointer: str, count: int, gone: set[int], source: list[int | None], moved: Collection[int], news: list[Value]
) -> list[str]:
    """Put each added or moved element after its predecessor in the new array, from the start on."""
    lines: list[str] = []
    left = _Counts([0, *(i not in gone for i in range(count))])  # a count for the start and for each old element
    home = 0  # the old element after which the next one belongs; those already put there are counted with it
    for j, i in enumerate(source):
        if i is None:
            lines.append(_line("add", f"{pointer}/{left.until(home + 1)}", write(news[j], _RELAXED)))
            left.change(home, 1)
        elif j in moved:
            start = left.until(i + 1)
            left.change(i + 1, -1)
            at = left.until(home + 1)
            left.change(home, 1)
            if start != at:
                lines.append(f'{{"op": "move", "from": {quoted(f"{pointer}/{start}")}, '
                             f'"path": {quoted(f"{pointer}/{at}")}}}')  # fmt: skip
        else:
            home = i + 1
    return lines


class _Counts:
    """A Fenwick tree: numbers that change, with fast sums of the first few."""

    def __init__(self, counts: list[int]) -> None:
        self.sums = [0, *counts]
        for i in range(1, len(self.sums)):
            above = i + (i & -i)
            if above < len(self.sums):
                self.sums[above] += self.sums[i]

    def until(self, end: int) -> int:
        """The sum of the numbers before ``end``."""
        total, sums = 0, self.sums
        while end:
            total += sums[end]
            end &= end - 1
        return total

    def change(self, at: int, by: int) -> None:
        """Add to one of the numbers."""
        sums, i = self.sums, at + 1
        while i < len(sums):
            sums[i] += by
            i += i & -i


def _below(place: _Place, step: str | int) -> _Place:
    return place.below.get(step) or _Place()


def _plain(value: Value) -> bool:
    parts = list(c.elements(value.data))
    return not (needs_elements(parts) if value.type == c.ARRAY else needs_fields(value.data, parts))


def _line(op: str, pointer: str, value: str | None = None) -> str:
    text = f'{{"op": "{op}", "path": {quoted(pointer)}'
    return text + ("}" if value is None else f', "value": {value}}}')


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")
