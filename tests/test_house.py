"""The house's own rules, checked on the code itself."""

from __future__ import annotations

import ast
import builtins
import graphlib
import io
import json
import keyword
import re
import subprocess
import sys
import tokenize
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import grimp  # import-linter's own graph
import pytest
from PySide6 import QtCore, QtGui, QtWidgets

from tests import support

ROOT = support.ROOT
GUI = sorted((ROOT / "gui").rglob("*.py"))
MODEL = sorted((ROOT / "model").rglob("*.py"))
PROSE = [*GUI, *MODEL, *sorted((ROOT / "resources").rglob("*.py"))]
FREE = {"__init__", "__main__", "base"}  # the names of files that any folder may have


@cache
def tree(path: Path) -> ast.Module:
    """The code of a file, parsed."""
    return ast.parse(path.read_text("utf-8"))


@cache
def nodes(path: Path) -> tuple[ast.AST, ...]:
    """All of it, piece by piece."""
    return tuple(ast.walk(tree(path)))


def imported(path: Path) -> set[str]:
    """The dotted names that a module imports, at any depth of its code."""
    names: set[str] = set()
    for node in nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def importing(files: list[Path], *forbidden: str) -> list[str]:
    """The files that import what they may not, each with that."""
    return [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in sorted(imported(path))
        if name.startswith(forbidden)
    ]


def test_the_window_knows_no_driver_and_no_layout() -> None:
    assert not importing(GUI, "pymongo", "bson", "model.layouts", "model.server", "model.localserver")


def test_the_model_knows_no_window() -> None:
    assert not importing(MODEL, "PySide6", "shiboken6", "gui")


def test_colours_are_named_in_one_file_only() -> None:
    hex_value = re.compile(r"#[0-9A-Fa-f]{6}\b|#[0-9A-Fa-f]{3}\b(?=[\"'])")
    places = [*GUI, ROOT / "resources" / "style.qss"]
    assert not [p.name for p in places if p.name != "theme.py" and hex_value.search(p.read_text("utf-8"))]


def calls(path: Path) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a file, each with the last part of the name that is called."""
    for node in nodes(path):
        if isinstance(node, ast.Call):
            yield getattr(node.func, "attr", getattr(node.func, "id", "")), node


def is_own_text(node: ast.expr) -> bool:
    """Whether words are the house's own, or came through the door for those of others."""
    if isinstance(node, ast.IfExp):
        return is_own_text(node.body) and is_own_text(node.orelse)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name == "tip" or (name == "tr" and not node.keywords)
    return isinstance(node, ast.Constant)


def test_labels_are_never_markup() -> None:
    """Words of a document that Qt takes for markup are drawn as such, and load pictures."""
    forbidden = {"QLabel", "QMessageBox", "QInputDialog", "QErrorMessage", "setHtml", "setMarkdown", "insertHtml"}
    found = {path.parent.name for path in GUI for name, _ in calls(path) if name in forbidden}
    assert found == {"help"}  # the manual is our own
    above = [
        f"{path.name}: {node.name}"
        for path in GUI
        for node in nodes(path)
        if isinstance(node, ast.ClassDef) and any(getattr(base, "id", "") == "QLabel" for base in node.bases)
    ]
    assert above == ["states.py: PlainLabel"]
    assert not [path.name for path in GUI if re.search(r"TextFormat\.(Auto|Rich|Markdown)", path.read_text("utf-8"))]


def test_words_of_others_reach_a_tooltip_through_one_door() -> None:
    tips = [
        (path, node)
        for path in GUI
        for name, node in calls(path)
        if name in ("setToolTip", "setTabToolTip", "setStatusTip", "setWhatsThis")
    ]
    assert len(tips) > 50
    assert not [f"{path.name}:{node.lineno}" for path, node in tips if not is_own_text(node.args[-1])]
    shown = [(path, node) for path in GUI for name, node in calls(path) if name == "showText"]
    assert not [f"{path.name}:{node.lineno}" for path, node in shown if not is_own_text(node.args[1])]


def test_commands_print_through_one_door() -> None:
    """A terminal acts on some characters, and a text from elsewhere may hold them."""
    files = [
        path for path in (ROOT / "model" / "commands").glob("*.py") if path.stem not in ("output", "standard_streams")
    ]
    assert not [
        f"{path.name}:{node.lineno}"
        for path in files
        for name, node in calls(path)
        if name == "print" or (name == "write" and "std" in ast.unparse(node.func))
    ]


def public_classes(path: Path) -> list[str]:
    """The classes that a module hands on."""
    return [node.name for node in tree(path).body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def public_functions(path: Path) -> list[str]:
    """The functions that a file defines for others."""
    return [
        node.name for node in tree(path).body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]


def snake_case(name: str) -> str:
    """``TabArea`` as ``tab_area``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def twice(places: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    """The names that stand at more than one place, with those places."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, path in places:
        found[name].append(str(path.relative_to(ROOT)))
    return {name: where for name, where in found.items() if len(where) > 1}


def test_no_two_files_have_one_name() -> None:
    assert not twice((path.name, path) for path in MODEL + GUI if path.stem not in FREE)


@pytest.mark.parametrize("package", ["gui", "model"])
def test_no_two_classes_of_a_package_have_one_name(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert not twice((name, path) for path in files for name in public_classes(path))


def test_a_file_of_the_window_with_one_class_is_called_after_it() -> None:
    alone = {path: classes[0] for path in GUI if len(classes := public_classes(path)) == 1 and path.stem not in FREE}
    assert not {str(path): name for path, name in alone.items() if path.stem != snake_case(name)}


def test_a_file_of_the_model_that_holds_nothing_but_one_class_is_called_after_it() -> None:
    """A file of functions may define a class that they take or give; it is called after what they do."""
    offered = {path: public_classes(path) for path in MODEL if path.stem not in FREE and not public_functions(path)}
    alone = {path: classes[0] for path, classes in offered.items() if len(classes) == 1}
    assert len(alone) > 20
    assert {path.stem for path, name in alone.items() if path.stem != snake_case(name)} == {"things_to_try"}


def test_only_the_tour_shows_the_gallery() -> None:
    naming = [p for p in GUI + MODEL if "gallery" in p.read_text("utf-8")]
    importers = [p.relative_to(ROOT).as_posix() for p in naming if "gui.tour.gallery" in imported(p)]
    assert importers == ["gui/tour/tour_views.py"]


def test_no_files_import_one_another_in_a_circle() -> None:
    graph = grimp.build_graph("model", "gui", cache_dir=None)
    arrows = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    graphlib.TopologicalSorter(arrows).prepare()  # raises with the circle


@pytest.mark.lint
@pytest.mark.deep  # half a minute
@pytest.mark.slice
def test_types_are_right_everywhere() -> None:
    run("-m", "mypy")


@pytest.mark.lint
def test_the_linter_has_nothing_to_say() -> None:
    run("-m", "ruff", "check", ".")
    run("-m", "ruff", "format", "--check", ".")


@pytest.mark.lint
def test_imports_follow_the_arrows() -> None:
    run("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())")


HELD_GROUP = re.compile(r"(?<!\\)\)(?:[*+?]|\{\w*,\w*\})\+")
"""A group that is repeated without going back, which ends in a parenthesis."""


def held_groups(code: str) -> list[str]:
    """The repeated groups of patterns in a piece of code that Python 3.11.0 to 3.11.4 would read past.

    There a group that matches in part goes on behind that part, unless it has an empty alternative (CPython issue
    106052). Debian 12 has such a Python.
    """
    return [code[max(0, m.start() - 20) : m.end()] for m in HELD_GROUP.finditer(code) if code[m.start() - 1] != "|"]


def test_patterns_match_on_the_oldest_python() -> None:
    assert not {path.name: found for path in (*GUI, *MODEL) if (found := held_groups(path.read_text("utf-8")))}


@pytest.mark.parametrize("pattern", ["(?:ab?c)*+", "(?:a|b)++", "(?:a){1,3}+"])
def test_a_pattern_that_the_oldest_python_misreads_is_found(pattern: str) -> None:
    assert held_groups(pattern)


@pytest.mark.parametrize("pattern", ["(?:ab?c|)*+", r"[^\)]*+", "(a)*"])
def test_other_patterns_are_not_found(pattern: str) -> None:
    assert not held_groups(pattern)


# --- complexity

MOST_COMPLEX = 20
BRANCHES: dict[type[ast.AST], Callable[[Any], int]] = {
    ast.If: lambda node: 1,
    ast.IfExp: lambda node: 1,
    ast.Assert: lambda node: 1,
    ast.For: lambda node: 1 + bool(node.orelse),
    ast.While: lambda node: 1 + bool(node.orelse),
    ast.Try: lambda node: len(node.handlers) + bool(node.orelse),
    ast.BoolOp: lambda node: len(node.values) - 1,
    ast.comprehension: lambda node: 1 + len(node.ifs),
    ast.Match: lambda node: len(node.cases) - any(is_any(case.pattern) for case in node.cases),
}
"""How many more ways through a function each kind of node adds, as radon counts them."""


def is_any(pattern: ast.pattern) -> bool:
    """Whether a pattern takes everything: ``_``, or a bare name."""
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def complexity(function: ast.FunctionDef) -> int:
    """The ways through a function, as ``radon cc`` counts them: functions inside of it count for themselves."""
    ways, todo = 1, list[ast.AST](function.body)
    while todo:
        node = todo.pop()
        ways += BRANCHES.get(type(node), lambda node: 0)(node)
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assert):
            todo.extend(ast.iter_child_nodes(node))
    return ways


def too_complex(code: ast.Module, most: int = MOST_COMPLEX) -> dict[str, int]:
    """The functions of a file that are more complex than that, by their dotted names."""
    found: dict[str, int] = {}
    todo: list[tuple[str, ast.AST]] = [("", code)]
    while todo:
        owner, node = todo.pop()
        name = f"{owner}{node.name}." if isinstance(node, ast.FunctionDef | ast.ClassDef) else owner
        if isinstance(node, ast.FunctionDef) and (ways := complexity(node)) > most:
            found[name.removesuffix(".")] = ways
        todo.extend((name, below) for below in ast.iter_child_nodes(node))
    return found


def test_no_function_is_too_complex() -> None:
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}": ways
        for path in PROSE
        for name, ways in too_complex(tree(path)).items()
    }
    assert not found, "cut into named steps"


BRANCHING = """
class Planted:
    def method(self, a, *b):
        def inside(): return a and b
        for x in b:
            if x and a or b: x = 1 if a else 2
        else: a = 3
        while a: a -= 1
        try: assert a or b
        except ValueError: pass
        except KeyError: pass
        else: a = 4
        match a:
            case 1: pass
            case 2 | 3: pass
            case _: pass
        return [lambda: x or y for x in b for y in b if x if y]
"""


def test_complexity_is_counted_as_radon_counts_it() -> None:
    assert too_complex(ast.parse(BRANCHING), 1) == {"Planted.method": 19, "Planted.method.inside": 2}
    assert too_complex(ast.parse(BRANCHING), 18) == {"Planted.method": 19}
    assert not too_complex(ast.parse(BRANCHING), 19)


# --- prose: docstrings and comments

QUOTED = re.compile(r":(?P<role>[a-z]+):`(?P<target>[^`]+)`|``(?P<literal>[^`]+)``|`(?P<command>[^`]+)`")
NAME = re.compile(r"\.?\$?(?!v\d+$)[A-Za-z_]\w*(\.\w+)*(\(\))?|(gui|model|resources|tests)/[\w./]+")
"""A name, perhaps dotted, or a path. All else between back quotes is an example: a shape, a value, code, ``v15``."""
LEANING = re.compile(r"the same\b", re.IGNORECASE)
ELSEWHERE = re.compile(r"\bsee (the|its) (module|class)(['’]s)? docstring", re.IGNORECASE)


@dataclass
class Names:
    """The names of a piece of code, by how they occur in it."""

    classes: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))  # with the names in them
    functions: set[str] = field(default_factory=set)
    used: set[str] = field(default_factory=set)  # every identifier, attribute, parameter and keyword
    strings: set[str] = field(default_factory=set)
    words: set[str] = field(default_factory=set)  # of the strings
    docstrings: dict[int, str] = field(default_factory=dict)  # by their lines

    def take(self, other: Names) -> None:
        """Add the names of another piece of code."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine.update(theirs)


@cache
def names_of(source: str) -> Names:
    """The names of one file; its docstrings are no strings of the code."""
    names, tree = Names(), ast.parse(source)
    docstrings = {id(node): node for node in docstrings_of(tree)}
    names.docstrings = {node.lineno: str(node.value) for node in docstrings.values()}
    todo: list[tuple[ast.AST, tuple[set[str], ...]]] = [(tree, (names.used,))]
    while todo:
        node, owners = todo.pop()
        if isinstance(node, ast.ClassDef):
            owners = (*owners, names.classes[node.name])
        elif isinstance(node, ast.FunctionDef):
            names.functions.add(node.name)
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and id(node) not in docstrings:
                names.strings.add(node.value)
            continue
        if found := identifiers(node):
            for owner in owners:
                owner.update(found)
        todo.extend((below, owners) for below in ast.iter_child_nodes(node))
    for each in names.strings:
        names.words.update(re.findall(r"\$?\w+", each))
    return names


IDENTIFYING = ("id", "attr", "arg", "name", "asname", "module")


def identifiers(node: ast.AST) -> list[str]:
    """The identifiers that a node itself consists of."""
    found = [getattr(node, key, None) for key in node._fields if key in IDENTIFYING]
    return [part for value in found if isinstance(value, str) for part in value.split(".")]


def docstrings_of(tree: ast.Module) -> Iterator[ast.Constant]:
    """The docstrings of a module, of its classes and functions, and those below a variable."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if not isinstance(node, ast.expr):
            todo.extend(below for below in ast.iter_child_nodes(node) if not isinstance(below, ast.expr))
        body = getattr(node, "body", None)
        lines = body if isinstance(body, list) else []
        for before, line in zip([node, *lines], lines, strict=False):
            holds = isinstance(before, ast.Assign | ast.AnnAssign) or (
                before is node and isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            )
            if holds and isinstance(line, ast.Expr) and isinstance(value := line.value, ast.Constant):
                yield value


def prose_of(source: str) -> Iterator[tuple[int, str]]:
    """The docstrings and comments of a piece of code, each with its line."""
    yield from names_of(source).docstrings.items()
    if "#" not in source:
        return
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


@cache
def modules() -> dict[str, Path]:
    """The modules and rooms of the house and of its tests, by their dotted names."""
    files = [*PROSE, *(ROOT / "tests").rglob("*.py")]
    named = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in files}
    return {name.removesuffix(".__init__"): path for name, path in named.items()}


@cache
def house() -> Names:
    """The names of all code but the tests."""
    names = Names()
    for path in PROSE:
        names.take(names_of(path.read_text("utf-8")))
    return names


@cache
def in_library(name: str) -> bool:
    """Whether a name is one of the language, of Qt or of ``json``: ``QDialog.reject``."""
    first, *rest = name.split(".")
    start = next((getattr(of, first) for of in (builtins, QtCore, QtGui, QtWidgets) if hasattr(of, first)), None)
    here: object = json if first == "json" else start
    for part in rest:
        here = getattr(here, part, None)
    return here is not None


def is_known(name: str, role: str | None, own: Names) -> bool:
    """Whether a back-quoted name stands for something; ``own`` are the names of the file that says it.

    A bare name in small letters has to be one of that file, or a string somewhere in the code: other files' names are
    written with their module or class, or with a role.
    """
    path = name.removesuffix("()").lstrip(".")
    parts = path.split(".")
    *owners, last = parts
    if path in modules() or (role == "mod" and any(known.endswith(name) for known in modules())):
        return True
    if role == "mod" or "/" in name:
        return any((ROOT / top / name).exists() for top in ("", "tests"))
    for depth in range(len(owners), 0, -1):
        if module := modules().get(".".join(parts[:depth])):
            return set(parts[depth:]) <= names_of(module.read_text("utf-8")).used
    if owners and owners[-1] in house().classes:
        return last in house().classes[owners[-1]]
    if role:
        kinds = {"class": house().classes.keys(), "func": house().functions, "meth": house().functions}
        return not owners and last in kinds.get(role, house().used)
    if all(part in own.used | own.words | house().strings or part.isdigit() for part in parts):
        return True
    return path in house().classes or keyword.iskeyword(path) or in_library(path) or (ROOT / path).exists()


def faults(source: str) -> list[str]:
    """The breaches of the rules in the docstrings and comments of a piece of code."""
    found = []
    for line, text in prose_of(source):
        for quoted in QUOTED.finditer(text):
            name = (quoted["target"] or quoted["literal"] or quoted["command"]).lstrip("~")
            if (quoted["role"] or NAME.fullmatch(name)) and not is_known(name, quoted["role"], names_of(source)):
                found.append(f"{line}: nothing is called {name}")
        if LEANING.match(text):
            found.append(f"{line}: begins with 'The same', which leans on another text")
        if ELSEWHERE.search(" ".join(text.split())):
            found.append(f"{line}: sends its reader to another docstring")
    return found


@pytest.mark.deep
@pytest.mark.slice
def test_docstrings_and_comments_name_what_there_is_and_stand_alone() -> None:
    assert not [f"{path.relative_to(ROOT)}:{fault}" for path in PROSE for fault in faults(path.read_text("utf-8"))]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize(
    "prose",
    [
        "``gone_name`` is counted.", "``gone_name()``", "``$gone``", "``Layout.gone_name``", "``model.gone_name``",
        "``model.session.gone_name``", "``tests/gone_name``", "`gone_name`", ":class:`.GoneName`", ":func:`gone_name`",
        ":func:`model.diff.gone_name`", ":meth:`.Layout.gone_name`", ":mod:`model.gone_name`", ":attr:`gone_name`",
        "The same, for two.", "the same as below", "See the module's docstring.", "A row; see its class's docstring.",
    ],
)  # fmt: skip
def test_a_rule_of_prose_finds_what_breaks_it(prose: str) -> None:
    assert len(faults(f'"""{prose}"""')) == len(faults(f"x = 1  # {prose}")) == 1
    assert faults(f'def f():\n    """{prose}"""') == [fault.replace("1:", "2:") for fault in faults(f"# {prose}")]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize(
    "prose",
    [
        "``{_id: id, v: n}``, ``v15``, ``v+1``, ``a[0] == b``: shapes and examples.", "``len``, ``json.dumps``",
        "``None``, ``$set``", "``tests/journeys``, ``tests.support``", "``QDialog.reject()``", ":class:`.Layout`",
        ":mod:`model.diff`, :meth:`model.session.Session.close`", "``Refused``", "It stays the same.",
    ],
)  # fmt: skip
def test_a_rule_of_prose_lets_pass_what_is_sound(prose: str) -> None:
    assert not faults(f'"""{prose}"""')
