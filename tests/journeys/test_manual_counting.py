"""The manual's examples of counting do what the manual says."""

from __future__ import annotations

import shlex
from pathlib import Path

import pymongo
import pytest

from model.commands import command_line
from resources import manual
from tests.resources.manual_text import blocks

PAGE = manual.page("counting")
PROFILE = """
[[collection]]
ns = "shop.counters"
layout = "sequence"
[[collection]]
ns = "shop.stats"
layout = "pending"
[[collection]]
ns = "shop.teams"
layout = "processed"
[[collection]]
ns = "shop.users"
layout = "plain"
[[collection]]
ns = "shop.carts"
layout = "hashed"
"""


def test_the_manuals_library_and_commands_work_as_they_are_written(
    local_uri: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("layouts.toml").write_text(PROFILE, encoding="utf-8")
    with pymongo.MongoClient(local_uri) as client:
        shop = client["shop"]
        shop["counters"].insert_many([{"_id": "invoices", "seq": 40}, {"_id": "orders", "seq": 7}])
        shop["teams"].insert_many([{"_id": name, "wins": 0, "processed": []} for name in ("Spain", "Italy")])
        code = blocks(PAGE, "python")[0].replace("mongodb://localhost", local_uri)
        known: dict[str, object] = {}
        exec(f"from model.session import Session\n{code}", known)
        assert known["number"] == known["number"].__class__.of(41)  # type: ignore[attr-defined]
        assert shop["users"].find_one()["_id"] == 1
        assert shop["stats"].find_one()["count"] == 1
        assert shop["teams"].find_one({"_id": "Spain"})["wins"] == 1
        cart = shop["carts"].find_one()
        assert (cart["_id"], cart["items"]) == ("cart-7", 2)
        kinds = []
        for line in blocks(PAGE, "sh")[0].splitlines():
            words = shlex.split(line)
            words = [local_uri if w == "$MONGODB_URI" else cart["_versioned_id"] if w == "$HASH" else w for w in words]
            assert words[0] == "palimpsest"
            assert command_line.main(words[1:]) == 0, capsys.readouterr().err
            kinds.append(capsys.readouterr().out.partition(":")[0])
        assert kinds[1:] == ["skipped", "skipped", "applied", "applied"]
        assert shop["counters"].find_one({"_id": "invoices"})["seq"] == 42
        assert shop["stats"].find_one()["count"] == 1
        assert [doc["name"] for doc in shop["users"].find().sort("_id")] == ["Grace H.", "Ted R."]
        assert shop["carts"].find_one()["items"] == 3
        client.drop_database("shop")
