"""From rows that another program wrote to the states that they stand for: whole ones, parts, or what changed.

A state is the content of one version. Where a patch does not fit, the states behind it are unproven, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from model.collection_profile import CollectionProfile
from model.layouts.object_parts import filled
from model.layouts.row_paths import value_at
from model.layouts.written_rows import WrittenRow
from model.patches import FORMS, DoesNotApply, Node, document_of, tree_of
from model.patches.tree import alike, copied, node_of, written_as_text
from model.values import canonical as c
from model.values.canonical import Value

KEPT_EVERY = 64  # states between two whole ones that are kept while patches without a way back are applied


@dataclass(frozen=True)
class WrittenState:
    """A state and the row that made it; ``row`` is None for the one that was there before the first row."""

    row: WrittenRow | None
    content: bytes | None  # None: it cannot be told
    unproven: str = ""  # why not


def states_of(rows: Sequence[WrittenRow], profile: CollectionProfile, now: bytes | None) -> Iterator[WrittenState]:
    """The states that rows, given from the oldest on, stand for: the newest first.

    ``now`` is the content of the current document, None where there is none.
    """
    if not profile.patch:
        for row in reversed(rows):
            state = _whole(row, profile)
            if profile.parts and state.content is not None and now is not None and not row.removes:
                state = replace(state, content=filled(state.content, now))
            yield state
    elif profile.direction == "backward":
        yield from _backwards(rows, profile, now)
    else:
        yield from _forwards(rows, profile, now)


def stripped(raw: bytes, profile: CollectionProfile) -> bytes:
    """A state without what is no content of it; a name behind ``**.`` is none at any depth."""
    raw = c.without(raw, {"_id", *profile.ignored})
    deep = ignored_deep(profile)
    return without_deep(Value.document(raw), deep).data if deep else raw


def ignored_deep(profile: CollectionProfile) -> set[str]:
    """The names that are no content at any depth."""
    return {name.removeprefix("**.") for name in profile.ignored if name.startswith("**.")}


def without_deep(value: Value, names: set[str]) -> Value:
    """A value without some names at any depth."""
    if value.type == c.ARRAY:
        return c.array(without_deep(each, names) for each in c.items(value))
    if value.type != c.OBJECT:
        return value
    return Value.document(
        c.document((name, without_deep(each, names)) for name, each in c.fields(value.data) if name not in names)
    )


# --- whole states


def _whole(row: WrittenRow, profile: CollectionProfile) -> WrittenState:
    found = value_at(row.raw, profile.content)
    if found is None or found.type != c.OBJECT:
        if row.removes:
            return WrittenState(row, c.EMPTY)
        return WrittenState(row, None, f"has no document in {profile.content}")
    if profile.content:
        return WrittenState(row, stripped(found.data, profile))
    return WrittenState(row, stripped(c.without(found.data, own_names(profile)), profile))


def own_names(profile: CollectionProfile) -> frozenset[str]:
    """The names at the root of a row that belong to the row and not to the state in it."""
    paths = (profile.archive_id, profile.version, profile.order, profile.at, profile.author, profile.reason)
    operation = profile.operation.field if profile.operation else ""
    names = {path.partition(".")[0] for path in (*paths, operation) if path}
    return frozenset(names | {"_id", *profile.ignored, *(path.partition(".")[0] for path in profile.where)})


# --- patches


def _change(row: WrittenRow, profile: CollectionProfile) -> Node:
    found = value_at(row.raw, profile.changes)
    if found is None:
        raise DoesNotApply(f"the row has no {profile.changes}")
    return node_of(found)


def _snapshot(row: WrittenRow, profile: CollectionProfile) -> Node | None:
    """The whole state that a row of patches may hold as well."""
    found = value_at(row.raw, profile.content) if profile.content else None
    return tree_of(found.data) if found is not None and found.type == c.OBJECT else None


def _backwards(rows: Sequence[WrittenRow], profile: CollectionProfile, now: bytes | None) -> Iterator[WrittenState]:
    """From the current document down; the newest state is the one that the last row led to."""
    unapply = FORMS[profile.patch].unapply
    assert unapply is not None
    tree: Node = tree_of(now) if now is not None else {}
    unproven = ""
    for row in reversed(rows):
        yield WrittenState(row, None if unproven else stripped(document_of(tree), profile), unproven)
        if not unproven:
            try:
                tree = unapply(tree, _change(row, profile))
            except DoesNotApply as reason:
                unproven = f"the patch above it does not apply: {reason}"
    yield WrittenState(None, None if unproven else stripped(document_of(tree), profile), unproven)


def _forwards(rows: Sequence[WrittenRow], profile: CollectionProfile, now: bytes | None) -> Iterator[WrittenState]:
    """From nothing up; whole states are kept now and then, and those between are made again, the newest first."""
    like = tree_of(now) if now is not None else None
    kept: list[tuple[int, Node, str]] = [(0, {}, "")]
    tree, unproven = kept[0][1], ""
    for at, row in enumerate(rows):
        tree, unproven = _stepped(copied(tree) if at == kept[-1][0] else tree, row, profile, unproven)
        if (at + 1) % KEPT_EVERY == 0:
            kept.append((at + 1, copied(tree), unproven))
    for number, (start, tree, unproven) in reversed(list(enumerate(kept))):
        end = kept[number + 1][0] if number + 1 < len(kept) else len(rows)
        made: list[WrittenState] = []
        tree = copied(tree)
        for row in rows[start:end]:
            tree, unproven = _stepped(tree, row, profile, unproven)
            content = None if unproven else stripped(document_of(_typed(tree, like)), profile)
            made.append(WrittenState(row, content, unproven))
        yield from reversed(made)


def _stepped(tree: Node, row: WrittenRow, profile: CollectionProfile, unproven: str) -> tuple[Node, str]:
    """The tree behind a row, and why it is none where a patch did not fit."""
    try:
        if (snapshot := _snapshot(row, profile)) is not None and not row.removes:
            return snapshot, ""
        if row.removes:
            return {}, ""
        if not unproven:
            tree = FORMS[profile.patch].apply(tree, _change(row, profile))
    except DoesNotApply as reason:
        return {}, f"its patch does not apply: {reason}"
    return tree, unproven


def _typed(node: Node, like: Node | None) -> Node:
    """The state with the types that the current document has where both say the same: patches keep dates as text."""
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
