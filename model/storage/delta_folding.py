"""Folds deltas into states: later fields replace earlier ones in place, new ones are appended, null is a value."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Path, Value


class Delta(Struct, frozen=True):
    """The changes of one version: paths that it removes, then fields that it sets.

    ``ends``: it is a tombstone and removes the whole state.
    """

    fields: tuple[tuple[str, Value], ...]
    removed: tuple[str, ...] = ()
    ends: bool = False


class Fold:
    """A state to which deltas are applied; they can be taken back in reverse order."""

    def __init__(self) -> None:
        self._state: dict[str, bytes] = {}  # each field as bytes of a document
        self._undo: list[dict[str, bytes] | list[tuple[str, bytes | None]]] = []

    def content(self) -> bytes:
        """The state as a document."""
        return c.joined(self._state.values())

    def apply(self, delta: Delta) -> None:
        """Apply one delta."""
        if delta.ends:
            self._undo.append(self._state)
            self._state = {}
            return
        if delta.removed:
            self._undo.append(dict(self._state))  # a removed field leaves a gap at its place
            for path in delta.removed:
                self._remove(path)
        else:
            self._undo.append([(name, self._state.get(name)) for name, _ in delta.fields])
        for name, value in delta.fields:
            self._state[name] = c.element(name, value)

    def take_back(self) -> None:
        """Take the last delta back."""
        undo = self._undo.pop()
        if isinstance(undo, dict):
            self._state = undo
            return
        for name, former in reversed(undo):
            if former is None:
                del self._state[name]
            else:
                self._state[name] = former

    def _remove(self, path: str) -> None:
        """Remove a field: one with exactly this name, else the one that the dotted path leads to."""
        if self._state.pop(path, None) is not None:
            return
        head, _, rest = path.partition(".")
        there = self._state.get(head)
        inner = c.get(c.joined([there]), (head,)) if rest and there is not None else None
        if there is not None and inner is not None and inner.is_container:
            steps: Path = (head, *_steps(inner, rest))
            try:
                changed = c.get(c.drop(c.joined([there]), steps), (head,))
            except Unreadable:
                return
            if changed is not None:
                self._state[head] = c.element(head, changed)


def _steps(value: Value, rest: str) -> list[str | int]:
    steps: list[str | int] = []
    here: Value | None = value
    for name in rest.split("."):
        step: str | int = int(name) if here is not None and here.type == c.ARRAY and name.isdigit() else name
        steps.append(step)
        here = c.get(c.document([("", here)]), ("", step)) if here is not None else None
    return steps


def rebuilt(rows: Iterable[bytes], own: Collection[str], base: bytes = c.EMPTY) -> bytes:
    """The state after some stored versions that remove nothing, oldest first; ``own`` fields are not content.

    ``base`` is the state before them. Equals :func:`folded` and is many times faster. Raises ``Unreadable`` if a
    version's fields cannot be read.
    """
    skipped = frozenset(map(c.name_bytes, own))
    state = _fields_set(base, ())
    for raw in rows:
        state.update(_fields_set(raw, skipped))
    return c.joined(state.values())


def newest_states(rows: Iterable[bytes], own: Collection[str], base: bytes = c.EMPTY) -> Iterator[bytes]:
    """The state after each version, newest first, each made on request; versions come oldest first and remove
    nothing.

    ``base`` is the state before them. Equals the states of a :class:`Fold`. Raises ``Unreadable`` before the first
    state.
    """
    skipped = frozenset(map(c.name_bytes, own))
    state = _fields_set(base, ())
    undo: list[list[tuple[bytes, bytes | None]]] = []
    for raw in rows:
        fields = _fields_set(raw, skipped)
        undo.append([(name, state.get(name)) for name in fields])
        state.update(fields)
    while undo:
        yield c.joined(state.values())
        for name, before in reversed(undo.pop()):
            if before is None:
                del state[name]
            else:
                state[name] = before


def _fields_set(raw: bytes, skipped: Collection[bytes]) -> dict[bytes, bytes]:
    """The fields that a stored version sets, each as bytes of a document; of duplicate names the last counts."""
    return {name: raw[at - len(name) - 2 : end] for name, _, at, end in c.elements(raw) if name not in skipped}


def folded(deltas: Iterable[Delta]) -> bytes:
    """The state after some deltas, oldest first."""
    fold = Fold()
    for delta in deltas:
        fold.apply(delta)
    return fold.content()


def delta_between(old: bytes, new: bytes, removes: bool) -> Delta | None:
    """The smallest delta from ``old`` to ``new``, byte for byte; None if there is none.

    Without ``removes`` a delta cannot express that a field was removed or moved. A moved field, and all behind it,
    are removed and set again.
    """
    was, now = dict(c.fields(old)), c.fields(new)
    names = [name for name, _ in now]
    if len(set(names)) != len(names):
        return None
    changed = tuple((name, value) for name, value in now if was.get(name) != value)
    if _gives(old, Delta(changed), new):
        return Delta(changed)
    if not removes:
        return None
    gone = tuple(name for name in was if name not in set(names))
    if _gives(old, Delta(changed, gone), new):
        return Delta(changed, gone)
    for kept in range(len(names) - 1, -1, -1):
        still = set(names[:kept])
        out = tuple(name for name in was if name not in still)
        fields = tuple((name, value) for i, (name, value) in enumerate(now) if i >= kept or was.get(name) != value)
        if _gives(old, Delta(fields, out), new):
            return Delta(fields, out)
    return None


def _gives(old: bytes, delta: Delta, new: bytes) -> bool:
    return folded([Delta(tuple(c.fields(old))), delta]) == new


def removed_by(value: Value | None) -> Sequence[str]:
    """The paths in a version's list of removed paths; none if the value is not a list of texts."""
    if value is None:
        return ()
    parts = c.items(value) if value.type == c.ARRAY else [value]
    return [str(part.python()) for part in parts if part.type == c.STRING]
