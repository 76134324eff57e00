"""Edits by somebody else: a few plausible changes of a document's current state, always at least one.

The changes depend only on the content, so that a document changes in one way everywhere. A contract's first change is
the one of the story (billing interval, deductible, phone, one more rider). The ``_id`` of the added rider shows that
this has happened; then other things change.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from model.localserver.sample.building_blocks import AUTHOR, DAY, local, money, oid
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.decimals import decimal_of, decimal_value

COLLEAGUE = "rk-204"
FIELDS = 3  # fields to change in a document of unknown kind

_INTERVALS = {"yearly": "monthly", "monthly": "quarterly", "quarterly": "half-yearly", "half-yearly": "yearly"}
_RIDERS = ("FLOOD", "STORM", "TRAVEL", "BIKE", "GLASS", "CELLAR", "GARDEN")
_LINE = 99  # for the ObjectIds made here
_CALLED = " Called back on Friday."
_CHECKED = " (checked)"
_LEFT_ALONE = {"number", "seq", "count", "contract", "day", "_w", "v", AUTHOR}  # ids and fields of counters
_LONGEST = 400  # bytes; longer texts are not changed
_DEEPEST = 3
_DATES = (-62_135_596_800_000, 253_370_764_800_000)  # years that every clock can show


def colleague_change(ns: str, id: Value, content: bytes) -> bytes:
    """The content after the colleague's edit: two to four fields differ; an empty document gets one."""
    changed = content
    if ns.endswith(".contracts"):
        changed = _later(content) if _was_here(content) else _story(content)
    if changed == content:
        changed = _anything(content)
    author = c.get(changed, (AUTHOR,))
    return c.put(changed, (AUTHOR,), Value.of(COLLEAGUE)) if author is not None and author.type == c.STRING else changed


def _riders(content: bytes) -> list[Value]:
    riders = c.get(content, ("riders",))
    return c.items(riders) if riders is not None and riders.type == c.ARRAY else []


def _was_here(content: bytes) -> bool:
    ours = oid(0, _LINE, 0).binary[4:9]
    ids = [c.get(rider.data, ("_id",)) for rider in _riders(content) if rider.type == c.OBJECT]
    return any(id is not None and id.type == c.OBJECT_ID and id.data[4:9] == ours for id in ids)


def _text(content: bytes, path: Path) -> str | None:
    value = c.get(content, path)
    if value is None or value.type != c.STRING:
        return None
    try:
        return value.data[4:-1].decode()
    except UnicodeDecodeError:
        return None


def _story(content: bytes) -> bytes:
    interval = _text(content, ("billing", "interval"))
    if interval is not None:
        content = c.put(content, ("billing", "interval"), Value.of(_INTERVALS.get(interval, "monthly")))
    deductible = c.get(content, ("deductible",))
    if deductible is not None:
        content = c.put(content, ("deductible",), _as_money(deductible))
    phone = _text(content, ("holder", "phone"))
    if phone is not None:
        content = c.put(content, ("holder", "phone"), Value.of(_called_differently(phone)))
    have = c.get(content, ("riders",))
    if have is not None and have.type == c.ARRAY:
        riders = _riders(content)
        taken = {_text(rider.data, ("code",)) for rider in riders if rider.type == c.OBJECT}
        code = next((code for code in _RIDERS if code not in taken), "OTHER")
        made = {"_id": oid(local("2026-11-20 14:31"), _LINE, len(riders)), "code": code, "premium": money(3620)}
        content = c.put(content, ("riders",), c.array([*riders, Value.of(made)]))
    return content


def _as_money(value: Value) -> Value:
    """An amount as a decimal; one that is a decimal already grows by 50."""
    if value.type == c.DECIMAL128:
        return _more(value, 50) or Value.of(money(20000))
    number = value.python() if value.type in (c.DOUBLE, c.INT32, c.INT64) else 150
    return Value.of(money(round(number * 100) if 0 <= number < 1e12 else 15000))


def _called_differently(phone: str) -> str:
    return phone[:-2] + ("17" if phone.endswith("92") else "92")


def _later(content: bytes) -> bytes:
    net = c.get(content, ("premium", "net"))
    if net is not None and net.type == c.DECIMAL128 and (more := _more(net, 12)):
        content = c.put(content, ("premium", "net"), more)
        gross = c.get(content, ("premium", "gross"))
        if gross is not None and gross.type == c.DECIMAL128:
            content = c.put(content, ("premium", "gross"), _more(gross, 12) or gross)
    deductible = c.get(content, ("deductible",))
    if deductible is not None:
        content = c.put(content, ("deductible",), _as_money(deductible))
    notes = _text(content, ("notes",))
    if notes is not None:
        shorter = notes.removesuffix(_CALLED)
        content = c.put(content, ("notes",), Value.of(shorter if shorter != notes else notes + _CALLED))
    return content


def _more(value: Value, amount: int) -> Value | None:
    """A decimal raised by whole units, with its number of decimals kept; None if it does not fit."""
    number = decimal_of(value.data)
    if not number.is_finite() or abs(number) > 10**12 or int(number.as_tuple().exponent) < -12:
        return None
    return decimal_value(number + amount)


def _anything(content: bytes) -> bytes:
    found = list(_leaves(content, ()))
    if not found:
        return c.put(content, ("checkedBy",), Value.of(COLLEAGUE))
    first = int(c.hash_of(content)[:6], 16)
    step = max(1, len(found) // FIELDS)
    for i in range(min(FIELDS, len(found))):
        path, value = found[(first + i * step) % len(found)]
        content = c.put(content, path, value)
    return content


def _leaves(raw: bytes, above: Path) -> Iterator[tuple[Path, Value]]:
    """Each field that can be changed, with a different value for it."""
    names: set[str] = set()
    for name, value in c.fields(raw):
        if name in _LEFT_ALONE or name.startswith("$") or name in names:
            continue
        names.add(name)
        if value.type == c.OBJECT and len(above) < _DEEPEST:
            yield from _leaves(value.data, (*above, name))
        elif (other := _other(value)) is not None and other != value:
            yield (*above, name), other


def _other(value: Value) -> Value | None:
    if value.type == c.STRING and len(value.data) < _LONGEST:
        text = _text(c.document([("", value)]), ("",))
        if text is None or "\0" in text:
            return None
        if text[-2:].isdecimal() and text.startswith("+"):
            return Value.of(_called_differently(text))
        shorter = text.removesuffix(_CHECKED)
        return Value.of(shorter if shorter != text else text + _CHECKED)
    if value.type == c.BOOLEAN:
        return Value.of(value.data == b"\x00")
    if value.type == c.DECIMAL128:
        return _more(value, 1)
    if value.type in (c.INT32, c.INT64):
        code = "<i" if value.type == c.INT32 else "<q"
        number = struct.unpack(code, value.data)[0]
        return Value(value.type, struct.pack(code, number - 1 if number > 2**30 else number + 1))
    if value.type == c.DOUBLE:
        number = struct.unpack("<d", value.data)[0]
        return Value.of(number + 1) if math.isfinite(number) else None
    if value.type == c.DATE:
        number = struct.unpack("<q", value.data)[0]
        return Value(c.DATE, struct.pack("<q", number + DAY * 1000)) if _DATES[0] <= number < _DATES[1] else None
    return None
