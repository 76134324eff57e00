"""The house's own rules, checked on the code itself."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
GUI = sorted((ROOT / "gui").rglob("*.py"))
MODEL = sorted((ROOT / "model").rglob("*.py"))


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


def test_types_are_right_everywhere() -> None:
    run("-m", "mypy")


def test_the_linter_has_nothing_to_say() -> None:
    run("-m", "ruff", "check", ".")
    run("-m", "ruff", "format", "--check", ".")


def test_imports_follow_the_arrows() -> None:
    run("-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())")
