"""The house's own rules, checked on the code itself."""

from __future__ import annotations

import ast
import graphlib
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import grimp  # import-linter's own graph
import pytest

from tests import support

ROOT = support.ROOT
GUI = sorted((ROOT / "gui").rglob("*.py"))
MODEL = sorted((ROOT / "model").rglob("*.py"))
FREE = {"__init__", "__main__", "base"}  # the names of files that any folder may have


def imported(path: Path) -> set[str]:
    """The dotted names that a module imports, at any depth of its code."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", GUI, ids=lambda p: p.name)
def test_the_window_knows_no_driver_and_no_layout(path: Path) -> None:
    forbidden = ("pymongo", "bson", "model.layouts", "model.server", "model.localserver")
    assert not [name for name in imported(path) if name.split(".")[0] in forbidden or name.startswith(forbidden)]


@pytest.mark.parametrize("path", MODEL, ids=lambda p: str(p.relative_to(ROOT)))
def test_the_model_knows_no_window(path: Path) -> None:
    assert not [name for name in imported(path) if name.split(".")[0] in ("PySide6", "shiboken6", "gui")]


def test_colours_are_named_in_one_file_only() -> None:
    hex_value = re.compile(r"#[0-9A-Fa-f]{6}\b|#[0-9A-Fa-f]{3}\b(?=[\"'])")
    places = [*GUI, ROOT / "resources" / "style.qss"]
    assert not [p.name for p in places if p.name != "theme.py" and hex_value.search(p.read_text("utf-8"))]


def public_classes(path: Path) -> list[str]:
    """The classes that a module hands on."""
    found = ast.parse(path.read_text("utf-8")).body
    return [node.name for node in found if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]


def public_functions(path: Path) -> list[str]:
    """The functions that a file defines for others."""
    nodes = ast.parse(path.read_text("utf-8")).body
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")]


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


def test_types_are_right_everywhere() -> None:
    run("-m", "mypy")


def test_the_linter_has_nothing_to_say() -> None:
    run("-m", "ruff", "check", ".")
    run("-m", "ruff", "format", "--check", ".")


def test_imports_follow_the_arrows() -> None:
    run("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())")
