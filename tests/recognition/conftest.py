"""For tests of random databases: the in-process server, with the product's connection and another."""

from __future__ import annotations

from collections.abc import Iterator

import pymongo
import pytest

from model.server.retry import Server
from tests.recognition.harness import Client


@pytest.fixture(scope="module")
def server(local_uri: str) -> Iterator[Server]:
    with Server.connect(local_uri) as connected:
        yield connected


@pytest.fixture(scope="module")
def client(local_uri: str) -> Iterator[Client]:
    with pymongo.MongoClient[dict[str, object]](local_uri) as made:
        yield made
