"""Collections with one document for the current version of each: how these are listed, swapped, created and deleted.

The swap is one update of that document. Its filter holds ``_id`` and what the layout is guarded by; its operators name
only what changed. A swap that operators cannot say replaces the document, and is guarded by all that was read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from bson import ObjectId

from model.errors import NotFound, Refused
from model.layouts import stored_form, update_operators
from model.layouts.base import Layout, Stamp
from model.layouts.reserved_fields import Own, compose, content_hash, legible, made_version, time_of, unreadable
from model.layouts.update_operators import Whole, check_size
from model.names import id_name, version_name
from model.records import Outcome, Row, Version
from model.server import guards
from model.server.retry import Terms, Write, bson_of, run
from model.values import canonical as c
from model.values.canonical import Value


class CurrentDocument(Layout):
    """A layout whose collection holds the current versions, one document each."""

    # --- reading

    def page(
        self,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
    ) -> Iterator[Row]:
        """The documents that match, straight from the collection."""
        found = self.server.find(
            self.ns, filter, sort or {self.profile.id: 1}, with_own(projection, self.own), skip, limit
        )
        return (self._row(raw) for raw in found)

    def count(self, filter: Terms | None = None, any_version: bool = False, max_ms: int = 2000) -> int | None:
        """How many documents match."""
        return self.server.count(self.ns, filter, max_ms)

    def _row(self, raw: bytes) -> Row:
        own, readable = self.own, not unreadable(raw)
        found = legible(raw)
        at = time_of(found.get(own.at)) or time_of(found.get(own.token))
        return Row(found.get(own.id) or Value.of(None), found.get(own.version), at, len(raw), raw, readable)

    def version(self, id: Value, v: Value | None = None) -> Version:
        """The current version; the only one that there is here."""
        current = self._made(self._raw(id))
        if v is not None and v != current.v:
            raise NotFound(f"{id_name(id)} has no version {version_name(v)}; {self.ns} keeps the current one alone.")
        return current

    def _raw(self, id: Value) -> bytes:
        """The stored document with exactly this id; raises ``NotFound``."""
        for raw in self.server.find(self.ns, {self.profile.id: {"$eq": id}}):
            if c.get(raw, (self.profile.id,)) == id:
                return raw
        raise NotFound(f"There is no document {id_name(id)} in {self.ns} any more; refresh the list.")

    def _made(self, raw: bytes, contents: bool = True) -> Version:
        """The current version out of its stored document."""
        own = self.own
        return made_version(raw, own, self.profile, "document", True, contents, (own.token,), counted=self.numbered)

    def identity(self, version: Version) -> bytes:
        """Version and token, which is what a swap is guarded by; the whole document where it carries no token."""
        raw, own = version.raw or c.EMPTY, self.own
        return self._keys(raw) if own.token and c.get(raw, (own.token,)) is not None else raw

    def _keys(self, raw: bytes) -> bytes:
        return c.only(raw, list(filter(None, ("_id", self.own.version, self.own.token))))

    # --- writing

    def _own_values(self, base: Version, content: bytes, stamp: Stamp, v: Value | None) -> dict[str, Value | None]:
        """What the layout sets in its own fields when it writes ``content``."""
        own, profile = self.own, self.profile
        values: dict[str, Value | None] = {}
        if own.version and v is not None:
            values[own.version] = v
        if own.hash and (own.version == own.hash or (base.raw and c.get(base.raw, (own.hash,)) is not None)):
            stored = c.get(base.raw or c.EMPTY, (own.hash,))
            values[own.hash] = Value.of(content_hash(content, profile, stored))
        if own.at:
            values[own.at] = Value.of(stamp.at)
        if own.token:
            values[own.token] = Value.of(stamp.token)
        return values

    def _guard(self, base: Version, beside: int = 0) -> dict[str, Any]:
        """The clauses that the document still is the version that was read: version and token, by type.

        ``beside`` is the size of the write itself, which shares the room of one command with its guard.
        """
        assert base.raw is not None
        own = self.own
        clauses: dict[str, Any] = {}
        for name in filter(None, (own.version, own.token)):
            clauses |= guards.exact(name, c.get(base.raw, (name,)))
        return clauses

    def _replaced(self, edit: update_operators.Operators) -> dict[str, Any]:
        """The clauses that what operators replace is still what was read: someone may change it in place."""
        return edit.guard()

    def _guard_whole(self, base: Version, physical: Value, beside: int) -> dict[str, Any]:
        """The guard where all of the document goes: all that was read, and nothing added to it.

        Where that cannot be said, it is version and token alone; without these it raises ``Refused``.
        """
        assert base.raw is not None
        able = self._abilities(physical)
        try:
            clauses = guards.whole(base.raw, able, True, beside).filter
        except Refused:
            if not self.own.version:
                raise
            clauses = {}
        return clauses | (self._guard(base) if self.own.version else {})

    def _swap_write(self, base: Version, content: bytes, values: Mapping[str, Value | None], note: str) -> Write:
        """The one write that makes ``content`` current."""
        raw, old = self._check(base)
        physical = guards.physical_id(raw)
        self._refuse_dots(raw, content)
        new = compose(raw, self.own.names, content, values)
        check_size(new)
        where = guards.by_id(physical)
        edit = update_operators.operators(old, content, self._is_mongodb())
        if edit is not None:
            body = edit.body(values)
            where |= self._guard(base, len(bson_of(body))) | self._replaced(edit)
            return Write(self.ns, "update", where, body, note)
        whole = Whole(new)
        return Write(self.ns, whole.kind, where | self._guard_whole(base, physical, len(new)), whole.body, note)

    def _refuse_dots(self, raw: bytes, content: bytes) -> None:
        # mongo-java-server applies half of an update to such a document, then fails.
        dots = [name for name, _ in (*c.fields(raw), *c.fields(content)) if "." in name]
        if dots and not self._is_mongodb():
            raise Refused(
                f"This server is not MongoDB itself, and others damage documents with a dot in a field's name, as in "
                f"{dots[0]!r}; nothing was written."
            )

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Prepare, send the one write that decides, and say how it ended."""
        stamp = stamp or Stamp()
        content = self._signed(content, stamp)
        try:
            if reason := self.writable(base):
                raise Refused(reason)
            v = self._next(id, base, content, stamp)
            *first, last = self.steps(id, base, content, stamp, v)
            for write in first:
                stopped = self._prepare(write, id, base, content)
                if stopped is not None:
                    return stopped
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        end = run(self.server, last, self._asks(id, stamp, base))
        return self._ended(end, id, base, content, stamp, v)

    def _signed(self, content: bytes, stamp: Stamp) -> bytes:
        if stamp.author and self.profile.author:
            return c.put(content, (self.profile.author,), Value.of(stamp.author))
        return content

    def _asks(self, id: Value, stamp: Stamp, base: Version | None = None) -> Callable[[], bool | None] | None:
        """What a write in doubt asks: whether it landed. None where no token could tell."""
        if not self.profile.token:
            return None
        # Where the base is there as it was read, the first try did not land. Where a second one has not met it, it was
        # away and put back in between, to the byte, as an undone delete does: then the first may still arrive.
        answers = iter((False,))

        def asked() -> bool | None:
            return self._landed(id, stamp.token, base, next(answers, None))

        return asked

    def _next(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        """The version that the new content gets; None where there are none."""
        return None

    def _prepare(self, write: Write, id: Value, base: Version, content: bytes) -> Outcome | None:
        """Send a write that has to be there before the swap; an outcome where the swap must not follow."""
        raise NotImplementedError

    def landed(self, id: Value, token: ObjectId, base: Version | None = None) -> bool | None:
        """Whether the current document carries the token, or the history knows of it."""
        return self._landed(id, token, base, False) if self.profile.token else None

    def _landed(self, id: Value, token: ObjectId, base: Version | None, unchanged: bool | None) -> bool | None:
        """The same; ``unchanged`` is the answer where the base is there as it was read."""
        try:
            raw = self._raw(id)
        except NotFound:
            return self._landed_before(id, token, base, None)
        if self._bears(raw, token):
            return True
        if base is not None and base.raw is not None and raw == base.raw:
            return unchanged
        return self._landed_before(id, token, base, raw)

    def _landed_before(self, id: Value, token: ObjectId, base: Version | None, now: bytes | None) -> bool | None:
        """The same of the history, once the current document (``now``) says nothing; without one nobody can tell."""
        return None

    def create(self, content: bytes, id: Value | None = None, stamp: Stamp | None = None) -> Outcome:
        """Insert the document; the unique index on ``_id`` lets one creation win."""
        stamp = stamp or Stamp()
        id = id if id is not None else Value.of(ObjectId())
        content = self._signed(content, stamp)
        try:
            if reason := self.missing_index():
                raise Refused(reason)
            if self._occupied(id):
                return self._taken(id)
            v = self._first(id, content, stamp)
            write = Write(self.ns, "insert", {}, self._new_document(id, content, stamp, v), "the new document")
            check_size(write.body if isinstance(write.body, bytes) else b"")
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        return self._created(run(self.server, write, self._asks(id, stamp)), id, v, stamp)

    def _occupied(self, id: Value) -> bool:
        """Whether there is a current document with this id."""
        return self._any(self.ns, guards.exact(self.profile.id, id))

    def _first(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        """The version of a new document; None where there are none."""
        return None

    def _new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        own = self.own
        values = self._own_values(NOTHING, content, stamp, v)
        pairs: list[tuple[str, Value]] = (
            [("_id", id)] if own.id == "_id" else [("_id", Value.of(stamp.token)), (own.id, id)]
        )
        behind = [(name, value) for name, value in values.items() if value is not None and name != own.version]
        if own.version and v is not None and own.version != own.hash:
            pairs.append((own.version, v))
        else:
            behind = [(name, value) for name, value in values.items() if value is not None]
        return c.document([*pairs, *c.fields(content), *behind])

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """The newest version alone: there is no place for others."""
        own, newest = self.own, versions[-1]
        content = stored_form.content_of(newest, own.names)
        pairs = [("_id", id)] if own.id == "_id" else [("_id", stored_form.lasting_key(id)), (own.id, id)]
        stamps = stored_form.stamps(self.profile, id, newest, stored_form.FIRST, numbered=False)
        if own.hash:
            stamps.insert(0, (own.hash, Value.of(content_hash(content, self.profile))))
        raw = c.document([*pairs, *c.fields(content), *stamps])
        check_size(raw)
        return ((self.ns, raw),)

    def delete(
        self, id: Value, base: Version, stamp: Stamp | None = None, kept: Sequence[tuple[str, bytes]] | None = None
    ) -> Outcome:
        """One guarded delete of the current document."""
        stamp = stamp or Stamp()
        try:
            if reason := self.writable(base):
                raise Refused(reason)
            assert base.raw is not None
            physical = guards.physical_id(base.raw)
            where = guards.by_id(physical) | self._guard(base)
            if not self.numbered:
                where |= self._guard_whole(base, physical, 0)
            if stopped := self._before_delete(id, base):
                return stopped
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        write = Write(self.ns, "delete", where, None, "the document")
        end = run(self.server, write, lambda: self._deleted(id, base))
        if end.kind == "applied":
            return Outcome("applied", self.ns, id, f"{id_name(id)} is deleted. {end.sentence}".strip())
        if end.kind == "conflict":
            met = self._conflict(id, base)
            if met.kind == "conflict" or not end.retried:
                return met
            # Deleted before the second try, and put back by now, to the byte: the first try may still arrive.
            end = replace(end, kind="unknown", sentence=f"{id_name(id)} is as it was read, and the delete may arrive.")
        token = str(stamp.token) if end.kind == "unknown" else None
        return Outcome(end.kind, self.ns, id, end.sentence, token=token)

    def _deleted(self, id: Value, base: Version) -> bool | None:
        """Whether a delete in doubt has removed the base; None where another document is there and nobody can tell.

        A document that is gone is what a delete wants, whoever did it. One that is there may be a new one.
        """
        try:
            raw = self._raw(id)
        except NotFound:
            return True
        if self.identity(self._made(raw)) == self.identity(base) or self._follows(raw, base):
            return False
        return None

    def _follows(self, raw: bytes, base: Version) -> bool:
        """Whether a stored document surely is a later version of the base, and no other document under its id."""
        return False

    def _before_delete(self, id: Value, base: Version) -> Outcome | None:
        """What has to be there before a delete; an outcome where it must not follow."""
        return None

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """The current document."""
        assert base.raw is not None
        return ((self.ns, base.raw),)


NOTHING = Version(None, None, None, "none", "missing", False, None, None)


def with_own(projection: Terms | None, own: Own, *more: str) -> Terms | None:
    """The fields to list as a person asked for, and always those that a row is made of."""
    if not projection:
        return None
    names = (*own.names, *more)
    keeps = any(truthy(value) for name, value in projection.items() if name != "_id")
    if not keeps:
        return {name: value for name, value in projection.items() if name not in names} or None
    return {name: value for name, value in projection.items() if name not in names} | dict.fromkeys(sorted(names), 1)


def truthy(value: Any) -> bool:
    """Whether a projection asks for a field by this value."""
    return bool(value.python() if isinstance(value, Value) else value)
