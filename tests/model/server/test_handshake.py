"""What a server says of itself is checked before the driver believes it, and no password follows where it leads."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import bson
import pytest

from model.errors import Refused, Unreachable
from model.foundation.address import Address
from model.localserver import wire
from model.server import driver, handshake
from model.server.server import Server
from tests import support
from tests.servers.listener import Listener
from tests.servers.lying import GREETING, GREETINGS, LyingServer, saying

SECRET = "s3cret-of-eva"
HASTE = "serverSelectionTimeoutMS=1500&connectTimeoutMS=1500&socketTimeoutMS=5000"
Sees = Callable[[wire.Command], dict[str, Any]]


class Member(Listener):
    """A member of a replica set: ``greets`` has what it says of itself; it keeps every command that arrives."""

    def __init__(self, answers: Sees | None = None) -> None:
        super().__init__()
        self.greets: dict[str, Any] = {}
        self.arrived: list[wire.Command] = []
        self._answers = answers

    def serve(self, connection: socket.socket) -> None:
        while (command := wire.receive(connection)) is not None:
            self.arrived.append(command)
            if command.name in GREETINGS:
                said = {"ok": 1.0, "helloOk": True, "minWireVersion": 0, "maxWireVersion": 21, **self.greets}
            else:
                said = self._answers(command) if self._answers else {"ok": 0.0, "errmsg": "no", "code": 18}
            connection.sendall(wire.reply(command, bson.encode(said)))

    @property
    def logins(self) -> list[bytes]:
        """What logins sent."""
        return [bytes(each.fields["payload"].python()) for each in self.arrived if each.name == "saslStart"]


@pytest.fixture
def members() -> Iterator[tuple[Member, Member]]:
    """The member that the address names, and the one that it leads to."""
    with Member() as named, Member() as other:
        where = {"setName": "rs0", "hosts": [other.host], "primary": other.host, "me": other.host}
        named.greets = {**where, "secondary": True}
        other.greets = {**where, "isWritablePrimary": True, "logicalSessionTimeoutMinutes": 30}
        yield named, other


def plain(hosts: str) -> str:
    return f"mongodb://eva:{SECRET}@{hosts}/?authMechanism=PLAIN&authSource=$external&replicaSet=rs0&{HASTE}"


def test_a_password_does_not_follow_to_a_host_that_the_address_does_not_name(members: tuple[Member, Member]) -> None:
    named, other = members
    with pytest.raises(Unreachable, match=f"leads to {other.host}, which the address does not name") as refusal:
        Server.connect(plain(named.host))
    assert SECRET not in str(refusal.value)
    assert [each for each in other.arrived if each.name in GREETINGS], "it was looked at, as the driver does"
    assert other.logins == []


def test_a_host_that_is_named_too_gets_the_password(members: tuple[Member, Member]) -> None:
    named, other = members
    with pytest.raises(Unreachable, match="does not accept this user name and password"):
        Server.connect(plain(f"{named.host},{other.host}"))
    assert SECRET in other.logins[0].decode()


def test_a_login_that_sends_no_password_follows_a_replica_set(members: tuple[Member, Member]) -> None:
    named, other = members
    with pytest.raises(Unreachable):
        Server.connect(plain(named.host).replace("PLAIN&authSource=$external", "SCRAM-SHA-256"))
    assert other.logins
    assert not any(SECRET.encode() in each for each in other.logins)


@pytest.mark.parametrize(
    ("context", "any_name", "proven"),
    [
        (None, False, False),
        (ssl.create_default_context(), False, True),
        (ssl.create_default_context(), True, False),
        (ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), False, True),
    ],
    ids=["no TLS", "verified", "any name", "own authority"],
)
def test_only_a_verified_certificate_for_its_name_proves_a_host(
    context: ssl.SSLContext | None, any_name: bool, proven: bool
) -> None:
    options = SimpleNamespace(_ssl_context=context, tls_allow_invalid_hostnames=any_name)
    assert handshake._is_proven(options) == proven
    if context is not None:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        assert not handshake._is_proven(options)


@support.table(
    "address, host, port, named",
    [
        ("mongodb://a.example,b.example:27018/", "a.example", 27017, True),
        ("mongodb://a.example,b.example:27018/", "b.example", 27018, True),
        ("mongodb://a.example,b.example:27018/", "b.example", 27017, False),
        ("mongodb://a.example/", "evil.example", 27017, False),
        ("mongodb+srv://cluster.example.com/", "m1.example.com", 27017, True),
        ("mongodb+srv://cluster.example.com/", "m1.evil-example.com", 27017, False),
        ("mongodb+srv://cluster.example.com/", "evil", 27017, False),
    ],
)
def test_an_address_names_its_hosts_and_one_by_dns_its_domain(address: str, host: str, port: int, named: bool) -> None:
    parsed = Address.parse(address)
    assert parsed is not None
    assert driver.is_named(parsed, host, port) == named


GREETINGS_THAT_LIE = {
    "a version in words": {"maxWireVersion": "seven"},
    "a version that is an array": {"maxWireVersion": [21]},
    "a size below zero": {"maxBsonObjectSize": -1},
    "hosts that are none": {"setName": "rs0", "hosts": [7]},
    "a port that is none": {"setName": "rs0", "hosts": ["a:99999"], "isWritablePrimary": True},
    "a topology version of another form": {"topologyVersion": 7},
    "an election in words": {"setName": "rs0", "electionId": "x", "setVersion": 1, "isWritablePrimary": True},
    "a time of the cluster without a time": {"$clusterTime": {}},
    "a time of sessions in words": {"logicalSessionTimeoutMinutes": "thirty"},
    "an answer that is neither well nor not": {"ok": {}},
}


@pytest.fixture
def died(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads that died of an error."""
    found: list[str] = []
    monkeypatch.setattr(threading, "excepthook", lambda told: found.append(f"{told.thread}: {told.exc_value}"))
    return found


@pytest.mark.parametrize("fields", GREETINGS_THAT_LIE.values(), ids=GREETINGS_THAT_LIE)
def test_a_greeting_that_lies_is_one_sentence_and_no_thread_dies_of_it(fields: dict[str, Any], died: list[str]) -> None:
    with LyingServer({GREETING: saying(**fields)}) as server:
        with pytest.raises(Refused) as refusal:
            Server.connect(f"{server.uri}&serverSelectionTimeoutMS=300")
        assert str(refusal.value).endswith(".")
        assert "says of itself could not be read" in str(refusal.value) or "ok" in fields
        server.lies = {}
        Server.connect(server.uri).close()
    assert died == []


def test_a_server_that_begins_to_lie_loses_its_readers_and_no_thread(died: list[str]) -> None:
    with LyingServer() as server, Server.connect(f"{server.uri}&serverSelectionTimeoutMS=300") as port:
        server.lies = {GREETING: saying(maxWireVersion="seven"), "*": saying(ok={}, errmsg="no")}
        with pytest.raises(Refused):
            list(port.find("shop.x"))
        server.lies = {}
        assert list(port.find("shop.x")) == []
    assert died == []


def test_a_login_that_asks_for_endless_hashing_is_given_up() -> None:
    def answers(command: wire.Command) -> dict[str, Any]:
        if command.name != "saslStart":
            return {"ok": 0.0, "errmsg": "no", "code": 18}
        nonce = bytes(command.fields["payload"].python()).rpartition(b"r=")[2]
        salt = base64.b64encode(b"0123456789abcdef")
        return {"conversationId": 1, "done": False, "payload": b"r=%sx,s=%s,i=2000000000" % (nonce, salt), "ok": 1.0}

    began = time.monotonic()
    with Member(answers) as member:
        member.greets = {"isWritablePrimary": True}
        with pytest.raises(Unreachable):
            Server.connect(f"mongodb://eva:{SECRET}@{member.host}/?authMechanism=SCRAM-SHA-256&{HASTE}")
        assert member.logins
    assert time.monotonic() - began < 60


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes of this kind")
@pytest.mark.parametrize("option", ["tlsCAFile", "tlsCRLFile", "tlsCertificateKeyFile"])
def test_a_pipe_in_place_of_certificates_is_not_waited_for(option: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="is a pipe, not a file"):
        Server.check_address(f"mongodb://127.0.0.1:1/?tls=true&{option}={quote(str(tmp_path / 'pipe'))}")
