"""Layouts that a person states: what the data say about them, how they would be read, and the file to keep them in.

Nothing here writes to the server. A statement is used at once and until the session ends; a profile file keeps it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path as FilePath
from typing import Any

from msgspec import Struct, field

from model import profile as profiles
from model.catalogue import recognise
from model.catalogue.catalogue import Catalogue
from model.catalogue.contradictions import contradictions
from model.diff import diff
from model.errors import Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Checkpoint, CollectionInfo, Outline, Version, no_checkpoint
from model.foundation.toml_text import from_line, to_line
from model.history.comparison import Comparison
from model.layouts import registry
from model.layouts.base import Layout
from model.profile import Profile
from model.profile.profile_file import ProfileEdit, block, stated_in
from model.profile.profile_keys import ProfileKey
from model.recognition.sampling import take
from model.server.retry import Port
from model.storage.composite_ids import reading, stored
from model.storage.newest_query import PageQuery
from model.storage.numbering_ways import WAYS
from model.values import canonical
from model.values.canonical import Value
from model.writers.writers import preset

__all__ = ["LayoutStatements", "ProfileEdit", "ProfileKey", "Statement", "Trial", "TriedDocument"]

TRIED = 3
"""The documents on which a statement is tried."""
LOOKED_AT = 24
"""The documents from which these are chosen by the length of their histories."""
DEEPEST = 3
"""The most names in a path proposed for a field."""


class Statement(Struct, frozen=True):
    """How a collection is read before a person states its layout."""

    info: CollectionInfo
    texts: Mapping[str, str]
    """The texts of its profile table by key, including the layout's defaults, as people type them."""
    stated: bool
    """Whether a person has already stated it, in a profile or by hand."""
    names: tuple[str, ...]
    """The fields found in it, most common first."""
    collections: tuple[str, ...]
    """The other collections of its database."""


class TriedDocument(Struct, frozen=True):
    """One document, read as stated."""

    id: Value
    outline: Outline | None
    versions: int = 0
    missing: int = 0
    first: Comparison | None = None
    """The difference from the oldest existing version to the next."""
    last: Comparison | None = None
    """The difference to the newest version; None if that is :attr:`first`."""
    trouble: str = ""
    """Why it could not be read, one sentence."""


class Trial(Struct, frozen=True):
    """How a collection would be read."""

    info: CollectionInfo
    documents: tuple[TriedDocument, ...]
    against: tuple[str, ...]
    """How its data contradict, one sentence each."""
    toml: str
    """The statement as text for a profile file."""


def check_profile(file: FilePath) -> None:
    """Raise ``Refused`` if a file is no profile, with the collection and the key that are wrong."""
    Profile.load(file)


class LayoutStatements(Struct, frozen=True):
    """The statements on the collections of one session. Safe to call from several threads."""

    catalogue: Catalogue
    port: Port
    _found: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)

    @property
    def numberings(self) -> Mapping[str, str]:
        """The ways of numbering, each with what it guarantees."""
        return WAYS

    @property
    def layouts(self) -> dict[str, str]:
        """The layouts and patterns that can be stated, each in a few words."""
        return {name: registry.declared(name).about for name in registry.NAMES}

    def keys(self, layout: str) -> tuple[ProfileKey, ...]:
        """The keys that can be stated for a layout."""
        return profiles.keys(layout)

    def begin(self, ns: str) -> Statement:
        """How a collection is read now; for an archive, how the collection it belongs to is read."""
        info, _ = self.catalogue.known(ns)
        if info.belongs_to is not None:
            info, _ = self.catalogue.known(info.belongs_to)
        db, _, name = info.ns.partition(".")
        others = tuple(
            f"{db}.{each}"
            for each, kind, _ in self.port.collections(db)
            if each != name and kind == "collection" and not each.startswith("system.")
        )
        _, found = self.catalogue.known(info.ns)
        stated = self.catalogue.is_stated(info.ns) or self.catalogue.is_picked(info.ns)
        return Statement(info, self._texts(found), stated, self.names(info.ns), others)

    def filled(self, ns: str, layout: str) -> tuple[Mapping[str, str], str]:
        """The texts for another layout, with recognised fields filled in, and why some are missing ("" if none is)."""
        info, now = self.catalogue.known(ns)
        if info.layout == layout:
            return self._texts(now), ""
        try:
            return self._texts(recognise.profile_for(self.port, info, layout)), ""
        except Refused as refusal:
            why = str(refusal).removesuffix(" State its fields in a profile.")
            return self.defaults(ns, layout), f"{why} The layout's usual names are filled in."

    def of_writer(self, ns: str, writer: str) -> tuple[str, Mapping[str, str]]:
        """The layout of a known program's histories, and the texts of its keys for a collection."""
        try:
            profile = profiles.state(ns, {"writer": writer})
        except Refused:  # one collection holds the rows of several: select those of this one
            where = next(iter(preset(writer).keys.get("where", {"collection": ""})))
            profile = profiles.state(ns, {"writer": writer, "where": {where: ns.partition(".")[2]}})
        return profile.layout, self._texts(profile)

    def offered(self, ns: str, step: Checkpoint = no_checkpoint) -> tuple[str, Mapping[str, str], str] | None:
        """A layout that replays what can be checked, the texts of its keys, and what was checked; None if none does."""
        found = next(self.catalogue.offers([ns], step), None)
        return None if found is None else (found.profile.layout, self._texts(found.profile), found.said)

    def defaults(self, ns: str, layout: str) -> Mapping[str, str]:
        """The texts of a layout's defaults; empty for keys that a profile may omit."""
        return self._texts(profiles.stated(ns, layout))

    def _texts(self, profile: CollectionProfile) -> dict[str, str]:
        said, used = profiles.whole(profile), self.keys(profile.layout)
        return {"layout": profile.layout, **{key.name: _text(key, said.get(key.name)) for key in used}}

    def entry(self, texts: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, str]]:
        """The table that the texts mean, and what is wrong with some of them, in a few words by key.

        An empty text omits a key, or means "" if the key allows that.
        """
        entry: dict[str, Any] = {"layout": texts["layout"]}
        troubles = {}
        for key in self.keys(texts["layout"]):
            text = texts.get(key.name, "").strip()
            if not text and not key.empty:
                continue
            try:
                value = _value(key, text)
                trouble = profiles.trouble_with(key.name, value, texts["layout"])
            except ValueError as error:
                trouble = str(error)
            if trouble:
                troubles[key.name] = trouble
            else:
                entry[key.name] = value
        return entry, troubles

    def names(self, ns: str, inside: str = "") -> tuple[str, ...]:
        """The fields found in a collection's documents, or in a sub-document, most common first.

        Top-level fields come before paths into sub-documents. A missing collection has none.
        """
        if (ns, inside) not in self._found:
            counts: dict[str, int] = {}
            for document in take(self.port, ns).documents:
                raw = stored(self.port, ns, document.raw)
                at = canonical.get(raw, (inside,)) if inside else Value.document(raw)
                if at is not None and at.type == canonical.OBJECT:
                    for path in _paths(at.data, DEEPEST):
                        counts[path] = counts.get(path, 0) + 1
            in_order = sorted(counts, key=lambda path: (path.count("."), -counts[path]))
            self._found[ns, inside] = tuple(in_order)
        return self._found[ns, inside]

    def tried(
        self, ns: str, entry: Mapping[str, Any], told: Iterable[str] = (), checkpoint: Checkpoint = no_checkpoint
    ) -> Trial:
        """Read three documents as the table states; raises ``Refused`` if it states something impossible."""
        profile = profiles.state(ns, entry)
        port = reading(self.port, profile)
        info, profile = recognise.as_stated(port, profile)
        layout = recognise.bind(port, profile)
        against = list(contradictions(port, profile))
        try:
            documents = tuple(self._tried(layout, id, outline, checkpoint) for id, outline in self._chosen(layout))
        except Refused as refusal:
            documents, against = (), [*against, str(refusal)]
        return Trial(info, documents, tuple(dict.fromkeys(against)), block(profile, told))

    def _chosen(self, layout: Layout) -> list[tuple[Value, Outline | None]]:
        """The documents with the longest histories among the first ones, in list order."""
        ids = list(dict.fromkeys(row.id for row in layout.page(PageQuery(limit=LOOKED_AT)) if row.readable))
        try:
            outlines: Sequence[Outline | None] = list(layout.outline(ids))
        except Refused:
            outlines = [None] * len(ids)
        pairs = list(zip(ids, outlines, strict=True))
        longest = sorted(pairs, key=lambda pair: -(len(pair[1].marks) if pair[1] else 0))[:TRIED]
        return [pair for pair in pairs if pair in longest]

    def _tried(self, layout: Layout, id: Value, outline: Outline | None, step: Checkpoint) -> TriedDocument:
        try:
            versions = []
            for done, version in enumerate(layout.history(id), 1):
                step(done, None)
                versions.append(version)
            there = [version for version in versions if version.state != "missing"]
            missing = len(versions) - len(there)
            first = self._compared(layout, id, there[-1], there[-2]) if len(there) > 1 else None
            last = self._compared(layout, id, there[1], there[0]) if len(there) > 2 else None
        except Refused as refusal:
            return TriedDocument(id, outline, trouble=str(refusal))
        return TriedDocument(id, outline, len(versions), missing, first, last)

    def _compared(self, layout: Layout, id: Value, older: Version, newer: Version) -> Comparison:
        a, b = layout.version(id, older.v), layout.version(id, None if newer.current else newer.v)
        if a.content is None or b.content is None:
            raise Unreadable(next(each.detail or each.state for each in (a, b) if each.content is None))
        return Comparison(a, b, diff(a.content, b.content, layout.profile.keys))

    def use(self, ns: str, entry: Mapping[str, Any]) -> CollectionInfo:
        """Read the collection as stated from now on; raises ``Refused``."""
        return self.catalogue.state(profiles.state(ns, entry))

    def forget(self, ns: str) -> CollectionInfo:
        """Leave the collection to recognition from now on; a profile file does not change."""
        return self.catalogue.forget(ns)

    def in_file(self, path: FilePath, ns: str, entry: Mapping[str, Any], told: Iterable[str] = ()) -> ProfileEdit:
        """The profile file with this statement added, not yet written; raises ``Refused``."""
        return stated_in(path, profiles.state(ns, entry), told)

    def keep(self, edit: ProfileEdit, ns: str) -> bool:
        """Write a profile that states ``ns``; returns whether it is the profile in use now.

        It is if none was in use, or this one. If another is in use, only the collection is read by the new one.
        Raises ``Refused``.
        """
        edit.write()
        written = Profile.load(edit.path)
        if self.catalogue.profile_file in (None, edit.path):
            self.catalogue.adopt(written, ns)
            return True
        stated = written.get(ns)
        if stated is not None:
            self.catalogue.state(stated)
        return False


def _text(key: ProfileKey, value: Any) -> str:
    if value is None:
        return ""
    if key.kind == "names" or (isinstance(value, list) and key.kind != "value"):
        return ", ".join(value)
    return to_line(value) if key.kind == "value" and value else str(value or "")


def _value(key: ProfileKey, text: str) -> Any:
    if key.kind == "names" or (key.name == "id" and "," in text):
        return [name.strip() for name in text.split(",") if name.strip()]
    return from_line(text) if key.kind == "value" else text


def _paths(raw: bytes, deepest: int, above: str = "") -> Iterable[str]:
    try:
        fields = canonical.fields(raw)
    except Unreadable:
        return
    for name, value in fields:
        if not name or "." in name or name.startswith("$"):
            continue
        yield f"{above}{name}"
        if value.type == canonical.OBJECT and deepest > 1:
            yield from _paths(value.data, deepest - 1, f"{above}{name}.")
