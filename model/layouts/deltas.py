"""``deltas``: a document for every version, which holds only what that version changed.

Stored: ``{_id: <own>, docId, v, …changed fields whole…}``; the first version is the base. Later fields replace earlier
ones in place, new ones follow, null is a value. That a field is gone can be said only where the profile names a field
for removed paths. Index: a unique one on id and version, without which nothing is written.

The swap, step by step:

1. The versions are read and folded again; a newest version or a state other than the base's is a conflict.
2. The delta is worked out, and folded to see that it gives the new content byte for byte; where none does (a field
   goes, or moves, and there is no field for removed paths) the edit is refused.
3. The delta is inserted with the next number, and with the write token as its ``_id``; the unique index decides.

Crash points: before the insert nothing has happened, after it everything has. After a gap, or without a base, every
state is unproven: it is shown, and called so. A delete begins at the newest, so that what is left still folds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from model.errors import NotFound, Refused, Unreadable
from model.layouts import folded_page, numbering, stored_form
from model.layouts.base import Stamp
from model.layouts.checks.chains import Chains, Part
from model.layouts.checks.facts import FactReader
from model.layouts.checks.own_documents import own_documents
from model.layouts.delta_folding import Delta, Fold, delta_between, removed_by
from model.layouts.gaps import after, announced, are_times, loss, newest_first, outlined, with_gaps
from model.layouts.inserted import Inserted
from model.layouts.newest_query import NewestQuery
from model.layouts.outlines import outlines
from model.layouts.recognition import find_version_documents
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own, compose, content_hash, number_of, own_of, place_of
from model.layouts.update_operators import check_size
from model.names import id_name, version_name
from model.records import Outline, Row, Stored, Version
from model.server.retry import Port, Terms, Write
from model.values import canonical as c
from model.values.canonical import Value


@dataclass(frozen=True)
class _State:
    version: Version
    delta: Delta


class Deltas(Inserted):
    """Documents whose versions hold changes."""

    name = "deltas"
    about = "each version holds only what changed"
    roles = ("id", "version", "token", "removed")
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId"}
    lacks = "no field with a whole number and one with an id were found in it."
    stored: Stored = "delta"
    newest_goes_first = True

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest id and version."""
        return find_version_documents.wanted(server, sample, cls.name)

    @property
    def own(self) -> Own:
        """As ``versions``, and the list of removed paths."""
        return own_of(self.profile, self.profile.removed, self.claim)

    def content(self, raw: bytes) -> bytes:
        """The state that a stored version leads to."""
        id, v = c.get(raw, (self.profile.id,)), c.get(raw, (self.profile.version,))
        found = self.version(id, v).content if id is not None and v is not None else None
        return found if found is not None else self.own.content(raw)

    def document(self, raw: bytes) -> bytes:
        """The layout's own fields of a stored version, and the state that it leads to."""
        removed = self.profile.removed
        return compose(raw, self.own.names, self.content(raw), {removed: None} if removed else {})

    # --- versions

    def _states(self, id: Value) -> list[_State]:
        """The versions oldest first, each with what it changed; contents are not folded yet."""
        found = list(newest_first(self._made(raw) for raw in self._of(id)))
        states: list[_State] = []
        before, whole, proven = 0, "", True
        marks: list[int | None] = []  # what the versions under the number before are marked with as the next
        for version in reversed(found):
            number = number_of(version.v)
            place = place_of(version.v)
            twice = bool(states) and place is not None and place == place_of(states[-1].version.v)
            if number is not None and not twice:
                if after(before, marks, number) != number and not are_times(before, number):
                    proven, whole = False, "rebuilt without a base" if not before else "rebuilt over a gap"
                before, marks = number, []
            marks.append(announced(version, self.claim))
            delta = self._delta(version)
            if twice:
                differs = delta != states[-1].delta
                version = replace(version, state="damaged", detail="stored twice")
                if differs:
                    proven, whole = False, "rebuilt over a version stored twice"
            elif version.state == "present" and not proven:
                version = replace(version, state="unproven", detail=whole)
            if version.content is None:
                proven, whole = False, "rebuilt over a version that cannot be read"
            states.append(_State(version, delta))
        return states

    def _delta(self, version: Version) -> Delta:
        try:
            raw, name = version.raw or c.EMPTY, self.profile.removed
            fields = tuple(c.fields(self.own.content(raw)))
            removed = tuple(removed_by(c.get(raw, (name,)))) if name else ()
        except Unreadable:
            return Delta(())
        return Delta(fields, removed)

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The states by number, and those that are missing."""
        states = self._states(id)
        if not states:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns}; refresh the list.")
        for version in with_gaps(self._folded(states), loss(self.profile), self.claim):
            yield version if contents else replace(version, content=None, raw=None)

    def _folded(self, states: Sequence[_State]) -> Iterator[Version]:
        fold = Fold()
        for state in states:
            fold.apply(state.delta)
        for i, state in enumerate(reversed(states)):
            yield self._with_state(replace(state.version, current=i == 0), fold.content())
            fold.take_back()

    def _with_state(self, version: Version, content: bytes) -> Version:
        """The version with the state it leads to, in place of what it changed."""
        p = self.profile
        sealed = c.get(version.raw or c.EMPTY, (p.hash,)) if p.hash and version.content is not None else None
        damage = version.detail if not version.detail.startswith("hash") else ""
        if sealed is not None and not damage and sealed != Value.of(content_hash(content, p, sealed)):
            damage = "hash differs"
        state = version.state
        if version.detail.startswith("hash") or damage == "hash differs":
            state = "damaged" if damage else "present"
        readable = version.content is not None
        return replace(
            version,
            content=content if readable else None,
            hash=c.hash_of(content) if readable else None,
            bytes=len(content) if readable else None,
            state=state,
            detail=damage,
        )

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The newest state, or that of one version."""
        states = self._states(id)
        if not states:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")
        for version in self._folded(states):
            if v is None or v == version.v or (number_of(v) is not None and number_of(v) == number_of(version.v)):
                return version
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers of each document's versions; behind a gap they are unproven."""
        for outline in outlines(self.server, self.profile, self.own, ids, self.stored, checked=False, claim=self.claim):
            if all(state == "present" for _, state, _ in outline.marks):
                yield outline
                continue
            try:
                yield outlined(outline.id, list(self.history(outline.id)))
            except Refused:
                yield outline

    @property
    def check(self) -> Chains:
        """The deltas of each document, by id; where they carry hashes, the states that these are of."""
        p = self.profile
        reader = FactReader(self.own, replace(p, hash=""), p.id, claim=self.claim, beside=p.removed)
        return Chains(self.server, p, (Part(self.ns, reader),), own_documents, "D1", beyond=self._wrong_hashes)

    def _wrong_hashes(self, id: Value) -> dict[Value, str]:
        try:
            wrong = [each for each in self.history(id) if each.detail.startswith("hash")]
        except NotFound:  # deleted while it was looked at
            return {}
        return {each.v: each.detail for each in wrong if each.v is not None}

    # --- lists

    def page(
        self,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
    ) -> Iterator[Row]:
        """The newest state of each document that matches: states are rebuilt and looked at here, as no server can."""
        states = (raw for raw in self._looked_through(filter, any_version) if raw is not None)
        for place, raw in enumerate(folded_page.ordered(states, sort, self.profile.id)):
            if place >= skip + limit:
                return
            if place >= skip:
                yield self._row(folded_page.projected(raw, projection, self.own))

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents there are, rebuilt one by one where there is a filter; None where that takes too long."""
        if not filter:
            return super().count(None, any_version, max_ms)
        until = time.monotonic() + max_ms / 1000
        total = 0
        for raw in self._looked_through(filter, any_version):
            total += raw is not None
            if time.monotonic() > until:
                return None
        return total

    def _looked_through(self, filter: Terms | None, any_version: bool) -> Iterator[bytes | None]:
        """Every document's newest state, None where that, or any of its states, does not match."""
        matches = folded_page.matcher(filter)
        for key in NewestQuery(self.server, self.profile, self._newest).heads(None):
            id = c.get(key, (self.profile.id,))
            if id is None:
                continue
            try:
                versions = [v for v in self.history(id, contents=True) if v.content is not None]
            except NotFound:
                continue
            newest = self._whole(versions[0])
            others = versions[1:] if any_version else ()
            yield newest if matches(newest) or any(matches(self._whole(v)) for v in others) else None

    def _whole(self, version: Version) -> bytes:
        """A state as it is listed: the layout's own fields of the stored version, and the content."""
        return compose(version.raw or c.EMPTY, self.own.names, version.content or c.EMPTY, {})

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one insert, of what changed."""
        raw, old = self._check(base)
        p = self.profile
        v = v or numbering.following(base.v, p, stamp.at)
        delta = delta_between(old, content, bool(p.removed))
        if delta is None or any("." in name for name in delta.removed):
            raise Refused(_inexpressible(old, content, p.removed))
        values = self._own_values(stamp, v)
        if p.removed:
            values[p.removed] = c.array(Value.of(name) for name in delta.removed) if delta.removed else None
        if p.hash and (sealed := c.get(raw, (p.hash,))) is not None:
            values[p.hash] = Value.of(content_hash(content, p, sealed))
        new = compose(raw, self.own.names, c.document(delta.fields), values)
        check_size(new)
        return [Write(self.ns, "insert", {}, new, f"{version_name(v)} is inserted, with what changed")]

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The first version whole, and of each further one what it changed."""
        p, before = self.profile, c.EMPTY
        rows = []
        for version, v in zip(versions, stored_form.numbers(versions), strict=True):
            content = stored_form.content_of(version, self.own.names)
            delta = delta_between(before, content, bool(p.removed))
            if delta is None or any("." in name for name in delta.removed):
                raise Refused(f"{version_name(v)}: {_inexpressible(before, content, p.removed)}")
            pairs = [("_id", stored_form.key(id, version, v)), (p.id, id), *stored_form.stamps(p, id, version, v)]
            if delta.removed:
                pairs.append((p.removed, c.array(Value.of(name) for name in delta.removed)))
            rows.append((self.ns, stored_form.made(pairs, c.document(delta.fields))))
            before = content
        return tuple(rows)

    def explain(self, base: Version) -> str:
        """What the insert holds and rests on."""
        p = self.profile
        return (
            f"Only what differs from {version_name(base.v)} is inserted. The unique index on {p.id} and {p.version} "
            "lets one writer have the next number."
        )

    def _overtaken(self, id: Value, base: Version) -> bool:
        try:
            now = self.version(id)
        except NotFound:
            return True
        assert base.raw is not None
        return now.content != base.content or now.raw is None or not self._is(now.raw, base.raw)


def _inexpressible(old: bytes, new: bytes, removed: str) -> str:
    names = {name for name, _ in c.fields(new)}
    gone = [name for name, _ in c.fields(old) if name not in names]
    if gone and not removed:
        return (
            f"A delta cannot say that {gone[0]} is removed, as this collection has no field for removed paths; name "
            "one in a profile (removed), or set the field to null."
        )
    if gone:
        return f"The list of removed paths cannot name {gone[0]!r} without ambiguity; nothing was written."
    return "A delta cannot say that fields have moved: later versions only replace in place or add at the end."
