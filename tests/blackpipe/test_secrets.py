"""No password, token or document content in any log at any level, whatever fails; and no password anywhere else."""

from __future__ import annotations

import io
import itertools
import logging
import random
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pymongo
import pytest

from model.commands import command_line
from model.errors import Refused
from model.server import driver
from model.session import Session
from tests import support
from tests.blackpipe.cases import in_a_hurry
from tests.blackpipe.operations import operations
from tests.blackpipe.pipe import ALWAYS, FAULTS, BlackPipe, Plan
from tests.blackpipe.scenes import NS, ground

PASSWORD = "p4ssw0rd-s3cret"
CONTENT = ("Eva", "K-1", "hits", "tags", "f1lter")
LOGIN = "&authMechanism=PLAIN&authSource=$external"


@contextmanager
def everything_logged() -> Iterator[io.StringIO]:
    """What all loggers write where everything is asked for."""
    said = io.StringIO()
    handler = logging.StreamHandler(said)
    handler.setFormatter(logging.Formatter("%(name)s %(levelname)s %(message)s %(args)s"))
    root = logging.getLogger()
    every = [root, *(each for each in root.manager.loggerDict.values() if isinstance(each, logging.Logger))]
    before = [each.level for each in every]
    root.addHandler(handler)
    for each in every:
        each.setLevel(logging.DEBUG)
    try:
        yield said
    finally:
        root.removeHandler(handler)
        for each, level in zip(every, before, strict=True):
            each.setLevel(level)


def with_password(uri: str, password: str = PASSWORD) -> str:
    return uri.replace("mongodb://", f"mongodb://eva:{password}@") + LOGIN


def tokens(client: pymongo.MongoClient) -> set[str]:
    """Every write token that is in the database."""
    found: set[str] = set()
    for name in client["pipe"].list_collection_names():
        for doc in client["pipe"][name].find():
            parts = [doc, doc.get("current"), *(doc.get("prev") or [])]
            found |= {str(part["_w"]) for part in parts if isinstance(part, dict) and "_w" in part}
            found |= {str(token) for token in doc.get("pending") or []}
    return found


def busy(layout: str, seed: int) -> tuple[str, set[str]]:
    """Do some of all that can be done, well and under faults; what was logged, and what nobody may find there."""
    rng = random.Random(seed)
    secrets: set[str] = set(CONTENT)
    with everything_logged() as said, in_a_hurry(), ground(layout) as at:
        for operation in [each for each in operations() if each.layout == layout and not each.numbering]:
            with at.patiently():
                given = operation.prepare(at)
            at.keep()
            for fault in ("", *rng.sample(FAULTS, 3), "error code", "not primary"):
                at.again()
                at.pipe.plan = Plan(rng.randrange(8), fault, ALWAYS if fault else 0, random.Random(seed))
                try:
                    operation.act(at, given)
                    if layout != "pending":
                        at.session.documents.page(NS, '{name: "f1lter"}')
                except Refused:
                    pass
                at.pipe.plan = Plan()
                at.pipe.settle()
            secrets |= tokens(at.eyes)
    return said.getvalue(), secrets


@pytest.mark.parametrize("layout", support.every(3, ["pending", "archive", "embedded"]))
def test_no_token_and_no_content_is_logged_at_any_level(layout: str, seed: int) -> None:
    said, secrets = busy(layout, seed)
    assert len(secrets) > len(CONTENT) + 1 or layout != "pending", "no token was there, so none could be shown"
    assert "pymongo.command DEBUG" in said, "nothing was logged, so nothing was shown"
    assert "pymongo.topology DEBUG" in said
    assert [line for line in said.splitlines() if any(f'"{s}' in line or f" {s}" in line for s in secrets)] == []
    assert [secret for secret in secrets if len(secret) == 24 and secret in said] == []


@pytest.mark.deep
def test_the_same_look_convicts_a_driver_that_is_let_talk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver._Discretion, "filter", lambda self, record: True)
    said, secrets = busy("embedded", 1)
    assert {secret for secret in secrets if secret in said} >= {"Eva", "K-1"}
    said, secrets = busy("pending", 1)
    assert [secret for secret in secrets if len(secret) == 24 and secret in said]


def test_a_password_is_in_no_log_no_output_no_error_and_no_file(
    home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with everything_logged() as said, in_a_hurry(), ground("archive") as at:
        three = next(each for each in operations() if (each.layout, each.name) == ("archive", "edit"))
        with at.patiently():
            three.prepare(at)
        uri = with_password(at.pipe.uri)
        stated = str(at.home / "profile.toml")
        status = {}
        doings = {
            "collections": ["collections", uri],
            "history": ["history", uri, NS, "K-1"],
            "show": ["show", uri, NS, "K-1"],
            "edit": ["edit", uri, NS, "K-1", "--set", "hits=9"],
            "restore": ["restore", uri, NS, "K-1", "1"],
            "cleanup": ["cleanup", uri, "--apply"],
            "nonsense": ["edit", uri, NS],
            "journal": ["journal"],
            "journal as rows": ["journal", "--json"],
            "undo": ["undo", "1"],
            "undo there": ["undo", "1", "--source", uri],
        }
        for (name, arguments), fault in itertools.product(doings.items(), ("", "cut before", "garbage", "error code")):
            at.pipe.plan = Plan(0, fault, ALWAYS if fault else 0, random.Random(1))
            extra = ["--profile", stated] if uri in arguments and name not in ("nonsense", "undo there") else []
            status[name, fault] = command_line.main([*arguments, *extra])
        at.pipe.plan = Plan()
        with Session.open(uri, profile=stated) as session:
            assert PASSWORD not in session.source + session.name
            assert all(PASSWORD not in str(entry) for entry in session.journal.entries())
            assert session.journal.entries()[0].source.startswith("mongodb://eva@")
    assert status["edit", ""] == 0, capsys.readouterr().err
    out, err = capsys.readouterr()
    assert PASSWORD not in out + err
    assert "Traceback" not in err
    assert PASSWORD not in said.getvalue()
    for file in (path for path in home.rglob("*") if path.is_file()):
        assert PASSWORD.encode() not in file.read_bytes(), file


@pytest.mark.parametrize(
    "options",
    [
        f"?tls=true&tlsCertificateKeyFilePassword={PASSWORD}&tlsCertificateKeyFile=/nowhere",
        f"?authMechanism=MONGODB-AWS&authMechanismProperties=AWS_SESSION_TOKEN:{PASSWORD}",
        "?authMechanism=PLAIN&authSource=$external",
    ],
)
def test_a_secret_in_the_options_of_an_address_is_in_no_log_and_no_error(options: str) -> None:
    errors: list[Refused] = []
    with everything_logged() as said, in_a_hurry(), BlackPipe() as pipe:
        host = pipe.uri.removeprefix("mongodb://").partition("/?")[0]
        for plan in (Plan(), Plan(0, "garbage", ALWAYS, random.Random(1), greetings=True)):
            pipe.plan = plan
            uri = f"mongodb://eva:{PASSWORD}@{host}/{options}&serverSelectionTimeoutMS=200"
            with pytest.raises(Refused) if plan.fault or "PLAIN" not in options else nullcontext() as raised:
                Session.open(uri).close()
            errors += [raised.value] if raised else []
    assert len(errors) > 0
    assert [error for error in errors if PASSWORD in f"{error} {error.__cause__}"] == []
    assert PASSWORD not in said.getvalue()
