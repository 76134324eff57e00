"""``palimpsest scan`` as scripts and people call it."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import pymongo.database
import pytest
from bson import ObjectId

from tests.journeys.command_support import Run, rows_of

Db = pymongo.database.Database
LONG_AGO = ObjectId.from_datetime(dt.datetime(2025, 10, 31, tzinfo=dt.UTC))

PROFILE = """
[[collection]]
ns = "{db}.contracts"
layout = "archive"
version = "rev"
archive = "{db}.past"
archive_id = "of"

[[collection]]
ns = "{db}.stats"
layout = "pending"
grace = "7d"

[[collection]]
ns = "{db}.counters"
layout = "sequence"
targets = {{ invoices = "{db}.invoices:number" }}
"""


@pytest.fixture
def profile(database: Db, database_name: str, tmp_path: Path) -> str:
    database["contracts"].insert_many([{"_id": "K-1", "rev": 2, "net": 2}, {"_id": "K-2", "rev": 1, "net": 1}])
    database["past"].insert_many([{"of": "K-1", "rev": 1, "net": 1}, {"of": "K-2", "rev": 2, "net": 9}])
    database["stats"].insert_one({"_id": "calls", "count": 1, "pending": [LONG_AGO]})
    database["counters"].insert_one({"_id": "invoices", "seq": 1})
    database["invoices"].insert_many([{"number": 1}, {"number": 2}, {"number": "2"}])
    path = tmp_path / "profile.toml"
    path.write_text(PROFILE.format(db=database_name))
    return str(path)


def test_a_row_says_class_place_id_versions_detail_and_repair(
    run: Run, server_uri: str, database_name: str, profile: str
) -> None:
    status, out, err = run("scan", server_uri, f"{database_name}.contracts", "--profile", profile, "--json")
    assert (status, err) == (1, "")
    assert rows_of(out) == [
        {
            "class": "A3",
            "ns": f"{database_name}.contracts",
            "id": "K-2",
            "versions": [{"$numberInt": "2"}],
            "detail": "v2 above current v1",
            "repair": "remove-phantom",
            "doubt": None,
        }
    ]


def test_a_database_is_scanned_by_its_name(run: Run, server_uri: str, database_name: str, profile: str) -> None:
    status, out, _ = run("scan", server_uri, database_name, "--profile", profile, "--json")
    assert status == 1
    assert {(row["class"], row["ns"], str(row["id"]), row["repair"]) for row in rows_of(out)} == {
        ("A3", f"{database_name}.contracts", "K-2", "remove-phantom"),
        ("T1", f"{database_name}.stats", "calls", "finish-token"),
        ("S1", f"{database_name}.counters", "invoices", "raise-counter"),
        ("S2", f"{database_name}.invoices", "2", None),
    }


def test_text_is_grouped_by_class_with_what_it_means(
    run: Run, server_uri: str, database_name: str, profile: str
) -> None:
    status, out, _ = run("scan", server_uri, database_name, "--profile", profile)
    assert status == 1
    assert "A3  Phantom versions: 1" in out
    assert "Every later edit of the document is refused." in out
    assert out.index("A3  ") < out.index("T1  ") < out.index("S1  ")
    assert "4 findings;" in out.splitlines()[-1]


def test_nothing_found_is_0(run: Run, server_uri: str, database: Db, database_name: str) -> None:
    database["sound"].insert_many([{"docId": i, "v": v, "net": i * v} for i in range(9) for v in (1, 2)])
    assert run("scan", server_uri, f"{database_name}.sound", "--layout", "versions", "--json") == (0, "", "")
    status, out, _ = run("scan", server_uri, f"{database_name}.sound", "--layout", "versions")
    assert status == 0
    assert out.startswith("0 findings; 18 documents looked at")


def test_what_was_not_checked_stands_beside_the_rows_and_at_the_end_of_the_text(
    run: Run, server_uri: str, database: Db, database_name: str, profile: str
) -> None:
    database["counters"].insert_one({"_id": "letters", "seq": 1})
    _, out, err = run("scan", server_uri, f"{database_name}.counters", "--profile", profile, "--json")
    assert {row["class"] for row in rows_of(out)} == {"S1", "S2"}
    assert "Not checked" in err
    assert "letters" in err
    _, out, err = run("scan", server_uri, f"{database_name}.counters", "--profile", profile)
    assert "Not checked" in out
    assert err == ""


def test_one_document_can_be_scanned(run: Run, server_uri: str, database_name: str, profile: str) -> None:
    ns = f"{database_name}.contracts"
    assert run("scan", server_uri, ns, "--profile", profile, "--id", "K-1", "--json") == (0, "", "")
    status, out, _ = run("scan", server_uri, ns, "--profile", profile, "--id", "K-2", "--gentle", "--json")
    assert (status, len(rows_of(out))) == (1, 1)


@pytest.mark.parametrize(
    "arguments", [("{db}.nowhere",), ("nowhere_at_all",), ("--layout", "versions"), ("{db}.contracts", "--id", "K-9")]
)
def test_trouble_is_2_and_one_sentence(
    arguments: tuple[str, ...], run: Run, server_uri: str, database_name: str, profile: str
) -> None:
    status, out, err = run("scan", server_uri, *(each.format(db=database_name) for each in arguments))
    assert (status, out) == (2, "")
    assert len(err.splitlines()) == 1


def test_a_dump_is_scanned_where_it_lies(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "things.jsonl"
    lines = [{"_id": i, "docId": f"K-{i % 4}", "v": 1 + i // 4, "net": i} for i in range(12)]
    path.write_text("\n".join(json.dumps(line) for line in lines if line["_id"] != 5))
    status, out, _ = run("scan", str(path), "--json")
    told = rows_of(out)
    assert (status, [(row["class"], row["id"], row["versions"]) for row in told]) == (
        1,
        [("V2", "K-1", [{"$numberInt": "2"}])],
    )


def test_the_parts_of_a_scan_are_joined_to_what_the_whole_one_prints(
    run: Run, server_uri: str, database_name: str, profile: str, tmp_path: Path
) -> None:
    options = (server_uri, database_name, "--profile", profile)
    whole = run("scan", *options, "--json")
    files = []
    for part in ("2/2", "1/2"):
        status, out, err = run("scan", *options, "--range", part)
        assert (status in (0, 1), err) == (True, "")
        files.append(str(tmp_path / part.replace("/", "-")))
        Path(files[-1]).write_text(out, "utf-8")
    joined = run("scan", server_uri, "--profile", profile, "--merge", *files, "--json")
    assert joined[0] == whole[0]
    assert sorted(joined[1].splitlines()) == sorted(whole[1].splitlines())
    assert rows_of(joined[1])
    table = run("scan", server_uri, "--profile", profile, "--merge", *files)[1].splitlines()
    assert table[:-1] == run("scan", *options)[1].splitlines()[:-1]


def test_parts_go_with_no_plan_and_a_missing_one_is_named(
    run: Run, server_uri: str, database_name: str, profile: str, tmp_path: Path
) -> None:
    options = (server_uri, database_name, "--profile", profile)
    status, _, err = run("scan", *options, "--range", "1/2", "--plan", str(tmp_path / "plan"))
    assert (status, "--plan does not go with --range" in err) == (2, True)
    (tmp_path / "one").write_text(run("scan", *options, "--range", "1/2")[1], "utf-8")
    status, out, err = run("scan", *options, "--merge", str(tmp_path / "one"))
    assert (status, out) == (2, "")
    assert "There have to be the parts 1 to 2, each once, and there are 1." in err
