"""Plans that somebody changed: none writes anything that a plan from a scan of today would not."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pymongo.database
import pytest

from model import text
from model.foundation.findings import Finding
from model.localserver import open_sample
from model.repair.plan import written
from model.session import Session
from model.values import canonical
from tests import support
from tests.journeys.command_support import Run, rows_of
from tests.model import session_scenes

Data = dict[str, Any]
Db = pymongo.database.Database
OLD = "insurance_2019"
CONTRACTS, ARCHIVE = f"{OLD}.contracts", f"{OLD}.contracts_history"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with open_sample() as server, Session.open(server.uri) as opened:
        yield opened


@pytest.fixture(scope="module")
def plan(session: Session) -> Data:
    found = [each for each in session.scans.scan([OLD]) if isinstance(each, Finding)]
    made: Data = json.loads(written(session.repairs.plan(found)))
    return made


def everything(session: Session) -> str:
    """A digest of every document of the database."""
    port, made = session._connection.opened.server, hashlib.sha256()
    for name, *_ in port.collections(OLD):
        for raw in port.find(f"{OLD}.{name}"):
            made.update(raw)
    return made.hexdigest()


def item_of(plan: Data, code: str, ns: str = "") -> Data:
    """The only item of a plan from here on: the first of a class that has a repair."""
    found = next(i for i in plan["items"] if i["class"] == code and i["repair"] and ns in i["ns"])
    plan["items"] = [found]
    found["item"] = 1
    plan["layouts"] = {ns: of for ns, of in plan["layouts"].items() if ns == found["ns"]}
    kept: Data = plan["layouts"][found["ns"]]
    return found | {"layout": kept}


def rests_on(session: Session, ns: str, **filter: object) -> list[Data]:
    """Stored documents as a plan names those that it rests on."""
    return [
        {
            "ns": ns,
            "id": text.json_object(canonical.get(raw, ("_id",)) or canonical.Value.of(None)),
            "sha256": hashlib.sha256(raw).hexdigest(),
        }
        for raw in session._connection.opened.server.find(ns, filter)
    ]


def another_archive(plan: Data, session: Session) -> None:
    item_of(plan, "A3")["layout"]["archive"] = f"{OLD}.policy_feed_history"


def an_archive_in_another_database(plan: Data, session: Session) -> None:
    item_of(plan, "A3")["layout"]["archive"] = "insurance.contracts_history"


def another_version_field(plan: Data, session: Session) -> None:
    item_of(plan, "A3")["layout"]["version"] = "premium"


def a_time_field_that_hides_a_difference(plan: Data, session: Session) -> None:
    item_of(plan, "V1", "claims")["layout"]["at"] = "amount"


def a_token_field_that_hides_a_difference(plan: Data, session: Session) -> None:
    item_of(plan, "V1", "claims")["layout"]["token"] = "amount"


def another_id_field(plan: Data, session: Session) -> None:
    item_of(plan, "V1", "claims")["layout"]["id"] = "status"


def a_hash_over_other_fields(plan: Data, session: Session) -> None:
    item = item_of(plan, "H1")
    item["layout"]["hash_fields"] = {"include": ["number"]}
    plan["items"][0]["answer"] = next(iter(plan["items"][0]["choices"]))


def another_hash_field(plan: Data, session: Session) -> None:
    item_of(plan, "H1")["layout"]["hash"] = "customer"
    plan["items"][0]["answer"] = next(iter(plan["items"][0]["choices"]))


def a_layout_for_a_plain_collection(plan: Data, session: Session) -> None:
    item_of(plan, "V1", "claims")
    rows = rests_on(session, f"{OLD}.invoices")[:2]
    plan["items"][0].update({"ns": f"{OLD}.invoices", "rests on": rows, "id": rows[0]["id"]})
    plan["layouts"] = {f"{OLD}.invoices": {"layout": "versions", "id": "_id", "version": "number"}}


def a_healthy_document(plan: Data, session: Session) -> None:
    item_of(plan, "A3")
    healthy = "K-100001"
    rows = rests_on(session, CONTRACTS, _id=healthy) + rests_on(session, ARCHIVE, docId=healthy)
    plan["items"][0].update({"id": healthy, "rests on": rows})


def a_repair_inside_the_grace_period(plan: Data, session: Session) -> None:
    plan["items"] = [i for i in plan["items"] if i["class"] == "A1" and i["repair"] is None]
    plan["items"][0].update({"item": 1, "repair": "remove-residue", "do": True})
    del plan["items"][0]["young"], plan["items"][0]["advice"]


def a_document_of_another_collection(plan: Data, session: Session) -> None:
    item_of(plan, "A3")
    plan["items"][0]["rests on"] += rests_on(session, f"{OLD}.customers")[:1]


def a_class_that_the_document_does_not_have(plan: Data, session: Session) -> None:
    item_of(plan, "A3")
    plan["items"][0].update({"class": "A1", "repair": "remove-residue"})


def a_counter_of_other_numbers(plan: Data, session: Session) -> None:
    item_of(plan, "S1")
    plan["items"][0].update({"id": "letters", "rests on": rests_on(session, f"{OLD}.counters", _id="letters")})
    plan["layouts"][f"{OLD}.counters"]["targets"] = {"letters": f"{OLD}.claims:v"}


def another_collection_of_that_name(plan: Data, session: Session) -> None:
    item_of(plan, "A3")
    assert ARCHIVE in plan["collections"]
    plan["collections"][ARCHIVE] = "0" * 32


FORGED = [
    another_archive,
    an_archive_in_another_database,
    another_version_field,
    a_time_field_that_hides_a_difference,
    a_token_field_that_hides_a_difference,
    another_id_field,
    a_hash_over_other_fields,
    another_hash_field,
    a_layout_for_a_plain_collection,
    a_healthy_document,
    a_repair_inside_the_grace_period,
    a_document_of_another_collection,
    a_class_that_the_document_does_not_have,
    a_counter_of_other_numbers,
    another_collection_of_that_name,
]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("forge", support.every(8, FORGED, in_slice=True), ids=lambda each: each.__name__)
def test_a_forged_plan_writes_nothing(
    forge: Callable[[Data, Session], None], session: Session, plan: Data, tmp_path: Path, run: Run
) -> None:
    data, path = copy.deepcopy(plan), tmp_path / "plan.json"
    forge(data, session)
    assert any(item["repair"] and item["do"] for item in data["items"]), "it has to be tried"
    path.write_text(json.dumps(data), encoding="utf-8")
    before = everything(session)
    status, out, err = run("repair", session.source, "--plan", str(path), "--apply", "--json")
    assert not {row["outcome"] for row in rows_of(out)} & {"applied", "unknown"}
    assert status == 1 or (status == 2 and "scan again" in err)
    assert everything(session) == before


@pytest.mark.deep
@pytest.mark.slice
def test_the_true_plan_would_do_every_item_that_is_forged_here(
    session: Session, plan: Data, tmp_path: Path, run: Run
) -> None:
    true, path = copy.deepcopy(plan), tmp_path / "plan.json"
    for item in true["items"]:
        if item.get("question"):
            item["answer"] = 7 if "or" in item else next(iter(item["choices"]))
    path.write_text(json.dumps(true), encoding="utf-8")
    _, out, _ = run("repair", session.source, "--plan", str(path), "--json")
    codes = [item["class"] for item in true["items"] if item["repair"]]
    drawn = {code for code, row in zip(codes, rows_of(out), strict=True) if row["writes"]}
    assert {"A1", "A3", "H1", "S1", "V1"} <= drawn


def test_a_plan_is_not_done_on_a_collection_that_was_made_anew(
    server_uri: str, database: Db, tmp_path: Path, run: Run
) -> None:
    """The documents are those that were scanned, to the byte: only the server knows that the collection is not."""
    session_scenes.archive(database)
    history, path = database["contracts_history"], tmp_path / "plan.json"
    phantom = session_scenes.contract(9)
    history.insert_one({"_id": session_scenes.OLD, "docId": "K-2", **phantom, "v": 9, "_w": session_scenes.OLD})
    assert run("scan", server_uri, f"{database.name}.contracts", "--plan", str(path))[0] == 1
    assert run("repair", server_uri, "--plan", str(path))[0] in (0, 1)
    told = [row["info"].get("uuid") for row in database.list_collections() if row["name"] == "contracts_history"]
    named = json.loads(path.read_text("utf-8"))["collections"]
    assert (f"{database.name}.contracts_history" in named) == (told != [None])
    rows = list(history.find())
    history.drop()
    history.create_index([("docId", 1), ("v", 1)], unique=True)
    history.insert_many(rows)
    if named:
        status, _, err = run("repair", server_uri, "--plan", str(path), "--apply")
        assert status == 2
        assert "it was created again since" in err
        assert list(history.find()) == rows


@pytest.mark.deep
@pytest.mark.slice
def test_a_plan_of_an_earlier_version_names_no_collections_and_is_done(
    session: Session, plan: Data, tmp_path: Path, run: Run
) -> None:
    data, path = copy.deepcopy(plan), tmp_path / "plan.json"
    del data["collections"]
    path.write_text(json.dumps(data), encoding="utf-8")
    status, out, _ = run("repair", session.source, "--plan", str(path), "--json")
    assert status == 1
    assert any(row["writes"] for row in rows_of(out))
