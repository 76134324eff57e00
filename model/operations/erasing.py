"""Some fields of one document taken out of all of its versions, wherever they lie; there is no way back.

Written are the stored versions, the copies in the quarantine, the journal's documents and the draft. Everything else
of a version stays: its number, author and time, and its hash is that of what is left. The journal notes each write
without contents. All of it may be repeated: what was erased before is not there any more.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path as FilePath

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.repair import quarantine
from model.repair.running import new_run
from model.repair.steps import RepairContext
from model.server.retry import Write, run
from model.storage import overflow_archive
from model.storage.content_hashes import Sealed, content_hash, fits, settled
from model.storage.swap_steps import Stamp
from model.text.names import id_name
from model.text.paths import path_text
from model.userdata import folders
from model.userdata.drafts import Drafts
from model.userdata.journal import Intent
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.leaves import leaves
from model.writing.edit import check_paths
from model.writing.writer import Writer

ACTION = "erase"
ROUNDS = 5  # how often everything is looked for again while somebody writes
SHORTEST = 6  # bytes of a text that is looked for in files: shorter ones occur by chance
LARGEST = 256 << 20  # bytes of a file that is looked through
ELSEWHERE = (
    "the server's oplog, backups and the free space of its files",
    "journals, drafts and exports on other computers",
    "other documents, collections and programs that hold the same values",
)
"""What no erasure from here can reach, for the certificate."""


class Trace(Struct, frozen=True):
    """A place that holds some of the fields."""

    place: str  # versions, archive, quarantine, journal, draft
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
            "not reached": list(ELSEWHERE),
        }


class _Stored(Struct, frozen=True):
    """A stored document before and after; ``kept`` is the row of the quarantine that holds it."""

    place: str
    ns: str
    before: bytes
    after: bytes
    kept: bytes | None = None


class Erasing(Struct):
    """Erases fields for a session: ``Session.erasing``."""

    writer: Writer
    drafts: Drafts
    allowed: Callable[..., None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    def traces(self, ns: str, id: Value, paths: Sequence[Path]) -> list[Trace]:
        """Where the fields are now; writes nothing. Raises ``Refused`` for a collection or paths that cannot be."""
        layout = self._layout(ns, paths)
        counts: dict[tuple[str, str], int] = {}
        for each in self._stored(self._ground(), layout, id, paths):
            where = quarantine.place(each.ns) if each.kept is not None else each.ns
            counts[each.place, where] = counts.get((each.place, where), 0) + 1
        found = [Trace(place, where, count) for (place, where), count in counts.items()]
        if not found and (count := self._unreached(layout, id, paths)):
            found.append(Trace("versions", ns, count))
        if count := self.writer.journal.with_contents(self.writer.source, ns, id):
            found.append(Trace("journal", str(self.writer.journal.path), count))
        if self.drafts.get(self.writer.source, ns, id) is not None:
            found.append(Trace("draft", f"the draft of {id_name(id)}", 1))
        return found

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
        values: set[bytes] = set()
        ground = self._ground()  # one for all writes: it asks once what the server can compare
        for _ in range(ROUNDS):
            todo = list(self._stored(ground, layout, id, paths, values))
            for done, each in enumerate(todo):
                step(done, len(todo))
                if self._write(ground, writer, layout, id, each):
                    where = quarantine.place(each.ns) if each.kept is not None else each.ns
                    counts[each.place, where] = counts.get((each.place, where), 0) + 1
            if not todo:  # nobody has brought it back while it was erased
                break
        journal, source = self.writer.journal, self.writer.source
        if gone := journal.erase(source, ns, id):
            counts["journal", str(journal.path)] = gone
        if self.drafts.get(source, ns, id) is not None:
            self.drafts.discard(source, ns, id)
            counts["draft", f"the draft of {id_name(id)}"] = 1
        files, looked = _files_with(values, self.writer.journal.path.parent)
        return Certificate(
            ns, id, tuple(paths), source, writer.author_of(layout) or writer.author or "", writer.reason or "", name,
            began, _now(), tuple(Trace(place, where, count) for (place, where), count in counts.items()),
            tuple(self.traces(ns, id, paths)), tuple(files), looked,
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

    def _stored(
        self,
        ground: RepairContext,
        layout: Layout,
        id: Value,
        paths: Sequence[Path],
        values: set[bytes] | None = None,
    ) -> Iterator[_Stored]:
        """Each stored document that holds one of the fields; the texts in them are added to ``values``."""
        p = layout.profile
        cleaned = _Cleaned(layout, id, paths, values)
        places = [("versions" if layout.own_documents else "current", layout.ns, p.id)]
        if layout.archive is not None:
            places.append(("archive", layout.archive.ns, p.archive_id))
        elif layout.overflows:
            places.append(("archive", overflow_archive.place(p), p.archive_id))
        for place, ns, name in places:
            for raw in ground.having(ns, name, id):
                if (after := cleaned.of(ns, raw)) != raw:
                    yield _Stored(place, ns, raw, after)
        for _, ns, name in places:
            for row in ground.server.find(quarantine.place(ns), {"from": ns, f"doc.{name}": {"$eq": id}}):
                doc = c.get(row, ("doc",))
                if doc is not None and (after := cleaned.of(ns, doc.data)) != doc.data:
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


class _Cleaned:
    """Makes stored documents without some fields, each with the hash of what is left."""

    def __init__(self, layout: Layout, id: Value, paths: Sequence[Path], values: set[bytes] | None) -> None:
        self._layout, self._id, self._paths, self._values = layout, id, paths, values
        self._profile = layout.profile
        self._states: dict[Value, Version] = {}
        if layout.profile.hash and not layout.profile.hash_recipe and not layout.profile.hash_doubt:
            self._profile = settled(layout.profile, [seal for seal in self._seals() if fits(seal, layout.profile)])
        if layout.profile.hash and layout.holds_changes:
            with suppress(NotFound):
                self._states = {each.v: each for each in layout.history(id, contents="all") if each.v is not None}

    def _seals(self) -> list[Sealed]:
        """The hashes of the document's versions, by which the recipe of new ones is judged."""
        with suppress(NotFound):
            return self._layout.sealed(self._id, [])
        return []

    def of(self, ns: str, raw: bytes) -> bytes:
        """A stored document without the fields; the same bytes if it has none of them."""
        after = raw
        for part in parts_of(self._layout, ns, raw):
            inner = c.get(raw, part) if part else Value.document(raw)
            if inner is None or inner.type != c.OBJECT:
                continue
            left = inner.data
            for path in self._paths:
                left = taken_out(left, path, self._values)
            if left != inner.data:
                after = c.put(after, part, Value.document(left)) if part else left
        return self._sealed(ns, after) if after != raw else raw

    def _sealed(self, ns: str, after: bytes) -> bytes:
        """A document with the hashes of its content as it is now."""
        if not self._profile.hash:
            return after
        for path, content in self._hashed(ns, after):
            stored = c.get(after, path)
            if stored is not None:
                after = c.put(after, path, content_hash(content, self._profile, stored, c.get(after, ("_id",))))
        return after

    def _hashed(self, ns: str, after: bytes) -> list[tuple[Path, bytes]]:
        if not self._layout.holds_changes:
            return self._layout.hashed_parts(ns, after, self._id)
        state = self._states.get(c.get(after, (self._profile.version,)) or Value.of(None))
        if state is None or state.content is None:
            return []
        content = state.content
        for path in self._paths:
            content = taken_out(content, path)
        return [((self._profile.hash,), content)]


def taken_out(raw: bytes, path: Path, values: set[bytes] | None = None) -> bytes:
    """A document without a field; below an array, without it in each element. Its texts are added to ``values``."""
    name, rest = path[:1], path[1:]
    while (value := c.get(raw, name)) is not None:
        if rest:
            return c.put(raw, name, _inner(value, rest, values)) if value.is_container else raw
        if values is not None:
            values |= _texts(value)
        raw = c.drop(raw, name)  # once more: a name may occur twice
    return raw


def _inner(value: Value, path: Path, values: set[bytes] | None) -> Value:
    if value.type == c.OBJECT:
        return Value.document(taken_out(value.data, path, values))
    return c.array(_inner(each, path, values) if each.is_container else each for each in c.items(value))


def _texts(value: Value) -> set[bytes]:
    """The longer texts in a value."""
    inside = [leaf.value for leaf in leaves((), value)] if value.is_container else [value]
    found = (each.data[4:-1] for each in inside if each.type == c.STRING)
    return {each for each in found if len(each) >= SHORTEST}


def parts_of(layout: Layout, ns: str, raw: bytes) -> list[Path]:
    """The paths of the versions inside a stored document of a collection."""
    if ns != layout.ns:
        return [()]
    prev = c.get(raw, (layout.profile.prev,)) if layout.profile.prev else None
    count = len(c.items(prev)) if prev is not None and prev.type == c.ARRAY else 0
    inside: list[Path] = [(layout.profile.prev, at) for at in range(count)]
    return list(dict.fromkeys([*layout.parts(raw), *inside]))


def _files_with(values: set[bytes], *roots: FilePath) -> tuple[list[str], int]:
    """The files of this program that hold one of some texts, and how many were looked through."""
    found, looked = [], 0
    for root in dict.fromkeys((*roots, folders.kept_again())):
        for path in sorted(root.rglob("*")) if root.is_dir() else ():
            if path.is_file() and not path.is_symlink() and path.stat().st_size <= LARGEST:
                looked += 1
                data = path.read_bytes()
                if any(value in data for value in values):
                    found.append(str(path))
    return found, looked


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
