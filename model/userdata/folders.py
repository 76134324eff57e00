"""The folder with journal, drafts and saved connections, which only its owner can read.

``PALIMPSEST_HOME`` names it; the default is the platform's folder for user data. Folders are 0700, files 0600.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.whole_files import whole_file


def chosen(home: Path | None = None) -> Path | None:
    """The folder that somebody chose, here or in ``PALIMPSEST_HOME``; None for the platform's default."""
    if home is None and (named := os.environ.get("PALIMPSEST_HOME")):
        return Path(named)
    return home


def place(home: Path | None = None) -> Path:
    """The path of the data folder, which may not exist yet."""
    if (named := chosen(home)) is not None:
        return named
    import platformdirs  # takes longer than most of what is done in a folder

    return platformdirs.user_data_path("palimpsest", False)


def folder(home: Path | None = None, *parts: str) -> Path:
    """The data folder, or one inside it, created if missing; raises ``Refused`` if that fails."""
    named, root = chosen(home), place(home)
    where = root.joinpath(*parts)
    try:
        if not root.is_dir():
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if named is None and root.stat().st_mode & 0o077:
            root.chmod(0o700)  # a folder chosen by a person keeps its rights; the files in it are 0600
        if where != root and not where.is_dir():
            if os.path.lexists(where):
                kept_files.set_aside(where, where.lstat())
            where.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise Refused(
            f"The folder {where} for journal and drafts cannot be used ({error.strerror}); "
            "set PALIMPSEST_HOME to a folder that you can write."
        ) from None
    return where


def kept_again(home: Path | None = None) -> Path:
    """The cache folder: ``PALIMPSEST_CACHE``, else inside a chosen data folder, else the platform's."""
    if named := os.environ.get("PALIMPSEST_CACHE"):
        return Path(named)
    root = chosen(home)
    if root is not None:
        return root / "cache"
    import platformdirs

    return platformdirs.user_cache_path("palimpsest", False)


def name_of(source: str) -> str:
    """A file name for a source: always the same for one source, and it does not reveal the address."""
    return hashlib.sha256(source.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def keep(path: Path, data: str) -> None:
    """Write a whole file of this program's own; what is no file there is set aside. Raises ``Refused``."""
    kept_files.clear(path)
    write(path, data)


def write(path: Path, data: str) -> None:
    """Write a whole file, so that a crash leaves either the old or the new one; raises ``Refused``."""
    try:
        with whole_file(path) as file:
            file.write(data.encode())
    except OSError as error:
        raise Refused(f"{path} cannot be written ({error.strerror}); make room or allow writing there.") from None
