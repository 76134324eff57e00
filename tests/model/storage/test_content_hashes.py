"""Hashes by any recipe: recognised by computing them, kept by every write, and never replaced by another recipe's."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bson
import pymongo.database
import pytest

from model.catalogue.recognise import recognise
from model.foundation.findings import Finding, Unchecked
from model.foundation.hash_recipe import HashRecipe
from model.foundation.records import CollectionInfo
from model.profile import Profile
from model.server.retry import Server
from model.session import Session
from model.storage.content_hashes import only_paths, without_paths
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc

Document = dict[str, Any]
Db = pymongo.database.Database[Document]


def content(number: int) -> Document:
    """Fields in an order that is not that of their names, with letters that JSON may escape."""
    return {
        "title": f"Größe {number}",
        "count": number,
        "address": {"zip": "22763", "city": "Hamburg", "seen": number % 3},
        "price": number + 0.5,
        "active": number % 2 == 0,
        "tags": ["a", "b"],
        "notes": None,
        "kind": "order",
    }


def javascript(made: Document) -> bytes:
    """What JSON.stringify makes of it: the prices have a fraction, so that Python's numbers are the same."""
    return json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode()


def deep(made: Any) -> Any:
    """With names in order at every depth."""
    if isinstance(made, dict):
        return {name: deep(made[name]) for name in sorted(made)}
    return [deep(each) for each in made] if isinstance(made, list) else made


Seal = Callable[[Document], Any]
SEALS: dict[str, tuple[Seal, HashRecipe]] = {
    "sha1 bson": (lambda d: hashlib.sha1(bson.encode(d)).hexdigest(), HashRecipe()),
    "sha256 bson": (lambda d: hashlib.sha256(bson.encode(d)).hexdigest(), HashRecipe("sha256")),
    "md5 json": (
        lambda d: hashlib.md5(json.dumps(d, sort_keys=True).encode()).hexdigest(),
        HashRecipe("md5", "json", "sorted"),
    ),
    "sha256 json compact": (
        lambda d: hashlib.sha256(json.dumps(d, sort_keys=True, separators=(",", ":")).encode()).hexdigest(),
        HashRecipe("sha256", "json", "sorted", separators="compact"),
    ),
    "sha512 json stored": (
        lambda d: hashlib.sha512(json.dumps(d).encode()).hexdigest(),
        HashRecipe("sha512", "json"),
    ),
    "sha1 bson sorted": (lambda d: hashlib.sha1(bson.encode(deep(d))).hexdigest(), HashRecipe(keys="sorted")),
    "sha1 bson sorted at the top": (
        lambda d: hashlib.sha1(bson.encode(dict(sorted(d.items())))).hexdigest(),
        HashRecipe(keys="sorted-top"),
    ),
    "md5 binary": (lambda d: hashlib.md5(bson.encode(d)).digest(), HashRecipe("md5", encoding="binary")),
    "sha256 base64": (
        lambda d: b64encode(hashlib.sha256(bson.encode(d)).digest()).decode(),
        HashRecipe("sha256", encoding="base64"),
    ),
    "sha1 capitals": (lambda d: hashlib.sha1(bson.encode(d)).hexdigest().upper(), HashRecipe(encoding="hex-upper")),
}
seals = pytest.mark.parametrize("name", SEALS)


def put(database: Db, seal: Callable[[Document, Any], Any], count: int = 12, **more: Any) -> None:
    """Documents with their hash in ``digest``, by a function of content and id."""
    for number in range(count):
        made = content(number)
        database["things"].insert_one({"_id": number, **made, **more, "digest": seal(made, number)})


def recognised(server: Server, database: Db, profile: Profile | None = None) -> tuple[CollectionInfo, Any]:
    (found,) = [each for each in recognise(server, database.name, profile) if each[0].ns == f"{database.name}.things"]
    return found


def stated(tmp_path: Path, database: Db, rest: str = "", layout: str = "hashed") -> Path:
    path = tmp_path / "p.toml"
    path.write_text(f'[[collection]]\nns = "{database.name}.things"\nlayout = "{layout}"\nhash = "digest"\n{rest}\n')
    return path


def things(database: Db) -> str:
    return f"{database.name}.things"


@seals
def test_a_recipe_is_recognised_by_computing_it_again_and_every_write_keeps_it(
    server_uri: str, server: Server, database: Db, name: str
) -> None:
    seal, recipe = SEALS[name]
    put(database, lambda made, _: seal(made))
    info, profile = recognised(server, database)
    assert (info.layout, profile.hash, profile.hash_recipe, profile.hash_doubt) == ("hashed", "digest", recipe, "")
    assert "all 12 documents" in info.why
    assert recipe.said in info.hashing
    ns = things(database)
    with Session.open(server_uri) as session:
        opened = session.writing.open(ns, Value.of(3))
        assert opened.base.state == "present"
        assert session.edit(ns, Value.of(3), set={"count": 99}).kind == "applied"
        assert session.writing.create(ns, bson.encode(content(50)), Value.of("new")).kind == "applied"
        assert not [found for found in session.scans.scan([ns]) if isinstance(found, Finding)]
    for id in (3, "new"):
        now = database["things"].find_one({"_id": id})
        assert now is not None
        kept = {each: now[each] for each in now if each not in ("_id", "digest", "_w")}
        assert now["digest"] == seal(kept)


@seals
def test_a_stated_recipe_is_used_where_there_is_nothing_yet(
    server_uri: str, database: Db, tmp_path: Path, name: str
) -> None:
    seal, recipe = SEALS[name]
    said = ", ".join(f'{key} = "{value}"' for key, value in recipe.table.items())
    with Session.open(server_uri, stated(tmp_path, database, f"hash_recipe = {{ {said} }}")) as session:
        assert session.writing.create(things(database), bson.encode(content(1)), Value.of(1)).kind == "applied"
    now = database["things"].find_one()
    assert now is not None
    assert now["digest"] == seal(content(1))


def test_an_insert_follows_the_hashes_that_are_there_where_the_profile_states_no_recipe(
    server_uri: str, database: Db, tmp_path: Path
) -> None:
    seal, _ = SEALS["sha256 json compact"]
    put(database, lambda made, _: seal(made), 3)
    with Session.open(server_uri, stated(tmp_path, database)) as session:
        assert session.writing.create(things(database), bson.encode(content(50)), Value.of("new")).kind == "applied"
        assert session.edit(things(database), Value.of(1), set={"kind": "offer"}).kind == "applied"
    for id in ("new", 1):
        now = database["things"].find_one({"_id": id})
        assert now is not None
        assert now["digest"] == seal({each: now[each] for each in now if each not in ("_id", "digest", "_w")})


def test_a_hash_that_covers_the_id_is_recognised_and_kept(server_uri: str, server: Server, database: Db) -> None:
    seal = lambda made: hashlib.sha256(json.dumps(made, sort_keys=True, default=str).encode()).hexdigest()  # noqa: E731
    put(database, lambda made, id: seal({"_id": id, **made}))
    _, profile = recognised(server, database)
    assert profile.hash_recipe == HashRecipe("sha256", "json", "sorted", id=True)
    with Session.open(server_uri) as session:
        assert session.edit(things(database), Value.of(3), set={"count": 99}).kind == "applied"
        assert session.writing.create(things(database), bson.encode(content(50)), Value.of("new")).kind == "applied"
    for id in (3, "new"):
        now = database["things"].find_one({"_id": id})
        assert now is not None
        assert now["digest"] == seal({each: now[each] for each in now if each not in ("digest", "_w")})


@pytest.mark.parametrize("left", ["views", "address.seen"])
def test_what_a_hash_leaves_out_is_found_by_its_path(server_uri: str, server: Server, database: Db, left: str) -> None:
    def seal(made: Document, id: int) -> str:
        if left == "address.seen":
            made = {**made, "address": {name: made["address"][name] for name in ("zip", "city")}}
        return hashlib.sha1(bson.encode(made)).hexdigest()

    put(database, seal, **({"views": 3} if left == "views" else {}))
    info, profile = recognised(server, database)
    assert profile.hash_exclude == (left,)
    assert f"without {left}" in info.why
    ns = things(database)
    with Session.open(server_uri) as session:
        opened = session.writing.open(ns, Value.of(3))
        database["things"].update_one({"_id": 3}, {"$inc": {left: 1}})
        assert session.history.version(ns, Value.of(3)).state == "present", "a change of it leaves the hash right"
        assert opened.base.content is not None
        mine = c.put(opened.base.content, ("address", "zip"), Value.of("20095"))
        assert session.writing.save(ns, Value.of(3), opened.base, mine).kind == "applied", (
            "and is none of the edit's business"
        )
        assert not [found for found in session.scans.scan([ns]) if isinstance(found, Finding)]
        opened = session.writing.open(ns, Value.of(4))
        database["things"].update_one({"_id": 4}, {"$set": {"address.city": "Bremen"}})
        mine = c.put(opened.base.content or b"", ("kind",), Value.of("offer"))
        assert session.writing.save(ns, Value.of(4), opened.base, mine).kind == "conflict", (
            "what is left of it is guarded"
        )
    now = database["things"].find_one({"_id": 3})
    assert now is not None
    assert now["address"]["zip"] == "20095"
    assert (now["views"] if left == "views" else now["address"]["seen"]) == (4 if left == "views" else 1)


def test_paths_lead_through_documents_and_each_document_of_an_array() -> None:
    made = doc(a=1, b={"c": 1, "d": {"e": 2, "f": 3}}, g=[{"h": 1, "i": 2}, 5, {"h": 3}], **{"x.y": 1})
    assert without_paths(made, ["b.d.e", "g.h"]) == doc(
        a=1, b={"c": 1, "d": {"f": 3}}, g=[{"i": 2}, 5, {}], **{"x.y": 1}
    )
    assert without_paths(made, ["x.y", "b"]) == doc(a=1, g=[{"h": 1, "i": 2}, 5, {"h": 3}])
    assert only_paths(made, ["b.d", "a", "nowhere.at.all"]) == doc(a=1, b={"d": {"e": 2, "f": 3}})


# --- what is not proven


def salted(made: Document, id: int) -> str:
    """A hash that nobody can compute again without the salt."""
    return hashlib.sha256(b"salt" + bson.encode(made)).hexdigest()


def half(made: Document, id: int) -> str:
    """Of every second document the seed's."""
    return hashlib.sha1(bson.encode(made)).hexdigest() if id % 2 else hashlib.sha1(b"x" + bson.encode(made)).hexdigest()


def two_recipes(made: Document, id: int) -> str:
    """By one program's recipe or by another's."""
    return hashlib.sha1(bson.encode(made)).hexdigest() if id % 2 else hashlib.md5(bson.encode(made)).hexdigest()


@pytest.mark.parametrize("layout", support.every(2, ["recognised", "stated", "picked"]))
@pytest.mark.parametrize("seal", [salted, half, two_recipes], ids=["salted", "half", "two recipes"])
def test_without_a_proof_nothing_is_written_and_reading_goes_on(
    server_uri: str, database: Db, tmp_path: Path, seal: Callable[[Document, int], str], layout: str
) -> None:
    put(database, seal)
    before = list(database["things"].find())
    ns = things(database)
    with Session.open(server_uri, stated(tmp_path, database) if layout == "stated" else None) as session:
        if layout == "picked" or (layout == "recognised" and seal is salted):
            session.catalogue.set_layout(ns, "hashed")
        (info,) = [each for each in session.catalogue.collections(database.name) if each.ns == ns]
        assert info.layout == "hashed"
        assert "hash_recipe" in f"{info.why} {info.hashing}"
        opened = session.writing.open(ns, Value.of(3))
        assert opened.base.content == bson.encode(content(3))
        assert not opened.writable
        ends = [
            session.edit(ns, Value.of(3), set={"count": 99}),
            session.writing.create(ns, bson.encode(content(50)), Value.of("new")),
            session.once.insert(ns, content(51)),
            session.writing.delete(ns, Value.of(3), opened.base),
        ]
        assert {end.kind for end in ends} == {"refused"}
        assert all("state hash_recipe" in end.detail for end in ends), ends
        found = list(session.scans.scan([ns]))
    assert list(database["things"].find()) == before
    if layout == "recognised":
        assert not [each for each in found if isinstance(each, Finding) and each.code == "H1"]
        (unchecked,) = [each for each in found if isinstance(each, Unchecked)]
        assert "hashes were not checked" in unchecked.why


def test_a_stated_recipe_that_the_hashes_contradict_writes_nothing_and_names_one_of_them(
    server_uri: str, database: Db, tmp_path: Path
) -> None:
    put(database, lambda made, _: SEALS["sha256 bson"][0](made))
    profile = stated(tmp_path, database, 'hash_recipe = { algorithm = "sha1" }')
    with Session.open(server_uri, profile) as session:
        (info,) = session.catalogue.collections(database.name)
        end = session.edit(things(database), Value.of(3), set={"count": 99})
    assert end.kind == "refused"
    for sentence in (end.detail, info.why):
        assert "hash_recipe says SHA-1 of the content as BSON" in sentence
        assert "none of 12 documents looked at (not in 0, for one)" in sentence


def test_a_hash_that_is_a_number_is_said_and_nothing_is_written(server_uri: str, database: Db, tmp_path: Path) -> None:
    for number in range(4):
        database["things"].insert_one({"_id": number, **content(number), "digest": number})
    with Session.open(server_uri, stated(tmp_path, database)) as session:
        assert session.history.version(things(database), Value.of(1)).detail == "hash is a Int32"
        ends = [
            session.edit(things(database), Value.of(1), set={"kind": "offer"}),
            session.writing.create(things(database), bson.encode(content(9)), Value.of("new")),
        ]
    assert [end.kind for end in ends] == ["refused", "refused"]
    assert all("digest holds a value of type Int32, not a hash" in end.detail for end in ends)
    assert database["things"].count_documents({}) == 4


def test_one_wrong_hash_among_twelve_is_damage_and_no_doubt(server_uri: str, server: Server, database: Db) -> None:
    seal, _ = SEALS["md5 json"]
    put(database, lambda made, id: seal(made) if id != 7 else seal({**made, "count": -1}))
    _, profile = recognised(server, database)
    assert (profile.hash_recipe, profile.hash_doubt) == (SEALS["md5 json"][1], "")
    ns = things(database)
    with Session.open(server_uri) as session:
        (found,) = [each for each in session.scans.scan([ns]) if isinstance(each, Finding)]
        assert (found.code, found.id, found.detail) == ("H1", Value.of(7), "hash differs")
        plan = session.repairs.plan([found])
        plan = plan.with_answer(plan.items[0].no, "rebuild")
        assert [end.kind for _, end in session.repairs.apply(plan)] == ["applied"]
    now = database["things"].find_one({"_id": 7})
    assert now is not None
    assert now["digest"] == seal(content(7))


def test_a_content_over_which_the_recipes_that_fit_differ_is_not_written(
    server_uri: str, server: Server, database: Db
) -> None:
    """JSON without spaces: whether other letters are escaped cannot be told while there are none."""
    for number in range(12):
        made = {"title": f"plain {number}", "count": number}
        digest = hashlib.sha1(json.dumps(made, separators=(",", ":")).encode()).hexdigest()
        database["things"].insert_one({"_id": number, **made, "digest": digest})
    info, profile = recognised(server, database)
    assert profile.hash_rivals
    assert "another recipe that gives the same" in info.hashing
    ns = things(database)
    with Session.open(server_uri) as session:
        assert session.edit(ns, Value.of(3), set={"title": "still plain"}).kind == "applied"
        end = session.edit(ns, Value.of(4), set={"title": "Größe"})
    assert end.kind == "refused"
    assert "which differ here; state hash_recipe" in end.detail


def test_a_document_with_another_recipes_hash_is_left_alone(server_uri: str, database: Db) -> None:
    put(database, lambda made, id: SEALS["sha256 bson" if id == 7 else "sha1 bson"][0](made))
    with Session.open(server_uri) as session:
        end = session.edit(things(database), Value.of(7), set={"count": 99})
        assert session.edit(things(database), Value.of(8), set={"count": 99}).kind == "applied"
    assert end.kind == "refused"
    assert "of this version is SHA-256 of the content as BSON" in end.detail
    assert "SHA-1 of the content as BSON is the recipe here" in end.detail


def test_versions_with_a_checksum_get_the_next_one_by_its_recipe(server_uri: str, server: Server, database: Db) -> None:
    seal, recipe = SEALS["sha256 json compact"]
    database["things"].create_index([("docId", 1), ("v", 1)], unique=True)
    for number in range(8):
        for v in (1, 2, 3):
            made = {**content(number), "count": v}
            row = {"docId": f"K-{number}", "v": v, **made, "checksum": seal(made)}
            database["things"].insert_one(row)
    info, profile = recognised(server, database)
    assert (info.layout, profile.hash, profile.hash_recipe) == ("versions", "checksum", recipe)
    assert recipe.said in info.why
    with Session.open(server_uri) as session:
        assert session.edit(things(database), "K-3", set={"count": 4}).kind == "applied"
    now = database["things"].find_one({"docId": "K-3", "v": 4})
    assert now is not None
    assert now["checksum"] == seal({**content(3), "count": 4})


def test_a_preview_shows_the_hash_by_the_recipe(server_uri: str, database: Db) -> None:
    seal, _ = SEALS["md5 json"]
    put(database, lambda made, _: seal(made))
    with Session.open(server_uri) as session:
        opened = session.writing.open(things(database), Value.of(3))
        mine = c.put(opened.base.content or b"", ("count",), Value.of(99))
        shown = session.writing.preview(things(database), Value.of(3), opened.base, mine)
    assert seal({**content(3), "count": 99}) in str(shown)
