"""The places in the window's code where texts reach people, and the literals that do so past the door."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator

SINKS: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        (
            "setText", "setToolTip", "setPlaceholderText", "setAccessibleName", "setAccessibleDescription",
            "setWindowTitle", "setTitle", "addAction", "addMenu", "addRow", "QLabel", "QPushButton", "QCheckBox",
            "QRadioButton", "QAction", "words", "button", "Badge", "plain", "as_list", "titled", "SidebarEntry",
        ),
        (0,),
    ),
    "tool": (1,), "addTab": (1,), "item": (2,), "tell": (1,), "copied": (1,), "why_not": (1,), "copy": (3,),
    "show_empty": (0, 1), "show_loading": (0,), "show_failed": (2,), "getSaveFileName": (1, 3), "confirm": (1, 2, 3),
    "getOpenFileName": (1, 3), "Refused": (0,),
}  # fmt: skip
"""The arguments of a call that people read, by the name of what is called."""
KEYWORDS = ("title", "tip", "accessible", "hint")
NAMES = {"Palimpsest", "PyMongo", "mongosh", "JSON", "Extended JSON", "TLS", "ObjectId", "String", "Array", "Object"}
"""Names that are the same in every language."""
UNITS = {"ms", "min", "px"}


DOORS = {"tr": 0, "plural": 1, "many": 1}
"""The functions that look up a text, each with the place of that text among its arguments."""


def past_the_door(code: str) -> Iterator[tuple[int, str]]:
    """The literals with words in them that reach people without a call of ``tr``, each with its line.

    A text that is put together before ``tr`` gets it is one of them: no catalogue has it.
    """
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        shown = [node.args[at] for at in SINKS.get(called, ()) if at < len(node.args)]
        shown += [each.value for each in node.keywords if each.arg in KEYWORDS]
        if called in DOORS and not all(isinstance(each, ast.Constant) for each in node.args[DOORS[called] :]):
            shown += node.args[DOORS[called] : DOORS[called] + 1]
        for each in shown:
            yield from _literals(each)


def misnamed(code: str) -> Iterator[tuple[int, str]]:
    """The texts that ``tr`` gets with other values than the names in their braces, each with its line."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr" and node.args:
            text, given = node.args[0], {each.arg for each in node.keywords}
            if isinstance(text, ast.Constant) and None not in given and (given or len(node.args) > 1):
                names = {name for _, name, _, _ in string.Formatter().parse(str(text.value)) if name is not None}
                if names != given or len(node.args) > 1:
                    yield node.lineno, str(text.value)


def counted_values(code: str) -> Iterator[tuple[str, str]]:
    """The texts that get a noun with its number as a value, each with that value's name."""
    nodes = list(ast.walk(ast.parse(code)))
    kept = {
        target.id
        for node in nodes
        if isinstance(node, ast.Assign) and _is_counted(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "tr" and node.args:
            for each in node.keywords if isinstance(text := node.args[0], ast.Constant) else ():
                if each.arg and (
                    _is_counted(each.value) or (isinstance(each.value, ast.Name) and each.value.id in kept)
                ):
                    yield str(text.value), each.arg


def _is_counted(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("many", "plural")


def _literals(node: ast.expr) -> Iterator[tuple[int, str]]:
    """The literals of an expression that are its value or a part of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if _has_words(node.value):
            yield node.lineno, node.value
    elif isinstance(node, ast.JoinedStr):
        said = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        if _has_words(said):
            yield node.lineno, said
    elif isinstance(node, ast.IfExp):
        yield from _literals(node.body)
        yield from _literals(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for value in node.values:
            yield from _literals(value)
    elif isinstance(node, ast.BinOp):
        yield from _literals(node.left)
        yield from _literals(node.right)


def _has_words(said: str) -> bool:
    """Whether a literal has words for people: not a name, a key, a path, an example of a value."""
    if said.strip() in NAMES or re.search(r"://|^\{(?!\})|^[<*/]|^\S*[./_+]\S*$", said.strip()):
        return False
    words = re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", "", said))
    if len(words) == 1:  # a word by itself may be a name in the code; a capital or a value beside it makes it a text
        return said.strip("{}:.,… ()").istitle() or ("{}" in said and words[0] not in UNITS)
    return bool(words)
