"""Deltas read as states: each is folded from the first version on."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain, islice

from msgspec import Struct

from model.errors import NotFound, Refused, Unreadable
from model.foundation import kept_files
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Contents, Outline, Row, Version
from model.server.retry import Terms
from model.storage import folded_page
from model.storage.content_hashes import Sealed, fits, hash_trouble
from model.storage.delta_folding import Delta, Fold, folded, newest_states, rebuilt, removed_by
from model.storage.delta_snapshots import LONG, DeltaSnapshots
from model.storage.field_reader import FieldReader
from model.storage.gaps import after, announced, are_times, loss, newest_first, outlined, with_gaps
from model.storage.kept_states import AGAIN, KeptHistory, StatesOf, kept_from
from model.storage.newest_query import TOGETHER, PageQuery
from model.storage.outlines import outlines
from model.storage.reserved_fields import (
    MARK,
    SAID,
    WHOLE_NUMBERS,
    compose,
    legible_field,
    number_of,
    place_of,
    same_version,
)
from model.storage.version_documents import VersionDocuments
from model.storage.version_pages import PAGE
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

STATE_WHOLE = 'state after_gap = "whole" in a profile'


class _State(Struct, frozen=True):
    version: Version
    delta: Delta


class DeltaStates:
    """The states of a collection whose documents each hold the changes of one version."""

    def __init__(self, documents: VersionDocuments) -> None:
        self.documents, self.own = documents, documents.own
        self.server, self.profile, self.ns = documents.server, documents.profile, documents.ns
        p = documents.profile
        self._number = FieldReader(p.version)
        self._judged = [c.name_bytes(name) + b"\x00" for name in (p.deleted, p.hash) if name]
        """Names of fields that make a version special: with one of them, number and other fields do not tell all."""
        self._removes = c.name_bytes(p.removed) + b"\x00" if p.removed else b""
        self._snapshots: DeltaSnapshots | None = None  # of the long history read last

    def exists(self, *ids: Value) -> bool:
        """Whether there is a version of a document with exactly one of these ids."""
        return self.documents.exists(*ids)

    def identity(self, version: Version) -> bytes:
        """The number of the newest version: the next one can be inserted after it, even if it changes in place."""
        return self.documents.identity(version)

    def overtaken(self, id: Value, base: Version) -> bool:
        """Whether the newest version is no longer the base, or has another state."""
        try:
            now = self._newest(id)
        except NotFound:
            return True
        # The state too: a change in place of any earlier delta changes what the newest version means.
        return now.content != base.content or not self.documents.is_same(now.raw, base.raw)

    def whole(self, version: Version) -> bytes:
        """A state for lists: the layout's own fields of the stored version, plus the content."""
        return compose(version.raw or c.EMPTY, self.own.names, version.content or c.EMPTY, {})

    # --- versions

    def _states(self, stored: Iterable[bytes]) -> list[_State]:
        """The versions oldest first, each with its changes, not folded yet."""
        found = list(newest_first(map(self.documents.made, stored)))
        states: list[_State] = []
        before, whole, proven = 0, "", True
        names: set[str] = set()  # of the state so far
        marks: list[int | None] = []  # the next numbers with which the versions of the previous number are marked
        for version in reversed(self._ended(found)):
            number = number_of(version.v)
            place = place_of(version.v)
            twice = bool(states) and place is not None and place == place_of(states[-1].version.v)
            # A tombstone ends the state, so what follows does not depend on anything before it.
            if version.deleted and not twice:
                proven, whole = True, ""
            delta = self._delta(version)
            if number is not None and not twice:
                if not version.deleted and after(before, marks, number) != number and not are_times(before, number):
                    proven, whole = self._is_checkpoint(delta, names), _unproven(before)
                before, marks = number, []
            # Kept until the next number comes: a version that is stored twice may be marked in one of its copies only.
            marks.append(announced(version, self.documents.claim))
            if twice:
                differs = delta != states[-1].delta
                version = version.but(state="damaged", detail="stored twice")
                if differs:
                    proven, whole = False, "rebuilt over a version stored twice"
            elif version.state == "present" and not proven:
                version = version.but(state="unproven", detail=whole)
            if version.content is None:
                proven, whole = False, "rebuilt over a version that cannot be read"
            states.append(_State(version, delta))
            names = set() if delta.ends else names - set(delta.removed) | {name for name, _ in delta.fields}
        return states

    def _is_checkpoint(self, delta: Delta, names: Collection[str]) -> bool:
        """Whether a version after missing numbers holds its whole state: a profile says so, and nothing speaks against
        it.

        A whole state sets each field of the state before the gap, or removes it.
        """
        return self.profile.after_gap == "whole" and set(names) <= {*delta.removed, *(name for name, _ in delta.fields)}

    def checkpoint(self, versions: Sequence[Version], kept: int) -> bytes:
        """The stored document of ``versions[kept]`` (newest first) with its whole state, so that all older ones can go.

        States stay byte for byte the same while the older ones go, the newest first. Raises ``Refused`` if this cannot
        be stored, or if the states would not be proven any more.
        """
        version = versions[kept]
        if version.state != "present":
            raise Refused(f"{version_name(version.v)} is {version.state}, so it cannot be stored whole.")
        raw, state = version.raw or c.EMPTY, version.content or c.EMPTY
        stored = [each.raw for each in reversed(versions[kept + 1 :]) if each.raw is not None]
        # A tombstone needs nothing before it.
        made = raw if version.deleted else self._made_whole(raw, state, stored, version_name(version.v))
        above = [each for each in versions[:kept] if each.state != "missing"]
        after = list(self._folded(self._states([*(each.raw or c.EMPTY for each in above), made])))
        if [(each.content, each.state) for each in after] != [(it.content, it.state) for it in [*above, version]]:
            raise Refused(
                f"{version_name(version.v)} could be stored whole, but nothing would show that it is: {STATE_WHOLE}."
            )
        return made

    def _made_whole(self, raw: bytes, state: bytes, older: Sequence[bytes], name: str) -> bytes:
        """A stored version with its whole state, whichever of the ``older`` ones (oldest first) are still there."""
        p, deltas = self.profile, [self._delta(self.documents.made(each)) for each in older]
        fields = tuple(c.fields(state))
        if self._is_same_over(deltas, Delta(fields), state):
            return compose(raw, self.own.names, state, {p.removed: None} if p.removed else {})
        # A field that an older version sets and this state lacks, or has at another place, is removed by name first.
        names = dict.fromkeys(each for delta in deltas for each, _ in delta.fields)
        if p.removed and not any("." in each for each in names):
            listed = c.array(map(Value.of, names))
            if self._is_same_over(deltas, Delta(fields, tuple(names)), state):
                return compose(raw, self.own.names, state, {p.removed: listed})
        raise Refused(f"{name} cannot be stored whole, as no list of removed paths can name what is gone by then.")

    def _is_same_over(self, deltas: Sequence[Delta], whole: Delta, state: bytes) -> bool:
        """Whether a delta leads to a state from each of the states before it, and from none."""
        fold = Fold()
        for delta in [None, *deltas]:
            if delta is not None:
                fold.apply(delta)
            fold.apply(whole)
            if fold.content() != state:
                return False
            fold.take_back()
        return True

    def _ended(self, newest_first: list[Version]) -> list[Version]:
        """The versions with true tombstones only: if the next version resets the marker, it was no tombstone.

        An application may set a flag of its own to true and back to false; its state then continues. A second
        tombstone resets nothing: here the version that created the document again is missing.
        """
        name = self.profile.deleted
        told: list[Version] = []
        for version in newest_first:
            after = told[-1].raw if told else None
            if version.deleted and after is not None and legible_field(after, name) not in (None, MARK):
                version = version.but(deleted=False, detail=version.detail.removesuffix(SAID).removesuffix("; "))
            told.append(version)
        return told

    def _delta(self, version: Version) -> Delta:
        if version.deleted:
            return Delta((), ends=True)
        try:
            return self._changes(version.raw or c.EMPTY)
        except Unreadable:
            return Delta(())

    def _changes(self, raw: bytes) -> Delta:
        """The changes of a stored version that is not a tombstone; raises ``Unreadable``."""
        name = self.profile.removed
        fields = tuple(c.fields(self.own.content(raw)))
        return Delta(fields, tuple(removed_by(c.get(raw, (name,)))) if name else ())

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The states by number, with entries for missing ones."""
        stored = list(self.documents.of(id, whole=True))
        if not stored:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns}; refresh the list.")
        yield from self._all(stored, contents)

    def _all(self, stored: Sequence[bytes], contents: Contents) -> Iterator[Version]:
        versions = self._undoubted(stored) or self._folded(self._states(stored))
        for version in with_gaps(versions, loss(self.profile), self.documents.claim):
            yield version if contents else version.without_content()

    def _undoubted(self, stored: Sequence[bytes]) -> Iterator[Version] | None:
        """The versions with their states, each made on request; None if a version needs closer examination."""
        try:
            if (snapshots := self._snapshots_of(stored)) is not None:
                states = snapshots.newest_states(stored)
            elif not self._newest_number(stored) or self._remove_fields(stored):
                return None
            else:
                states = newest_states(reversed(stored), self.own.names)
            newest = next(states)
        except Unreadable:
            return None
        # The first state was made above, so that damage shows before anything is yielded.
        pairs = zip(stored, chain([newest], states), strict=True)
        return (self._with_state(self.documents.made(raw), state, raw is stored[0]) for raw, state in pairs)

    def _folded(self, states: Sequence[_State]) -> Iterator[Version]:
        # Folded upwards once, then taken back step by step: each state downwards costs only its own changes.
        fold = Fold()
        for state in states:
            fold.apply(state.delta)
        for i, state in enumerate(reversed(states)):
            current = i == 0 and not state.version.deleted
            yield self._with_state(state.version, fold.content(), current)
            fold.take_back()

    def _with_state(self, version: Version, content: bytes, current: bool) -> Version:
        """The version with the state that it leads to, in place of its changes."""
        p = self.profile
        sealed = c.get(version.raw or c.EMPTY, (p.hash,)) if p.hash and version.content is not None else None
        damage = version.detail if not version.detail.startswith("hash") else ""
        trouble = hash_trouble(Sealed(content, sealed), p) if sealed is not None and not damage else ""
        state = version.state
        if state == "unproven" and sealed is not None and _proves(Sealed(content, sealed), p):
            state, damage = "present", ""
        if version.detail.startswith("hash") or trouble:
            damage = damage or trouble
            state = "damaged" if damage else "present"
        readable = version.content is not None
        return version.but(
            current=current,
            content=content if readable else None,
            hash=c.hash_of(content) if readable else None,
            bytes=len(content) if readable else None,
            state=state,
            detail=damage,
        )

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The newest state, or the state of one version."""
        return self._version_in(self._of(id), id, v)

    def _version_in(self, stored: Sequence[bytes], id: Value, v: Value | None) -> Version:
        found = self._rebuilt(stored, v)
        if found is None:
            states = self._folded(self._states(stored))
            found = next((each for each in states if v is None or same_version(v, each.v)), None)
        if found is None:
            raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")
        if v is None and found.deleted:
            raise self.documents.gone(id, found.raw or c.EMPTY)
        return found

    def _of(self, id: Value) -> list[bytes]:
        """The stored versions of a document, highest number first; raises ``NotFound`` if there are none."""
        stored = list(self.documents.of(id, whole=True))
        if not stored:
            raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")
        return stored

    def _newest(self, id: Value) -> Version:
        """The newest state, which may be a tombstone's."""
        stored = self._of(id)
        return self._rebuilt(stored, None) or next(self._folded(self._states(stored)))

    def _rebuilt(self, stored: Sequence[bytes], v: Value | None) -> Version | None:
        """The state of version ``v``, or of the newest if ``v`` is None, by way of :meth:`_single_state`."""
        if (told := self._single_state(stored, v)) is None:
            return None
        raw, content = told
        return self._with_state(self.documents.made(raw), content, raw is stored[0])

    def _single_state(self, stored: Sequence[bytes], v: Value | None) -> tuple[bytes, bytes] | None:
        """A stored version and its state, computed without looking at other states.

        None if anything in the history is doubtful (a tombstone or hash, for example), so that all of it must be
        examined.
        """
        try:
            snapshots = self._snapshots_of(stored)
            newest = len(stored) if snapshots is not None else self._newest_number(stored)
            place = 0 if v is None else newest - (number_of(v) or 0)
            if not (newest and 0 <= place < len(stored)):
                return None
            if snapshots is not None:
                return stored[place], snapshots.state(stored, newest - place)
            # From the oldest version up to the wanted one: ``stored`` begins with the newest.
            rows = stored[: place - 1 if place else None : -1]
            removing = self._remove_fields(rows)
            content = folded(map(self._changes, rows)) if removing else rebuilt(rows, self.own.names)
        except Unreadable:
            return None
        return stored[place], content

    def _snapshots_of(self, stored: Sequence[bytes]) -> DeltaSnapshots | None:
        """The snapshots of a long history without doubts and removed fields; raises ``Unreadable``."""
        if len(stored) < LONG:
            return None
        known = self._snapshots
        if known is None or not known.are_of(stored):
            if self._newest_number(stored) != len(stored) or self._remove_fields(stored):
                return None
            known = self._snapshots = DeltaSnapshots.of(stored, self.own.names)
        return known

    def _remove_fields(self, rows: Iterable[bytes]) -> bool:
        """Whether any of some stored versions may list removed fields."""
        return bool(self._removes) and any(self._removes in raw for raw in rows)

    def _newest_number(self, stored: Sequence[bytes]) -> int:
        """The newest number of versions that count down to their first without gaps and hold nothing special, else 0.

        The first is number 1, or any where a version after missing ones is whole. Raises ``Unreadable``.
        """
        newest = len(stored)
        if self.profile.after_gap and stored:
            newest = max(number_of(legible_field(stored[0], self.profile.version)) or 0, newest)
        return newest if self._count_up(stored[::-1], newest - len(stored) + 1) else 0

    def _count_up(self, rows: Iterable[bytes], number: int) -> bool:
        """Whether stored versions, oldest first, count up from a number and hold nothing special.

        Raises ``Unreadable``.
        """
        for raw in rows:
            (at,) = self._number.spans(raw)
            # The bytes of a name may also be part of a value; that only costs the closer look.
            if at is None or at[0] not in WHOLE_NUMBERS or any(mark in raw for mark in self._judged):
                return False
            if int.from_bytes(raw[at[1] : at[2]], "little", signed=True) != number:
                return False
            number += 1
        return True

    # --- to be looked at: from kept states

    def seen(self, id: Value, v: Value | None, kept: StatesOf) -> Version:
        """A version as :meth:`version` returns it, from a kept state near it if there is one: it then says so."""
        known = kept.get(id)
        if known is not None and (found := self._near(id, v, known)) is not None:
            return found
        stored = self._of(id)
        self._keep(id, stored, kept, known, anew=True)
        return self._version_in(stored, id, v)

    def seen_history(self, id: Value, contents: Contents, kept: StatesOf, early: bool) -> Iterator[Version]:
        """The states as :meth:`history` returns them; the newest come ``early`` from a kept state, and say so.

        Who goes on after these gets all versions read: if they are not those that the state was made from, what came
        before is not true. Raises ``Refused`` then.
        """
        known = kept.get(id)
        base = known.below(known.highest - PAGE) if known is not None and early else 0
        first = known.state(base) if known is not None and base > 0 else None
        above = self._above(id, base, known.step + LONG, known) if known is not None and first is not None else None
        if known is None or first is None or above is None:
            stored = self._of(id)
            self._keep(id, stored, kept, known)
            yield from self._all(stored, contents)
            return
        states = newest_states(above[1:], self.own.names, first)
        for raw, state in zip(reversed(above), chain(states, [first]), strict=True):
            found = self._with_state(self.documents.made(raw), state, raw is above[-1])
            yield (found if contents else found.without_content()).but(kept_on=known.moment)
        stored = list(self.documents.of(id, whole=True))
        newer = len(stored) - base - len(above) + 1
        is_same = newer >= 0 and stored[newer : newer + len(above)] == above[::-1] and known.is_of(stored)
        self._keep(id, stored, kept, known)
        if not is_same:
            raise Refused(f"{self._changed(id, known)} The newest may have been shown otherwise; read it again.")
        whole = self._undoubted(stored) or self._folded(self._states(stored))
        for found in islice(whole, newer + len(above), None):
            yield found if contents else found.without_content()

    def _keep(
        self, id: Value, stored: Sequence[bytes], kept: StatesOf, known: KeptHistory | None, anew: bool = False
    ) -> None:
        """Keep the states of a long history that was read whole, unless they were kept just now; ``anew``, even then.

        If it is not what the known ones were made from, that is told.
        """
        if known is not None and known.is_of(stored):
            if not anew and time.time() - known.at < AGAIN and len(stored) - known.highest < LONG // 2:
                return
        elif known is not None:
            kept.forget(id)
            kept_files.notices.tell(f"{self._changed(id, known)} What was kept of it then is not used any more.")
        try:
            if self._snapshots_of(stored) is not None:
                kept.keep(id, kept_from(stored, self.own.names, time.time()))
        except Unreadable:
            return

    def _changed(self, id: Value, known: KeptHistory) -> str:
        since = f"{known.moment:%Y-%m-%d %H:%M} UTC"
        return f"Earlier versions of {id_name(id)} in {self.ns} were changed or removed since {since}."

    def _near(self, id: Value, v: Value | None, known: KeptHistory) -> Version | None:
        """A version by the nearest kept state below it; None if all versions must be read to tell."""
        number = None if v is None else number_of(v)
        if v is not None and (number is None or v.type not in WHOLE_NUMBERS or number < 1):
            return None
        base = known.highest if number is None else known.below(number)
        if (state := known.state(base)) is None:
            return None
        rows = self._above(id, base, known.step + LONG if number is None else number - base + 1, known)
        if rows is None:
            return None
        wanted = len(rows) - 1 if number is None else number - base - (base == 0)
        if not 0 <= wanted < len(rows):
            return None
        try:
            content = rebuilt(rows[base > 0 : wanted + 1], self.own.names, state)
        except Unreadable:
            return None
        # One row more was asked for: without it this is the newest.
        found = self._with_state(self.documents.made(rows[wanted]), content, wanted == len(rows) - 1)
        return found.but(kept_on=known.moment)

    def _above(self, id: Value, base: int, most: int, known: KeptHistory) -> list[bytes] | None:
        """The stored versions from number ``base`` on, and at most ``most`` further ones; oldest first.

        None if the version with that number is not the one with which the state was kept, if anything in them is in
        doubt, or if there are more than a kept state is good for.
        """
        p, first = self.profile, max(base, 1)
        where = {p.id: {"$eq": id}, p.version: {"$gte": first}}
        order = {p.id: 1, p.version: 1}
        if most > known.step + LONG:
            return None
        rows = list(self.server.find(self.ns, where, sort=order, limit=most + 1))
        try:
            sound = 0 < len(rows) <= known.step + LONG and self._count_up(rows, first)
            if not sound or self._remove_fields(rows) or any(c.get(raw, (p.id,)) != id for raw in rows):
                return None
        except Unreadable:
            return None
        return rows if known.holds(first, rows) else None

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers of each document's versions; those after a gap are unproven."""
        for outline in outlines(
            self.server, self.profile, self.own, ids, "delta", checked=False, claim=self.documents.claim
        ):
            if all(state == "present" for _, state, _ in outline.marks):
                yield outline
                continue
            try:
                yield outlined(outline.id, list(self.history(outline.id)))
            except Refused:
                yield outline

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The newest state of each matching document. States are built and filtered here, as no server can."""
        together = max(1, min(query.skip + query.limit, TOGETHER))
        found = self._looked_through(query.filter, query.any_version, together)
        states = (raw for raw in found if raw is not None)
        for place, raw in enumerate(folded_page.ordered(states, query.sort, self.profile.id)):
            if place >= query.skip + query.limit:
                return
            if place >= query.skip:
                yield self.documents.row(folded_page.projected(raw, query.projection, self.own))

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of documents, built one by one if there is a filter; None if that takes too long."""
        if not filter:
            return self.documents.count(max_ms=max_ms)
        until = time.monotonic() + max_ms / 1000
        total = 0
        for raw in self._looked_through(filter, any_version):
            total += raw is not None
            if time.monotonic() > until:
                return None
        return total

    def _looked_through(
        self, filter: Terms | None, any_version: bool, together: int = TOGETHER
    ) -> Iterator[bytes | None]:
        """The newest state of every document; None if it (with ``any_version``: every state) does not match."""
        matches = folded_page.matcher(filter)
        for stored in self._stored(together):
            if not any_version and (told := self._single_state(stored, None)) is not None:
                newest = compose(told[0], self.own.names, told[1], {})
                yield newest if matches(newest) else None
                continue
            # A version that cannot be read has no state, so it cannot match.
            versions = (v for v in self._folded(self._states(stored)) if v.content is not None)
            first = next(versions, None)
            if first is None:
                continue
            if first.deleted and not any_version:
                yield None
                continue
            newest = self.whole(first)
            found = matches(newest) or (any_version and any(matches(self.whole(v)) for v in versions))
            yield newest if found else None

    def _stored(self, together: int) -> Iterator[list[bytes]]:
        """The stored versions of each document, highest number first, in the order of the ids."""
        heads = self.documents.heads.heads(None, wanted=together)
        ids = (id for key in heads if (id := c.get(key, (self.profile.id,))) is not None)
        while chunk := list(islice(ids, together)):
            yield from self.documents.of_each(chunk)


def _unproven(before: int) -> str:
    """Why a version after missing numbers is not proven; ``before`` is the number below them, or 0."""
    return "rebuilt over a gap" if before else "rebuilt without a base"


def _proves(seal: Sealed, profile: CollectionProfile) -> bool:
    """Whether a stored hash proves a content as a whole."""
    partly = profile.hash_include or profile.hash_exclude or profile.hash_doubt
    return not partly and fits(seal, profile)
