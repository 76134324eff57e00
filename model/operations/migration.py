"""Migrates a collection to another layout: copy, catch up, verify every version, keep the old until told otherwise.

Each document's whole history is read in the old layout and written as the new one stores it (``Layout.as_stored``),
with equal bytes each time, so that copying again changes nothing, and resumes where it ended. If people write to the
old collection meanwhile, the next round copies their writes. A document that the migration has written is replaced
only if it is unchanged byte for byte, so no edit in the new place is ever overwritten.

The journal has one row per run instead of one per document: the old collection shows what a run has written, and undo
removes exactly that.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.news import News, tell
from model.foundation.records import Checkpoint, Kind, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.registry import bind, declared, fields_of, has_archive, info_of, stated
from model.operations.history_rows import HistoryRows, LeftRows
from model.repair.items import digest as _digest
from model.repair.steps import RepairContext, Step
from model.server import guards
from model.server.retry import run
from model.storage.newest_query import PageQuery
from model.storage.reserved_fields import place_of
from model.text.names import id_name, version_name
from model.text.scalars import quoted
from model.userdata.journal import Intent
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer

ROUNDS = 20
"""How many rounds copy concurrent changes before the migration gives up because there are too many."""
ALL = 2**31 - 1
LOOK = 20  # documents in the new place examined to see whether an earlier run made them


class Checked(Struct, frozen=True):
    """The comparison of one document in both places."""

    id: Value
    versions: int  # equal ones, byte for byte
    wrong: str = ""  # the difference, one sentence


class Migration:
    """The migration of one collection to another layout; created by ``Session.exchange``."""

    @classmethod
    def of(
        cls,
        writer: Writer,
        allowed: Callable[[], None],
        ns: str,
        to: str,
        target: str,
        fields: Mapping[str, str],
        newest_only: bool,
    ) -> Migration:
        """The migration of a collection; a profile states the target, else the default names are used."""
        source = writer.catalogue.layout(ns)
        wanted = writer.catalogue.stated_for(target) if target else None
        if wanted is None or wanted.layout != to:
            wanted = target_profile(source.profile, to, target, fields)
        now = lambda: dt.datetime.now(dt.UTC)  # noqa: E731
        ground = RepairContext(writer.port, writer.catalogue.layout, now, writer.author or "palimpsest")
        return cls(writer, ground, source, bind(writer.port, wanted), newest_only, allowed)

    def __init__(
        self,
        writer: Writer,
        ground: RepairContext,
        source: Layout,
        target: Layout,
        newest_only: bool,
        allowed: Callable[[], None],
    ) -> None:
        """Prepare a migration; ``allowed`` raises if writing is not allowed."""
        self._writer, self._ground, self._port, self._allowed = writer, ground, writer.port, allowed
        self.source, self.target, self.newest_only = source, target, newest_only

    @cached_property
    def _rows(self) -> HistoryRows:
        lock = self.source.foreign.first(self._port) if self.target.profile.counted_lock else {}
        return HistoryRows(self._ground, self.target, lock)

    # --- the old collection

    def ids(self) -> Iterator[Value]:
        """The documents of the old collection in the order of their ids, including deleted ones with a tombstone.

        Without a tombstone, deleted documents are not included.
        """
        return (row.id for row in self.source.page(PageQuery(limit=ALL, any_version=self.source.own_documents)))

    def _versions(self, layout: Layout, id: Value) -> list[Version]:
        """The stored versions of a document, oldest first."""
        found = [each for each in layout.history(id, contents="all") if each.state != "missing"]
        found.reverse()
        if layout.archive is not None and not (layout.profile.at or layout.profile.token):
            # Only the row of an archived version has a time, that of the archiving: the version that is current now
            # gets one later, and would then be written as another document.
            return [each.but(at=None) for each in found]
        return found

    def _whole(self, id: Value) -> tuple[list[Version], int]:
        """The versions of a document in the old collection, behind those that a removal has taken from there before.

        Also the number of the latter. A writer that had read its base before the removal inserts the next version
        alone; what it follows is only in the new place then.
        """
        versions = self._versions(self.source, id)
        first = place_of(versions[0].v)
        if not (self.source.own_documents and self.target.numbered and first is not None and first > 1):
            return versions, 0
        try:
            here = self._versions(self.target, id)
        except NotFound:
            return versions, 0
        moved = [each for each in here if (place_of(each.v) or 0) < first]
        return [*(each.but(current=False) for each in moved), *versions], len(moved)

    def _wanted(self, id: Value) -> tuple[list[Version], list[tuple[str, bytes]]]:
        versions, _ = self._whole(id)
        for each in versions:
            # A damage that is copied looks like the new layout's own, and the old place may be removed afterwards.
            if each.state == "damaged":
                raise Refused(f"{version_name(each.v)} of {id_name(id)} is damaged ({each.detail}); repair it first.")
        if left := self._unversioned_parts(id, versions):
            raise Refused(left)
        if not self.target.numbered and len(versions) > 1 and not self.newest_only:
            raise Refused(
                f"{id_name(id)} has {len(versions)} versions, and {self.target.name} keeps only the newest; the others "
                "stay behind in the old collection if you accept that (--newest-only)."
            )
        return versions, self._rows.of(id, versions)

    def _unversioned_parts(self, id: Value, versions: Sequence[Version]) -> str:
        """The parts of a document that belong to no version and would be lost, one sentence; "" if there are none."""
        left = [name for each in versions if each.current and each.raw for name in self.source.beside(each.raw)]
        if not left:
            return ""
        return (
            f"{id_name(id)} has {', '.join(left)} beside its versions, which would not be moved; copy them into "
            "its versions or take them out with your own tools first."
        )

    # --- copying

    def steps(self, id: Value) -> list[Step]:
        """The writes that copy one document as it is now; [] if nothing is left to do.

        Raises ``Refused`` for a document that the new layout cannot store, or that somebody changed in the new place.
        """
        versions, wanted = self._wanted(id)
        ours = LeftRows(self._left_before(id, versions))
        return self._rows.steps(id, wanted, ours, self.source.ns, "copied")

    def _left_before(self, id: Value, versions: Sequence[Version]) -> Iterator[set[str]]:
        """The digests that earlier rounds may have left when the history was shorter, latest first."""
        if not self.source.numbered:  # without earlier states, the new document is recognised by its token
            try:
                here = self._versions(self.target, id)
                if len(here) == 1:
                    yield from self._rows.left(id, [[each.but(v=None) for each in here]])
            except Refused:
                pass
            return
        # A round that came before the last edit left another current document; it has to be known as ours.
        yield from self._rows.shorter(id, versions)

    def _left(self, id: Value, versions: Sequence[Version]) -> LeftRows:
        """The digests that any round may have left, including this one."""
        return LeftRows(self._rows.left(id, [versions]), self._left_before(id, versions))

    def dry_run(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        """The outcome of copying for each document now; writes nothing."""
        ns, total = self.source.ns, self.source.count(max_ms=5000)
        for done, id in enumerate(self.ids()):
            checkpoint(done, total)
            try:
                steps = self.steps(id)
            except Refused as error:
                yield Outcome("refused", ns, id, str(error))
                continue
            said = "1 write would be sent." if len(steps) == 1 else f"{len(steps)} writes would be sent."
            yield Outcome("applied" if steps else "skipped", ns, id, said if steps else "It is there.")

    def prepare(self) -> None:
        """Ensure that the new place is empty or made by this migration, and has its index; raises ``Refused``."""
        self._allowed()
        # The two collections look like documents and their archive: recognition must not guess any more.
        self._writer.catalogue.hold(self.source.profile, "It is being moved to another layout.")
        self._writer.catalogue.hold(self.target.profile, f"{self.source.ns} is being moved here.")
        p = self.target.profile
        looked: list[bool] = []
        for ns, name in self._rows.places.items():
            if ns in (self.source.ns, self.source.profile.archive):
                raise Refused(f"{ns} is where the documents come from; name another collection for them.")
            looked += [self._is_mine(c.get(raw, (name,)), raw) for raw in self._port.find(ns, limit=LOOK)]
        # One document of this migration is enough: an interrupted run has left some, and programs may already write
        # there.
        if looked and not any(looked):
            raise Refused(f"{p.ns} holds documents already that are not of this move; name another target.")
        if self.target.missing_index():
            self.target.create_index()
        if self.target.missing_index():
            raise Refused(f"{p.ns} lacks the index that its layout needs.")

    def _is_mine(self, id: Value | None, raw: bytes) -> bool:
        try:
            if id is None:
                return False
            versions, _ = self._whole(id)
            return _digest(raw) in self._left(id, versions)
        except Refused:
            return False

    def copy(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        """One round: copy every document as it is now, an outcome for each; skipped if it was already there."""
        self.prepare()
        total = self.source.count(max_ms=5000)
        for done, id in enumerate(self.ids()):
            checkpoint(done, total)
            yield self._brought(id)

    def _brought(self, id: Value) -> Outcome:
        ns = self.source.ns
        try:
            steps = self.steps(id)
            for step in steps:
                end = self._sent(step)
                if end != "applied":
                    said = (
                        "It is not known whether a write arrived." if end == "unknown" else "Somebody else was faster."
                    )
                    return Outcome(end, ns, id, f"{said} Copying again settles it.")
        except NotFound:
            return Outcome("skipped", ns, id, "It was deleted meanwhile.")
        except Refused as error:
            return Outcome("refused", ns, id, str(error))
        if not steps:
            return Outcome("skipped", ns, id, "It was there already.")
        return Outcome("applied", ns, id, "1 write." if len(steps) == 1 else f"{len(steps)} writes.")

    def _sent(self, step: Step) -> Kind:
        ns, after, id = step.change.ns, step.change.after, step.physical

        def landed() -> bool:
            return next(iter(self._port.find(ns, guards.by_id(id), limit=1)), None) == after

        end = run(self._port, step.write, landed)
        if end.kind == "refused":
            raise Refused(end.sentence)
        return end.kind

    def run(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        """Copy, then copy concurrent changes until a round finds no more; journalled as one row.

        A document that is deleted in the old place stays in the new one; :meth:`verify` reports it.

        Yields an outcome for each document and round in which something was done, refused or found out.
        """
        self._allowed()
        intent = Intent(self._writer.source, self.source.ns, None, "migrate", self.target.name)
        entry = self._writer.journal.begin(replace(intent, extra={"to": self.target.ns}))
        ends: dict[Value, Outcome] = {}
        ended: Kind = "unknown"
        try:
            # Each round is shorter than the one before, because only what changed during it is left for the next.
            for _ in range(ROUNDS):
                moved = 0
                for outcome in self.copy(checkpoint):
                    assert outcome.id is not None
                    moved += outcome.kind in ("applied", "unknown")  # the next round settles those in doubt
                    before = ends.get(outcome.id)
                    if outcome.kind != "skipped" or before is None:
                        ends[outcome.id] = outcome
                        yield outcome
                    elif before.kind in ("conflict", "unknown"):
                        ends[outcome.id] = replace(before, kind="applied", detail="It is there.")
                        yield ends[outcome.id]
                if not moved:
                    break
            kinds = {each.kind for each in ends.values()}
            ended = "unknown" if "unknown" in kinds else "applied"
        except Refused:
            ended = "unknown" if any(each.kind == "applied" for each in ends.values()) else "refused"
            raise
        finally:
            done = sum(each.kind in ("applied", "skipped") for each in ends.values())
            said = f"{done:,} of {len(ends):,} documents are in {self.target.ns} as {self.target.name}."
            self._writer.end(entry, Outcome(ended, self.source.ns, None, said))
            self._tell(self.target.ns)

    def _tell(self, ns: str) -> None:
        """Tell all views of a collection that many of its documents may have been added or removed."""
        tell(News(self._writer.data, Outcome("applied", ns, None, "Documents were moved.")))

    # --- verifying

    def verify(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Checked]:
        """Compare every version in both places, byte for byte, and find versions that are only in the new place."""
        seen: set[Value] = set()
        total = self.source.count(max_ms=5000)
        for done, id in enumerate(self.ids()):
            checkpoint(done, total)
            seen.add(id)
            yield self.compared(id)
        p = self.source.profile
        if any(True for _ in self._port.find(p.ns, {p.id: {"$exists": False}}, limit=1)):
            yield Checked(Value.of(None), 0, f"{p.ns} holds documents without {p.id}, which were not moved.")
        for row in self.target.page(PageQuery(limit=ALL)):
            if row.id not in seen and not self.source.exists(row.id):
                yield Checked(row.id, 0, f"{id_name(row.id)} is in {self.target.ns} and not in {self.source.ns}.")

    def compared(self, id: Value, later: bool = False) -> Checked:
        """Compare one document in both places; ``later`` tolerates additional later versions in the new one."""
        try:
            old, _ = self._whole(id)
        except NotFound:
            return Checked(id, 0)
        except Refused as error:
            return Checked(id, 0, str(error))
        try:
            new = self._versions(self.target, id)
        except Refused as error:
            return Checked(id, 0, f"{id_name(id)} is not in {self.target.ns}: {error}")
        if left := self._unversioned_parts(id, old):
            return Checked(id, 0, left)
        if old[-1].deleted and not new[-1].deleted:
            return Checked(id, 0, f"{id_name(id)} is deleted in {self.source.ns}, and not in {self.target.ns}.")
        if not self.target.numbered:
            old = old[-1:]
        has_end = any(each.current for each in new) or new[-1].deleted
        # Programs may have moved over to the new place and go on writing there.
        if later and place_of(old[-1].v) is not None:
            new = [each for each in new if (place_of(each.v) or 0) <= (place_of(old[-1].v) or 0)]
        if len(old) != len(new):
            return Checked(id, 0, f"{id_name(id)} has {len(old)} versions there and {len(new)} here.")
        # An archive may be complete before the document itself exists.
        if not has_end:
            return Checked(id, 0, f"{id_name(id)} has no current document in {self.target.ns}.")
        for a, b in zip(old, new, strict=True):
            if said := self._difference(id, a, b):
                return Checked(id, 0, said)
        return Checked(id, len(old))

    def _difference(self, id: Value, a: Version, b: Version) -> str:
        """The difference between a version in the old place and in the new one, one sentence; "" if there is none.

        Times may differ by less than a second.
        """
        if place_of(a.v) is not None and self.target.numbered and place_of(a.v) != place_of(b.v):
            return f"{version_name(a.v)} of {id_name(id)} became {version_name(b.v)}."
        if a.content is None or a.content != b.content or a.deleted != b.deleted:
            return f"{version_name(a.v)} of {id_name(id)} has another content here."
        if a.at is not None and b.at is not None and abs((a.at - b.at).total_seconds()) >= 1:
            return f"{version_name(a.v)} of {id_name(id)} has another time here."
        return ""

    # --- the way back, and the end of the old

    def take_back(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        """Remove the documents that this migration wrote to the new place, if they are unchanged since."""
        self._allowed()
        total = self.source.count(max_ms=5000)
        try:
            for done, id in enumerate(self.ids()):
                checkpoint(done, total)
                try:
                    versions, moved = self._whole(id)
                    if moved:
                        raise Refused(f"{moved} versions of {id_name(id)} are only in the new place; it stays there.")
                    mine, there = self._left(id, versions), self._rows.there(id)
                    yield self._removed(id, [(ns, raw) for (ns, _), raw in there.items()], mine, self.target.ns)
                except Refused as error:
                    yield Outcome("refused", self.target.ns, id, str(error))
        finally:
            self._tell(self.target.ns)

    def remove_old(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        """Delete the old collection's documents whose versions are all in the new place; each is compared first.

        Only documents read before the comparison are deleted, if unchanged byte for byte; the current one first, so
        that it never appears without its history. Documents that differ, or that appear meanwhile, stay; later
        versions in the new place are not a difference. The rest of a removal that died is removed too.
        """
        self._allowed()
        if not self.target.numbered:
            raise Refused(f"{self.target.name} keeps only the newest versions, so the old collection stays.")
        total = self.source.count(max_ms=5000)
        try:
            # All ids first: a cursor would move through a collection from which its documents are being deleted.
            for done, id in enumerate(list(self.ids())):
                checkpoint(done, total)
                yield self._removed_from_old(id)
            # A removal that died has deleted the current document first, and its archive rows still have to go.
            for id in self._without_current():
                checkpoint(total or 0, total)
                outcome = self._removed_from_old(id)
                if outcome.kind != "skipped":  # else somebody deleted it before it was copied
                    yield outcome
        finally:
            self._tell(self.source.ns)

    def _removed_from_old(self, id: Value) -> Outcome:
        try:
            rows = self._stored_in_source(id)  # read before the comparison, so a later edit is not among them
            found = self.compared(id, later=True)
            if found.wrong or not found.versions:
                return Outcome("skipped", self.source.ns, id, f"It stays: {found.wrong or 'It was deleted meanwhile.'}")
            outcome = self._removed(id, rows, {_digest(raw) for _, raw in rows}, self.source.ns)
            if outcome.kind == "applied" and self._stored_in_source(id):
                said = f"{outcome.detail} {id_name(id)} was written meanwhile, and what came stays."
                outcome = replace(outcome, kind="conflict", detail=said)
        except Refused as error:
            return Outcome("refused", self.source.ns, id, str(error))
        return outcome

    def _without_current(self) -> Iterator[Value]:
        """The documents that exist only as rows in the old archive."""
        p = self.source.profile
        if not has_archive(p.layout):
            return
        last: Value | None = None
        for raw in self._port.find(p.archive, {}, sort={p.archive_id: 1}, projection={p.archive_id: 1}):
            id = c.get(raw, (p.archive_id,))
            if id is not None and id != last:
                last = id
                if not any(True for _ in self._port.find(p.ns, {p.id: {"$eq": id}}, projection={"_id": 1}, limit=1)):
                    yield id

    def _stored_in_source(self, id: Value) -> list[tuple[str, bytes]]:
        p = self.source.profile
        places = {p.ns: p.id} | ({p.archive: p.archive_id} if has_archive(p.layout) else {})
        return [
            (ns, raw)
            for ns, name in places.items()
            for raw in self._port.find(ns, {name: {"$eq": id}}, sort={p.version: -1})
            if c.get(raw, (name,)) == id
        ]

    def _removed(self, id: Value, rows: Iterable[tuple[str, bytes]], mine: Container[str], where: str) -> Outcome:
        gone = 0
        for ns, raw in rows:
            if _digest(raw) not in mine:
                return Outcome("conflict", where, id, f"{id_name(id)} was changed in {ns}; what is left of it stays.")
            # Without a copy in the quarantine: every byte was just found in the other place.
            step = self._ground.removed(ns, "removed", raw, "removed")
            end = self._sent(replace(step, keep=None))
            if end != "applied":
                return Outcome(end, where, id, f"{gone} of its documents were removed; run it again.")
            gone += 1
        return Outcome("applied" if gone else "skipped", where, id, f"{gone} documents were removed.")

    # --- for people

    @property
    def toml(self) -> str:
        """The profile tables that make both places two collections rather than one and its archive."""
        return "\n\n".join(_table(layout.profile) for layout in (self.target, self.source))


def _table(p: CollectionProfile) -> str:
    if p.writer:
        from model.profile.profile_file import block  # importing its TOML writer takes longer than a command may

        return block(p).rstrip()
    told = {"ns": p.ns, "layout": p.layout, **info_of(p, None, 1.0, "").fields}
    if p.numbering != "next":
        told["numbering"] = p.numbering
    lines = [f"{role} = {_quoted(name)}" for role, name in told.items()]
    if others := p.keys[1:]:
        lines.append(f"keys = [{', '.join(map(_quoted, others))}]")
    return "\n".join(["[[collection]]", *lines])


def _quoted(name: str) -> str:
    return quoted(name).replace("\x7f", "\\u007f")  # TOML requires this character to be escaped, JSON does not


def target_profile(
    of: CollectionProfile, layout: str, ns: str = "", fields: Mapping[str, Any] | None = None
) -> CollectionProfile:
    """The profile of the new place: the old names if both layouts use them, else the defaults."""
    ns = ns or f"{of.ns}_{layout}"
    made = stated(ns, layout)
    kept: dict[str, Any] = {
        "token": of.token or made.token,
        "at": of.at,
        "author": of.author,
        "reason": of.reason,
        "keys": of.keys,
    }
    if of.version and all("version" in declared(each).roles for each in (layout, of.layout)):
        kept["version"] = of.version
    found = replace(made, **(kept | dict(fields or {})))
    # A lock that the new layout uses as one of its own fields would move twice with each write.
    taken = of.guard is not None and of.guard.field in fields_of(found).values()
    return found if taken else replace(found, guard=of.guard)
