"""Unsaved edits, kept on disk so that they survive a refresh, a closed tab and a crash.

Each draft is a file in the data folder's ``drafts``: its document, the version that it is based on, and both contents
as exact Extended JSON. A newer draft replaces the file at once.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
from pathlib import Path

from model import text
from model.errors import Refused
from model.foundation.records import Draft
from model.userdata import folders as homes
from model.values.canonical import Value

_log = logging.getLogger(__name__)


class Drafts:
    """The drafts of one person on one computer; a document has at most one."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = homes.chosen(home)

    @property
    def _folder(self) -> Path:
        return homes.folder(self._home, "drafts")

    def keep(self, draft: Draft) -> None:
        """Write a draft; it replaces an earlier one of this document."""
        row = {
            "source": draft.source,
            "ns": draft.ns,
            "id": text.value_text(draft.id),
            "base_v": None if draft.base_v is None else text.value_text(draft.base_v),
            "base_content": text.to_text(draft.base_content),
            "content": text.to_text(draft.content),
            "kept_at": draft.kept_at.isoformat(),
        }
        homes.write(self._path(draft.source, draft.ns, draft.id), json.dumps(row, ensure_ascii=True))

    def all(self) -> list[Draft]:
        """Every draft, newest first. One that cannot be read stays on disk and is named in the log."""
        found = []
        for path in self._folder.glob("*.json"):
            try:
                found.append(_read(path))
            except FileNotFoundError:  # discarded since the folder was listed
                continue
            except (OSError, ValueError, KeyError, TypeError, RecursionError, Refused):
                _log.warning("The draft in %s cannot be read.", path)
        return sorted(found, key=lambda draft: draft.kept_at, reverse=True)

    def get(self, source: str, ns: str, id: Value) -> Draft | None:
        """The draft of one document; None if there is none."""
        path = self._path(source, ns, id)
        try:
            return _read(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError, RecursionError, Refused):
            raise Refused(f"The draft in {path} cannot be read; look into the file, then move it away.") from None

    def discard(self, source: str, ns: str, id: Value) -> None:
        """Delete the draft of one document, if there is one."""
        self._path(source, ns, id).unlink(missing_ok=True)

    def _path(self, source: str, ns: str, id: Value) -> Path:
        # The type is part of the name: the ids 1 and 1.0 belong to two documents.
        key = "\0".join((source, ns, str(id.type))).encode("utf-8", "surrogateescape") + b"\0" + id.data
        return self._folder / f"{hashlib.sha256(key).hexdigest()[:32]}.json"


def _read(path: Path) -> Draft:
    row = json.loads(path.read_text(encoding="utf-8"))
    return Draft(
        source=row["source"],
        ns=row["ns"],
        id=text.value_from_text(row["id"]),
        base_v=None if row["base_v"] is None else text.value_from_text(row["base_v"]),
        base_content=text.from_text(row["base_content"]),
        content=text.from_text(row["content"]),
        kept_at=dt.datetime.fromisoformat(row["kept_at"]),
    )
