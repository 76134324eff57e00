"""Documents that hold their own history in an array: how it is read, and how a write is found in it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from bson import ObjectId

from model.errors import NotFound, Unreadable
from model.layouts import numbering, stored_form
from model.layouts.base import Stamp
from model.layouts.current import CurrentDocument
from model.layouts.filter_rewriting import parted, together
from model.layouts.gaps import loss, newest_first, outlined, with_gaps
from model.layouts.reserved_fields import hash_damage, legible_field, made_version, number_of, place_of
from model.layouts.reserved_fields import version_damage as damage_of_type
from model.layouts.update_operators import check_size
from model.names import id_name, version_name
from model.records import Outline, Stored, Version
from model.server.retry import Terms
from model.values import canonical as c
from model.values.canonical import Value


class HoldsItsPast(CurrentDocument):
    """A layout whose earlier versions are in an array beside the current one; ``own`` is what it keeps in each."""

    @abstractmethod
    def _current(self, raw: bytes) -> bytes:
        """The current version in a stored document."""

    @abstractmethod
    def _holding(self, pairs: list[tuple[str, Value]], current: bytes, past: Value) -> bytes:
        """The stored document of a current version and an array of earlier ones; ``pairs`` come first."""

    @abstractmethod
    def _path(self, name: str) -> str:
        """Where a field of the current version is in the stored document."""

    def _inner(self, terms: Terms | None) -> Terms | None:
        """Terms of a filter as they are for the stored document."""
        return terms

    def _where(self, filter: Terms | None, any_version: bool) -> Terms | None:
        inner = self._inner(filter)
        if not (filter and inner and any_version):
            return inner
        ways: list[Terms] = [inner]
        for of_document, of_version in parted(filter, (self.profile.id, "_id")):
            if of_version:  # else the same holds of the current version
                ways.append({"$and": [*of_document, {self.profile.prev: {"$elemMatch": together(of_version)}}]})
        return {"$or": ways} if len(ways) > 1 else inner

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents match."""
        return self.server.count(self.ns, self._where(filter, any_version), max_ms)

    def _previous(self, raw: bytes) -> list[Value]:
        found = legible_field(raw, self.profile.prev)
        try:
            return c.items(found) if found is not None and found.type == c.ARRAY else []
        except Unreadable:
            return []

    def _part(self, version: bytes, stored: Stored, contents: bool = True) -> Version:
        return made_version(version, self.own, self.profile, stored, False, contents, (self.profile.token,))

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """One document with all of them."""
        p = self.profile
        names = self.own.names
        whole = [
            (stored_form.stamps(p, id, version, v), stored_form.content_of(version, names))
            for version, v in zip(versions, stored_form.numbers(versions), strict=True)
        ]
        past = c.array(Value.document(c.document([*own, *c.fields(content)])) for own, content in whole[:-1])
        own, content = whole[-1]
        pairs = [("_id", id)] if p.id == "_id" else [("_id", stored_form.lasting_key(id)), (p.id, id)]
        raw = self._holding(pairs, c.document([*own, *c.fields(content)]), past)
        check_size(raw)
        return ((self.ns, raw),)

    def history(self, id: Value, contents: bool = False) -> Iterator[Version]:
        """The current version, then the array from its end."""
        raw = self._raw(id)
        current = self._made(raw)
        for version in with_gaps(self._all(id, self._ordered(current, self._previous(raw))), loss(self.profile)):
            yield version if contents else replace(version, content=None, raw=None)

    def _all(self, id: Value, versions: Iterator[Version]) -> Iterator[Version]:
        """Versions newest first, and behind them those below that were moved out of the document."""
        lowest: int | None = None
        for version in versions:
            number = number_of(version.v)
            if number is not None and version.v is not None and version.v.type != c.DATE:
                lowest = number if lowest is None else min(lowest, number)
            yield version
        if lowest is not None and lowest > 1:
            yield from self._older(id, lowest)

    def _older(self, id: Value, below: int) -> Iterator[Version]:
        """Versions of a document that are kept elsewhere, newest first, below a number."""
        return iter(())

    def _ordered(self, current: Version, previous: Sequence[Value]) -> Iterator[Version]:
        yield current
        parts = [self._part(value.data if value.type == c.OBJECT else c.EMPTY, "prev") for value in previous]
        in_order = sorted(parts, key=lambda part: -(place_of(part.v) or 0))
        seen = {place_of(current.v)}
        for part in newest_first(in_order):
            place = place_of(part.v)
            if place is not None and place in seen and part.state == "present":
                part = replace(part, state="damaged", detail="stored twice")
            elif place is not None and part.state == "present" and (top := place_of(current.v)) and place > top:
                part = replace(part, state="damaged", detail="above the current version")
            seen.add(place)
            yield part

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The current version, or one out of the array."""
        raw = self._raw(id)
        current = self._made(raw)
        if v is None or _same(v, current.v):
            return current
        for value in self._previous(raw):
            if value.type == c.OBJECT and _same(v, legible_field(value.data, self.profile.version)):
                return self._part(value.data, "prev")
        number = number_of(v)
        for each in self._older(id, number + 1) if number is not None else ():
            if _same(v, each.v):
                return each
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers inside the documents; contents are read only where a hash can be checked."""
        if not ids:
            return
        p = self.profile
        names = [name for name in (p.version, p.hash) if name]
        keys = {p.id: 1} | {path: 1 for name in names for path in (self._path(name), f"{p.prev}.{name}")}
        found: dict[Value, bytes] = {}
        for raw in self.server.find(self.ns, {p.id: {"$in": list(ids)}}, projection=keys):
            id = c.get(raw, (p.id,))
            if id is not None:
                found[id] = raw
        for id in ids:
            raw = found.get(id, b"")
            yield outlined(id, [] if not raw else list(with_gaps(self._all(id, self._lightly(id, raw)), loss(p))))

    def _lightly(self, id: Value, raw: bytes) -> Iterator[Version]:
        p = self.profile
        if p.hash and any(
            part.type == c.OBJECT and legible_field(part.data, p.hash) is not None
            for part in (Value.document(self._current(raw)), *self._previous(raw))
        ):
            raw = self._raw(id)
            return self._ordered(self._made(raw), self._previous(raw))
        current = self._light(self._current(raw), "document")
        parts = [
            self._light(value.data if value.type == c.OBJECT else c.EMPTY, "prev") for value in self._previous(raw)
        ]
        return self._in_light(replace(current, current=True), parts)

    def _light(self, version: bytes, stored: Stored) -> Version:
        v = legible_field(version, self.profile.version)
        damage = damage_of_type(v) or hash_damage(c.EMPTY, c.EMPTY, self.profile)
        return Version(v, None, None, stored, "damaged" if damage else "present", False, None, None, damage)

    def _in_light(self, current: Version, parts: list[Version]) -> Iterator[Version]:
        yield current
        seen = {place_of(current.v)}
        for part in sorted(parts, key=lambda part: -(place_of(part.v) or 0)):
            place = place_of(part.v)
            twice = place is not None and place in seen and part.state == "present"
            seen.add(place)
            yield replace(part, state="damaged", detail="stored twice") if twice else part

    def _next(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        proposed = numbering.following(base.v, self.profile, stamp.at)
        return numbering.draw(self.server, self.profile, id, proposed)

    def _first(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return numbering.draw(self.server, self.profile, id, numbering.first(self.profile, stamp.at))

    def _follows(self, raw: bytes, base: Version) -> bool:
        """A later version has the base, by its token, among those before it."""
        token, name = self._token_of(base.raw or c.EMPTY), self.profile.token
        return token is not None and any(
            c.get(value.data, (name,)) == token for value in self._previous(raw) if value.type == c.OBJECT
        )

    def _token_of(self, raw: bytes) -> Value | None:
        """The token of a stored document's current version."""
        return c.get(self._current(raw), (self.profile.token,)) if self.profile.token else None

    def _landed_before(self, id: Value, token: ObjectId, base: Version | None, now: bytes | None) -> bool | None:
        if now is None:
            return None
        p = self.profile
        previous = [value.data for value in self._previous(now) if value.type == c.OBJECT]
        if any(c.get(each, (p.token,)) == Value.of(token) for each in previous):
            return True
        was = self._token_of(base.raw) if base is not None and base.raw is not None else None
        if base is not None and was not in (None, self._token_of(now)) and not self._follows(now, base):
            return None  # another life of this id, or a history that was cut
        number = number_of(base.v) if base is not None else None
        if number is None:
            return False
        current = number_of(c.get(self._current(now), (p.version,)))
        numbers = {current, *(number_of(c.get(each, (p.version,))) for each in previous)}
        return False if number + 1 in numbers or current == number else None


def _same(a: Value, b: Value | None) -> bool:
    return a == b or (number_of(a) is not None and number_of(a) == number_of(b))
