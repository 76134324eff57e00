"""A team's statement of its layouts: a TOML file beside its own code, in place of recognition."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath

HISTORIES = ("versions", "flagged", "embedded", "archive", "deltas", "stream", "hashed", "plain")
PATTERNS = ("sequence", "processed", "pending")
OWN_DOCUMENTS = ("versions", "flagged", "deltas")
"""The layouts in which every version is a document of its own."""


@dataclass(frozen=True)
class CollectionProfile:
    """How one collection keeps its versions: the layout and the names of its fields."""

    ns: str
    layout: str = "plain"
    archive: str = ""  # ns of the earlier versions; archive and stream
    archive_id: str = "docId"
    id: str = "_id"
    version: str = "v"
    token: str = "_w"  # "" where the collection must gain no field
    current: str = "current"
    prev: str = "prev"
    removed: str = ""  # deltas: the field that lists the paths which a version removed
    hash: str = "_versioned_id"
    hash_include: tuple[str, ...] = ()  # () means all content
    hash_exclude: tuple[str, ...] = ()
    at: str = ""
    author: str = ""
    numbering: str = "next"
    grace: dt.timedelta = dt.timedelta(hours=24)
    counter: str = ""  # "seq" in a sequence, "count" in pending
    targets: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # counter -> (ns, field)
    pending: str = "pending"
    applied: str = "applied"
    processed: str = "processed"

    @property
    def fields(self) -> dict[str, str]:
        """Role to field name, only those that this layout uses."""
        raise NotImplementedError


@dataclass(frozen=True)
class Profile:
    """The collections that a file states."""

    collections: tuple[CollectionProfile, ...] = ()

    @classmethod
    def load(cls, path: str | FilePath) -> Profile:
        """Read a TOML file; raises ``Refused`` naming the file, the collection and the key that is wrong."""
        raise NotImplementedError

    def get(self, ns: str) -> CollectionProfile | None:
        """What the file states for a collection."""
        raise NotImplementedError


def stated(ns: str, layout: str, **fields: str) -> CollectionProfile:
    """A profile with a layout's default names, some of them replaced; raises ``Refused`` for an unknown layout."""
    raise NotImplementedError
