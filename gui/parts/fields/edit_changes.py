"""The changes of an edit, each at its place in the present content: for the tree's symbols and the list beside it.

A diff names places in the document it starts from. Rows show the document it ends in, where array elements may have
moved up or down; :class:`EditChanges` translates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from gui.language import tr
from gui.parts.fields import edit_steps
from gui.parts.values.value_text import marks_between
from gui.style.cells import Span
from model import diff, text
from model.diff.positions import Positions
from model.values import canonical
from model.values.canonical import ARRAY, OBJECT, Path, Value


class Change(Struct, frozen=True):
    """One difference. ``path`` is its place in the content; for a removed field, the place where it would be.

    ``old_path`` is its place in the base; an added element has none there, so it is the place in the content.
    """

    op: str
    path: Path
    old_path: Path
    old: Value | None
    new: Value | None
    names: tuple[str, ...] = ()  # for a reorder, the order before

    @property
    def is_element(self) -> bool:
        """Whether it adds an element to an array."""
        return self.op == "add" and isinstance(self.path[-1], int)

    def touches(self, path: Path) -> bool:
        """Whether it changes the value at a path of the base, something inside it, or a container around it."""
        if self.is_element and len(path) >= len(self.old_path):
            return False  # the base has another element with that number, or none
        return _touch(self, self.old_path, path)

    def touches_now(self, path: Path) -> bool:
        """Whether it changes the value at a path of the content, something inside it, or a container around it."""
        return _touch(self, self.path, path)


def _touch(change: Change, at: Path, path: Path) -> bool:
    if change.op == "reorder" and len(path) > len(at):
        return False  # a reordered document still has the same fields
    shorter = min(len(at), len(path))
    return at[:shorter] == path[:shorter]


class EditChanges:
    """The differences between a base and a content; ``keys`` as in ``model.diff.diff``."""

    def __init__(self, base: bytes, content: bytes, keys: Sequence[str] = ("_id",)) -> None:
        self.base = base
        ops = list(diff.diff(base, content, keys))
        self._positions = Positions(ops)
        self.all: tuple[Change, ...] = tuple(self._change(op) for op in ops)
        self.at: dict[Path, Change] = {}
        self.gone: dict[Path, list[Change]] = {}
        self.inside: Counter[Path] = Counter()  # differences at or below a path
        for change in self.all:
            if change.op == "remove":
                self.gone.setdefault(change.path[:-1], []).append(change)
            else:
                self.at.setdefault(
                    change.path, change
                )  # a moved element counts as a move; changes inside it have their own rows
            for depth in range(len(change.path)):
                self.inside[change.path[:depth]] += 1

    def __len__(self) -> int:
        return len(self.all)

    def now(self, path: Path) -> Path:
        """The place in the content of the value that was at ``path`` in the base."""
        return self._positions.now(path)

    def ghosts(self, path: Path, names: Iterable[str | int]) -> dict[int, list[Change]]:
        """The removed fields of the container at ``path``, by the number of present fields (``names``) before each."""
        lost = self.gone.get(path)
        if not lost:
            return {}
        places: dict[int, list[Change]] = {}
        present = {name: i for i, name in enumerate(names)}
        old = canonical.get(self.base, lost[0].old_path[:-1])
        # A removed field is shown after the one that preceded it and is still there, wherever that is now.
        ranks: dict[str | int, int] = {}
        rank = 0
        if old is not None and old.type == OBJECT:
            for name, _ in canonical.fields(old.data):
                rank = present.get(name, rank - 1) + 1
                ranks[name] = rank
        for change in sorted(lost, key=lambda c: c.old_path[-1] if isinstance(c.old_path[-1], int) else 0):
            step = change.path[-1]
            place = step if isinstance(step, int) else ranks.get(step, len(present))
            places.setdefault(min(place, len(present)), []).append(change)
        return places

    def reverted(self, content: bytes, change: Change) -> bytes:
        """The content with one change reverted, as far as the other changes allow."""
        path = change.path
        if change.op == "remove":
            return self._put_back(content, change)
        spot = edit_steps.spot_of(content, path)
        if spot is None:
            return content
        if change.op == "add":
            return edit_steps.removed(content, spot)
        if change.op == "reorder":
            return edit_steps.reordered(content, spot, change.names)
        if change.op == "move":
            position = change.old_path[-1]
            return edit_steps.moved(content, spot, position) if isinstance(position, int) else content
        return content if change.old is None else edit_steps.replaced(content, spot, change.old)

    def _put_back(self, content: bytes, change: Change) -> bytes:
        container = edit_steps.spot_of(content, change.path[:-1])
        if container is None or change.old is None:
            return content
        inside = edit_steps.value_at(content, container)
        names = [name for name, _ in canonical.fields(inside.data)]
        keys: list[str | int] = [*range(len(names))] if inside.type == ARRAY else [*names]
        ghosts = self.ghosts(change.path[:-1], keys)
        place = next((at for at, lost in ghosts.items() if change in lost), len(names))
        return edit_steps.inserted(content, container, place, str(change.path[-1]), change.old)

    def _change(self, op: diff.Operation) -> Change:
        if isinstance(op, diff.Remove):
            return Change("remove", self.now(op.path), op.path, op.old, None)
        names = op.names_old if isinstance(op, diff.Reorder) else ()
        return Change(op.op, op.to_path, op.path, op.old, op.new, names)


def marked(value: Value, other: Value, zone: str, mark: str, token: str = "text") -> tuple[Span, ...]:
    """A value as runs of text, with the marks that a comparison with the other value would show."""
    spans: list[Span] = []
    shown = text.shown(value, zone)
    at = 0
    for start, end in marks_between(other, value, text.shown(other, zone), shown)[1]:
        spans += [Span(shown[at:start], token), Span(shown[start:end], mark=mark)]
        at = end
    spans.append(Span(shown[at:], token))
    return tuple(span for span in spans if span.text)


def around(shown: str, other: str, room: int = 24) -> str:
    """A long text cut to the words around its first difference from the other: ``"… 2024. …"``."""
    if len(shown) <= room:
        return shown
    quote = '"' if shown[:1] == '"' else ""
    body, against = shown.strip('"'), other.strip('"')
    first = next(
        (i for i, (a, b) in enumerate(zip(body, against, strict=False)) if a != b), min(len(body), len(against))
    )
    start = body.rfind(" ", 0, first) + 1
    if first - start > room:
        start = first
    end = body.find(" ", first)
    end = len(body) if end < 0 else end
    end = min(end, start + room)
    before, after = "… " if start else "", " …" if end < len(body) else ""
    return f"{quote}{before}{body[start:end]}{after}{quote}"


def path_text(change: Change) -> str:
    """The change's path as people write it; "the document" if it changes the whole."""
    return text.path_text(change.path) or tr("the document")
