"""From another program's rows to their states: whole states, parts, or changes.

A state is the content of one version. If a patch does not fit, the states beyond it are unproven, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from threading import Lock

from msgspec import Struct
from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.patches import FORMS, DoesNotApply, Node, document_of, tree_of
from model.patches.meaning import in_form_of
from model.patches.tree import alike, copied, written_as_text
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.ignored_fields import ignored
from model.writers.last_changes import names_in, state_behind
from model.writers.object_parts import filled
from model.writers.written_rows import RowsInOrder, WrittenRow, told_at

KEPT_EVERY = 64  # states between two whole ones that are kept while patches are applied
LONG = 512  # rows; of a longer history the newest states are built from the last changes of their fields
GONE = "the document, which is the first state, is gone"
PAGE = 102  # the number of such states
DOCUMENTS = 8  # documents whose states are kept between calls


class _Kept(Struct, frozen=True):
    """A computed state, with the number of rows before it."""

    at: int
    tree: Node
    unproven: str


class KeptStates:
    """Intermediate states of a few histories, so that none must be built from its first row again."""

    def __init__(self) -> None:
        self._found: dict[object, tuple[int, tuple[_Kept, ...]]] = {}
        self._lock = Lock()

    def of(self, key: object, rows: RowsInOrder) -> list[_Kept]:
        """The kept states of a history, if its rows are unchanged since."""
        told, found = self._found.get(key, (0, ()))
        return list(found) if found and told == _sum(rows, found[-1].at) else [_Kept(0, {}, "")]

    def keep(self, key: object, rows: RowsInOrder, found: Sequence[_Kept]) -> None:
        """Keep the states of a history, and drop the oldest kept history if there are too many."""
        told = _sum(rows, found[-1].at)
        with self._lock:
            self._found.pop(key, None)
            self._found[key] = (told, tuple(found))
            for old in list(self._found)[:-DOCUMENTS]:
                del self._found[old]


def _sum(rows: RowsInOrder, count: int) -> int:
    return hash(tuple(rows.raws[:count]))


class WrittenState(Struct, frozen=True):
    """A state and the row that made it; ``row`` is None for the state before the first row."""

    row: WrittenRow | None
    content: bytes | None  # None: unknown
    unproven: str = ""  # the reason


def states_of(
    rows: Sequence[WrittenRow],
    profile: CollectionProfile,
    now: bytes | None,
    key: object = None,
    kept: KeptStates | None = None,
) -> Iterator[WrittenState]:
    """The states after rows given oldest first; yields the newest first.

    ``now`` is the current document's content, None if there is none. ``kept`` may hold states of the history ``key``.
    """
    rows = rows if isinstance(rows, RowsInOrder) else RowsInOrder([row.raw for row in rows], profile)
    if not profile.patch:
        like = tree_of(now) if profile.notation and now is not None else None
        for row in reversed(rows):
            state = _whole(row, profile)
            if like is not None and state.content is not None:
                state = replace(state, content=document_of(in_form_of(tree_of(state.content), like)))
            if profile.parts and state.content is not None and now is not None and not row.removes:
                state = replace(state, content=filled(state.content, now, key if isinstance(key, Value) else None))
            yield state
    elif profile.direction == "backward":
        like = tree_of(now) if now is not None else None
        yield from _taken_back(rows, profile, like or {}, like)
    elif profile.direction == "onward":
        yield from reversed(list(_redone(rows, _first_of(now), profile, None)))
    else:
        yield from _forwards(rows, profile, now, key, kept or KeptStates())


def state_at(
    at: int, rows: RowsInOrder, profile: CollectionProfile, now: bytes | None, key: object, kept: KeptStates
) -> WrittenState:
    """The state after one row; forward patches are applied from the nearest kept state."""
    if profile.patch and profile.direction == "forward" and not begun_before(rows, profile):
        whole = _folded(rows, profile, key, kept, at - at % KEPT_EVERY)
        start = max((each for each in whole if each.at <= at), key=lambda each: each.at)
        *_, last = _redone(rows[start.at : at + 1], start, profile, tree_of(now) if now is not None else None)
        return last
    if profile.patch:
        states = states_of(rows, profile, now)
        return next(each for place, each in zip(range(len(rows) - 1, -1, -1), states, strict=False) if place == at)
    return next(states_of(rows[at : at + 1], profile, now))


def stripped(raw: bytes, profile: CollectionProfile) -> bytes:
    """A state without what is not content."""
    left_out = ignored(profile.ignored)
    return left_out.cut(Value.document(raw)).data if left_out.is_deep else c.without(raw, left_out.here)


# --- whole states


def _whole(row: WrittenRow, profile: CollectionProfile) -> WrittenState:
    found = told_at(row.raw, profile.content, profile)
    if found is None or found.type != c.OBJECT:
        if row.removes:
            return WrittenState(row, c.EMPTY)
        return WrittenState(row, None, f"has no document in {profile.content}")
    if profile.content:
        return WrittenState(row, stripped(found.data, profile))
    return WrittenState(row, stripped(c.without(found.data, own_names(profile)), profile))


def own_names(profile: CollectionProfile) -> frozenset[str]:
    """The names at the root of a row that belong to the row rather than to its state."""
    paths = (profile.archive_id, profile.version, profile.order, profile.at, profile.author, profile.reason)
    operation = profile.operation.field if profile.operation else ""
    names = {path.partition(".")[0] for path in (*paths, operation) if path}
    return frozenset(names | {"_id", *profile.ignored, *(path.partition(".")[0] for path in profile.where)})


# --- patches


def begun_before(rows: Sequence[WrittenRow], profile: CollectionProfile) -> int:
    """How many of the oldest rows continue a state that no row holds any more; 0 if the first one begins.

    A program that deletes its old rows leaves such; they are read from their end downwards.
    """
    if not profile.patch or not profile.content or profile.direction != "forward":
        return 0
    for at, row in enumerate(rows):
        if row.removes:
            return at + 1
        if row.snapshot is not None:
            return at
    return len(rows)


def _first_of(document: bytes | None) -> _Kept:
    """The document as the state before all rows."""
    return _Kept(0, tree_of(document), "") if document is not None else _Kept(0, {}, GONE)


def _taken_back(
    rows: RowsInOrder, profile: CollectionProfile, end: Node | None, like: Node | None
) -> Iterator[WrittenState]:
    """The states of rows from ``end`` downwards, which is the state behind the last; at last the one before them."""
    form, left_out = FORMS[profile.patch], ignored(profile.ignored).here
    tree: Node = {} if end is None else copied(end)
    unproven = "" if end is not None else "the rows before it are gone"

    def state(row: WrittenRow | None) -> WrittenState:
        content = None if unproven else stripped(document_of(_formed(tree, like, profile)), profile)
        return WrittenState(row, content, unproven)

    for row in reversed(rows):
        if row.removes and profile.direction == "forward":
            yield WrittenState(row, c.EMPTY)
            found = row.snapshot
            tree = {} if found is None else tree_of(stripped(document_of(found), profile))
            unproven = "" if found is not None else "its row does not say what was deleted"
            continue
        yield state(row)
        try:
            tree = tree if unproven else form.unapply(tree, form.without(row.change, left_out))
        except DoesNotApply as reason:
            unproven = f"the patch above it does not apply: {reason}"
    yield state(None)


def _forwards(
    rows: RowsInOrder, profile: CollectionProfile, now: bytes | None, key: object, kept: KeptStates
) -> Iterator[WrittenState]:
    """From nothing upwards; the newest states of a long history are made before others are examined."""
    like = tree_of(now) if now is not None else None
    if end := begun_before(rows, profile):
        yield from _forwards(rows[end:], profile, now, key, kept) if rows[end:] else ()
        yield from _taken_back(rows[:end], profile, None if rows[end:] else like, like)
        return
    behind: Node | None = None
    if len(rows) > max(LONG, PAGE) and now is not None and not profile.notation:  # only bytes can be searched
        newest, behind = _newest(rows, profile, now)
        yield from newest
        rows = rows[:-PAGE] if newest else rows
    found = _folded(rows, profile, key, kept, len(rows))
    for number in range(len(found) - 1, -1, -1):
        end = found[number + 1].at if number + 1 < len(found) else len(rows)
        made = list(_redone(rows[found[number].at : end], found[number], profile, like))
        if behind is not None and made and made[-1].content is not None:
            if stripped(document_of(_typed(behind, like)), profile) != made[-1].content:
                made[-1] = replace(made[-1], content=None, unproven="the changes behind it do not begin with it")
            behind = None
        yield from reversed(made)


def _newest(rows: RowsInOrder, profile: CollectionProfile, now: bytes) -> tuple[Sequence[WrittenState], Node | None]:
    """The newest states of a long history and the one before them; none if only all rows can tell them."""
    like, page = tree_of(now), list(rows[-PAGE:])
    try:
        behind = state_behind(rows[:-PAGE], {**like, **names_in(page, profile)}, profile)
    except DoesNotApply:
        return (), None
    made = list(_redone(page, _Kept(0, behind, ""), profile, like))
    last = made[-1].content
    if last is None or any(each.unproven for each in made) or not alike(tree_of(last), like):
        return (), None
    return made[::-1], behind


def _folded(rows: RowsInOrder, profile: CollectionProfile, key: object, kept: KeptStates, end: int) -> list[_Kept]:
    """Some states before row ``end``, starting with the one before the first row."""
    found = kept.of(key, rows)
    start = found[-1]
    tree, unproven = copied(start.tree), start.unproven
    for at in range(start.at, end):
        tree, unproven = _stepped(tree, rows[at], profile, unproven)
        if (at + 1) % KEPT_EVERY == 0:
            found.append(_Kept(at + 1, copied(tree), unproven))
    if found[-1].at > start.at:
        kept.keep(key, rows, found)
    return found


def _redone(
    rows: Iterable[WrittenRow], start: _Kept, profile: CollectionProfile, like: Node | None
) -> Iterator[WrittenState]:
    """The states of some rows, oldest first, starting from the one before them."""
    tree, unproven = copied(start.tree), start.unproven
    for row in rows:
        tree, unproven = _stepped(tree, row, profile, unproven)
        content = None if unproven else stripped(document_of(_formed(tree, like, profile)), profile)
        yield WrittenState(row, content, unproven)


def _stepped(tree: Node, row: WrittenRow, profile: CollectionProfile, unproven: str) -> tuple[Node, str]:
    """The tree after a row, and why it is unproven if a patch did not fit."""
    try:
        if (snapshot := row.snapshot) is not None and not row.removes:
            return copied(snapshot), ""
        if row.removes:
            return {}, ""
        if not unproven:
            tree = FORMS[profile.patch].apply(tree, row.change)
    except DoesNotApply as reason:
        return {}, f"its patch does not apply: {reason}"
    return tree, unproven


def _formed(tree: Node, like: Node | None, profile: CollectionProfile) -> Node:
    return (
        in_form_of(tree, like) if profile.notation else _typed(tree, like) if profile.direction == "forward" else tree
    )


def _typed(node: Node, like: Node | None) -> Node:
    """The state with the current document's types where the values agree, because patches store dates as text."""
    if isinstance(node, dict) and isinstance(like, dict):
        return {name: _typed(each, like.get(name)) for name, each in node.items()}
    if isinstance(node, list) and isinstance(like, list):
        by_id = {_identity(each): each for each in like if _identity(each)}
        return [
            _typed(each, by_id.get(_identity(each)) or (like[at] if at < len(like) else None))
            for at, each in enumerate(node)
        ]
    if isinstance(node, Value) and isinstance(like, Value) and node != like:
        return like if written_as_text(like) is not None and alike(node, like) else node
    return node


def _identity(node: Node) -> str:
    id = node.get("_id") if isinstance(node, dict) else None
    if not isinstance(id, Value):
        return ""
    return written_as_text(id) or (str(id.python()) if id.type == c.STRING else "")
