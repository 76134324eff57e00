"""MongoDB filters, evaluated on the stored bytes as on a server.

Decoded Python values would not do: with them, 1 equals True, the order of a sub-document's fields does not count,
``$type`` cannot tell Int32 from Int64, and a document that cannot be decoded cannot be matched. The guards of writes
depend on exactly these distinctions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from model.errors import Refused, Unreadable
from model.mql import expressions, functions, order, regular_expressions
from model.mql.command_error import CommandError
from model.mql.order import Element, Key
from model.mql.path_lookup import WORTH_A_WALK, FieldTest, Operator, Together
from model.values import canonical as c

Test = Callable[[Element | None], bool]
Predicate = Callable[[bytes], bool]


class Matcher(Struct):
    """A compiled filter, with its conditions on single fields, which help to choose an index."""

    matches: Predicate
    equal: dict[str, list[Key]] = field(default_factory=dict)  # path -> keys, one of which the field must have
    bounds: dict[str, list[tuple[str, Key]]] = field(default_factory=dict)  # path -> ($gt, $gte, $lt, $lte; key)
    seeds: list[tuple[str, Element]] = field(default_factory=list)  # equalities from which an upsert makes its document
    everything: bool = False
    either: list[Matcher] = field(default_factory=list)  # the conditions of each branch of a ``$or``


def looked_at(raw: bytes) -> tuple[str, ...] | None:
    """The top-level fields that decide whether a document meets a filter; None if it needs the whole document."""
    names: list[str] = []
    for name, operand in c.fields(raw):
        if name in ("$and", "$or", "$nor") and operand.type == c.ARRAY:
            for part in c.items(operand):
                inner = looked_at(part.data) if part.type == c.OBJECT else None
                if inner is None:
                    return None
                names += inner
        elif name.startswith("$") or not name:
            return None
        else:
            names.append(name.partition(".")[0])
    return tuple(dict.fromkeys(names))


def predicate(raw: bytes, trouble: str) -> Predicate:
    """A test whether a document meets a filter.

    Raises ``Refused``, beginning with ``trouble``, if the filter is invalid; so does the test if it cannot be
    evaluated on a document.
    """

    def refused(error: CommandError) -> Refused:
        return Refused(f"{trouble}: {str(error).rstrip('.')}.")

    try:
        matches = compile_filter(raw).matches
    except CommandError as error:
        raise refused(error) from None

    def meets(document: bytes) -> bool:
        try:
            return matches(document)
        except CommandError as error:
            raise refused(error) from None

    return meets


def compile_filter(raw: bytes) -> Matcher:
    """Compile a filter; raises ``CommandError`` if it is invalid."""
    matcher = Matcher(lambda _: True)
    predicates = _gathered(_document(raw, matcher))
    matcher.everything = not predicates

    def matches(document: bytes) -> bool:
        try:
            return all(predicate(document) for predicate in predicates)
        except (Unreadable, RecursionError):
            return False  # a field that the filter looks at is damaged

    if predicates:
        matcher.matches = matches
    return matcher


def _gathered(predicates: list[Predicate]) -> list[Predicate]:
    """The clauses after the first, combined; the first is usually on ``_id``, and mostly decides alone."""
    tests = [predicate for predicate in predicates if isinstance(predicate, FieldTest)]
    if len(tests) <= WORTH_A_WALK:
        return predicates
    return [tests[0], Together(tests[1:]), *(p for p in predicates if not isinstance(p, FieldTest))]


def _document(raw: bytes, top: Matcher | None) -> list[Predicate]:
    return [
        predicate
        for name, kind, a, b in c.elements(raw)
        for predicate in _clause(c.name_of(name), (kind, raw[a:b]), top)
    ]


def _clause(name: str, operand: Element, top: Matcher | None) -> list[Predicate]:
    if not name.startswith("$"):
        return [_field(name, operand, top)]
    if name == "$comment":
        return []
    if name == "$expr":
        return [expressions.condition(operand)]
    if name in ("$and", "$or", "$nor"):
        return _joined(name, operand, top)
    if name in ("$where", "$text", "$jsonSchema"):
        raise CommandError(2, f"{name} is not supported here")
    raise CommandError(2, f"unknown top level operator: {name}")


def _joined(name: str, operand: Element, top: Matcher | None) -> list[Predicate]:
    """Several filters joined by ``$and``, ``$or`` or ``$nor``."""
    if operand[0] != c.ARRAY:
        raise CommandError(2, f"{name} must be an array")
    parts = order.items(operand[1])
    if not parts or any(kind != c.OBJECT for kind, _ in parts):
        raise CommandError(2, f"{name} must be a nonempty array of documents")
    if name == "$and":
        return [p for _, data in parts for p in _document(data, top)]
    within = [Matcher(lambda _: True) for _ in parts]
    branches = [_document(data, each) for (_, data), each in zip(parts, within, strict=True)]
    if name == "$or" and top is not None:
        _note_lowest(within, top)
        top.either = within
    if name == "$nor" and all(len(branch) == 1 and isinstance(branch[0], FieldTest) for branch in branches):
        return [FieldTest(p.path, [_none(p.operators)]) for (p,) in branches if isinstance(p, FieldTest)]
    wanted = name == "$or"
    return [lambda raw: any(all(p(raw) for p in branch) for branch in branches) == wanted]


def _note_lowest(branches: Sequence[Matcher], top: Matcher) -> None:
    """Note the lowest key that a field may have under ``$or``, if each branch sets one."""
    for name in set.intersection(*({*each.bounds, *each.equal} for each in branches)):
        lowest = [_lowest(each, name) for each in branches]
        if all(lowest):
            top.bounds.setdefault(name, []).append(("$gte", min(key for key in lowest if key)))


def _lowest(branch: Matcher, name: str) -> Key | None:
    if name in branch.equal:
        return min(branch.equal[name])
    return max((key for operator, key in branch.bounds[name] if operator in ("$gt", "$gte")), default=None)


def is_operators(operand: Element) -> bool:
    """Whether a field's operand is a document of operators, rather than a value to compare with."""
    if operand[0] != c.OBJECT:
        return False
    first = next(c.elements(operand[1]), None)
    return first is not None and first[0].startswith(b"$") and first[0] not in (b"$ref", b"$id", b"$db")


def _field(name: str, operand: Element, top: Matcher | None) -> Predicate:
    path = order.path_of(name)
    if is_operators(operand):
        operators = _operators(operand[1], name, top)
    elif operand[0] == c.REGEX:
        operators = [_any(_regex_or_equal(operand))]
    else:
        operators = [_any(equal_to(operand))]
        _note_equal(name, operand, top)

    return FieldTest(path, operators)


def _note_equal(name: str, operand: Element, top: Matcher | None) -> None:
    if top is not None:
        # Null also equals undefined, whose key is (0,).
        keys = [order.NULL_KEY, (0,)] if operand[0] == c.NULL else [order.key(*operand)]
        top.equal.setdefault(name, keys)
        top.seeds.append((name, operand))


def value_test(operand: Element) -> Callable[[Element], bool]:
    """The test of one value by operators or by equality, for ``$pull`` and ``$elemMatch``."""
    if is_operators(operand):
        operators = _operators(operand[1], "", None)
        return lambda element: all(operator([element], [element]) for operator in operators)
    return _regex_or_equal(operand) if operand[0] == c.REGEX else equal_to(operand)


def _operators(raw: bytes, name: str, top: Matcher | None) -> list[Operator]:
    pairs = [(c.name_of(n), (kind, raw[a:b])) for n, kind, a, b in c.elements(raw)]
    options = next((operand for n, operand in pairs if n == "$options"), None)
    out = []
    for operator, operand in pairs:
        if operator == "$options":
            continue
        if operator == "$regex":
            out.append(_any(_pattern(operand, options)))
            continue
        out.append(_operator(operator, operand))
        if top is None:
            continue
        if operator == "$eq":
            _note_equal(name, operand, top)
        elif operator == "$in" and all(kind != c.REGEX for kind, _ in order.items(operand[1])):
            top.equal.setdefault(name, [order.key(*e) for e in order.items(operand[1])] + [(0,)])
        elif operator in ("$gt", "$gte", "$lt", "$lte") and operand[0] in _BOUNDABLE:
            top.bounds.setdefault(name, []).append((operator, order.key(*operand)))
        elif operator == "$type" and operand[0] in order.NUMBERS and (rank := order.RANK.get(_kind(operand))):
            top.bounds.setdefault(name, []).append(("$gte", (rank,)))
    return out


def _kind(operand: Element) -> int:
    number = order.number(*operand)
    return c.MIN_KEY if number == -1 else int(number)


_BOUNDABLE = (*order.NUMBERS, c.STRING, c.OBJECT_ID, c.DATE, c.TIMESTAMP, c.BINARY)


def _operator(operator: str, operand: Element) -> Operator:
    if operator in ("$eq", "$ne"):
        return _any(equal_to(operand), operator == "$eq")
    if operator in ("$in", "$nin"):
        return _any(_one_of(operator, operand), operator == "$in")
    if operator in ("$gt", "$gte", "$lt", "$lte"):
        return _any(_compared(operator, operand))
    if operator == "$exists":
        wanted = functions.truth(operand)
        return lambda found, _: any(e is not None for e in found) == wanted
    if operator == "$type":
        return _any(_typed(operand))
    if operator == "$size":
        return _sized(operand)
    if operator == "$not":
        return _not(operand)
    if operator == "$elemMatch":
        return _element_match(operand)
    if operator == "$all":
        return _all(operand)
    if operator == "$mod":
        return _any(_modulo(operand))
    if operator in _BITS:
        return _any(_bits(operator, operand))
    raise CommandError(2, f"unknown operator: {operator}")


def _any(test: Test, wanted: bool = True) -> Operator:
    return lambda _, flat: any(map(test, flat)) == wanted


def equal_to(operand: Element) -> Test:
    """Whether a value equals the operand on a server; null equals a missing field."""
    kind, _ = operand
    if kind in (c.NULL, c.UNDEFINED):
        return lambda e: e is None or e[0] in (c.NULL, c.UNDEFINED)
    wanted, rank = order.key(*operand), order.RANK[kind]
    return lambda e: e == operand or (e is not None and order.RANK.get(e[0]) == rank and order.key(*e) == wanted)


def _regex_or_equal(operand: Element) -> Test:
    search, same = _pattern(operand, None), equal_to(operand)
    return lambda e: search(e) or same(e)


def _pattern(operand: Element, options: Element | None) -> Test:
    if operand[0] == c.REGEX:
        source, flags = operand[1].split(b"\x00")[:2]
    elif operand[0] == c.STRING:
        source, flags = operand[1][4:-1], b""
    else:
        raise CommandError(2, "$regex has to be a string")
    if options is not None and options[0] == c.STRING:
        flags = options[1][4:-1]
    has = regular_expressions.compiled(source.decode("utf-8", "surrogateescape"), flags.decode("ascii", "replace"))
    return lambda e: (
        e is not None and e[0] in (c.STRING, c.SYMBOL) and has(e[1][4:-1].decode("utf-8", "surrogateescape"))
    )


def _one_of(operator: str, operand: Element) -> Test:
    if operand[0] != c.ARRAY:
        raise CommandError(2, f"{operator} needs an array")
    wanted = order.items(operand[1])
    patterns = [_pattern(e, None) for e in wanted if e[0] == c.REGEX]
    keys = {order.key(*e) for e in wanted}
    null = any(e[0] == c.NULL for e in wanted)

    def test(e: Element | None) -> bool:
        if e is None:
            return null
        return order.key(*e) in keys or any(p(e) for p in patterns)

    return test


def _compared(operator: str, operand: Element) -> Test:
    kind, _ = operand
    limit, rank, orequal = order.key(*operand), order.RANK[kind], operator in ("$gte", "$lte")
    if kind in (c.NULL, c.UNDEFINED):
        return equal_to(operand) if orequal else lambda _: False
    greater = operator in ("$gt", "$gte")
    open_rank = kind in (c.MIN_KEY, c.MAX_KEY)

    def test(e: Element | None) -> bool:
        if e is None or (order.RANK.get(e[0]) != rank and not open_rank):
            return False
        mine = order.key(*e)
        if mine == limit:
            return orequal
        if order.NAN_KEY in (mine, limit):
            return False  # NaN is neither above nor below any number
        return (mine > limit) == greater

    return test


def type_numbers(operand: Element) -> set[int]:
    """The BSON types in the operand of ``$type``: a number, an alias, or a list of these."""
    kind, data = operand
    if kind == c.ARRAY:
        return set().union(*(type_numbers(e) for e in order.items(data)))
    if kind == c.STRING:
        alias = data[4:-1].decode("utf-8", "replace")
        if alias == "number":
            return set(order.NUMBERS)
        if alias in functions.ALIASES:
            return {functions.ALIASES[alias]}
        raise CommandError(2, f"Unknown type name alias: {alias}")
    if kind in order.NUMBERS:
        wanted = order.number(kind, data)
        if wanted == -1:
            return {255}
        if wanted in functions.ALIASES.values():
            return {int(wanted)}
        raise CommandError(2, f"Invalid numerical type code: {wanted}")
    raise CommandError(14, "type must be represented as a number or a string")


def _typed(operand: Element) -> Test:
    wanted = type_numbers(operand)
    return lambda e: e is not None and e[0] in wanted


def _sized(operand: Element) -> Operator:
    if operand[0] not in order.NUMBERS:
        raise CommandError(2, "$size needs a number")
    wanted = order.number(*operand)
    return lambda found, _: any(
        e is not None and e[0] == c.ARRAY and sum(1 for _ in c.elements(e[1])) == wanted for e in found
    )


def _not(operand: Element) -> Operator:
    if operand[0] == c.REGEX:
        return _any(_pattern(operand, None), wanted=False)
    if not is_operators(operand):
        raise CommandError(2, "$not needs a regex or a document")
    return _none(_operators(operand[1], "", None))


def _none(operators: Sequence[Operator]) -> Operator:
    """The test that not all of these operators hold."""
    return lambda found, flat: not all(operator(found, flat) for operator in operators)


def _element_match(operand: Element) -> Operator:
    if operand[0] != c.OBJECT:
        raise CommandError(2, "$elemMatch needs an Object")
    first = next(c.elements(operand[1]), None)
    logical = first is not None and first[0] in (b"$and", b"$or", b"$nor", b"$expr", b"$where")
    if is_operators(operand) and not logical:
        value = value_test(operand)
    else:
        clauses = _document(operand[1], None)

        def value(e: Element) -> bool:
            return e[0] in (c.OBJECT, c.ARRAY) and all(clause(e[1]) for clause in clauses)

    return lambda found, _: any(
        e is not None and e[0] == c.ARRAY and any(value(item) for item in order.items(e[1])) for e in found
    )


def _all(operand: Element) -> Operator:
    if operand[0] != c.ARRAY:
        raise CommandError(2, "$all needs an array")
    parts: list[Operator] = []
    for part in order.items(operand[1]):
        if is_operators(part):
            parts.extend(_operators(part[1], "", None))
        else:
            parts.append(_any(_regex_or_equal(part) if part[0] == c.REGEX else equal_to(part)))
    return lambda found, flat: bool(parts) and all(part(found, flat) for part in parts)


def _modulo(operand: Element) -> Test:
    parts = order.items(operand[1]) if operand[0] == c.ARRAY else []
    if len(parts) != 2 or any(kind not in order.NUMBERS for kind, _ in parts):
        raise CommandError(2, "malformed mod, needs to be an array of two numbers")
    divisor, rest = (int(order.number(*part)) for part in parts)
    if divisor == 0:
        raise CommandError(2, "divisor cannot be 0")

    def test(e: Element | None) -> bool:
        if e is None or e[0] not in order.NUMBERS:
            return False
        value = order.number(*e)
        if value != value or value in (float("inf"), float("-inf")):
            return False
        whole = int(value)
        # The remainder has the sign of the dividend, as in C.
        return (abs(whole) % abs(divisor)) * (-1 if whole < 0 else 1) == rest

    return test


_BITS = ("$bitsAllSet", "$bitsAnySet", "$bitsAllClear", "$bitsAnyClear")


def _bits(operator: str, operand: Element) -> Test:
    kind, data = operand
    if kind == c.ARRAY:
        mask = sum({1 << int(order.number(*e)) for e in order.items(data)})
    elif kind == c.BINARY:
        mask = int.from_bytes(data[5:], "little")
    elif kind in order.NUMBERS:
        mask = int(order.number(kind, data))
    else:
        raise CommandError(2, f"{operator} takes an Array, a number, or a BinData")

    def test(e: Element | None) -> bool:
        if e is None or e[0] not in (*order.NUMBERS, c.BINARY):
            return False
        value = int.from_bytes(e[1][5:], "little") if e[0] == c.BINARY else order.number(*e)
        if value != value or int(value) != value:
            return False
        hit = int(value) & mask
        return {"$bitsAllSet": hit == mask, "$bitsAnySet": hit != 0, "$bitsAllClear": hit == 0}.get(
            operator, hit != mask
        )

    return test
