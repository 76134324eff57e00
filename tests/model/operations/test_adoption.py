"""A layout for a plain collection: its measures, its reasons, and code that names what the collection has."""

from __future__ import annotations

import ast
import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.commands import command_line, grammar
from model.errors import NotFound, Refused
from model.layouts.layout_names import ADOPTED_LAYOUTS
from model.localserver import LocalServer
from model.operations.adoption import LANGUAGES
from model.profile import Profile
from model.session import Session

NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def client() -> Iterator[pymongo.MongoClient[dict[str, Any]]]:
    with LocalServer() as local, pymongo.MongoClient[dict[str, Any]](local.uri) as made:
        made.uri = local.uri  # type: ignore[attr-defined]
        yield made


@pytest.fixture
def session(client: Any) -> Iterator[Session]:
    with Session.open(client.uri) as made:
        yield made


def orders(client: pymongo.MongoClient[dict[str, Any]], size: int, days: float, **more: Any) -> None:
    changed = NOW - dt.timedelta(days=days)
    client.shop.orders.insert_many([{"_id": n, "text": "x" * size, "updatedAt": changed, **more} for n in range(9)])


@pytest.mark.parametrize(
    ("size", "days", "past", "layout"),
    [(100, 365, "seldom", "embedded"), (100, 1, "seldom", "archive"), (20_000, 365, "often", "versions")],
)
def test_size_and_changes_decide_the_layout(
    client: Any, session: Session, size: int, days: float, past: str, layout: str
) -> None:
    orders(client, size, days)
    found = session.exchange.adoption("shop.orders", past)
    assert found.layout == layout
    assert found.measured.changes == pytest.approx(365 / (2 * days), rel=0.01)
    assert found.measured.changed_field == "updatedAt"
    assert (found.measured.documents, found.measured.looked_at) == (9, 9)
    assert found.measured.mean in range(size, size + 70)
    assert found.reasons[0].startswith("By updatedAt a document changes about ")


def test_names_that_documents_use_are_left_to_them(client: Any, session: Session, tmp_path: Path) -> None:
    orders(client, 10, 1, v="red", _w=2)
    found = session.exchange.adoption("shop.orders")
    assert (found.version, found.token, found.archive) == ("version", "writeToken", "shop.orders_archive_history")
    (tmp_path / "layouts.toml").write_text(found.profile)
    stated = Profile.load(tmp_path / "layouts.toml").get(found.target)
    assert stated is not None
    assert (stated.layout, stated.version, stated.token, stated.archive) == (
        "archive",
        "version",
        "writeToken",
        found.archive,
    )
    assert (
        found.index
        == 'db.getCollection("orders_archive_history").createIndex({ docId: 1, version: 1 }, { unique: true })'
    )


@pytest.mark.parametrize("layout", ADOPTED_LAYOUTS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_code_is_filled_in(client: Any, session: Session, layout: str, language: str) -> None:
    orders(client, 10, 1)
    code = session.exchange.adoption("shop.orders", to=layout).code(language)
    assert not re.search(r"\{\{\w+\}\}|@@", code)
    assert f'"orders_{layout}"' in code
    if language == "python":
        ast.parse(code)


def test_what_cannot_be_adopted_is_refused_in_a_sentence(client: Any, session: Session) -> None:
    with pytest.raises(NotFound):
        session.exchange.adoption("shop.none")
    client.shop.contracts.create_index([("docId", 1), ("v", 1)], unique=True)
    client.shop.contracts.insert_many([{"docId": id, "v": v, "n": v} for id in "KLM" for v in (1, 2, 3, 4)])
    with pytest.raises(Refused, match="keeps versions already"):
        session.exchange.adoption("shop.contracts")
    orders(client, 10, 1, docId=4)
    with pytest.raises(Refused, match="use every name"):
        session.exchange.adoption("shop.orders")


def test_the_command_writes_files_once(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    orders(client, 10, 1)
    argv = ["adopt", client.uri, "shop.orders", "--folder", str(tmp_path / "code")]
    assert command_line.main(argv) == 0
    assert "Layout: " in capsys.readouterr().out
    assert {each.name for each in (tmp_path / "code").iterdir()} == {"layouts.toml", *LANGUAGES.values()}
    assert command_line.main(argv) == 2
    assert "is there already" in capsys.readouterr().err


def test_the_grammar_names_the_languages_and_layouts_that_there_are() -> None:
    options = {action.dest: action.choices for action in grammar.parser("adopt").commands["adopt"]._actions}
    assert (options["language"], options["to"]) == (tuple(LANGUAGES), ADOPTED_LAYOUTS)
