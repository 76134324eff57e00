"""The byte code of the modules that PySide6 carries inside its library, kept as Python keeps that of modules in files.

Importing PySide6 compiles them anew each time, which is a seventh of what a window takes until it is drawn.
"""

from __future__ import annotations

import builtins
import marshal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import MAGIC_NUMBER, source_hash
from types import CodeType
from typing import Any

from model.errors import Refused
from model.userdata import folders
from model.whole_files import whole_file

_CARRIED = ("shibokensupport/", "signature_bootstrap.py")
_FILE = "qt-modules"

Kept = dict[str, tuple[bytes, CodeType]]  # by name: the hash of the source, and what it was compiled to


@contextmanager
def kept_code() -> Iterator[None]:
    """Import PySide6 within it: what it compiled in an earlier start of this Python is not compiled again."""
    plain = builtins.compile
    kept = _read()
    fresh: Kept = {}
    builtins.compile = _keeping(plain, kept, fresh)
    try:
        yield
    finally:
        builtins.compile = plain
    if fresh:
        _write(kept | fresh)


def _keeping(plain: Callable[..., Any], kept: Kept, fresh: Kept) -> Callable[..., Any]:
    def compile_once(source: Any, filename: Any, mode: str, *others: Any, **named: Any) -> Any:
        name = str(filename)
        if others or named or not name.startswith(_CARRIED) or not isinstance(source, (bytes, str)):
            return plain(source, filename, mode, *others, **named)
        state = source_hash(source.encode() if isinstance(source, str) else source)
        known = kept.get(name)
        if known is not None and known[0] == state:
            return known[1]
        code = plain(source, filename, mode)
        fresh[name] = (state, code)
        return code

    return compile_once


def _read() -> Kept:
    with suppress(OSError, EOFError, ValueError, TypeError, AttributeError):
        data = (folders.kept_again() / _FILE).read_bytes()
        if data.startswith(MAGIC_NUMBER):
            kept: Kept = marshal.loads(data[len(MAGIC_NUMBER) :])
            if all(isinstance(code, CodeType) for _, code in kept.values()):
                return kept
    return {}


def _write(kept: Kept) -> None:
    with suppress(OSError, Refused):  # it only saves time
        folders.kept_again().mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(folders.kept_again() / _FILE) as file:
            file.write(MAGIC_NUMBER + marshal.dumps(kept))
