"""Another program on the server: a process of its own, with its own journal, that writes when told."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from multiprocessing.connection import Connection
from typing import Any

import pymongo

from model.errors import Refused
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

WAYS = ("save", "delete", "plain")


class OtherProgram:
    """The process, as whoever tells it to write sees it."""

    def __init__(self, uri: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._ask, there = context.Pipe()
        self._process = context.Process(target=_live, args=(uri, there), daemon=True)
        self._process.start()
        there.close()

    def write(self, way: str, ns: str, id: Value, number: int) -> bool:
        """Have it write a document in one of ``WAYS``; whether it did. It has ended when this returns."""
        self._ask.send((way, ns, id.type, id.data, number))
        return bool(self._ask.recv())

    def close(self) -> None:
        """End the process."""
        self._ask.close()
        self._process.join()


def _live(uri: str, asked: Connection) -> None:
    with tempfile.TemporaryDirectory() as home:
        os.environ["PALIMPSEST_HOME"] = home
        with Session.open(uri) as session, pymongo.MongoClient[dict[str, Any]](uri) as plain:
            while True:
                try:
                    way, ns, kind, data, number = asked.recv()
                except EOFError:
                    return
                asked.send(_wrote(session, plain, way, ns, Value(kind, data), number))


def _wrote(
    session: Session, plain: pymongo.MongoClient[dict[str, Any]], way: str, ns: str, id: Value, number: int
) -> bool:
    try:
        there = session.history.version(ns, id)
        if way == "delete":
            return session.writing.delete(ns, id, there).kind == "applied"
        if way == "save" and there.content is not None:
            content = canonical.put(there.content, ("elsewhere",), Value.of(number))
            return session.writing.save(ns, id, there, content).kind == "applied"
        stored = dict(canonical.fields(there.raw or canonical.EMPTY)).get("_id")
    except Refused:
        return False
    if stored is None:
        return False
    database, _, collection = ns.partition(".")
    made = plain[database][collection].update_one({"_id": stored.python()}, {"$set": {"elsewhere": number}})
    return bool(made.modified_count)
