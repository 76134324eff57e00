"""From a plain collection to a versioned one: its measures, a layout with reasons, and the code that writes it."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from statistics import median

from msgspec import Struct

from model.errors import Refused, Unreadable
from model.layouts.registry import declared
from model.operations.migration import Migration
from model.server.port import Port
from model.values import canonical as c
from model.values.canonical import Value

LANGUAGES: Mapping[str, str] = {
    "python": "versioned_documents.py",
    "node": "versioned_documents.mjs",
    "java": "VersionedDocuments.java",
}
"""The languages that code is made for, each with the name of its file."""
YEARS = 5
_LOOKED_AT = 250  # documents from each end of the collection
_CHANGED = re.compile(r"(?i)^_?(last_?)?(updated|modified|changed|edited|saved)(_?(at|on|date|time))?$")
_SMALL, _LARGE = (
    16 << 10,
    1 << 20,
)
"""Bytes of a history that may be read with its document, and those that one document should never reach."""
_LEAST_YEARS = 1 / 365
_USUAL_VERSIONS = 50  # where nothing tells how often documents change
_VERSIONS = ("v", "version", "docVersion", "_v")
_TOKENS = ("_w", "writeToken", "_token")
_SECTION = re.compile(r"^@@(.*)\n", re.MULTILINE)


class CollectionMeasures(Struct, frozen=True):
    """What a collection is like, of the documents at both ends of it."""

    documents: int | None  # None: not counted within the time limit
    looked_at: int
    mean: int  # bytes of a document
    largest: int
    changed_field: str  # the date of the last change; "" if there is none
    changes: float | None  # of a document in a year; None if no date tells
    names: frozenset[str]  # of all top-level fields seen


class Adoption(Struct, frozen=True):
    """A proposal for one collection."""

    ns: str
    measured: CollectionMeasures
    layout: str
    reasons: tuple[str, ...]
    target: str  # the collection that takes the versions
    archive: str  # "" where the layout has none
    version: str
    token: str
    profile: str  # TOML
    index: str  # as the shell writes it; "" if the layout needs none

    def code(self, language: str) -> str:
        """The program that reads and saves documents, in one of :data:`LANGUAGES`."""
        database, _, collection = self.target.partition(".")
        names = {
            "NS": self.ns,
            "LAYOUT": self.layout,
            "DATABASE": json.dumps(database),
            "COLLECTION": json.dumps(collection),
            "ARCHIVE": json.dumps(self.archive.partition(".")[2]),
            "VERSION": json.dumps(self.version),
            "TOKEN": json.dumps(self.token),
        }
        first, *parts = _SECTION.split(_template(language))
        layouts, texts = parts[::2], parts[1::2]
        kept = [text for layout, text in zip(layouts, texts, strict=True) if layout.strip() in ("", self.layout)]
        return re.sub(r"\{\{(\w+)\}\}", lambda found: names[found[1]], first + "".join(kept))


def measured(port: Port, ns: str) -> CollectionMeasures:
    """Look at the documents of both ends of a collection; raises ``Refused``."""
    rows: dict[bytes, bytes] = {}
    for way in (1, -1):
        for raw in port.find(ns, sort={"_id": way}, limit=_LOOKED_AT):
            key = c.get(raw, ("_id",))
            rows[key.data if key is not None else raw] = raw
    if not rows:
        raise Refused(f"{ns} has no documents, so nothing tells which layout suits it.")
    documents = [dict(pairs) for raw in rows.values() if (pairs := _fields(raw))]
    sizes = [len(raw) for raw in rows.values()]
    name, changes = _rate(documents)
    names = frozenset(each for document in documents for each in document)
    mean = sum(sizes) // len(sizes)
    return CollectionMeasures(port.count(ns), len(rows), mean, max(sizes), name, changes, names)


def proposed(found: CollectionMeasures, past: str, to: str = "") -> tuple[str, tuple[str, ...]]:
    """A layout, and why: ``past`` is "often" where earlier versions are read as often as the current one."""
    versions = _USUAL_VERSIONS if found.changes is None else max(2, round(found.changes * YEARS))
    history = found.mean * versions
    told = (
        "No date tells how often a document changes; "
        if found.changes is None
        else f"By {found.changed_field} a document changes about {found.changes:.1f} times a year; "
    )
    reasons = [f"{told}{versions:,} versions in {YEARS} years come to {history:,} bytes of a document."]
    if to:
        return to, (*reasons, "The layout was named.")
    if history <= _SMALL and found.largest * versions <= _LARGE:
        reasons.append("That is little enough to stand in the document: one write saves both, and one read has all.")
        return "embedded", tuple(reasons)
    if past == "often":
        reasons.append("Earlier versions are read as often as the current one, so each is a document of its own.")
        return "versions", tuple(reasons)
    reasons.append("The current document is read as quickly as now; earlier versions stand in a second collection.")
    return "archive", tuple(reasons)


def adoption(ns: str, found: CollectionMeasures, chosen: tuple[str, tuple[str, ...]], moving: Migration) -> Adoption:
    """The proposal, with the names that :func:`free_names` gave to the migration."""
    layout, reasons = chosen
    to = moving.target.profile
    keys = f"{{ docId: 1, {to.version}: 1 }}"
    place = to.ns if declared(layout).own_documents else to.archive
    index = f"db.getCollection({json.dumps(place.partition('.')[2])}).createIndex({keys}, {{ unique: true }})"
    return Adoption(
        ns=ns,
        measured=found,
        layout=layout,
        reasons=reasons,
        target=to.ns,
        archive=to.archive,
        version=to.version,
        token=to.token,
        profile=moving.toml,
        index=index if place else "",
    )


def free_names(found: CollectionMeasures) -> dict[str, str]:
    """Names for the version and the token that no document uses."""
    taken = found.names
    roles = {"version": _VERSIONS, "token": _TOKENS}
    chosen = {role: next((each for each in names if each not in taken), "") for role, names in roles.items()}
    if "" in chosen.values() or "docId" in taken:
        raise Refused("The documents use every name that a version could have; name fields with `palimpsest migrate`.")
    return chosen


@cache
def _template(language: str) -> str:
    return files("resources").joinpath("adopting", f"{language}.txt").read_text("utf-8")


def _fields(raw: bytes) -> list[tuple[str, Value]]:
    try:
        return c.fields(raw)
    except Unreadable:
        return []


def _rate(documents: Sequence[Mapping[str, Value]]) -> tuple[str, float | None]:
    """The date of the last change, and by how long ago that is, how often a document changes in a year."""
    now = dt.datetime.now(dt.UTC)
    for name in dict.fromkeys(each for document in documents for each in document if _CHANGED.match(each)):
        times = [at for document in documents if (at := _moment(document.get(name))) is not None]
        if len(times) * 2 > len(documents):
            years = median((now - at).total_seconds() for at in times) / (365 * 86_400)
            return name, 1 / (2 * max(years, _LEAST_YEARS))
    return "", None


def _moment(value: Value | None) -> dt.datetime | None:
    found = value.python() if value is not None and value.type == c.DATE else None
    return found.replace(tzinfo=dt.UTC) if isinstance(found, dt.datetime) else None
