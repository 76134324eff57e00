"""Update operators and replacements, applied to the stored bytes.

Fields that an update does not name keep their bytes: Int64 stays Int64, NaN keeps its payload, fields keep their
order. As in MongoDB 5 and later, all operators of an update see the old document, and new fields are added in the
order of their names.
"""

from __future__ import annotations

from collections.abc import Callable

from bson.objectid import ObjectId
from msgspec import Struct, field

from model.errors import Unreadable
from model.localserver import update_values
from model.localserver.physical_ids import with_id
from model.localserver.pipelines import update_pipeline
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import Matcher, compile_filter
from model.mql.order import Element
from model.values import canonical as c

LIMIT = 16 * 1024 * 1024
Update = Callable[[bytes, bool, Matcher | None], bytes]
"""Makes the new document from the old one, whether an upsert inserts it, and the filter, for ``$``."""


class Node(Struct):
    """The changes below one name: of the value itself, or inside it."""

    change: update_values.Change | None = None
    children: dict[bytes, Node] = field(default_factory=dict)


def compile_update(kind: int, data: bytes, array_filters: list[bytes] | None = None) -> Update:
    """Compile the ``u`` of an update: operators, a replacement, or a pipeline."""
    if kind == c.ARRAY:
        rewrite = update_pipeline(data)
        return lambda old, inserting, _: with_id(rewrite(old), order.field(old, b"_id\x00"))
    if kind != c.OBJECT:
        raise CommandError(9, "Update argument must be either an object or an array")
    first = next(c.elements(data), None)
    if first is None or not first[0].startswith(b"$"):
        return lambda old, inserting, _: replacement(old, data)
    return _operators(data, _array_filters(array_filters or []))


def replacement(old: bytes, new: bytes) -> bytes:
    """The new document with the old one's ``_id`` in front; ``old`` may be empty."""
    for name, _, _, _ in c.elements(new):
        if name.startswith(b"$"):
            text = c.name_of(name)
            raise CommandError(
                52,
                f"The dollar ($) prefixed field '{text}' in '{text}' is not allowed in the context of an update's "
                "replacement document. Consider using an aggregation pipeline with $replaceWith.",
            )
    return with_id(new, order.field(old, b"_id\x00"))


def new_id() -> Element:
    """A fresh ObjectId."""
    return c.OBJECT_ID, ObjectId().binary


def checked(document: bytes) -> bytes:
    """The document; raises an error if it is too large for a server."""
    if len(document) > LIMIT:
        raise CommandError(10334, f"BSONObj size: {len(document)} is invalid. Size must be between 0 and {LIMIT}(16MB)")
    return document


def seeded(matcher: Matcher) -> bytes:
    """The document from which an upsert starts: the equalities of its filter."""
    document = c.EMPTY
    for path, (kind, data) in matcher.seeds:
        try:
            document = c.put(document, tuple(path.split(".")), c.Value(kind, data))
        except Unreadable:
            raise CommandError(54, f"cannot infer query fields to set, path '{path}' is matched twice") from None
    own = order.field(document, b"_id\x00")
    return with_id(document, own) if own else document


def _array_filters(raws: list[bytes]) -> dict[bytes, Callable[[Element], bool]]:
    out: dict[bytes, Callable[[Element], bool]] = {}
    for raw in raws:
        names = {c.name_of(n).split(".")[0] for n, _, _, _ in c.elements(raw)}
        if len(names) != 1:
            raise CommandError(9, "Error parsing array filter: Expected a single top-level field name")
        name, matches = names.pop(), compile_filter(raw).matches

        def test(e: Element, name: str = name, matches: Callable[[bytes], bool] = matches) -> bool:
            return matches(c.document([(name, c.Value(*e))]))

        out[name.encode()] = test
    return out


def _operators(data: bytes, filters: dict[bytes, Callable[[Element], bool]]) -> Update:
    changes: list[tuple[str, update_values.Change]] = []
    on_insert: list[tuple[str, update_values.Change]] = []
    renames: list[tuple[str, str]] = []
    for name, kind, x, y in c.elements(data):
        operator = c.name_of(name)
        if operator not in update_values.MAKE and operator != "$rename":
            hint = "" if operator.startswith("$") else " Expected a valid update modifier or pipeline-style update"
            raise CommandError(9, f"Unknown modifier: {operator}.{hint}")
        if kind != c.OBJECT:
            raise CommandError(9, f"Modifiers operate on fields but we found another type for {operator}")
        for path, value in c.fields(data[x:y]):
            if operator == "$rename":
                if value.type != c.STRING:
                    raise CommandError(2, "The 'to' field for $rename must be a string")
                renames.append((path, value.data[4:-1].decode("utf-8", "surrogateescape")))
            else:
                change = update_values.MAKE[operator](path, (value.type, value.data))
                (on_insert if operator == "$setOnInsert" else changes).append((path, change))
    paths = [p for p, _ in (*changes, *on_insert)] + [p for pair in renames for p in pair]
    _tree([(p, update_values.UNSET) for p in paths])  # refuses paths that conflict

    def apply(old: bytes, inserting: bool, matcher: Matcher | None) -> bytes:
        wanted = changes + (on_insert if inserting else [])
        for source, target in renames:
            found = c.get(old, tuple(source.split(".")))
            if found is not None:
                wanted = [
                    *wanted,
                    (source, update_values.UNSET),
                    (target, update_values.setter((found.type, found.data))),
                ]
        if matcher is not None:
            wanted = [(_positional(path, old, matcher), change) for path, change in wanted]
        new = _apply(old, _tree(wanted), filters)
        kept = order.field(old, b"_id\x00")
        if kept is not None and order.field(new, b"_id\x00") is None:
            raise CommandError(66, "Performing an update on the path '_id' would modify the immutable field '_id'")
        return with_id(new, kept)

    return apply


def _tree(changes: list[tuple[str, update_values.Change]]) -> Node:
    root = Node()
    for path, change in changes:
        here = root
        steps = path.split(".")
        if "" in steps:
            raise CommandError(56, f"The update path '{path}' contains an empty field name, which is not allowed.")
        for step in steps:
            name = c.name_bytes(step)
            if step.startswith("$") and not (step == "$" or step.startswith("$[")):
                raise CommandError(52, f"The dollar ($) prefixed field '{step}' in '{path}' is not valid for storage.")
            if here.change is not None:
                raise _conflict(path)
            here = here.children.setdefault(name, Node())
        if here.change is not None or here.children:
            raise _conflict(path)
        here.change = change
    return root


def _conflict(path: str) -> CommandError:
    return CommandError(40, f"Updating the path '{path}' would create a conflict at '{path}'")


def _positional(path: str, old: bytes, matcher: Matcher) -> str:
    steps = path.split(".")
    if "$" not in steps:
        return path
    at = steps.index("$")
    parent = tuple(steps[:at])
    array = c.get(old, parent)
    if array is not None and array.type == c.ARRAY:
        # Find the first element with which the document still matches if it is alone in its array.
        for position, item in enumerate(c.items(array)):
            if matcher.matches(c.put(old, parent, c.array([item]))):
                return ".".join([*parent, str(position), *steps[at + 1 :]])
    raise CommandError(2, "The positional operator did not find the match needed from the query.")


def _new_name_order(name: bytes) -> tuple[int, int, bytes]:
    return (0, int(name), name) if name.isdigit() else (1, 0, name)


Filters = dict[bytes, Callable[[Element], bool]]


def _apply(raw: bytes, node: Node, filters: Filters) -> bytes:
    """The document with the changes below a node applied."""
    waiting = dict(node.children)
    parts: list[bytes] = []
    kept_from = 4
    for name, kind, x, y in c.elements(raw):
        child = waiting.pop(name, None)
        if child is None:
            continue
        parts.append(raw[kept_from : x - len(name) - 2])
        kept_from = y
        new = _below((kind, raw[x:y]), child, filters, name)
        if new is not None:
            parts.append(bytes((new[0],)) + name + b"\x00" + new[1])
    parts.append(raw[kept_from:-1])
    # MongoDB adds new fields in the order of their names.
    for name in sorted(waiting, key=_new_name_order):
        new = _below(None, waiting[name], filters, name)
        if new is not None:
            parts.append(bytes((new[0],)) + name + b"\x00" + new[1])
    body = b"".join(parts)
    return (len(body) + 5).to_bytes(4, "little") + body + b"\x00"


def _below(old: Element | None, node: Node, filters: Filters, name: bytes) -> Element | None:
    if node.change is not None:
        return node.change(old)
    if old is None:
        if any(step.startswith(b"$[") for step in node.children):
            raise CommandError(2, f"The path '{c.name_of(name)}' must exist in the document to apply array updates.")
        made = _apply(c.EMPTY, node, filters)
        return (c.OBJECT, made) if made != c.EMPTY else None
    if old[0] == c.ARRAY:
        return _elements(old, node, filters)
    if any(step.startswith(b"$[") for step in node.children):
        raise CommandError(2, f"Cannot apply array updates to non-array element {c.name_of(name)}")
    if old[0] == c.OBJECT:
        return c.OBJECT, _apply(old[1], node, filters)
    if all(_only_removes(child) for child in node.children.values()):
        return old
    step = c.name_of(next(iter(node.children)))
    raise CommandError(28, f"Cannot create field '{step}' in element {{{c.name_of(name)}: {c.Value(*old).kind}}}")


def _only_removes(node: Node) -> bool:
    if node.change is not None:
        return node.change is update_values.UNSET
    return all(_only_removes(child) for child in node.children.values())


def _elements(array: Element, node: Node, filters: Filters) -> Element:
    values: list[Element | None] = list(order.items(array[1]))
    for step in sorted(node.children, key=_new_name_order):
        child = node.children[step]
        if step.startswith(b"$["):
            test = None if step == b"$[]" else filters.get(step[2:-1])
            if step != b"$[]" and test is None:
                raise CommandError(2, f"No array filter found for identifier '{c.name_of(step[2:-1])}'")
            for i, value in enumerate(values):
                if value is not None and (test is None or test(value)):
                    values[i] = _below(value, child, filters, step)
            continue
        if not step.isdigit():
            if _only_removes(child):
                continue
            raise CommandError(28, f"Cannot create field '{c.name_of(step)}' in an element that is an array")
        position = int(step)
        if position < len(values):
            values[position] = _below(values[position], child, filters, step)
        else:
            if position > len(values) + 1_500_000:
                raise CommandError(2, f"can't backfill array to larger than {1_500_000} elements")
            new = _below(None, child, filters, step)
            if new is not None:
                values.extend([None] * (position - len(values)))
                values.append(new)
    # A removed element leaves null, so that later elements keep their positions.
    return c.ARRAY, c.array(c.Value(*(v or (c.NULL, b""))) for v in values).data
