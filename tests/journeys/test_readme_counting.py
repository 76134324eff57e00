"""What the README shows of counting does what it says, as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pymongo
import pytest

from model.commands import command_line
from tests import support

README = (support.ROOT / "README.md").read_text("utf-8")
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


def block(kind: str) -> str:
    section = README.partition("\n## Counting once\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{kind}\n(.*?)```", section, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_readmes_library_and_commands_work_as_they_are_written(
    local_uri: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("layouts.toml").write_text(PROFILE, encoding="utf-8")
    with pymongo.MongoClient(local_uri) as client:
        shop = client["shop"]
        shop["counters"].insert_many([{"_id": "invoices", "seq": 40}, {"_id": "orders", "seq": 7}])
        shop["teams"].insert_many([{"_id": name, "wins": 0, "processed": []} for name in ("Spain", "Italy")])
        code = block("python").replace("mongodb://localhost", local_uri)
        known: dict[str, object] = {}
        exec(f"from model.session import Session\n{code}", known)
        assert known["number"] == known["number"].__class__.of(41)  # type: ignore[attr-defined]
        assert shop["users"].find_one()["_id"] == 1
        assert shop["stats"].find_one()["count"] == 1
        assert shop["teams"].find_one({"_id": "Spain"})["wins"] == 1
        cart = shop["carts"].find_one()
        assert (cart["_id"], cart["items"]) == ("cart-7", 2)
        kinds = []
        for line in block("sh").splitlines():
            words = shlex.split(line.partition("  #")[0])
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
