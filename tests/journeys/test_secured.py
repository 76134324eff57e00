"""TLS and logins that fail: each has its own sentence in window and command line, and nothing is sent in clear."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import quote

import bson
import pytest
from bson import ObjectId
from pytestqt.qtbot import QtBot

from gui.window.connect_dialog import ConnectDialog
from gui.window.opening import Opening
from tests.certificates import Authority
from tests.guarded_server import HASHES, GuardedServer
from tests.gui.conftest import look
from tests.gui.window.windows import new_window, sheet, wait_idle
from tests.journeys.command_support import Run
from tests.privileges import Privilege
from tests.servers.door import Door

__all__ = ["look"]  # a fixture

PASSWORD = "s3cret-of-eva"
TEXT = "diagnosis-of-mrs-jones"
NOBODY: dict[str, list[Privilege]] = {"eva": []}
PATIENT = 60
"""Seconds that a server is looked for which may yet come: nobody waits for one that refuses for good."""


@dataclass(frozen=True)
class Case:
    """A server, the address that leads to it, and what is said."""

    said: str
    who: str = f"eva:{PASSWORD}@"
    options: tuple[str, ...] = ()
    host: str = "127.0.0.1"  # of the server's certificate
    expired: bool = False
    trusts: str = "authority"
    key: str = ""  # who has signed the client's certificate
    asks_for_key: bool = False
    cut_after: int | None = None
    patience: int = PATIENT
    rights: dict[str, list[Privilege]] = field(default_factory=dict)


CASES = {
    "another authority": Case("signed by an authority that is not known here", trusts="stranger"),
    "expired": Case("its certificate has expired", expired=True),
    "another host": Case("its certificate is for another name", host="db.example"),
    "no client certificate": Case("it wants a client certificate", asks_for_key=True),
    "a stranger's client certificate": Case(
        "it does not take the client certificate", asks_for_key=True, key="stranger"
    ),
    "the wrong password": Case("does not accept this user name and password", who="eva:mistyped-of-eva@"),
    "cut off in the handshake": Case("it ends TLS in the middle", cut_after=100, patience=4),
}


@pytest.fixture(scope="module")
def authorities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Authority]:
    return {name: Authority(tmp_path_factory.mktemp(name), name) for name in ("authority", "stranger")}


@contextlib.contextmanager
def scene(case: Case, authorities: dict[str, Authority]) -> Iterator[tuple[GuardedServer, Door, str]]:
    """A server with documents, the wire to it, and an address that leads over that."""
    own = authorities["authority"]
    clients = own.file if case.asks_for_key else None
    certificate = own.signed("server", case.host, case.expired)
    with GuardedServer({"eva": PASSWORD}, case.rights, certificate, clients) as server:
        server.store.load("shop.notes", [bson.encode({"_id": 1, "v": 1, "text": TEXT, "_w": ObjectId()})])
        with Door(server.host, case.cut_after) as wire:
            trusted = f"tlsCAFile={quote(str(authorities[case.trusts].file))}"
            key = f"tlsCertificateKeyFile={quote(str(authorities[case.key].signed('eva')))}" if case.key else ""
            haste = f"serverSelectionTimeoutMS={case.patience}000"
            options = "&".join(filter(None, [haste, trusted, key, *case.options]))
            yield server, wire, f"mongodb://{case.who}{wire.host}/?{options}"


def is_clear(wire: Door) -> bool:
    """Whether somebody on the way could read anything of it; shorter words would stand in noise by chance."""
    assert wire.seen
    return any(word.encode() in wire.seen for word in (PASSWORD, TEXT, "saslStart", "mistyped-of-eva", "saslContinue"))


@pytest.mark.parametrize("name", CASES)
def test_a_command_says_at_once_what_is_wrong_with_a_connection_and_ends_with_2(
    name: str, authorities: dict[str, Authority], run: Run
) -> None:
    case = CASES[name]
    with scene(case, authorities) as (_, wire, uri):
        began = time.monotonic()
        status, out, err = run("collections", uri)
        assert time.monotonic() - began < PATIENT / 2
        assert (status, out) == (2, "")
        assert case.said in err
        assert err.count("\n") == 1
        assert PASSWORD not in err
        assert [other for other in CASES.values() if other.said in err] == [case]
        assert not is_clear(wire)


@pytest.mark.usefixtures("look")
@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
@pytest.mark.deep
@pytest.mark.slice
def test_the_window_says_it_too_by_the_test_button_and_on_connecting(
    authorities: dict[str, Authority], qtbot: QtBot
) -> None:
    window = new_window(qtbot)
    window.connecting.ask(Opening("mongodb://db.example/"))
    dialog = sheet(window)
    assert isinstance(dialog, ConnectDialog)
    for name, case in CASES.items():
        with scene(case, authorities) as (_, wire, uri):
            dialog.uri.setText(uri)
            dialog.test.click()
            wait_idle(qtbot, lambda: bool(dialog.steps.steps) and dialog.go.isEnabled())
            last = dialog.steps.steps[-1]
            assert (last.result, case.said in last.said) == ("failed", True), (name, last)
            if name in ("another authority", "the wrong password"):
                dialog.go.click()
                wait_idle(qtbot, dialog.trouble.isVisible)
                assert case.said in dialog.trouble.text(), name
            assert not window.sessions
            assert not is_clear(wire)
    window.close_quietly()


WAYS = {
    "SCRAM-SHA-256": Case(""),
    "SCRAM-SHA-1": Case(""),
    "MONGODB-X509": Case("", who="", asks_for_key=True, key="authority", options=("authMechanism=MONGODB-X509",)),
}


@pytest.mark.parametrize("way", WAYS)
def test_work_over_tls_leaves_nothing_to_read_on_the_wire(
    way: str, authorities: dict[str, Authority], run: Run
) -> None:
    with scene(WAYS[way], authorities) as (server, wire, uri):
        server.mechanism = way if way in HASHES else server.mechanism
        assert TEXT in run("show", uri, "shop.notes", "1", "--layout", "plain")[1]
        assert run("edit", uri, "shop.notes", "1", "--set", f'text="{TEXT}-2"', "--layout", "plain")[0] == 0
        assert run("undo", "1", "--source", uri)[0] == 0
        assert server.answered["findAndModify"] == 2
        assert not is_clear(wire)


def test_without_tls_the_same_search_finds_what_was_sent(run: Run) -> None:
    with GuardedServer({"eva": PASSWORD}) as server, Door(server.host) as wire:
        server.store.load("shop.notes", [bson.encode({"_id": 1, "text": TEXT})])
        assert run("show", f"mongodb://eva:{PASSWORD}@{wire.host}/", "shop.notes", "1")[0] == 0
        assert is_clear(wire)
        assert TEXT.encode() in wire.seen
        assert PASSWORD.encode() not in wire.seen, "SCRAM sends no password"


@pytest.mark.parametrize(("times", "status", "kind"), [(1, 0, "applied"), (99, 3, "unknown")])
def test_tls_that_ends_in_the_middle_of_a_write_is_settled_or_not_known(
    times: int, status: int, kind: str, authorities: dict[str, Authority], run: Run
) -> None:
    with scene(Case(""), authorities) as (server, wire, uri):
        server.hangs_up_on["findAndModify"] = times
        ended, out, err = run("edit", uri, "shop.notes", "1", "--set", 'text="other"', "--layout", "plain")
        assert (ended, out.partition(":")[0]) == (status, kind), (out, err)
        assert not is_clear(wire)
