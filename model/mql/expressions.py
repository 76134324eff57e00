"""Aggregation expressions over stored bytes, for ``$expr``, ``$project`` and update pipelines.

All types stay exact. An unsupported operator is refused, as a server refuses an unknown one. None is the missing
value, as in the result of ``"$nothing.there"``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from model.errors import Unreadable
from model.mql import arithmetic as a
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.functions import DATE_PARTS, FUNCTIONS, array_input, array_of, now, truth
from model.mql.order import Element
from model.values import canonical as c


class Scope(Struct, frozen=True):
    """The document that an expression is evaluated on, and the variables bound by ``$let``, ``$map``, …"""

    root: bytes
    variables: Mapping[str, Element | None] = field(default_factory=dict)
    tables: Tables = field(default_factory=lambda: Tables())

    def bind(self, **more: Element | None) -> Scope:
        """The scope with further variables."""
        return Scope(self.root, {**self.variables, **more}, self.tables)

    def look_up(self, path: tuple[bytes, ...]) -> Element | None:
        """The value at a path from the root."""
        try:
            return self.tables.walk(self.root, path)
        except Unreadable:
            return walk((c.OBJECT, self.root), path)


class Tables:
    """The fields of a document by path, for expressions that use many: each level is parsed only once."""

    def __init__(self) -> None:
        self._asked = 0
        self._levels: dict[tuple[bytes, ...], dict[bytes, Element]] = {}

    def walk(self, root: bytes, path: tuple[bytes, ...]) -> Element | None:
        """The value of a field path, as :func:`walk` returns it; raises ``Unreadable`` for damage on the way."""
        self._asked += 1
        here: Element | None = (c.OBJECT, root)
        if self._asked <= _WORTH_A_TABLE:
            return walk(here, path)
        for depth, name in enumerate(path):
            if here is None or here[0] != c.OBJECT:
                return walk(here, path[depth:])
            level = self._levels.get(path[:depth])
            if level is None:
                level = self._levels[path[:depth]] = {}
                for found, kind, a, b in c.elements(here[1]):
                    level.setdefault(found + b"\x00", (kind, here[1][a:b]))
            here = level.get(name)
        return here


_TYPES = [bytes((kind,)) for kind in range(256)]
_WORTH_A_TABLE = 8  # look-ups; fewer read only up to their field, which is cheaper
Expression = Callable[[Scope], Element | None]


def condition(operand: Element) -> Callable[[bytes], bool]:
    """The filter clause ``{$expr: operand}``."""
    evaluate = compile_expression(operand)
    return lambda raw: truth(evaluate(Scope(raw)))


def compile_expression(operand: Element) -> Expression:
    """Compile an expression; raises ``CommandError`` if it is invalid."""
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
        return _operator(*pairs[0])
    return _object([(c.name_bytes(name) + b"\x00", compile_expression(e)) for name, e in pairs])


def _object(fields: Sequence[tuple[bytes, Expression]]) -> Expression:
    """A document of fields, without missing ones; it is made for each row of a pipeline."""

    def made(scope: Scope) -> Element:
        parts: list[bytes] = []
        for name, part in fields:
            if (found := part(scope)) is not None:
                parts += (_TYPES[found[0]], name, found[1])
        return c.OBJECT, c.joined(parts)

    return made


def _reference(text: str) -> Expression:
    if not text.startswith("$$"):
        path = order.path_of(text[1:])
        return lambda scope: scope.look_up(path)
    name, _, rest = text[2:].partition(".")
    path = order.path_of(rest) if rest else ()
    if text == "$$ROOT":
        return lambda scope: scope.variables.get("ROOT", (c.OBJECT, scope.root))

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


def walk(start: Element | None, path: tuple[bytes, ...]) -> Element | None:
    """The value of a field path in expressions; an array on the way gives an array of its documents' values."""
    try:
        return _walked(start, path)
    except Unreadable:
        return None  # nothing after the damage can be read


def _walked(start: Element | None, path: tuple[bytes, ...]) -> Element | None:
    here = start
    for depth, name in enumerate(path):
        if here is None:
            return None
        if here[0] == c.ARRAY:
            found = (walk(e, path[depth:]) for e in order.items(here[1]) if e[0] in (c.OBJECT, c.ARRAY))
            return array_of(e for e in found if e is not None)
        here = order.field(here[1], name) if here[0] == c.OBJECT else None
    return here


def _operator(name: str, operand: Element) -> Expression:
    if name in ("$literal", "$const"):
        return lambda _: operand
    if name in _SPECIAL:
        return _SPECIAL[name](operand)
    if name not in FUNCTIONS:
        raise CommandError(168, f"Unrecognized expression '{name}'")
    if name in DATE_PARTS and operand[0] == c.OBJECT:
        operand = _date_of(operand, name)
    parts = order.items(operand[1]) if operand[0] == c.ARRAY else [operand]
    low, high, function = FUNCTIONS[name]
    if not low <= len(parts) <= high:
        raise CommandError(16020, f"Expression {name} takes {low} arguments. {len(parts)} were passed in.")
    compiled = [compile_expression(part) for part in parts]
    return lambda scope: function(*(part(scope) for part in compiled))


# --- operators that do not evaluate their operands, or only some


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


def _date_of(operand: Element, name: str) -> Element:
    """The date from an operand, which is an expression or ``{date: …, timezone: …}``."""
    date, timezone = _members(operand, name, "date", "timezone")
    if timezone is not None:
        raise CommandError(238, f"{name} with a timezone is not supported here: it counts in UTC")
    return date or operand


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


def _as(operand: Element, name: str) -> str:
    (given,) = _members(operand, name, "as")
    return "this" if given is None else given[1][4:-1].decode("utf-8", "replace")


def _map(operand: Element) -> Expression:
    source, body = _needed(operand, "$map", "input", "in")
    variable = _as(operand, "$map")

    def evaluate(scope: Scope) -> Element | None:
        values = array_input(source(scope), "$map")
        if values is None:
            return a.NULL
        return array_of(body(scope.bind(**{variable: e})) or a.NULL for e in values)

    return evaluate


def _filter(operand: Element) -> Expression:
    source, test = _needed(operand, "$filter", "input", "cond")
    variable = _as(operand, "$filter")

    def evaluate(scope: Scope) -> Element | None:
        values = array_input(source(scope), "$filter")
        if values is None:
            return a.NULL
        return array_of(e for e in values if truth(test(scope.bind(**{variable: e}))))

    return evaluate


def _reduce(operand: Element) -> Expression:
    source, initial, body = _needed(operand, "$reduce", "input", "initialValue", "in")

    def evaluate(scope: Scope) -> Element | None:
        values = array_input(source(scope), "$reduce")
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
            # A name that begins with a dollar sign is written as {$literal: name}.
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
