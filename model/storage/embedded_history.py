"""Documents that contain their own history in an array: reading it, and finding a write in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bson import ObjectId
from msgspec.structs import replace

from model.errors import NotAllowed, NotFound, Refused, Unreachable, Unreadable
from model.foundation.records import Contents, Outline, Row, Stored, Version
from model.server.retry import Terms
from model.storage import stored_form
from model.storage.content_hashes import hash_damage
from model.storage.current_documents import CurrentDocuments
from model.storage.filter_rewriting import parted, renamed, together
from model.storage.gaps import loss, newest_first, outlined, with_gaps
from model.storage.newest_query import PageQuery, truthy, with_own
from model.storage.reserved_fields import Own, legible_field, number_of, place_of, same_version
from model.storage.reserved_fields import version_damage as damage_of_type
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value


class EmbeddedHistory:
    """The current version of each document, followed by the array of earlier versions inside it.

    ``older`` returns versions below a number that were moved out of the document, newest first.
    """

    def __init__(
        self, current: CurrentDocuments, older: Callable[[Value, int], Iterator[Version]] = lambda *_: iter(())
    ) -> None:
        self.current, self._older = current, older
        self.server, self.profile, self.ns = current.server, current.profile, current.ns

    def exists(self, *ids: Value) -> bool:
        """Whether there is a document with exactly one of these ids."""
        return self.current.exists(*ids)

    def identity(self, version: Version) -> bytes:
        """The bytes by which a version is recognised as unchanged."""
        return self.current.identity(version)

    # --- lists

    def page(self, query: PageQuery) -> Iterator[Row]:
        """The documents whose current version matches, without their arrays; names refer to the current version."""
        where = self._where(query.filter, query.any_version)
        return self.current.rows(where, query, self._fields(query.projection), self._inner(query.sort))

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """The number of matching documents; None if counting takes too long."""
        return self.server.count(self.ns, self._where(filter, any_version), max_ms)

    def _fields(self, projection: Terms | None) -> Terms:
        p, here = self.profile, self.current
        if not here.inside:
            fields = dict(with_own(projection, replace(here.own, others=())) or {})
            # A projection without the version excludes fields, or is empty.
            return fields if p.version in fields else {**fields, p.prev: 0}
        wanted = with_own(self._inner(projection), Own(p.id), p.current) if projection else None
        if wanted is not None and any(truthy(value) for name, value in wanted.items() if name != "_id"):
            kept = {name: value for name, value in wanted.items() if name != p.current}
            return kept | {here.path(name): 1 for name in sorted(here.own.names - {"_id"})}
        return {**(wanted or {}), p.prev: 0}

    def _inner(self, terms: Terms | None) -> dict[str, Any] | None:
        """Terms with each name replaced by its path in the stored document."""
        p, here = self.profile, self.current
        if not here.inside:
            return dict(terms) if terms else None
        outside = (p.id, "_id", p.current, p.prev)
        return renamed(terms, lambda name: name if name.partition(".")[0] in outside else here.path(name))

    def _where(self, filter: Terms | None, any_version: bool) -> Terms | None:
        inner = self._inner(filter)
        if not (filter and inner and any_version):
            return inner
        ways: list[Terms] = [inner]
        for of_document, of_version in parted(filter, (self.profile.id, "_id")):
            if of_version:  # else the condition is about the current version
                # One element has to meet all of it: separate clauses would be met by several versions together.
                ways.append({"$and": [*of_document, {self.profile.prev: {"$elemMatch": together(of_version)}}]})
        return {"$or": ways} if len(ways) > 1 else inner

    # --- versions

    def previous(self, raw: bytes) -> list[Value]:
        """The elements of a stored document's array, as stored."""
        found = legible_field(raw, self.profile.prev)
        try:
            return c.items(found) if found is not None and found.type == c.ARRAY else []
        except Unreadable:
            return []

    def history(self, id: Value, contents: Contents = False) -> Iterator[Version]:
        """The current version, then the array from its end."""
        raw = self.current.raw(id)
        current = self.current.made(raw)
        for version in with_gaps(self._all(id, self._ordered(current, self.previous(raw))), loss(self.profile)):
            yield version if contents else version.without_content()

    def _all(self, id: Value, versions: Iterator[Version]) -> Iterator[Version]:
        """Versions newest first, followed by lower ones that were moved out of the document."""
        lowest: int | None = None
        for version in versions:
            number = number_of(version.v)
            if number is not None and version.v is not None and version.v.type != c.DATE:
                lowest = number if lowest is None else min(lowest, number)
            yield version
        # Only then: the second collection is rarely there, and asking it would cost each history a query.
        if lowest is not None and lowest > 1:
            yield from self._older(id, lowest)

    def _ordered(self, current: Version, previous: Sequence[Value]) -> Iterator[Version]:
        yield current
        parts = [
            self.current.version_of(value.data if value.type == c.OBJECT else c.EMPTY, "prev") for value in previous
        ]
        # By number, not by place: a program may have put versions into the array in any order.
        in_order = sorted(parts, key=lambda part: -(place_of(part.v) or 0))
        seen = {place_of(current.v)}
        for part in newest_first(in_order):
            place = place_of(part.v)
            if place is not None and place in seen and part.state == "present":
                part = part.but(state="damaged", detail="stored twice")
            elif place is not None and part.state == "present" and (top := place_of(current.v)) and place > top:
                part = part.but(state="damaged", detail="above the current version")
            seen.add(place)
            yield part

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The current version, or one from the array."""
        if v is not None and (earlier := self._earlier(id, v)) is not None:
            return self.current.version_of(earlier, "prev")
        raw = self.current.raw(id)
        current = self.current.made(raw)
        if v is None or same_version(v, current.v):
            return current
        for value in self.previous(raw):
            if value.type == c.OBJECT and same_version(v, legible_field(value.data, self.profile.version)):
                return self.current.version_of(value.data, "prev")
        number = number_of(v)
        for each in self._older(id, number + 1) if number is not None else ():
            if same_version(v, each.v):
                return each
        raise NotFound(f"{id_name(id)} has no version {version_name(v)} in {self.ns}.")

    def _earlier(self, id: Value, v: Value) -> bytes | None:
        """The array's only element with this number; None if there are several, or the current version has it."""
        p, version = self.profile, self.current.path(self.profile.version)
        element = {"$elemMatch": {p.version: {"$eq": v}}}
        keys = {p.id: 1, version: 1, p.prev: element}
        try:
            found = list(self.server.find(self.ns, {p.id: {"$eq": id}}, projection=keys, limit=2))
        except (Unreachable, NotAllowed):
            raise
        except Refused:  # a server that does not support this projection
            return None
        # Two documents have ids that the server finds equal, such as 1 and 1.0: reading all of one tells them apart.
        if len(found) != 1 or c.get(found[0], (p.id,)) != id:
            return None
        now = legible_field(self.current.part(found[0]), p.version)
        parts = [value.data for value in self.previous(found[0]) if value.type == c.OBJECT]
        if same_version(v, now) or len(parts) != 1 or not same_version(v, legible_field(parts[0], p.version)):
            return None
        return parts[0]

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers inside the documents; contents are read only if there is a hash to check."""
        if not ids:
            return
        p = self.profile
        names = [name for name in (p.version, p.hash) if name]
        keys = {p.id: 1} | {path: 1 for name in names for path in (self.current.path(name), f"{p.prev}.{name}")}
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
            for part in (Value.document(self.current.part(raw)), *self.previous(raw))
        ):
            raw = self.current.raw(id)
            return self._ordered(self.current.made(raw), self.previous(raw))
        current = self._light(self.current.part(raw), "document")
        parts = [self._light(value.data if value.type == c.OBJECT else c.EMPTY, "prev") for value in self.previous(raw)]
        return self._in_light(current.but(current=True), parts)

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
            yield part.but(state="damaged", detail="stored twice") if twice else part

    # --- did a write land?

    def follows(self, raw: bytes, base: Version) -> bool:
        """Whether a stored document surely is a later version of the base: it has the base's token in its array.

        Without tokens it has the base itself there, number and content.
        """
        if not self.profile.token:
            alike = [value.data for value in self.previous(raw) if value.type == c.OBJECT]
            return any(
                same_version(base.v, legible_field(each, self.profile.version))
                and self.current.version_of(each, "prev").content == base.content
                for each in alike
                if base.v is not None
            )
        token, name = self.current.token(base.raw or c.EMPTY), self.profile.token
        return token is not None and any(
            c.get(value.data, (name,)) == token for value in self.previous(raw) if value.type == c.OBJECT
        )

    def landed_before(self, id: Value, token: ObjectId, base: Version | None, now: bytes | None) -> bool | None:
        """Whether the array contains a write that the current version does not; answers :class:`.Landing`."""
        if now is None:
            return None
        p = self.profile
        previous = [value.data for value in self.previous(now) if value.type == c.OBJECT]
        if any(c.get(each, (p.token,)) == Value.of(token) for each in previous):
            return True
        was = self.current.token(base.raw) if base is not None and base.raw is not None else None
        if base is not None and was not in (None, self.current.token(now)) and not self.follows(now, base):
            return None  # the id was used again, or the history was truncated
        number = number_of(base.v) if base is not None else None
        if number is None:
            return False
        current = number_of(c.get(self.current.part(now), (p.version,)))
        numbers = {current, *(number_of(c.get(each, (p.version,))) for each in previous)}
        # While the base is current, or another version follows it, the write has not landed. With neither, the version
        # after the base is missing, and may have been this one.
        return False if number + 1 in numbers or current == number else None

    # --- as it is stored

    def whole(self, id: Value, versions: Sequence[Version]) -> tuple[list[tuple[str, Value]], bytes, Value]:
        """The stored parts of these versions, oldest first: ids, current version with its own fields, array."""
        p, names = self.profile, self.current.own.names
        each = [
            c.document([*stored_form.stamps(p, id, version, v), *c.fields(stored_form.content_of(version, names))])
            for version, v in zip(versions, stored_form.numbers(versions), strict=True)
        ]
        ids = [("_id", id)] if p.id == "_id" else [("_id", stored_form.lasting_key(id)), (p.id, id)]
        return ids, each[-1], c.array(map(Value.document, each[:-1]))
