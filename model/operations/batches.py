"""Several documents deleted or inserted at once: previewed, done one guarded write after another, undone as a run.

Each write goes through the gateway separately, so a conflict leaves the other documents alone. The journal groups
them by the name of their run.
"""

from __future__ import annotations

import datetime as dt
import itertools
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from model.browsing.field_survey import FieldSurvey, survey
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.records import Checkpoint, Outcome, Row, Version, no_checkpoint
from model.layouts.base import Layout
from model.repair.running import new_run
from model.repair.undoing import is_repair
from model.storage.composite_ids import CompositeId
from model.text.names import id_name, version_name
from model.values import canonical
from model.values.canonical import Value
from model.writing.writer import Writer

AT_ONCE = 200  # ids looked up in one query
NAMED = 200  # documents that a plan names; it only counts the others
LOOKED_AT = 1000  # documents whose fields a plan lists

Documents = Callable[[], Iterable[bytes]]
"""Returns the documents to insert, from the start at each call, so that a file is read twice instead of kept."""


class Deleted(Struct, frozen=True):
    """One document of a deletion: the version to delete, or why the document stays, one sentence."""

    id: Value
    base: Version | None
    why_not: str = ""

    @property
    def version(self) -> str:
        """The version to delete, as people call it; "" without versions."""
        return version_name(self.base.v) if self.base is not None and self.base.v is not None else ""


class DeletionPlan(Struct, frozen=True):
    """The plan of a deletion, with the documents as they were read."""

    ns: str
    items: tuple[Deleted, ...]
    kept: str  # what happens to the versions, a sentence

    @property
    def going(self) -> tuple[Deleted, ...]:
        """The documents that would be deleted."""
        return tuple(item for item in self.items if not item.why_not)


class InsertionPlan(Struct, frozen=True):
    """The plan of an insertion: what would happen to the documents, with examples of those left out."""

    documents: int
    fields: FieldSurvey
    own: tuple[str, ...]  # the layout's own fields, which are not copied
    begins: str  # as what each document starts, a sentence
    taken: int = 0  # documents whose id exists
    unfit: int = 0  # documents that cannot be stored here
    reasons: tuple[tuple[str, str], ...] = ()  # (document, why it is left out)

    @property
    def would(self) -> int:
        """The number of documents that would be inserted."""
        return self.documents - self.taken - self.unfit


class Run(Struct):
    """The outcomes of a run as they come, and its name for the journal and for :meth:`Batches.undo`."""

    id: str
    outcomes: Iterator[Outcome]
    done: list[Outcome] = field(default_factory=list)

    def __iter__(self) -> Iterator[Outcome]:
        for outcome in self.outcomes:
            self.done.append(outcome)
            yield outcome


class Batches(Struct, frozen=True):
    """The batches of a session: ``Session.writing``."""

    writer: Writer
    allowed: Callable[[str], None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    # --- deleting

    def deletion(self, ns: str, ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> DeletionPlan:
        """Read each document and say whether it can be deleted; writes nothing."""
        layout = self._written(ns)
        items = []
        for done, id in enumerate(dict.fromkeys(ids)):
            checkpoint(done, len(ids))
            try:
                base = layout.version(id)
                items.append(Deleted(id, base, layout.removable(base)))
            except Refused as error:
                items.append(Deleted(id, None, str(error)))
        checkpoint(len(ids), len(ids))
        return DeletionPlan(ns, tuple(items), layout.kept_by_delete)

    def delete(self, plan: DeletionPlan, checkpoint: Checkpoint = no_checkpoint, confirmed: bool = False) -> Run:
        """Delete the documents of a plan, each only if it is still as the plan read it."""
        self._check(plan.ns, confirmed)
        writer = replace(self.writer, run=new_run(_now, uuid.uuid4().hex[:6]))

        def outcomes() -> Iterator[Outcome]:
            for done, item in enumerate(plan.going):
                checkpoint(done, len(plan.going))
                assert item.base is not None  # otherwise it would not be deleted
                yield writer.delete(plan.ns, item.id, item.base)
            checkpoint(len(plan.going), len(plan.going))

        return Run(writer.run, outcomes())

    # --- inserting

    def insertion(self, ns: str, documents: Documents, checkpoint: Checkpoint = no_checkpoint) -> InsertionPlan:
        """Read all documents and say what would happen to them; writes nothing.

        Raises ``Refused`` if nothing can be inserted, and errors from reading the documents.
        """
        layout = self._written(ns)
        if reason := layout.read_only or self.writer.catalogue.objection(ns) or layout.missing_index():
            raise Refused(reason)
        count = taken = unfit = 0
        own: dict[str, None] = {}
        reasons: list[tuple[str, str]] = []
        first: list[Row] = []
        seen: set[Value] = set()
        # Read as it streams, and again for the writing: a file may be larger than the memory.
        for batch in _batched(documents()):
            there = self._existing(layout, [id for raw in batch if (id := _id(layout, raw)) is not None])
            for raw in batch:
                checkpoint(count, None)
                count += 1
                if len(first) < LOOKED_AT:
                    first.append(Row(Value.of(count), None, None, len(raw), raw))
                own |= dict.fromkeys(name for name in _names(raw) if name in layout.locked and name != "_id")
                id, content = _parts(layout, raw)
                if why := layout.unfit(content):
                    unfit += 1
                elif why := _taken(id, there, seen):
                    taken += 1
                if id is not None:
                    seen.add(id)
                if why and len(reasons) < NAMED:
                    reasons.append((id_name(id) if id is not None else f"document {count}", why))
        names = tuple(name for name in own if name != layout.profile.id)
        return InsertionPlan(count, survey(first), names, _beginning(layout), taken, unfit, tuple(reasons))

    def insert(
        self, ns: str, documents: Documents, checkpoint: Checkpoint = no_checkpoint, confirmed: bool = False,
        total: int | None = None,
    ) -> Run:  # fmt: skip
        """Insert documents as previewed by :meth:`insertion`, each as a first version.

        A document whose id exists is refused.
        """
        self._check(ns, confirmed)
        layout = self.writer.catalogue.layout(ns)
        writer = replace(self.writer, run=new_run(_now, uuid.uuid4().hex[:6]))

        def outcomes() -> Iterator[Outcome]:
            done = 0
            for raw in documents():
                checkpoint(done, total)
                id, content = _parts(layout, raw)
                yield writer.create(ns, content, id)
                done += 1
            checkpoint(done, done)

        return Run(writer.run, outcomes())

    def _written(self, ns: str) -> Layout:
        """The layout of a collection whose documents are written directly; raises ``Refused`` for an archive."""
        of = self.writer.catalogue.info(ns).belongs_to
        if of is not None:
            raise Refused(f"{ns} holds the earlier versions of {of} and is written by saving documents there.")
        return self.writer.catalogue.layout(ns)

    def _existing(self, layout: Layout, ids: Sequence[Value]) -> set[Value]:
        """The ids among these that exist in a collection."""
        name, found = layout.profile.id, set()
        wanted = {name: {"$in": list(ids)}}
        for raw in self.writer.port.find(layout.ns, wanted, projection={name: 1}) if ids else ():
            if (id := canonical.get(raw, tuple(name.split(".")))) is not None:
                found.add(id)
        return found

    def _check(self, ns: str, confirmed: bool) -> None:
        self.allowed(ns)
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")

    # --- the way back

    def undo(self, run: str, checkpoint: Checkpoint = no_checkpoint, elsewhere: bool = False) -> Iterator[Outcome]:
        """Undo the writes of a run, the last first, each guarded by the state that it left.

        Raises ``NotFound`` if the journal does not have the run.
        """
        records = [each for each in self.writer.journal.records("run", run) if not is_repair(each)]
        damaged = self.writer.journal.damaged("run", run)
        if not records and not damaged:
            raise NotFound(f"The journal has no run {run}; `palimpsest journal` lists what was written.")
        # Told first: an entry that cannot be read cannot be undone, and the rest of the run is undone without it.
        yield from damaged
        if records:
            self.allowed(records[0].entry.ns)
        # The last first: of two writes to one document, only the later one's state is still there.
        entries = [record.entry.id for record in reversed(records) if record.entry.undoable]
        for done, entry in enumerate(entries):
            checkpoint(done, len(entries))
            try:
                yield self.writer.undo(entry, elsewhere)
            except Refused as error:
                record = self.writer.journal.record(entry)
                yield Outcome("refused", record.entry.ns, record.document, str(error))
        checkpoint(len(entries), len(entries))


def _id(layout: Layout, raw: bytes) -> Value | None:
    if layout.profile.id_parts:
        return CompositeId(layout.profile.id_parts).of(raw)
    found = canonical.get(raw, tuple(layout.profile.id.split(".")))
    return found if found is not None else canonical.get(raw, ("_id",))


def _parts(layout: Layout, raw: bytes) -> tuple[Value | None, bytes]:
    """A document's id, and its initial content: without the layout's own fields."""
    inside = layout.profile.current if "current" in layout.roles else ""
    part = canonical.get(raw, (inside,)) if inside else None
    seen = layout.document(raw) if part is not None and part.type == canonical.OBJECT else raw
    return _id(layout, raw), canonical.without(seen, layout.locked)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _names(raw: bytes) -> list[str]:
    return [name for name, _ in canonical.fields(raw)]


def _batched(documents: Iterable[bytes]) -> Iterator[list[bytes]]:
    coming = iter(documents)
    while batch := list(itertools.islice(coming, AT_ONCE)):
        yield batch


def _taken(id: Value | None, there: Collection[Value], seen: Collection[Value]) -> str:
    """Why a document is not the first with its id, one sentence; "" if it is."""
    if id in there:
        return "A document with this id is already there."
    return "It occurs twice in what you want to insert." if id in seen else ""


def _beginning(layout: Layout) -> str:
    """What each inserted document begins as, one sentence; "" if it is stored unchanged."""
    if layout.numbered:
        return "Each document begins as version 1."
    if layout.profile.token:
        return f"Each document gets the field {layout.profile.token}, by which its write can be found again."
    return ""
