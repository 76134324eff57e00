"""Aggregation expressions over stored bytes, for ``$expr``, ``$project`` and updates that are pipelines.

What is here keeps every type exact. An operator that is not here is left to mongomock, on decoded copies.
None is the missing value, as in the result of ``"$nothing.there"``.
"""

from __future__ import annotations

import datetime as dt
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bson.decimal128 import Decimal128

from model import canonical as c
from model.local import arithmetic as a
from model.local import order
from model.local.order import Element
from model.local.refusals import CommandError


@dataclass(frozen=True, slots=True)
class Scope:
    """The document that an expression looks at, and the variables that ``$let``, ``$map``, … have bound."""

    root: bytes
    variables: Mapping[str, Element | None] = field(default_factory=dict)

    def bind(self, **more: Element | None) -> Scope:
        """The scope with further variables."""
        return Scope(self.root, {**self.variables, **more})


Expression = Callable[[Scope], Element | None]


def condition(operand: Element) -> Callable[[bytes], bool]:
    """The filter clause ``{$expr: operand}``."""
    evaluate = compile_expression(operand)
    return lambda raw: truth(evaluate(Scope(raw)))


def truth(element: Element | None) -> bool:
    """False, null, zero and what is missing are false."""
    if element is None or element[0] in (c.NULL, c.UNDEFINED):
        return False
    if element[0] == c.BOOLEAN:
        return element[1] != b"\x00"
    return element[0] not in order.NUMBERS or order.number(*element) != 0


def compile_expression(operand: Element) -> Expression:
    """Compile an expression; raises ``CommandError`` where it is not understood."""
    kind, data = operand
    if kind == c.STRING and data[4:5] == b"$":
        return _reference(data[4:-1].decode("utf-8", "surrogateescape"))
    if kind == c.ARRAY:
        parts = [compile_expression(e) for e in order.items(data)]
        return lambda scope: array_of(part(scope) or a.NULL for part in parts)
    if kind != c.OBJECT:
        return lambda _: operand
    pairs = [(c.name_of(name), (k, data[x:y])) for name, k, x, y in c.elements(data)]
    if pairs and pairs[0][0].startswith("$"):
        if len(pairs) > 1:
            raise CommandError(15983, "an expression specification must contain exactly one field")
        return _operator(*pairs[0], operand)
    compiled = [(name, compile_expression(e)) for name, e in pairs]
    return lambda scope: object_of((name, part(scope)) for name, part in compiled)


def array_of(values: Any) -> Element:
    """An array of elements; none of them is None."""
    return c.ARRAY, c.array(c.Value(*e) for e in values).data


def object_of(pairs: Any) -> Element:
    """A document of fields, less those that are missing."""
    return c.OBJECT, c.document((name, c.Value(*e)) for name, e in pairs if e is not None)


def _reference(text: str) -> Expression:
    if not text.startswith("$$"):
        path = order.path_of(text[1:])
        return lambda scope: walk((c.OBJECT, scope.root), path)
    name, _, rest = text[2:].partition(".")
    path = order.path_of(rest) if rest else ()

    def variable(scope: Scope) -> Element | None:
        if name in scope.variables:
            return walk(scope.variables[name], path)
        if name in ("ROOT", "CURRENT"):
            return walk((c.OBJECT, scope.root), path)
        if name == "REMOVE":
            return None
        if name in ("NOW", "CLUSTER_TIME"):
            return now()
        raise CommandError(17276, f"Use of undefined variable: {name}")

    return variable


def now() -> Element:
    """The time as a date."""
    value = c.Value.of(dt.datetime.now(dt.UTC))
    return value.type, value.data


def walk(start: Element | None, path: tuple[bytes, ...]) -> Element | None:
    """A field path as expressions follow it: an array on the way gives the array of what its documents hold."""
    here = start
    for depth, name in enumerate(path):
        if here is None:
            return None
        if here[0] == c.ARRAY:
            found = (walk(e, path[depth:]) for e in order.items(here[1]) if e[0] in (c.OBJECT, c.ARRAY))
            return array_of(e for e in found if e is not None)
        here = order.field(here[1], name) if here[0] == c.OBJECT else None
    return here


def _operator(name: str, operand: Element, whole: Element) -> Expression:
    if name in ("$literal", "$const"):
        return lambda _: operand
    if name in _SPECIAL:
        return _SPECIAL[name](operand)
    if name not in _PLAIN:
        return _mongomock(name, whole)
    parts = order.items(operand[1]) if operand[0] == c.ARRAY else [operand]
    low, high, function = _PLAIN[name]
    if not low <= len(parts) <= high:
        raise CommandError(16020, f"Expression {name} takes {low} arguments. {len(parts)} were passed in.")
    compiled = [compile_expression(part) for part in parts]
    return lambda scope: function(*(part(scope) for part in compiled))


_MONGOMOCK_REFUSES = (NotImplementedError, AttributeError, TypeError, ValueError, ArithmeticError)


def _mongomock(name: str, whole: Element) -> Expression:
    mongomock: Any = importlib.import_module("mongomock.aggregate")
    python = c.Value(*whole).python()

    def evaluate(scope: Scope) -> Element | None:
        bound = {k: c.Value(*v).python() for k, v in scope.variables.items() if v is not None}
        root = c.decode(scope.root)
        try:
            result = mongomock._Parser(root, {"ROOT": root, **bound}, ignore_missing_keys=True).parse(python)
            if result is mongomock.NOTHING:
                return None
            value = c.Value.of(result)
        except KeyError:
            return None
        except _MONGOMOCK_REFUSES as error:
            raise CommandError(168, f"{name} is not supported here: {error}") from None
        except mongomock.OperationFailure as error:
            raise CommandError(2, f"{name}: {error}") from None
        return value.type, value.data

    return evaluate


# The operators that take their operands unevaluated or evaluate only some of them.


def _members(operand: Element, name: str, *wanted: str) -> list[Element | None]:
    if operand[0] != c.OBJECT:
        raise CommandError(40321, f"{name} only supports an object as its argument")
    return [order.field(operand[1], w.encode() + b"\x00") for w in wanted]


def _needed(operand: Element, name: str, *wanted: str) -> list[Expression]:
    found = _members(operand, name, *wanted)
    for w, element in zip(wanted, found, strict=True):
        if element is None:
            raise CommandError(40322, f"Missing '{w}' parameter to {name}")
    return [compile_expression(e) for e in found if e is not None]


def _all_of(operand: Element, wanted: bool) -> Expression:
    parts = [compile_expression(e) for e in (order.items(operand[1]) if operand[0] == c.ARRAY else [operand])]
    if wanted:
        return lambda scope: a.boolean(all(truth(part(scope)) for part in parts))
    return lambda scope: a.boolean(any(truth(part(scope)) for part in parts))


def _cond(operand: Element) -> Expression:
    if operand[0] == c.ARRAY:
        branches = [compile_expression(e) for e in order.items(operand[1])]
        if len(branches) != 3:
            raise CommandError(16020, f"Expression $cond takes exactly 3 arguments. {len(branches)} were passed in.")
        test, then, otherwise = branches
    else:
        test, then, otherwise = _needed(operand, "$cond", "if", "then", "else")
    return lambda scope: then(scope) if truth(test(scope)) else otherwise(scope)


def _if_null(operand: Element) -> Expression:
    parts = [compile_expression(e) for e in (order.items(operand[1]) if operand[0] == c.ARRAY else [operand])]

    def evaluate(scope: Scope) -> Element | None:
        value = None
        for part in parts:
            value = part(scope)
            if value is not None and value[0] not in (c.NULL, c.UNDEFINED):
                break
        return value

    return evaluate


def _switch(operand: Element) -> Expression:
    branches, default = _members(operand, "$switch", "branches", "default")
    if branches is None or branches[0] != c.ARRAY:
        raise CommandError(40060, "$switch expected an array for 'branches'")
    cases = [_needed(branch, "$switch", "case", "then") for branch in order.items(branches[1])]
    otherwise = compile_expression(default) if default is not None else None

    def evaluate(scope: Scope) -> Element | None:
        for case, then in cases:
            if truth(case(scope)):
                return then(scope)
        if otherwise is None:
            raise CommandError(40066, "$switch could not find a matching branch for an input, and no default")
        return otherwise(scope)

    return evaluate


def _let(operand: Element) -> Expression:
    bindings, _ = _members(operand, "$let", "vars", "in")
    (body,) = _needed(operand, "$let", "in")
    if bindings is None or bindings[0] != c.OBJECT:
        raise CommandError(16874, "invalid parameter: expected an object (vars)")
    inner = [(n, compile_expression((v.type, v.data))) for n, v in c.fields(bindings[1])]
    return lambda scope: body(scope.bind(**{n: part(scope) for n, part in inner}))


def _array_input(value: Element | None, name: str) -> list[Element] | None:
    if value is None or value[0] in (c.NULL, c.UNDEFINED):
        return None
    if value[0] != c.ARRAY:
        raise CommandError(28651, f"input to {name} must be an array not {c.Value(*value).kind}")
    return order.items(value[1])


def _as(operand: Element, name: str) -> str:
    (given,) = _members(operand, name, "as")
    return "this" if given is None else given[1][4:-1].decode("utf-8", "replace")


def _map(operand: Element) -> Expression:
    source, body = _needed(operand, "$map", "input", "in")
    variable = _as(operand, "$map")

    def evaluate(scope: Scope) -> Element | None:
        values = _array_input(source(scope), "$map")
        if values is None:
            return a.NULL
        return array_of(body(scope.bind(**{variable: e})) or a.NULL for e in values)

    return evaluate


def _filter(operand: Element) -> Expression:
    source, test = _needed(operand, "$filter", "input", "cond")
    variable = _as(operand, "$filter")

    def evaluate(scope: Scope) -> Element | None:
        values = _array_input(source(scope), "$filter")
        if values is None:
            return a.NULL
        return array_of(e for e in values if truth(test(scope.bind(**{variable: e}))))

    return evaluate


def _reduce(operand: Element) -> Expression:
    source, initial, body = _needed(operand, "$reduce", "input", "initialValue", "in")

    def evaluate(scope: Scope) -> Element | None:
        values = _array_input(source(scope), "$reduce")
        if values is None:
            return a.NULL
        total = initial(scope)
        for element in values:
            total = body(scope.bind(value=total, this=element))
        return total

    return evaluate


def _get_field(operand: Element) -> Expression:
    name, source = operand if operand[0] == c.STRING else None, None
    if operand[0] == c.OBJECT:
        name, source = _members(operand, "$getField", "field", "input")
        if name is not None and name[0] == c.OBJECT:
            name = compile_expression(name)(Scope(c.EMPTY))
    if name is None or name[0] != c.STRING:
        raise CommandError(5654602, "$getField requires 'field' to evaluate to a constant String")
    wanted = name[1][4:]
    start = compile_expression(source) if source is not None else lambda scope: (c.OBJECT, scope.root)

    def evaluate(scope: Scope) -> Element | None:
        value = start(scope)
        return order.field(value[1], wanted) if value is not None and value[0] == c.OBJECT else None

    return evaluate


_SPECIAL: dict[str, Callable[[Element], Expression]] = {
    "$and": lambda operand: _all_of(operand, True),
    "$or": lambda operand: _all_of(operand, False),
    "$cond": _cond,
    "$ifNull": _if_null,
    "$switch": _switch,
    "$let": _let,
    "$map": _map,
    "$filter": _filter,
    "$reduce": _reduce,
    "$getField": _get_field,
}


# The operators that are functions of their evaluated operands.

Function = Callable[..., "Element | None"]


def _missing_key(e: Element | None) -> order.Key:
    return (-0.5,) if e is None else order.key(*e)  # in expressions missing sorts below null, above MinKey


def _comparison(judge: Callable[[order.Key, order.Key], bool]) -> tuple[int, int, Function]:
    return 2, 2, lambda x, y: a.boolean(judge(_missing_key(x), _missing_key(y)))


def _compare(x: Element | None, y: Element | None) -> Element:
    p, q = _missing_key(x), _missing_key(y)
    return a.integer((p > q) - (p < q))


def type_name(e: Element | None) -> str:
    """What ``$type`` answers."""
    from model.local.filters import ALIASES

    return "missing" if e is None else next((n for n, number in ALIASES.items() if number == e[0]), "unknown")


def _nothing(e: Element | None) -> bool:
    return e is None or e[0] in (c.NULL, c.UNDEFINED)


def to_string(e: Element | None) -> Element | None:
    """``$toString``: Decimal128 with all its digits, a double as servers print it, dates in UTC to the millisecond."""
    if _nothing(e) or e is None:
        return a.NULL
    kind, data = e
    if kind in (c.STRING, c.SYMBOL):
        return c.STRING, data
    if kind in (c.INT32, c.INT64):
        return a.string(str(order.number(kind, data)))
    if kind == c.DECIMAL128:
        return a.string(str(Decimal128.from_bid(data)))
    if kind == c.DOUBLE:
        value = order.number(kind, data)
        whole = value == value and abs(value) < 1e15 and value == int(value)
        text = ("-" if str(value).startswith("-") else "") + str(abs(int(value))) if whole else repr(value)
        return a.string({"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}.get(text, text))
    if kind == c.BOOLEAN:
        return a.string("true" if truth(e) else "false")
    if kind == c.OBJECT_ID:
        return a.string(data.hex())
    if kind == c.DATE:
        try:
            moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=order.key(kind, data)[1])
        except OverflowError:
            raise CommandError(241, "Could not convert date to string: year out of range") from None
        return a.string(moment.isoformat(timespec="milliseconds") + "Z")
    raise CommandError(241, f"Unsupported conversion from {type_name(e)} to string in $convert with no onError value")


def _numbers(name: str, function: Callable[[Element, Element], Element]) -> Function:
    def total(*parts: Element | None) -> Element | None:
        if any(_nothing(p) for p in parts):
            return a.NULL
        out: Element | None = None
        for part in parts:
            if part is None or not a.is_number(part):
                raise CommandError(16554, f"{name} only supports numeric types, not {type_name(part)}")
            try:
                out = part if out is None else function(out, part)
            except OverflowError:
                out = a.double(float(order.number(*out or part)))
        return out or a.integer(0)

    return total


def _concat(*parts: Element | None) -> Element:
    if any(_nothing(p) for p in parts):
        return a.NULL
    if any(p is not None and p[0] != c.STRING for p in parts):
        raise CommandError(16702, "$concat only supports strings")
    return a.string(b"".join(p[1][4:-1] for p in parts if p is not None).decode("utf-8", "surrogateescape"))


def _array_size(e: Element | None) -> Element:
    if e is None or e[0] != c.ARRAY:
        raise CommandError(17124, f"The argument to $size must be an array, but was of type: {type_name(e)}")
    return a.integer(len(order.items(e[1])))


def _at(e: Element | None, position: Element | None) -> Element | None:
    if e is None or _nothing(e) or position is None or not a.is_number(position):
        return a.NULL
    if e[0] != c.ARRAY:
        raise CommandError(28689, f"$arrayElemAt's first argument must be an array, but is {type_name(e)}")
    values, index = order.items(e[1]), int(order.number(*position))
    return values[index] if -len(values) <= index < len(values) else None


def _in(e: Element | None, array: Element | None) -> Element:
    if array is None or array[0] != c.ARRAY:
        raise CommandError(40081, f"$in requires an array as a second argument, found: {type_name(array)}")
    wanted = _missing_key(e)
    return a.boolean(any(order.key(*item) == wanted for item in order.items(array[1])))


def _concat_arrays(*parts: Element | None) -> Element:
    lists = [_array_input(p, "$concatArrays") for p in parts]
    return a.NULL if any(part is None for part in lists) else array_of(e for part in lists for e in part or [])


def _merge_objects(*parts: Element | None) -> Element:
    if len(parts) == 1 and parts[0] is not None and parts[0][0] == c.ARRAY:
        parts = tuple(order.items(parts[0][1]))
    out: dict[str, Element] = {}
    for part in parts:
        if part is None or _nothing(part):
            continue
        if part[0] != c.OBJECT:
            raise CommandError(40400, f"$mergeObjects requires object inputs, but input is of type {type_name(part)}")
        out.update((name, (v.type, v.data)) for name, v in c.fields(part[1]))
    return object_of(out.items())


def _object_to_array(e: Element | None) -> Element:
    if e is None or _nothing(e):
        return a.NULL
    return array_of(object_of([("k", a.string(n)), ("v", (v.type, v.data))]) for n, v in c.fields(e[1]))


def _array_to_object(e: Element | None) -> Element:
    pairs = _array_input(e, "$arrayToObject")
    if pairs is None:
        return a.NULL
    out: dict[str, Element] = {}
    for pair in pairs:
        k, v = order.items(pair[1])[:2] if len(order.items(pair[1])) == 2 else (a.NULL, a.NULL)
        if k[0] != c.STRING:
            raise CommandError(40386, "$arrayToObject requires an array of key-value pairs")
        out[k[1][4:-1].decode("utf-8", "surrogateescape")] = v
    return object_of(out.items())


def _extreme(pick: Callable[..., Element]) -> Function:
    def extreme(*parts: Element | None) -> Element:
        if len(parts) == 1 and parts[0] is not None and parts[0][0] == c.ARRAY:
            parts = tuple(order.items(parts[0][1]))
        kept = [p for p in parts if p is not None and not _nothing(p)]
        return pick(kept, key=lambda e: order.key(*e)) if kept else a.NULL

    return extreme


_MANY = 1000
_PLAIN: dict[str, tuple[int, int, Function]] = {
    "$eq": _comparison(lambda x, y: x == y),
    "$ne": _comparison(lambda x, y: x != y),
    "$gt": _comparison(lambda x, y: x > y),
    "$gte": _comparison(lambda x, y: x >= y),
    "$lt": _comparison(lambda x, y: x < y),
    "$lte": _comparison(lambda x, y: x <= y),
    "$cmp": (2, 2, _compare),
    "$not": (1, 1, lambda e: a.boolean(not truth(e))),
    "$type": (1, 1, lambda e: a.string(type_name(e))),
    "$isNumber": (1, 1, lambda e: a.boolean(a.is_number(e))),
    "$isArray": (1, 1, lambda e: a.boolean(e is not None and e[0] == c.ARRAY)),
    "$toString": (1, 1, to_string),
    "$add": (0, _MANY, _numbers("$add", a.add)),
    "$multiply": (0, _MANY, _numbers("$multiply", a.multiply)),
    "$subtract": (2, 2, _numbers("$subtract", a.subtract)),
    "$divide": (2, 2, _numbers("$divide", a.divide)),
    "$concat": (0, _MANY, _concat),
    "$size": (1, 1, _array_size),
    "$arrayElemAt": (2, 2, _at),
    "$first": (1, 1, lambda e: _at(e, a.integer(0))),
    "$last": (1, 1, lambda e: _at(e, a.integer(-1))),
    "$in": (2, 2, _in),
    "$concatArrays": (0, _MANY, _concat_arrays),
    "$mergeObjects": (0, _MANY, _merge_objects),
    "$objectToArray": (1, 1, _object_to_array),
    "$arrayToObject": (1, 1, _array_to_object),
    "$max": (1, _MANY, _extreme(max)),
    "$min": (1, _MANY, _extreme(min)),
    "$bsonSize": (1, 1, lambda e: a.NULL if e is None or e[0] != c.OBJECT else a.integer(len(e[1]))),
}
