"""Unsaved edits, kept on disk so that they survive a refresh, a closed tab and a crash.

Each draft is a file in the data folder's ``drafts``: its document, the version that it is based on, and both contents
as exact Extended JSON. A newer draft replaces the file at once.
"""

from __future__ import annotations

import hashlib
import json
from functools import partial
from pathlib import Path

from model import text
from model.errors import Refused
from model.foundation import kept_files
from model.foundation.records import Draft
from model.userdata import folders as homes
from model.values.canonical import Value


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
        homes.keep(self._path(draft.source, draft.ns, draft.id), json.dumps(row, ensure_ascii=True))

    def all(self) -> list[Draft]:
        """Every draft, newest first. A damaged one is set aside; one that may not be read is told and left out."""
        found = []
        for path in self._folder.glob("*.json"):
            try:
                draft = kept_files.content(path, partial(self._read, path))
            except Refused as refusal:
                kept_files.notices.tell(str(refusal))
                continue
            if draft is not None:
                found.append(draft)
        return sorted(found, key=lambda draft: draft.kept_at, reverse=True)

    def get(self, source: str, ns: str, id: Value) -> Draft | None:
        """The draft of one document; None if there is none. Raises ``Refused`` if it may not be read."""
        path = self._path(source, ns, id)
        return kept_files.content(path, partial(self._read, path))

    def discard(self, source: str, ns: str, id: Value) -> None:
        """Delete the draft of one document, if there is one."""
        self._path(source, ns, id).unlink(missing_ok=True)

    def _path(self, source: str, ns: str, id: Value) -> Path:
        # The type is part of the name: the ids 1 and 1.0 belong to two documents.
        key = "\0".join((source, ns, str(id.type))).encode("utf-8", "surrogateescape") + b"\0" + id.data
        return self._folder / f"{hashlib.sha256(key).hexdigest()[:32]}.json"

    def _read(self, path: Path, written: str) -> Draft:
        """The draft in a file's text; raises one of ``model.foundation.kept_files.DAMAGE``."""
        row = json.loads(written)
        base_v = kept_files.text_in(row, "base_v", "")
        draft = Draft(
            source=kept_files.text_in(row, "source"),
            ns=kept_files.text_in(row, "ns"),
            id=text.value_from_text(kept_files.text_in(row, "id")),
            base_v=text.value_from_text(base_v) if base_v else None,
            base_content=text.from_text(kept_files.text_in(row, "base_content")),
            content=text.from_text(kept_files.text_in(row, "content")),
            kept_at=kept_files.moment(kept_files.text_in(row, "kept_at")),
        )
        if path != self._path(draft.source, draft.ns, draft.id):
            raise ValueError(path.name)
        return draft
