"""Projections over stored bytes: of ``find``, and of the stages ``$project``, ``$addFields`` and ``$unset``.

A kept field keeps its bytes and its place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from msgspec import Struct, field

from model.errors import Unreadable
from model.mql import expressions, filters, functions, order
from model.mql.command_error import CommandError
from model.mql.expressions import Scope
from model.mql.order import Element
from model.values import canonical as c

Projection = Callable[[bytes], bytes]


class Tree(Struct):
    """The projection below a name: keep (True), leave out (False), a computed value, or more names."""

    keep: bool | None = None
    compute: Callable[[Scope, Element | None], Element | None] | None = None
    children: dict[bytes, Tree] = field(default_factory=dict)

    def child(self, path: str) -> Tree:
        """The node at a dotted path, created if missing."""
        here = self
        for step in path.split("."):
            if here.keep is not None or here.compute is not None:
                raise CommandError(31249, f"Path collision at {path}")
            here = here.children.setdefault(c.name_bytes(step), Tree())
        return here


def compile_projection(raw: bytes) -> Projection | None:
    """Compile the projection of a ``find`` or ``$project``; None if it selects everything."""
    tree = Tree()
    marks: set[bool] = set()
    keep_id = True
    for name, kind, a, b in c.elements(raw):
        text = c.name_of(name)
        if text == "_id" and kind in (*order.NUMBERS, c.BOOLEAN):
            keep_id = functions.truth((kind, raw[a:b]))
        else:
            _take(tree, text, (kind, raw[a:b]), marks)
    if len(marks) == 2:
        raise CommandError(31254, "Cannot do inclusion in exclusion projection")
    if not tree.children and keep_id:
        # A projection that names only the _id selects nothing else.
        return _id_only if raw != c.EMPTY else None
    computes = _computes(tree)
    if marks == {True} or (not marks and computes and not _only_slices(raw)):
        tree.child("_id").keep = keep_id
        return lambda document: _include(document, tree, Scope(document))  # as far as it can be read
    if not keep_id:
        tree.child("_id").keep = False

    def exclude(document: bytes) -> bytes:
        try:
            return _exclude(document, tree, Scope(document))
        except Unreadable:
            return document  # nothing can safely be cut out of a damaged document

    return exclude


def _id_only(document: bytes) -> bytes:
    try:
        return c.only(document, ["_id"])
    except Unreadable:
        return _include(document, Tree(children={b"_id": Tree(keep=True)}), Scope(document))  # as far as it can be read


def _computes(tree: Tree) -> bool:
    return tree.compute is not None or any(_computes(child) for child in tree.children.values())


def _only_slices(raw: bytes) -> bool:
    return all(
        kind == c.OBJECT and next(c.elements(raw[a:b]), (b"",))[0] == b"$slice"
        for name, kind, a, b in c.elements(raw)
        if name != b"_id"
    )


def _take(tree: Tree, path: str, value: Element, marks: set[bool]) -> None:
    kind, data = value
    if kind in (*order.NUMBERS, c.BOOLEAN):
        wanted = functions.truth(value)
        # The positional operator is not applied here: the array stays whole.
        tree.child(path.removesuffix(".$")).keep = wanted
        marks.add(wanted)
    elif kind == c.OBJECT and not filters.is_operators(value) and data != c.EMPTY:
        for name, inner in c.fields(data):
            _take(tree, f"{path}.{name}", (inner.type, inner.data), marks)
    else:
        tree.child(path).compute = _computed(value)
        if kind == c.OBJECT and next(c.elements(data), (b"",))[0] == b"$elemMatch":
            # Unlike $slice, $elemMatch leaves out all other fields.
            marks.add(True)


def _computed(value: Element) -> Callable[[Scope, Element | None], Element | None]:
    if value[0] == c.OBJECT:
        operator = c.fields(value[1])[:1]
        if operator and operator[0][0] == "$elemMatch":
            return _first_match((operator[0][1].type, operator[0][1].data))
        if operator and operator[0][0] == "$slice" and operator[0][1].type != c.ARRAY:
            return _slice([(operator[0][1].type, operator[0][1].data)])
        if operator and operator[0][0] == "$slice":
            parts = order.items(operator[0][1].data)
            if len(parts) == 2 and all(kind in order.NUMBERS for kind, _ in parts):
                return _slice(parts)
    evaluate = expressions.compile_expression(value)
    return lambda scope, _: evaluate(scope)


def _first_match(operand: Element) -> Callable[[Scope, Element | None], Element | None]:
    if filters.is_operators(operand):
        test = filters.value_test(operand)
    else:
        matches = filters.compile_filter(operand[1]).matches

        def test(e: Element) -> bool:
            return e[0] == c.OBJECT and matches(e[1])

    def compute(_: Scope, old: Element | None) -> Element | None:
        if old is None or old[0] != c.ARRAY:
            return None
        found = [e for e in order.items(old[1]) if test(e)][:1]
        return functions.array_of(found) if found else None

    return compute


def _slice(parts: list[Element]) -> Callable[[Scope, Element | None], Element | None]:
    numbers = [int(order.number(*part)) for part in parts]

    def compute(_: Scope, old: Element | None) -> Element | None:
        if old is None or old[0] != c.ARRAY:
            return old
        return functions.sliced(order.items(old[1]), *numbers)

    return compute


def _include(raw: bytes, tree: Tree, scope: Scope) -> bytes:
    pairs: list[tuple[str, Element]] = []
    waiting = {name: child for name, child in tree.children.items() if _computes(child)}
    for name, kind, a, b in _readable(raw):
        child = tree.children.get(name)
        if child is None or child.keep is False:
            continue
        if child.keep:
            pairs.append((c.name_of(name), (kind, raw[a:b])))
        elif child.compute is None:
            inner = _inside((kind, raw[a:b]), child, scope, _include, drop=True)
            if inner is not None:
                pairs.append((c.name_of(name), inner))
            waiting.pop(name, None)
    for name, child in waiting.items():
        value = (
            child.compute(scope, expressions.walk((c.OBJECT, raw), (name + b"\x00",)))
            if child.compute is not None
            else (c.OBJECT, _include(c.EMPTY, child, scope))
        )
        if value is not None:
            pairs.append((c.name_of(name), value))
    return functions.object_of(pairs)[1]


def _readable(raw: bytes) -> Iterator[tuple[bytes, int, int, int]]:
    with contextlib.suppress(Unreadable):
        yield from c.elements(raw)


def _exclude(raw: bytes, tree: Tree, scope: Scope) -> bytes:
    pairs: list[tuple[str, Element]] = []
    for name, kind, a, b in c.elements(raw):
        child = tree.children.get(name)
        value: Element | None = (kind, raw[a:b])
        if child is not None:
            if child.keep is False:
                continue
            if child.compute is not None:
                value = child.compute(scope, value)
            elif child.keep is None:
                value = _inside((kind, raw[a:b]), child, scope, _exclude, drop=False)
        if value is not None:
            pairs.append((c.name_of(name), value))
    return functions.object_of(pairs)[1]


def _inside(
    value: Element, tree: Tree, scope: Scope, work: Callable[[bytes, Tree, Scope], bytes], drop: bool
) -> Element | None:
    """A projection inside a value, which is a document or an array of documents; other values stay or go whole."""
    kind, data = value
    if kind == c.OBJECT:
        return kind, work(data, tree, scope)
    if kind == c.ARRAY:
        inner = (_inside(e, tree, scope, work, drop) for e in order.items(data))
        return functions.array_of(e for e in inner if e is not None)
    return None if drop else value


def compile_assignments(raw: bytes) -> Projection:
    """Compile ``$addFields`` or ``$set``: values computed from the old document, set in place or at the end."""
    tree = Tree()

    def take(path: str, value: Element) -> None:
        if value[0] == c.OBJECT and not filters.is_operators(value) and value[1] != c.EMPTY:
            for name, inner in c.fields(value[1]):
                take(f"{path}.{name}", (inner.type, inner.data))
        else:
            evaluate = expressions.compile_expression(value)
            tree.child(path).compute = lambda scope, _: evaluate(scope)

    for name, kind, a, b in c.elements(raw):
        take(c.name_of(name), (kind, raw[a:b]))
    return lambda document: _assign(document, tree, Scope(document))


def _assign(raw: bytes, tree: Tree, scope: Scope) -> bytes:
    waiting = dict(tree.children)
    pairs: list[tuple[str, Element | None]] = []
    for name, kind, a, b in c.elements(raw):
        child = waiting.pop(name, None)
        old: Element = (kind, raw[a:b])
        pairs.append((c.name_of(name), old if child is None else _assigned(old, child, scope)))
    pairs.extend((c.name_of(name), _assigned(None, child, scope)) for name, child in waiting.items())
    return functions.object_of(pairs)[1]


def _assigned(old: Element | None, tree: Tree, scope: Scope) -> Element | None:
    if tree.compute is not None:
        return tree.compute(scope, old)
    if old is not None and old[0] == c.ARRAY:
        return functions.array_of(_assigned(e, tree, scope) for e in order.items(old[1]))
    return c.OBJECT, _assign(old[1] if old is not None and old[0] == c.OBJECT else c.EMPTY, tree, scope)


def compile_removals(paths: list[str]) -> Projection:
    """Compile ``$unset``."""
    tree = Tree()
    for path in paths:
        tree.child(path).keep = False
    return lambda document: _exclude(document, tree, Scope(document))
