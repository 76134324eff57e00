"""What the tests of the model stand on: the product's own connection, and a collection on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model.server.retry import Server


@pytest.fixture
def server(server_uri: str) -> Iterator[Server]:
    """The product's connection to the server that the test runs on this time."""
    with Server.connect(server_uri) as connected:
        yield connected


@pytest.fixture
def ns(database_name: str) -> str:
    """A collection of the test's own."""
    return f"{database_name}.things"
