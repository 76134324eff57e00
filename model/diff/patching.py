"""Applies a diff to a document's bytes, without recursion; every old value is checked."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, field

from model.diff.operations import Add, Diff, Move, Operation, Remove, Reorder, TextEdit
from model.diff.text_comparison import apply_edits
from model.errors import Refused
from model.text import scalars
from model.text.paths import path_text
from model.values import canonical as c
from model.values.canonical import Path, Value


class _PatchNode:
    """The operations at one place and below it."""

    __slots__ = ("at", "below")

    def __init__(self) -> None:
        self.at: list[Operation] = []
        self.below: dict[str | int, _PatchNode] = {}

    def place(self, path: Path, op: Operation) -> None:
        node = self
        for step in path:
            found = node.below.get(step)
            if found is None:
                found = node.below[step] = _PatchNode()
            node = found
        node.at.append(op)


_NOTHING = _PatchNode()


class _PatchedContainer(Struct):
    """A container being built: its fields, and which of them change inside."""

    kind: int
    pairs: list[tuple[str, Value | None]]
    todo: list[tuple[int, Value, _PatchNode, _PatchNode]] = field(default_factory=list)
    slot: int = -1  # its index in the parent


def patch(a: bytes, d: Diff) -> bytes:
    """The document that the diff leads to: ``patch(a, diff(a, b)) == b``, byte for byte.

    Raises ``Refused`` if a value to change does not equal the diff's old one.
    """
    old, new = _PatchNode(), _PatchNode()
    for op in d.operations:
        (new if isinstance(op, Add) else old).place(op.path, op)
    top = Value(c.OBJECT, a)
    stack: list[_PatchedContainer] = []
    done = _start(top, old, new, -1, stack)
    while stack:
        frame = stack[-1]
        if frame.todo:
            slot, value, left, right = frame.todo.pop()
            # Drop the old value from its container meanwhile: else each level of a deep document would keep all below
            # it.
            frame.pairs[slot] = (frame.pairs[slot][0], None)
            finished = _start(value, left, right, slot, stack)
            if finished is not None:
                frame.pairs[slot] = (frame.pairs[slot][0], finished)
            continue
        stack.pop()
        done = _built(frame)
        if stack:
            parent = stack[-1]
            parent.pairs[frame.slot] = (parent.pairs[frame.slot][0], done)
    if done is None or done.type != c.OBJECT:
        raise Refused("This change would leave no document.")
    return done.data


def _start(value: Value, old: _PatchNode, new: _PatchNode, slot: int, stack: list[_PatchedContainer]) -> Value | None:
    """The changed value if no work is needed inside it; None if its container was pushed onto the stack."""
    reorder: Reorder | None = None
    for op in old.at:
        if isinstance(op, Reorder):
            reorder = op
        elif not isinstance(op, Move):
            return _changed(value, op)
    if not old.below and not new.below and reorder is None:
        return value
    if value.type == c.ARRAY:
        frame = _array(value, old, new)
    elif value.type == c.OBJECT:
        frame = _document(value, old, new, reorder)
    else:
        raise _misfit(next(iter(_all(old) or _all(new))))
    frame.slot = slot
    stack.append(frame)
    return None


def _changed(value: Value, op: Operation) -> Value:
    if op.old != value or op.new is None:
        raise _misfit(op)
    if isinstance(op, TextEdit):
        text = scalars.string_of(value.data)
        edited = None if text is None else apply_edits(text[0], list(op.edits))
        if edited is None:
            raise _misfit(op)
        return Value(value.type, scalars.string_data(edited))
    return op.new


def _document(value: Value, old: _PatchNode, new: _PatchNode, reorder: Reorder | None) -> _PatchedContainer:
    frame = _PatchedContainer(c.OBJECT, [])
    below: dict[str, tuple[Value, _PatchNode, _PatchNode]] = {}
    for name, inner in c.fields(value.data):
        left, right = old.below.get(name, _NOTHING), new.below.get(name, _NOTHING)
        if left.at and _is_removed(left, inner):
            continue
        frame.pairs.append((name, inner))
        added = any(isinstance(op, Add) for op in right.at)
        if left is not _NOTHING or (right is not _NOTHING and not added):
            below[name] = (inner, left, right)
    _insert(frame, _adds(new))
    if reorder is not None:
        _bring_in_order(frame, reorder)
    if below:
        frame.todo = [(i, *below[name]) for i, (name, _) in enumerate(frame.pairs) if name in below]
    if len(frame.todo) < len(below) or any(step not in below for step in old.below if not _removed(old, step)):
        raise _misfit(next(iter(_all(old))))
    return frame


def _is_removed(node: _PatchNode, value: Value) -> bool:
    """Whether a field is removed; raises ``Refused`` if its value is not the diff's old one."""
    if not any(isinstance(op, Remove) for op in node.at):
        return False
    if any(op.old != value for op in node.at):
        raise _misfit(node.at[0])
    return True


def _bring_in_order(frame: _PatchedContainer, reorder: Reorder) -> None:
    """Bring a document's fields into the new order."""
    by_name = dict(frame.pairs)
    if set(by_name) != set(reorder.names_new) or len(by_name) != len(reorder.names_new):
        raise _misfit(reorder)
    frame.pairs = [(name, by_name[name]) for name in reorder.names_new]


def _insert(frame: _PatchedContainer, adds: list[Add]) -> None:
    """Insert the added fields of a document at their places."""
    if not adds:
        return
    places: dict[int, tuple[str, Value]] = {}
    known = {name for name, _ in frame.pairs}
    size = len(frame.pairs) + len(adds)
    for op in adds:
        step = op.path[-1]
        if not isinstance(step, str) or step in known or op.at in places or not 0 <= op.at < size:
            raise _misfit(op)
        places[op.at] = (step, op.new)
        known.add(step)
    kept = iter(frame.pairs)
    frame.pairs = [places[i] if i in places else next(kept) for i in range(size)]


def _array(value: Value, old: _PatchNode, new: _PatchNode) -> _PatchedContainer:
    elements = c.items(value)
    adds = {op.at: op for op in _adds(new)}
    gone, moves = _leaving(elements, old)
    size = len(elements) - len(gone) + len(adds)
    source: list[int | None] = [None] * size
    for start, end in moves.items():
        if end >= size or source[end] is not None or end in adds:
            raise _misfit(old.below[start].at[0])
        source[end] = start
    kept = (i for i in range(len(elements)) if i not in gone and i not in moves)
    frame = _PatchedContainer(c.ARRAY, [])
    for j in range(size):
        add = adds.get(j)
        if add is not None:
            frame.pairs.append((str(j), add.new))
            continue
        i = source[j]
        if i is None:
            i = next(kept, None)
        if i is None:
            raise Refused("This change does not fit the document: an array has too few elements.")
        frame.pairs.append((str(j), elements[i]))
        left, right = old.below.get(i, _NOTHING), new.below.get(j, _NOTHING)
        if left is not _NOTHING or right is not _NOTHING:
            frame.todo.append((j, elements[i], left, right))
    if any(at >= size for at in adds):
        raise _misfit(adds[max(adds)])
    return frame


def _leaving(elements: Sequence[Value], old: _PatchNode) -> tuple[set[int], dict[int, int]]:
    """The elements that leave their place: the removed ones, and the moved ones with their new positions."""
    gone: set[int] = set()
    moves: dict[int, int] = {}
    for step, node in old.below.items():
        if not isinstance(step, int) or step >= len(elements):
            raise _misfit(next(iter(_all(node))))
        for op in node.at:
            if isinstance(op, Remove | Move) and op.old != elements[step]:
                raise _misfit(op)
            if isinstance(op, Remove):
                gone.add(step)
            elif isinstance(op, Move):
                moves[step] = int(op.to_path[-1])
    return gone, moves


def _adds(node: _PatchNode) -> list[Add]:
    return [op for child in node.below.values() for op in child.at if isinstance(op, Add)]


def _removed(node: _PatchNode, name: str | int) -> bool:
    return any(isinstance(op, Remove) for op in node.below[name].at)


def _all(node: _PatchNode) -> list[Operation]:
    """The operations nearest to a node, at it or below."""
    found, level = list(node.at), list(node.below.values())
    while level and not found:
        found = [op for inner in level for op in inner.at]
        level = [child for inner in level for child in inner.below.values()]
    return found


def _built(frame: _PatchedContainer) -> Value:
    return Value(frame.kind, c.document((name, value) for name, value in frame.pairs if value is not None))


def _misfit(op: Operation) -> Refused:
    where = path_text(op.path) or "the whole document"
    return Refused(f"This change does not fit the document: {where} is not what it was; compare the two again.")
