"""Palimpsest in the menus of a Linux desktop: its entry, its icon, and its link to BSON files.

The files go where the desktop looks for one user's files; a system package brings its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib import resources
from pathlib import Path

from gui.language import tr
from model.errors import Refused
from model.foundation.child_environment import DESKTOP, child_environment

PLACES = {
    "palimpsest.desktop": "applications",
    "palimpsest.svg": "icons/hicolor/scalable/apps",
    "palimpsest-bson.xml": "mime/packages",
}
"""The place of each file in ``resources/desktop``, below the user's data folder."""

_UPDATES = (("update-mime-database", "mime"), ("update-desktop-database", "applications"))
_PATIENCE = 20  # seconds


def is_possible() -> bool:
    """Whether this system has such menus."""
    return sys.platform.startswith(("linux", "freebsd"))


def is_there() -> bool:
    """Whether the entry was added before."""
    return _target("palimpsest.desktop").exists()


def add() -> Path:
    """Install the files, overwriting older ones; returns the entry. Raises ``Refused``."""
    for name in PLACES:
        written = resources.files("resources").joinpath("desktop", name).read_text("utf-8")
        target = _target(name)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(written.replace("Exec=palimpsest", f"Exec={_command()}"), encoding="utf-8")
        except OSError as error:
            raise Refused(
                tr(
                    "{target} cannot be written ({strerror}); allow writing there.",
                    target=target,
                    strerror=error.strerror,
                )
            ) from None
    _tell_desktop()
    return _target("palimpsest.desktop")


def remove() -> None:
    """Remove the files; raises ``Refused``."""
    for name in PLACES:
        try:
            _target(name).unlink(missing_ok=True)
        except OSError as error:
            raise Refused(
                tr("{target} cannot be removed ({strerror}).", target=_target(name), strerror=error.strerror)
            ) from None
    _tell_desktop()


def _home() -> Path:
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def _target(name: str) -> Path:
    return _home() / PLACES[name] / name


def _command() -> str:
    """The command that starts this program, quoted as a desktop entry requires."""
    started = Path(sys.argv[0])
    own = started if started.stem == "palimpsest" and started.is_file() else shutil.which("palimpsest")
    words = [str(Path(own).resolve())] if own else [sys.executable, "-m", "gui"]
    return " ".join(_quoted(word) for word in words)


def _quoted(word: str) -> str:
    if all(sign.isalnum() or sign in "/._-+" for sign in word):
        return word
    escaped = "".join(f"\\{sign}" if sign in '"`$\\' else sign for sign in word)
    return '"' + escaped.replace("\\", "\\\\").replace("%", "%%") + '"'


def _tell_desktop() -> None:
    """Make the desktop read its folders again; without these programs it does so at its next start."""
    for program, folder in _UPDATES:
        if (found := shutil.which(program)) is not None and (_home() / folder).is_dir():
            try:
                command, own = [found, str(_home() / folder)], child_environment(*DESKTOP)
                subprocess.run(command, capture_output=True, timeout=_PATIENCE, check=False, env=own)
            except (OSError, subprocess.TimeoutExpired):
                continue
