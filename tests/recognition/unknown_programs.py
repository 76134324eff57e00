"""Histories of programs that nobody has named: shapes, names and orders are drawn, and the true states are known."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bson import Decimal128, ObjectId, json_util

from tests.recognition.ordinary import CITIES, WORDS, Dice

Row = dict[str, Any]
SHAPES = (
    "rows",
    "rows below a path",
    "earlier rows",
    "array",
    "newest first",
    "patches",
    "business key",
    "composite key",
    "states as text",
    "changes as text",
    "changed fields",
    "deltas",
)
BEGIN = dt.datetime(2024, 2, 1, 9, tzinfo=dt.UTC)
THINGS = ("items", "assets", "tickets", "briefs", "menus", "plants", "recipes", "vessels")
BESIDE = ("{}_history", "{}_log", "old_{}", "{}_changes", "{}Revisions", "audit_{}", "ledger", "kept")
KEYS = ("itemId", "ref", "docId", "of", "target", "entity", "k", "meta.docId", "about.id", "parent")
STATES = ("document", "state", "snapshot", "data", "doc", "payload", "before.document", "old")
TIMES = ("savedAt", "at", "ts", "changedAt", "meta.time", "when")
NUMBERS = ("version", "rev", "no", "seqNo", "revision")
KINDS = ("kind", "op", "action", "what")
USERS = ("user", "by", "author", "changedBy", "who")
REASONS = ("reason", "comment", "why")
CHANGES = ("ops", "changes", "delta", "diff", "meta.patch", "modified")
PAIRS = (("from", "to"), ("old", "new"), ("before", "after"), ("oldValue", "newValue"))
FIELDS = ("field", "path", "key", "property")
ARRAYS = ("history", "versions", "previous", "log", "edits")


@dataclass(frozen=True)
class Program:
    """What a program has written, and the states of each document, oldest first, without its id."""

    seed: int
    shape: str
    things: str
    collections: Mapping[str, list[Row]]
    states: Mapping[object, list[Row]]


def program(seed: int) -> Program:
    """A program of one shape, with names of its own."""
    dice = Dice(f"unknown program {seed}")
    shape = SHAPES[seed % len(SHAPES)]
    states = {id: _life(dice, n) for n, id in enumerate(_ids(dice, 12 + dice.randrange(20)))}
    things = dice.choice(THINGS)
    changes = dict.fromkeys(("patches", "changes as text", "changed fields", "deltas"), _patches)
    write = {"array": _array, "newest first": _array, **changes}.get(shape, _rows)
    return Program(seed, shape, things, write(dice, shape, things, states), states)


def _ids(dice: Dice, count: int) -> list[object]:
    kind = dice.choice(("text", "ObjectId", "number"))
    if kind == "ObjectId":
        return [ObjectId(f"65{dice.randrange(16**10):010x}{n:012x}") for n in range(count)]
    return [f"{dice.choice('KPQ')}-{n:04d}" if kind == "text" else 1000 + 7 * n for n in range(count)]


def _life(dice: Dice, n: int) -> list[Row]:
    """The states of a document: fields that change now and then, some of them for the first time."""
    state: Row = {
        "code": f"C{n:05d}",
        "title": f"{dice.choice(WORDS)} {dice.choice(WORDS)}",
        "city": dice.choice(CITIES),
        "price": Decimal128(f"{dice.randrange(10_000)}.{dice.randrange(100):02d}"),
        "stock": dice.randrange(50),
        "since": BEGIN + dt.timedelta(days=dice.randrange(90)),
        "tags": [dice.choice(WORDS) for _ in range(dice.randrange(3))],
        "owner": {"name": dice.choice(WORDS), "phone": dice.randrange(10**6)},
    }
    states = [state]
    for _ in range(dice.randrange(6)):
        state = dict(state)
        for name in dice.sample(["title", "city", "stock", "tags", "owner", "note"], 1 + dice.randrange(2)):
            state[name] = {
                "title": f"{dice.choice(WORDS)} {dice.randrange(99)}",
                "city": dice.choice(CITIES),
                "stock": state["stock"] + dice.choice((-3, -1, 1, 5)),
                "tags": [*state["tags"], dice.choice(WORDS)],
                "owner": {**state["owner"], "phone": dice.randrange(10**6)},
                "note": dice.choice(WORDS),
            }[name]
        if state != states[-1]:
            states.append(state)
    return states


def _put(row: Row, path: str, value: object) -> None:
    *before, last = path.split(".")
    for step in before:
        row = row.setdefault(step, {})
    row[last] = value


def _row(dice: Dice, names: Mapping[str, str], id: object, number: int, at: dt.datetime) -> Row:
    """What stands beside a state: the order is a number, a time, or that in which rows were made."""
    row: Row = {}
    if names["id"]:
        _put(row, names["id"], id)
    for role, value in (("number", number), ("at", at), ("kind", "update" if number > 1 else "create")):
        if names[role]:
            _put(row, names[role], value)
    _put(row, names["user"], dice.choice(("ann", "ben", "cyn")))
    if dice.chance(0.5):
        _put(row, names["reason"], dice.choice(WORDS))
    return row


def _names(dice: Dice) -> dict[str, str]:
    order = dice.choice(("number", "at", "both", "none"))
    return {
        "id": dice.choice(KEYS),
        "state": dice.choice(STATES),
        "number": dice.choice(NUMBERS) if order in ("number", "both") else "",
        "at": dice.choice(TIMES) if order in ("at", "both") else "",
        "kind": dice.choice(KINDS) if dice.chance(0.6) else "",
        "user": dice.choice(USERS),
        "reason": dice.choice(REASONS),
    }


def _moments(dice: Dice, states: Mapping[object, list[Row]]) -> list[tuple[dt.datetime, object, int]]:
    """When each version was written, in the order of time."""
    found = []
    for id, life in states.items():
        at = BEGIN + dt.timedelta(minutes=dice.randrange(10_000))
        for number in range(1, len(life) + 1):
            found.append((at, id, number))
            at += dt.timedelta(minutes=1 + dice.randrange(5000))
    return sorted(found, key=lambda each: each[0])


def _rows(dice: Dice, shape: str, things: str, states: Mapping[object, list[Row]]) -> dict[str, list[Row]]:
    names, with_id = _names(dice), dice.chance(0.5)
    in_shell, id_as_text = dice.chance(0.5), shape == "states as text" and dice.chance(0.5)
    rows: list[Row] = []
    for at, id, number in _moments(dice, states):
        life = states[id]
        if shape == "earlier rows" and number == len(life):
            continue
        state = life[number - 1]
        key = state["code"] if shape == "business key" else str(id) if id_as_text else id
        row = {"_id": _made(at, len(rows)), **_row(dice, names, key, number, at)}
        if shape == "composite key":
            parts = [(names["id"].rpartition(".")[2], id), (names["number"] or "v", number)]
            row = {"_id": dict(parts if with_id else parts[::-1])}
        if shape in ("rows", "business key", "composite key"):
            row |= {name: value for name, value in state.items() if name not in row}
        else:
            whole = {"_id": id, **state} if with_id else dict(state)
            _put(row, names["state"], _json(whole, in_shell) if shape == "states as text" else whole)
        rows.append(row)
    beside = dice.choice(BESIDE).format(things)
    return {things: [{"_id": id, **life[-1]} for id, life in states.items()], beside: rows}


def _json(value: object, in_shell: bool) -> str:
    """Extended JSON, or what JavaScript makes of a value: dates and ids as text."""
    if in_shell:
        return json_util.dumps(value, json_options=json_util.RELAXED_JSON_OPTIONS)
    return json.dumps(value, default=_as_javascript, ensure_ascii=False)


def _as_javascript(value: object) -> str:
    return (
        f"{value:%Y-%m-%dT%H:%M:%S}.{value.microsecond // 1000:03d}Z" if isinstance(value, dt.datetime) else str(value)
    )


Change = Callable[[Row, Row], object]


def _form(dice: Dice, shape: str) -> Change:
    """How a program writes the step from one state to the next."""
    pair, field = dice.choice(PAIRS), dice.choice(FIELDS)
    lists: list[Change] = [partial(_by_field, pair), partial(_listed, pair, field), partial(_in_sides, pair)]
    if shape == "changed fields":
        return dice.choice(lists)
    if shape == "deltas":
        return _delta
    if shape == "changes as text":
        form, in_shell = dice.choice((_tested, _delta, *lists)), dice.chance(0.5)
        return lambda old, new: _json(form(old, new), in_shell)
    return _operations


def _changed(old: Row, new: Row) -> list[str]:
    return [name for name in {**old, **new} if name not in old or name not in new or old[name] != new[name]]


def _operations(old: Row, new: Row) -> list[Row]:
    return [
        {"op": "replace" if name in old else "add", "path": f"/{name}", "value": new[name]}
        for name in _changed(old, new)
    ]


def _tested(old: Row, new: Row) -> list[Row]:
    tests = {name: {"op": "test", "path": f"/{name}", "value": value} for name, value in old.items()}
    both = ((tests.get(each["path"][1:]), each) for each in _operations(old, new))
    return [each for pair in both for each in pair if each is not None]


def _delta(old: Row, new: Row) -> Row:
    return {name: [old[name], new[name]] if name in old else [new[name]] for name in _changed(old, new)}


def _by_field(pair: tuple[str, str], old: Row, new: Row) -> Row:
    return {name: _both(pair, old, new, name) for name in _changed(old, new)}


def _listed(pair: tuple[str, str], field: str, old: Row, new: Row) -> list[Row]:
    return [{field: name, **_both(pair, old, new, name)} for name in _changed(old, new)]


def _in_sides(pair: tuple[str, str], old: Row, new: Row) -> Row:
    names = _changed(old, new)
    return {
        side: {name: state[name] for name in names if name in state}
        for side, state in zip(pair, (old, new), strict=True)
    }


def _both(pair: tuple[str, str], old: Row, new: Row, name: str) -> Row:
    return {side: state.get(name) for side, state in zip(pair, (old, new), strict=True)}


def _made(at: dt.datetime, n: int) -> ObjectId:
    return ObjectId(f"{int(at.timestamp()):08x}{n:016x}")


def _array(dice: Dice, shape: str, things: str, states: Mapping[object, list[Row]]) -> dict[str, list[Row]]:
    names = _names(dice) | {"id": ""}
    array, whole = dice.choice(ARRAYS), dice.chance(0.5)
    found: dict[object, list[Row]] = {id: [] for id in states}
    for at, id, number in _moments(dice, states):
        if number < len(states[id]) or whole:
            found[id].append({**_row(dice, names, id, number, at), "state": dict(states[id][number - 1])})
    rows = [
        {"_id": id, **states[id][-1], array: each[::-1] if shape == "newest first" else each}
        for id, each in found.items()
    ]
    return {things: rows}


def _patches(dice: Dice, shape: str, things: str, states: Mapping[object, list[Row]]) -> dict[str, list[Row]]:
    names, place = _names(dice), dice.choice(CHANGES)
    told = _form(dice, shape)
    begins = shape == "patches" or dice.chance(0.6)  # with what a document was at first
    rows: list[Row] = []
    for at, id, number in _moments(dice, states):
        if number == 1 and not begins:
            continue
        change = told(states[id][number - 2] if number > 1 else {}, states[id][number - 1])
        row = {"_id": _made(at, len(rows)), **_row(dice, names, id, number, at)}
        _put(row, place, change)
        rows.append(row)
    beside = dice.choice(BESIDE).format(things)
    return {things: [{"_id": id, **life[-1]} for id, life in states.items()], beside: rows}
