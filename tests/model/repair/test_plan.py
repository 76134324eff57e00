"""Plans: what is ticked, what asks, saving and loading, and errors in a file edited by hand."""

from __future__ import annotations

import datetime as dt
import json
import tracemalloc
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bson
import pymongo
import pytest
from bson import Decimal128, Int64, ObjectId

from model.commands import command_line
from model.errors import NotFound, Refused, Unreadable
from model.foundation.findings import Evidence, Finding, Unchecked
from model.repair.damage_classes import CLASSES
from model.repair.plan import Plan, planned, read, written
from model.session import Session
from model.values.canonical import Value
from tests import support

NOW = dt.datetime(2026, 11, 21, 14, 0, tzinfo=dt.UTC)
SOURCE = "mongodb://claims.db.example/"


def finding(code: str, repair: str | None, id: object = "K-1", *versions: object, **more: Any) -> Finding:
    raw = bson.encode({"_id": id, "v": 3, "title": "Eva 🙂"})
    evidence = (Evidence("shop.contracts", "in the document", raw),)
    values = tuple(map(Value.of, versions))
    return Finding(code, "shop.contracts", Value.of(id), values, "what was found", repair, evidence, **more)


def everything() -> Plan:
    found = [finding(of.code, of.repair.name, f"K-{of.repair.rank}", "3") for of in CLASSES.values() if of.repair]
    found += [finding("A4", None), finding("T1", None, young=True), finding("B1", None, ObjectId())]
    found += [finding("V1", "remove-duplicate", id) for id in (Int64(7), 1.5, Decimal128("1.50"), {"$oid": "x"}, None)]
    unchecked = [Unchecked("shop.odd", "It may not be read."), Unchecked("shop.odd", "It moved.", Value.of(7))]
    return planned(SOURCE, found, unchecked, NOW, lambda ns: {"layout": "archive", "version": "v"})


def test_what_is_safe_is_ticked_what_needs_a_person_asks_and_the_rest_says_what_can_be_done() -> None:
    asking = {"V3", "H1", "A5", "E2", "T3"}
    for item in everything().items:
        if item.repair is None:
            assert not item.ticked
            assert item.advice.endswith(".")
        else:
            assert item.asks is (item.finding.code in asking), item
            assert item.ticked is not item.asks
            assert not item.question or item.choices[-1].name == "leave"


def test_what_is_inside_the_grace_period_is_left_out_where_its_writer_may_still_be_at_work() -> None:
    item, phantom = sorted(
        planned(SOURCE, [finding("T1", "finish-token", young=True), finding("A3", "remove-phantom", young=True)]).items,
        key=lambda item: item.ticked,
    )
    assert phantom.ticked
    assert item.repair is None
    assert "younger" in item.advice


def test_items_stand_in_an_order_in_which_two_troubles_come_right() -> None:
    codes = [item.finding.code for item in everything().items if item.repair]
    for first, second in (("V3", "V1"), ("V1", "C1"), ("A3", "A2"), ("A3", "A1"), ("T3", "T1"), ("T2", "T1")):
        assert codes.index(first) < codes.index(second)


def test_a_file_gives_the_plan_back_and_is_written_the_same_again(tmp_path: Path) -> None:
    plan = everything().with_ticked(6, False)
    for item in plan.items:
        if item.asks:
            plan = plan.with_answer(item.no, "42" if item.wants else item.choices[0].name)
    path = tmp_path / "plan.json"
    plan.save(path)
    again = Plan.load(path)
    assert written(again) == path.read_text("utf-8")
    for mine, theirs in zip(plan.items, again.items, strict=True):
        assert (mine.finding.id, mine.repair, mine.do, mine.seen, mine.answer) == (
            *(theirs.finding.id, theirs.repair, theirs.do, theirs.seen, theirs.answer),
        )
    assert (again.id, again.source, again.made, again.unchecked) == (plan.id, SOURCE, NOW, plan.unchecked)
    assert path.stat().st_mode & 0o777 == 0o600


NO_END = ('{"$numberDouble": "NaN"}', '{"$numberDouble": "-Infinity"}', '{"$numberDecimal": "NaN"}', "NaN")


@support.table("answer", ["41", "-1.5", '{"$numberDecimal": "0.5"}', '{"$numberLong": "7"}', "1e+300"])
def test_every_number_with_an_end_is_an_answer(answer: str) -> None:
    assert planned(SOURCE, [finding("T3", "set-counter")]).with_answer(1, answer).items[0].ticked


@pytest.mark.deep
def test_a_scan_for_a_plan_holds_no_documents(
    local_uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, size = f"slim_{uuid.uuid4().hex[:8]}", 200_000
    with pymongo.MongoClient[dict[str, Any]](local_uri) as client:
        client[name].things.insert_many({"_id": n, "v": "1", "text": "x" * size} for n in range(600))
        client[name].things_history.insert_one({"docId": "other", "v": 1})
        profile = tmp_path / "profile.toml"
        profile.write_text(f'[[collection]]\nns = "{name}.things"\nlayout = "archive"\n', encoding="utf-8")
        asked = ["scan", local_uri, f"{name}.things", "--profile", str(profile), "--plan", str(tmp_path / "plan.json")]
        tracemalloc.start()
        try:
            assert command_line.main(asked) == 1
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 350 * size
        with Session.open(local_uri, profile) as session:
            told = [each for each in session.scans.scan([f"{name}.things"]) if isinstance(each, Finding)]
            plan, slimmed = session.repairs.plan(told), Plan.load(tmp_path / "plan.json")
        assert [item.seen for item in plan.items] == [item.seen for item in slimmed.items]
        assert len(plan.items) == 601
        client.drop_database(name)


def test_an_answer_ticks_an_item_and_taking_it_back_unticks_it() -> None:
    plan = planned(SOURCE, [finding("T3", "set-counter")])
    assert plan.items[0].asks
    answered = plan.with_answer(1, "41")
    assert answered.items[0].ticked
    assert answered.items[0].answer == '{"$numberInt": "41"}'
    assert answered.with_answer(1, None).items[0].asks
    assert not answered.with_ticked(1, False).items[0].ticked


@support.table("answer", ["yes", "forty", '"41"', "true", "", "{", *NO_END])
def test_what_is_no_answer_is_refused_with_those_that_are(answer: str) -> None:
    plan = planned(SOURCE, [finding("T3", "set-counter")])
    with pytest.raises(Unreadable, match=r'the answers are "leave" or a number'):
        plan.with_answer(1, answer)


def test_an_item_without_a_repair_cannot_be_ticked() -> None:
    with pytest.raises(Refused, match="no repair"):
        planned(SOURCE, [finding("A4", None)]).with_ticked(1, True)
    with pytest.raises(NotFound):
        planned(SOURCE, []).with_ticked(1, True)


def spoilt(change: Callable[[dict[str, Any]], object]) -> str:
    data = json.loads(written(everything()))
    change(data)
    return json.dumps(data)


@support.table(
    "change, said",
    [
        (lambda d: d.update(palimpsest="x"), "is not a repair plan"),
        (lambda d: d.update(form=2), "of another form"),
        (lambda d: d.update(sources="x"), "no key 'sources'"),
        (lambda d: d.update(items={}), "'items' must be a list"),
        (lambda d: d.update(made="yesterday"), "'made' must be a time"),
        (lambda d: d.update(layouts=[]), "'layouts' must hold"),
        (lambda d: d["items"].pop(0), r'item 1: "item" must be 1'),
        (lambda d: d["items"][1].update(repair="remove-all"), "item 2: the repair for T3 is set-counter or null"),
        (lambda d: d["items"][-1].update(repair="remove-phantom"), "must be null|is finish-token"),
        (lambda d: d["items"][0].update({"class": "X9"}), "no class 'X9'"),
        (lambda d: d["items"][1].update(repair=["set-counter"]), "item 2: the repair for T3 is set-counter or null"),
        (lambda d: d["items"][0].update(do="maybe"), r'item 1: "do" is true, false or "when answered"'),
        (lambda d: d["items"][0].update(do=0), r'item 1: "do" is true, false or "when answered", not 0'),
        (lambda d: d["items"][0].update(do=1.0), r'item 1: "do" is true, false or "when answered", not 1.0'),
        (lambda d: d["items"][0].update(answer="perhaps"), "not an answer to its question"),
        (lambda d: d["items"][2].update(answer="convert"), "item 3: nothing is asked here"),
        (lambda d: d["items"][0].update(anwser="convert"), "item 1: there is no key 'anwser'"),
        (lambda d: d["items"][0].update(id={"$oid": "x"}), "item 1: 'id' is not Extended JSON"),
        (lambda d: d["items"][0]["rests on"][0].update(sha256=5), "item 1, rests on 1: 'sha256' must be text"),
        (lambda d: d["items"].insert(0, "x"), "item 1 must be an object"),
    ],
)
def test_a_spoilt_file_is_met_with_what_is_wrong_and_where(
    change: Callable[[dict[str, Any]], object], said: str
) -> None:
    with pytest.raises(Unreadable, match=said) as caught:
        read(spoilt(change), "plan.json")
    assert str(caught.value).count(". ") == 0
    assert "plan.json" in str(caught.value)


def test_what_is_no_json_or_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="not JSON in line 2"):
        read('{\n"a" 1}', "plan.json")
    with pytest.raises(Unreadable, match="is not JSON"):
        read('{"form": ' + "9" * 5000 + "}", "plan.json")
    with pytest.raises(NotFound, match="There is no plan"):
        Plan.load(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xff")
    with pytest.raises(Unreadable, match="UTF-8"):
        Plan.load(tmp_path / "latin.json")


def test_an_answer_written_into_the_file_by_hand_is_taken(tmp_path: Path) -> None:
    data = json.loads(
        written(planned(SOURCE, [finding("V3", "convert-version", "K-1", "3"), finding("A3", "remove-phantom")]))
    )
    data["items"][0]["answer"] = 4
    data["items"][1]["do"] = False
    plan = read(json.dumps(data), "plan.json")
    assert plan.items[0].ticked
    assert plan.items[0].answer == '{"$numberInt": "4"}'
    assert not plan.items[1].ticked


def test_no_class_claims_that_a_writer_died_where_it_may_still_be_at_work() -> None:
    said = {found.code: found.meaning for found in CLASSES.values() if "died" in found.meaning}
    assert said
    assert [
        code for code, meaning in said.items() if "may still be at work" not in meaning and "or died" not in meaning
    ] == []
