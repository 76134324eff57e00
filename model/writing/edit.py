"""Edits: read, change, swap; the content that an edit makes, and the meaning of a failed swap.

A swap succeeds only on the version it began from. Where it fails, :func:`conflict` reads the document again and
says which of several things happened; nothing has been written then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from model import text
from model.diff import Diff, Move, Reorder, Retype, diff
from model.errors import NotFound, Refused
from model.foundation.records import Version
from model.layouts.base import Layout
from model.storage import update_operators
from model.text import path_text
from model.values import canonical
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.merge import Merge


class Conflict(Struct, frozen=True):
    """The reason why a swap failed, and its three sides.

    ``kind``: ``changed`` fields or values, ``deleted`` it is gone, ``identical`` it has my edit's content
    already, ``types`` only BSON types or the order of fields differ from the base, ``aba`` the version moved on but
    the content is the base's again.
    """

    base: Version
    mine: bytes
    theirs: Version | None  # None where deleted
    kind: Literal["changed", "deleted", "identical", "types", "aba"]
    merge: Merge | None  # None where deleted; without conflicts its document can be saved over ``theirs``
    changed_by_them: tuple[Path, ...]  # from base to theirs
    changed_by_me: tuple[Path, ...]  # from base to mine
    keys: tuple[str, ...] = ("_id",)  # the fields by which elements of arrays were recognised
    takes_reason: bool = False  # whether a version can say why it was made
    reason: str = ""  # that was given for the edit

    @property
    def both(self) -> tuple[Path, ...]:
        """The paths where the merge needs a person."""
        return () if self.merge is None else tuple(d.path for d in self.merge.conflicts)


def conflict(layout: Layout, id: Value, base: Version, mine: bytes) -> Conflict:
    """The changes of a document since ``base``, merged with an edit that began there."""
    from model.merge import merge  # most edits meet nobody else's

    origin, keys = base.content or canonical.EMPTY, layout.profile.keys
    by_me = touched(diff(origin, mine, keys))
    try:
        theirs = layout.version(id)
    except NotFound:
        return Conflict(base, mine, None, "deleted", None, (), by_me, keys, layout.takes_reason)
    content = theirs.content
    if content is None:
        raise Refused(f"The document in the database cannot be read ({theirs.detail or theirs.state}), so not merged.")
    between = diff(origin, content, keys)
    kind: Literal["changed", "identical", "types", "aba"] = "changed"
    if content == mine:
        kind = "identical"
    elif not between:
        kind = "aba"
    elif all(isinstance(op, Retype | Reorder) for op in between):
        kind = "types"
    merged, by_them = merge(origin, mine, content, keys), touched(between)
    return Conflict(base, mine, theirs, kind, merged, by_them, by_me, keys, layout.takes_reason)


def touched(changes: Diff) -> tuple[Path, ...]:
    """The paths of a diff's operations, each once, in its order."""
    paths: dict[Path, None] = {}
    for op in changes:
        paths[op.to_path if isinstance(op, Move) else op.path] = None
    return tuple(paths)


def changed(content: bytes, set: Iterable[tuple[Path, Value]], unset: Iterable[Path]) -> bytes:
    """The content with some fields set and others taken out; a field to take out that is not there stays absent."""
    for path, value in set:
        content = canonical.put(content, path, value)
    for path in unset:
        if canonical.get(content, path) is not None:
            content = canonical.drop(content, path)
    return content


def spelled(before: bytes, after: bytes) -> str:
    """The values by which a content becomes another, for whoever makes the change with another program.

    As in ``price = 12.5; note is taken out``, with values in Extended JSON; a field whose changes have no paths of
    their own stands there whole.
    """
    operators = update_operators.operators(before, after, retypes=True)
    if operators is not None:
        sets, unsets = operators.sets, operators.unsets
    else:
        was, now = dict(canonical.fields(before)), dict(canonical.fields(after))
        sets = {name: value for name, value in now.items() if was.get(name) != value}
        unsets = tuple(name for name in was if name not in now)
    said = [f"{path} = {_readable(value)}" for path, value in sets.items()]
    return "; ".join([*said, *(f"{path} is taken out" for path in unsets)])


def _readable(value: Value) -> str:
    """A value in Extended JSON on one line, relaxed where that loses nothing."""
    return text.readable(canonical.document([("", value)]), None)[len('{"": ') : -1]


def check_paths(paths: Iterable[Path], locked: Sequence[str]) -> None:
    """Raise ``Refused`` where an edit names a field that the layout reserves, or one field twice."""
    seen: list[Path] = []
    for path in paths:
        if not path or isinstance(path[0], int):
            raise Refused("A change names a field, as in premium.gross or riders[2].")
        if path[0] in locked:
            raise Refused(f"{path[0]} is kept by the layout and changes with each version; leave it out.")
        clash = next((p for p in seen if p[: len(path)] == path or path[: len(p)] == p), None)
        if clash is not None:
            if clash == path:
                raise Refused(f"{path_text(path)} is named twice; keep one of them.")
            raise Refused(f"{path_text(path)} and {path_text(clash)} name one place twice; keep one of them.")
        seen.append(path)


def restored(old: bytes, current: bytes, fields: Sequence[Path] | None) -> bytes:
    """The current content with some fields as they were in ``old``; all of ``old`` where ``fields`` is None.

    A field that was not there is taken out. Raises ``Refused`` for a path that neither of them has.
    """
    if fields is None:
        return old
    puts, drops = [], []
    for path in fields:
        before, now = canonical.get(old, path), canonical.get(current, path)
        if before is None and now is None:
            raise Refused(f"Neither version has a field {path_text(path)}; check how it is written.")
        if before is None:
            drops.append(path)
        elif before != now:
            puts.append((path, before))
    # Elements are removed from the end, so that none still to remove is moved, and added from the front.
    for path in sorted(drops, key=_order, reverse=True):
        current = canonical.drop(current, path)
    for path, value in sorted(puts, key=lambda put: _order(put[0])):
        current = canonical.put(current, path, value)
    return current


def _order(path: Path) -> tuple[int, ...]:
    """A key that sorts positions within an array and leaves fields in the order that they were named in."""
    return tuple(step if isinstance(step, int) else -1 for step in path)
