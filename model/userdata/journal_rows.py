"""Whether a row of the journal's file is as the program wrote it: the file is the person's, and may be damaged."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from typing import get_args

from model import text
from model.foundation import kept_files
from model.foundation.records import Kind
from model.values.canonical import Value

_TEXTS = ("host", "source", "lifetime", "ns", "layout", "action", "detail")
_TEXTS_OR_NONE = ("token", "hash_before", "hash_after")
_NUMBERS_OR_NONE = ("undoes", "undone_by")
_VALUES = ("document", "version_before", "version_after")
_KINDS = frozenset(get_args(Kind)) | {"begun"}
_OF_A_REPAIR = ("run", "item", "repair", "physical", "label")  # what ``extra`` has if it has a "target"


def check(row: sqlite3.Row, extra: Mapping[str, str]) -> None:
    """Raise one of ``model.foundation.kept_files.DAMAGE`` if a row cannot be used; ``extra`` is its own column."""
    wrong = [name for name in _TEXTS if not isinstance(row[name], str)]
    wrong += [name for name in _TEXTS_OR_NONE if not isinstance(row[name], str | None)]
    wrong += [name for name in _NUMBERS_OR_NONE if not isinstance(row[name], int | None)]
    if wrong or not isinstance(row["pid"], int) or row["kind"] not in _KINDS:
        raise TypeError(wrong)
    kept_files.moment(row["at"])
    for name in _VALUES:
        valued(row[name])
    if "target" in extra:
        if not all(name in extra for name in _OF_A_REPAIR):
            raise LookupError("extra")
        int(extra["item"])
        text.value_from_text(extra["physical"])
        for _, id, _ in json.loads(extra.get("beside") or "[]"):
            text.value_from_text(id)


def written(kept: str | bytes | None) -> str | None:
    """Text that may contain half a character, for which it is stored as bytes."""
    return kept.decode("utf-8", "surrogatepass") if isinstance(kept, bytes) else kept


def valued(kept: str | bytes | None) -> Value | None:
    """A value that is stored as Extended JSON."""
    said = written(kept)
    return None if not said else text.value_from_text(said)
