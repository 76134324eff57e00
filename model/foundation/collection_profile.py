"""The profile of one collection: its layout, and the field names for the layout's roles."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from model.foundation.hash_recipe import HashRecipe


class Operation(Struct, frozen=True):
    """The field of a row that names the operation on the document, and the words used in it."""

    field: str
    insert: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Watch(Struct, frozen=True):
    """A condition that a team watches: a name and a filter as typed, tested on the content of each version."""

    name: str
    filter: str


_EVE = {"_etag": ("_updated", "_version")}
"""Fields that a program maintains beside its lock field, for lock fields that only this program can write."""


MOVED = ("inc", "uuid", "time")
"""The ways in which an edit from here moves the lock field of another program."""


class LockField(Struct, frozen=True):
    """A field by which another program detects whether a document has changed since it was read."""

    field: str
    how: str = ""
    """How each write moves it: "inc", "uuid", "time", "closed" if only its own program can, "none" if it is an
    ordinary field after all, "" if nobody has said so yet."""

    second: str = ""  # another field that looks like a lock, so that nobody can tell which one is
    in_array: bool = False  # it stands in the elements of an array, where no edit from here moves it

    @property
    def can_be_asked(self) -> bool:
        """Whether a person has only to say how it moves."""
        return not (self.how or self.second or self.in_array)

    @property
    def is_inside(self) -> bool:
        """Whether it stands in a sub-document, whose other fields are content."""
        return "." in self.field

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that are not content because of this lock."""
        if self.how == "closed":
            return (self.field, *_EVE.get(self.field, ()))
        return (self.field,) if self.how in MOVED and not self.is_inside else ()


class CollectionProfile(Struct, frozen=True):
    """The layout of one collection, and the names of its fields."""

    ns: str
    layout: str = "plain"
    archive: str = ""  # ns of the earlier versions; archive and stream
    archive_id: str = "docId"
    id: str = "_id"
    id_parts: tuple[str, ...] = ()  # the paths of an id of several fields; ``id`` is then their combined name
    version: str = "v"
    token: str = ""  # a write token, where the collection has one already or a profile states one
    token_doubt: str = ""  # why nobody can tell whether there is a write token, one sentence; "" if that is plain
    token_unsaid: bool = False  # a profile leaves it open, so that documents which carry one keep it
    current: str = "current"
    prev: str = "prev"
    removed: str = ""  # deltas: the field that lists the paths that a version removed
    after_gap: str = ""  # deltas: "whole" if the version after missing numbers holds its whole state
    deleted: str = "_deleted"  # versions, flagged, deltas: the marker of a version that deletes its document; "": none
    hash: str = "_versioned_id"
    hash_include: tuple[str, ...] = ()  # paths; () means all content
    hash_exclude: tuple[str, ...] = ()
    hash_recipe: HashRecipe | None = None  # None: not stated, the data have to prove one
    hash_rivals: tuple[HashRecipe, ...] = ()  # other recipes that fit the data equally well
    hash_doubt: str = ""  # why no hash may be made, one sentence; "" if one may
    seals_author: bool = False  # whether the hash covers author and reason, which then belong to the content
    at: str = ""
    author: str = ""
    reason: str = ""  # the field that says why a version was made
    author_is: str = "login"  # the author of versions written from here: "login", "asked", or "name:" and a name
    numbering: str = "next"
    grace: dt.timedelta = dt.timedelta(hours=24)
    counter: str = ""  # "seq" in a sequence, "count" in pending
    targets: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # counter -> (ns, field)
    pending: str = "pending"
    applied: str = "applied"
    processed: str = "processed"
    guard: LockField | None = None  # the lock field of another program
    keys: tuple[str, ...] = ("_id",)  # an element of an array is identified by the first of these fields that it has
    unordered: tuple[str, ...] = ()  # paths of arrays whose order does not count in comparisons
    watches: tuple[Watch, ...] = ()
    # Rows that another program writes, for shadow, patches and log. Each field name here is a path.
    writer: str = ""  # the preset in resources/writers that the settings below come from
    content: str = ""  # the path of the state in a row; "": the whole row
    order: str = ""  # the field that orders the rows; "": _id
    kept: str = "all"  # or "earlier"
    operation: Operation | None = None
    where: Mapping[str, str] = field(default_factory=dict)  # selects the rows of this collection
    elements: str = ""  # the array of one document that holds the rows
    parts: str = ""  # the key shared by rows that each hold one part of a state
    notation: str = ""  # "json" if rows hold states or patches as JSON text
    patch: str = ""  # a form of model.patches; "" if rows hold states
    changes: str = "patch"  # the path of the patch in a row; "": the whole row
    direction: str = "forward"  # or "backward" from the current document, or "onward" from it as the first state
    current_where: Mapping[str, str] = field(default_factory=dict)  # selects the rows that can be current; empty: all
    ignored: tuple[str, ...] = ()  # top-level names of documents and states that are not content
    edit: str = "no"  # "current": only the document; "both": also its row
    row: Mapping[str, Any] = field(default_factory=dict)  # the template of a row that an edit writes
    holder: Mapping[str, Any] = field(default_factory=dict)  # the template of the document around ``elements``
    renewed: Mapping[str, Any] = field(default_factory=dict)  # fields of the document that every write sets anew

    @property
    def key_in_id(self) -> tuple[str, ...]:
        """The paths of id and version that stand inside of the documents' own ``_id``."""
        if self.archive:  # they stand in its rows
            return ()
        return tuple(path for path in (self.id, self.version) if path.startswith("_id."))

    @property
    def is_in_other_types(self) -> bool:
        """Whether rows hold values in other types than the documents, so that only their meaning can be compared."""
        return bool(self.parts or self.notation)

    @property
    def asks_author(self) -> bool:
        """Whether the user is asked once for an author name, used for all versions written from here."""
        return bool(self.author) and self.author_is == "asked"

    def author_for(self, login: str | None, named: str | None) -> str | None:
        """The author of a version written from here, given the user's login and the name that the user entered."""
        if self.author_is.startswith("name:"):
            return self.author_is.removeprefix("name:")
        return named if self.author_is == "asked" else login

    @property
    def counted_lock(self) -> str:
        """The lock field that increases by one with each write; "" if there is none."""
        return self.guard.field if self.guard is not None and self.guard.how == "inc" else ""

    @property
    def lock_names(self) -> tuple[str, ...]:
        """The fields of another program's lock, which are not content."""
        return self.guard.names if self.guard is not None else ()
