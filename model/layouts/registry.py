"""The classes of the layouts, with their facts for profiles and callers.

Recognition tries them in the order of :mod:`model.layouts.layout_names` and proposes the first that fits, so layouts
with clear signs come first.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.guarantee import WriteKind
from model.foundation.late_module import LateModule
from model.foundation.records import CollectionInfo, Counting, Destination
from model.layouts.layout_names import LAYOUT_NAMES, PATTERN_NAMES, WRITABLE_LAYOUTS
from model.server.retry import Port
from model.storage.numbering import promise

if TYPE_CHECKING:
    from model.layouts.base import Layout
    from model.recognition import patterns
    from model.writers import writers
else:  # a collection of which the layout is known needs that one alone
    patterns = LateModule("model.recognition.patterns")
    writers = LateModule("model.writers.writers")


class Layouts(Mapping[str, "type[Layout]"]):
    """Classes of layouts by name; each is imported when it is asked for."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def __getitem__(self, name: str) -> type[Layout]:
        if name not in self._names:
            raise KeyError(name)
        return _class_of(name)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


@cache
def _class_of(name: str) -> type[Layout]:
    found: type[Layout] = getattr(importlib.import_module(f"model.layouts.{name}"), name.capitalize())
    return found


LAYOUTS = Layouts(LAYOUT_NAMES)
WRITABLE = Layouts(WRITABLE_LAYOUTS)
"""The layouts whose documents can be edited, and to which collections can be migrated."""
NAMES = (*LAYOUT_NAMES, *PATTERN_NAMES)


def declared(name: str) -> type[Layout] | patterns.Pattern:
    """The class of a layout, or a pattern; raises ``Refused`` for any other name."""
    if name in LAYOUTS:
        return LAYOUTS[name]
    if name not in PATTERN_NAMES:
        raise Refused(f"There is no layout {name!r}; the layouts are {', '.join(NAMES)}.")
    return patterns.PATTERNS[name]


def stated(ns: str, layout: str, **fields: Any) -> CollectionProfile:
    """A profile with a layout's default names, some of them replaced; raises ``Refused`` for an unknown layout."""
    defaults: dict[str, Any] = {role: name.format(ns=ns) for role, name in declared(layout).defaults.items()}
    return replace(CollectionProfile(ns, layout), **(defaults | fields))


def writes_of(profile: CollectionProfile) -> frozenset[WriteKind]:
    """The kinds of writes that an edit of such a collection sends."""
    kind, made = declared(profile.layout), set[WriteKind]()
    if kind.own_documents or (has_archive(profile.layout) and not kind.fed):
        made.add("version")
    if not kind.own_documents or kind.flags_newest:
        made.add("change")
    if "hash" in fields_of(profile):
        made.add("hash")
    if profile.numbering == "time":
        made.add("dated")
    return frozenset(made)


def destinations() -> dict[str, Destination]:
    """The layouts to which a collection can be migrated, by name."""
    return {name: Destination(each.about, each.newest_alone) for name, each in WRITABLE.items()}


def fields_of(profile: CollectionProfile) -> dict[str, str]:
    """Role to field name, for the roles that this layout uses and the profile names."""
    roles = (*declared(profile.layout).roles, "at", "author", "reason")
    found = {role: name for role in roles if (name := str(getattr(profile, role)))}
    return found | ({"guard": profile.guard.field} if profile.lock_names and profile.guard is not None else {})


def info_of(
    profile: CollectionProfile,
    documents: int | None,
    confidence: float,
    why: str,
    alternatives: tuple[str, ...] = (),
) -> CollectionInfo:
    """The facts about a collection with this profile, for display."""
    kind, fields = declared(profile.layout), fields_of(profile)
    archive = profile.archive.partition(".")[2]
    where = (kind.where or kind.about).format_map({"hash": "a field", **fields, "archive": archive or profile.archive})
    numbers = ""
    if kind.numbered:
        numbers = promise(profile, kind.own_documents)
    hashing = "" if "hash" not in kind.roles else profile.hash_doubt or _recipe_said(profile)
    return CollectionInfo(
        profile.ns,
        profile.layout,
        fields,
        documents,
        confidence,
        why,
        None,
        alternatives,
        kind.about,
        where,
        numbers,
        writers.title(profile.writer) if profile.writer else "",
        bool(kind.read_only or (kind.own_documents and profile.key_in_id)) and profile.edit == "no",
        hashing,
        kind.unversioned,
        kind.about_others,
        kind.counts,
        signed_beside=kind.written_by_others or kind.about_others,
    )


def _recipe_said(profile: CollectionProfile) -> str:
    if profile.hash_recipe is None:
        return ""
    others = "" if not profile.hash_rivals else ", or by another recipe that gives the same for what is there"
    left = f", without {', '.join(profile.hash_exclude)}" if profile.hash_exclude else ""
    left = f", of which only {', '.join(profile.hash_include)}" if profile.hash_include else left
    return f"{profile.hash_recipe.said}{left}{others}."


def counts_of(name: str) -> Counting:
    """What a layout or pattern counts; "" for an unknown name."""
    return patterns.PATTERNS[name].counts if name in PATTERN_NAMES else ""


def pattern_of(counts: Counting) -> str:
    """The name of the pattern that counts this."""
    return next(each.name for each in patterns.PATTERNS.values() if each.counts == counts)


def versions_told(layout: str) -> bool:
    """Whether a layout distinguishes versions of its own documents."""
    kind = declared(layout)
    return not (kind.unversioned or kind.about_others or kind.counts)


def within(profile: CollectionProfile) -> str:
    """The sub-document with the current version; "" if the document itself is the current version."""
    role = declared(profile.layout).within
    return str(getattr(profile, role)) if role else ""


def has_archive(layout: str) -> bool:
    """Whether versions are in a second collection."""
    return "archive" in declared(layout).roles


def bind(server: Port, profile: CollectionProfile) -> Layout:
    """The layout object for a profile; patterns (sequence, pending, processed) are browsed as plain."""
    return LAYOUTS[profile.layout if profile.layout in LAYOUTS else "plain"](server, profile)
