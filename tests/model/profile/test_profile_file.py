"""A collection stated in a profile's file: existing text stays, and nothing is overwritten unseen."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from model.errors import NotFound, Refused
from model.layouts.registry import NAMES
from model.profile import _READERS, Profile, keys, minimal, state
from model.profile.profile_file import block, stated_in
from model.profile.profile_keys import ROWS
from model.writers import row_keys
from tests import support
from tests.support import examples

TEAM = """# the layouts of the shop
[[collection]]   # since 2019
ns = "shop.contracts"   # the current ones
layout = "archive"      # they moved
archive = "shop.contracts_history"
grace = "2h"
hash_fields = { exclude = ["views"] }

# what the claims team keeps
[[collection]]
ns = "shop.claims"
layout = "embedded"
prev = "old"
# the end
"""


@pytest.fixture
def team(tmp_path: Path) -> Path:
    file = tmp_path / "layouts.toml"
    file.write_text(TEAM)
    return file


def test_a_new_file_holds_only_what_was_stated(tmp_path: Path) -> None:
    file = tmp_path / "layouts.toml"
    profile = state("shop.orders", {"layout": "versions", "id": "docId", "version": "rev", "token": "", "grace": "24h"})
    edit = stated_in(file, profile)
    assert not file.exists()
    edit.write()
    assert file.read_text() == '[[collection]]\nns = "shop.orders"\nlayout = "versions"\nversion = "rev"\ntoken = ""\n'
    assert Profile.load(file).get("shop.orders") == profile


def test_watched_conditions_stay_where_they_stand_when_a_key_is_added(tmp_path: Path) -> None:
    file = tmp_path / "layouts.toml"
    file.write_text(f"{TEAM}\n[[collection.watch]] # ours\nname = 'Late'\nfilter = '{{n: 1}}'\n")
    (watch,) = (before := Profile.load(file).get("shop.claims") or state("x.y", {})).watches
    stated_in(file, replace(before, version="rev", numbering="time")).write()
    after = Profile.load(file).get("shop.claims")
    assert after == replace(before, version="rev", numbering="time")
    assert (watch.name, watch.filter) == ("Late", "{n: 1}")
    assert "[[collection.watch]] # ours\nname = 'Late'" in file.read_text()


def test_a_default_that_a_person_told_is_written_too(tmp_path: Path) -> None:
    profile = state("shop.orders", {"layout": "versions"})
    assert minimal(profile) == {"layout": "versions"}
    assert minimal(profile, ["version", "numbering", "grace", "prev"]) == {
        "layout": "versions", "version": "v", "numbering": "next", "grace": "1d",
    }  # fmt: skip
    assert 'numbering = "next"\n' in block(profile, ["numbering"])


def test_another_collection_is_added_behind_all_that_is_there(team: Path) -> None:
    edit = stated_in(team, state("shop.orders", {"layout": "sequence", "targets": {"a b": "shop.orders:nr"}}))
    edit.write()
    assert team.read_text() == (
        f'{TEAM}\n[[collection]]\nns = "shop.orders"\nlayout = "sequence"\ntargets = {{ "a b" = "shop.orders:nr" }}\n'
    )
    assert (edit.changed, edit.kept) == ((), ())


def test_what_the_file_says_of_the_collection_is_changed_in_its_place_and_its_comments_stay(team: Path) -> None:
    edit = stated_in(team, state("shop.contracts", {"layout": "versions", "version": "rev"}))
    edit.write()
    changed = TEAM.replace('"archive"      # they', '"versions"      # they')
    changed = changed.replace('archive = "shop.contracts_history"\n', "")
    changed = changed.replace('["views"] }\n', '["views"] }\nversion = "rev"\n')
    assert team.read_text() == changed
    assert edit.changed == (("layout", '"archive"', '"versions"'), ("archive", '"shop.contracts_history"', ""))
    assert edit.kept == (("grace", '"2h"'), ("hash_fields", '{ exclude = ["views"] }'))


def test_saying_the_same_again_changes_no_byte(team: Path) -> None:
    profile = Profile.load(team).get("shop.contracts")
    assert profile is not None
    edit = stated_in(team, profile, ["layout", "archive", "grace"])
    assert (edit.after.decode(), edit.changed, edit.kept) == (TEAM, (), ())


def test_lines_that_end_as_on_windows_go_on_doing_so(team: Path) -> None:
    team.write_bytes(TEAM.replace("\n", "\r\n").encode())
    stated_in(team, state("shop.claims", {"layout": "embedded", "prev": "past", "version": "n"})).write()
    after = team.read_bytes()
    assert after.count(b"\n") == after.count(b"\r\n")
    assert b'prev = "past"\r\n' in after


def test_collections_in_an_inline_array_are_joined_by_one_more(tmp_path: Path) -> None:
    file = tmp_path / "layouts.toml"
    file.write_text('collection = [\n  { ns = "a.b", layout = "plain" }, # one\n]\n')
    stated_in(file, state("a.c", {"layout": "hashed", "hash": "sum"})).write()
    found = Profile.load(file)
    assert [(each.ns, each.layout) for each in found.collections] == [("a.b", "plain"), ("a.c", "hashed")]
    assert "# one" in file.read_text()


def test_a_file_that_was_changed_meanwhile_is_not_written_over(team: Path) -> None:
    edit = stated_in(team, state("shop.orders", {"layout": "versions"}))
    team.write_text(TEAM + "# and more\n")
    with pytest.raises(Refused, match="changed meanwhile"):
        edit.write()
    assert team.read_text() == TEAM + "# and more\n"


def test_a_file_that_came_up_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    file = tmp_path / "layouts.toml"
    edit = stated_in(file, state("shop.orders", {"layout": "versions"}))
    file.write_text(TEAM)
    with pytest.raises(Refused, match="meanwhile"):
        edit.write()
    assert file.read_text() == TEAM


@support.table(
    "content, said",
    [
        (b"[tool.ruff]\nline-length = 120\n", "no key 'tool'"),
        (b"[[collection]\n", "not valid TOML"),
        (b'[[collection]]\nns = "a.b"\nlayout = "verions"\n', "no layout 'verions'"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_is_no_profile_is_left_alone(tmp_path: Path, content: bytes, said: str) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_bytes(content)
    with pytest.raises(Refused, match=said):
        stated_in(file, state("shop.orders", {"layout": "versions"}))
    assert file.read_bytes() == content


def test_a_place_where_nothing_can_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="cannot be read"):
        stated_in(tmp_path, state("shop.orders", {"layout": "versions"}))
    edit = stated_in(tmp_path / "gone" / "layouts.toml", state("shop.orders", {"layout": "versions"}))
    with pytest.raises(Refused, match="cannot be written"):
        edit.write()
    with pytest.raises(NotFound):
        Profile.load(tmp_path / "gone" / "layouts.toml")


@pytest.mark.skipif(os.name == "nt", reason="links and modes are others there")
def test_a_link_stays_a_link_and_the_file_keeps_its_mode(team: Path, tmp_path: Path) -> None:
    team.chmod(0o640)
    link = tmp_path / "link.toml"
    link.symlink_to(team)
    stated_in(link, state("shop.orders", {"layout": "versions"})).write()
    assert link.is_symlink()
    assert "shop.orders" in team.read_text()
    assert team.stat().st_mode & 0o777 == 0o640


def test_each_key_that_a_profile_takes_is_described() -> None:
    taken = {*_READERS, *row_keys.READERS}
    assert taken <= set(ROWS)
    assert {key.name for layout in NAMES for key in keys(layout)} == taken


WORD = st.from_regex(r"[A-Za-z_äß\"' =#\[\]{},\\]{1,8}", fullmatch=True)


@examples(300)
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(["version", "token", "at", "author", "id"]), WORD))
def test_whatever_is_stated_is_read_from_the_file_again(layout: str, fields: dict[str, str]) -> None:
    used = {key.name for key in keys(layout)}
    try:
        profile = state("shop.orders", {"layout": layout, **{name: fields[name] for name in fields if name in used}})
    except Refused:
        return
    text = block(profile, fields)
    assert Profile.read(tomllib.loads(text), "it").get("shop.orders") == profile
