"""For tests of the feeder: an application that edits, the feeder's port, and a look at the archive."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pymongo

from model.feed import Fed, feed
from model.layouts.stream import Stream
from model.localserver import LocalServer
from model.profile import stated
from model.server.change_stream import Changes, Take
from model.server.retry import Reply, Server, Write
from tests.model.server.faulty_server import Dead, FaultyServer

NS, ARCHIVE = "shop.orders", "shop.orders_history"


class Ground:
    """A replica set with ``shop.orders``, as an application uses it and as a feeder does."""

    def __init__(self, local: LocalServer, client: pymongo.MongoClient[Any], server: Server) -> None:
        self.local, self.client, self.server = local, client, server
        self.orders = client.shop.orders
        self.archive = client.shop.orders_history
        self.ledger = client.shop.orders_history_feed
        self.fields: dict[str, Any] = {}

    def edit(self, id: Any, **fields: Any) -> None:
        """A version more, as an application writes it that knows nothing of an archive."""
        self.orders.update_one({"_id": id}, {"$set": fields, "$inc": {"v": 1}})

    def layout(self, port: Any = None) -> Stream:
        """The layout over a port."""
        return Stream(port or self.server, stated(NS, "stream", archive=ARCHIVE, **{"token": "_w", **self.fields}))

    def feed(self, port: Any = None) -> list[Fed]:
        """One run of the feeder that ends when nothing waits."""
        return list(self.feeding(port))

    def feeding(self, port: Any = None, once: bool = True, stop: threading.Event | None = None) -> Iterator[Fed]:
        """The same, thing by thing."""
        port = port or self.server
        return feed(port, [self.layout(port)], once=once, every=0.01, stop=stop, wait_ms=1)

    def archived(self) -> list[tuple[Any, Any, dict[str, Any]]]:
        """Id, version and content of the archive's rows."""
        rows = self.archive.find({}, {"_id": 0, "_w": 0}, sort=[("docId", 1), ("v", 1)])
        return [(row.pop("docId"), row.pop("v"), row) for row in rows]

    def noted(self) -> list[str]:
        """What stands beside the archive of versions that are not in it."""
        return sorted(note["_id"]["what"] for note in self.ledger.find({"_id": {"$type": "object"}}))


@contextmanager
def ground(replica_set: str = "rs0", history: int = 1000) -> Iterator[Ground]:
    """A fresh server with everything."""
    with (
        LocalServer(replica_set=replica_set, history=history) as local,
        pymongo.MongoClient[Any](local.uri) as client,
        Server.connect(local.uri) as server,
    ):
        yield Ground(local, client, server)


class Killed(FaultyServer):
    """A port whose process dies before or behind its n-th write, and does nothing any more from then on."""

    def __init__(self, server: Server, write: int, behind: bool) -> None:
        super().__init__(server)
        self.write, self.behind, self.dead = write, behind, False

    def _step(self) -> None:
        if self.dead:
            raise Dead

    def send(self, write: Write) -> Reply:
        self._step()
        self.sent.append(write)
        if len(self.sent) == self.write:
            self.dead = True
            if self.behind:
                self.server.send(write)
            raise Dead
        return self.server.send(write)

    def changes(
        self, ns: str, after: bytes | None = None, wait_ms: int = 1000, images: bool = False, take: Take = "many"
    ) -> Changes:
        self._step()
        return self.server.changes(ns, after, wait_ms, images, take)


def outcomes(fed: list[Fed]) -> list[tuple[str, Any]]:
    """What was said of versions, without the words."""
    return [(each.outcome, each.v.python() if each.v else None) for each in fed if each.outcome != "note"]


def notes(fed: list[Fed]) -> str:
    """The words about the feed itself."""
    return " ".join(each.detail for each in fed if each.outcome == "note")
