"""The columns of content in the list of one collection: chosen by a person, else by what tells documents apart."""

from __future__ import annotations

from gui.style import preferences
from model import text
from model.errors import Refused
from model.values.canonical import Path


class RememberedColumns:
    """Remembers the columns of one collection; names of fields, and never a value."""

    def __init__(self, source: str, ns: str) -> None:
        self._key = f"columns/{source}/{ns}"

    def chosen(self) -> str:
        """The fields that a person chose, as typed; "" if nobody has."""
        kept = preferences.remembered_dict(self._key).get("chosen", "")
        return kept if isinstance(kept, str) else ""

    def choose(self, fields: str) -> None:
        """Remember what a person chose; "" leaves the choice to the program again."""
        self._put("chosen", fields)

    def telling(self) -> tuple[Path, ...] | None:
        """The fields by which documents were told apart before; None if that was not looked for."""
        kept = preferences.remembered_dict(self._key).get("telling")
        if not isinstance(kept, list):
            return None
        try:
            return tuple(text.path_from_text(str(name)) for name in kept)
        except Refused:
            return None

    def tell(self, paths: tuple[Path, ...]) -> None:
        """Remember the fields that tell documents apart, so that the columns stay the same."""
        self._put("telling", [text.path_text(path) for path in paths])

    def _put(self, name: str, value: object) -> None:
        preferences.remember(self._key, preferences.remembered_dict(self._key) | {name: value})
