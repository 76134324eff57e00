"""How many commands an action sends and how many rows it fetches: equal on every machine."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from typing import Any

import bson
import pytest
from bson import ObjectId

from model.commands import command_line
from model.errors import NotFound, Refused, Unreachable
from model.localserver import LocalServer
from model.mql.filters import Matcher, compile_filter
from model.profile import Profile, stated
from model.recognition import sampling, small_collections
from model.server.retry import Server
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests import support
from tests.model.command_log import CommandLog, listening

Row = dict[str, Any]


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def log() -> Iterator[CommandLog]:
    with listening() as made:
        yield made


def numbered(n: int, at: int) -> Row:
    """A document with a number that may be a version, and another one that may name a document."""
    return {"_id": at, "k": at % 7, "v": 1 + at % 3, "name": f"n{at}"}


def named(n: int, at: int) -> Row:
    """A document with a number that may be a version, and texts."""
    return {"_id": f"c{n}-{at}", "owner": f"o{at % 5}", "v": 1 + at % 3, "x": at}


def plain(n: int, at: int) -> Row:
    """A document of which nothing looks like a version."""
    return {"_id": f"c{n}-{at}", "name": f"n{at}", "city": "Kiel"}


def owned(n: int, at: int) -> Row:
    """A document with a number that repeats among those of an owner."""
    return {"_id": f"c{n}-{at}", "owner": f"o{at % 2}", "v": 1 + at % 2}


@pytest.mark.parametrize(("make", "each"), [(numbered, 1), (named, 1), (owned, 0), (plain, 0)])
def test_small_collections_are_recognised_by_two_commands_a_database_and_their_indexes_only_where_these_may_tell(
    local: LocalServer, log: CommandLog, make: Callable[[int, int], Row], each: int
) -> None:
    collections, databases = 16, 4
    for n in range(collections):
        local.load(f"db{n % databases}.c{n}", [bson.encode(make(n, at)) for at in range(10 + 5 * n)])
    with Session.open(local.uri) as session:
        log.clear()
        found = list(session.catalogue.collections())
    assert len(found) == collections
    assert len(log.names) == each * collections + 3 * databases + 1


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("make", support.every(2, [named, numbered, plain]))
def test_large_collections_that_look_alike_take_a_fixed_number_of_commands_each(
    local: LocalServer, log: CommandLog, make: Callable[[int, int], Row]
) -> None:
    sent = []
    for collections in (5, 10):
        for n in range(collections):
            if local.store.get("db", f"c{n}") is None:
                local.load(f"db.c{n}", [bson.encode(make(n, at)) for at in range(250)])
        with Session.open(local.uri) as session:
            log.clear()
            list(session.catalogue.collections("db"))
        sent.append(len(log.names) / collections)
    assert sent[1] <= 1.25 * sent[0]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("make", support.every(2, [numbered, named, plain]))
def test_each_collection_is_held_against_a_fixed_number_of_others_however_many_look_like_it(
    local: LocalServer, make: Callable[[int, int], Row], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def counted(filter: bytes) -> Matcher:
        asked.append(filter)
        return compile_filter(filter)

    monkeypatch.setattr(small_collections, "compile_filter", counted)
    each = []
    for collections in (12, 36):
        for n in range(collections):
            if local.store.get("db", f"c{n}") is None:
                local.load(f"db.c{n}", [bson.encode(make(n, at)) for at in range(20)])
        asked.clear()
        with Session.open(local.uri) as session:
            list(session.catalogue.collections("db"))
        each.append(len(asked) / collections)
    assert each[1] <= 1.25 * each[0]


LAYOUTS = (
    "plain", "counted", "hashed", "embedded", "nested", "archive", "stream", "shadow", "versions", "flagged", "deltas"
)  # fmt: skip


def stored(layout: str, documents: int, longest: int = 4) -> dict[str, list[Row]]:
    """Documents with a few versions each as a layout stores them, by collection; some have as many as ``longest``."""
    things: list[Row] = []
    past: list[Row] = []
    for at in range(documents):
        id, versions = f"d{at}", longest if at % 3 == 2 else at % 3 + 2
        states = [{"v": v, "_w": ObjectId(), **CONTENT, "name": f"n{at}", "price": v} for v in range(1, versions + 1)]
        match layout:
            case "plain":
                things.append({"_id": id, **CONTENT})
            case "counted":
                things.append({"_id": id, **CONTENT, "v": 1 + at % 3})
            case "hashed":
                content = {**CONTENT, "at": at}
                things.append({"_id": id, **content, "_versioned_id": canonical.hash_of(bson.encode(content))})
            case "embedded":
                things.append({"_id": id, "current": states[-1], "prev": states[:-1]})
            case "nested":
                things.append({"_id": id, **states[-1], "versions": states[:-1]})
            case "archive" | "stream" | "shadow":
                things.append({"_id": id, **states[-1]})
                rows = states[:-1] if layout == "archive" else states
                token = {"_w": None} if layout == "shadow" else {}
                past += [{"_id": ObjectId(), "docId": id, **each, **token} for each in rows]
            case "deltas":
                things.append({"_id": ObjectId(), "docId": id, **states[0], "street": "Kai 1", "zip": at})
                things += [{"_id": ObjectId(), "docId": id, "v": v, "price": v} for v in range(2, versions + 1)]
            case _:
                flags = [{"current": each is states[-1]} if layout == "flagged" else {} for each in states]
                things += [{"_id": ObjectId(), "docId": id, **a, **b} for a, b in zip(states, flags, strict=True)]
    return {"things": things, **({"things_history": past} if past else {})}


@pytest.mark.parametrize("layout", support.some(LAYOUTS, "archive"))
def test_one_document_is_shown_in_six_commands_however_much_there_is_beside_it(
    local: LocalServer, log: CommandLog, layout: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for others, documents, longest in ((30, 8, 4), (22, 420, 4), (22, 60, 150)):
        db = f"db{others}of{documents}"
        for n in range(others):
            local.load(f"{db}.c{n}", [bson.encode(named(n, at)) for at in range(40)])
        for name, rows in stored(layout, documents, longest).items():
            local.load(f"{db}.{name}", map(bson.encode, rows))
            if "docId" in rows[0]:
                local.index(f"{db}.{name}", [("docId", 1), ("v", 1)], unique=True)
        log.clear()
        assert command_line.main(["show", local.uri, f"{db}.c0", "c0-3"]) == 0
        assert len(log.names) <= 6
        assert '"owner": "o3"' in capsys.readouterr().out
        log.clear()
        assert command_line.main(["show", local.uri, f"{db}.things", "d3"]) == 0
        assert len(log.names) <= (7 if layout == "shadow" else 6)  # its current version is told by its rows as well
        shown = json.loads(capsys.readouterr().out)
        assert "name" in shown
        assert ("v" in shown) == (layout == "counted")  # elsewhere it is the layout's own
        with Session.open(local.uri) as session:
            assert session.catalogue.info(f"{db}.things").layout == ("plain" if layout == "counted" else layout)


def test_an_id_that_may_be_meant_in_several_ways_is_read_and_asked_for_once(
    local: LocalServer, log: CommandLog
) -> None:
    oid = ObjectId()
    local.load("db.things", [bson.encode({"_id": id, **CONTENT}) for id in (7, "8", 8, oid)])
    with Session.open(local.uri) as session:
        session.catalogue.info("db.things")
        for typed, id, commands in (("7", 7, 2), (str(oid), oid, 2), ('"8"', "8", 4), ("x y", None, 2)):
            log.clear()
            try:
                found, version = session.documents.find_current("db.things", typed)
            except NotFound:
                assert id is None
            else:
                assert found == Value.of(id)
                assert version.raw == bson.encode({"_id": id, **CONTENT})
            assert len(log.names) <= commands
        with pytest.raises(Refused, match='say which: "8" or '):
            session.documents.find_current("db.things", "8")


def test_documents_are_counted_where_their_number_is_told_and_no_sooner(local: LocalServer, log: CommandLog) -> None:
    local.load("db.things", [bson.encode(plain(0, at)) for at in range(700)])
    with Session.open(local.uri) as session:
        session.documents.find_current("db.things", "c0-3")
        assert "count" not in log.names
        assert session.catalogue.info("db.things").documents == 700
        session.catalogue.info("db.things")
        assert log.names.count("count") == 1


@pytest.mark.parametrize("dated", [False, True])
def test_long_histories_are_sampled_together_as_they_are_one_by_one(local: LocalServer, dated: bool) -> None:
    start = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    lengths = {"a": 3, "b": 60, "c": 61, "d": 90, "e": 400}
    rows = [
        {"_id": ObjectId(), "docId": id, "v": start + dt.timedelta(days=v) if dated else v}
        for id, length in lengths.items()
        for v in range(1, length + 1)
    ]
    local.load("db.things", map(bson.encode, rows))
    local.index("db.things", [("docId", 1), ("v", 1)], unique=True)
    ids = [Value.of(id) for id in lengths]
    with Server.connect(local.uri) as server:
        alone = dict(sampling.read_chains(server, "db.things", "docId", "v", ids))
        heights = {Value.of(id): length for id, length in lengths.items()}
        together = dict(sampling.read_chains(server, "db.things", "docId", "v", ids, heights={} if dated else heights))
    assert list(together) == list(alone) == ids
    for id, chain in together.items():
        ends = [(each.places[:20], each.places[-60:], bool(each.holes)) for each in (chain, alone[id])]
        assert ends[0] == ends[1]
        assert all(b - a == 1 for stretch in chain.stretches for a, b in pairwise(stretch)) or dated
    assert len(together[Value.of("e")].places) == 100


def versions_of(layout: str, ids: int, versions: int) -> list[bytes]:
    """The versions of some documents, as a layout with a document for each version stores them."""
    rows: list[Row] = []
    for at in range(ids):
        for v in range(1, versions + 1):
            whole = {"name": f"n{at}", "price": v} if v == 1 or layout != "deltas" else {"price": v}
            flag = {"current": True} if layout == "flagged" and v == versions else {}
            rows.append({"_id": ObjectId(), "docId": f"d{at:05}", "v": v, **flag, **whole})
    return [bson.encode(row) for row in rows]


@pytest.mark.parametrize(
    ("layout", "versions", "commands", "keys"),
    [
        pytest.param("versions", 1, 2, 64, marks=pytest.mark.deep),
        ("versions", 4, 2, 207),
        pytest.param("versions", 40, 3, 2100, marks=pytest.mark.deep),
        pytest.param("versions", 150, 104, 255, marks=pytest.mark.deep),
        ("flagged", 4, 2, 207),
        ("deltas", 4, 2, 207),
    ],
)
def test_a_page_of_newest_versions_takes_as_much_however_many_documents_there_are(
    local: LocalServer, log: CommandLog, layout: str, versions: int, commands: int, keys: int
) -> None:
    few, many = 60, max(60, 4000 // versions)
    for name, ids in (("few", few), ("many", many)):
        local.load(f"db.{name}", versions_of(layout, ids, versions))
        local.index(f"db.{name}", [("docId", 1), ("v", 1)], unique=True)
    with Session.open(local.uri) as session:
        for name in ("few", "many"):
            session.catalogue.set_layout(f"db.{name}", layout)
            session.documents.page(f"db.{name}", limit=50)  # from here on it is known how many versions documents have
            log.clear()
            page = session.documents.page(f"db.{name}", limit=50)
            assert [row.id.python() for row in page.rows] == [f"d{at:05}" for at in range(50)]
            assert {row.version.python() for row in page.rows if row.version} == {versions}
            assert len(log.names) <= commands
            states = 51 * versions if layout == "deltas" else 51
            assert log.rows <= keys + states


@pytest.mark.parametrize(("stored", "layout"), [("plain", "plain"), ("embedded", "embedded"), ("archive", "archive")])
def test_a_page_of_current_documents_is_one_command(
    local: LocalServer, log: CommandLog, stored: str, layout: str
) -> None:
    local.load("db.things", [bson.encode({**STORED[stored], "_id": at}) for at in range(300)])
    place = {"archive": "db.things_past"} if layout == "archive" else {}
    with Session.open(local.uri, Profile((stated("db.things", layout, token="_w", **place),))) as session:
        for skip in (0, 50):
            session.documents.page("db.things", skip=skip)
            log.clear()
            page = session.documents.page("db.things", skip=skip)
            assert [row.id.python() for row in page.rows] == list(range(skip, skip + 50))
            assert (log.names, log.rows, page.more) == (["find"], 51, True)


CONTENT: Row = {"name": "n", "price": 1, "city": "Kiel"}
STORED: dict[str, Row] = {
    "plain": {"_id": "d", **CONTENT},
    "hashed": {"_id": "d", **CONTENT, "_versioned_id": canonical.hash_of(bson.encode(CONTENT))},
    "embedded": {"_id": "d", "current": {"v": 1, "_w": ObjectId(), **CONTENT}, "prev": []},
    "nested": {"_id": "d", "version": 1, "_w": ObjectId(), **CONTENT, "versions": []},
    "archive": {"_id": "d", "v": 1, "_w": ObjectId(), **CONTENT},
    "versions": {"_id": ObjectId(), "docId": "d", "v": 1, **CONTENT},
    "deltas": {"_id": ObjectId(), "docId": "d", "v": 1, **CONTENT},
}


@pytest.mark.parametrize(
    ("layout", "commands"),
    [
        ("plain", ["findAndModify"]),
        ("hashed", ["findAndModify"]),
        ("embedded", ["findAndModify"]),
        ("nested", ["findAndModify"]),
        ("archive", ["find", "insert", "find", "findAndModify"]),
        ("versions", ["find", "insert", "find", "find"]),
        ("deltas", ["find", "insert", "find", "find"]),
    ],
)
def test_a_swap_sends_its_guarded_writes_and_reads_what_they_do_not_bring(
    local: LocalServer, log: CommandLog, layout: str, commands: list[str]
) -> None:
    ns, id = "db.things", Value.of("d")
    local.load(ns, [bson.encode(STORED[layout])])
    own = layout in ("versions", "deltas")
    local.index(ns if own else f"{ns}_past", [("docId", 1), ("v", 1)], unique=True)
    place = {"archive": f"{ns}_past"} if layout == "archive" else {}
    with Session.open(local.uri, Profile((stated(ns, layout, token="_w", **place),))) as session:
        for price in (2, 3):  # the indexes are asked for once
            base = session.history.version(ns, id)
            log.clear()
            outcome = session.writing.save(
                ns, id, base, canonical.put(base.content or b"", ("price",), Value.of(price))
            )
            assert outcome.kind == "applied"
        assert log.names == commands
        assert session.history.version(ns, id).content == bson.encode(CONTENT | {"price": 3})


def test_a_swap_looks_for_the_recipe_of_hashes_once_before_it_is_noted_and_once_for_the_new_hash(
    local: LocalServer, log: CommandLog
) -> None:
    ns, id = "db.things", Value.of("d")
    local.load(ns, [bson.encode({"_id": "d", **CONTENT})])  # the first hash here: nothing proves a recipe
    with Session.open(local.uri, Profile((stated(ns, "hashed"),))) as session:
        base = session.history.version(ns, id)
        log.clear()
        outcome = session.writing.save(ns, id, base, canonical.put(base.content or b"", ("price",), Value.of(2)))
        assert outcome.kind == "applied"
        assert log.names.count("find") == 2 + 2  # a look at either end of the collection, each time


def history_of(layout: str, versions: int) -> dict[str, list[bytes]]:
    """One document with many versions, as a layout stores it, by collection."""
    past: list[Row] = [{"v": v, "_w": ObjectId(), **CONTENT, "price": v} for v in range(1, versions + 1)]
    match layout:
        case "embedded":
            rows = {"db.things": [{"_id": "d", "current": past[-1], "prev": past[:-1]}]}
        case "nested":
            rows = {"db.things": [{"_id": "d", **past[-1], "versions": past[:-1]}]}
        case "archive":
            archived = [{"_id": ObjectId(), "docId": "d", **each} for each in past[:-1]]
            rows = {"db.things": [{"_id": "d", **past[-1]}], "db.things_past": archived}
        case _:
            rows = {"db.things": [{"_id": ObjectId(), "docId": "d", **each} for each in past]}
    return {ns: [bson.encode(row) for row in each] for ns, each in rows.items()}


@pytest.mark.parametrize(
    ("layout", "newest", "earlier", "history"),
    [
        ("versions", (1, 2), (1, 2), (1, 104)),  # the second row proves that no other has the number
        ("embedded", (1, 1), (1, 1), (1, 1)),
        ("nested", (1, 1), (1, 1), (1, 1)),
        ("archive", (1, 1), (1, 2), (2, 105)),
    ],
)
def test_one_version_and_the_first_hundred_are_read_without_the_thousands_behind_them(
    local: LocalServer,
    log: CommandLog,
    layout: str,
    newest: tuple[int, int],
    earlier: tuple[int, int],
    history: tuple[int, int],
) -> None:
    ns, id, versions = "db.things", Value.of("d"), 2500
    for each, rows in history_of(layout, versions).items():
        local.load(each, rows)
    local.index(ns if layout == "versions" else f"{ns}_past", [("docId", 1), ("v", 1)], unique=True)
    place = {"archive": f"{ns}_past"} if layout == "archive" else {}
    profile = stated(ns, layout, token="_w", **({"version": "v"} if layout == "nested" else {}), **place)
    with Session.open(local.uri, Profile((profile,))) as session:
        session.history.version(ns, id)
        log.clear()
        assert session.history.version(ns, id).v == Value.of(versions)
        assert (len(log.names), log.rows) == newest
        for v in (1, 1234, versions - 1):
            log.clear()
            found = session.history.version(ns, id, Value.of(v))
            assert canonical.decode(found.content or b"") == {**CONTENT, "price": v}
            # The newest row of an archive has none above it: only the document tells that it is not current.
            beside = layout == "archive" and v == versions - 1
            assert (len(log.names), log.rows) == ((2, 2) if beside else earlier)
        log.clear()
        page = list(islice(session.history.versions(ns, id), 100))
        assert [each.v for each in page] == [Value.of(v) for v in range(versions, versions - 100, -1)]
        assert (len(log.names), log.rows) == history


def test_an_import_asks_once_and_not_for_each_document_whether_it_can_be_undone(
    local: LocalServer, log: CommandLog
) -> None:
    sent = []
    for documents in (3, 30):
        local.load(f"db.c{documents}", [bson.encode(plain(0, at)) for at in range(10)])
        wanted = [bson.encode(plain(1, at)) for at in range(documents)]
        with Session.open(local.uri) as session:
            run = session.batches.insert(f"db.c{documents}", lambda wanted=wanted: wanted)
            assert len(list(run)) == documents
            log.clear()
            assert session.way_back.lacking(run.id) == ("", True)
        sent.append(len(log.names))
    assert sent[0] == sent[1] > 0


def test_a_server_that_fell_silent_after_an_import_is_asked_once_whether_it_can_be_undone(
    local: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    local.load("db.c", [bson.encode(plain(0, at)) for at in range(10)])
    asked = []

    def silent(self: Server, *_: object, **more: object) -> Iterator[bytes]:
        asked.append(more)
        raise Unreachable("It does not answer in time.")

    with Session.open(local.uri) as session:
        run = session.batches.insert("db.c", lambda: [bson.encode(plain(1, at)) for at in range(5)])
        assert len(list(run)) == 5
        monkeypatch.setattr(Server, "find", silent)
        assert session.way_back.lacking(run.id) == ("", True)
    assert len(asked) == 1


def test_two_times_take_one_reading_of_each_history(local: LocalServer, log: CommandLog) -> None:
    start = dt.datetime(2026, 3, 1, tzinfo=dt.UTC)
    there = 12
    local.load(
        "shop.things",
        [
            bson.encode({"_id": ObjectId(), "docId": f"d{at}", "v": v, "at": start + dt.timedelta(days=v), "n": at})
            for at in range(there)
            for v in (1, 2, 3)
        ],
    )
    profile = Profile((stated("shop.things", "versions", at="at"),))
    with Session.open(local.uri, profile) as session:
        list(
            session.history.versions("shop.things", Value.of("d0"))
        )  # what is known of the collection is asked for here
        log.clear()
        list(session.history.versions("shop.things", Value.of("d0")))
        each = len(log.names)
        log.clear()
        assert not list(
            session.time.as_of_both("shop.things", start + dt.timedelta(days=3), start + dt.timedelta(days=9))
        )
        assert len(log.names) <= there * each + 4


def test_the_columns_of_a_list_cost_no_command(local: LocalServer, log: CommandLog) -> None:
    local.load("shop.orders", [bson.encode(plain(0, at)) for at in range(30)])
    with Session.open(local.uri) as session:
        session.documents.page("shop.orders")
        log.clear()
        page = session.documents.page("shop.orders")
        asked = list(log.names)
        assert session.documents.telling("shop.orders", page.rows) == (("name",),)
        assert log.names == asked == ["find"]
