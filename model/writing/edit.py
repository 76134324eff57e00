"""Edits: the content that an edit produces, and why a swap failed.

A swap succeeds only on the version it started from. If it fails, nothing has been written, and :func:`conflict` reads
the document again and says what happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, cast

from msgspec import Struct

from model import text
from model.diff import Reorder, Retype, diff
from model.errors import NotFound, Refused
from model.storage import update_operators
from model.text import path_text
from model.values import canonical
from model.values.canonical import Path, Value
from model.writing.remains import Remains, remains

if TYPE_CHECKING:
    from model.foundation.records import Version
    from model.layouts.base import Layout
    from model.merge import Merge


class Conflict(Struct, frozen=True):
    """Why a swap failed, with the three versions involved.

    ``kind``: ``changed`` if fields or values differ, ``deleted`` if the document is gone, ``identical`` if it already
    has my content, ``types`` if only BSON types or the order of fields differ from the base, ``aba`` if the version
    has moved on but the content equals the base's again.
    """

    base: Version
    mine: bytes
    theirs: Version | None  # None if deleted
    kind: Literal["changed", "deleted", "identical", "types", "aba"]
    merge: Merge | None  # None if deleted; without conflicts its document can be saved over ``theirs``
    keys: tuple[str, ...] = ("_id",)  # the fields that identify array elements
    takes_reason: bool = False  # whether a version can record why it was made
    reason: str = ""  # the reason given for the edit
    typed_on: bool = False  # whether the edit was changed after it had been sent
    known: Version | None = None  # if deleted: the last version that was read of it
    remains: Remains | None = None  # if deleted


def conflict(layout: Layout, id: Value, base: Version, mine: bytes, known: Version | None = None) -> Conflict:
    """Compare the document with ``base``, and merge its changes with an edit that started there.

    ``known`` is a later version that was read since, if there is one: the last one of a deleted document.
    """
    from model.merge import merge  # imported late: most edits have no conflict

    origin, keys = base.content or canonical.EMPTY, layout.profile.keys
    try:
        theirs = layout.version(id)
    except NotFound:
        last = known or base
        left = remains(layout, id, last)
        return Conflict(base, mine, None, "deleted", None, keys, layout.takes_reason, known=last, remains=left)
    content = theirs.content
    if content is None:
        raise Refused(f"The document in the database cannot be read ({theirs.detail or theirs.state}), so not merged.")
    between = diff(origin, content, keys)
    kind: Literal["changed", "identical", "types", "aba"] = "changed"
    # Before the other kinds: somebody made this very edit, and a merge or a question about it would have nothing to
    # show.
    if content == mine:
        kind = "identical"
    # The guard names version and token, so it also refuses a base that was changed and changed back.
    elif not between:
        kind = "aba"
    elif all(isinstance(op, Retype | Reorder) for op in between):
        kind = "types"
    return Conflict(base, mine, theirs, kind, merge(origin, mine, content, keys), keys, layout.takes_reason)


def changed(content: bytes, set: Iterable[tuple[Path, Value]], unset: Iterable[Path]) -> bytes:
    """The content with some fields set and others removed; removing a missing field has no effect."""
    for path, value in set:
        content = canonical.put(content, path, value)
    for path in unset:
        if canonical.get(content, path) is not None:
            content = canonical.drop(content, path)
    return content


def spelled(before: bytes, after: bytes) -> str:
    """The values that turn one content into another, for somebody who makes the change with another program.

    For example ``price = 12.5; note is taken out``, with values in Extended JSON; a field whose changes have no paths
    of their own is shown completely.
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
    """A value as Extended JSON on one line, relaxed if that loses nothing."""
    # Only whole documents can be written out, so the value is put into one, whose braces and empty name are cut off.
    return text.readable(canonical.document([("", value)]), None)[len('{"": ') : -1]


def check_paths(paths: Iterable[Path], locked: Sequence[str]) -> None:
    """Raise ``Refused`` if an edit names a field of the layout, or a field twice."""
    seen: list[Path] = []
    for path in paths:
        if not path or isinstance(path[0], int):
            raise Refused("A change names a field, as in premium.gross or riders[2].")
        if path[0] in locked:
            raise Refused(f"{path[0]} is kept by the layout and is no content of a version; leave it out.")
        # A path inside another one clashes too: the result would depend on the order in which they are applied.
        clash = next((p for p in seen if p[: len(path)] == path or path[: len(p)] == p), None)
        if clash is not None:
            if clash == path:
                raise Refused(f"{path_text(path)} is named twice; keep one of them.")
            raise Refused(f"{path_text(path)} and {path_text(clash)} name one place twice; keep one of them.")
        seen.append(path)


def taken_over(old: bytes, current: bytes, fields: Sequence[Path] | None) -> bytes:
    """The current content with some fields taken over from ``old``; all of ``old`` if ``fields`` is None.

    A field that ``old`` lacks is removed. Raises ``Refused`` for a path that neither has.
    """
    if fields is None:
        return old
    values: dict[Path, Value | None] = {}
    for path in fields:
        before, now = canonical.get(old, path), canonical.get(current, path)
        if before is None and now is None:
            raise Refused(f"Neither version has a field {path_text(path)}; check how it is written.")
        if before != now:
            values[path] = before
    return with_values(current, values)


def with_values(content: bytes, values: Mapping[Path, Value | None]) -> bytes:
    """A content with other values at some of its paths; None removes the field. Raises ``Unreadable``."""
    # Elements are removed from the end and added from the front, so that no later position shifts.
    for path in sorted((path for path, value in values.items() if value is None), key=_order, reverse=True):
        content = canonical.drop(content, path)
    for path in sorted((path for path, value in values.items() if value is not None), key=_order):
        content = canonical.put(content, path, cast(Value, values[path]))
    return content


def _order(path: Path) -> tuple[int, ...]:
    """A sort key for positions within an array; fields keep the order in which they were named."""
    return tuple(step if isinstance(step, int) else -1 for step in path)
