"""Looks up many dotted paths in a document at once.

Looking up one path reads the document from the start (:func:`model.mql.order.reach`); a filter with a clause for each
of 3,000 fields would read it 3,000 times. Here the document is read once, and each path collects its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from model.mql import order
from model.mql.order import Element
from model.values import canonical as c

Found = Sequence[Element | None]
Operator = Callable[[Found, Found], bool]
"""Judges a field by the values at its path: as they are, and with arrays expanded."""
WORTH_A_WALK = 8
"""With this many paths or more, reading once for all is cheaper than once for each."""


class FieldTest(Struct, frozen=True):
    """A clause on one field; all its operators must hold."""

    path: tuple[bytes, ...]
    operators: Sequence[Operator]

    def __call__(self, raw: bytes) -> bool:
        """Whether a document meets it."""
        return self.judge(order.reach(raw, self.path))

    def judge(self, found: list[Element | None]) -> bool:
        """Whether the values at the path meet the condition."""
        flat = order.expanded(found)
        return all(operator(found, flat) for operator in self.operators)


class _PathNode(Struct):
    children: dict[bytes, _PathNode] = field(default_factory=dict)  # by name, without the NUL byte
    at: int = -1  # the index for the found values; -1 if no path ends here


class Together:
    """Clauses on many fields, judged after one reading."""

    def __init__(self, tests: Sequence[FieldTest]) -> None:
        self._root = _PathNode()
        self._tests: list[tuple[FieldTest, ...]] = []
        for test in tests:
            node = self._root
            for step in test.path:
                node = node.children.setdefault(step[:-1], _PathNode())
            if node.at < 0:
                node.at = len(self._tests)
                self._tests.append(())
            self._tests[node.at] += (test,)

    def __call__(self, raw: bytes) -> bool:
        """Whether a document meets all of them."""
        found: list[list[Element | None]] = [[] for _ in self._tests]
        _into_object(raw, self._root, found)
        return all(test.judge(values) for tests, values in zip(self._tests, found, strict=True) for test in tests)


def _descend(element: Element | None, node: _PathNode, found: list[list[Element | None]]) -> None:
    if node.at >= 0 and (element is not None or None not in found[node.at][-1:]):
        found[node.at].append(element)  # one entry for a missing field is enough
    if not node.children:
        return
    if element is not None and element[0] == c.OBJECT:
        _into_object(element[1], node, found)
    elif element is not None and element[0] == c.ARRAY:
        _into_array(element[1], node, found)
    else:
        for child in node.children.values():
            _descend(None, child, found)


def _into_object(raw: bytes, node: _PathNode, found: list[list[Element | None]]) -> None:
    left = dict.fromkeys(node.children)  # only the first field of each name counts
    for name, kind, a, b in c.elements(raw):
        if name in left:
            del left[name]
            _descend((kind, raw[a:b]), node.children[name], found)
            if not left:
                return  # do not read the rest: it may be damaged
    for name in left:
        _descend(None, node.children[name], found)


def _into_array(array: bytes, node: _PathNode, found: list[list[Element | None]]) -> None:
    seen: dict[bytes, int] = {}
    documents = 0
    children = node.children
    for position, kind, a, b in c.elements(array):
        if kind == c.OBJECT:
            documents += 1
            mine = set()
            for name, inner, x, y in c.elements(array[a:b]):
                if name in children and name not in mine:
                    mine.add(name)
                    seen[name] = seen.get(name, 0) + 1
                    _descend((inner, array[a + x : a + y]), children[name], found)
        if position in children:
            _descend((kind, array[a:b]), children[position], found)
    for name, child in children.items():
        if seen.get(name, 0) < documents:
            _descend(None, child, found)
