"""The walker compiled here, as it is or with a fault, and loaded instead of the installed one."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import shlex
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType

from model.values import canonical
from tests.support import ROOT

SOURCE = ROOT / "model" / "values" / "_walker.c"
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer")


@cache
def compiler() -> tuple[str, ...]:
    """The command that compiles C here; empty where there is none, or none that finds Python's header."""
    command = tuple(shlex.split(os.environ.get("CC", "cc")))
    if os.name != "posix" or not command or not shutil.which(command[0]):
        return ()
    tried = [*command, f"-I{sysconfig.get_paths()['include']}", "-fsyntax-only", "-x", "c", "-"]
    found = subprocess.run(tried, input="#include <Python.h>\n", text=True, capture_output=True)
    return command if found.returncode == 0 else ()


def built(folder: Path, source: str, options: Sequence[str] = ("-O1",)) -> Path:
    """The walker of some source, compiled into a folder; warnings are errors."""
    written, made = folder / "_walker.c", folder / "_walker.so"
    written.write_text(source, "utf-8")
    include = f"-I{sysconfig.get_paths()['include']}"
    strict = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-Wno-missing-field-initializers")
    undefined = ("-undefined", "dynamic_lookup") if os.uname().sysname == "Darwin" else ()
    command = [*compiler(), "-shared", "-fPIC", "-DPy_LIMITED_API=0x030B0000", *strict, "-Wno-cast-function-type"]
    subprocess.run([*command, *options, include, str(written), "-o", str(made), *undefined], check=True)
    return made


def loaded(path: Path) -> ModuleType:
    """A compiled walker, ready to be used."""
    loader = importlib.machinery.ExtensionFileLoader("_walker", str(path))
    spec = importlib.util.spec_from_loader("_walker", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    begun(module)
    return module


def begun(module: ModuleType) -> None:
    """Give a walker what it hands over to, as :mod:`model.values.canonical` does it."""
    module.begin(canonical.walked, canonical.walked_from, canonical.Value)


@contextmanager
def using(walker: ModuleType | None) -> Iterator[None]:
    """The product walks by this one; None: in Python."""
    before = canonical.walker
    canonical.walker = walker
    try:
        yield
    finally:
        canonical.walker = before
