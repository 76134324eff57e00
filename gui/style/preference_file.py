"""The file of the window's state: JSON, which is read without running anything that it holds.

Qt's own format for settings can hold Python objects, and unpickles them as soon as the file is opened.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from model.errors import Refused
from model.foundation import kept_files
from model.foundation.input_files import whole_text
from model.userdata import folders

SECTIONS = ("settings", "kept", "shapes")
_OLDER = re.compile(r"^(theme|contrast|language|zone|motion|page_size|zoom)=([\w/+-]{1,64})$", re.MULTILINE)


class PreferenceFile:
    """Three sections of names and values. Several processes can use it: each writes only what it has changed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._changed: dict[tuple[str, str], Any] = {}
        self._sections = self._read()

    def get(self, section: str, name: str) -> Any:
        """A value; None if there is none."""
        return self._sections[section].get(name)

    def put(self, section: str, name: str, value: Any) -> None:
        """Change a value; :meth:`write` writes it."""
        self._sections[section][name] = self._changed[section, name] = value

    def write(self) -> None:
        """Write what was changed; if that fails it is told, and stays in memory."""
        if not self._changed:
            return
        sections = self._read()
        for (section, name), value in self._changed.items():
            sections[section][name] = value
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folders.keep(self._path, json.dumps(sections, indent=1) + "\n")
        except OSError as error:
            kept_files.notices.tell(f"{self._path} cannot be written ({error.strerror}); allow writing there.")
        except Refused as refusal:
            kept_files.notices.tell(str(refusal))
        else:
            self._sections = sections
            self._changed.clear()

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = kept_files.content(self._path, _sections_in)
        except Refused as refusal:
            kept_files.notices.tell(str(refusal))
            found = None
        return found or {**_sections_in("{}"), "settings": _older_settings(self._path.with_suffix(".ini"))}


def _sections_in(written: str) -> dict[str, dict[str, Any]]:
    """The sections in a file's text; raises one of ``kept_files.DAMAGE``."""
    found = json.loads(written)
    sections = {name: found.get(name, {}) for name in SECTIONS}
    if not all(isinstance(each, dict) for each in sections.values()):
        raise TypeError(sections)
    return sections


def _older_settings(path: Path) -> dict[str, Any]:
    """The choices in a file of version 0.1; its format is not read any further."""
    try:
        written = whole_text(path)
    except (OSError, *kept_files.DAMAGE):
        return {}
    return {name: int(value) if value.isdecimal() else value for name, value in _OLDER.findall(written)}
