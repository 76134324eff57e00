"""How the server finds the documents of a query, in words, with the index that would help.

The query is bound to its layout as for a page, and what that sends first is noted and explained: a filter in the words
of the layout is often another on the server.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct, field

from model import text
from model.browsing.indexes_in_use import keys_text
from model.catalogue.catalogue import Catalogue
from model.errors import Unreadable
from model.layouts.registry import bind
from model.server.port import Port, Terms
from model.server.server import Server
from model.storage.composite_ids import CompositeIds
from model.storage.newest_query import PageQuery
from model.values import canonical
from model.values.canonical import Value

MOST_READS = 3  # of one query that are explained
WASTED = 10  # documents looked at for one found, above which an index does not do
FEW = 100  # documents that are looked at in no time
TOLD = ("queryPlanner", "executionStats", "stages", "shards", "serverInfo")  # of an answer; the rest is the driver's
RANGES = (
    "$gt",
    "$gte",
    "$lt",
    "$lte",
    "$in",
    "$nin",
    "$ne",
    "$exists",
    "$regex",
    "$type",
    "$not",
    "$mod",
    "$elemMatch",
)


class Read(Struct, frozen=True):
    """One read as it leaves for the server."""

    ns: str
    command: Mapping[str, Any]
    filter: Terms
    sort: Terms

    @property
    def shape(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Reads of one shape differ in their values alone."""
        return self.ns, tuple(self.filter), tuple(self.sort)


class Explained(Struct, frozen=True):
    """One read in words; ``missing`` is the index that would help, as typed, "" if none is needed or known."""

    ns: str
    sentence: str
    missing: str
    plan: str  # the server's own answer, as Extended JSON


class ReadRecorder(Struct):
    """A port that notes the reads that pass through it."""

    port: Port
    reads: list[Read] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.port, name)

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
        """Note and pass on."""
        command = {"find": ns.partition(".")[2], "filter": filter or {}, "sort": sort or {}}
        self._note(Read(ns, command, filter or {}, sort or {}))
        return self.port.find(ns, filter, sort, projection, skip, limit, max_ms, batch)

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """Note and pass on."""
        stages = [next(iter(stage.items())) for stage in pipeline]
        first = stages[0][1] if stages and stages[0][0] == "$match" else {}
        sorts = (operand for name, operand in stages[:2] if name == "$sort")
        command = {"aggregate": ns.partition(".")[2], "pipeline": list(pipeline)}
        self._note(Read(ns, command, first, next(sorts, {})))
        return self.port.aggregate(ns, pipeline, max_ms, batch)

    def _note(self, read: Read) -> None:
        if len(self.reads) < MOST_READS and read.shape not in {each.shape for each in self.reads}:
            self.reads.append(read)


def explain(server: Server, catalogue: Catalogue, ns: str, query: PageQuery, max_ms: int) -> tuple[Explained, ...]:
    """Each kind of read that a page of this query begins with, explained.

    The server runs each of them for that, as a whole and for ``max_ms`` at most. Raises ``Refused`` if it knows no
    explain.
    """
    recorder = ReadRecorder(server)
    port = CompositeIds(cast(Server, recorder), catalogue.profile_of_ids)
    layout = bind(port, catalogue.known(ns)[1])
    recorder.reads.clear()
    next(layout.page(query), None)
    made: dict[str, list[dict[str, Any]]] = {}
    for read in recorder.reads:
        made.setdefault(read.ns, server.indexes(read.ns))
    return tuple(
        explained(read, server.explain(read.ns, read.command, max_ms), made[read.ns]) for read in recorder.reads
    )


def explained(read: Read, answer: Mapping[str, Any], indexes: Sequence[Mapping[str, Any]]) -> Explained:
    """The server's answer about one read in a sentence or two."""
    stats = list(_stats(answer))
    examined = sum(int(each.get("totalDocsExamined", 0)) for each in stats)
    keys = sum(int(each.get("totalKeysExamined", 0)) for each in stats)
    returned = sum(int(each.get("nReturned", 0)) for each in stats)
    stages = [stage for part in _plans(answer) for stage in _stages(part)]
    kinds = {str(stage["stage"]) for stage in stages}
    known = {str(spec.get("name")): spec for spec in indexes}
    used = list(dict.fromkeys(str(stage["indexName"]) for stage in stages if "indexName" in stage))
    wanted = missing_index(read, list(known.values()))
    sentence, needed = _said(read, kinds, used, known, examined, keys, returned)
    if "SORT" in kinds and returned > 1:
        sentence += f" {_many(returned)} {'is' if returned == 1 else 'are'} then sorted in memory."
        needed = needed or returned > FEW
    missing = wanted if needed else ""
    if missing:
        sentence += f" Index missing: {missing}."
    plan = text.readable(canonical.encode({name: part for name, part in answer.items() if name in TOLD}))
    return Explained(read.ns, sentence, missing, plan)


def _said(
    read: Read,
    kinds: set[str],
    used: Sequence[str],
    known: Mapping[str, Mapping[str, Any]],
    examined: int,
    keys: int,
    returned: int,
) -> tuple[str, bool]:
    """The sentence, and whether an index would help."""
    found = f"finds {returned:,}"
    if kinds & {"IDHACK", "EXPRESS_IXSCAN"}:
        return f"Goes straight to the document by its _id, and {found}.", False
    if not used:
        if not kinds & {"COLLSCAN"}:
            return f"Looks at {_many(examined)} and {found}.", False
        if not read.filter:
            return f"Reads {_many(examined)}, all there are, because no filter narrows them.", False
        return f"Scans {_many(examined)} and {found}.", examined > FEW or examined > WASTED * max(returned, 1)
    names = " and ".join(used)
    if not examined and keys:
        return f"Answers from the index {names} alone, and {found}.", False
    first = next(iter(known.get(used[0], {}).get("key", {})), "")
    if read.filter and first not in named_fields(read.filter):  # it gives the order and narrows nothing
        return f"Scans {_many(examined)} in the order of the index {names} and {found}.", examined > FEW
    wasted = examined > FEW and examined > WASTED * max(returned, 1)
    return f"Uses the index {names}: looks at {_many(examined)} and {found}.", wasted


def missing_index(read: Read, known: Sequence[Mapping[str, Any]] = ()) -> str:
    """The index that would serve a read, as typed: equal fields first, then the order, then ranges; "" if none would.

    Alternatives would need an index each, so none is named for them.
    """
    equal: list[str] = []
    ranges: list[str] = []
    for name, value in _clauses(read.filter):
        if name.startswith("$"):
            return ""
        (equal if _is_equality(value) else ranges).append(name)
    # Lists are in the order of _id by default; an index for that order alone is not worth its space.
    order = {name: way for name, way in read.sort.items() if name not in equal and name != "_id"}
    keys = dict.fromkeys(equal, 1) | order | {name: 1 for name in ranges[:1] if name not in order}
    if not keys or (not equal and not ranges):
        return ""
    if any(list(spec.get("key", {}))[: len(keys)] == list(keys) for spec in known):
        return ""
    return keys_text(keys)


def named_fields(filter: Terms) -> list[str]:
    """The fields that every match of a filter must meet a condition on."""
    return [name for name, _ in _clauses(filter) if not name.startswith("$")]


def _clauses(filter: Terms) -> Iterator[tuple[str, Any]]:
    for name, value in filter.items():
        if name != "$and":
            yield name, value
            continue
        parts = canonical.items(value) if isinstance(value, Value) else value
        for part in parts:
            terms = dict(canonical.fields(part.data)) if isinstance(part, Value) else part
            yield from _clauses(terms)


def _is_equality(value: Any) -> bool:
    if isinstance(value, Value):
        if value.type == canonical.REGEX:
            return False
        try:
            names = [name for name, _ in canonical.fields(value.data)] if value.type == canonical.OBJECT else []
        except Unreadable:
            return True
    else:
        names = list(value) if isinstance(value, Mapping) else []
    return not any(name in RANGES for name in names)


def _many(count: int) -> str:
    return f"{count:,} {'document' if count == 1 else 'documents'}"


def _stats(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The totals of each part of an answer; a pipeline has them in its first stage, a cluster in each shard."""
    for part in _parts(answer):
        found = part.get("executionStats")
        if isinstance(found, Mapping) and "totalDocsExamined" in found:
            yield found


def _plans(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for part in _parts(answer):
        planner = part.get("queryPlanner")
        plan = planner.get("winningPlan") if isinstance(planner, Mapping) else None
        if isinstance(plan, Mapping):
            yield plan


def _parts(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    shards = answer.get("shards")
    if isinstance(shards, Mapping):
        for shard in shards.values():
            if isinstance(shard, Mapping):
                yield from _parts(shard)
        return
    stages = answer.get("stages")
    if isinstance(stages, Sequence):
        for stage in stages:
            inner = stage.get("$cursor") if isinstance(stage, Mapping) else None
            if isinstance(inner, Mapping):
                yield from _parts(inner)
        return
    yield answer


def _stages(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every stage of a plan, however deep; newer servers wrap it once more."""
    if "stage" in plan:
        yield plan
    for value in plan.values():
        inner = value if isinstance(value, list) else [value]
        for each in inner:
            if isinstance(each, Mapping):
                yield from _stages(each)
