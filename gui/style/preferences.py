"""What the window remembers between runs, and its Settings; read by every view, written in few places.

One JSON file: ``window.json`` in ``PALIMPSEST_HOME`` if that is set, else in the platform's place for settings. It
never contains a document, a filter's result or a password. What it holds is checked where it is used: the file may be
damaged, or from another version.
"""

from __future__ import annotations

import base64
import copy
import datetime as dt
import json
import os
import time
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import platformdirs
from PySide6.QtCore import QByteArray, QCoreApplication, QObject, QTimer, QTimeZone, Signal

from gui.style.preference_file import PreferenceFile

SOON = 500  # milliseconds from a change to its writing


class _PreferenceSignals(QObject):
    """Tells views that a setting changed; carries its name."""

    changed = Signal(str)


class _Writer(QObject):
    """Writes the file soon after changes, and when the program ends. Any thread may ask."""

    asked = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._timer: QTimer | None = None
        self.asked.connect(self._begin)

    def _begin(self) -> None:
        application = QCoreApplication.instance()
        if application is None:
            write()
            return
        if self._timer is None:
            self._timer = QTimer(self)
            self._timer.setSingleShot(True)
            self._timer.setInterval(SOON)
            self._timer.timeout.connect(write)
            application.aboutToQuit.connect(write)
        self._timer.start()


signals = _PreferenceSignals()
_writer = _Writer()
_store: PreferenceFile | None = None
_home: str | None = None  # the folder of the open file
system_reduces_motion = False
"""The answer of ``gui.style.motion``; False until it arrives."""

DEFAULTS: dict[str, object] = {
    "theme": "system",  # system, light, dark
    "contrast": "system",  # system, high, normal
    "language": "system",  # system, or a code of gui.language
    "zone": "",  # an IANA name; "" is the system's
    "motion": "system",  # system, less, full
    "page_size": 50,
    "rows": "compact",  # of a list of documents: compact, roomy
    "sidebar": "",  # open, folded; "" until a person chooses: by the width of the window at its start
    "zoom": 100,  # percent of the system's size
}


BOUNDS = {"page_size": (1, 1000), "zoom": (50, 300)}
LONGEST = 100  # characters of a setting


def _file() -> PreferenceFile:
    global _store, _home
    home = os.environ.get("PALIMPSEST_HOME")
    if _store is None or home != _home:
        write()
        folder = Path(home) if home else platformdirs.user_config_path("palimpsest", False)
        _store, _home = PreferenceFile(folder / "window.json"), home
    return _store


def write() -> None:
    """Write what was changed, at once."""
    if _store is not None:
        _store.write()


def forget() -> None:
    """Write and close the open file; the next access opens the file that is right then."""
    global _store
    write()
    _store = None


def get(name: str) -> Any:
    """A setting; its default if there is none, or none that is possible."""
    default, kept = DEFAULTS[name], _file().get("settings", name)
    if type(kept) is not type(default):
        return default
    if not isinstance(kept, int):
        return kept if len(str(kept)) <= LONGEST else default
    low, high = BOUNDS[name]
    return kept if low <= kept <= high else default


def put(name: str, value: object) -> None:
    """Store a setting and tell every view."""
    if get(name) == value:
        return
    _put("settings", name, value)
    signals.changed.emit(name)


def remembered(key: str, default: Any = None) -> Any:
    """Something that the window remembers, such as open tabs: lists, dicts, text and numbers."""
    kept = _file().get("kept", key)
    return default if kept is None else copy.copy(kept)


def remembered_dict(key: str) -> dict[str, Any]:
    """A remembered dict; empty if there is none."""
    kept = remembered(key)
    return kept if isinstance(kept, dict) else {}


def remember(key: str, value: Any) -> None:
    """Store a value under a key; :func:`remembered` reads it back."""
    _put("kept", key, json.loads(json.dumps(value)))


def shape(key: str) -> QByteArray | None:
    """The geometry of a window, splitter or header as Qt saved it."""
    kept = _file().get("shapes", key)
    if not isinstance(kept, str):
        return None
    try:
        return QByteArray(base64.b64decode(kept, validate=True)) or None
    except ValueError:
        return None


def keep_shape(key: str, state: QByteArray) -> None:
    """Keep a geometry."""
    _put("shapes", key, base64.b64encode(state.data()).decode())


def _put(section: str, name: str, value: Any) -> None:
    _file().put(section, name, value)
    _writer.asked.emit()


def system_zone() -> str:
    """The IANA name of this computer's time zone, as of a second ago at most; UTC if it has none."""
    return _zone_then(int(time.monotonic()))


@lru_cache(maxsize=1)
def _zone_then(_: int) -> str:
    """The zone in a second: a list asks for it with every time that it shows, and the system reads a file each time."""
    return _known_zone(bytes(QTimeZone.systemTimeZoneId().data()))


@cache
def _known_zone(name: bytes) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    text = name.decode("ascii", "replace")
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return "UTC"
    return text.removeprefix("Etc/")


def zone() -> str:
    """The IANA name of the zone that dates are shown in."""
    chosen = str(get("zone"))
    return chosen or system_zone()


def zones() -> list[str]:
    """All zones that can be chosen."""
    from zoneinfo import available_timezones

    return sorted(name for name in available_timezones() if "/" in name or name == "UTC")


def local(at: dt.datetime) -> dt.datetime:
    """A UTC time in the chosen zone."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    aware = at if at.tzinfo is not None else at.replace(tzinfo=dt.UTC)
    try:
        return aware.astimezone(ZoneInfo(zone()))
    except (ZoneInfoNotFoundError, ValueError, OverflowError, OSError):
        return aware


def still() -> bool:
    """Whether only progress may move."""
    chosen = str(get("motion"))
    return system_reduces_motion if chosen == "system" else chosen == "less"
