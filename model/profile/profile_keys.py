"""The keys of a profile, a row each: its meaning, what people type for it, and the layouts that use it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from model.layouts.registry import declared
from model.patches import FORMS
from model.writers.writers import presets

KeyKind = Literal["field", "collection", "choice", "numbering", "span", "names", "value", "author"]
KeyPlace = Literal["collection", "archive", "current"]


class ProfileKey(Struct, frozen=True):
    """One key, as people see it."""

    name: str
    about: str
    """What it names, in a few words."""
    kind: KeyKind = "field"
    """What people type: a field's name, a collection's, a choice, a numbering, a span such as ``24h``, names, a TOML
    value, an author.
    """
    place: KeyPlace = "collection"
    """Where the names that it can take are found."""
    empty: str = ""
    """The meaning of an empty text, in a few words; "" if it must not be empty."""
    example: str = ""
    choices: tuple[str, ...] = ()


_ROWS = (
    ProfileKey("id", "the field with the id of the document"),
    ProfileKey(
        "writer", "the program that writes the history", "choice", empty="none of those", choices=("", *presets())
    ),
    ProfileKey("archive", "the collection with the earlier versions", "collection"),
    ProfileKey("archive_id", "the field with the document's id in the archive", place="archive"),
    ProfileKey("content", "where the state stands in a row", place="archive", empty="at its root"),
    ProfileKey("order", "what orders the rows", place="archive", empty="their _id"),
    ProfileKey("kept", "which versions have a row", "choice", choices=("all", "earlier")),
    ProfileKey("operation", "what a row did", "value", example='{ field = "o", insert = "i", remove = "r" }'),
    ProfileKey("where", "the rows of this collection", "value", example='{ collectionName = "items" }'),
    ProfileKey("elements", "the array of one document that holds the rows", place="archive", empty="rows of their own"),
    ProfileKey("parts", "the key of rows that each hold a part of a state", place="archive", empty="whole states"),
    ProfileKey("patch", "the form of the patches", "choice", choices=tuple(FORMS)),
    ProfileKey("changes", "where the patch stands in a row", place="archive", empty="the whole row"),
    ProfileKey("direction", "from where the patches lead", "choice", choices=("forward", "backward", "onward")),
    ProfileKey("notation", "how rows hold states and patches", "choice", empty="as documents", choices=("", "json")),
    ProfileKey("current_where", "the rows that can be current", "value", example="{ latest = true }"),
    ProfileKey("current", "the flag of the newest version, or the sub-document with the current state"),
    ProfileKey("prev", "the array of earlier states"),
    ProfileKey("version", "the field with the number or date of the version", place="current"),
    ProfileKey("token", "the field with the write token", place="current", empty="none: nothing is added"),
    ProfileKey("removed", "the field that lists the paths which a version removed", empty="none: nothing is removed"),
    ProfileKey(
        "after_gap",
        "what a version after missing numbers holds",
        "choice",
        empty="only its changes, so that it is not proven",
        choices=("", "whole"),
    ),
    ProfileKey(
        "deleted", "the marker of a version that ends a document", empty="none: nothing is deleted, only purged"
    ),
    ProfileKey("counter", "the field with the number"),
    ProfileKey("pending", "the list of tokens between step one and step two"),
    ProfileKey("applied", "the list of tokens that were counted"),
    ProfileKey("processed", "the list of entries that were counted"),
    ProfileKey("targets", "what each counter numbers", "value", example='{ invoices = "shop.invoices:number" }'),
    ProfileKey("at", "the field with the time of the version", place="current", empty="none"),
    ProfileKey("author", "the field with who made the version", place="current", empty="none"),
    ProfileKey("reason", "the field with why the version was made", place="current", empty="none"),
    ProfileKey(
        "author_is",
        "whose name a version made here bears",
        "author",
        example="name:Import",
        choices=("login", "asked", "name:"),
    ),
    ProfileKey("hash", "the field with the hash of the content", place="current", empty="none"),
    ProfileKey("hash_fields", "the fields that the hash is made of", "value", example='{ exclude = ["views"] }'),
    ProfileKey("hash_recipe", "how the hash is made", "value", example='{ algorithm = "sha256", over = "json" }'),
    ProfileKey("numbering", "where the number of the next version comes from", "numbering"),
    ProfileKey("ignored", "fields that are not content", "names", example="__v, updatedAt"),
    ProfileKey("edit", "what an edit may write", "choice", choices=("no", "current", "both")),
    ProfileKey("row", "the row that an edit writes", "value", example='{ t = "$now", o = "u", d = "$document" }'),
    ProfileKey("holder", "what an edit sets around the rows", "value", example='{ modified = "$now" }'),
    ProfileKey("renewed", "what an edit sets in the document", "value", example='{ updatedAt = "$now" }'),
    ProfileKey("guard", "another program's lock field", "value", example='{ field = "__v", how = "inc" }'),
    ProfileKey("grace", "how long a writer may still be at work", "span", example="24h"),
    ProfileKey(
        "watch",
        "conditions whose turns are told",
        "value",
        example='[{ name = "Overdue", filter = "{status: \'overdue\'}" }]',
    ),
    ProfileKey("keys", "fields that tell array elements without an _id apart", "names", example="sku, name"),
    ProfileKey("unordered", "arrays whose order does not count in comparisons", "names", example="tags, riders.codes"),
)
ROWS = {row.name: row for row in _ROWS}


_OF_OTHER_PROGRAMS = {"operation", "where", "order", "ignored", "writer", "edit", "row", "renewed", "hash_recipe"}
_IN_ROWS = ("version", "at", "author", "reason")  # where other programs write the history


def keys_of(layout: str) -> tuple[ProfileKey, ...]:
    """The keys that a layout or pattern uses, in the order in which people are asked for them."""
    kind = declared(layout)
    used = {*kind.roles, "keys", "unordered", "guard", *kind.further_keys}
    if not kind.counts:
        used |= _OF_OTHER_PROGRAMS if kind.written_by_others else set()
        used |= {"at", "author", "author_is", "reason"}
        used |= set() if kind.read_only else {"hash", "hash_fields", "hash_recipe"}
        used |= {"deleted"} if kind.own_documents and not kind.read_only else set()
        used |= {"watch"} if "version" in kind.roles else set()
        used |= {"numbering", "grace"} if kind.numbered and not kind.read_only else set()
    rows = [row for row in _ROWS if row.name in used]
    if kind.written_by_others:
        rows = [replace(row, place="archive") if row.name in _IN_ROWS else row for row in rows]
        rows = [replace(row, empty="none") if row.name == "version" else row for row in rows]
    return tuple(rows)
