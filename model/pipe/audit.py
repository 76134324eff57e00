"""Compares what was acknowledged through a pipe with what is stored: edits lost or doubled, forks, tokens left."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct

from model.errors import NotFound, Refused
from model.foundation.findings import Finding, Unchecked
from model.layouts.registry import declared
from model.localserver.wire import Command
from model.mql.filters import compile_filter
from model.pipe.wire_record import Place, ToldChange, WireRecord, content, number_of
from model.profile import Profile
from model.session import Session
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

_KINDS = {
    "V1": "fork",
    "C1": "fork",
    "A3": "fork",
    "V2": "lost",
    "A4": "lost",
    "D1": "lost",
    "E1": "lost",
    "R1": "lost",
    "T1": "token",
    "T2": "token",
}
_RESIDUE = "A1"
"""What an edit leaves that died between its two writes. The next one takes it up, if the program knows how to."""
_BLOCKED = 3  # refused tries to archive one version, behind which nobody can save any more
_LATER = dt.timedelta(days=36_500)
"""A token that is left when the program has ended is left for good, whatever its age."""

_Known: TypeAlias = tuple[str, str, Value | None, tuple[Value, ...]]


class Wrong(Struct, frozen=True):
    """One thing that is wrong; ``kind`` is lost, doubled, fork, blocked, token, damage, or refused for what is there
    although the program said that it is not.
    """

    kind: str
    ns: str
    id: Value | None
    detail: str


class Audit:
    """Watches a pipe for the collections of a profile, and judges at the end. Damage from before is not counted."""

    def __init__(self, session: Session, profile: Profile) -> None:
        """Scans the collections; raises ``Refused`` if that is impossible."""
        self._session, self._profile = session, profile
        session.catalogue.accept()  # the program under test may contradict the profile, and that is the question
        self.seen = WireRecord(session, profile)
        self.unchecked: list[str] = []
        self._known = {_known(each) for each in self._findings()}

    def told(self, command: Command) -> bytes | None:
        """As :meth:`WireRecord.told`."""
        return self.seen.told(command)

    def begins(self, command: Command) -> None:
        """As :meth:`WireRecord.begins`."""
        self.seen.begins(command)

    def wrote(self, command: Command, reply: bytes, delivered: bool) -> None:
        """As :meth:`WireRecord.wrote`."""
        self.seen.wrote(command, reply, delivered)

    def wrong(self) -> list[Wrong]:
        """What is wrong now; raises ``Refused`` if the server cannot be asked."""
        found = [*self._versions(), *self._documents(), *self._damage(), *self._claims()]
        return list(dict.fromkeys(found))

    # --- what was acknowledged on the wire

    def _versions(self) -> Iterator[Wrong]:
        """Acknowledged versions that are not in the history, or were acknowledged to two."""
        there: dict[Place, list[Value | None]] = {}
        for made, times in self.seen.made.items():
            name, place = version_name(made.v), (made.ns, made.id)
            if place not in there:
                there[place] = self._present(*place)
            if times > 1:
                yield Wrong("fork", made.ns, made.id, f"{name} was acknowledged {times} times")
            if made.v not in there[place] and not self._may_be_deleted(*place):
                yield Wrong("lost", made.ns, made.id, f"{name} was acknowledged and is not in the history")
        for made in self.seen.rewritten:
            detail = f"{version_name(made.v)} was changed in the archive after it had been written"
            yield Wrong("lost", made.ns, made.id, detail)

    def _present(self, ns: str, id: Value) -> list[Value | None]:
        try:
            return [each.v for each in self._session.history.versions(ns, id) if each.state != "missing"]
        except NotFound:
            return []

    def _documents(self) -> Iterator[Wrong]:
        """Acknowledged inserts whose documents are gone."""
        for each in self.seen.inserted:
            key = c.get(each.raw, ("_id",))
            if key is None or self._session.documents.holds(each.ns, key) or self._was_deleted(each.ns, each.raw):
                continue
            of = self._profile.get(each.ns)
            id = c.get(each.raw, (of.id,)) if of is not None else key
            yield Wrong("lost", each.ns, id, f"the document {id_name(key)} was acknowledged and is gone")

    def _was_deleted(self, ns: str, raw: bytes) -> bool:
        return any(compile_filter(filter).matches(raw) for filter in self.seen.deleted.get(ns, ()))

    def _may_be_deleted(self, ns: str, id: Value) -> bool:
        """Whether a delete went through the pipe and nothing of a document is left."""
        return bool(self.seen.deleted.get(ns)) and content(self._session, (ns, id)) is None

    # --- what a scan finds

    def _damage(self) -> Iterator[Wrong]:
        for each in self._findings():
            if each.code == _RESIDUE:
                tries = [n for made, n in self.seen.refused.items() if (made.ns, made.id) == (each.ns, each.id)]
                if sum(tries) >= _BLOCKED:
                    detail = "the archive has the current version already, and the program saves nothing more"
                    yield Wrong("blocked", each.ns, each.id, detail)
            elif _known(each) not in self._known:
                yield Wrong(_KINDS.get(each.code, "damage"), each.ns, each.id, f"{each.code}: {each.detail}")

    def _findings(self) -> Iterator[Finding]:
        self.unchecked.clear()
        names = [each.ns for each in self._profile.collections if self._is_there(each.ns)]
        for each in self._session.scans.scan(names, now=dt.datetime.now(dt.UTC) + _LATER) if names else ():
            if isinstance(each, Unchecked):
                self.unchecked.append(f"{each.ns}: {each.why}")
            else:
                yield each

    def _is_there(self, ns: str) -> bool:
        try:
            self._session.catalogue.info(ns)
        except NotFound:
            return False
        return True

    # --- what the program told

    def _claims(self) -> Iterator[Wrong]:
        for place, claims in self.seen.claims.items():
            now = content(self._session, place)
            if now is None and self._may_be_deleted(*place):
                continue
            before = self.seen.before.get(place)
            for path in dict.fromkeys(claim.path for claim in claims):
                ours = [claim for claim in claims if claim.path == path]
                yield from self._sums(place, path, ours, before, now)
                yield from self._pushed(place, path, ours, before, now)
                yield from self._set(place, path, ours, before, now)

    def _sums(
        self, place: Place, path: str, claims: Sequence[ToldChange], before: bytes | None, now: bytes | None
    ) -> Iterator[Wrong]:
        """Sums that are below what was told, or above what can be."""
        claims = [claim for claim in claims if claim.way == "inc"]
        if not claims:
            return
        least = most = number_of(_at(before, path)) or 0
        for claim in claims:
            step = number_of(claim.value) or 0
            if claim.told == "applied":
                least, most = least + step, most + step
            elif claim.told == "unknown":
                least, most = min(least, least + step), max(most, most + step)
        found = number_of(_at(now, path)) or 0
        if not least <= found <= most:
            kind = "lost" if found < least else "doubled"
            should = f"{least:g}" if least == most else f"from {least:g} to {most:g}"
            yield Wrong(kind, *place, f"{path} is {found:g}, and by what was told it is {should}")

    def _pushed(
        self, place: Place, path: str, claims: Sequence[ToldChange], before: bytes | None, now: bytes | None
    ) -> Iterator[Wrong]:
        """Elements that are missing from an array, or there too often."""
        claims = [claim for claim in claims if claim.way == "push"]
        for value in dict.fromkeys(claim.value for claim in claims):
            ours = [claim.told for claim in claims if claim.value == value]
            least = _items(before, path).count(value) + ours.count("applied")
            most = least + ours.count("unknown")
            found = _items(now, path).count(value)
            if not least <= found <= most:
                kind = "lost" if found < least else "doubled" if ours.count("applied") else "refused"
                detail = f"{value.python()!r} is {_times(found)} in {path}, and by what was told {_times(least)}"
                yield Wrong(kind, *place, detail)

    def _set(
        self, place: Place, path: str, claims: Sequence[ToldChange], before: bytes | None, now: bytes | None
    ) -> Iterator[Wrong]:
        """Values that were told and stand nowhere, or were refused and stand somewhere."""
        claims = [claim for claim in claims if claim.way == "set"]
        there = _at(now, path)
        for claim in claims:
            alike = any(each.value == claim.value and each.told != "refused" for each in claims)
            others = any(each.value != claim.value and each.told != "refused" for each in claims)
            # Somebody else may have set it since then; then it has to stand in an earlier version.
            stands = there == claim.value or (others and claim.value in self._ever(place, path))
            if claim.told == "applied" and not stands:
                yield Wrong("lost", *place, f"{path} was told to be {claim.value.python()!r}, and that is lost")
            new = claim.told == "refused" and not alike and claim.value != _at(before, path)
            if new and claim.value in [there, *self._ever(place, path)]:
                detail = f"{path} was told not to become {claim.value.python()!r}, and it did"
                yield Wrong("refused", *place, detail)

    def _ever(self, place: Place, path: str) -> list[Value | None]:
        """The values of a field in all versions; just the claimed ones where no versions are kept."""
        history = self._session.history
        found = []
        for each in history.versions(*place) if content(self._session, place) is not None else ():
            if each.state == "present":
                found.append(_at(history.version(*place, each.v).content, path))
        of = self._profile.get(place[0])
        if of is not None and declared(of.layout).newest_alone:  # nothing tells what stood there in between
            found += [claim.value for claim in self.seen.claims[place] if claim.told == "applied"]
        return found


def _known(of: Finding) -> _Known:
    return of.code, of.ns, of.id, tuple(of.versions)


def _at(raw: bytes | None, path: str) -> Value | None:
    try:
        return None if raw is None else c.get(raw, tuple(path.split(".")))
    except Refused:
        return None


def _items(raw: bytes | None, path: str) -> list[Value]:
    found = _at(raw, path)
    return c.items(found) if found is not None and found.type == c.ARRAY else []


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
