"""A database to measure in: the first write creates it, and it is dropped at the end."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from bson import ObjectId

from model.errors import NotAllowed, Refused, Unreachable
from model.server.port import Terms
from model.server.server import READ_ONLY, SCRATCH, Server
from model.values import canonical as c
from model.values.canonical import Value


def scratch_name() -> str:
    """A name that no other scratch database has."""
    return SCRATCH + uuid.uuid4().hex[:12]


class Scratch:
    """The scratch database of one check; a context manager that drops it."""

    def __init__(self, server: Server, name: str = "") -> None:
        """``name`` is that of the database; by default a new one."""
        if server.read_only:
            raise NotAllowed(f"The check writes into a scratch database. {READ_ONLY}")
        self.server = server
        self.name = name or scratch_name()

    def ns(self, collection: str) -> str:
        """The namespace of one of its collections."""
        return f"{self.name}.{collection}"

    def command(self, command: Terms, session: Any = None) -> Mapping[str, Any]:
        """Run a command in it; raises ``Refused`` with the server's own words, also for a refused write."""
        reply = self.server.in_scratch(self.name, command, session)
        if problems := reply.get("writeErrors"):
            raise Refused(str(problems[0].get("errmsg", "it was not stored"))[:200])
        return reply

    def insert(self, collection: str, raw: bytes) -> Value:
        """Store a document without ``_id`` under a new one, and return that; raises ``Refused``.

        A server that drops the connection at the document, but answers the next command, has refused it.
        """
        id = Value.of(ObjectId())
        stored = c.document([("_id", id), *c.fields(raw)])
        try:
            self.command({"insert": collection, "documents": [Value.document(stored)]})
        except Unreachable as lost:
            self.command({"ping": 1})  # raises an error if the server is lost
            raise Refused(str(lost)) from None
        return id

    def read(self, collection: str, id: Value) -> bytes | None:
        """A stored document without its ``_id``; None if it is not there."""
        raw = next(iter(self.server.find(self.ns(collection), {"_id": id}, limit=1)), None)
        return None if raw is None else c.without(raw, ("_id",))

    def __enter__(self) -> Self:
        try:
            self.command({"insert": "begun", "documents": [{"_id": 1}]})
        except NotAllowed as refusal:
            raise NotAllowed(
                f"{refusal} The check measures in a database of its own, whose name begins with {SCRATCH}."
            ) from None
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        try:
            self.command({"dropDatabase": 1})
        except Refused as trouble:
            left = f"The scratch database {self.name} could not be dropped; drop it by hand."
            if error is None:
                raise Refused(f"{left} {trouble}") from None
            if isinstance(error, Refused):
                raise type(error)(f"{error} {left}") from None
