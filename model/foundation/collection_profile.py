"""The profile of one collection: its layout, and the name of each of the layout's roles in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from model.foundation.hash_recipe import HashRecipe


class Operation(Struct, frozen=True):
    """The field of a row that says what was done to the document, and the words that it uses for that."""

    field: str
    insert: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


class Watch(Struct, frozen=True):
    """A condition that a team watches: a name, and a filter as typed, judged on the content of each version."""

    name: str
    filter: str


_EVE = {"_etag": ("_updated", "_version")}
"""What a program keeps beside its lock field, where only that program makes it."""


class LockField(Struct, frozen=True):
    """A field by which another program sees whether a document is still what it has read."""

    field: str
    how: str = ""
    """How each write moves it: "inc", "uuid", "closed" where only its own program can, "none" where it is an ordinary
    field after all, "" where nobody has stated it yet."""

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that are no content for its sake."""
        if self.how == "closed":
            return (self.field, *_EVE.get(self.field, ()))
        return (self.field,) if self.how in ("inc", "uuid") else ()


class CollectionProfile(Struct, frozen=True):
    """The layout of one collection, and the names of its fields."""

    ns: str
    layout: str = "plain"
    archive: str = ""  # ns of the earlier versions; archive and stream
    archive_id: str = "docId"
    id: str = "_id"
    id_parts: tuple[str, ...] = ()  # the paths that an id of several fields is made of; ``id`` is then their name
    version: str = "v"
    token: str = "_w"  # "" where the collection must gain no field
    current: str = "current"
    prev: str = "prev"
    removed: str = ""  # deltas: the field that lists the paths which a version removed
    deleted: str = "_deleted"  # versions, flagged, deltas: the marker of a version that ends a document; "": none
    hash: str = "_versioned_id"
    hash_include: tuple[str, ...] = ()  # paths; () means all content
    hash_exclude: tuple[str, ...] = ()
    hash_recipe: HashRecipe | None = None  # None: not stated, so that the data have to prove one
    hash_rivals: tuple[HashRecipe, ...] = ()  # others that the data fit as well as the recipe
    hash_doubt: str = ""  # why no hash may be made, one sentence; "" where one may
    seals_author: bool = False  # whether the hash covers author and reason, which are content then
    at: str = ""
    author: str = ""
    reason: str = ""  # the field that says why a version was made
    author_is: str = "login"  # whose name a version made from here bears: "login", "asked", or "name:" and a name
    numbering: str = "next"
    grace: dt.timedelta = dt.timedelta(hours=24)
    counter: str = ""  # "seq" in a sequence, "count" in pending
    targets: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # counter -> (ns, field)
    pending: str = "pending"
    applied: str = "applied"
    processed: str = "processed"
    guard: LockField | None = None  # the lock field of another program
    keys: tuple[str, ...] = ("_id",)  # elements of arrays are recognised by the first of these that they have
    watches: tuple[Watch, ...] = ()
    # Rows that another program writes; shadow, patches and log. All names of fields in them are paths.
    writer: str = ""  # the preset of resources/writers that the rest is from
    content: str = ""  # where the state stands in a row; "" at its root
    order: str = ""  # what orders the rows; "" their _id
    kept: str = "all"  # or "earlier"
    operation: Operation | None = None
    where: Mapping[str, str] = field(default_factory=dict)  # the rows of this collection among those of several
    elements: str = ""  # the array of one document that holds the rows
    parts: str = ""  # the key of the rows of which each holds one part of a state
    patch: str = ""  # a form of model.patches; "" where rows hold states
    changes: str = "patch"  # where the patch stands in a row; "" the whole row
    direction: str = "forward"  # or "backward": from the current document
    current_where: Mapping[str, str] = field(default_factory=dict)  # the rows that can be current; all where empty
    ignored: tuple[str, ...] = ()  # names at the top of documents and states that are no content
    edit: str = "no"  # "current": the document alone; "both": its row too
    row: Mapping[str, Any] = field(default_factory=dict)  # the template of a row that an edit writes
    holder: Mapping[str, Any] = field(default_factory=dict)  # and of what stands around the rows of ``elements``
    renewed: Mapping[str, Any] = field(default_factory=dict)  # fields of the document that each write sets anew

    @property
    def asks_author(self) -> bool:
        """Whether a person is asked once for the name that versions made from here bear."""
        return bool(self.author) and self.author_is == "asked"

    def author_for(self, login: str | None, named: str | None) -> str | None:
        """The author of a version made from here, by the user's login and the name that a person gave."""
        if self.author_is.startswith("name:"):
            return self.author_is.removeprefix("name:")
        return named if self.author_is == "asked" else login

    @property
    def counted_lock(self) -> str:
        """The lock field that goes up by one with each write; "" where there is none."""
        return self.guard.field if self.guard is not None and self.guard.how == "inc" else ""

    @property
    def lock_names(self) -> tuple[str, ...]:
        """The fields that another program keeps for itself, and that are no content."""
        return self.guard.names if self.guard is not None else ()
