"""Fields of one document erased on the command line: told where before, certified afterwards, for good."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.journeys.command_support import Rows, Run

PROFILE = '[[collection]]\nns = "{ns}"\nlayout = "archive"\narchive = "{ns}_past"\nauthor = "by"\n'


@pytest.fixture
def people(database: Any, tmp_path: Path) -> tuple[str, str]:
    """Two people with two versions each."""
    ns = f"{database.name}.people"
    database["people_past"].create_index([("docId", 1), ("v", 1)], unique=True)
    for id, phone in (("A", "0151-1111"), ("B", "0151-9999")):
        database["people_past"].insert_one({"docId": id, "v": 1, "name": "Ann", "phone": f"{phone}-old"})
        database["people"].insert_one({"_id": id, "v": 2, "name": "Ann", "phone": phone})
    file = tmp_path / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, str(file)


def test_it_says_where_erases_and_certifies(
    run: Run, rows: Rows, server_uri: str, database: Any, people: tuple[str, str], tmp_path: Path
) -> None:
    (ns, profile), certificate = people, tmp_path / "certificate.json"
    stated = ("--profile", profile)
    assert run("edit", server_uri, ns, "A", "--set", 'phone="0151-2222"', *stated)[0] == 0
    asked = ("erase", server_uri, ns, "A", "--path", "phone", *stated)
    status, drawn = rows(*asked)
    assert (status, list(drawn[0])) == (0, ["outcome", "ns", "id", "detail", "place", "count"])
    assert [(row["place"], row["count"]) for row in drawn] == [("current", 1), ("archive", 2), ("journal", 1)]
    assert "no way back" in run(*asked)[1]
    assert database["people"].find_one({"_id": "A"})["phone"] == "0151-2222", "nothing is written without --apply"
    done = ("--apply", "--certificate", str(certificate), "--reason", "asked by letter", "--as", "eva")
    status, out, _ = run(*asked, *done)
    assert (status, ": 0 found." in out, "There is no way back." in out) == (0, True, True)
    assert "phone" not in database["people"].find_one({"_id": "A"})
    assert database["people_past"].count_documents({"docId": "A", "phone": {"$exists": True}}) == 0
    assert database["people_past"].count_documents({"docId": "A"}) == 2
    assert database["people"].find_one({"_id": "B"})["phone"] == "0151-9999"
    said = json.loads(certificate.read_text())
    assert (said["paths"], said["id"], said["found again"], said["reason"]) == (["phone"], "A", 0, "asked by letter")
    assert "0151" not in certificate.read_text(), "it holds no erased value"
    entries = rows("journal")[1]
    assert {entry["action"] for entry in entries} == {"edit", "erase"}
    assert not any(entry["undoable"] for entry in entries)
    assert rows(*asked, "--apply") == (0, []), "once more it finds nothing"


def test_bad_words_are_one_sentence(run: Run, server_uri: str, people: tuple[str, str]) -> None:
    ns, profile = people
    for words, said in (
        (["A"], "Say which fields"),
        (["A", "--path", "v"], "kept by the layout"),
        (["A", "--path", "a[0]"], "names a position"),
        (["A", "--path", "a..b"], "a name is missing"),
        (["C", "--path", "phone"], "C"),
        (["A", "--path", "phone", "--certificate", "x"], "say --apply"),
    ):
        status, out, err = run("erase", server_uri, ns, *words, "--profile", profile)
        assert (status, out, said in err) == (2, "", True), (words, err)
        assert len(err.strip().splitlines()) == 1


def test_a_hash_that_fits_nothing_is_told_and_stays(
    rows: Rows, server_uri: str, database: Any, people: tuple[str, str], tmp_path: Path
) -> None:
    (ns, profile), certificate = people, tmp_path / "certificate.json"
    Path(profile).write_text(PROFILE.format(ns=ns) + 'hash = "seal"\n')
    database["people_past"].update_one({"docId": "A"}, {"$set": {"seal": "0" * 40}})
    asked = ("erase", server_uri, ns, "A", "--path", "phone", "--profile", profile)
    told = {"outcome": "skipped", "place": "archive", "count": 1}
    for words in ([], ["--apply", "--certificate", str(certificate)]):
        status, found = rows(*asked, *words)
        assert status == 0
        assert next(row for row in found if row["detail"].startswith("Hashes")).items() >= told.items()
    said = json.loads(certificate.read_text())["hashes left"]
    assert said == [{"place": "archive", "where": f"{ns}_past", "count": 1}]
    assert database["people_past"].find_one({"docId": "A"})["seal"] == "0" * 40
