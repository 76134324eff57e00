"""The byte code of the modules inside PySide6's library, cached as Python caches that of modules in files.

Importing PySide6 compiles them at every start, a seventh of the time until the window is drawn. The cached code is
executed, so it is only taken from a place that nobody else can write to.
"""

from __future__ import annotations

import builtins
import marshal
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.util import MAGIC_NUMBER, source_hash
from pathlib import Path
from types import CodeType
from typing import Any

from model.errors import Refused
from model.foundation.whole_files import whole_file
from model.userdata import folders

_CARRIED = ("shibokensupport/", "signature_bootstrap.py")
_FILE = "qt-modules"

Kept = dict[str, tuple[bytes, CodeType]]  # by name: the hash of the source, and its compiled code


@contextmanager
def kept_code() -> Iterator[None]:
    """Import PySide6 inside it: what an earlier start of this Python compiled is not compiled again."""
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


def _is_ours(place: Path) -> bool:
    """Whether a folder or file belongs to this user and only this user can write it. Raises ``OSError``."""
    if os.name != "posix":
        return folders.chosen() is None and "PALIMPSEST_CACHE" not in os.environ  # the default folder is
    found = place.stat()
    return found.st_uid == os.geteuid() and not found.st_mode & 0o022


def _read() -> Kept:
    file = folders.kept_again() / _FILE
    with suppress(OSError, EOFError, ValueError, TypeError, AttributeError):
        data = file.read_bytes() if _is_ours(file.parent) and _is_ours(file) else b""
        if data.startswith(MAGIC_NUMBER):
            kept: Kept = marshal.loads(data[len(MAGIC_NUMBER) :])
            if all(isinstance(code, CodeType) for _, code in kept.values()):
                return kept
    return {}


def _write(kept: Kept) -> None:
    with suppress(OSError, Refused):  # it only saves time
        folders.kept_again().mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_ours(folders.kept_again()):
            with whole_file(folders.kept_again() / _FILE) as file:
                file.write(MAGIC_NUMBER + marshal.dumps(kept))
