"""Builds the state after many patches from the last change of each field, instead of applying all patches.

Rows are searched as bytes, and only those about a missing field are decoded. So the first page of ten thousand
patches takes little longer than reading the raw rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate

from model.foundation.collection_profile import CollectionProfile
from model.patches import FORMS, DoesNotApply, Node
from model.patches.tree import copied
from model.writers.written_rows import RowsInOrder, WrittenRow

LATE = 1 << 16  # bytes at the end that are searched first


def names_in(rows: Iterable[WrittenRow], profile: CollectionProfile) -> dict[str, None]:
    """The fields that rows are about, each once; raises ``DoesNotApply`` if a row is about a whole document."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(FORMS[profile.patch].names(row.change) if row.snapshot is None else row.snapshot)
    return found


def state_behind(rows: RowsInOrder, names: Iterable[str], profile: CollectionProfile) -> dict[str, Node]:
    """The state after the last of some rows; raises ``DoesNotApply`` if only applying all patches can tell it.

    ``names`` are the fields that it may have, besides those of the first row.
    """
    form, search = FORMS[profile.patch], _Search(rows)
    if any(at for mark in _ends(profile) for at in search.rows(mark) if _begins_anew(rows[at])):
        raise DoesNotApply("a document started again in the middle of its history")
    if any(form.may_remove(rows.raws[at]) for at in search.rows(form.removal_mark)):
        raise DoesNotApply("a field that comes back is placed after all others")
    begins = rows[0].snapshot
    found: dict[str, Node] = {}
    for name in {**names_in(rows[:1], profile), **dict.fromkeys(names)}:
        parts: list[Node] = []
        settled = False
        for at in search.rows(form.mark(name)):
            if at > 0 or begins is None:
                settled, part = form.about(rows[at].change, name)
                parts.append(part)
            if settled:
                break
        tree: Node = {} if settled or begins is None or name not in begins else {name: copied(begins[name])}
        for part in reversed(parts):
            tree = form.apply(tree, part) if part else tree
        if isinstance(tree, dict) and name in tree:
            found[name] = tree[name]
    return found


class _Search:
    """The rows that contain some bytes, newest first."""

    def __init__(self, rows: RowsInOrder) -> None:
        self._all = b"".join(rows.raws)
        self._ends = list(accumulate(map(len, rows.raws)))

    def rows(self, mark: bytes) -> Iterator[int]:
        """Their positions; may include a neighbour of such a row."""
        if not mark:
            yield from range(len(self._ends) - 1, -1, -1)
            return
        end, early = len(self._all), max(0, len(self._all) - LATE)
        while (found := self._all.rfind(mark, early, end)) >= 0:
            at = bisect_right(self._ends, found)
            yield at
            end = self._ends[at - 1] + len(mark) - 1 if at else 0
        places: dict[int, None] = {}
        found = -1
        while (found := self._all.find(mark, found + 1, min(end, early + len(mark) - 1))) >= 0:  # quicker than rfind
            places[bisect_right(self._ends, found)] = None
        yield from reversed(places)


def _begins_anew(row: WrittenRow) -> bool:
    """Whether a row deletes a document or holds a whole state, so that earlier rows do not matter."""
    return row.removes or row.snapshot is not None


def _ends(profile: CollectionProfile) -> Iterator[bytes]:
    """Bytes found in each row that deletes a document or holds a whole state; other rows may contain them too."""
    if profile.content:
        yield _last_step(profile.content)
    if profile.operation is not None:
        for word in profile.operation.remove:
            is_text = word not in ("true", "false") and word.isidentifier()
            yield word.encode() + b"\x00" if is_text else _last_step(profile.operation.field)


def _last_step(path: str) -> bytes:
    return path.rpartition(".")[2].encode() + b"\x00"
