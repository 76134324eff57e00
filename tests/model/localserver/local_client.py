"""Plain PyMongo on an in-process server of one's own, with documents as bytes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import bson
import pymongo
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument
from pymongo.collection import Collection

from model.localserver import LocalServer
from model.values import canonical as c
from model.values.canonical import Value

RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)


class Stored:
    """A collection ``test.c``: what goes in and comes out is bytes."""

    def __init__(self, server: LocalServer, client: pymongo.MongoClient[Any]) -> None:
        self.server = server
        self.client = client
        self.plain: Collection[Any] = client.test.c
        self.raw: Collection[RawBSONDocument] = client.test.get_collection("c", codec_options=RAW)

    def put(self, *documents: dict[str, Any] | bytes) -> None:
        """Insert, by command."""
        raws = [d if isinstance(d, bytes) else bson.encode(d) for d in documents]
        self.raw.insert_many([RawBSONDocument(raw) for raw in raws])

    def only(self, *documents: dict[str, Any] | bytes) -> None:
        """Insert into the collection as if it were new."""
        self.plain.drop()
        self.put(*documents)

    def all(self, query: dict[str, Any] | None = None, **options: Any) -> list[bytes]:
        """The documents found, as bytes."""
        return [raw for batch in self.plain.find_raw_batches(query or {}, **options) for raw in split(batch)]

    def ids(self, query: Any) -> list[Any]:
        """The ids of the documents found."""
        return [document["_id"] for document in self.plain.find(query, {"_id": 1})]

    def one(self, _id: Any = 1) -> bytes:
        """One document, as bytes."""
        (raw,) = self.all({"_id": _id})
        return raw

    def field(self, name: str, _id: Any = 1) -> Value | None:
        """One field of one document."""
        return c.get(self.one(_id), tuple(name.split(".")))


def split(batch: bytes) -> list[bytes]:
    """The documents of a raw batch."""
    out, at = [], 0
    while at < len(batch):
        size = int.from_bytes(batch[at : at + 4], "little")
        out.append(batch[at : at + size])
        at += size
    return out


@contextmanager
def stored(read_only: bool = False) -> Iterator[Stored]:
    """A fresh server with a client."""
    with LocalServer(read_only) as server, pymongo.MongoClient(server.uri) as client:
        yield Stored(server, client)
