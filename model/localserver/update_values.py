"""The effect of each update operator on one value; None is a missing value, before or after."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable

from model.mql import arithmetic, filters, functions, order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c

Change = Callable[[Element | None], "Element | None"]
"""Makes the new value from the old one."""


def UNSET(old: Element | None) -> Element | None:
    """``$unset``: removes the value."""
    return None


def setter(value: Element) -> Change:
    """``$set``, ``$setOnInsert``."""
    return lambda _: value


def _number(operator: str, path: str, operand: Element, function: Callable[[Element, Element], Element]) -> Change:
    if not arithmetic.is_number(operand):
        raise CommandError(14, f"Cannot {operator[1:]} with non-numeric argument: {{{path}: {c.Value(*operand).kind}}}")

    def change(old: Element | None) -> Element:
        if old is None:
            zero = arithmetic.integer(0, wide=operand[0] == c.INT64)
            # On a missing field, $inc sets the operand, and $mul sets 0 of its type.
            return operand if operator == "$inc" else function(zero, operand)
        if not arithmetic.is_number(old):
            kind = functions.type_name(old)
            raise CommandError(
                14, f"Cannot apply {operator} to a value of non-numeric type. The field '{path}' is of type {kind}"
            )
        try:
            return function(old, operand)
        except OverflowError:
            raise CommandError(2, f"Failed to apply {operator} operations to '{path}': beyond 64 bits") from None

    return change


def _extreme(operand: Element, greatest: bool) -> Change:
    wanted = order.key(*operand)

    def change(old: Element | None) -> Element:
        if old is None:
            return operand
        mine = order.key(*old)
        return operand if (wanted > mine if greatest else wanted < mine) else old

    return change


def _current_date(path: str, operand: Element) -> Change:
    kind = order.field(operand[1], b"$type\x00") if operand[0] == c.OBJECT else None
    if kind is not None and kind[1][4:-1] == b"timestamp":
        # In the stored form, the increment comes before the seconds.
        return lambda _: (c.TIMESTAMP, struct.pack("<II", 1, int(time.time())))
    return lambda _: functions.now()


def _array(operator: str, path: str, old: Element | None) -> list[Element] | None:
    if old is None:
        return None
    if old[0] != c.ARRAY:
        kind = functions.type_name(old)
        raise CommandError(2, f"The field '{path}' must be an array but is of type {kind}: {operator} needs one")
    return order.items(old[1])


def _modifiers(operand: Element) -> tuple[list[Element], dict[str, Element]]:
    """The values to add, and ``$position``, ``$slice``, ``$sort``."""
    if operand[0] == c.OBJECT:
        given = {name: (v.type, v.data) for name, v in c.fields(operand[1])}
        if "$each" in given:
            if given["$each"][0] != c.ARRAY:
                raise CommandError(2, "The argument to $each in $push must be an array")
            return order.items(given.pop("$each")[1]), given
    return [operand], {}


def _push(path: str, operand: Element) -> Change:
    added, modifiers = _modifiers(operand)
    unknown = set(modifiers) - {"$position", "$slice", "$sort"}
    if unknown:
        raise CommandError(2, f"Unrecognized clause in $push: {sorted(unknown)[0]}")

    def change(old: Element | None) -> Element:
        if not modifiers and old is not None and old[0] == c.ARRAY:
            return _appended(old[1], added)
        values = _array("$push", path, old) or []
        position = modifiers.get("$position")
        if position is None:
            values = values + added
        else:
            at = int(order.number(*position))
            values[at:at] = added
        if "$sort" in modifiers:
            values = _sorted(values, modifiers["$sort"])
        if "$slice" in modifiers:
            keep = int(order.number(*modifiers["$slice"]))
            values = values[:keep] if keep >= 0 else values[keep:]
        return functions.array_of(values)

    return change


def _appended(array: bytes, added: list[Element]) -> Element:
    """An array with elements appended; the old ones are not parsed, because histories grow to megabytes."""
    count = sum(1 for _ in c.elements(array))
    names = (str(i).encode() for i in range(count, count + len(added)))
    tail = b"".join(bytes((k,)) + name + b"\x00" + data for name, (k, data) in zip(names, added, strict=True))
    return c.ARRAY, (len(array) + len(tail)).to_bytes(4, "little") + array[4:-1] + tail + b"\x00"


def _sorted(values: list[Element], spec: Element) -> list[Element]:
    if spec[0] != c.OBJECT:
        return sorted(values, key=lambda e: order.key(*e), reverse=order.number(*spec) < 0)
    for name, direction in reversed(c.fields(spec[1])):
        path, down = order.path_of(name), order.number(direction.type, direction.data) < 0
        values = sorted(
            values,
            key=lambda e: order.sort_key(e[1], path, down) if e[0] == c.OBJECT else order.NULL_KEY,
            reverse=down,
        )
    return values


def _add_to_set(path: str, operand: Element) -> Change:
    added, _ = _modifiers(operand)

    def change(old: Element | None) -> Element:
        values = _array("$addToSet", path, old) or []
        known = {order.key(*e) for e in values}
        fresh = []
        for e in added:
            if order.key(*e) not in known:
                known.add(order.key(*e))
                fresh.append(e)
        if old is not None and not fresh:
            return old
        return functions.array_of(values + fresh)

    return change


def _pull(path: str, operand: Element) -> Change:
    if operand[0] == c.OBJECT and not filters.is_operators(operand):
        matches = filters.compile_filter(operand[1]).matches
        return _without("$pull", path, lambda e: e[0] == c.OBJECT and matches(e[1]))
    return _without("$pull", path, filters.value_test(operand))


def _pull_all(path: str, operand: Element) -> Change:
    if operand[0] != c.ARRAY:
        raise CommandError(2, "$pullAll requires an array argument")
    keys = {order.key(*e) for e in order.items(operand[1])}
    return _without("$pullAll", path, lambda e: order.key(*e) in keys)


def _without(operator: str, path: str, test: Callable[[Element], bool]) -> Change:
    def change(old: Element | None) -> Element | None:
        values = _array(operator, path, old)
        if values is None:
            return None
        kept = [e for e in values if not test(e)]
        return old if len(kept) == len(values) else functions.array_of(kept)

    return change


def _pop(path: str, operand: Element) -> Change:
    first = arithmetic.is_number(operand) and order.number(*operand) < 0

    def change(old: Element | None) -> Element | None:
        values = _array("$pop", path, old)
        if not values:
            return old
        return functions.array_of(values[1:] if first else values[:-1])

    return change


def _bit(path: str, operand: Element) -> Change:
    steps = [(n, (v.type, v.data)) for n, v in c.fields(operand[1])] if operand[0] == c.OBJECT else []
    known = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}
    if not steps or any(n not in known or e[0] not in (c.INT32, c.INT64) for n, e in steps):
        raise CommandError(2, "The $bit modifier takes a document of and, or, xor with integers")

    def change(old: Element | None) -> Element:
        wide = any(e[0] == c.INT64 for _, e in steps) or (old is not None and old[0] == c.INT64)
        if old is not None and old[0] not in (c.INT32, c.INT64):
            raise CommandError(2, f"Cannot apply $bit to a value of non-integral type: the field '{path}'")
        value = 0 if old is None else order.number(*old)
        for name, e in steps:
            value = known[name](value, order.number(*e))
        return arithmetic.integer(value, wide)

    return change


MAKE: dict[str, Callable[[str, Element], Change]] = {
    "$set": lambda path, operand: setter(operand),
    "$setOnInsert": lambda path, operand: setter(operand),
    "$unset": lambda path, operand: UNSET,
    "$inc": lambda path, operand: _number("$inc", path, operand, arithmetic.add),
    "$mul": lambda path, operand: _number("$mul", path, operand, arithmetic.multiply),
    "$min": lambda path, operand: _extreme(operand, greatest=False),
    "$max": lambda path, operand: _extreme(operand, greatest=True),
    "$currentDate": _current_date,
    "$push": _push,
    "$addToSet": _add_to_set,
    "$pull": _pull,
    "$pullAll": _pull_all,
    "$pop": _pop,
    "$bit": _bit,
}
