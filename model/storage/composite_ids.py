"""Ids that consist of several fields, shown to layouts as one field that no document stores.

A profile may say ``id = ["tenant", "number"]``. Every document then gets one more field when it is read: its name
combines both names, and its value is a document of both values. Filters, orders, pipelines and indexes that name it
are translated to the stored fields, and it is removed before writing. So layouts need not know about it.

Where an id and a version stand inside of ``_id``, as in ``{_id: {id, version}}``, each gets a field that is named by
its path, ``_id.id``. Servers understand that name as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field
from msgspec.structs import replace

from model.errors import Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import ServerFacts
from model.server import guards
from model.server.duplicate_key import DuplicateKey
from model.server.retry import Port, Reply, Server, Terms, Write
from model.storage.newest_query import ALL_TYPES, TypeNumbers, beyond
from model.values import canonical as c
from model.values.canonical import Path, Value

NOTHING: Terms = {"_id": {"$exists": False}}
_ALL: Terms = {}
_FIELDS = {"$size": {"$objectToArray": "$$ROOT"}}
"""The number of a document's fields, as an expression for guards."""


def name_of(parts: Sequence[str]) -> str:
    """The name of the field that combines some paths."""
    return "+".join(part.replace(".", "/") for part in parts)


class CompositeId(Struct, frozen=True, eq=False):
    """The id of one collection's documents: the paths of its parts, and the name of the field that combines them."""

    parts: tuple[str, ...]
    types: Callable[[], Sequence[int]] = lambda: ALL_TYPES
    """The types that filters may name on this server."""

    @property
    def name(self) -> str:
        """The name of the field that layouts see."""
        return name_of(self.parts)

    @property
    def paths(self) -> list[tuple[str, Path]]:
        """Each part with its path."""
        return [(part, tuple(part.split("."))) for part in self.parts]

    # --- documents

    def of(self, raw: bytes) -> Value | None:
        """The id in a stored document; None if a part is missing."""
        found = [(part, c.get(raw, path)) for part, path in self.paths]
        pairs = [(part, value) for part, value in found if value is not None]
        # A document of the parts, in the profile's order: an id is compared by its bytes, so the order has to be fixed.
        return Value.document(c.document(pairs)) if len(pairs) == len(self.parts) else None

    def shown(self, raw: bytes) -> bytes:
        """A stored document with the combined field added; unchanged if it lacks a part or cannot be decoded."""
        try:
            id = self.of(raw)
            return raw if id is None else c.document([*c.fields(raw), (self.name, id)])
        except Unreadable:
            return raw

    def stored(self, raw: bytes) -> bytes:
        """A document in its stored form: the combined field is removed, and its parts are added if missing.

        Raises ``Refused`` if a part differs from the combined field, or cannot be set.
        """
        id = c.get(raw, (self.name,))
        if id is None:
            return raw
        if id.type != c.OBJECT or {name for name, _ in c.fields(id.data)} != set(self.parts):
            raise Refused(f"An id here has the parts {' and '.join(self.parts)}; write it as a document of these.")
        values, pairs = dict(c.fields(id.data)), []
        for name, value in c.fields(raw):
            if name != self.name:
                pairs.append((name, value))
                continue
            missing = [(part, path) for part, path in self.paths if c.get(raw, path) is None]
            # A new document has only the combined field; its parts take that place.
            pairs += [(part, values[part]) for part, path in missing if len(path) == 1]
        made = c.document(pairs)
        for part, path in self.paths:
            there = c.get(made, path)
            if there is None:
                made = c.put(made, path, values[part])
            elif there != values[part]:
                # A changed part would make it another document, of which no version is known.
                raise Refused(f"{part} is a part of the document's id, and cannot change; remove it from the edit.")
        return made

    # --- terms

    def filter(self, terms: Terms | None) -> Terms | None:
        """A filter over the stored fields."""
        if terms is None:
            return None
        clauses: list[Terms] = []
        plain: dict[str, Any] = {}
        for name, term in terms.items():
            if name == self.name:
                clauses.append(self._clause(term))
            elif name.startswith(f"{self.name}."):
                clauses.append({name[len(self.name) + 1 :]: term})
            elif name in ("$and", "$or", "$nor"):
                plain[name] = [self.filter(_terms(each)) for each in _elements(term)]
            elif name == "$expr":
                plain[name] = self._expression(term)
            else:
                plain[name] = term
        return _together([plain, *clauses])

    def _clause(self, term: Any) -> Terms:
        if isinstance(term, Value) and term.type == c.OBJECT and _operators(term):
            term = dict(c.fields(term.data))
        if not isinstance(term, Mapping) or not all(str(name).startswith("$") for name in term):
            return self._equal(term, exact=False)
        clauses: list[Terms] = []
        for operator, value in term.items():
            match operator:
                case "$eq":
                    clauses.append(self._equal(value, exact="$type" in term))
                case "$ne":
                    # Not a `$ne` for each part: an id differs as soon as one part does.
                    clauses.append({"$nor": [self._equal(value, exact=False)]})
                case "$in":
                    clauses.append({"$or": [self._equal(each, exact=False) for each in _elements(value)] or [NOTHING]})
                case "$exists":
                    # An id exists only as a whole; a document that lacks a part has none.
                    there = {part: {"$exists": True} for part in self.parts}
                    clauses.append(there if _truth(value) else {"$nor": [there]})
                case "$type":
                    # Next to $eq, the exact clause of each part tests its type.
                    clauses.append(_ALL if "$eq" in term else self._typed(value))
                case "$not":
                    pass  # "is not an array", which always holds
                case "$gt" | "$lt":
                    clauses.append(self._beyond(value, operator == "$lt"))
                case _:
                    raise Refused(f"{operator} cannot be asked of {self.name}; ask it of {' or '.join(self.parts)}.")
        return _together(clauses)

    def _expression(self, term: Any) -> Any:
        """An expression over the stored fields: the document has one field less, and the id becomes its parts."""
        if isinstance(term, list | tuple):
            return [self._expression(each) for each in term]
        if isinstance(term, str) and term.startswith(f"${self.name}"):
            rest = term[len(self.name) + 1 :]
            return {part: f"${part}" for part in self.parts} if not rest else f"${rest[1:]}"
        if not isinstance(term, Mapping):
            return term
        literal, pair = term.get("$literal"), term.get("$eq")
        if isinstance(literal, Value) and literal.type == c.OBJECT:
            return {"$literal": Value.document(self.stored(literal.data))}
        if isinstance(pair, list) and pair[:1] == [_FIELDS] and isinstance(pair[1], int):
            # A guard counts the fields of the document that it read, and that has the combined one more.
            return {"$eq": [_FIELDS, pair[1] - 1]}
        return {name: self._expression(each) for name, each in term.items()}

    def _equal(self, value: Any, exact: bool) -> Terms:
        parts = self._values(value)
        if parts is None:
            return NOTHING
        clauses: dict[str, Any] = {}
        for part, each in parts.items():
            clauses |= guards.exact(part, each) if exact else {part: {"$eq": each}}
        return clauses

    def _values(self, value: Any) -> dict[str, Value] | None:
        """The values of the parts in an id; None if it is not such an id."""
        id = value if isinstance(value, Value) else Value.of(value)
        found = dict(c.fields(id.data)) if id.type == c.OBJECT else {}
        return {part: found[part] for part in self.parts} if set(found) == set(self.parts) else None

    def _typed(self, value: Any) -> Terms:
        kinds = [each.python() if isinstance(each, Value) else each for each in _elements(value)]
        return {part: {"$exists": True} for part in self.parts} if c.OBJECT in kinds or "object" in kinds else NOTHING

    def _beyond(self, value: Any, down: bool) -> Terms:
        """A filter for the ids beyond one: by the first part, then by the next."""
        before: dict[str, Any] = {}
        found: list[Terms] = []
        for part, each in (self._values(value) or {}).items():
            found.append({"$and": [dict(before), beyond(part, each, down, self.types)]})
            before[part] = {"$eq": each}
        return {"$or": found or [NOTHING]}

    def order(self, sort: Terms | None) -> Terms | None:
        """An order, or the keys of an index, over the stored fields."""
        if sort is None or self.name not in sort:
            return sort
        keys: dict[str, Any] = {}
        for name, way in sort.items():
            for each in self.parts if name == self.name else (name,):
                # A part that was named before stays where it is: in an order the first mention counts.
                keys.setdefault(each, way)
        return keys

    def projection(self, fields: Terms | None) -> Terms | None:
        """A projection over the stored fields; leaving out the id keeps its parts."""
        if fields is None or self.name not in fields:
            return fields
        chosen = {name: way for name, way in fields.items() if name != self.name}
        return chosen | dict.fromkeys(self.parts, 1) if _truth(fields[self.name]) else chosen

    def pipeline(self, stages: Sequence[Terms]) -> list[Terms]:
        """A pipeline whose documents have the combined field; leading filters run before it is added."""
        # A server can use its indexes only for filters at the start of a pipeline.
        first = next((at for at, stage in enumerate(stages) if "$match" not in stage), len(stages))
        asked = [{"$match": self.filter(stage["$match"]) or {}} for stage in stages[:first]]
        made = {"$addFields": {self.name: {part: f"${part}" for part in self.parts}}}
        return [*asked, made, *stages[first:]]

    def index(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of an index with the combined field, if the parts are adjacent in it and have one direction."""
        names = list(keys)
        at = names.index(self.parts[0]) if self.parts[0] in names else len(names)
        here = names[at : at + len(self.parts)]
        # Only parts side by side, and in one direction, sort as the combined field would.
        if set(here) != set(self.parts) or len({str(keys[name]) for name in here}) != 1:
            return dict(keys)
        pairs = [(name, keys[name]) for name in names if name not in self.parts]
        pairs.insert(at, (self.name, keys[here[0]]))
        return dict(pairs)

    def duplicate(self, key: DuplicateKey) -> DuplicateKey:
        """A duplicate key with the combined field in place of its parts."""
        if not set(self.parts) <= set(key.fields):
            return key
        values = dict(zip(key.fields, key.values, strict=False))
        fields = [self.name, *(name for name in key.fields if name not in self.parts)]
        own = ", ".join(values.get(part, "") for part in self.parts)
        return replace(key, fields=tuple(fields), values=(own, *(values.get(name, "") for name in fields[1:])))

    def write(self, write: Write) -> Write:
        """A write in the form to send; raises ``Refused`` if it would change a part of the id."""
        body = write.body
        if isinstance(body, bytes):
            body = self.stored(body)
        elif isinstance(body, Sequence):
            body = [_replaced(stage, self.stored) for stage in body]
        unique = None if write.unique is None else self._names(write.unique)
        return replace(write, filter=self.filter(write.filter) or {}, body=body, unique=unique)

    def _names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Names of fields with the parts in place of the combined field."""
        return tuple(part for name in names for part in (self.parts if name == self.name else (name,)))


def _replaced(stage: Any, stored: Callable[[bytes], bytes]) -> Terms:
    """A stage that replaces a document, with the new document in its stored form."""
    whole = stage.get("$replaceWith")
    literal = whole.get("$literal") if isinstance(whole, Mapping) else None
    if isinstance(literal, Value) and literal.type == c.OBJECT:
        return {"$replaceWith": {"$literal": Value.document(c.without(stored(literal.data), ("_id",)))}}
    made: Terms = stage
    return made


def _together(clauses: Iterable[Terms]) -> Terms:
    """Clauses as one filter: merged, unless two of them use the same name."""
    made: dict[str, Any] = {}
    apart: list[Terms] = []
    for clause in clauses:
        if made.keys() & clause.keys():
            apart.append(clause)
        else:
            made |= clause
    return made | {"$and": [*made.get("$and", ()), *apart]} if apart else made


def _elements(value: Any) -> Iterable[Any]:
    if isinstance(value, Value):
        return c.items(value) if value.type == c.ARRAY else [value]
    return value if isinstance(value, list | tuple) else [value]


def _terms(value: Any) -> Terms:
    return dict(c.fields(value.data)) if isinstance(value, Value) else value


def _operators(value: Value) -> bool:
    names = [name for name, _ in c.fields(value.data)]
    return bool(names) and all(name.startswith("$") for name in names)


def _truth(value: Any) -> bool:
    return bool(value.python() if isinstance(value, Value) else value)


class KeyInId(Struct, frozen=True, eq=False):
    """Paths inside of ``_id`` that layouts see as fields with these names. Such documents are only read."""

    paths: tuple[str, ...]

    def shown(self, raw: bytes) -> bytes:
        """A stored document with a field for each path; unchanged if it lacks one or cannot be decoded."""
        try:
            found = [(path, c.get(raw, tuple(path.split(".")))) for path in self.paths]
            there = [(path, value) for path, value in found if value is not None]
            return c.document([*c.fields(raw), *there]) if len(there) == len(found) else raw
        except Unreadable:
            return raw

    def stored(self, raw: bytes) -> bytes:
        """A document in its stored form."""
        return c.without(raw, self.paths)

    def projection(self, fields: Terms | None) -> Terms | None:
        """A projection with the whole ``_id``: one with a part of it beside the whole is refused by servers."""
        if fields is None or not any(path in fields and _truth(fields[path]) for path in self.paths):
            return fields
        return {name: way for name, way in fields.items() if name not in self.paths} | {"_id": 1}

    def filter(self, terms: Terms | None) -> Terms | None:
        """A filter, which needs no other names."""
        return terms

    def order(self, sort: Terms | None) -> Terms | None:
        """An order, which needs no other names."""
        return sort

    def pipeline(self, stages: Sequence[Terms]) -> list[Terms]:
        """A pipeline, which needs no other names."""
        return list(stages)

    def index(self, keys: Mapping[str, Any]) -> dict[str, Any]:
        """The keys of an index, which need no other names."""
        return dict(keys)

    def duplicate(self, key: DuplicateKey) -> DuplicateKey:
        """A duplicate key, which needs no other names."""
        return key

    def write(self, write: Write) -> Write:
        """Raise ``Refused``."""
        raise Refused(IN_ID)


IN_ID = (
    "The number of a version is a part of its _id, which an edit from here would have to make as the application does; "
    "edit with that application."
)
"""Why documents with their key in ``_id`` are only read."""
REMEMBERED = 300
"""The seconds for which a collection's indexes and options are cached: writes need them, and they rarely change."""


class CompositeIds(Struct, frozen=True, eq=False):
    """A server with composite ids and keys in ``_id``, by the profile of each collection that has one."""

    server: Server
    profile: Callable[[str], CollectionProfile | None]
    _indexes: dict[str, tuple[float, list[dict[str, Any]]]] = field(default_factory=dict)
    _options: dict[str, tuple[float, dict[str, dict[str, Any]]]] = field(default_factory=dict)  # by database
    _types: TypeNumbers = field(default_factory=TypeNumbers)

    def _id(self, ns: str) -> CompositeId | KeyInId | None:
        profile = self.profile(ns)
        if profile is None:
            return None
        if profile.id_parts:
            return CompositeId(profile.id_parts, lambda: self._types.known(self.server, ns))
        return KeyInId(profile.key_in_id) if profile.key_in_id else None

    @property
    def read_only(self) -> bool:
        """Whether the server is read-only."""
        return self.server.read_only

    @property
    def patience(self) -> float:
        """The server's patience in seconds."""
        return self.server.patience

    def gentle(self) -> CompositeIds:
        """A port for long reads that spares the server."""
        return replace(self, server=self.server.gentle())

    def aside(self) -> CompositeIds:
        """A port for long reads, from secondary members if the address asks for them."""
        there = self.server.aside()
        return self if there is self.server else replace(self, server=there)

    @property
    def reads_aside(self) -> bool:
        """Whether the server reads from secondary members."""
        return self.server.reads_aside

    def facts(self) -> ServerFacts:
        """The server's facts about itself."""
        return self.server.facts()

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        """The matching documents, with the combined field."""
        id = self._id(ns)
        if id is None:
            return self.server.find(ns, filter, sort, projection, skip, limit, max_ms, batch)
        fields = id.projection(projection)
        return map(
            id.shown, self.server.find(ns, id.filter(filter), id.order(sort), fields, skip, limit, max_ms, batch)
        )

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """The results of a pipeline over documents with the combined field."""
        id = self._id(ns)
        return self.server.aggregate(ns, pipeline if id is None else id.pipeline(pipeline), max_ms, batch)

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """How many documents match."""
        id = self._id(ns)
        return self.server.count(ns, filter if id is None else id.filter(filter), max_ms)

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """The collections of a database, whose options are remembered."""
        found = self.server.collections(db)
        self.note_options(db, found)
        return found

    def collection_ids(self, db: str) -> dict[str, str]:
        """The ids of a database's collections."""
        return self.server.collection_ids(db)

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The indexes, with the combined field in place of adjacent parts."""
        id, found = self._id(ns), self.server.indexes(ns)
        return found if id is None else [each | {"key": id.index(each.get("key") or {})} for each in found]

    def remembered_indexes(self, ns: str, again: bool = False) -> list[dict[str, Any]]:
        """The indexes, at most :data:`REMEMBERED` seconds old; ``again`` asks the server."""
        at, found = self._indexes.get(ns, (-math.inf, []))
        if again or time.monotonic() - at > REMEMBERED:
            at, found = self._indexes[ns] = time.monotonic(), self.indexes(ns)
        return found

    def remembered_options(self, ns: str, again: bool = False) -> dict[str, Any]:
        """A collection's options, at most :data:`REMEMBERED` seconds old; {} if the user may not see them."""
        db, _, name = ns.partition(".")
        at, found = self._options.get(db, (-math.inf, {}))
        if again or time.monotonic() - at > REMEMBERED:
            try:
                self.collections(db)
            except Refused:
                return {}
            found = self._options[db][1]
        return found.get(name, {})

    def note_options(self, db: str, listed: Iterable[Sequence[Any]]) -> None:
        """Remember the options of a database's collections as they were just listed: name, type, options, …"""
        self._options[db] = time.monotonic(), {each[0]: each[2] for each in listed}

    def listed_indexes(self, names: Sequence[str]) -> dict[str, tuple[float, list[dict[str, Any]]]]:
        """The indexes of some collections that are remembered, and the time in seconds when they were listed."""
        now = time.time() - time.monotonic()
        return {ns: (now + self._indexes[ns][0], self._indexes[ns][1]) for ns in names if ns in self._indexes}

    def recall_indexes(self, listed: Mapping[str, tuple[float, list[dict[str, Any]]]]) -> None:
        """Remember what :meth:`listed_indexes` returned in another process, as long as in this one."""
        now = time.time()
        for ns, (at, found) in listed.items():
            if ns not in self._indexes and 0 <= now - at <= REMEMBERED:
                self._indexes[ns] = time.monotonic() - (now - at), found

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Create an index over the stored fields."""
        id = self._id(ns)
        self.server.create_index(ns, keys if id is None else id.order(keys) or {}, unique)

    def stored(self, ns: str, raw: bytes) -> bytes:
        """A document of a collection in its stored form."""
        id = self._id(ns)
        return raw if id is None else id.stored(raw)

    def as_sent(self, write: Write) -> Write:
        """A write in the form to send; raises ``Refused`` if it would change a part of an id."""
        id = self._id(write.ns)
        return self.server.as_sent(write if id is None else id.write(write))

    def send(self, write: Write) -> Reply:
        """Send a write of a document with the combined field."""
        id = self._id(write.ns)
        if id is None:
            return self.server.send(write)
        try:
            sent = id.write(write)
        except Refused as error:
            return Reply("no", sentence=str(error), error=error)
        reply = self.server.send(sent)
        if reply.stored is not None:
            return replace(reply, stored=id.shown(reply.stored))
        return reply if reply.duplicate is None else replace(reply, duplicate=id.duplicate(reply.duplicate))


def as_sent(port: Port, writes: Iterable[Write]) -> list[Write]:
    """Writes in the form in which a port sends them, for a preview."""
    return [port.as_sent(each) if isinstance(port, CompositeIds) else each for each in writes]


def stored(port: Port, ns: str, raw: bytes) -> bytes:
    """A document that was read through a port, in its stored form."""
    return port.stored(ns, raw) if isinstance(port, CompositeIds) else raw


def reading(port: Port, profile: CollectionProfile) -> Port:
    """A port that reads one collection with the ids of this profile, whatever is known of it."""
    if not isinstance(port, CompositeIds):
        return CompositeIds(cast(Server, port), lambda ns: profile if ns == profile.ns else None)
    return replace(port, profile=lambda each: profile if each == profile.ns else port.profile(each))
