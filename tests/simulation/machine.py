"""The server of the simulation: collections in memory, atomic single writes, unique indexes, and a log of changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bson import ObjectId

from model.errors import Refused
from model.localserver.pipelines import matching, parse_sort
from model.localserver.projections import compile_projection
from model.localserver.store import Collection, Index
from model.localserver.updates import checked, compile_update
from model.localserver.write_commands import prepared
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.server.duplicate_key import DuplicateKey
from model.server.retry import Reply, Terms, Write, bson_of
from model.values import canonical as c

DUPLICATE = 11000


class Unguarded(AssertionError):
    """A write that could meet another document, or another state of it, than the one that was read."""


@dataclass
class Change:
    """One applied write as a change stream tells it: the document as it was after, None once it is deleted."""

    ns: str
    after: bytes | None
    before: bytes | None = None
    by: ObjectId | None = None
    """The token of the attempt that wrote it, also where documents carry none."""


@dataclass
class Machine:
    """Collections by namespace. Whatever an operation sees or does, it sees and does at one moment."""

    collections: dict[str, Collection] = field(default_factory=dict)
    log: list[Change] = field(default_factory=list)
    by: ObjectId | None = None
    """The token of the attempt whose write is applied now; documents need not carry it."""
    strict: bool = True  # every update, replacement and delete names its ``_id`` and has a guard beside it

    def collection(self, ns: str) -> Collection:
        """A collection, made where it is not there."""
        if ns not in self.collections:
            self.collections[ns] = Collection(ns)
        return self.collections[ns]

    def copy(self) -> Machine:
        """The same documents and indexes once more, with an empty log."""
        twin = Machine(strict=self.strict)
        for ns, collection in self.collections.items():
            made = twin.collection(ns)
            made.load(collection.docs.values())
            for index in collection.indexes.values():
                made.indexes[index.name] = Index(index.keys, index.name, index.unique)
        return twin

    def documents(self, ns: str) -> list[bytes]:
        """What a collection holds, in the order in which it came."""
        return list(self.collection(ns).docs.values())

    def find(
        self, ns: str, filter: Terms | None, sort: Terms | None, projection: Terms | None, skip: int, limit: int
    ) -> list[bytes]:
        """The documents that match, all of one moment."""
        found = list(matching(self.collection(ns), compile_filter(bson_of(filter or {})), _sort(sort)))
        found = found[skip : skip + limit if limit else None]
        shown = compile_projection(bson_of(projection)) if projection else None
        return [shown(raw) for raw in found] if shown else found

    def unique(self, ns: str, names: Iterable[str]) -> None:
        """Create a unique index."""
        keys = [(name, 1) for name in names]
        self.collection(ns).add_index(Index(keys, "_".join(name for name, _ in keys), unique=True))

    def apply(self, write: Write) -> Reply:
        """Do what a write says, and what its client would be told if the answer arrived."""
        if self.strict:
            check(write)
        try:
            return self._apply(write)
        except CommandError as error:
            duplicate = DuplicateKey.told(error.extra | {"errmsg": error.message}) if error.code == DUPLICATE else None
            said = duplicate.sentence if duplicate else f"The server refused: {error.message}"
            return Reply("no", duplicate=duplicate, sentence=said, error=Refused(said))

    def _apply(self, write: Write) -> Reply:
        collection = self.collection(write.ns)
        if write.kind == "insert":
            assert isinstance(write.body, bytes)
            self._insert(collection, write.body)
            return Reply("yes", 1, 1)
        matcher = compile_filter(bson_of(write.filter))
        found = next(((at, raw) for at, raw in collection.find(matcher)[0] if matcher.matches(raw)), None)
        if write.kind == "delete":
            if found is None:
                return Reply("no")
            collection.remove([found[0]])
            self.log.append(Change(write.ns, None, found[1], self.by))
            return Reply("yes", 1, 1)
        assert write.body is not None
        if isinstance(write.body, bytes):
            update = compile_update(c.OBJECT, write.body)
        elif isinstance(write.body, Mapping):
            update = compile_update(c.OBJECT, bson_of(write.body))
        else:
            update = compile_update(c.ARRAY, c.array(c.Value.document(bson_of(s)) for s in write.body).data)
        if found is None:
            if write.kind != "upsert":
                return Reply("no")
            equal = {name: value for name, value in write.filter.items() if not isinstance(value, Mapping)}
            self._insert(collection, update(bson_of(equal), True, matcher))
            return Reply("yes", upserted=True)
        at, old = found
        new = checked(update(old, False, matcher))
        if new != old:
            collection.replace(at, new)
            self.log.append(Change(write.ns, new, by=self.by))
        return Reply("yes", 1, int(new != old), stored=new if write.returns else None)

    def _insert(self, collection: Collection, raw: bytes) -> None:
        raw = prepared(raw)
        collection.insert(raw)
        self.log.append(Change(collection.ns, raw, by=self.by))


def check(write: Write) -> None:
    """Raise ``Unguarded`` where nothing in a write's filter ties it to one state of one document."""
    if write.kind == "insert":
        return
    if "_id" not in write.filter:
        raise Unguarded(f"{write.kind} in {write.ns} without _id: {write.filter}")
    if len(write.filter) < 2:
        raise Unguarded(f"{write.kind} in {write.ns} without a guard: {write.filter}")


def _sort(sort: Terms | None) -> list[tuple[str, bool]]:
    return parse_sort(bson_of(sort)) if sort else []
