"""What the window remembers between runs, and its Settings; read by every view, written in few places.

One INI file: ``window.ini`` in ``PALIMPSEST_HOME`` if that is set, else in the platform's place for settings. It
never contains a document, a filter's result or a password.
"""

from __future__ import annotations

import datetime as dt
import json
import os
from pathlib import Path
from typing import Any

from PySide6.QtCore import QByteArray, QObject, QSettings, QTimeZone, Signal


class _PreferenceSignals(QObject):
    """Tells views that a setting changed; carries its name."""

    changed = Signal(str)


signals = _PreferenceSignals()
_store: QSettings | None = None
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
    "zoom": 100,  # percent of the system's size
}


def _settings() -> QSettings:
    global _store, _home
    home = os.environ.get("PALIMPSEST_HOME")
    if _store is None or home != _home:
        if home:
            folder = Path(home)
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _store = QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
        else:
            _store = QSettings(QSettings.Format.IniFormat, QSettings.Scope.UserScope, "palimpsest", "window")
        _home = home
    return _store


def forget() -> None:
    """Close the open file; the next access opens the file that is right then."""
    global _store
    if _store is not None:
        _store.sync()
    _store = None


def get(name: str) -> Any:
    """A setting, or its default."""
    default = DEFAULTS[name]
    kept = _settings().value(name)
    if kept is None:
        return default
    if isinstance(default, bool):
        return kept in (True, "true", "True", "1")
    if isinstance(default, int):
        try:
            return int(str(kept))
        except ValueError:
            return default
    return str(kept)


def put(name: str, value: object) -> None:
    """Store a setting and tell every view."""
    if get(name) == value:
        return
    _settings().setValue(name, value)
    signals.changed.emit(name)


def remembered(key: str, default: Any = None) -> Any:
    """Something that the window remembers, such as open tabs: lists, dicts, text and numbers."""
    kept = _settings().value(f"kept/{key}")
    if not isinstance(kept, str):
        return default
    try:
        return json.loads(kept)
    except (ValueError, RecursionError):
        return default


def remembered_dict(key: str) -> dict[str, Any]:
    """A remembered dict; empty if there is none."""
    kept = remembered(key)
    return kept if isinstance(kept, dict) else {}


def remember(key: str, value: Any) -> None:
    """Store a value under a key; :func:`remembered` reads it back."""
    _settings().setValue(f"kept/{key}", json.dumps(value, ensure_ascii=False))


def shape(key: str) -> QByteArray | None:
    """The geometry of a window, splitter or header as Qt saved it."""
    kept = _settings().value(f"shape/{key}")
    return kept if isinstance(kept, QByteArray) and not kept.isEmpty() else None


def keep_shape(key: str, state: QByteArray) -> None:
    """Keep a geometry."""
    _settings().setValue(f"shape/{key}", state)


def system_zone() -> str:
    """The IANA name of this computer's time zone; UTC if it has none."""
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    name = QTimeZone.systemTimeZoneId().data()
    text = bytes(name).decode("ascii", "replace")
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
