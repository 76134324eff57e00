"""The servers under the tests behave as the tests expect."""

from __future__ import annotations

import pymongo
import pytest
from pymongo.common import MIN_SUPPORTED_WIRE_VERSION

from tests import servers


def test_every_server_answers_and_speaks_a_protocol_that_the_driver_knows(client: pymongo.MongoClient) -> None:
    assert client.admin.command("ping")["ok"] == 1
    assert client.admin.command("isMaster")["maxWireVersion"] >= MIN_SUPPORTED_WIRE_VERSION


def test_every_server_keeps_what_it_is_given(database: pymongo.database.Database) -> None:
    database.things.insert_one({"_id": 1, "n": 5})
    assert database.things.find_one({"_id": 1}) == {"_id": 1, "n": 5}


def test_a_server_that_must_be_there_is_asked_for_by_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("PALIMPSEST_REQUIRE_SERVERS", raising=False)
    assert not servers.required()
    monkeypatch.setenv("CI", "true")
    assert servers.required()


def test_without_java_the_reason_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(servers.NotStarted, match="install a JDK"), servers.java_server():
        pass
