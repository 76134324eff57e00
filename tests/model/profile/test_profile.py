"""A team's profile: every key is read, the seeds' names are the defaults, and errors are named."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from model.errors import NotFound, Refused
from model.foundation.collection_profile import LockField, Watch
from model.foundation.hash_recipe import WAYS, HashRecipe
from model.layouts.registry import NAMES, fields_of
from model.profile import CollectionProfile, Profile, as_stated, keys, stated, table
from model.writers.row_keys import profile_of
from model.writers.writers import presets
from tests import support

WHOLE = """
[[collection]]
ns = "shop.contracts"
layout = "archive"
archive = "shop.contracts_past"
archive_id = "contract"
id = "_id"
version = "rev"
token = ""
hash = "digest"
hash_fields = { exclude = ["views", "seen"] }
at = "changedAt"
author = "changedBy"
numbering = "counter:shop.counters"
grace = "90m"
keys = ["sku", "name"]

[[collection]]
ns = "shop.counters"
layout = "sequence"
targets = { invoices = "shop.invoices:number" }

[[collection]]
ns = "shop.tariffs"
layout = "deltas"
removed = "gone"

[[collection]]
ns = "shop.histories"
layout = "log"
id = "meta.of"
at = "createdAt"
"""


WATCHING = "[[collection]]\nns = 'a.b'\nlayout = 'versions'\n"


def written(folder: Path, text: str) -> Path:
    path = folder / "profile.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    profile = Profile.load(written(tmp_path, WHOLE))
    contracts = profile.get("shop.contracts")
    assert contracts == CollectionProfile(
        "shop.contracts",
        "archive",
        archive="shop.contracts_past",
        archive_id="contract",
        version="rev",
        token="",
        hash="digest",
        hash_exclude=("views", "seen"),
        at="changedAt",
        author="changedBy",
        numbering="counter:shop.counters",
        grace=dt.timedelta(minutes=90),
        keys=("_id", "sku", "name"),
    )
    counters, tariffs = profile.get("shop.counters"), profile.get("shop.tariffs")
    assert counters is not None
    assert tariffs is not None
    assert (counters.counter, counters.targets) == ("seq", {"invoices": ("shop.invoices", "number")})
    assert (tariffs.id, tariffs.removed) == ("docId", "gone")
    assert profile.get("shop.nothing") is None
    histories = profile.get("shop.histories")
    assert histories == CollectionProfile(
        "shop.histories", "log", id="meta.of", at="createdAt", version="", token="", hash=""
    )


def test_the_defaults_are_the_names_of_the_published_patterns() -> None:
    archive = stated("shop.contracts", "archive")
    assert (archive.archive, archive.archive_id, archive.id) == ("shop.contracts_history", "docId", "_id")
    assert archive.grace == dt.timedelta(hours=24)
    assert archive.numbering == "next"
    assert stated("shop.t", "versions").id == "docId"
    assert stated("shop.t", "hashed").hash == "_versioned_id"
    assert stated("shop.t", "deltas").removed == ""
    assert stated("shop.t", "pending").counter == "count"


def test_the_fields_of_a_layout_are_those_that_it_uses() -> None:
    assert fields_of(stated("s.t", "archive", token="_w")) == {
        "id": "_id",
        "version": "v",
        "token": "_w",
        "archive": "s.t_history",
        "archive_id": "docId",
    }
    assert fields_of(stated("s.t", "plain", token="")) == {"id": "_id"}
    for layout in NAMES:
        assert all(fields_of(stated("s.t", layout)).values())


@support.table(
    "text, parts",
    [
        ("[[collection]\n", ["not valid TOML"]),
        ("[collection]\nns = 'a.b'\n", ["two brackets"]),
        ("[[collections]]\nns = 'a.b'\n", ["'collections'"]),
        ("[[collection]]\nlayout = 'plain'\n", ["collection 1", "ns"]),
        ("[[collection]]\nns = 'contracts'\n", ["collection 1", "database.collection"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 'archived'\n", ["a.b", "'archived'", "embedded"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 3\n", ["a.b", "3"]),
        ("[[collection]]\nns = 'a.b'\nversoin = 'v'\n", ["a.b", "'versoin'", "the nearest is version"]),
        ("[[collection]]\nns = 'a.b'\nlayuot = 'archive'\n", ["a.b", "'layuot'", "the nearest is layout"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 'hashed'\nxyz = 1\n", ["'xyz'", "hashed has id, token, at"]),
        (
            "[[collection]]\nns = 'a.b'\nlayout = 'plain'\nversion = 'version'\n",
            ["a.b", "version does nothing in the layout plain; plain has id, token, at, author, reason, "],
        ),
        ("[[collection]]\nns = 'a.b'\nlayout = 'archive'\nprev = 'before'\n", ["prev does nothing", "archive_id"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 'pending'\nversion = 'rev'\n", ["version does nothing", "applied"]),
        ("[[collection]]\nns = 'a.b'\nversion = 'meta.v'\n", ["a.b", "version", "dots"]),
        ("[[collection]]\nns = 'a.b'\nid = 'meta.of'\nlayout = 'versions'\n", ["a.b", "id", "log"]),
        ("[[collection]]\nns = 'a.b'\nversion = ''\n", ["version", "empty"]),
        ("[[collection]]\nns = 'a.b'\nversion = '_id'\n", ["version", "_id"]),
        ("[[collection]]\nns = 'a.b'\ntoken = 5\n", ["token", "quotes"]),
        ("[[collection]]\nns = 'a.b'\ngrace = 'a day'\n", ["grace", "24h"]),
        ("[[collection]]\nns = 'a.b'\ngrace = 24\n", ["grace", "24h"]),
        ("[[collection]]\nns = 'a.b'\nnumbering = 'random'\n", ["numbering", "next"]),
        ("[[collection]]\nns = 'a.b'\nnumbering = 'counter:counters'\n", ["numbering", "counter:database.collection"]),
        ("[[collection]]\nns = 'a.b'\nhash_fields = ['x']\n", ["hash_fields", "include"]),
        ("[[collection]]\nns = 'a.b'\nhash_fields = { include = 'x' }\n", ["hash_fields", "include"]),
        ("[[collection]]\nns = 'a.b'\nhash_recipe = 'sha1'\n", ["hash_recipe", 'algorithm = "sha1"']),
        (
            "[[collection]]\nns = 'a.b'\nhash_recipe = { algorithm = 'crc32' }\n",
            ["algorithm must be", '"crc32"', "md5"],
        ),
        ("[[collection]]\nns = 'a.b'\nhash_recipe = { over = 1 }\n", ["over must be", '"bson" or "json"', "not 1"]),
        ("[[collection]]\nns = 'a.b'\nhash_recipe = { salt = 'x' }\n", ["no key 'salt'", "separators"]),
        ("[[collection]]\nns = 'a.b'\nhash_recipe = { ascii = true }\n", ["ascii is about JSON", 'over = "json"']),
        ("[[collection]]\nns = 'a.b'\nhash_recipe = { id = 1 }\n", ["id must be false or true", "not 1"]),
        (
            "[[collection]]\nns = 'a.b'\nhash_recipe = { over = 'json', values = 'javascript', ascii = true }\n",
            ["ascii must be false", "JavaScript"],
        ),
        ("[[collection]]\nns = 'a.b'\nlayout = 'archive'\nhash_recipe = { id = true }\n", ["covers _id", "hashed"]),
        ("[[collection]]\nns = 'a.b'\ntargets = { x = 'shop.invoices' }\n", ["targets", "shop.invoices:number"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 'archive'\narchive = 'a.b'\n", ["archive", "another collection"]),
        ("[[collection]]\nns = 'a.b'\nlayout = 'archive'\nversion = 'w'\ntoken = 'w'\n", ["version", "token", "'w'"]),
        ("[[collection]]\nns = 'a.b'\n[[collection]]\nns = 'a.b'\n", ["a.b", "twice"]),
        (f"{WATCHING}watch = 'x'\n", ["watch must be", "[[collection.watch]]"]),
        (f"{WATCHING}[[collection.watch]]\nname = 'x'\nfliter = '{{}}'\n", ["watch must be", "a name and a filter"]),
        (WATCHING + "[[collection.watch]]\nname = 'x'\nfilter = '{}'\n" * 2, ["watch has", '"x" twice']),
        (
            "[[collection]]\nns = 'a.b'\n[[collection.watch]]\nname = 'x'\nfilter = '{}'\n",
            ["watch does nothing in the layout plain"],
        ),
        (f"{WATCHING}watch = [\n  {{ name = 'x', filter = '{{n: ' }},\n]\n", ["(a.b), line 6: watch", "too early"]),
    ],
)
def test_what_is_wrong_is_one_sentence_that_names_the_file_and_the_key(
    text: str, parts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(Refused) as raised:
        Profile.load(written(tmp_path, text))
    said = str(raised.value)
    for part in ["profile.toml", *parts]:
        assert part in said
    assert "\n" not in said
    assert said.endswith(".")


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no profile"):
        Profile.load(tmp_path / "missing.toml")
    (tmp_path / "profile.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="UTF-8"):
        Profile.load(tmp_path / "profile.toml")
    with pytest.raises(Refused, match="cannot be read"):
        Profile.load(tmp_path)


def test_a_layout_that_nobody_knows_is_refused() -> None:
    with pytest.raises(Refused, match="no layout 'zip'"):
        stated("a.b", "zip")


@support.table(
    "layout", ["versions", "flagged", "embedded", "archive", "deltas", "stream", "hashed", "pending", "sequence"]
)
def test_a_collection_written_as_a_table_is_read_as_the_same_again(layout: str) -> None:
    ns = "shop.things"
    odd: dict[str, Any] = {
        "at": "changed",
        "token": "",
        "hash_exclude": ("views", "seen"),
        "grace": dt.timedelta(minutes=90),
        "targets": {"a": ("shop.b", "n")},
        "numbering": "counter:shop.seq",
        "keys": ("_id", "sku"),
        "unordered": ("tags", "riders.codes"),
        "watches": (Watch("Overdue", "{status: 'overdue'}"), Watch("Free", "{net: 0}")),
        "guard": LockField("__v", "inc"),
    }
    fields = {"hash_fields": "hash_exclude", "watch": "watches"}
    used = {fields.get(key.name, key.name) for key in keys(layout)}
    made = {key: value for key, value in odd.items() if key in used}
    for profile in (stated(ns, layout), stated(ns, layout, **made)):
        assert Profile.read({"collection": [{"ns": ns, **table(profile)}]}, "x").collections == (profile,)


def test_the_example_of_a_guard_is_read_and_what_is_none_is_refused() -> None:
    def read(guard: Any, layout: str = "plain") -> LockField | None:
        return Profile.read({"collection": [{"ns": "a.b", "layout": layout, "guard": guard}]}, "x").collections[0].guard

    for layout in NAMES:
        assert read({"field": "__v", "how": "inc"}, layout) == LockField("__v", "inc")
    for wrong in ("__v", {"field": "__v"}, {"field": "__v", "how": "add"}, {"field": "", "how": "inc"}):
        with pytest.raises(Refused, match="guard"):
            read(wrong)
    with pytest.raises(Refused, match="guard and version cannot both be 'v'"):
        read({"field": "v", "how": "inc"}, "archive")


def test_a_row_that_edits_write_is_a_table_of_fields_and_values_that_are_known() -> None:
    def read(**keys: Any) -> Mapping[str, Any]:
        table = {"ns": "a.b", "layout": "shadow", "archive": "a.c", **keys}
        return Profile.read({"collection": [table]}, "x").collections[0].row

    row = {"t": "$now", "by": ["$author", "nobody"], "d": {"_id": "$id", "of": "$base.name"}, "*": "$content"}
    assert read(edit="both", row=row) == row
    with pytest.raises(Refused, match='edit = "both" needs row'):
        read(edit="both")
    for wrong in ("$now", {}, {"t": "$nwo"}, {"t": "$base"}, {"t": ["$now.t"]}):
        with pytest.raises(Refused, match="row"):
            read(edit="both", row=wrong)
    with pytest.raises(Refused, match="edit must be"):
        read(edit="all")


@support.table("recipe", [replace(way, algorithm="sha512", encoding="binary") for way in WAYS])
def test_a_recipe_written_as_a_table_is_read_as_the_same_again(recipe: HashRecipe) -> None:
    made = stated("shop.things", "hashed", hash_recipe=recipe)
    assert Profile.read({"collection": [{"ns": "shop.things", **table(made)}]}, "x").collections == (made,)


def test_a_recipe_is_stated_by_what_differs_from_the_published_one(tmp_path: Path) -> None:
    keys = 'hash_recipe = { algorithm = "sha256", over = "json", values = "javascript", keys = "sorted" }\n'
    (made,) = Profile.load(written(tmp_path, f"[[collection]]\nns = 'a.b'\nlayout = 'hashed'\n{keys}")).collections
    expected = HashRecipe("sha256", "json", "sorted", separators="compact", ascii=False, values="javascript")
    assert made.hash_recipe == expected
    assert expected.said == "SHA-256 of the content as JSON (JavaScript's), names sorted"
    assert as_stated(replace(made, hash_doubt="Why.")) == made
    assert as_stated(replace(made, hash_rivals=(HashRecipe(),))).hash_recipe is None


def test_the_parts_of_a_two_step_counter_may_stand_in_sub_documents(tmp_path: Path) -> None:
    keys = 'pending = "stats.pending"\napplied = "stats.applied"\ncounter = "stats.count"\n'
    (made,) = Profile.load(written(tmp_path, f"[[collection]]\nns = 'a.b'\nlayout = 'pending'\n{keys}")).collections
    assert (made.pending, made.applied, made.counter) == ("stats.pending", "stats.applied", "stats.count")
    assert Profile.read({"collection": [{"ns": "a.b", **table(made)}]}, "").collections == (made,)
    for wrong in ("stats.$n", "stats.", ".stats"):
        with pytest.raises(Refused, match="counter"):
            Profile.load(written(tmp_path, f"[[collection]]\nns = 'a.b'\nlayout = 'pending'\ncounter = '{wrong}'\n"))


# --- histories of other programs


@support.table("writer", presets())
def test_a_writer_states_all_that_its_preset_does(writer: str) -> None:
    shared = presets()[writer].keys.get("where", {})
    entry = {"ns": "shop.items", "writer": writer, **({"where": dict.fromkeys(shared, "Item")} if shared else {})}
    found = Profile.read({"collection": [entry]}, "x").collections[0]
    archive = f"shop.{presets()[writer].archive.replace('{name}', 'items')}"
    assert found == profile_of(writer, "shop.items", archive, dict.fromkeys(shared, "Item"))
    assert Profile.read({"collection": [{"ns": "shop.items", **table(found)}]}, "x").collections == (found,)


def test_single_keys_of_a_preset_can_be_stated_otherwise() -> None:
    entry = {
        "ns": "shop.posts",
        "writer": "payload",
        "archive": "shop.old_posts",
        "at": "createdAt",
        "ignored": ["__v"],
    }
    found = Profile.read({"collection": [entry]}, "x").collections[0]
    assert (found.archive, found.at, found.ignored, found.content) == (
        "shop.old_posts",
        "createdAt",
        ("__v",),
        "version",
    )
    assert {key: table(found)[key] for key in ("writer", "archive", "at", "ignored")} == {
        key: entry[key] for key in ("writer", "archive", "at", "ignored")
    }


def test_a_history_without_a_preset_is_stated_key_by_key() -> None:
    entry = {
        "ns": "shop.items", "layout": "shadow", "archive": "shop.past", "archive_id": "meta.docId", "content": "data",
        "order": "meta.at", "version": "", "kept": "earlier", "where": {"kind": "item"}, "ignored": ["touched"],
        "operation": {"field": "what", "insert": ["made"], "remove": ["gone", "lost"]},
    }  # fmt: skip
    found = Profile.read({"collection": [entry]}, "x").collections[0]
    assert (found.archive_id, found.content, found.kept, found.where) == (
        "meta.docId",
        "data",
        "earlier",
        {"kind": "item"},
    )
    assert Profile.read({"collection": [{"ns": "shop.items", **table(found)}]}, "x").collections == (found,)


@support.table(
    "entry, said",
    [
        ({"writer": "paylod"}, "There is no writer 'paylod'"),
        ({"writer": 7}, "writer must be the name of a program"),
        ({"writer": "ts-patch-mongoose"}, 'say which by where = { "collectionName"'),
        ({"layout": "shadow", "kept": "some"}, "kept must be 'all' or 'earlier'"),
        ({"layout": "archive", "kept": "all"}, "kept does nothing in the layout archive; archive has id, archive"),
    ],
)
def test_what_a_writers_entry_lacks_is_one_sentence(entry: dict[str, Any], said: str) -> None:
    with pytest.raises(Refused) as error:
        Profile.read({"collection": [{"ns": "shop.items", **entry}]}, "x")
    assert said in str(error.value)


EVERY_KEY = """
[[collection]]
ns = "shop.contracts"
layout = "archive"
archive = "shop.contracts_history"
archive_id = "docId"
id = "_id"
version = "v"
token = "_w"
current = "current"
prev = "prev"
removed = "removed"
hash = "_versioned_id"
hash_fields = { exclude = ["views"] }
at = "changedAt"
author = "changedBy"
numbering = "next"
grace = "24h"

[[collection]]
ns = "shop.items"
writer = "payload"
layout = "shadow"
archive = "shop._items_versions"
archive_id = "parent"
content = "version"
order = "createdAt"
kept = "all"
operation = { field = "o", insert = "i", remove = "r" }
where = { collectionName = "items" }
patch = "rfc6902"
changes = "patch"
direction = "forward"
ignored = ["__v", "updatedAt"]
guard = { field = "__v", how = "inc" }
edit = "no"
reason = "reason"
hash_recipe = { algorithm = "sha1", over = "bson", keys = "stored", encoding = "hex" }

[[collection]]
ns = "shop.stats"
layout = "pending"
pending = "pending"
applied = "applied"
counter = "count"
processed = "processed"
"""


def test_a_table_that_shows_every_key_with_its_usual_name_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "every.toml"
    path.write_text(EVERY_KEY, "utf-8")
    contracts, items, stats = Profile.load(path).collections
    assert (contracts.layout, contracts.archive, contracts.hash_exclude) == (
        "archive",
        "shop.contracts_history",
        ("views",),
    )
    assert (items.layout, items.content, items.patch) == ("shadow", "version", "")
    assert (stats.layout, stats.counter) == ("pending", "count")
