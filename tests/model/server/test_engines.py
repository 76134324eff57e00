"""Servers are called by the names of their programs, whatever version of MongoDB they imitate."""

from __future__ import annotations

from typing import Any

import pytest

from model.server.engines import FERRETDB_1_LACKS, engine_of
from model.server.retry import Server
from tests.servers.hosted_server import PROFILES, HostedServer

PROGRAMS = {
    "mongodb": ("MongoDB 7.0.0", "rs0"),
    "standalone": ("MongoDB 7.0.0", "standalone"),
    "documentdb-5": ("Amazon DocumentDB 5.0.0", "rs0"),
    "documentdb-elastic": ("Amazon DocumentDB 5.0.0", "sharded"),
    "documentdb-postgres": ("DocumentDB 0.108-0", ""),
    "cosmos-vcore": ("DocumentDB 1.114-0", ""),
    "ferretdb-1": ("FerretDB 1.24.0", "standalone"),
    "ferretdb-2": ("FerretDB 2.7.0", "standalone"),
    "atlas-free": ("MongoDB 8.0.12", "rs0"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_server_is_called_by_its_program(name: str) -> None:
    with HostedServer(PROFILES[name]) as server, Server.connect(server.address) as connected:
        facts = connected.facts()
    assert (facts.program, facts.called) == PROGRAMS[name]
    assert bool(facts.lacks) == (name == "ferretdb-1")


@pytest.mark.parametrize(
    ("build", "greeting", "host", "name", "version"),
    [
        ({"version": "7.0.0"}, {"internal": {"documentdb_versions": ["1.114-0"]}},
         "a.mongocluster.cosmos.azure.com", "Azure DocumentDB", "1.114-0"),
        ({"version": "4.2.0", "gitVersion": "x"}, {}, "shop.mongo.cosmos.azure.com", "Azure Cosmos DB", ""),
        ({"version": "5.0.0", "gitVersion": "x"}, {}, "shop.cluster-x.eu.docdb.amazonaws.com", "Amazon DocumentDB", ""),
        ({}, {}, "db.example.com", "MongoDB", ""),
        ({"ferretdb": 7, "version": "7.0"}, {"internal": {"documentdb_versions": 3}}, "h", "DocumentDB", ""),
        ({"ferretdb": {"version": 2}, "version": "7.0", "gitVersion": ""}, {"internal": [1]}, "h", "MongoDB", ""),
        ({"ferretdbVersion": "v1" * 99}, {}, "h", "FerretDB", ("v1" * 99)[1:41]),
    ],
)  # fmt: skip
def test_a_program_is_told_by_what_it_says_and_by_its_host(
    build: dict[str, Any], greeting: dict[str, Any], host: str, name: str, version: str
) -> None:
    told = engine_of(build, greeting, [host])
    assert (told.name, told.version) == (name, version)


@pytest.mark.parametrize(
    ("version", "lacks"), [("v0.9.1", True), ("v1.24.0", True), ("v2.0.0", False), ("v10.1", False)]
)
def test_only_the_first_ferretdb_lacks_types(version: str, lacks: bool) -> None:
    assert (engine_of({"ferretdbVersion": version}, {}, ()).lacks == FERRETDB_1_LACKS) == lacks
