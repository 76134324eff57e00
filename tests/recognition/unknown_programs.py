"""Histories of programs that nobody has named: shapes, names and orders are drawn, and the true states are known."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bson import Decimal128, ObjectId

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
    write = {"array": _array, "newest first": _array, "patches": _patches}.get(shape, _rows)
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
    rows: list[Row] = []
    for at, id, number in _moments(dice, states):
        life = states[id]
        if shape == "earlier rows" and number == len(life):
            continue
        state = life[number - 1]
        key = state["code"] if shape == "business key" else id
        row = {"_id": _made(at, len(rows)), **_row(dice, names, key, number, at)}
        if shape == "composite key":
            parts = [(names["id"].rpartition(".")[2], id), (names["number"] or "v", number)]
            row = {"_id": dict(parts if with_id else parts[::-1])}
        if shape in ("rows", "business key", "composite key"):
            row |= {name: value for name, value in state.items() if name not in row}
        else:
            _put(row, names["state"], {"_id": id, **state} if with_id else dict(state))
        rows.append(row)
    beside = dice.choice(BESIDE).format(things)
    return {things: [{"_id": id, **life[-1]} for id, life in states.items()], beside: rows}


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
    names = _names(dice)
    rows: list[Row] = []
    for at, id, number in _moments(dice, states):
        old: Row = states[id][number - 2] if number > 1 else {}
        new = states[id][number - 1]
        ops = [
            {"op": "replace" if name in old else "add", "path": f"/{name}", "value": value}
            for name, value in new.items()
            if name not in old or old[name] != value
        ]
        rows.append({"_id": _made(at, len(rows)), **_row(dice, names, id, number, at), "ops": ops})
    beside = dice.choice(BESIDE).format(things)
    return {things: [{"_id": id, **life[-1]} for id, life in states.items()], beside: rows}
