"""The commands that count once, and the nightly job with its lock, as scripts and schedulers call them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pymongo.database
import pytest
from bson import ObjectId

from model.userdata.lock import Held, held
from tests.journeys.command_support import Rows, Run

Db = pymongo.database.Database
OLD = ObjectId("650000000000000000000000")


@pytest.fixture
def source(server_uri: str, database: Db) -> str:
    database["counters"].insert_many([{"_id": "orders", "seq": 41}, {"_id": "letters", "seq": 7}])
    database["stats"].insert_many(
        [
            {"_id": "2020-07-04", "count": 42, "pending": [OLD], "applied": []},
            {"_id": "2020-07-05", "count": 3, "pending": [], "applied": [ObjectId()]},
        ]
    )
    database["teams"].insert_many(
        [{"_id": name, "wins": 1, "processed": ["germany-2006"]} for name in ("Spain", "Italy", "France")]
    )
    return server_uri


@pytest.fixture
def db(database_name: str) -> str:
    return database_name


def test_next_prints_the_number_and_moves_the_counter(rows: Rows, run: Run, source: str, database: Db, db: str) -> None:
    status, (row,) = rows("next", source, f"{db}.counters", "orders")
    assert (status, row["outcome"], row["value"]) == (0, "applied", {"$numberInt": "42"})
    assert list(row) == ["outcome", "ns", "id", "detail", "value"]
    assert run("next", source, f"{db}.counters", "orders")[1] == "applied: orders handed out 43.\n"
    assert database["counters"].find_one({"_id": "orders"}) == {"_id": "orders", "seq": 43}


def test_next_makes_a_counter_only_when_it_is_told_to(run: Run, rows: Rows, source: str, db: str) -> None:
    status, out, err = run("next", source, f"{db}.counters", "ordres")
    assert (status, out) == (2, "")
    assert "ordres" in err
    status, (row,) = rows("next", source, f"{db}.counters", "parcels", "--create")
    assert (status, row["value"]) == (0, {"$numberInt": "1"})


def test_count_with_a_token_counts_once(rows: Rows, source: str, database: Db, db: str) -> None:
    ends = [rows("count", source, f"{db}.stats", "2020-07-04", "order-7") for _ in range(2)]
    assert [(status, row["outcome"]) for status, (row,) in ends] == [(0, "applied"), (0, "skipped")]
    assert database["stats"].find_one({"_id": "2020-07-04"})["count"] == 43
    assert rows("count", source, f"{db}.stats", "2020-07-06", "--by", "3", "--create")[0] == 0
    assert database["stats"].find_one({"_id": "2020-07-06"})["count"] == 3
    assert rows("count", source, f"{db}.stats", "2020-07-09")[0] == 2
    assert rows("count", source, f"{db}.stats", "2020-07-04", str(OLD))[0] == 0, "the digits that the window shows"
    assert database["stats"].find_one({"_id": "2020-07-04"})["pending"] == []


def test_process_applies_an_entry_once(rows: Rows, run: Run, source: str, database: Db, db: str) -> None:
    teams = f"{db}.teams"
    where = (source, teams, "Spain", "south-africa-2010", "--field", "wins")
    assert [rows("process", *where)[1][0]["outcome"] for _ in range(2)] == ["applied", "skipped"]
    stored = database["teams"].find_one({"_id": "Spain"})
    assert (stored["wins"], stored["processed"]) == (2, ["germany-2006", "south-africa-2010"])
    assert "say which field is the total (wins)" in run("process", source, teams, "Spain", "brasil-2014")[2]
    assert rows("process", source, teams, "Uruguay", "1930", "--field", "wins")[0] == 2
    assert rows("process", source, teams, "Uruguay", '"1930"', "--field", "wins", "--create")[0] == 0
    assert database["teams"].find_one({"_id": "Uruguay"}) == {"_id": "Uruguay", "wins": 1, "processed": ["1930"]}


def test_insert_takes_an_id_or_the_next_number(
    rows: Rows, run: Run, source: str, database: Db, db: str, tmp_path: Path
) -> None:
    users = f"{db}.users"
    database["users"].insert_one({"_id": 7, "name": "Ann"})
    status, (row,) = rows("insert", source, users, '{"name": "Ted R."}', "--next")
    assert (status, row["value"], row["id"]) == (0, {"$numberInt": "8"}, {"$numberInt": "8"})
    numbered = ("--next", "--counter", f"{db}.counters:orders")
    assert rows("insert", source, users, '{"name": "Grace H."}', *numbered)[1][0]["value"] == {"$numberInt": "42"}
    for expected in ("applied", "skipped"):
        assert rows("insert", source, users, '{"name": "Bob"}', "--id", "bob")[1][0]["outcome"] == expected
    assert rows("insert", source, users, '{"name": "Rob"}', "--id", "bob")[0] == 2
    status, (row,) = rows("insert", source, f"{db}.fresh", '{"name": "Ann"}', "--next")
    assert (status, row["value"], row["id"]) == (0, {"$numberInt": "1"}, {"$numberInt": "1"})
    for wrong in (("--id", "1", "--next"), ("--field", "n"), ("--next", "--counter", "orders")):
        assert run("insert", source, users, "{}", *wrong)[0] == 2
    assert {each["_id"] for each in database["users"].find()} == {7, 8, 42, "bob"}


def test_what_was_written_is_in_the_journal_and_can_be_undone(
    rows: Rows, run: Run, source: str, database: Db, db: str
) -> None:
    run("process", source, f"{db}.teams", "Spain", "south-africa-2010", "--field", "wins", "--by", "4")
    entry = rows("journal")[1][0]
    assert (entry["action"], entry["outcome"], entry["undoable"]) == ("apply once", "applied", True)
    assert run("undo", entry["entry"])[0] == 0
    assert database["teams"].find_one({"_id": "Spain"}) == {"_id": "Spain", "wins": 1, "processed": ["germany-2006"]}


def test_a_hashed_document_is_inserted_and_edited_by_its_hash(
    rows: Rows, source: str, database: Db, db: str, tmp_path: Path
) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text(f'[[collection]]\nns = "{db}.carts"\nlayout = "hashed"\n')
    stated = ("--profile", str(profile))
    status, (row,) = rows("insert", source, f"{db}.carts", '{"a": 1, "gone": 2}', "--id", "cart", *stated)
    assert (status, row["outcome"]) == (0, "applied")
    base = database["carts"].find_one()["_versioned_id"]
    edit = ("edit", source, f"{db}.carts", "cart", "--base", base, "--set", "a=2", "--unset", "gone", *stated)
    assert [rows(*edit)[0] for _ in range(2)] == [0, 1]
    assert set(database["carts"].find_one()) == {"_id", "a", "_versioned_id"}


def test_a_document_under_the_hash_of_its_content_is_inserted_once(
    rows: Rows, run: Run, source: str, database: Db, db: str, tmp_path: Path
) -> None:
    profile = tmp_path / "p.toml"
    profile.write_text(f'[[collection]]\nns = "{db}.carts"\nlayout = "hashed"\n')
    insert = ("insert", source, f"{db}.carts", '{"a": 1}', "--id-by-hash", "--profile", str(profile))
    ends = [rows(*insert) for _ in range(2)]
    assert [(status, row["outcome"]) for status, (row,) in ends] == [(0, "applied"), (0, "skipped")]
    (made,) = database["carts"].find()
    assert made["_id"] == made["_versioned_id"] == ends[0][1][0]["id"]
    for wrong in (("--id", "x"), ("--next",)):
        status, out, err = run(*insert, *wrong)
        assert (status, out) == (2, "")
        assert "the hash of the content is the id; leave out --id and --next" in err


def test_an_edit_makes_a_document_that_is_not_there_only_when_it_is_told_to(
    rows: Rows, run: Run, source: str, database: Db, db: str
) -> None:
    database["things"].insert_one({"_id": "a", "n": 1})
    edit = ("edit", source, f"{db}.things", "7", "--set", "n=2")
    status, out, err = run(*edit)
    assert (status, out) == (2, "")
    assert "the id 7" in err
    status, (row,) = rows(*edit, "--create")
    assert (status, row["outcome"], row["id"]) == (0, "applied", {"$numberInt": "7"})
    assert rows(*edit, "--create")[1][0]["outcome"] == "skipped"
    assert database["things"].find_one({"_id": 7})["n"] == 2
    for wrong in (
        ("edit", source, f"{db}.things", "8", "--unset", "n", "--create"),
        (*edit, "--create", "--base", "1"),
    ):
        status, out, err = run(*wrong)
        assert (status, out) == (2, "")
        assert "say --set, and leave out --base" in err


# --- the nightly job


def test_the_report_of_a_cleanup_says_what_a_mail_must(run: Run, source: str, database: Db, db: str) -> None:
    status, out, err = run("cleanup", source, f"{db}.stats", "--apply")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("Cleanup of mongodb://")
    assert "UTC" in lines[0]
    assert "was finished: count is 43 now" in out
    assert lines[-1] == "1 applied."


def test_a_second_cleanup_says_that_another_is_at_work_and_does_nothing(
    run: Run, rows: Rows, source: str, database: Db, db: str, home: Path
) -> None:
    from model.session import Session

    with Session.open(source) as session:
        known = session.source
    with held("cleanup", known):
        status, out, err = run("cleanup", source, f"{db}.stats", "--apply")
        assert (status, err) == (0, "")
        assert f"process {os.getpid()}" in out
        assert "did nothing" in out
        assert rows("cleanup", source, f"{db}.stats", "--apply")[1][0]["outcome"] == "skipped"
        assert rows("cleanup", source, f"{db}.stats")[1][0]["detail"].endswith("nothing was written."), (
            "a dry run reads"
        )
    assert database["stats"].find_one({"_id": "2020-07-04"})["count"] == 42
    assert rows("cleanup", source, f"{db}.stats", "--apply")[1][0]["outcome"] == "applied"


DIES = (
    "import os; from model.userdata.lock import held; lock = held('cleanup', 'a source'); lock.__enter__(); os._exit(9)"
)
HOLDS = (
    "import sys; from model.userdata.lock import held\n"
    "with held('cleanup', 'a source'): print('held', flush=True); sys.stdin.readline()"
)


def test_the_lock_of_a_dead_process_stops_nobody_and_is_told_of(home: Path) -> None:
    with held("cleanup", "a source") as before:
        assert before is None
    dead = subprocess.run([sys.executable, "-c", DIES], check=False)
    assert dead.returncode == 9
    with held("cleanup", "a source") as before:
        assert before is not None
        assert before.pid != os.getpid()
    with held("cleanup", "a source") as before:
        assert before is None, "a run that ended leaves nothing to tell"


def test_the_lock_of_a_living_process_stops_its_own_work_and_source_alone(home: Path) -> None:
    living = subprocess.Popen([sys.executable, "-c", HOLDS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert living.stdout is not None
    assert living.stdout.readline() == "held\n"
    with pytest.raises(Held, match=f"process {living.pid} "), held("cleanup", "a source"):
        pass
    with held("cleanup", "another source"), held("feed", "a source"):
        pass
    living.communicate("\n", timeout=60)
    with held("cleanup", "a source"):
        pass


def test_a_report_tells_of_a_run_that_did_not_end(run: Run, source: str, db: str, home: Path) -> None:
    from model.session import Session

    with Session.open(source) as session:
        known = session.source
    code = DIES.replace("'a source'", repr(known))
    subprocess.run([sys.executable, "-c", code], check=False)
    _, out, _ = run("cleanup", source, f"{db}.stats", "--apply")
    assert "did not end properly" in out
    assert "1 applied." in out


# --- counts by day, as they are found without a profile


def by_day(database: Db, **fields: object) -> None:
    database["visits"].insert_one({"_id": "2016-07-01", **fields})


def test_next_never_raises_the_count_of_a_day(run: Run, server_uri: str, database: Db, db: str) -> None:
    by_day(database, counter=5, pending=[OLD])
    before = database["visits"].find_one()
    status, out, err = run("next", server_uri, f"{db}.visits", "2016-07-01")
    assert (status, out) == (2, "")
    assert "taken for pending and not for counters" in err
    status, _, err = run("next", server_uri, f"{db}.visits", "2016-07-01", "--layout", "sequence")
    assert status == 2
    assert "tokens wait in its list pending" in err
    assert database["visits"].find_one() == before


def test_a_day_among_sequences_is_refused_by_itself(rows: Rows, source: str, database: Db, db: str) -> None:
    database["counters"].insert_many([{"_id": f"c{n}", "seq": n} for n in range(9)])
    database["counters"].insert_one({"_id": "2016-07-01", "seq": 5, "inFlight": []})
    status, (row,) = rows("next", source, f"{db}.counters", "2016-07-01", "--layout", "sequence")
    assert (status, row["outcome"]) == (2, "refused")
    assert "not a sequence" in row["detail"]
    assert rows("next", source, f"{db}.counters", "orders", "--layout", "sequence")[0] == 0
    assert database["counters"].find_one({"_id": "2016-07-01"})["seq"] == 5


@pytest.mark.parametrize(
    ("fields", "counter"),
    [
        ({"counter": 5, "pending": [OLD]}, "counter"),
        ({"hits": 5, "pending": [OLD], "applied": [ObjectId()]}, "hits"),
        ({"stats": {"count": 5, "pending": [OLD]}}, "stats.count"),
    ],
)
def test_the_nightly_job_finishes_what_a_day_left(
    rows: Rows, run: Run, server_uri: str, database: Db, db: str, fields: dict[str, object], counter: str
) -> None:
    by_day(database, **fields)
    assert run("cleanup", server_uri, "--apply")[0] == 0
    outer, _, inner = counter.rpartition(".")
    stored = database["visits"].find_one()
    part = stored[outer] if outer else stored
    assert (part[inner], part["pending"]) == (6, [])
    status, (row,) = rows("count", server_uri, f"{db}.visits", "2016-07-01", "order-7")
    assert (status, row["value"]) == (0, {"$numberInt": "7"})
    entry = rows("journal")[1][0]["entry"]
    assert run("undo", entry)[0] == 0


def test_a_cleanup_that_looks_at_nothing_says_so(run: Run, rows: Rows, tmp_path: Path) -> None:
    dump = tmp_path / "customers.json"
    dump.write_text('{"_id": 1, "name": "Ann"}\n')
    for options in ((), ("--into-memory", "--apply")):
        status, out, _ = run("cleanup", str(dump), *options)
        assert status == 1
        assert "Nothing was looked at" in out
        status, (row,) = rows("cleanup", str(dump), *options)
        assert (status, row["outcome"]) == (1, "skipped")
        assert "--layout pending" in row["detail"]


def test_a_pattern_is_picked_where_it_was_not_recognised(
    run: Run, rows: Rows, server_uri: str, database: Db, db: str
) -> None:
    by_day(database, counter=5, hits=8, pending=[OLD])
    visits = f"{db}.visits"
    status, _, err = run("cleanup", server_uri, visits)
    assert status == 2
    assert "say --layout pending" in err
    assert run("cleanup", server_uri, "--layout", "pending")[0] == 2
    assert "1 finding" in run("scan", server_uri, visits, "--layout", "pending")[1]
    assert run("cleanup", server_uri, visits, "--layout", "pending", "--apply")[0] == 0
    assert database["visits"].find_one() == {"_id": "2016-07-01", "counter": 6, "hits": 8, "pending": []}
    assert rows("count", server_uri, visits, "2016-07-01", "order-7", "--layout", "pending")[0] == 0
    assert run("count", server_uri, visits, "2016-07-01", "--layout", "sequence")[0] == 2
    database["numbers"].insert_one({"_id": "2016-07-01", "counter": 5})
    assert run("next", server_uri, f"{db}.numbers", "2016-07-01", "--layout", "sequence")[0] == 0
    database["teams"].insert_one({"_id": "Spain", "goals": 4, "dealt": ["a"]})
    dealt = ("process", server_uri, f"{db}.teams", "Spain", "b", "--field", "goals", "--layout", "processed")
    assert [rows(*dealt)[1][0]["outcome"] for _ in range(2)] == ["applied", "skipped"]
