"""Documents wider than a shrinking generator makes: hundreds of fields, long arrays, values of all sizes.

The fast ways for them are separate code, which small documents never reach.
"""

from __future__ import annotations

import random

from model.values import canonical as c
from model.values.canonical import Value

SMALL = [
    Value(kind, bytes.fromhex(data))
    for kind, data in (
        (c.DOUBLE, "010000000000f87f"), (c.STRING, "020000006100"), (c.STRING, "0100000000"),
        (c.OBJECT, "0500000000"), (c.ARRAY, "0c0000001030000000000000"), (c.BINARY, "010000008061"),
        (c.UNDEFINED, ""), (c.OBJECT_ID, "00" * 12), (c.BOOLEAN, "02"), (c.DATE, "ff" * 8), (c.NULL, ""),
        (c.REGEX, "61006900"), (c.DB_POINTER, "0200000061" + "00" * 13), (c.CODE, "020000006100"),
        (c.SYMBOL, "020000000000"), (c.SCOPED_CODE, "0f0000000200000061000500000000"), (c.INT32, "00000000"),
        (c.TIMESTAMP, "00" * 8), (c.INT64, "01" * 8), (c.DECIMAL128, "ff" * 16), (c.MAX_KEY, ""), (c.MIN_KEY, ""),
    )
]  # fmt: skip
LARGE = [
    *(Value.of("x" * size) for size in (0, 1, 100, 250, 251, 254, 255, 256, 300, 5_000)),
    *(Value.of({"a": "x" * size}) for size in (200, 243, 244, 300)),
    Value.of([]),
    Value.of({}),
]


def any_value(chance: random.Random) -> Value:
    """A value of any type, mostly a small one."""
    return chance.choice(SMALL if chance.random() < 0.8 else LARGE)


def many_fields(chance: random.Random, count: int) -> bytes:
    """A document with so many fields, no name twice."""
    return c.document((f"{'n' * chance.randrange(3)}{i}", any_value(chance)) for i in range(count))


def record(chance: random.Random, number: int) -> Value:
    """A document with an identity key."""
    pairs = [("_id", Value.of(number)), ("a", any_value(chance)), ("b", Value.of(chance.randrange(5)))]
    return Value(c.OBJECT, c.document(pairs))


def elements(chance: random.Random) -> list[Value]:
    """The elements of a long array: numbers of one type, different or not, values of any type, or records."""
    count = chance.choice((0, 1, 9, 10, 11, 30, 99, 101, 130))
    kind = chance.randrange(4)
    if kind == 0:
        return [Value.of(i) for i in range(count)]
    if kind == 1:
        return [Value.of(chance.randrange(7)) for _ in range(count)]
    if kind == 2:
        return [any_value(chance) for _ in range(count)]
    return [record(chance, i) for i in range(count)]


def changed_elements(chance: random.Random, values: list[Value]) -> list[Value]:
    """A few of them changed, inserted, removed or moved, or all shuffled."""
    values = list(values)
    for _ in range(chance.randrange(5)):
        at = chance.randrange(len(values) + 1)
        action = chance.randrange(5)
        if action == 0 or not values:
            values.insert(at, chance.choice((any_value(chance), record(chance, chance.randrange(1000, 2000)))))
        elif action == 1:
            del values[at - 1]
        elif action == 2:
            values.insert(at - 1, values.pop(chance.randrange(len(values))))
        elif action == 3 and chance.random() < 0.1:
            chance.shuffle(values)
        else:
            number = c.get(values[at - 1].data, ("_id",)) if values[at - 1].type == c.OBJECT else None
            values[at - 1] = any_value(chance) if number is None else record(chance, number.python())
    return values


def changed_fields(chance: random.Random, raw: bytes) -> bytes:
    """A few fields changed, now and then one removed or added; arrays changed inside."""
    pairs = c.fields(raw)
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(pairs))
        name, value = pairs[at]
        pairs[at] = name, array_changed(chance, value) if value.type == c.ARRAY else any_value(chance)
    if chance.random() < 0.2:
        del pairs[chance.randrange(len(pairs))]
    if chance.random() < 0.2:
        pairs.insert(chance.randrange(len(pairs) + 1), ("added", any_value(chance)))
    return c.document(pairs)


def array_changed(chance: random.Random, value: Value) -> Value:
    """The array after some changes."""
    return c.array(changed_elements(chance, c.items(value)))


def related(chance: random.Random, count: int) -> tuple[bytes, ...]:
    """A wide document and others that come of it, one each."""
    pairs = c.fields(many_fields(chance, chance.choice((2, 30, 200))))
    pairs.insert(chance.randrange(len(pairs)), ("items", c.array(elements(chance))))
    base = c.document(pairs)
    others = []
    for _ in range(count - 1):
        raw = changed_fields(chance, base)
        items = c.get(raw, ("items",))
        if items is not None and items.type == c.ARRAY and chance.random() < 0.7:
            raw = c.put(raw, ("items",), array_changed(chance, items))
        others.append(raw)
    return base, *others
