"""The field that says why a version was made, recognised as time and author are, and what only looks like one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from model.profile import table
from model.server.retry import Server
from model.session import Session
from model.values.canonical import Value
from tests import support
from tests.model.catalogue import recognition_scenes as ground
from tests.model.catalogue.recognition_scenes import SEEDS, Db, Document, Names, known

WHY = ("price list", "the customer called", "typo", "moved house", "")
LAYOUTS = {
    "versions": ground.versions,
    "flagged": ground.flagged,
    "embedded": ground.embedded,
    "archive": ground.archive,
}


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Stamp all versions with a reason under a name; some have an empty one."""
    stamped = ground.stamped

    def put(name: str) -> None:
        def signed(names: Names, number: int, v: int) -> Document:
            return {**stamped(names, number, v), name: WHY[(number + v) % len(WHY)]}

        monkeypatch.setattr(ground, "stamped", signed)

    return put


@pytest.mark.parametrize("layout", support.some(LAYOUTS, "embedded"))
@pytest.mark.parametrize("name", support.some({"changeReason": 1, "comment": 1, "history_change_reason": 1}, "comment"))
def test_a_text_that_says_why_is_the_reason(
    server: Server, database: Db, told: Callable[[str], None], layout: str, name: str
) -> None:
    told(name)
    LAYOUTS[layout](database, SEEDS)
    info, profile = known(server, database.name)[SEEDS.things]
    assert (info.layout, info.fields["reason"]) == (layout, name)
    assert table(profile)["reason"] == name


@pytest.mark.parametrize("name", ["comment", "message", "why"])
def test_beside_no_author_such_a_text_is_content(
    server: Server, database: Db, told: Callable[[str], None], name: str
) -> None:
    told(name)
    ground.versions(database, replace(SEEDS, author="room"))
    info, _ = known(server, database.name)[SEEDS.things]
    assert "reason" not in info.fields


def test_a_message_that_people_edit_explains_nothing(
    server: Server, database: Db, told: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told("message")
    monkeypatch.setattr(ground, "content", lambda number, v: {"room": f"R-{number}"})
    ground.versions(database, SEEDS)
    info, _ = known(server, database.name)[SEEDS.things]
    assert (info.layout, info.fields["author"]) == ("versions", SEEDS.author)
    assert "reason" not in info.fields


@pytest.mark.parametrize("hashed", [True, False])
def test_a_hash_that_covers_it_without_the_author_says_that_it_is_content(
    server: Server, database: Db, told: Callable[[str], None], hashed: bool
) -> None:
    told("changeReason")
    content = ground.content

    def sealed(number: int, v: int) -> Document:
        why = {"changeReason": WHY[(number + v) % len(WHY)]} if hashed else {}
        return {**content(number, v), SEEDS.hash: ground.sha1({**why, **content(number, v)})}

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(ground, "content", sealed)
        ground.versions(database, SEEDS)
    info, profile = known(server, database.name)[SEEDS.things]
    assert (info.fields.get("reason", ""), profile.hash_doubt) == ("" if hashed else "changeReason", "")
    assert "is the hash of the content" in info.why


def test_the_reason_is_told_with_each_version_and_is_no_content(
    server_uri: str, database: Db, told: Callable[[str], None]
) -> None:
    told("changeReason")
    ground.versions(database, SEEDS)
    ns = f"{database.name}.{SEEDS.things}"
    with Session.open(server_uri) as session:
        versions = list(session.history.versions(ns, Value.of("K-4")))
        assert [one.reason for one in versions] == [WHY[(4 + v) % len(WHY)] for v in (5, 4, 3, 2, 1)]
        assert all(one.path != ("changeReason",) for one in session.history.blame(ns, Value.of("K-4")))
