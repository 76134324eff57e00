"""What testing a connection finds, against a server with TLS and access control."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pymongo import MongoClient

from model.errors import Unreachable
from model.localserver import LocalServer
from model.server.connection_steps import ConnectionStep, try_connection
from model.server.server import Server
from model.session import Session
from tests.certificates import Authority
from tests.guarded_server import GuardedServer
from tests.privileges import may

PASSWORD = "p4ss w/rd"
HASTE = "serverSelectionTimeoutMS=20000"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server(authority: Authority) -> Iterator[GuardedServer]:
    with GuardedServer({"eva": PASSWORD}, certificate=authority.signed("server", "127.0.0.1")) as made:
        yield made


def address(server: GuardedServer, user: str = "", *options: str) -> str:
    who = f"{user}@" if user else ""
    return f"mongodb://{who}{server.host}/?" + "&".join([HASTE, *options])


def ca(authority: Authority) -> str:
    return f"tlsCAFile={quote(str(authority.file))}"


def steps(uri: str) -> dict[str, ConnectionStep]:
    found = list(try_connection(uri))
    assert [step.result for step in found[:-1] if step.result == "failed"] == []
    return {step.name: step for step in found}


def ended(uri: str) -> str:
    """How a try failed: the step, and its sentence."""
    last = list(steps(uri).values())[-1]
    assert last.result == "failed", last
    with pytest.raises(Unreachable) as raised:
        Server.connect(uri.replace(HASTE, "serverSelectionTimeoutMS=200"))
    assert PASSWORD not in f"{raised.value} {last.said}"
    return f"{last.name}: {last.said}"


def test_each_step_of_a_connection_that_works_says_what_it_found(server: GuardedServer, authority: Authority) -> None:
    found = steps(address(server, f"eva:{quote(PASSWORD, safe='')}", ca(authority), "authMechanism=SCRAM-SHA-256"))
    assert list(found) == ["Address", "Name", "Network", "TLS", "Login", "Answer", "Rights"]
    assert {step.result for step in found.values()} == {"ok"}
    assert found["Name"].said == "127.0.0.1 → 127.0.0.1."
    assert "TLSv1.3" in found["TLS"].said
    assert found["TLS"].said.endswith("is for 127.0.0.1.")
    assert found["Login"].said == "Logged in as eva (admin) by SCRAM-SHA-256."
    assert found["Rights"].said == "This user reads all databases and writes all databases."


def test_a_session_over_tls_and_scram_works_and_sends_nothing_in_clear(
    server: GuardedServer, authority: Authority, home: Path
) -> None:
    with Session.open(address(server, "eva", ca(authority)), password=PASSWORD) as session:
        assert session.source.startswith("mongodb://eva@127.0.0.1")
        assert session.facts.version == "7.0.0"


@pytest.mark.parametrize("who", ["eva:wrong", f"eva:{quote(PASSWORD, safe='')}x", f"nobody:{quote(PASSWORD, safe='')}"])
def test_a_wrong_password_and_an_unknown_user_are_said_at_the_login(
    server: GuardedServer, authority: Authority, who: str
) -> None:
    said = ended(address(server, who, ca(authority)))
    assert said.startswith("Login: ")
    assert "does not accept this user name and password" in said


def test_an_authority_that_is_not_known_is_said(server: GuardedServer, tmp_path: Path) -> None:
    assert "an authority that is not known here" in ended(address(server, "", "tls=true"))
    assert "an authority that is not known here" in ended(address(server, "", ca(Authority(tmp_path, "other"))))


@pytest.mark.parametrize(
    ("host", "expired", "said"),
    [("127.0.0.1", True, "has expired"), ("db.example", False, "for another name")],
)
def test_a_certificate_that_is_wrong_is_said(authority: Authority, host: str, expired: bool, said: str) -> None:
    with GuardedServer(certificate=authority.signed("wrong", host, expired)) as wrong:
        found = ended(address(wrong, "", ca(authority)))
        assert found.startswith("TLS: ")
        assert said in found


def test_tls_that_is_weakened_is_a_warning(authority: Authority) -> None:
    with GuardedServer(certificate=authority.signed("lax", "db.example")) as wrong:
        lax = steps(address(wrong, "", ca(authority), "tlsAllowInvalidHostnames=true"))["TLS"]
        none = steps(address(wrong, "", "tls=true", "tlsAllowInvalidCertificates=true"))["TLS"]
    assert (lax.result, none.result) == ("warning", "warning")
    assert "host name is not compared" in lax.said
    assert "not verified" in none.said


def test_a_server_without_tls_or_one_that_breaks_off_is_said() -> None:
    with GuardedServer() as plain:
        assert "TLS: " in (said := ended(address(plain, "", "tls=true")))
        assert "cannot be reached safely" in said or "over TLS" in said
    with GuardedServer(breaks_off=True) as broken:
        assert "ends TLS in the middle" in ended(address(broken, "", "tls=true"))


def test_a_client_certificate_logs_in_and_its_locked_key_is_opened(authority: Authority) -> None:
    key, host = authority.signed("eva", password=PASSWORD), authority.signed("asks", "127.0.0.1")
    with GuardedServer({}, certificate=host, clients=authority.file) as asks:
        mine = f"tlsCertificateKeyFile={quote(str(key))}"
        opened = f"tlsCertificateKeyFilePassword={quote(PASSWORD, safe='')}"
        x509 = "authMechanism=MONGODB-X509"
        found = steps(address(asks, "", ca(authority), mine, opened, x509))
        assert found["Login"].said == "Logged in as CN=eva (admin) by MONGODB-X509."
        assert "is locked; give its password" in ended(address(asks, "", ca(authority), mine, x509))
        assert "the password of its key is wrong" in ended(
            address(asks, "", ca(authority), mine, "tlsCertificateKeyFilePassword=mistyped", x509)
        )
        soon = address(asks, "", ca(authority)).replace(HASTE, "serverSelectionTimeoutMS=3000")
        assert re.search("wants? a client certificate", ended(soon))


def test_a_password_is_sent_in_clear_by_no_mechanism_that_hides_it() -> None:
    with GuardedServer({"eva": PASSWORD}) as plain:
        Server.connect(address(plain, f"eva:{quote(PASSWORD, safe='')}")).close()
        assert b"saslStart" in plain.seen or b"speculativeAuthenticate" in plain.seen
        assert PASSWORD.encode() not in plain.seen


def test_what_a_user_may_do_is_named() -> None:
    rights = [may("shop", "find", "insert", "update"), may("audit", "find", collection="log"), may("", collection="x")]
    with GuardedServer({"eva": "x", "none": "x"}, {"eva": rights, "none": []}) as plain:
        assert steps(address(plain, "eva:x"))["Rights"].said == "This user reads shop, audit.log and writes shop."
        nothing = steps(address(plain, "none:x"))["Rights"]
        nobody = steps(address(plain))["Rights"]
    assert (nothing.result, nobody.result) == ("warning", "warning")
    assert nobody.said == "The databases may not be listed; name a user."


def test_how_many_databases_are_to_be_seen_is_said_in_words() -> None:
    with LocalServer() as empty:
        uri = empty.uri
        assert steps(uri)["Rights"].said == "There is no database yet."
        with MongoClient[dict[str, object]](uri) as client:
            client["shop"]["orders"].insert_one({"_id": 1})
            assert steps(uri)["Rights"].said == "One database can be seen: shop."
            client["audit"]["log"].insert_one({"_id": 1})
        assert steps(uri)["Rights"].said.startswith("2 databases can be seen: ")


def test_a_host_that_is_not_known_or_not_there_ends_the_try() -> None:
    assert ended(f"mongodb://palimpsest.invalid/?{HASTE}").startswith("Name: There is no host palimpsest.invalid")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # kept, and listened at by nobody
        port = taken.getsockname()[1]
        assert ended(f"mongodb://127.0.0.1:{port}/?{HASTE}").startswith(f"Network: 127.0.0.1:{port} refuses")
    assert ended("mongodb://my host/").startswith("Address: ")


def test_a_host_that_does_not_answer_is_named_where_another_one_does() -> None:
    with socket.socket() as taken, GuardedServer() as plain:
        taken.bind(("127.0.0.1", 0))  # kept, and listened at by nobody
        gone = f"127.0.0.1:{taken.getsockname()[1]}"
        found = steps(f"mongodb://{gone},{plain.host}/?serverSelectionTimeoutMS=3000")
        assert found["Network"].said == f"{plain.host} takes connections. No answer: {gone}."
        assert found["Network"].result == "warning"
        assert found["TLS"].said == "Not encrypted, on this computer."
