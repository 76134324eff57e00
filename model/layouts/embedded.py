"""``embedded``: a document contains all its versions, the current one as a sub-document, earlier ones in an array.

Stored: ``{_id, current: {v, …}, prev: [{v, …}, …]}``, oldest first; version, token, hash and time stand inside each
version. Index: the one on ``_id``. Lists never read the array.

If a document grew too long, its oldest versions may be rows of a second collection, the overflow archive. It is read
only if versions below those in the array are missing.

The swap, one write: filter ``_id``, ``current.v`` and ``current._w``, by type, and the values that the edit replaces;
``$push`` of the version that was read onto the array, and the new version in its place. Operators name only the
changes; else the sub-document is replaced, guarded by the whole old one.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is searched in the
current version and in the array; if it is nowhere and the next version has another one: not applied. The server
refuses a document that would exceed 16 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from model.checks.embedded_chain import embedded_chain
from model.checks.facts import FactReader
from model.checks.single_documents import SingleDocuments
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import Port, Write, bson_of
from model.storage import numbering, overflow_archive, update_operators
from model.storage.content_hashes import Sealed
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, Landing, VersionGuard
from model.storage.embedded_history import EmbeddedHistory
from model.storage.reserved_fields import Own, compose, stamp_names
from model.storage.swap_steps import Stamp, SwapSteps
from model.storage.update_operators import check_size, is_surely_taken
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Embedded(Layout):
    """Documents that contain their own history."""

    name = "embedded"
    about = "the current version and earlier ones in one document"
    where = "earlier versions in {prev}"
    roles = ("id", "current", "prev", "version", "token")
    further_keys = frozenset({"archive", "archive_id"})
    within = "current"
    overflows = True
    inside = ("version", "token", "at", "author", "reason")
    lacks = "no sub-document with a version, and an array of earlier ones, were found in it."

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        p = profile
        self.own = Own("", p.version, *stamp_names(p))  # the names inside a version
        self._current = CurrentDocuments(server, profile, self.own, inside=p.current)
        self.reader = self._history = EmbeddedHistory(
            self._current, partial(overflow_archive.versions, server, profile)
        )
        self._guard = VersionGuard(self._current)
        landing = Landing(self._history.landed_before, self._history.follows, self._history.history)
        self.writer = self._writer = CurrentWriter(server, self._current, self._guard, landing)

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """Proposes a sub-document, and an array of similar ones with lower versions."""
        from model.recognition import find_embedded

        return find_embedded.embedded(sample)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest sub-document and array."""
        from model.recognition import find_embedded

        return find_embedded.embedded(sample, wanted=True)

    def content(self, raw: bytes) -> bytes:
        """The users' part of the current version."""
        return self._current.content(raw)

    def document(self, raw: bytes) -> bytes:
        """The id, then the current version; without the array and other fields."""
        id = c.get(raw, (self.profile.id,))
        inside = [pair for pair in c.fields(self._current.part(raw)) if pair[0] != self.profile.id]
        return c.document([*([(self.profile.id, id)] if id is not None else []), *inside])

    def beside(self, raw: bytes) -> tuple[str, ...]:
        """The fields other than the current version, the array and another program's lock."""
        p = self.profile
        own = ("_id", p.id, p.current, p.prev, *p.lock_names)
        return tuple(name for name, _ in c.fields(raw) if name not in own)

    def parts(self, raw: bytes) -> list[Path]:
        """The sub-document, then the elements of the array."""
        p = self.profile
        prev = c.get(raw, (p.prev,))
        count = len(c.items(prev)) if prev is not None and prev.type == c.ARRAY else 0
        return [(p.current,), *((p.prev, at) for at in range(count))]

    def hashed_parts(self, ns: str, raw: bytes, id: Value | None) -> list[tuple[Path, bytes]]:
        """The hash of each version in the document."""
        inner = [(path, c.get(raw, path)) for path in self.parts(raw)]
        name = self.profile.hash
        return [((*path, name), self.own.content(v.data)) for path, v in inner if v and v.type == c.OBJECT]

    def sealed(self, id: Value | None, here: list[Sealed]) -> list[Sealed]:
        """The hashes of this document, which contains all its versions."""
        return here

    @property
    def check(self) -> SingleDocuments:
        """Checks each document by itself: the chain in its array."""
        elsewhere = partial(overflow_archive.numbers, self.server, self.profile)
        judge = partial(embedded_chain, FactReader(self.own, self.profile, ""), elsewhere=elsewhere)
        return SingleDocuments(
            self.server, self.profile, FactReader(Own(self.profile.id), self.profile, self.profile.id), judge
        )

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single guarded update of the current version and the array."""
        raw, old = self._check(base)
        p, physical, was = self.profile, guards.physical_id(raw), self._current.part(raw)
        v = v or numbering.following(base.v, p, stamp.at)
        values = self._writer.own_values(was, content, stamp, v)
        prefix = self._current.path("")
        new = partial(compose, was, self.own.names, content, values)
        if not is_surely_taken(raw, was, content):
            check_size(raw + new())  # the whole history has to fit into one document
        self.foreign.refuse_inside()
        moved = self.foreign.moved(raw)

        def made() -> bytes:
            past = c.get(raw, (p.prev,))
            # A missing array is no error: `$push` creates it.
            after = c.appended(past if past is not None and past.type == c.ARRAY else c.array(()), Value.document(was))
            whole = c.put(c.put(raw, (p.prev,), after), (p.current,), Value.document(new()))
            for name, value in moved.items():
                whole = c.put(whole, (name,), value)
            return whole

        push = {"$push": {p.prev: Value.document(was)}}
        where = guards.by_id(physical) | self._guard.clauses(base)
        edit = update_operators.operators(old, content)
        if edit is not None:
            body = push | edit.body(values, prefix)
            # One `$set` for both: a command must not name an operator twice, and a lock has to move with the content.
            body["$set"] = body.get("$set", {}) | moved
            return SwapSteps(Write(self.ns, "update", where | edit.guard(prefix), body, "the swap", returns=True), made)
        body = push | {"$set": {p.current: Value.document(new()), **moved}}
        # The whole sub-document is replaced, so a change in place would be lost: it must be as it was read. Only where
        # that is too much for one command do version and token guard it alone.
        unchanged = guards.nested(p.current, Value.document(was))
        if len(bson_of(unchanged)) + len(bson_of(body)) < guards.LARGEST:
            where = unchanged | where | {p.current: unchanged[p.current]}
        return SwapSteps(Write(self.ns, "update", where, body, "the swap", returns=True), made)

    def follows(self, id: Value, base: Version) -> Version | None:
        """The base if it was read with its array: that left with the document."""
        return base if base.raw is not None and base.content is not None else None

    def explain(self, base: Version) -> str:
        """What the update does, and its guard."""
        p = self.profile
        also = f" and {p.current}.{p.token} is unchanged" if p.token else " and the content is as it was read"
        return (
            f"One update moves {version_name(base.v)} to the end of {p.prev} and puts the new version in its place. It "
            f"applies only if {p.current}.{p.version} is still {version_name(base.v).removeprefix('v')}{also}."
        )

    def _new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The first version in a sub-document, plus an empty array."""
        p = self.profile
        values = {p.version: v} | self.own.stamped(stamp)
        stamped = [(name, value) for name, value in values.items() if value is not None]
        current = Value.document(c.document([*stamped, *c.fields(content)]))
        locks = self.foreign.first(self.server).items()
        raw = c.document([*self._writer.new_ids(id, stamp), (p.current, current), (p.prev, c.array([])), *locks])
        check_size(raw)
        return raw

    def _purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None) -> Outcome:
        """Delete the document; refused if the oldest versions are in a second collection."""
        if overflow_archive.numbers(self.server, self.profile, id):
            raise Refused(
                f"The oldest versions of {id_name(id)} are in {overflow_archive.place(self.profile)}, so the document "
                "alone is not a history; remove these rows with your own tools first, or delete the document."
            )
        return super()._purge(id, base, stamp, kept)

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """One document with all versions."""
        ids, current, past = self._history.whole(id, versions)
        raw = c.document([*ids, (self.profile.current, Value.document(current)), (self.profile.prev, past)])
        check_size(raw)
        return ((self.ns, raw),)
