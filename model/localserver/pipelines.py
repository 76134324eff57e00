"""Aggregation over stored bytes: exactly the stages that recognition, scans and guards use.

An unsupported stage, accumulator or expression is refused, as a server refuses an unknown one.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice

from bson.int64 import Int64

from model.localserver import projections
from model.localserver.grouping import group, sort_by_count
from model.localserver.store import Collection, Sort, Store
from model.localserver.time_limit import UNLIMITED, TimeLimit
from model.mql import arithmetic, expressions, functions, order
from model.mql.command_error import CommandError
from model.mql.expressions import Scope
from model.mql.filters import Matcher, compile_filter
from model.mql.order import Element
from model.values import canonical as c

Documents = Iterable[bytes]


def parse_sort(raw: bytes) -> list[tuple[str, bool]]:
    """A sort as paths, each with whether it is descending."""
    out = []
    for name, value in c.fields(raw):
        if value.type not in order.NUMBERS:
            raise CommandError(15974, f"Illegal key in $sort specification: {name}")
        out.append((name, order.number(value.type, value.data) < 0))
    return out


def sorted_documents(documents: Documents, sort: Sort) -> list[bytes]:
    """The documents in order; equal ones keep their order."""
    out = list(documents)
    # Sorting is stable, so the last key comes first.
    for name, descending in reversed(sort):
        path = order.path_of(name)
        out.sort(key=lambda raw: order.sort_key(raw, path, descending), reverse=descending)
    return out


def matching(
    collection: Collection | None, matcher: Matcher, sort: Sort = (), limit: TimeLimit = UNLIMITED
) -> Iterator[bytes]:
    """The documents that a filter finds, in order, as lazily as the order allows."""
    if collection is None:
        return iter(())
    natural = next((descending for name, descending in sort if name == "$natural"), None)
    if natural is not None:
        sort = ()
    if natural:
        return (raw for _, raw in limit.watch(collection.backwards()) if matcher.matches(raw))
    candidates, ordered, _ = collection.find(matcher, sort, allowed=limit)
    if matcher.everything and ordered:
        return (raw for _, raw in limit.watch(candidates))
    found = ((position, raw) for position, raw in limit.watch(candidates) if matcher.matches(raw))
    if not ordered and collection.large is not None:
        return collection.in_order(found, sort)
    hits = (raw for _, raw in found)
    return hits if ordered else iter(sorted_documents(hits, sort))


def stages_of(pipeline: Element | None) -> list[tuple[str, Element]]:
    """A pipeline as stage names and operands."""
    if pipeline is None or pipeline[0] != c.ARRAY:
        raise CommandError(14, "'pipeline' option must be specified as an array")
    out = []
    for kind, data in order.items(pipeline[1]):
        pairs = c.fields(data) if kind == c.OBJECT else []
        if len(pairs) != 1:
            raise CommandError(40323, "A pipeline stage specification object must contain exactly one field.")
        out.append((pairs[0][0], (pairs[0][1].type, pairs[0][1].data)))
    return out


def aggregate(
    store: Store, db: str, collection: Collection | None, pipeline: Element | None, limit: TimeLimit = UNLIMITED
) -> Iterator[bytes]:
    """The results of a pipeline over a collection; None if there is no collection."""
    stages = stages_of(pipeline)
    documents: Iterator[bytes]
    first = stages[0][0] if stages else ""
    if first == "$sample" and collection is not None:
        documents, done = iter(collection.sample(_size_of(stages[0]))), 1
    elif first in _SOURCES:
        documents, done = iter(_SOURCES[first](db, collection)), 1
    else:
        filter, sort = beginning(pipeline)
        done = sum(1 for _ in _selecting(stages))
        matcher = compile_filter(filter)
        documents = matching(collection, matcher, sort, limit)
    return run(store, db, documents, stages[done:])


def beginning(pipeline: Element | None) -> tuple[bytes, list[tuple[str, bool]]]:
    """The filter and the sort at the start of a pipeline, both of which an index may serve."""
    named = {name: _object((name, operand)) for name, operand in _selecting(stages_of(pipeline))}
    return named.get("$match", c.EMPTY), parse_sort(named.get("$sort", c.EMPTY))


def _selecting(stages: list[tuple[str, Element]]) -> Iterator[tuple[str, Element]]:
    """The first stages, as far as they are a filter and then a sort."""
    wanted = ["$match", "$sort"]
    for stage in stages[:2]:
        if stage[0] not in wanted:
            return
        del wanted[: wanted.index(stage[0]) + 1]
        yield stage


def run(store: Store, db: str, documents: Documents, stages: list[tuple[str, Element]]) -> Iterator[bytes]:
    """Pass documents through stages."""
    for stage in stages:
        if stage[0] in ("$out", "$merge"):
            raise CommandError(238, f"{stage[0]} is not supported here: write what the pipeline gives with insert")
        make = _STAGES.get(stage[0])
        if make is not None:
            documents = make(stage)(documents)
        elif stage[0] in _JOINS:
            documents = _JOINS[stage[0]](store, db, documents, stage)
        else:
            raise CommandError(40324, f"Unrecognized pipeline stage name: '{stage[0]}'")
    return iter(documents)


def _object(stage: tuple[str, Element]) -> bytes:
    if stage[1][0] != c.OBJECT:
        raise CommandError(15959, f"the {stage[0]} specification must be an object")
    return stage[1][1]


def _count_of(stage: tuple[str, Element]) -> int:
    if stage[1][0] not in order.NUMBERS or order.number(*stage[1]) < 0:
        raise CommandError(5107201, f"invalid argument to {stage[0]} stage: Expected a non-negative number")
    return int(order.number(*stage[1]))


def _member(stage: tuple[str, Element], name: str) -> Element | None:
    return order.field(_object(stage), name.encode() + b"\x00")


def _text(stage: tuple[str, Element], name: str) -> str:
    found = _member(stage, name)
    if found is None or found[0] != c.STRING:
        raise CommandError(9, f"{stage[0]} needs a string in '{name}'")
    return found[1][4:-1].decode("utf-8", "surrogateescape")


Stage = Callable[[Documents], Documents]


def _match(stage: tuple[str, Element]) -> Stage:
    matches = compile_filter(_object(stage)).matches
    return lambda documents: (raw for raw in documents if matches(raw))


def _sort(stage: tuple[str, Element]) -> Stage:
    sort = parse_sort(_object(stage))
    return lambda documents: sorted_documents(documents, sort)


def _limit(stage: tuple[str, Element]) -> Stage:
    limit = _count_of(stage)
    if limit == 0:
        raise CommandError(15958, "the limit must be positive")
    return lambda documents: islice(documents, limit)


def _skip(stage: tuple[str, Element]) -> Stage:
    skip = _count_of(stage)
    return lambda documents: islice(documents, skip, None)


def _count(stage: tuple[str, Element]) -> Stage:
    if stage[1][0] != c.STRING:
        raise CommandError(40156, "the count field must be a non-empty string")
    name = stage[1][1][4:-1].decode("utf-8", "surrogateescape")

    def work(documents: Documents) -> Documents:
        total = sum(1 for _ in documents)
        return [functions.object_of([(name, arithmetic.integer(total))])[1]] if total else []

    return work


def _size_of(stage: tuple[str, Element]) -> int:
    size = _member(stage, "size")
    return max(0, int(order.number(*size))) if size is not None and arithmetic.is_number(size) else 0


def _sample(stage: tuple[str, Element]) -> Stage:
    count = _size_of(stage)

    def work(documents: Documents) -> Documents:
        everything = list(documents)
        return random.sample(everything, min(count, len(everything)))

    return work


def _project(stage: tuple[str, Element]) -> Stage:
    projection = projections.compile_projection(_object(stage))
    return lambda documents: map(projection, documents) if projection else documents


def _add_fields(stage: tuple[str, Element]) -> Stage:
    assign = projections.compile_assignments(_object(stage))
    return lambda documents: map(assign, documents)


def _unset(stage: tuple[str, Element]) -> Stage:
    kind, data = stage[1]
    names = [stage[1]] if kind == c.STRING else order.items(data) if kind == c.ARRAY else []
    if not names or any(k != c.STRING for k, _ in names):
        raise CommandError(31002, "$unset specification must be a string or an array containing only string values")
    remove = projections.compile_removals([d[4:-1].decode("utf-8", "surrogateescape") for _, d in names])
    return lambda documents: map(remove, documents)


def _replace(stage: tuple[str, Element]) -> Stage:
    operand = stage[1] if stage[0] == "$replaceWith" else _member(stage, "newRoot")
    if operand is None:
        raise CommandError(40231, "no newRoot specified for the $replaceRoot stage")
    evaluate = expressions.compile_expression(operand)

    def one(raw: bytes) -> bytes:
        value = evaluate(Scope(raw))
        if value is None or value[0] != c.OBJECT:
            raise CommandError(40228, "'newRoot' expression must evaluate to an object")
        return value[1]

    return lambda documents: map(one, documents)


def _unwind(stage: tuple[str, Element]) -> Stage:
    as_object = stage[1][0] == c.OBJECT
    text = _text(stage, "path") if as_object else stage[1][1][4:-1].decode("utf-8", "surrogateescape")
    keep = as_object and functions.truth(_member(stage, "preserveNullAndEmptyArrays"))
    counter = _text(stage, "includeArrayIndex") if as_object and _member(stage, "includeArrayIndex") else None
    if not text.startswith("$"):
        raise CommandError(28818, f"path option to $unwind stage should be prefixed with a '$': {text}")
    path = tuple(text[1:].split("."))

    def work(documents: Documents) -> Iterator[bytes]:
        for raw in documents:
            element = expressions.walk((c.OBJECT, raw), (order.path_of(path[0])))
            found = c.get(raw, path) if element is not None else None
            rows: list[tuple[bytes, int | None]] = []
            if found is None or found.type in (c.NULL, c.UNDEFINED):
                rows = [(raw, None)] if keep else []
            elif found.type != c.ARRAY:
                rows = [(raw, None)]
            else:
                rows = [(c.put(raw, path, item), i) for i, item in enumerate(c.items(found))]
                if not rows and keep:
                    rows = [(c.drop(raw, path), None)]
            for row, i in rows:
                if counter is None:
                    yield row
                else:
                    value = c.Value(*arithmetic.NULL if i is None else arithmetic.integer(i, wide=True))
                    yield c.put(row, tuple(counter.split(".")), value)

    return work


def _group(stage: tuple[str, Element]) -> Stage:
    return group(_object(stage))


_STAGES: dict[str, Callable[[tuple[str, Element]], Stage]] = {
    "$match": _match,
    "$sort": _sort,
    "$limit": _limit,
    "$skip": _skip,
    "$count": _count,
    "$sample": _sample,
    "$project": _project,
    "$addFields": _add_fields,
    "$set": _add_fields,
    "$unset": _unset,
    "$replaceRoot": _replace,
    "$replaceWith": _replace,
    "$unwind": _unwind,
    "$group": _group,
    "$sortByCount": lambda stage: sort_by_count(stage[1]),
}


def _lookup(store: Store, db: str, documents: Documents, stage: tuple[str, Element]) -> Documents:
    if _member(stage, "pipeline") is not None:
        return _lookup_pipeline(store, db, documents, stage)
    other = store.get(db, _text(stage, "from"))
    local, foreign = order.path_of(_text(stage, "localField")), _text(stage, "foreignField")
    target = tuple(_text(stage, "as").split("."))

    def one(raw: bytes) -> bytes:
        # A document without the field joins with those whose field is null or missing.
        wanted = functions.array_of(e or arithmetic.NULL for e in order.expanded(order.reach(raw, local)))
        clause = functions.object_of([(foreign, functions.object_of([("$in", wanted)]))])[1]
        found = [c.Value.document(hit) for hit in matching(other, compile_filter(clause))]
        return c.put(raw, target, c.array(found))

    return map(one, documents)


def _lookup_pipeline(store: Store, db: str, documents: Documents, stage: tuple[str, Element]) -> Documents:
    other, target = store.get(db, _text(stage, "from")), tuple(_text(stage, "as").split("."))
    pipeline = _member(stage, "pipeline") or (c.ARRAY, c.EMPTY)
    bound = _member(stage, "let") or (c.OBJECT, c.EMPTY)
    names = [(name, expressions.compile_expression((v.type, v.data))) for name, v in c.fields(bound[1])]
    if _member(stage, "localField") is not None:
        raise CommandError(238, "$lookup with localField and pipeline together is not supported here: use let")

    def one(raw: bytes) -> bytes:
        values = {f"$${name}": evaluate(Scope(raw)) for name, evaluate in names}
        found = aggregate(store, db, other, _bound(pipeline, values))
        return c.put(raw, target, c.array(c.Value.document(hit) for hit in found))

    return map(one, documents)


def _bound(element: Element, values: Mapping[str, Element | None]) -> Element:
    """A pipeline with the values of variables inserted."""
    kind, data = element
    if kind == c.STRING and data[4:6] == b"$$":
        name, _, rest = data[4:-1].decode("utf-8", "surrogateescape").partition(".")
        # It is a variable of the system, or one that the pipeline itself binds.
        if name not in values:
            return element
        value = expressions.walk(values[name], order.path_of(rest) if rest else ())
        return functions.object_of([("$literal", value)]) if value is not None else arithmetic.string("$$REMOVE")
    if kind == c.ARRAY:
        return functions.array_of(_bound(e, values) for e in order.items(data))
    if kind == c.OBJECT:
        return functions.object_of((name, _bound((v.type, v.data), values)) for name, v in c.fields(data))
    return element


def _facet(store: Store, db: str, documents: Documents, stage: tuple[str, Element]) -> Documents:
    everything = list(documents)
    pairs = []
    for name, value in c.fields(_object(stage)):
        rows = run(store, db, everything, stages_of((value.type, value.data)))
        pairs.append((name, c.array(c.Value.document(raw) for raw in rows)))
    return [c.document(pairs)]


def _union(store: Store, db: str, documents: Documents, stage: tuple[str, Element]) -> Iterator[bytes]:
    # Not a generator over the documents: each row would pass through those of all later unions.
    return chain(documents, _united(store, db, stage))


def _united(store: Store, db: str, stage: tuple[str, Element]) -> Iterator[bytes]:
    simple = stage[1][0] == c.STRING
    name = stage[1][1][4:-1].decode("utf-8", "surrogateescape") if simple else _text(stage, "coll")
    pipeline = (None if simple else _member(stage, "pipeline")) or (c.ARRAY, c.EMPTY)
    yield from aggregate(store, db, store.get(db, name), pipeline)


_JOINS: dict[str, Callable[[Store, str, Documents, tuple[str, Element]], Documents]] = {
    "$lookup": _lookup,
    "$facet": _facet,
    "$unionWith": _union,
}


def _collection_stats(db: str, collection: Collection | None) -> list[bytes]:
    if collection is None:
        raise CommandError(26, f"Unable to retrieve storageStats in $collStats stage: collection of {db} not found")
    count, size = collection.count, collection.size
    stats = {"size": size, "count": count, "avgObjSize": size // count if count else 0, "storageSize": size}
    return [c.encode({"ns": collection.ns, "storageStats": stats, "count": count})]


def _index_stats(_: str, collection: Collection | None) -> list[bytes]:
    return [
        c.encode(
            {
                "name": index.name,
                "key": dict(index.keys),
                "accesses": {"ops": Int64(index.uses), "since": index.since},
                "spec": index.spec(),
            }
        )
        for index in (collection.indexes.values() if collection else ())
    ]


def _no_change_stream(_: str, __: Collection | None) -> list[bytes]:
    raise CommandError(40573, "The $changeStream stage is only supported on replica sets")


_SOURCES: dict[str, Callable[[str, Collection | None], list[bytes]]] = {
    "$collStats": _collection_stats,
    "$indexStats": _index_stats,
    "$changeStream": _no_change_stream,
}


_IN_UPDATES = {"$addFields", "$set", "$project", "$unset", "$replaceRoot", "$replaceWith"}


def update_pipeline(data: bytes) -> Callable[[bytes], bytes]:
    """The new document from the old one, by an update pipeline; its ``_id`` may differ."""
    stages = stages_of((c.ARRAY, data))
    for name, _ in stages:
        if name not in _IN_UPDATES:
            raise CommandError(72, f"{name} is not allowed to be used within an update")
    compiled = [_STAGES[stage[0]](stage) for stage in stages]

    def apply(old: bytes) -> bytes:
        documents: Documents = [old]
        for stage in compiled:
            documents = stage(documents)
        return next(iter(documents))

    return apply
