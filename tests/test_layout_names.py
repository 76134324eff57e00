"""Only the layouts' room asks for a layout's name: layouts and patterns answer for themselves."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator

import pytest

from model.layouts import registry
from model.layouts.base import Layout
from model.layouts.layout_names import STANDING_LAYOUTS
from tests import support

ROOT = support.ROOT
NAMES = frozenset(registry.NAMES)
CLASSES = frozenset({"Layout", *(each.__name__ for each in registry.LAYOUTS.values())})
OTHER_WORDS = frozenset({"stored", "role", "key"})
"""What else has such words as values: the place of a version, and the keys of a profile."""
SAID = re.compile(rf"['\"](?:{'|'.join(NAMES)})['\"]|\b(?:{'|'.join(CLASSES)})\b")
"""What the code has where it names a layout or its class."""


def is_name(node: ast.AST) -> bool:
    """Whether an expression is the name of a layout: as a text, or of its class."""
    if isinstance(node, ast.Attribute):
        return node.attr == "name" and isinstance(node.value, ast.Name) and node.value.id in CLASSES
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES


def names_some(node: ast.AST) -> bool:
    """Whether an expression is such a name, or a row of texts with one."""
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(map(is_name, node.elts))
    return is_name(node)


def is_other(node: ast.expr) -> bool:
    """Whether the thing that is compared is told in words of its own; a page's ``kind`` is one of these."""
    last = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return last in OTHER_WORDS or (isinstance(node, ast.Attribute) and last == "kind")


def is_table(node: ast.AST) -> bool:
    """Whether an expression is a table by names of layouts, or a collection of nothing else."""
    if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") == "frozenset":
        return is_table(node.args[0])
    parts = node.keys if isinstance(node, ast.Dict) else getattr(node, "elts", [])
    return len(parts) > 1 and all(part is not None and is_name(part) for part in parts)


def breaches(source: str) -> Iterator[tuple[int, str]]:
    """The places where a piece of code decides by a layout's name or class, each with its line."""
    if not SAID.search(source):
        return  # to read them all takes seconds
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(map(names_some, sides)) and not any(map(is_other, sides)):
                yield node.lineno, f"{ast.unparse(node)} compares with the name of a layout"
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("isinstance", "issubclass"):
            if {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(node.args[1])} & CLASSES:
                yield node.lineno, f"{ast.unparse(node)} asks for the class of a layout"
        elif isinstance(node, ast.MatchValue) and is_name(node.value):
            yield node.lineno, f"case {ast.unparse(node)} compares with the name of a layout"
        elif isinstance(node, ast.Dict) and is_table(node):
            yield node.lineno, "a table by names of layouts"
        elif isinstance(node, ast.Module | ast.ClassDef):
            values = [line.value for line in node.body if isinstance(line, ast.Assign | ast.AnnAssign)]
            for value in values:
                if value is not None and not isinstance(value, ast.Dict) and is_table(value):
                    yield value.lineno, "a collection of names of layouts"


def test_no_other_room_decides_by_the_name_or_the_class_of_a_layout() -> None:
    rooms = [path for top in ("model", "gui") for path in sorted((ROOT / top).rglob("*.py"))]
    others = [path for path in rooms if ROOT / "model" / "layouts" not in path.parents]
    assert len(others) > 400
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}; make it an attribute or a method of Layout in model/layouts/base.py"
        for path in others
        for line, what in breaches(path.read_text("utf-8"))
    ]
    assert not found, "\n".join(found)


def test_the_layouts_that_tell_how_a_collection_stands_are_named_and_no_others_are_loaded_for_it() -> None:
    telling = {name for name, kind in registry.LAYOUTS.items() if kind.standing is not Layout.standing}
    assert telling == {*STANDING_LAYOUTS}


def test_no_layout_knows_another_or_the_registry() -> None:
    layouts = [sys.modules[each.__module__] for each in registry.LAYOUTS.values()]
    names = {each.__name__ for each in layouts} | {registry.__name__}
    assert len(layouts) > 10
    for each in layouts:
        imported = {
            node.module
            for node in ast.walk(ast.parse(inspect.getsource(each)))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        assert not imported & names, f"{each.__name__} imports {', '.join(imported & names)}"


@pytest.mark.parametrize(
    "code",
    [
        'profile.layout == "archive"',
        '"plain" != info.layout',
        'layout in ("hashed", "plain")',
        'layout not in {"log"}',
        "made.profile.layout == Embedded.name",
        "isinstance(layout, Archive | Stream)",
        "isinstance(layout, (base.Layout, str))",
        'match record.layout:\n    case "pending" | "processed":\n        pass',
        'KEYS = {"embedded": 1, "sequence": 2}',
        'COUNTED = ("sequence", "processed", "pending")',
        'COUNTED = frozenset({"sequence", "pending"})',
    ],
)
def test_code_that_decides_by_a_layout_is_found(code: str) -> None:
    assert [line for line, _ in breaches(code)]


@pytest.mark.parametrize(
    "code",
    [
        'stored == "archive"',
        'role != "archive"',
        'each.kind in ("pending", "journal")',
        'info.counts == "tokens"',
        "name == info.layout",
        'def made():\n    return ("flagged", "deltas")',
        'made = {"pending": [], "applied": []}',
        "isinstance(layout, str)",
        'CollectionProfile(ns, "pending")',
    ],
)
def test_code_that_names_layouts_and_decides_by_something_else_is_not_found(code: str) -> None:
    assert not [*breaches(code)]
