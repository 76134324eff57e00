"""``embedded``: all versions of a document inside it, the current one as a sub-document, earlier ones in an array.

Stored: ``{_id, current: {v, …}, prev: [{v, …}, …]}``, oldest first; version, token, hash and time stand inside each
version. Index: the one on ``_id``. Lists never read the array.

Of a document that grew too long for one, the oldest versions may be rows of a second collection (``older``); they are
looked for only where versions below those in the array are missing.

The swap, one write: filter ``_id``, ``current.v`` and ``current._w``, by type, and what the edit replaces; ``$push`` of
the version that was read onto the array, and the new version in its place: by operators that name only what changed,
else as a whole sub-document, then guarded by the whole of the old one.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is looked for in the
current version and in the array; it is nowhere and the next version has another: not applied. A document that would
outgrow 16 MB is refused by the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bson import ObjectId

from model.layouts import numbering, overflow_archive, update_operators
from model.layouts.base import Stamp
from model.layouts.checks.embedded_chain import embedded_chain
from model.layouts.checks.facts import FactReader
from model.layouts.checks.single_documents import SingleDocuments
from model.layouts.current import with_own
from model.layouts.embedded_history import HoldsItsPast
from model.layouts.filter_rewriting import renamed
from model.layouts.recognition import find_embedded
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own, compose, legible, legible_field, time_of, unreadable
from model.layouts.update_operators import check_size
from model.names import version_name
from model.records import Row, Version
from model.server import guards
from model.server.retry import Port, Terms, Write, bson_of
from model.values import canonical as c
from model.values.canonical import Value


class Embedded(HoldsItsPast):
    """Documents that hold their own history."""

    name = "embedded"
    about = "the current version and earlier ones in one document"
    where = "earlier versions in {prev}"
    roles = ("id", "current", "prev", "version", "token")
    inside = ("version", "token", "at", "author")
    lacks = "no sub-document with a version, and an array of earlier ones, were found in it."

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """A sub-document, and an array of its kind with lower versions."""
        return find_embedded.embedded(sample)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest sub-document and array."""
        return find_embedded.embedded(sample, wanted=True)

    @property
    def own(self) -> Own:
        """The names inside a version."""
        p = self.profile
        return Own("", p.version, p.token, p.hash, p.at)

    @property
    def locked(self) -> tuple[str, ...]:
        """``_id``, and the layout's own names inside a version."""
        return tuple(sorted({"_id", self.profile.id} | self.own.names))

    def content(self, raw: bytes) -> bytes:
        """What the users put into the current version."""
        return self.own.content(self._current(raw))

    def document(self, raw: bytes) -> bytes:
        """The id, then the current version; neither the array nor anything else beside it."""
        id = c.get(raw, (self.profile.id,))
        inside = [pair for pair in c.fields(self._current(raw)) if pair[0] != self.profile.id]
        return c.document([*([(self.profile.id, id)] if id is not None else []), *inside])

    def beside(self, raw: bytes) -> tuple[str, ...]:
        """Whatever stands beside the current version and the array."""
        p = self.profile
        return tuple(name for name, _ in c.fields(raw) if name not in ("_id", p.id, p.current, p.prev))

    def _current(self, raw: bytes) -> bytes:
        found = legible_field(raw, self.profile.current)
        return found.data if found is not None and found.type == c.OBJECT else c.EMPTY

    def _path(self, name: str) -> str:
        return f"{self.profile.current}.{name}"

    @property
    def check(self) -> SingleDocuments:
        """Each document by itself: the chain in its array."""
        elsewhere = partial(overflow_archive.numbers, self.server, self.profile)
        judge = partial(embedded_chain, FactReader(self.own, self.profile, ""), elsewhere=elsewhere)
        return SingleDocuments(
            self.server, self.profile, FactReader(Own(self.profile.id), self.profile, self.profile.id), judge
        )

    def _older(self, id: Value, below: int) -> Iterator[Version]:
        return overflow_archive.versions(self.server, self.profile, id, below)

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
        """The documents whose current version matches; names in filter, sort and projection are those inside it."""
        p = self.profile
        fields = with_own(self._inner(projection), Own(p.id), p.current) if projection else None
        if fields is not None and _keeps(fields):
            fields = {name: value for name, value in fields.items() if name != p.current}
            fields |= {f"{p.current}.{name}": 1 for name in sorted(self.own.names - {"_id"})}
        else:
            fields = {**(fields or {}), p.prev: 0}
        where = self._where(filter, any_version)
        found = self.server.find(self.ns, where, self._inner(sort) or {p.id: 1}, fields, skip, limit)
        return (self._row(raw) for raw in found)

    def _inner(self, terms: Terms | None) -> dict[str, Any]:
        """Terms with each name as the path inside the current version."""
        p = self.profile
        outside = (p.id, "_id", p.current, p.prev)
        return renamed(terms, lambda name: name if name.partition(".")[0] in outside else f"{p.current}.{name}")

    def _row(self, raw: bytes) -> Row:
        readable = not unreadable(raw)
        id, inside = legible_field(raw, self.profile.id), legible(self._current(raw))
        at = time_of(inside.get(self.profile.at)) or time_of(inside.get(self.profile.token))
        return Row(id or Value.of(None), inside.get(self.profile.version), at, len(raw), raw, readable)

    # --- versions

    def _made(self, raw: bytes, contents: bool = True) -> Version:
        version = self._part(self._current(raw), "document", contents)
        if version.state == "present" and (damage := unreadable(raw)):
            version = replace(version, state="damaged", detail=damage)
        elif legible_field(raw, self.profile.current) is None:
            version = replace(version, state="damaged", detail=f"has no {self.profile.current}")
        return replace(version, current=True, raw=raw if contents else None)

    def identity(self, version: Version) -> bytes:
        """Version and token of the current sub-document; the whole document where that carries no token."""
        raw = version.raw or c.EMPTY
        inside = self._current(raw)
        return self._keys(inside) if self.own.token and c.get(inside, (self.own.token,)) is not None else raw

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one guarded update of the current version and the array."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        inner = replace(base, raw=self._current(raw))
        return [self._swap_write(base, content, self._own_values(inner, content, stamp, v), "the swap")]

    def explain(self, base: Version) -> str:
        """What one update does, and its guard."""
        p = self.profile
        token = f" and {p.current}.{p.token} is unchanged" if p.token else ""
        return (
            f"One update moves {version_name(base.v)} to the end of {p.prev} and puts the new version in its place. It "
            f"applies only if {p.current}.{p.version} is still {version_name(base.v).removeprefix('v')}{token}."
        )

    def _guard(self, base: Version, beside: int = 0) -> dict[str, Any]:
        p = self.profile
        assert base.raw is not None
        clauses: dict[str, Any] = {p.current: {"$type": c.OBJECT, "$not": {"$type": c.ARRAY}}}
        for name in filter(None, (p.version, p.token)):
            clauses |= guards.exact(f"{p.current}.{name}", c.get(base.raw, (p.current, name)))
        return clauses

    def _swap_write(self, base: Version, content: bytes, values: Mapping[str, Value | None], note: str) -> Write:
        raw, old = self._check(base)
        p, physical, was = self.profile, guards.physical_id(raw), self._current(raw)
        prefix = f"{p.current}."
        new = Value.document(compose(was, self.own.names, content, values))
        check_size(raw + new.data)  # the whole history is one document
        push = {"$push": {p.prev: Value.document(was)}}
        edit = update_operators.operators(old, content, self._is_mongodb())
        if edit is not None:
            body = push | edit.body(values, prefix)
            return Write(self.ns, "update", guards.by_id(physical) | self._guard(base) | edit.guard(prefix), body, note)
        body = push | {"$set": {p.current: new}}
        where = guards.by_id(physical) | self._guard(base)
        whole = guards.nested(p.current, Value.document(was))
        if len(bson_of(whole)) + len(bson_of(body)) < guards.LARGEST:
            where = whole | where | {p.current: whole[p.current]}
        return Write(self.ns, "update", where, body, note)

    def _holding(self, pairs: list[tuple[str, Value]], current: bytes, past: Value) -> bytes:
        return c.document([*pairs, (self.profile.current, Value.document(current)), (self.profile.prev, past)])

    def _new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        p = self.profile
        values = {p.version: v} if v is not None else {}
        if p.token:
            values[p.token] = Value.of(stamp.token)
        if p.at:
            values[p.at] = Value.of(stamp.at)
        current = c.document(
            [*((name, value) for name, value in values.items() if value is not None), *c.fields(content)]
        )
        ids = [("_id", id)] if p.id == "_id" else [("_id", Value.of(stamp.token)), (p.id, id)]
        return c.document([*ids, (p.current, Value.document(current)), (p.prev, c.array([]))])

    def _bears(self, raw: bytes, token: ObjectId) -> bool:
        p = self.profile
        return bool(p.token) and c.get(raw, (p.current, p.token)) == Value.of(token)


def _keeps(projection: Terms) -> bool:
    return any(bool(v.python() if isinstance(v, Value) else v) for name, v in projection.items() if name != "_id")
