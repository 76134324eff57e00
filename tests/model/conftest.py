"""For tests of the model: the product's own connection, and a collection on it.

The tests of a file share their connections, because connecting takes as long as most tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache

import pymongo
import pytest

from model.server.retry import Server
from tests.conftest import PATIENCE


@pytest.fixture(scope="module")
def _connections() -> Iterator[ExitStack]:
    """What is closed after the last test of a file."""
    with ExitStack() as opened:
        yield opened


@pytest.fixture(scope="module")
def _clients(_connections: ExitStack) -> Callable[[str], pymongo.MongoClient]:
    """One plain client for each server."""
    return cache(lambda uri: _connections.enter_context(pymongo.MongoClient(uri, serverSelectionTimeoutMS=PATIENCE)))


@pytest.fixture(scope="module")
def _servers(_connections: ExitStack) -> Callable[[str], Server]:
    """One connection of the product for each server."""
    return cache(lambda uri: _connections.enter_context(Server.connect(uri)))


@pytest.fixture
def client(server_uri: str, _clients: Callable[[str], pymongo.MongoClient]) -> pymongo.MongoClient:
    """A plain client, to look with independent eyes."""
    return _clients(server_uri)


@pytest.fixture
def server(server_uri: str, _servers: Callable[[str], Server]) -> Server:
    """The product's connection to the server that the test runs on this time."""
    return _servers(server_uri)


@pytest.fixture
def ns(database_name: str) -> str:
    """A collection of the test's own."""
    return f"{database_name}.things"
