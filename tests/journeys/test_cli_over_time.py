"""Who changed what in a collection, and its state at a time, on the command line."""

from __future__ import annotations

import datetime as dt
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from tests.journeys.command_support import Rows, Run, rows_of

Db = pymongo.database.Database[dict[str, Any]]
DAY = [dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC) for day in range(1, 10)]


@pytest.fixture
def orders(database: Db, tmp_path: Path) -> tuple[str, tuple[str, str]]:
    """Two orders over five days, written by two people; the third version of B is missing."""
    rows = [
        ("A", 1, 0, "ann", {"total": 1, "to": {"city": "Bonn", "zip": "5"}}),
        ("A", 2, 1, "ben", {"total": 2, "to": {"city": "Bonn", "zip": "5"}}),
        ("A", 3, 2, "ann", {"total": 2, "to": {"city": "Ulm", "zip": "5"}, "tags": [1]}),
        ("A", 4, 4, "ben", {"total": 1, "to": {"city": "Bonn", "zip": "5"}}),
        ("B", 1, 1, "ann", {"total": 7}),
        ("B", 2, 2, "ann", {"total": 8}),
        ("B", 4, 5, "ben", {"total": 9}),
    ]
    for id, v, day, who, content in rows:
        database["orders"].insert_one({"docId": id, "v": v, "changedAt": DAY[day], "changedBy": who, **content})
    file = tmp_path / "profile.toml"
    file.write_text(
        f'[[collection]]\nns = "{database.name}.orders"\nlayout = "versions"\nid = "docId"\n'
        'at = "changedAt"\nauthor = "changedBy"\n'
    )
    return f"{database.name}.orders", ("--profile", str(file))


def test_activity_tells_who_set_what(rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]) -> None:
    ns, profile = orders
    status, found = rows("activity", server_uri, ns, *profile)
    assert status == 0
    assert list(found[0]) == ["at", "author", "reason", "ns", "id", "v", "kind", "paths", "values"]
    assert [(row["id"], row["v"], row["author"], row["kind"], row["paths"]) for row in found] == [
        ("B", {"$numberInt": "4"}, "ben", "unknown", []),
        ("A", {"$numberInt": "4"}, "ben", "restored", [["total"], ["to", "city"], ["tags"]]),
        ("A", {"$numberInt": "3"}, "ann", "edited", [["to", "city"], ["tags"]]),
        ("B", {"$numberInt": "2"}, "ann", "edited", [["total"]]),
        ("A", {"$numberInt": "2"}, "ben", "edited", [["total"]]),
        ("B", {"$numberInt": "1"}, "ann", "created", [["total"]]),
        ("A", {"$numberInt": "1"}, "ann", "created", [["total"], ["to"]]),
    ]
    one, two = {"$numberInt": "1"}, {"$numberInt": "2"}
    assert found[1]["values"] == [
        {"path": ["total"], "from": two, "to": one},
        {"path": ["to", "city"], "from": "Ulm", "to": "Bonn"},
    ]  # an array is no short value
    assert found[4]["values"] == [{"path": ["total"], "from": one, "to": two}]
    assert found[0]["at"] == {"$date": {"$numberLong": str(int(DAY[5].timestamp() * 1000))}}


def test_activity_is_narrowed_and_says_what_it_supplied(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    bounds = ("--since", "2026-03-02T12:00:00Z", "--until", "2026-03-03T13:00+01:00")
    assert [row["id"] for row in rows("activity", server_uri, ns, *bounds, *profile)[1]] == ["A", "B", "A", "B"]
    assert len(rows("activity", server_uri, ns, "--path", "to.city", *profile)[1]) == 3
    assert {row["author"] for row in rows("activity", server_uri, ns, "--author", "ben", *profile)[1]} == {"ben"}
    assert len(rows("activity", server_uri, ns, "--id", "B", *profile)[1]) == 3
    status, out, err = run("activity", server_uri, ns, "--author", "be", "--since", "2026-03-01", *profile)
    assert (status, out) == (1, "")
    assert "Nothing was changed by be there" in err
    assert "2026-03-01 has no zone and is taken as 2026-03-01 00:00:00 UTC." in err
    assert "No index" in err
    assert run("activity", server_uri, ns, "--since", "yesterday", *profile)[0] == 2
    status, out, _ = run("activity", server_uri, ns, *profile)
    assert "to.city, tags" in out


def test_a_time_to_come_is_said_and_what_stands_now_is_shown(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    status, out, err = run("asof", server_uri, ns, "2999-01-01T00:00Z", *profile)
    assert status == 0
    assert "2999-01-01T00:00Z lies in the future." in err
    assert [line.split()[:2] for line in sorted(out.splitlines())[:2]] == [["A", "v4"], ["B", "v4"]]
    status, out, err = run("activity", server_uri, ns, "--since", "2999-01-01T00:00Z", *profile)
    assert (status, out) == (1, "")
    assert "2999-01-01T00:00Z lies in the future." in err


def test_where_a_clock_jumped_the_states_are_marked_and_the_changes_told_by_their_times(
    run: Run, rows: Rows, server_uri: str, database: Db, orders: tuple[str, tuple[str, str]]
) -> None:
    ns, profile = orders
    database["orders"].update_one({"docId": "A", "v": 3}, {"$set": {"changedAt": DAY[0] - dt.timedelta(days=5)}})
    _, found = rows("activity", server_uri, ns, "--id", "A", *profile)
    assert [int(row["v"]["$numberInt"]) for row in found] == [4, 2, 1, 3]
    _, states = rows("asof", server_uri, ns, "2026-03-01T13:00Z", '{"total": {"$lt": 5}}', *profile)
    assert [(row["id"], row["proven"]) for row in states] == [("A", False)]
    assert "cannot be proven" in run("asof", server_uri, ns, "2026-03-01T13:00Z", *profile)[2]


def test_a_collection_without_versions_is_refused(run: Run, server_uri: str, database: Db) -> None:
    database["things"].insert_many([{"a": 1}, {"a": 2}])
    for command in (("activity",), ("asof",)):
        times = ("2026-03-01",) if command == ("asof",) else ()
        status, out, err = run(*command, server_uri, f"{database.name}.things", *times)
        assert (status, out) == (2, "")
        assert "keeps no earlier versions" in err


def test_a_collection_stands_as_it_stood(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]], tmp_path: Path
) -> None:
    ns, profile = orders
    status, found = rows("asof", server_uri, ns, "2026-03-04T00:00Z", *profile)
    assert status == 0
    assert list(found[0]) == ["ns", "id", "v", "at", "proven"]
    told = {row["id"]: (row["v"]["$numberInt"], row["proven"]) for row in found}
    assert told == {"A": ("3", True), "B": ("2", False)}
    _, matching = rows("asof", server_uri, ns, "2026-03-04T00:00Z", '{"to.city": "Ulm"}', "--content", *profile)
    assert [(row["id"], row["content"]["tags"]) for row in matching] == [("A", [{"$numberInt": "1"}])]
    file = tmp_path / "then.jsonl"
    status, _, err = run("asof", server_uri, ns, "2026-03-04T00:00Z", "--export", str(file), *profile)
    assert status == 0
    assert [row["_id"] for row in rows_of(file.read_text())] == ["A"], "what cannot be proven is not written"
    assert "1 of them cannot be proven" in err
    assert rows("asof", server_uri, ns, "2026-02-01T00:00Z", *profile) == (0, [])


def test_two_times_are_compared(rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]]) -> None:
    ns, profile = orders
    both = ("2026-03-01T13:00Z", "2026-03-03T11:00Z", "--compare")
    status, found = rows("asof", server_uri, ns, *both, *profile)
    assert status == 1
    assert {(row["id"], row["change"]) for row in found} == {("A", "changed"), ("B", "added")}
    assert rows("asof", server_uri, ns, "2026-03-02T13:00Z", "2026-03-02T14:00Z", "--compare", *profile) == (0, [])
    (unproven,) = [
        row
        for row in rows("asof", server_uri, ns, "2026-03-02T13:00Z", "2026-03-04T00:00Z", "--compare", *profile)[1]
        if row["id"] == "B"
    ]
    assert unproven["change"] == "unproven"


def test_a_report_has_every_version_and_no_markup_of_the_data(
    run: Run, server_uri: str, orders: tuple[str, tuple[str, str]], database: Db, tmp_path: Path
) -> None:
    ns, profile = orders
    database["orders"].update_one({"docId": "B", "v": 4}, {"$set": {"note": "<script>alert(1)</script>"}})
    file = tmp_path / "B.html"
    assert run("report", server_uri, ns, "B", "-o", str(file), *profile)[:2] == (0, "")
    page = file.read_text()
    assert [f"<h2>v{v}" in page for v in (1, 2, 3, 4)] == [True] * 4
    assert "by ann" in page
    assert "It is missing" in page
    assert "its changes are not known" in page
    assert "<script" not in page
    assert run("report", server_uri, ns, "B", "--author", "ann", *profile)[0] == 2
    status, out, _ = run("report", server_uri, ns, "A", *profile)
    assert status == 0
    assert "&quot;Ulm&quot;" in out
    assert "http" not in out.replace(server_uri, ""), "it needs nothing beside itself"


def test_documents_that_are_gone_are_told_with_who_and_when(
    run: Run, rows: Rows, server_uri: str, orders: tuple[str, tuple[str, str]], database: Db
) -> None:
    ns, profile = orders
    assert rows("activity", server_uri, ns, "--deleted", *profile) == (1, [])
    gone = {"docId": "A", "v": 5, "changedAt": DAY[7], "changedBy": "eva", "_deleted": True}
    database["orders"].insert_one(gone)
    status, (row,) = rows("activity", server_uri, ns, "--deleted", *profile)
    assert status == 0
    assert (row["id"], row["v"], row["author"], row["kind"]) == ("A", {"$numberInt": "4"}, "eva", "deleted")
    assert rows("activity", server_uri, ns, "--deleted", "--author", "ben", *profile) == (1, [])
    assert rows("activity", server_uri, ns, "--deleted", "--until", "2026-03-04T00:00Z", *profile) == (1, [])
    assert run("activity", server_uri, ns, "--deleted", "--follow", *profile)[0] == 2
    assert "eva" in run("activity", server_uri, ns, "--deleted", *profile)[1]


TAGS = {
    "html",
    "head",
    "meta",
    "title",
    "style",
    "body",
    "h1",
    "h2",
    "h3",
    "p",
    "ul",
    "li",
    "b",
    "section",
    "pre",
    "code",
}


class Markup(HTMLParser):
    """A page read strictly: what is opened is closed, and nothing in it runs or is loaded."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        assert {name for name, _ in attrs} <= {"lang", "charset", "name", "content", "class"}
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_report_on_a_span_of_time_has_its_versions_and_nothing_in_it_runs(
    run: Run, server_uri: str, orders: tuple[str, tuple[str, str]], database: Db, tmp_path: Path
) -> None:
    ns, profile = orders
    hostile = "</pre></section><script>alert(1)</script><img src=x onerror=alert(1)>&lt;"
    database["orders"].update_one({"docId": "B", "v": 4}, {"$set": {"note": hostile, "changedBy": hostile}})
    file = tmp_path / "march.html"
    since = ("--since", "2026-03-03T00:00Z", "--until", "2026-03-06T23:00Z")
    assert run("report", server_uri, ns, *since, "-o", str(file), *profile)[:2] == (0, "")
    texts = Markup(file.read_text()).texts
    headings = [text for text in texts if text in ("A", "B", "v1", "v2", "v3", "v4 (current)", "v3 (current)")]
    assert headings == ["A", "v4 (current)", "v3", "B", "v4 (current)", "v3", "v2"], "the gap goes with v4"
    whole = "".join(texts)
    assert "4versions2documents1missing" in whole
    assert f"by {hostile}" in whole
    assert "since 2026-03-03 00:00 UTC, until 2026-03-06 23:00 UTC" in whole
    status, page, _ = run("report", server_uri, ns, "--author", "ben", *profile)
    assert status == 0
    assert [text for text in Markup(page).texts if text in ("A", "B", "v4 (current)", "v2")] == [
        "A",
        "v4 (current)",
        "v2",
    ]
    status, page, _ = run("report", server_uri, ns, "--author", "nobody", *profile)
    assert "There is no version in it." in "".join(Markup(page).texts)
