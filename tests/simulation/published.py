"""The protocols as published, next to the layouts: the simulation must convict each of them.

Each edit reads the document, increases its mark and writes that as the next version; it returns True if it would tell
its user "saved". They are written as their authors show them, with the usual answer to a lost connection: once more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import bson

from model.server.retry import Port, Reply, Write
from model.values.canonical import Value
from tests.simulation.machine import Machine

Doc = dict[str, Any]
NS, PAST = "shop.docs", "shop.docs_past"
ID = "K-1"
TRIES = 6


class Stopped(Exception):
    """The writer gave up: its user was told that nothing is saved."""


@dataclass(frozen=True)
class Published:
    """A protocol, where it keeps versions, and what failures.md reports of it in percent."""

    name: str
    edit: Callable[[Port, str], None]
    keeps: str
    reported: float


def ground(of: Published) -> Machine:
    """A machine with the first version."""
    machine = Machine(strict=False)
    first: Doc = {"docId": ID, "v": 1, "n": 0}
    if of.keeps == "embedded":
        first = {"_id": ID, "current": {"v": 1, "n": 0}, "prev": []}
    elif of.keeps == "archive":
        first = {"_id": ID, "v": 1, "n": 0}
        machine.unique(PAST, ("docId", "v"))
    else:
        machine.unique(NS, ("docId", "v"))
        if of.keeps == "flagged":
            first |= {"current": True}
    machine.apply(Write(NS, "insert", {}, bson.encode(first)))
    return machine


def versions(machine: Machine, of: Published) -> list[Doc]:
    """The versions, oldest first."""
    docs = [bson.decode(raw) for raw in machine.documents(NS)]
    if of.keeps == "embedded":
        docs = [part for doc in docs for part in (*doc["prev"], doc["current"])]
    elif of.keeps == "archive":
        top = docs[0]["v"]
        past = (bson.decode(raw) for raw in machine.documents(PAST))
        docs += [doc for doc in past if doc["v"] != top]
    return sorted(docs, key=lambda doc: int(doc["v"]))


def verdict(machine: Machine, of: Published, acknowledged: Iterable[str], blocked: bool) -> list[str]:
    """What is wrong at the end."""
    found = versions(machine, of)
    newest = found[-1]
    said = [f"lost {mark}, which was acknowledged" for mark in acknowledged if not newest.get(mark)]
    said += [f"applied {mark} twice" for mark, n in newest.items() if mark.startswith("w") and n > 1]
    numbers = [doc["v"] for doc in found]
    if numbers != list(range(1, len(numbers) + 1)):
        said.append(f"lost a version: {numbers}")
    flags = [doc["v"] for doc in found if doc.get("current")]
    if of.keeps == "flagged" and flags != [newest["v"]]:
        said.append(f"current are {flags}")
    return said + (["every writer is blocked"] if blocked else [])


# --- what they have in common


def _one(port: Port, ns: str, filter: Doc, newest: bool = False) -> Doc:
    found = next(port.find(ns, filter, sort={"v": -1} if newest else None, limit=1), None)
    if found is None:
        raise Stopped
    return bson.decode(found)


def _marked(doc: Doc, mark: str) -> Doc:
    return doc | {"v": doc["v"] + 1, mark: doc.get(mark, 0) + 1}


def _insert(port: Port, ns: str, doc: Doc) -> Reply:
    return port.send(Write(ns, "insert", {}, bson.encode({k: v for k, v in doc.items() if k != "_id"})))


def _twice(send: Callable[[], Reply]) -> Reply:
    reply = send()
    return send() if reply.applied == "unknown" else reply


def _again(attempt: Callable[[], bool]) -> None:
    for _ in range(TRIES):
        if attempt():
            return
    raise Stopped


# --- the protocols


def _duplicate_is_success(port: Port, mark: str) -> None:
    def attempt() -> bool:
        doc = _marked(_one(port, NS, {"docId": ID}, newest=True), mark)
        reply = _insert(port, NS, doc)
        if reply.applied == "unknown":
            reply = _insert(port, NS, doc)
            return reply.applied == "yes" or bool(reply.duplicate)  # "it must have been mine"
        return reply.applied == "yes"

    _again(attempt)


def _flagged(port: Port, mark: str) -> None:
    def attempt() -> bool:
        base = _one(port, NS, {"docId": ID}, newest=True)
        reply = _twice(lambda: _insert(port, NS, _marked(base, mark) | {"current": True}))
        if reply.applied != "yes":
            return False
        where = {"docId": ID, "v": base["v"]}
        _twice(lambda: port.send(Write(NS, "update", where, {"$unset": {"current": ""}})))
        return True

    _again(attempt)


def _embedded(port: Port, mark: str) -> None:
    def attempt() -> bool:
        doc = _one(port, NS, {"_id": ID})
        before = doc["current"]
        doc["prev"].append(before)
        doc["current"] = _marked(before, mark)
        where = {"_id": ID, "current.v": before["v"]}
        body = {"$set": {"current": _value(doc["current"]), "prev": doc["prev"]}}
        return _twice(lambda: port.send(Write(NS, "update", where, body))).applied == "yes"

    _again(attempt)


def _swap(port: Port, base: Doc, mark: str) -> bool:
    where = {"_id": ID, "v": base["v"]}
    body = bson.encode(_marked(base, mark))
    return _twice(lambda: port.send(Write(NS, "replace", where, body))).applied == "yes"


def _current_first(port: Port, mark: str) -> None:
    def attempt() -> bool:
        base = _one(port, NS, {"_id": ID})
        if not _swap(port, base, mark):
            return False
        _twice(lambda: _insert(port, PAST, base | {"docId": ID}))
        return True

    _again(attempt)


def _archive_inserted(port: Port, mark: str) -> None:
    def attempt() -> bool:
        base = _one(port, NS, {"_id": ID})
        if _twice(lambda: _insert(port, PAST, base | {"docId": ID})).applied != "yes":
            return False  # "somebody else is about to update this document"
        return _swap(port, base, mark)

    _again(attempt)


def _archive_set(port: Port, mark: str) -> None:
    def attempt() -> bool:
        base = _one(port, NS, {"_id": ID})
        where = {"docId": Value.of(ID), "v": Value.of(base["v"])}
        body = {"$set": {name: value for name, value in base.items() if name not in ("_id", "v")}}
        if _twice(lambda: port.send(Write(PAST, "upsert", where, body))).applied != "yes":
            return False
        return _swap(port, base, mark)

    _again(attempt)


def _value(doc: Doc) -> Value:
    return Value.document(bson.encode(doc))


PROTOCOLS = (
    Published("1 duplicate key means success", _duplicate_is_success, "versions", 21.7),
    Published("1a as published", _flagged, "flagged", 35.7),
    Published("2 retried once", _embedded, "embedded", 14.6),
    Published("3 current first", _current_first, "archive", 35.7),
    Published("3 archive inserted first", _archive_inserted, "archive", 7.7),
    Published("3 archive upserted with $set", _archive_set, "archive", 8.7),
)
