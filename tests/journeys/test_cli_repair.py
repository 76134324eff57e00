"""Scan, plan, repair and undo as scripts and people call them: rows, exit statuses, reports."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest

from model.commands import repair
from model.commands.output import Progress
from tests.guarded_server import GuardedServer
from tests.journeys.command_support import Run, rows_of
from tests.repairing.planting import CASES, NAMES, Case, snapshot

Db = pymongo.database.Database


@pytest.fixture
def at(database: Db, server_uri: str, tmp_path: Path, run: Run) -> Callable[[str, int], list[str]]:
    """Plant a case and scan it into a plan; the arguments that repair it."""

    def planted(name: str, count: int = 2) -> list[str]:
        case = case_of(name)
        case.put(database, NAMES["default"], count)
        profile = tmp_path / "layouts.toml"
        profile.write_text(case.profile(database.name, NAMES["default"]), encoding="utf-8")
        plan = str(tmp_path / "plan.json")
        status, out, _ = run("scan", server_uri, f"{database.name}.things", "--profile", str(profile), "--plan", plan)
        assert status == 1
        assert "The plan" in out
        return ["repair", server_uri, "--plan", plan, "--profile", str(profile)]

    return planted


def case_of(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def change_plan(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = tmp_path / "plan.json"
    data = json.loads(path.read_text("utf-8"))
    change(data)
    path.write_text(json.dumps(data), encoding="utf-8")


def test_without_apply_nothing_is_written_and_rows_say_what_would_be_done(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A3")
    before = snapshot(database)
    status, out, _ = run(*command, "--json")
    assert status == 0, out
    assert snapshot(database) == before
    first, _ = rows_of(out)
    assert set(first) == {"outcome", "ns", "id", "detail", "writes"}
    assert [(each["write"], each["ns"]) for each in first["writes"]] == [
        ("delete", f"{database.name}.things_past"),
        ("insert", f"{database.name}.quarantine"),
    ]
    assert first["outcome"] == "skipped"
    assert first["id"] == "K-0"
    assert first["detail"].startswith("Would be removed: v4 in ")
    status, out, _ = run(*command)
    assert "nothing was written, --apply does these 2." in out
    assert f"It would write in {database.name}.quarantine: 2 inserts." in out


def test_a_plan_of_which_nothing_can_be_done_promises_nothing(at: Callable[..., list[str]], run: Run) -> None:
    command = at("A3")
    status, out, _ = run(*command, "--apply")
    assert status == 0, out
    status, out, _ = run(*command)
    assert (status, "2 changed; nothing was written, and --apply would write nothing." in out) == (1, True), out


def test_a_plan_that_differs_from_a_scan_of_today_is_done_only_once_that_is_confirmed(
    at: Callable[..., list[str]], run: Run, database: Db, tmp_path: Path
) -> None:
    command = at("A3")
    raw = bson.encode({"_id": 1})
    database["others"].insert_one({"_id": 1})
    strange = {"ns": f"{database.name}.others", "id": 1, "sha256": hashlib.sha256(raw).hexdigest()}
    change_plan(tmp_path, lambda plan: plan["items"][1]["rests on"].append(strange))
    before = snapshot(database)
    status, out, _ = run(*command)
    assert status == 1
    assert "1 of them differs from what a scan of today proposes" in out, out
    status, out, err = run(*command, "--apply", "--json")
    assert (status, out) == (2, "")
    assert "differs from what a scan of today proposes in 1 of its 2 ticked items (item 2: The plan rests on" in err
    assert "--confirm-differences" in err
    assert snapshot(database) == before
    status, out, _ = run(*command, "--apply", "--confirm-differences", "--json")
    assert status == 1
    assert [(row["outcome"], row["id"]) for row in rows_of(out)] == [("applied", "K-0"), ("refused", "K-1")]
    assert "quarantine" in snapshot(database)


def test_a_document_that_changed_since_the_scan_is_skipped_without_a_question(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A3")
    database["things"].update_one({"_id": "K-1"}, {"$set": {"colour": "green"}})
    status, out, _ = run(*command, "--apply", "--json")
    assert status == 1
    assert [row["outcome"] for row in rows_of(out)] == ["applied", "skipped"]


def test_applied_rows_and_a_second_run_that_writes_nothing(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A3")
    status, out, _ = run(*command, "--apply", "--json")
    assert status == 0
    assert [row["outcome"] for row in rows_of(out)] == ["applied", "applied"]
    (name,) = {row["run"] for row in rows_of(out)}
    assert name in {row["run"] for row in rows_of(run("journal", "--json")[1])}
    after = snapshot(database)
    status, out, _ = run(*command, "--apply", "--json")
    assert status == 1
    assert [row["outcome"] for row in rows_of(out)] == ["skipped", "skipped"]
    assert snapshot(database) == after


def test_a_document_that_changed_since_the_scan_is_skipped_and_the_others_are_done(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A3")
    database["things"].update_one({"_id": "K-0"}, {"$set": {"title": "somebody was here"}})
    status, out, _ = run(*command, "--apply", "--json")
    first, second = rows_of(out)
    assert (status, first["outcome"], second["outcome"]) == (1, "skipped", "applied")
    assert "K-0 changed since the scan" in first["detail"]
    assert database["things_past"].count_documents({"docId": "K-0", "v": 4}) == 1


def test_what_asks_waits_for_its_answer_in_the_plan(
    at: Callable[..., list[str]], run: Run, database: Db, tmp_path: Path
) -> None:
    command = at("A5")
    status, out, _ = run(*command, "--apply", "--json")
    assert status == 1
    assert {row["outcome"] for row in rows_of(out)} == {"skipped"}
    assert "waits for an answer" in rows_of(out)[0]["detail"]
    change_plan(tmp_path, lambda plan: plan["items"][0].update(answer="restore"))
    change_plan(tmp_path, lambda plan: plan["items"][1].update(answer="leave"))
    status, out, _ = run(*command, "--apply", "--json")
    assert [row["outcome"] for row in rows_of(out)] == ["applied", "skipped"]
    restored = database["things"].find_one({"_id": "K-0"})
    assert restored is not None
    assert restored["v"] == 4
    assert database["things"].find_one({"_id": "K-1"}) is None


def test_a_run_is_undone_to_the_byte_by_its_name_and_a_write_by_its_entry(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A3 and A1", 1)
    before = snapshot(database)
    _, out, _ = run(*command, "--apply")
    name = out.partition("palimpsest undo ")[2].split(".")[0]
    assert name.startswith("run-")
    status, out, _ = run("undo", name, "--json")
    assert status == 0
    assert [row["outcome"] for row in rows_of(out)] == ["applied", "applied"]
    assert snapshot(database) == before
    status, out, _ = run("undo", name)
    assert "left to undo" in out
    run(*command, "--apply")
    _, out, _ = run("journal", "--json")
    entry = rows_of(out)[0]
    assert entry["action"] == "repair"
    status, out, _ = run("undo", entry["entry"], "--json")
    assert status == 0
    assert database["things_past"].count_documents({"v": 3}) == 1
    status, _, err = run("undo", entry["entry"])
    assert status == 2
    assert "undone already" in err


def test_undo_after_a_later_edit_is_a_conflict_and_writes_nothing(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("A2", 1)
    _, out, _ = run(*command, "--apply")
    name = out.partition("palimpsest undo ")[2].split(".")[0]
    database["things"].update_one({"_id": "K-0"}, {"$set": {"title": "later"}})
    after = snapshot(database)
    status, out, _ = run("undo", name, "--json")
    assert status == 1
    assert [row["outcome"] for row in rows_of(out)] == ["conflict"]
    assert snapshot(database) == after


def test_a_plan_for_another_source_or_layout_is_refused_in_one_sentence(
    at: Callable[..., list[str]], run: Run, tmp_path: Path
) -> None:
    command = at("A3", 1)
    change_plan(tmp_path, lambda plan: plan.update(source="mongodb://elsewhere/"))
    status, out, err = run(*command, "--apply")
    assert (status, out) == (2, "")
    assert "was made for mongodb://elsewhere/" in err
    change_plan(tmp_path, lambda plan: plan.update(source=command[1]))
    change_plan(tmp_path, lambda plan: next(iter(plan["layouts"].values())).update(archive="shop.elsewhere"))
    status, _, err = run(*command, "--apply")
    assert status == 2
    assert "scanned as another layout" in err


def test_a_report_is_kept_as_a_page_that_holds_no_markup_from_documents_and_as_json(
    at: Callable[..., list[str]], run: Run, database: Db, tmp_path: Path
) -> None:
    command = at("A3", 1)
    change_plan(tmp_path, lambda plan: plan["items"][0].update(detail="<script>alert(1)</script> & more"))
    page, data = tmp_path / "report.html", tmp_path / "report.json"
    assert run(*command, "--apply", "--report", str(page), "--report", str(data))[0] == 0
    written = page.read_text("utf-8")
    assert "<script" not in written
    assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; more" in written
    assert "prefers-color-scheme: dark" in written
    assert "http" not in written.replace(command[1], "").replace("mongodb", "")
    HTMLParser().feed(written)
    told = json.loads(data.read_text("utf-8"))
    assert told["applied"] is True
    assert [item["outcome"] for item in told["items"]] == ["applied"]
    status, _, err = run(*command, "--report", str(tmp_path / "report.txt"))
    assert status == 2
    assert "report.txt.html" in err


def test_duplicates_settled_offer_the_index_and_do_not_create_it(
    at: Callable[..., list[str]], run: Run, database: Db
) -> None:
    command = at("V1", 1)
    _, out, _ = run(*command, "--apply")
    assert "You may want to: " in out
    assert "unique index" in out
    assert list(database["things"].index_information()) == ["_id_"]


def test_a_run_that_is_stopped_says_how_to_undo_what_it_did(
    at: Callable[..., list[str]], run: Run, database: Db, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stopping(Progress):
        def __call__(self, done: int, total: int | None) -> None:
            if done:
                raise KeyboardInterrupt
            super().__call__(done, total)

    command = at("A3")
    before = snapshot(database)
    with monkeypatch.context() as patch:
        patch.setattr(repair, "Progress", Stopping)
        status, _, err = run(*command, "--apply")
    assert status == 130
    assert snapshot(database) != before
    (undo,) = re.findall(r"palimpsest undo (run-\S+)\.", err)
    assert run("undo", undo)[0] == 0
    assert snapshot(database) == before


def test_a_password_in_the_source_of_a_plan_is_neither_compared_nor_shown(
    at: Callable[..., list[str]], run: Run, tmp_path: Path
) -> None:
    command = at("A3", 1)
    change_plan(tmp_path, lambda plan: plan.update(source="mongodb://ada:s3cr3t@elsewhere/"))
    status, out, err = run(*command, "--apply")
    assert (status, out) == (2, "")
    assert "was made for mongodb://ada@elsewhere/" in err


def test_a_plan_whose_source_has_the_password_belongs_to_the_connection_without_it(run: Run, tmp_path: Path) -> None:
    with GuardedServer({"ada": "s3cr3t"}) as server:
        uri = f"mongodb://ada:s3cr3t@{server.host}/?directConnection=true"
        with pymongo.MongoClient(uri) as client:
            client["shop"]["things"].insert_one({"_id": "K-1"})
        assert run("scan", uri, "shop", "--plan", str(tmp_path / "plan.json"))[0] == 0
        change_plan(tmp_path, lambda plan: plan.update(source=uri))
        status, _, err = run("repair", uri, "--plan", str(tmp_path / "plan.json"))
    assert (status, err) == (0, "")
