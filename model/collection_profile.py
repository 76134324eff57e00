"""The profile of one collection: its layout, and the name of each of the layout's roles in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field

from model.hash_recipe import HashRecipe


@dataclass(frozen=True)
class CollectionProfile:
    """The layout of one collection, and the names of its fields."""

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
    hash_include: tuple[str, ...] = ()  # paths; () means all content
    hash_exclude: tuple[str, ...] = ()
    hash_recipe: HashRecipe | None = None  # None: not stated, so that the data have to prove one
    hash_rivals: tuple[HashRecipe, ...] = ()  # others that the data fit as well as the recipe
    hash_doubt: str = ""  # why no hash may be made, one sentence; "" where one may
    at: str = ""
    author: str = ""
    reason: str = ""  # the field that says why a version was made
    numbering: str = "next"
    grace: dt.timedelta = dt.timedelta(hours=24)
    counter: str = ""  # "seq" in a sequence, "count" in pending
    targets: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # counter -> (ns, field)
    pending: str = "pending"
    applied: str = "applied"
    processed: str = "processed"
    keys: tuple[str, ...] = ("_id",)  # elements of arrays are recognised by the first of these that they have
