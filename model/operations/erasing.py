"""Some fields of one document taken out of all of its versions, wherever they lie; there is no way back.

Written are the stored versions, the copies in the quarantine, the journal's documents and the draft; states that are
kept to show versions faster are thrown away. Everything else of a version stays: its number, author and time, and its
hash is that of what is left, unless it fitted nothing before: then it stays, so that a scan still tells it. The journal
notes each write without contents. All of it may be repeated: what was erased before is not there any more.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path as FilePath

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.records import Checkpoint, Outcome, no_checkpoint
from model.layouts.base import Layout
from model.operations.cleaned_documents import Cleaned, taken_out
from model.repair import quarantine
from model.repair.running import new_run
from model.repair.steps import RepairContext
from model.server.retry import Write, run
from model.storage import overflow_archive
from model.storage.swap_steps import Stamp
from model.text.names import id_name
from model.text.paths import path_text
from model.userdata import folders
from model.userdata.drafts import Drafts
from model.userdata.journal import Intent
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.writing.edit import check_paths
from model.writing.writer import Writer

ACTION = "erase"
ROUNDS = 5  # how often everything is looked for again while somebody writes
LARGEST = 256 << 20  # bytes of a file that is looked through
LOOKS = 5  # at a folder in which files go meanwhile
ELSEWHERE = (
    "the server's oplog, backups and the free space of its files",
    "journals, drafts, kept states and exports on other computers",
    "other documents, collections and programs that hold the same values",
)
"""What no erasure from here can reach, for the certificate."""


class Trace(Struct, frozen=True):
    """A place that holds some of the fields."""

    place: str  # versions, archive, quarantine, journal, draft, states
    where: str  # a collection or a file
    count: int  # stored documents, entries or drafts


class Certificate(Struct, frozen=True):
    """What was erased, and how it was looked for afterwards; holds no erased value."""

    ns: str
    id: Value
    paths: tuple[Path, ...]
    source: str
    by: str
    reason: str
    run: str
    began: dt.datetime
    ended: dt.datetime
    erased: tuple[Trace, ...]
    found: tuple[Trace, ...]  # what was there when everything was looked for again
    files: tuple[str, ...]  # of this program, that hold one of the longer texts, perhaps of another document
    looked_through: int  # files of this program
    left: tuple[Trace, ...] = ()  # hashes that did not fit their contents before, and stay as they are

    def as_json(self) -> dict[str, object]:
        """The certificate for a file."""
        return {
            "palimpsest": "certificate of erasure",
            "ns": self.ns,
            "id": text.json_object(self.id),
            "paths": [path_text(path) for path in self.paths],
            "source": self.source,
            "by": self.by,
            "reason": self.reason or None,
            "run": self.run,
            "began": self.began.isoformat(timespec="seconds"),
            "ended": self.ended.isoformat(timespec="seconds"),
            "erased": [{"place": t.place, "where": t.where, "count": t.count} for t in self.erased],
            "looked for again": "all stored versions, the quarantine, the journal and the draft were read again by the "
            f"paths, and {self.looked_through:,} files of this program by the longer texts",
            "found again": sum(t.count for t in self.found),
            "found in": [{"place": t.place, "where": t.where, "count": t.count} for t in self.found],
            "files with such a text": list(self.files),
            "hashes left": [{"place": t.place, "where": t.where, "count": t.count} for t in self.left],
            "not reached": list(ELSEWHERE),
        }


class Found(Struct, frozen=True):
    """Where the fields are, and the hashes there that do not fit their contents."""

    traces: tuple[Trace, ...]
    misfits: tuple[Trace, ...]  # they would stay as they are


class _Stored(Struct, frozen=True):
    """A stored document before and after; ``kept`` is the row of the quarantine that holds it."""

    place: str
    ns: str
    before: bytes
    after: bytes
    kept: bytes | None = None

    @property
    def where(self) -> str:
        """The collection that holds it."""
        return quarantine.place(self.ns) if self.kept is not None else self.ns


class Erasing(Struct):
    """Erases fields for a session: ``Session.erasing``."""

    writer: Writer
    drafts: Drafts
    allowed: Callable[..., None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    def traces(self, ns: str, id: Value, paths: Sequence[Path]) -> list[Trace]:
        """Where the fields are now; writes nothing. Raises ``Refused`` for a collection or paths that cannot be."""
        return list(self.look(ns, id, paths).traces)

    def look(self, ns: str, id: Value, paths: Sequence[Path]) -> Found:
        """Where the fields are now, and which hashes would stay; writes nothing. Raises ``Refused`` as ``traces``."""
        layout = self._layout(ns, paths)
        cleaned = Cleaned(layout, id, paths)
        counts: dict[tuple[str, str], int] = {}
        for each in self._stored(self._ground(), layout, id, cleaned):
            counts[each.place, each.where] = counts.get((each.place, each.where), 0) + 1
        found = [Trace(place, where, count) for (place, where), count in counts.items()]
        misfits = _left(counts, cleaned)
        if not found and (count := self._unreached(layout, id, paths)):
            found.append(Trace("versions", ns, count))
        if count := self.writer.journal.with_contents(self.writer.source, ns, id):
            found.append(Trace("journal", str(self.writer.journal.path), count))
        if self.drafts.get(self.writer.source, ns, id) is not None:
            found.append(Trace("draft", f"the draft of {id_name(id)}", 1))
        states = self.writer.catalogue.states
        if states is not None and (files := states.files(ns, id)):
            found.append(Trace("states", str(states.folder), len(files)))
        return Found(tuple(found), misfits)

    def apply(
        self,
        ns: str,
        id: Value,
        paths: Sequence[Path],
        step: Checkpoint = no_checkpoint,
        confirmed: bool = False,
        reason: str = "",
    ) -> Certificate:
        """Erase the fields for good.

        Raises ``NotAllowed`` if writing is not allowed, and ``Refused`` if a write to the document is in doubt, or if
        the server rejects one: what was erased by then stays so, and repeating this erases the rest.
        """
        self.allowed(ns, writes={"change"})
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the erasure by the collection's name first.")
        layout, began = self._layout(ns, paths), _now()
        self.writer.journal.with_contents(self.writer.source, ns, id)  # refuses while a write is in doubt
        name = new_run(_now, uuid.uuid4().hex[:6])
        writer = replace(self.writer, run=name, reason=reason or self.writer.reason)
        counts: dict[tuple[str, str], int] = {}
        cleaned = Cleaned(layout, id, paths)
        ground = self._ground()  # one for all writes: it asks once what the server can compare
        # First and last: what is shown while this goes on may be kept again.
        states, kept = self.writer.catalogue.states, self.writer.catalogue.forget_states(ns, id)
        for _ in range(ROUNDS):
            todo = list(self._stored(ground, layout, id, cleaned))
            for done, each in enumerate(todo):
                step(done, len(todo))
                if self._write(ground, writer, layout, id, each):
                    counts[each.place, each.where] = counts.get((each.place, each.where), 0) + 1
            if not todo:  # nobody has brought it back while it was erased
                break
        left = _left(counts, cleaned)
        journal, source = self.writer.journal, self.writer.source
        if gone := journal.erase(source, ns, id):
            counts["journal", str(journal.path)] = gone
        if self.drafts.get(source, ns, id) is not None:
            self.drafts.discard(source, ns, id)
            counts["draft", f"the draft of {id_name(id)}"] = 1
        kept = max(kept, self.writer.catalogue.forget_states(ns, id))
        if states is not None and kept:
            counts["states", str(states.folder)] = kept
        files, looked = _files_with(cleaned.texts, self.writer.journal.path.parent)
        return Certificate(
            ns, id, tuple(paths), source, writer.author_of(layout) or writer.author or "", writer.reason or "", name,
            began, _now(), tuple(Trace(place, where, count) for (place, where), count in counts.items()),
            tuple(self.traces(ns, id, paths)), tuple(files), looked, left,
        )  # fmt: skip

    # --- what is stored

    def _layout(self, ns: str, paths: Sequence[Path]) -> Layout:
        if (of := self.writer.catalogue.info(ns).belongs_to) is not None:
            raise Refused(f"{ns} holds the earlier versions of {of}; name that collection.")
        layout = self.writer.catalogue.layout(ns)
        if reason := layout.read_only or self.writer.catalogue.objection(ns):
            raise Refused(reason)
        if layout.written_by_others or layout.about_others:
            raise Refused(f"Another program keeps the versions of {ns} in a form of its own; erase there.")
        if layout.profile.id_parts:
            raise Refused(f"Ids of {ns} have several fields, which an erasure cannot follow into all places.")
        check_paths(paths, (*layout.locked, layout.profile.id))
        for path in paths:
            if any(isinstance(each, int) for each in path):
                raise Refused(f"{path_text(path)} names a position, which moves between versions; name fields alone.")
        return layout

    def _ground(self) -> RepairContext:
        return RepairContext(self.writer.port, self.writer.catalogue.layout, _now, self.writer.author or "palimpsest")

    def _stored(self, ground: RepairContext, layout: Layout, id: Value, cleaned: Cleaned) -> Iterator[_Stored]:
        """Each stored document that holds one of the fields, in the order in which they are to be written."""
        p = layout.profile
        places = [("versions" if layout.own_documents else "current", layout.ns, p.id)]
        if layout.archive is not None:
            places.append(("archive", layout.archive.ns, p.archive_id))
        elif layout.overflows:
            places.append(("archive", overflow_archive.place(p), p.archive_id))
        live = ((place, ns, raw) for place, ns, name in places for raw in ground.having(ns, name, id))
        if not layout.holds_changes:
            yield from self._live(live, cleaned)
            yield from self._kept(ground, places, id, cleaned)
            return
        # Read before the states: a version that comes in between is met in the next round, and not without its state.
        stored = list(live)
        cleaned.look_again()
        # The hashes of both cover states that the stored versions lead to together: those go last, the newest first.
        yield from self._kept(ground, places, id, cleaned)
        yield from sorted(self._live(stored, cleaned), key=lambda each: cleaned.place(each.before))

    def _live(self, stored: Iterable[tuple[str, str, bytes]], cleaned: Cleaned) -> Iterator[_Stored]:
        for place, ns, raw in stored:
            if (after := cleaned.of(ns, raw)) != raw:
                yield _Stored(place, ns, raw, after)

    def _kept(
        self, ground: RepairContext, places: Sequence[tuple[str, str, str]], id: Value, cleaned: Cleaned
    ) -> Iterator[_Stored]:
        for _, ns, name in places:
            for row in ground.server.find(quarantine.place(ns), {"from": ns, f"doc.{name}": {"$eq": id}}):
                doc = c.get(row, ("doc",))
                if doc is not None and (after := cleaned.of(ns, doc.data, quarantine.place(ns))) != doc.data:
                    yield _Stored("quarantine", ns, doc.data, after, row)

    def _unreached(self, layout: Layout, id: Value, paths: Sequence[Path]) -> int:
        """The versions that a reader still finds with the fields, wherever they are stored."""
        count = 0
        with suppress(NotFound):
            for each in layout.history(id, contents="all"):
                content = each.content or c.EMPTY
                count += any(taken_out(content, path) != content for path in paths)
        return count

    def _write(self, ground: RepairContext, writer: Writer, layout: Layout, id: Value, each: _Stored) -> bool:
        """Erase in one stored document, if it is still as it was read; False if not. Raises ``Refused``."""
        if each.kept is None:
            writes = [ground.swapped(each.ns, "the document", each.before, each.after, "fields are erased").write]
        else:
            place = quarantine.place(each.ns)
            row = c.put(each.kept, ("_id",), quarantine.key(each.ns, each.after))
            row = c.put(row, ("doc",), Value.document(each.after))
            gone = Write(place, "delete", ground.exactly(place, each.kept), None, "the copy with the fields is removed")
            writes = [Write(place, "insert", {}, row, "the copy without the fields"), gone]
        # Without contents: the journal must not hold what is erased.
        intent = Intent(writer.source, layout.ns, id, ACTION, layout.name, extra={"erased in": each.ns})

        def send(stamp: Stamp) -> Outcome:
            for write in writes:
                end = run(ground.server, write, None)
                # A run that was stopped has kept the copy without the fields already.
                taken = end.reply is not None and end.reply.duplicate is not None
                if end.kind != "applied" and not (taken and write.kind == "insert"):
                    said = end.sentence or "It changed since it was read; nothing was written."
                    return Outcome(end.kind, layout.ns, id, said)
            return Outcome("applied", layout.ns, id, f"Fields were erased in {each.ns}.")

        outcome = writer.send(intent, send)
        if outcome.kind in ("refused", "unknown"):
            raise Refused(f"{outcome.detail.rstrip('.')}; what was erased so far stays so, run it again for the rest.")
        return outcome.kind == "applied"


def _left(counts: Mapping[tuple[str, str], int], cleaned: Cleaned) -> tuple[Trace, ...]:
    """The hashes that stay as they are, by the collections that hold them."""
    places = [(place, where) for place, where in counts if cleaned.left(where)]
    return tuple(Trace(place, where, cleaned.left(where)) for place, where in places)


def _files_with(values: set[bytes], *roots: FilePath) -> tuple[list[str], int]:
    """The files of this program that hold one of some texts, and how many were looked through."""
    found, looked = list[str](), 0
    for root in dict.fromkeys((*roots, folders.kept_again())):
        for _ in range(LOOKS):
            there, count, is_whole = _below(root, values)
            if is_whole:
                break
        found, looked = found + there, looked + count
    return found, looked


def _below(root: FilePath, values: set[bytes]) -> tuple[list[str], int, bool]:
    """What a folder holds of such files, and whether all stayed: one may have got the name of another, read before."""
    found, looked, is_whole = [], 0, True
    for path in sorted(root.rglob("*")) if root.is_dir() else ():
        try:
            if path.is_symlink() or not path.is_file() or path.stat().st_size > LARGEST:
                continue
            data = path.read_bytes()
        except FileNotFoundError:  # another window of this program writes its files by giving them their names last
            is_whole = False
            continue
        looked += 1
        if any(value in data for value in values):
            found.append(str(path))
    return found, looked, is_whole


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
