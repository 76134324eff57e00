"""Saved connections: secrets go to the keyring and nowhere else."""

from __future__ import annotations

import datetime as dt
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote_plus

import keyring
import keyring.backend
import keyring.errors
import pytest
from msgspec.structs import replace

from model.errors import NotFound, Refused
from model.foundation.address import Address
from model.userdata import connections
from model.userdata.connections import Connections, SavedConnection
from tests import support
from tests.memory_keyring import Memory

SECRET = "pl4nted-s3cret"


class Absent(Memory):
    """A computer without a keyring."""

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.NoKeyringError("none")

    def set_password(self, service: str, username: str, password: str) -> None:
        raise keyring.errors.NoKeyringError("none")


@pytest.fixture
def ring() -> Iterator[Memory]:
    before, mine = keyring.get_keyring(), Memory()
    keyring.set_keyring(mine)
    yield mine
    keyring.set_keyring(before)


@support.table(
    "uri, clean",
    [
        ("mongodb://db.example:27017/", "mongodb://db.example:27017/"),
        (f"mongodb://eva:{SECRET}@db.example/shop", "mongodb://eva@db.example/shop"),
        (f"mongodb+srv://eva:{SECRET}@db.example", "mongodb+srv://eva@db.example"),
        (f"mongodb://eva:{SECRET}@a:1,b:2/?replicaSet=rs0", "mongodb://eva@a:1,b:2/?replicaSet=rs0"),
        (f"mongodb://eva:p@ss/{SECRET}@db.example/x", "mongodb://eva@db.example/x"),
        (f"mongodb://eva:what?{SECRET}@db.example/x", "mongodb://eva@db.example/x"),
        ("mongodb://db.example:27017/?appName=a@b", "mongodb://db.example:27017/?appName=a@b"),
        (
            f"mongodb://db/?tls=true&tlsCertificateKeyFilePassword={SECRET}&w=1",
            "mongodb://db/?tls=true&w=1",
        ),
        (f"mongodb://db/?authMechanismProperties=AWS_SESSION_TOKEN:{SECRET}", "mongodb://db/"),
        ("/data/dump", "/data/dump"),
        ("sample:", "sample:"),
    ],
)
def test_a_shown_source_holds_no_secret_and_nothing_else_is_lost(uri: str, clean: str) -> None:
    assert connections.without_password(uri) == clean
    assert connections.has_secret(uri) == (SECRET in uri)


ODD = quote_plus(f"{SECRET} @/:?#&;%+é")
MECHANISMS = {
    "by default": f"mongodb://eva:{ODD}@a.example:1,b.example/shop?replicaSet=rs0&authSource=admin",
    "SCRAM-SHA-1": f"mongodb://e%40va:{ODD}@db.example/?authMechanism=SCRAM-SHA-1;authSource=users;w=1",
    "X.509": f"mongodb://CN%3Deva@db.example/?authMechanism=MONGODB-X509&tlsCertificateKeyFile=%2Fc.pem&tlsCertificateKeyFilePassword={ODD}",
    "AWS": f"mongodb://AKIA:{ODD}@db.example/?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:{ODD}%3D%3D",
    "Kerberos": f"mongodb://eva%40EX.ORG:{ODD}@db.example/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:m",
    "LDAP": f"mongodb://eva:{ODD}@db.example/?authMechanism=PLAIN&authSource=%24external&tls=true",
    "OpenID": "mongodb://db.example/?authMechanism=MONGODB-OIDC&authMechanismProperties=ENVIRONMENT:azure,TOKEN_RESOURCE:x",
    "two at once": f"mongodb://eva:{ODD}@db.example/?tlsCertificateKeyFile=c.pem&TLSCertificateKeyFilePassword={ODD}2",
}


def read(uri: str) -> tuple[object, ...]:
    """All that an address says, whatever the order of its options."""
    found = Address.parse(uri)
    assert found is not None
    said = {piece.partition("=")[0].lower(): found.option(piece.partition("=")[0]) for piece in found.options}
    return found.user_name, found.password_text, found.hosts, found.path, said


@pytest.mark.parametrize("uri", MECHANISMS.values(), ids=MECHANISMS)
def test_every_secret_of_every_mechanism_goes_to_the_keyring_and_comes_back(
    uri: str, tmp_path: Path, ring: Memory
) -> None:
    kept = Connections(tmp_path).save(SavedConnection("db", uri))
    assert SECRET not in repr(kept) + (tmp_path / "connections.json").read_text("utf-8")
    assert read(Connections(tmp_path).complete(Connections(tmp_path).get("db").uri)) == read(uri)
    assert all(SECRET in secret for secret in ring.kept.values())
    Connections(tmp_path).remove("db")
    assert not ring.kept


FAILURES = [
    OSError("org.freedesktop.Secret.Error.IsLocked"),
    RuntimeError("a backend's own"),
    keyring.errors.KeyringLocked("locked"),
    keyring.errors.InitError("no bus"),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"),
    b"of another type",
    17,
]


def asked(act: str, of: Connections, saved: SavedConnection) -> None:
    acts: dict[str, Callable[[], object]] = {
        "get": lambda: of.complete("mongodb://eva@db.example/"),
        "set": lambda: of.save(replace(saved, uri="mongodb://eva:another@db.example/")),
        "delete": lambda: of.remove(saved.name),
    }
    acts[act]()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda each: type(each).__name__)
@pytest.mark.parametrize("act", ["get", "set", "delete"])
def test_a_keyring_that_fails_in_any_way_is_a_sentence(
    failure: object, act: str, tmp_path: Path, ring: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = Connections(tmp_path)
    saved = SavedConnection("db", f"mongodb://eva:{SECRET}@db.example/")
    connections.save(saved)

    def fail(*_: object) -> object:
        if isinstance(failure, BaseException):
            raise failure
        return failure

    monkeypatch.setattr(ring, f"{act}_password", fail)
    with pytest.raises(Refused, match=r"^The keyring of this computer [^\n]*\.$") as raised:
        asked(act, connections, saved)
    assert SECRET not in str(raised.value)


@pytest.mark.parametrize("act", ["get", "set", "delete"])
def test_a_keyring_that_never_answers_is_a_sentence_after_a_while(
    act: str, tmp_path: Path, ring: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = SavedConnection("db", f"mongodb://eva:{SECRET}@db.example/")
    Connections(tmp_path).save(saved)
    answers = threading.Event()
    monkeypatch.setattr(ring, f"{act}_password", lambda *_: answers.wait())
    monkeypatch.setattr(connections, "PATIENCE", 0.05)
    try:
        with pytest.raises(Refused, match=r"^The keyring of this computer has not answered for [^\n]*\.$") as raised:
            asked(act, Connections(tmp_path), saved)
        assert SECRET not in str(raised.value)
    finally:
        answers.set()


def test_a_password_goes_into_a_uri_encoded() -> None:
    assert connections.with_password("mongodb://eva@db/x", "p@ss/w?rd") == "mongodb://eva:p%40ss%2Fw%3Frd@db/x"


def test_a_password_needs_a_user() -> None:
    with pytest.raises(Refused, match="names no user"):
        connections.with_password("mongodb://db/x", SECRET)


@support.table(
    "uri, needed",
    [
        ("mongodb://eva@db/", True),
        ("mongodb://eva:x@db/", False),
        ("mongodb://db/", False),
        ("mongodb://eva@db/?authMechanism=MONGODB-X509", False),
        ("sample:", False),
    ],
)
def test_a_password_is_needed_where_a_user_is_named_without_one(uri: str, needed: bool) -> None:
    assert connections.needs_password(uri) == needed


@support.table(
    "source, label",
    [("mongodb://eva:x@a:1,b:2/db?w=1", "a:1,b:2"), ("/data/dump 2026", "dump 2026"), ("sample:", "sample:")],
)
def test_a_source_has_a_short_name(source: str, label: str) -> None:
    assert connections.label(source) == label


def test_a_saved_connection_comes_back_and_its_password_only_from_the_keyring(tmp_path: Path, ring: Memory) -> None:
    kept = Connections(tmp_path)
    saved = kept.save(SavedConnection("staging", f"mongodb://eva:{SECRET}@db/x", production=True))
    assert saved.uri == "mongodb://eva@db/x"
    assert Connections(tmp_path).get("staging") == saved
    assert Connections(tmp_path).complete("mongodb://eva@db/x") == f"mongodb://eva:{SECRET}@db/x"
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and SECRET in p.read_text()]


def test_a_password_given_apart_is_kept_like_one_in_the_uri(tmp_path: Path, ring: Memory) -> None:
    Connections(tmp_path).save(SavedConnection("staging", "mongodb://eva@db/x"), password=SECRET)
    assert Connections(tmp_path).complete("mongodb://eva@db/x") == f"mongodb://eva:{SECRET}@db/x"


def test_without_a_keyring_the_connection_is_kept_and_the_password_is_not(tmp_path: Path, ring: Memory) -> None:
    keyring.set_keyring(Absent())
    with pytest.raises(Refused, match="password is not kept"):
        Connections(tmp_path).save(SavedConnection("staging", f"mongodb://eva:{SECRET}@db/x"))
    assert Connections(tmp_path).get("staging").uri == "mongodb://eva@db/x"
    assert SECRET not in (tmp_path / "connections.json").read_text()
    assert Connections(tmp_path).complete("mongodb://eva@db/x") == "mongodb://eva@db/x"


def test_the_last_used_connection_comes_first(tmp_path: Path, ring: Memory) -> None:
    kept = Connections(tmp_path)
    old = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    kept.save(SavedConnection("never", "mongodb://a/"))
    kept.save(SavedConnection("long ago", "mongodb://b/", last_used=old))
    kept.save(SavedConnection("now", "mongodb://c/"))
    kept.used("now")
    assert [c.name for c in kept.all()] == ["now", "long ago", "never"]


def test_removing_a_connection_forgets_its_password_unless_another_needs_it(tmp_path: Path, ring: Memory) -> None:
    kept = Connections(tmp_path)
    kept.save(SavedConnection("one", f"mongodb://eva:{SECRET}@db/"))
    kept.save(SavedConnection("two", "mongodb://eva@db/"))
    kept.remove("one")
    assert ring.kept
    kept.remove("two")
    assert not ring.kept
    with pytest.raises(NotFound):
        kept.get("two")


def test_a_damaged_list_is_set_aside_and_a_new_one_begins(tmp_path: Path) -> None:
    (tmp_path / "connections.json").write_text("{ no list")
    kept = Connections(tmp_path)
    assert kept.all() == []
    assert (tmp_path / "connections.json.damaged").read_text() == "{ no list"
    kept.save(SavedConnection("db", "mongodb://db/"))
    assert [each.name for each in kept.all()] == ["db"]


@pytest.mark.parametrize(
    "change", [("true", '"perhaps"'), ('"one"', '"\\ud800"'), ('"one"', "7"), ("mongodb://a/", "\\ud800")]
)
def test_a_damaged_connection_costs_itself_and_no_other(change: tuple[str, str], tmp_path: Path) -> None:
    kept = Connections(tmp_path)
    kept.save(SavedConnection("one", "mongodb://a/", production=True))
    kept.save(SavedConnection("two", "mongodb://b/"))
    path = tmp_path / "connections.json"
    damaged = path.read_text("utf-8").replace(*change, 1)
    path.write_text(damaged, "utf-8")
    assert [each.name for each in kept.all()] == ["two"]
    assert (tmp_path / "connections.json.damaged").read_text("utf-8") == damaged
    assert [each.name for each in Connections(tmp_path).all()] == ["two"], "the rest is kept as a new list"


def test_a_time_without_a_zone_is_one_in_utc(tmp_path: Path) -> None:
    kept = Connections(tmp_path)
    kept.save(SavedConnection("one", "mongodb://a/", last_used=dt.datetime(2026, 1, 1, tzinfo=dt.UTC)))
    kept.save(SavedConnection("two", "mongodb://b/", last_used=dt.datetime(2026, 1, 2, tzinfo=dt.UTC)))
    path = tmp_path / "connections.json"
    path.write_text(path.read_text("utf-8").replace("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:00"), "utf-8")
    assert [each.name for each in kept.all()] == ["two", "one"]


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps rights elsewhere")
def test_what_is_kept_is_for_its_owner_only(tmp_path: Path, ring: Memory) -> None:
    home = tmp_path / "new"
    Connections(home).save(SavedConnection("staging", "mongodb://db/"))
    assert home.stat().st_mode & 0o777 == 0o700
    assert (home / "connections.json").stat().st_mode & 0o777 == 0o600
