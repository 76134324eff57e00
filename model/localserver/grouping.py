"""``$group``: documents grouped by a typed key, with the common accumulators."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from model.mql import arithmetic, expressions, functions, order
from model.mql.command_error import CommandError
from model.mql.expressions import Expression, Scope
from model.mql.order import Element
from model.values import canonical as c

Accumulator = Callable[[list[Element | None]], "Element | None"]


def _present(values: list[Element | None]) -> list[Element]:
    return [v for v in values if v is not None and v[0] not in (c.NULL, c.UNDEFINED)]


def _distinct(values: list[Element | None]) -> Element:
    return functions.array_of({order.key(*v): v for v in values if v is not None}.values())


ACCUMULATORS: dict[str, Accumulator] = {
    "$sum": functions.total,
    "$count": lambda values: arithmetic.integer(len(values)),
    "$avg": functions.average,
    "$min": lambda values: min(_present(values), key=lambda e: order.key(*e), default=arithmetic.NULL),
    "$max": lambda values: max(_present(values), key=lambda e: order.key(*e), default=arithmetic.NULL),
    "$first": lambda values: values[0] or arithmetic.NULL,
    "$last": lambda values: values[-1] or arithmetic.NULL,
    "$push": lambda values: functions.array_of(v for v in values if v is not None),
    "$addToSet": _distinct,
    "$mergeObjects": lambda values: functions.FUNCTIONS["$mergeObjects"][2](*values),
}


def group(spec: bytes) -> Callable[[Iterable[bytes]], Iterable[bytes]]:
    """Compile the operand of ``$group``."""
    pairs = c.fields(spec)
    key = next((expressions.compile_expression((v.type, v.data)) for name, v in pairs if name == "_id"), None)
    if key is None:
        raise CommandError(15955, "a group specification must include an _id")
    columns: list[tuple[str, Accumulator, Expression]] = []
    for name, value in pairs:
        if name == "_id":
            continue
        inner = c.fields(value.data) if value.type == c.OBJECT else []
        if len(inner) != 1:
            raise CommandError(40234, f"The field '{name}' must be an accumulator object")
        operator, operand = inner[0]
        if operator not in ACCUMULATORS:
            raise CommandError(15952, f"unknown group operator '{operator}'")
        columns.append((name, ACCUMULATORS[operator], expressions.compile_expression((operand.type, operand.data))))

    def work(documents: Iterable[bytes]) -> Iterable[bytes]:
        groups: dict[order.Key, tuple[Element, list[list[Element | None]]]] = {}
        for raw in documents:
            scope = Scope(raw)
            mine = key(scope) or arithmetic.NULL
            _, values = groups.setdefault(order.key(*mine), (mine, [[] for _ in columns]))
            for (_, _, expression), column in zip(columns, values, strict=True):
                column.append(expression(scope))
        for mine, values in groups.values():
            row = [(name, gather(v)) for (name, gather, _), v in zip(columns, values, strict=True)]
            yield functions.object_of([("_id", mine), *row])[1]

    return work


def sort_by_count(operand: Element) -> Callable[[Iterable[bytes]], Iterable[bytes]]:
    """``$sortByCount``: how often each value occurs, most frequent first."""
    one = functions.object_of([("$sum", arithmetic.integer(1))])
    gather = group(functions.object_of([("_id", operand), ("count", one)])[1])
    return lambda documents: sorted(
        gather(documents), key=lambda raw: order.key_of(order.field(raw, b"count\x00")), reverse=True
    )
