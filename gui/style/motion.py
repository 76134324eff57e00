"""The system's setting for less motion, which people whom movement makes dizzy set once for all programs."""

from __future__ import annotations

import ctypes
import logging
import shutil
import sys

from PySide6.QtCore import QObject, QSettings, QStandardPaths
from PySide6.QtWidgets import QApplication

from gui import rest, tasks
from gui.style import preferences
from model.foundation.child_environment import DESKTOP, child_environment

PATIENCE = 2.0  # seconds that a desktop program has to answer
_CLIENT_AREA_ANIMATION = 0x1042
_log = logging.getLogger(__name__)


class _Asker(QObject):
    """Asks the system in a thread, and keeps the answer."""

    def __init__(self, app: QApplication) -> None:
        super().__init__(app)
        rest.later(self, self._ask)

    def _ask(self) -> None:
        tasks.run(lambda _: system_reduces(), done=self._told, failed=self._failed, owner=self)

    def _told(self, reduced: bool) -> None:
        preferences.system_reduces_motion = reduced

    def _failed(self, error: BaseException) -> None:
        _log.warning("The system's wish about motion is not known: %s", type(error).__name__)


def install(app: QApplication) -> None:
    """Ask once per application."""
    if not app.findChildren(_Asker):
        _Asker(app)


def system_reduces() -> bool:
    """Whether the system wants less motion; False if it does not say."""
    if sys.platform == "win32":
        return _windows_reduces()
    if sys.platform == "darwin":
        return _said(("defaults", "read", "com.apple.universalaccess", "reduceMotion")) == "1"
    return (
        _plasma_reduces() or _said(("gsettings", "get", "org.gnome.desktop.interface", "enable-animations")) == "false"
    )


def _windows_reduces() -> bool:
    animated = ctypes.c_int(1)
    known = ctypes.windll.user32.SystemParametersInfoW(_CLIENT_AREA_ANIMATION, 0, ctypes.byref(animated), 0)  # type: ignore[attr-defined,unused-ignore]
    return bool(known) and not animated.value


def _plasma_reduces() -> bool:
    """Plasma stores a factor for the length of animations; 0 turns them off."""
    place = QStandardPaths.locate(QStandardPaths.StandardLocation.GenericConfigLocation, "kdeglobals")
    if not place:
        return False
    factor = QSettings(place, QSettings.Format.IniFormat).value("KDE/AnimationDurationFactor")
    return factor is not None and str(factor) in ("0", "0.0")


def _said(command: tuple[str, ...]) -> str:
    """The output of a desktop program; "" if it fails."""
    program = shutil.which(command[0])
    if program is None:
        return ""
    import subprocess

    try:
        return subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=child_environment(*DESKTOP),
        ).stdout.strip()
    except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
        return ""
