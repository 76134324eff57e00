"""The price of 200 products that an import changed is taken back on the command line; all later work stays."""

from __future__ import annotations

import datetime as dt
import json
import threading
from pathlib import Path
from typing import Any

import pytest

from model.server.retry import Reply, Server, Write
from model.session import Session
from tests.journeys.command_support import Rows, Run

DAY = [dt.datetime(2026, 3, day, 9, tzinfo=dt.UTC) for day in range(1, 5)]
PROFILE = """
[[collection]]
ns = "{ns}"
layout = "archive"
archive = "{ns}_history"
at = "changedAt"
author = "changedBy"
"""


def products(database: Any, count: int, folder: Path) -> tuple[str, str]:
    """Products whose price and unit an import changed before a person counted the stock; the collection, its profile.

    ``updatedAt`` is set by every write, and no profile names it.
    """
    past, now = [], []
    for n in range(count):
        content: dict[str, Any] = {"name": f"Part {n}", "price": {"net": 10 + n, "unit": "EUR"}, "stock": 3}
        steps: tuple[tuple[str, dict[str, Any]], ...] = (
            ("ann", {}),
            ("import", {"price": {"net": 12 + n, "unit": "USD"}}),
            ("ben", {"stock": n, "price": {"net": 12 + n, "unit": "CHF"}} if n % 2 else {"stock": n}),
        )
        for v, (by, changes) in enumerate(steps, 1):
            content = {**content, **changes, "updatedAt": DAY[v]}
            row = {"v": v, "changedAt": DAY[v], "changedBy": by, **content}
            past.append({"docId": f"P-{n}", **row})
        row = past.pop()
        now.append({"_id": row.pop("docId"), **row})
    database["products"].insert_many(now)
    database["products_history"].insert_many(past)
    database["products_history"].create_index([("docId", 1), ("v", 1)], unique=True)
    ns, file = f"{database.name}.products", folder / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, str(file)


def current(database: Any) -> dict[str, dict[str, Any]]:
    """The products as PyMongo reads them, without what the layout keeps."""
    kept = ("_id", "v", "changedAt", "changedBy")
    return {
        each["_id"]: {name: each[name] for name in each if name not in kept} for each in database["products"].find()
    }


@pytest.mark.parametrize("many", [6, pytest.param(200, marks=pytest.mark.deep)])
def test_the_price_of_many_products_is_taken_back_in_one_run_and_undone_in_one(
    rows: Rows, run: Run, server_uri: str, database: Any, tmp_path: Path, many: int
) -> None:
    ns, profile = products(database, many, tmp_path)
    before = current(database)
    asked = ("revert", server_uri, ns, "--author", "import", "--profile", profile)
    assert {row["outcome"] for row in rows(*asked)[1]} == {"skipped", "conflict"}, "the unit of half of them moved on"
    plan = str(tmp_path / "plan.json")
    status, drawn = rows(*asked, "--path", "price.net", "--plan", plan)
    assert (len(drawn), {row["outcome"] for row in drawn}) == (many, {"skipped"})
    assert drawn[0]["detail"] == f"Would be written: price.net of v2 of {drawn[0]['id']} taken back."
    assert json.loads(Path(plan).read_text())["items"][0]["paths"] == ["price.net"]
    status, done = rows("revert", server_uri, ns, "--plan", plan, "--apply", "--profile", profile)
    assert (status, len(done), {row["outcome"] for row in done}) == (0, many, {"applied"})
    (name,) = {row["run"] for row in done}
    wanted = {id: {**each, "price": {**each["price"], "net": each["price"]["net"] - 2}} for id, each in before.items()}
    assert current(database) == wanted, "the stock and the unit are as they were set later"
    assert run("undo", name, "--source", server_uri, "--profile", profile)[0] == 0
    assert current(database) == before


def test_a_time_that_every_write_sets_is_no_later_change(
    rows: Rows, server_uri: str, database: Any, tmp_path: Path
) -> None:
    ns, profile = products(database, 6, tmp_path)
    before = current(database)
    _, done = rows("revert", server_uri, ns, "--author", "import", "--apply", "--profile", profile)
    assert {row["id"]: row["outcome"] for row in done} == {
        f"P-{n}": "conflict" if n % 2 else "applied" for n in range(6)
    }
    assert {row["detail"] for row in done if row["id"] == "P-1"} == {
        "P-1 was changed later in price.unit; take v2 back by hand."
    }
    now = current(database)["P-2"]
    assert now == {**before["P-2"], "price": {"net": 12, "unit": "EUR"}}, "it keeps the time of the last change"


def test_what_somebody_edits_between_reading_and_writing_is_kept_and_the_price_goes_back(
    rows: Rows, server_uri: str, database: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ns, profile = products(database, 6, tmp_path)
    sent, overtaken = Server._send, set[object]()

    def late(self: Server, write: Write) -> Reply:
        """Let another program edit a product just before the first write to it arrives."""
        id = (write.filter or {}).get("_id") if write.ns == ns else None
        if id is not None and not writing.is_set() and id not in overtaken:
            overtaken.add(id)
            writing.set()
            assert other.edit(ns, id, set={"name": "renamed"}).kind == "applied"
            writing.clear()
        return sent(self, write)

    writing = threading.Event()
    monkeypatch.setattr(Server, "_send", late)
    with Session.open(server_uri, Path(profile), home=tmp_path / "other") as other:
        asked = ("revert", server_uri, ns, "--author", "import", "--path", "price.net")
        _, done = rows(*asked, "--apply", "--profile", profile)
    assert {row["outcome"] for row in done} == {"applied"}, done
    now = current(database)
    assert {each["name"] for each in now.values()} == {"renamed"}
    assert [now[f"P-{n}"]["price"]["net"] for n in range(6)] == list(range(10, 16))


def test_a_path_that_was_not_changed_or_is_the_layouts_is_told(
    run: Run, rows: Rows, server_uri: str, database: Any, tmp_path: Path
) -> None:
    ns, profile = products(database, 1, tmp_path)
    one = ("revert", server_uri, ns, "--id", "P-0", "--version", "2", "--profile", profile)
    _, (row,) = rows(*one, "--path", "stock", "--path", "nothing")
    assert (row["outcome"], row["detail"]) == ("skipped", "v2 of P-0 did not change stock, nothing.")
    for path, said in (("changedBy", "changedBy is kept by the layout"), ("a..b", "is unclear at column 3")):
        status, _, err = run(*one, "--path", path)
        assert (status, said in err) == (2, True), err
    assert run("revert", server_uri, ns, "--path", "price.net", "--profile", profile)[0] == 2
