"""Imports a history from files into a collection: every version with its number, time, author and reason.

Each document's versions are written as its layout stores them, by guarded writes that the journal groups into one
run, which can be undone. Existing versions with equal contents stay. Existing versions with other contents are a
conflict, and nothing of that document is written.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from model import text
from model.errors import NotAllowed, NotFound, Refused
from model.exchange.history_files import HistoryFiles, by_document, history_files
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Finding
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE, bind, stated
from model.operations.batches import NAMED, Run
from model.operations.history_rows import HistoryRows, LeftRows, Taken
from model.operations.migration import target_profile
from model.profile import Profile
from model.repair.items import Item
from model.repair.plan import Plan
from model.repair.running import Running, new_run
from model.repair.steps import RepairContext, Step, seen
from model.repair.undoing import UPTO
from model.storage.newest_query import PageQuery
from model.storage.numbering import following
from model.storage.reserved_fields import same_version
from model.text.names import id_name, version_name
from model.values.canonical import Value
from model.writing.writer import Writer

ACTION = "import"
LOOK = 20  # documents examined to see whether an earlier import made them
_UNKEPT = {
    "at": "No field is stated for times (at), which are kept to the second",
    "author": "No field is stated for authors (author), and none of them is kept",
    "reason": "No field is stated for reasons (reason), and none of them is kept",
}
_LONG_AGO = dt.datetime(1, 1, 1, tzinfo=dt.UTC)
USUAL = "versions"
"""The layout in a new collection for a history that came from a read-only layout."""


class ArrivingDocument(Struct, frozen=True):
    """One document of an import, before it is written.

    ``kind`` is applied if ``steps`` would write it; otherwise ``detail`` says why nothing is written.
    """

    id: Value
    versions: int
    kind: str  # applied, skipped, conflict, refused
    detail: str
    steps: tuple[Step, ...] = ()


class ImportPlan(Struct, frozen=True):
    """The plan of an import: how many documents and versions it would write, with examples."""

    documents: int
    would: int
    versions: int  # versions to be written
    there: int  # documents with nothing to write
    first: tuple[ArrivingDocument, ...]  # those that need a person come first
    losses: tuple[str, ...]  # what the collection cannot store, sentences


class HistoryImport(Struct, dict=True):
    """The import of one history into one collection, created by ``session.exchange``."""

    writer: Writer
    allowed: Callable[[str], None]  # raises if a collection may not be written
    ns: str
    path: Path
    layout: str = ""  # the requested one
    production: Callable[[], bool] = lambda: False
    lost: Counter[str] = field(default_factory=Counter)  # what the collection cannot store -> in how many versions

    @cached_property
    def files(self) -> HistoryFiles:
        """The files; raises ``Refused`` if they are not a history."""
        return history_files(self.path)

    @cached_property
    def target(self) -> Layout:
        """The collection as it is or will be; raises ``Refused`` if it cannot hold a history."""
        catalogue = self.writer.catalogue
        if self.layout and not self.is_new:
            catalogue.set_layout(self.ns, self.layout)
        elif catalogue.stated_for(self.ns) is None:
            usual = self._usual()
            if self.is_new or self._looks_like(usual):
                catalogue.hold(usual, f"A history of {self.files.origin.ns} is imported here.")
        found = catalogue.layout(self.ns)
        if found.name not in WRITABLE or not found.numbered or found.read_only:
            why = found.read_only or f"{found.name} keeps only the newest version of a document."
            raise Refused(f"{self.ns} cannot take a history. {why} Name another collection, or a layout (--layout).")
        if reason := catalogue.objection(self.ns):
            raise Refused(reason)
        return found

    @cached_property
    def _unindexed(self) -> str:
        """Why nothing may be written without an index; "" if it exists, or is created with the collection."""
        return "" if self.is_new else self.target.missing_index() or ""

    @cached_property
    def is_new(self) -> bool:
        """Whether the collection is still empty."""
        return next(iter(self.writer.port.find(self.ns, limit=1)), None) is None

    def _looks_like(self, usual: CollectionProfile) -> bool:
        """Whether existing documents may come from an earlier import: a few tell little about their layout."""
        info, known = self.writer.catalogue.known(self.ns)
        written = WRITABLE.get(known.layout)
        if info.belongs_to or (known.layout != usual.layout and written is not None and written.numbered):
            return False
        try:
            rows = [*bind(self.writer.port, usual).page(PageQuery(limit=LOOK))]
        except Refused:
            return False
        return bool(rows) and all(row.version is not None for row in rows)

    def _usual(self) -> CollectionProfile:
        """The layout that the history had, under the new name, or the requested layout."""
        origin = self.files.origin
        said = {"collection": [{"ns": origin.ns, **(origin.stated or {"layout": self.layout or USUAL})}]}
        was = replace(Profile.read(said, str(self.path)).collections[0], seals_author=origin.sealed)
        held = WRITABLE.get(was.layout)
        kind = self.layout or (was.layout if held is not None and held.numbered else USUAL)
        if held is None:
            fields = {"at": "_at", "author": "_by", "reason": "_why"}
            return stated(self.ns, kind, **{role: name for role, name in fields.items() if getattr(was, role)})
        if kind != was.layout:
            return target_profile(was, kind, self.ns)
        archive = was.archive
        if archive:
            beside = archive.startswith((f"{was.ns}_", f"{was.ns}."))
            archive = f"{self.ns}{archive[len(was.ns) :]}" if beside else stated(self.ns, kind).archive
        return replace(was, ns=self.ns, archive=archive)

    @cached_property
    def _rows(self) -> HistoryRows:
        ground = RepairContext(self.writer.port, self.writer.catalogue.layout, _now, self.writer.author or "palimpsest")
        lock = self.target.foreign.first(self.writer.port) if self.target.profile.counted_lock else {}
        return HistoryRows(ground, self.target, lock)

    # --- before

    def drawn(self, step: Checkpoint = no_checkpoint) -> Iterator[ArrivingDocument]:
        """What would happen to each document; writes nothing. Then :attr:`lost` says what cannot be stored here."""
        assert self.target is not None
        for done, (id, refs) in enumerate(by_document(self.files, step)):
            step(done, None)
            yield self._arriving(id, refs)

    def plan(self, step: Checkpoint = no_checkpoint) -> ImportPlan:
        """The results of :meth:`drawn` in sums; writes nothing."""
        counts: Counter[str] = Counter()
        versions = 0
        named: dict[bool, list[ArrivingDocument]] = {True: [], False: []}
        for each in self.drawn(step):
            counts[each.kind] += 1
            versions += each.versions if each.kind == "applied" else 0
            several = named[each.kind in ("conflict", "refused")]
            if len(several) < NAMED:
                several.append(replace(each, steps=()))
        first = (*named[True], *named[False])[:NAMED]
        there = counts["skipped"]
        return ImportPlan(counts.total(), counts["applied"], versions, there, first, tuple(self.losses()))

    def foreseen(self) -> list[str]:
        """What the collection cannot store, as sentences, judged from the fields of the history's origin."""
        p, had = self.target.profile, self.files.origin.stated
        return [f"{_UNKEPT[role]}." for role in _UNKEPT if had.get(role) and not getattr(p, role)]

    def losses(self) -> list[str]:
        """What the collection cannot store, one sentence each, for the documents drawn so far."""
        return [f"{what} ({count:,} {'version' if count == 1 else 'versions'})." for what, count in self.lost.items()]

    def _arriving(self, id: Value, refs: Sequence[object]) -> ArrivingDocument:
        versions: list[Version] = []
        try:
            for kept in self.files.read(refs):
                version = kept.version(False)
                if not (versions and versions[-1] == version):  # exported twice
                    versions.append(version)
                    self._note_losses(version)
            if versions:
                versions[-1] = versions[-1].but(current=True)
            wanted, ended = self._wanted(id, versions)
            there = self._stored_versions(id)
            if (found := self._found(id, versions, there)) is not None:
                return found
            ours = LeftRows(self._rows.left(id, [wanted] if ended else []), self._rows.shorter(id, wanted))
            stored = self._stored(id, wanted, ended)
            steps = self._rows.steps(id, stored, ours, str(self.path), "imported", ended)
            if self._unindexed:
                raise Refused(self._unindexed)
        except Taken:
            some = ", ".join(version_name(each.v) for each in there[:4])
            said = f"{id_name(id)} is there already, with {some}, and no import wrote that; nothing was written."
            return ArrivingDocument(id, len(versions), "conflict", said)
        except Refused as error:
            return ArrivingDocument(id, len(versions), "refused", str(error))
        count = f"{len(versions):,} {'version' if len(versions) == 1 else 'versions'}"
        return ArrivingDocument(id, len(versions), "applied", f"{count}, {_writes(len(steps))}.", tied(steps, wanted))

    def _note_losses(self, version: Version) -> None:
        p = self.target.profile
        author, reason = version.signed
        if version.at is not None and not p.at:
            if not (p.token or self.target.own_documents):
                self.lost["No field is stated for times (at), and none of them is kept"] += 1
            elif version.at.microsecond:
                self.lost[_UNKEPT["at"]] += 1
        if author is not None and not p.author:
            self.lost[_UNKEPT["author"]] += 1
        if reason is not None and not p.reason:
            self.lost[_UNKEPT["reason"]] += 1

    def _wanted(self, id: Value, versions: list[Version]) -> tuple[list[Version], bool]:
        """The versions as this layout stores them, and whether the document was deleted without a tombstone."""
        last = versions[-1]
        if not last.deleted:
            return versions, False
        name = self.target.name
        if self.target.own_documents:
            if last.v is None:
                before = versions[-2].v if len(versions) > 1 else None
                if before is None:
                    raise Refused(f"{id_name(id)} has no version, so none of it can be imported.")
                said = "Deletions without a date get a version of their own, without time and author"
                self.lost[said] += 1
                last = last.but(v=following(before, self.target.profile, _LONG_AGO))
            return [*versions[:-1], last], False
        if self.target.archive is None:
            raise Refused(f"{id_name(id)} is deleted, and {name} keeps nothing of deleted documents; choose another.")
        if last.v is not None:
            self.lost["Who deleted a document, and when, is not kept"] += 1
        return versions[:-1], True

    def _stored(self, id: Value, versions: Sequence[Version], ended: bool) -> list[tuple[str, bytes]]:
        if not ended:
            return self._rows.of(id, versions)
        assert versions[-1].v is not None
        behind = versions[-1].but(v=following(versions[-1].v, self.target.profile, _LONG_AGO))
        p, further = self.target.profile, [*versions, behind]
        rows = [row for row in self._rows.of(id, further) if row[0] != p.ns]  # then all of them are in the archive
        return rows[: len(versions)]

    # --- what is there

    def _stored_versions(self, id: Value) -> list[Version]:
        try:
            found = [each for each in self.target.history(id, contents="all") if each.state != "missing"]
        except NotFound:
            return []
        found.reverse()
        return found

    def _found(self, id: Value, versions: Sequence[Version], there: Sequence[Version]) -> ArrivingDocument | None:
        """The result if everything, or something else, is already there; None if something must be written."""
        missing = 0
        is_current = any(version.current for version in there)
        for each in versions:
            same = [version for version in there if _is_same(each.v, version.v)]
            if not same and (each.v is None or (each.deleted and not self.target.own_documents)):
                missing += is_current
            elif not same:
                missing += 1
            elif not any(self._equal(each, version) for version in same):
                said = f"{version_name(each.v)} of {id_name(id)} is there with other contents; nothing was written."
                return ArrivingDocument(id, len(versions), "conflict", said)
        gone = bool(there) and not (there[-1].deleted or is_current)
        if gone and not versions[-1].deleted:
            missing += 1
        if missing or not there:
            return None
        later = len(there) - len(versions)
        said = "It is there, and has later versions." if later > 0 else "It is there."
        return ArrivingDocument(id, len(versions), "skipped", said)

    def _equal(self, wanted: Version, there: Version) -> bool:
        """Whether a stored version equals one to import in everything that this layout stores."""
        p = self.target.profile
        return (
            (wanted.deleted or wanted.content == there.content)
            and wanted.deleted == there.deleted
            and (not p.at or wanted.at == there.at)
            and (not p.author or p.seals_author or wanted.author == there.author)
            and (not p.reason or p.seals_author or wanted.reason == there.reason)
        )

    # --- doing it

    def apply(self, step: Checkpoint = no_checkpoint, confirmed: bool = False) -> Run:
        """Write what :meth:`drawn` says, for each document as it is then; returns the outcomes and the run's name.

        Raises ``NotAllowed`` and ``Refused`` if nothing may be written.
        """
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        self.allowed(self.ns)
        assert self.target is not None  # raises here, before anything is read
        run = new_run(_now, uuid.uuid4().hex[:6])
        plan = Plan(f"import-{run}", self.writer.source, _now())
        sender = Running(self.writer, self._rows.ground, plan, run, action=ACTION)

        def outcomes() -> Iterator[Outcome]:
            for no, (id, refs) in enumerate(by_document(self.files, step), 1):
                step(no - 1, None)
                arriving = self._arriving(id, refs)
                if arriving.kind == "applied" and self.is_new and self.target.missing_index():
                    self._create_index()
                yield self._brought(sender, no, arriving)

        return Run(run, outcomes())

    def _create_index(self) -> None:
        made = self.writer.create_index(self.ns)
        if made.kind not in ("applied", "skipped"):
            raise Refused(made.detail)

    def _brought(self, sender: Running, no: int, each: ArrivingDocument) -> Outcome:
        if each.kind != "applied":
            return Outcome(each.kind, self.ns, each.id, each.detail)  # type: ignore[arg-type]
        item = Item(no, Finding("", self.ns, each.id, (), each.detail), ACTION, "yes")
        end: Outcome | None = None
        for done, one in enumerate(each.steps):
            end = sender.send(item, one)
            if end.kind == "applied":
                continue
            said = end.detail
            if done:
                said = f"{said} {done:,} of {len(each.steps):,} writes were done; import it again to continue."
            return replace(end, kind="unknown" if done else end.kind, detail=said, version=None)
        return Outcome("applied", self.ns, each.id, each.detail, entry=end.entry if end is not None else None)


def tied(steps: Sequence[Step], versions: Sequence[Version]) -> tuple[Step, ...]:
    """The steps, which cannot be undone once the document has changed after them."""
    last = steps[-1]
    extra = {} if versions[-1].v is None else {UPTO: text.value_text(versions[-1].v)}
    beside = () if last.change.after is None else (seen(last.change.ns, last.change.after),)
    return (*(replace(each, beside=beside, extra=extra) for each in steps[:-1]), replace(last, extra=extra))


def _writes(count: int) -> str:
    return f"{count:,} {'write' if count == 1 else 'writes'}"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _is_same(v: Value | None, other: Value | None) -> bool:
    return v is not None and other is not None and same_version(v, other)
