"""The manual is true: its links, its examples, and its tables of layouts, keys, commands and damage."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_type_hints

import bson
import pytest
from bson import json_util
from msgspec.structs import fields

from gui.__main__ import is_command
from model.commands import command_line, grammar
from model.foundation.hash_recipe import HashRecipe
from model.layouts.registry import LAYOUTS, WRITABLE
from model.layouts.registry import NAMES as NAMED
from model.patches import FORMS, tree_of
from model.patches.tree import node_of
from model.profile import Profile
from model.profile.profile_keys import ROWS, keys_of
from model.recognition.patterns import PATTERNS
from model.repair.damage_classes import CLASSES, GROUPS
from model.session import Session
from model.storage.numbering_ways import WAYS
from model.storage.row_paths import value_at
from model.writers.writers import presets
from resources import manual
from tests import support
from tests.journeys.command_support import rows_of
from tests.resources.manual_text import NAMES, blocks, commands, leads_nowhere, prose, rows, section, sections_with

FOLDER = support.ROOT / "resources" / "help"
COMMANDS = manual.page("commands")
SPOKEN = ("--help", "--version")  # of the program as a whole, not of one of its commands


# --- the pages


def test_the_first_page_lists_every_page_once() -> None:
    assert sorted(NAMES) == sorted(path.stem for path in FOLDER.iterdir())
    assert NAMES[0] == manual.FIRST


@pytest.mark.parametrize("topic", manual.topics(), ids=lambda topic: topic.name)
def test_a_page_is_called_as_it_is_listed_and_begins_with_what_it_is_about(topic: manual.Topic) -> None:
    title, blank, about, *_ = manual.page(topic.name).splitlines()
    assert (title, blank) == (f"# {topic.title}", "")
    assert about[0].isalpha() or about[0] == "`"
    assert topic.about.endswith(".")
    assert (topic.group == "") == (topic.name == manual.FIRST)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_to_a_page_and_to_a_heading_that_are_there(name: str) -> None:
    assert not leads_nowhere(manual.page(name), FOLDER)


@pytest.mark.parametrize("name", NAMES)
def test_code_fits_into_the_window_and_onto_a_terminal(name: str) -> None:
    lines = [line for kind in ("sh", "ini", "toml", "python", "text") for line in _lines(name, kind)]
    assert [line for line in lines if len(line) > 102] == []
    assert [line for line in manual.page(name).splitlines() if "\t" in line or line != line.rstrip()] == []


def _lines(name: str, kind: str) -> Iterator[str]:
    for block in blocks(manual.page(name), kind):
        yield from block.splitlines()


@pytest.mark.parametrize(
    ("word", "first"),
    [
        ("layout", "layouts"),
        ("merge", "merging"),
        ("conflicts", "editing"),
        ("undo", "journal"),
        ("vnc", "troubleshooting"),
        ("keybord", "keyboard"),
        ("licence", "notices"),
    ],
)
def test_a_word_that_is_no_page_finds_the_page_that_speaks_of_it(word: str, first: str) -> None:
    assert manual.nearest(word)[0].name == first


def test_a_word_that_nothing_speaks_of_finds_none() -> None:
    assert manual.nearest("qqqqqq") == []


# --- examples


@pytest.mark.parametrize("name", NAMES)
def test_every_command_on_a_page_is_one_that_the_grammar_knows(name: str) -> None:
    known = grammar.parser(*grammar.names())
    for words in commands(manual.page(name)):
        if not is_command(words):
            asked, others = grammar.window().parse_known_intermixed_args(words)
            assert words[0] == "tour" or (len(asked.words) <= 1 and not others)
        else:
            known.parse_args(_without_redirection(words)[0])  # exits where it is wrong


WITH_EXAMPLES = [name for name in NAMES if "sample:" in manual.page(name) and name != "commands"]


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("name", support.every(8, WITH_EXAMPLES, in_slice=True))
def test_every_command_on_a_page_that_can_run_on_the_sample_does(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = manual.page(name)
    assert run_examples(page, capsys) or not any("sample:" in argv and is_command(argv) for argv in commands(page))


def run_examples(text: str, capsys: pytest.CaptureFixture[str]) -> list[tuple[list[str], str]]:
    """Run the commands of a text that can run here, in order; what each was, and what it printed."""
    ran = []
    for words in commands(text):
        argv, into = _without_redirection(words)
        if is_command(argv) and _can_run(argv):
            status = command_line.main(argv)
            out, err = capsys.readouterr()
            assert status in (0, 1), (argv, err)
            if into:
                Path(into).write_text(out, encoding="utf-8")
            ran.append((argv, out))
    return ran


def _without_redirection(words: list[str]) -> tuple[list[str], str]:
    """The arguments, and the file that the output goes to."""
    return (words[:-2], words[-1]) if words[-2:-1] == [">"] else (words, "")


def _can_run(argv: list[str]) -> bool:
    """Whether it is about the sample, files that an example has made, or nothing at all."""
    if argv[0] in ("diff", "merge") and "sample:" not in argv:
        return Path(argv[1]).exists()
    return "sample:" in argv or argv[0] in ("journal", "help")


def test_the_session_on_the_sample_runs_as_it_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = [
        each for each in blocks(manual.page("python"), "python") if "outcome = session" in each and "sample:" in each
    ]
    exec(code, {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 15
    assert lines[-1].startswith("applied")


@pytest.mark.parametrize("name", NAMES)
def test_every_profile_on_a_page_can_be_read(name: str, tmp_path: Path) -> None:
    for at, block in enumerate(blocks(manual.page(name), "toml")):
        path = tmp_path / f"{at}.toml"
        path.write_text(block, encoding="utf-8")
        assert Profile.load(path).collections


# --- tables


def test_the_layouts_and_patterns_listed_are_those_that_there_are() -> None:
    page, file = manual.page("layouts"), "resources/help/layouts.md"
    told = [name for name, _ in rows(page, "layout", "where the versions are")]
    assert support.all_named(LAYOUTS, told, f"The table of layouts in {file}")
    told = [name for name, _ in rows(page, "pattern", "what its documents are")]
    assert support.all_named(PATTERNS, told, f"The table of patterns in {file}")


def test_the_programs_whose_histories_are_read_are_those_that_there_is_a_preset_of() -> None:
    listed = rows(manual.page("layouts"), "program", "what it keeps", "edits from here")
    told = {"no": "no", "both": "yes"}
    known = {(each.title, each.keys["layout"], told[each.keys.get("edit", "no")]) for each in presets().values()}
    assert known == set(listed)


def test_the_ways_of_numbering_are_those_that_there_are() -> None:
    listed = rows(manual.page("layouts"), "numbering", "what a number promises, and what it cannot")
    told = [name.removesuffix(":…") for name, _ in listed]
    assert support.all_named(WAYS, told, "The table of numbering in resources/help/layouts.md")


def test_the_keys_of_a_profile_are_those_that_it_takes_each_for_its_layouts() -> None:
    page = manual.page("profiles")
    own, others = (rows(each, "key", "for", "means") for each in page.split("## Histories of other programs"))
    listed = {key: of for key, of, _ in (*own, *others)}
    assert len(listed) == len(own) + len(others)
    file = "resources/help/profiles.md"
    assert support.all_named(["ns", "layout", *ROWS], listed, f"The tables of keys in {file}")
    for key in ROWS:
        used = {name for name in NAMED if key in {each.name for each in keys_of(name)}}
        said = layouts_said(listed[key])
        too_many = f"{file} says that {key} is for {', '.join(sorted(said - used))}, which takes no such key"
        assert said <= used, too_many
        assert used <= said, f"{file} does not say that {key} is for {', '.join(sorted(used - said))}"


def layouts_said(of: str) -> set[str]:
    """The layouts and patterns that a row is for: ``all layouts but `plain`; `pending` `` or some names."""
    found: set[str] = set()
    for part in of.split(";"):
        some, _, without = part.strip().partition(" but ")
        known = {"all": NAMED, "all layouts": LAYOUTS, "all that are edited": WRITABLE}.get(some)
        found |= set(re.findall(r"\w+", some) if known is None else known) - set(re.findall(r"\w+", without))
    return found


def test_the_parts_of_a_hash_recipe_and_their_values_are_those_that_there_are() -> None:
    told = {part: re.findall(r"`([\w-]+)`", of) for part, of in rows(manual.page("profiles"), "part", "one of")}
    kinds = get_type_hints(HashRecipe)
    assert list(told) == [each.name for each in fields(HashRecipe)]
    for each in fields(HashRecipe):
        values = ["true", "false"] if each.type is bool else list(get_args(kinds[each.name]))
        said = [value for value in told[each.name] if value in values]
        assert sorted(said) == sorted(values)
        assert said[0] == str(each.default).lower()


def test_the_classes_of_damage_are_those_of_the_table_under_their_groups() -> None:
    page = manual.page("damage")
    for group in GROUPS:
        told = re.split(r"^- ", section(page, f"## {group}"), flags=re.MULTILINE)[1:]
        there = [each for each in CLASSES.values() if each.group == group]
        titles = [each.partition("**")[2].partition(".**")[0] for each in told]
        wanted = [f"{each.code} {each.title}" for each in there]
        assert support.all_named(wanted, titles, f"The section {group!r} of resources/help/damage.md")
        assert titles == wanted
        for said, of in zip((" ".join(each.split()) for each in told), there, strict=True):
            repair = f"Repair `{of.repair.name}`:" if of.repair is not None else "No repair:"
            for words in (of.meaning, of.today, repair):
                assert words in said, f"{of.code} in resources/help/damage.md does not say {words!r}"
            assert (of.repair is not None and of.repair.ask is not None) == (" it asks" in said)


def test_as_many_repairs_ask_a_person_as_is_said() -> None:
    asking = [of for of in CLASSES.values() if of.repair is not None and of.repair.ask is not None]
    assert f"{_number(len(asking)).capitalize()} kinds ask" in manual.page("repairing").replace("\n", " ")


def _number(count: int) -> str:
    return ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")[
        count
    ]


# --- commands


def test_every_command_has_its_section_and_there_is_none_beside() -> None:
    told = [heading.removeprefix("### ") for heading in re.findall(r"^### .+$", COMMANDS, re.MULTILINE)]
    assert support.all_named([*grammar.names(), "tour"], told, "resources/help/commands.md, under ###,")
    assert len(told) == len(set(told))


@pytest.mark.parametrize("name", grammar.names())
def test_the_section_of_a_command_names_all_its_options_and_no_other(name: str) -> None:
    there = {
        option
        for action in grammar.parser(name).commands[name]._actions
        for option in action.option_strings
        if option.startswith("--") or option == "-o"
    } - {"--help"}
    common = {option.split()[0] for option, _ in rows(COMMANDS, "option", "means")}
    told = set(re.findall(r"(?<![\w-])(--[a-z][\w-]*|-o)\b", section(COMMANDS, f"### {name}")))
    place = f"The section {name!r} of resources/help/commands.md"
    assert support.all_named(there | told & common, told | there & common, place)


WITH_ROWS = [name for name in sections_with(COMMANDS, "sample:") if name in grammar.names()]


@pytest.mark.parametrize("name", support.every(3, WITH_ROWS, in_slice=True))
def test_the_examples_of_a_command_run_and_its_rows_have_the_keys_that_its_section_names(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for argv, out in run_examples(section(COMMANDS, f"### {name}"), capsys):
        if "--json" in argv:
            row = rows_of(out)[0]
            row.pop("note", None)  # only versions that never landed have one
            assert list(row) == keys_told(name)


def test_the_journals_rows_have_the_keys_that_its_section_names(capsys: pytest.CaptureFixture[str]) -> None:
    command_line.main(["edit", "sample:", "insurance.contracts", "K-204117", "--set", "notes=1"])
    capsys.readouterr()
    ((_, out),) = run_examples(section(COMMANDS, "### journal"), capsys)
    assert list(rows_of(out)[0]) == keys_told("journal")


def test_a_scan_over_time_has_the_keys_that_its_section_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "contracts.jsonl"
    dump.write_text('{"_id": 1, "v": 1}\n', encoding="utf-8")
    assert command_line.main(["scan", str(dump)]) == 0
    capsys.readouterr()
    assert command_line.main(["health", str(dump), "--json"]) == 0
    (row,) = rows_of(capsys.readouterr().out)
    assert list(row) == keys_told("health")


def keys_told(name: str) -> list[str]:
    """The keys of a command's row as its section names them: one by one, or as those of another command."""
    said = " ".join(prose(section(COMMANDS, f"### {name}")).split())
    told = re.search(r"Row: ([^.;]*)", said)
    if told is None:
        (other,) = re.findall(r"and the row are those of `(\w+)`", said)
        return keys_told(other)
    if other := re.fullmatch(r"as in `(\w+)`", told[1]):
        return keys_told(other[1])
    written = re.findall(r"`(\w+)`", section(COMMANDS, "## Writing").partition("Row:")[2].partition(";")[0])
    return [*(written if told[1].startswith("that of an edit") else []), *re.findall(r"`(\w+)`", told[1])]


def test_the_help_command_lists_the_pages_and_prints_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["help"]) == 0
    out = capsys.readouterr().out
    assert re.findall(r"^  (\w+) ", out, re.MULTILINE) == NAMES
    for name in NAMES:
        assert command_line.main(["help", name]) == 0
        assert capsys.readouterr().out == manual.page(name)


def test_the_help_command_prints_the_section_of_each_command_without_a_page(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in set(grammar.names()) - set(NAMES):
        assert command_line.main(["help", name]) == 0
        assert capsys.readouterr().out == f"### {name}\n\n{section(COMMANDS, f'### {name}').strip()}\n"


def test_the_help_command_names_the_pages_that_come_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["help", "layuot"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("The manual has no page layuot; try `palimpsest help layouts`")
    assert err.count("\n") == 1
    assert command_line.main(["help", "qqqqqq"]) == 2
    assert capsys.readouterr().err == "The manual has no page qqqqqq; `palimpsest help` lists them.\n"


def test_the_names_of_the_library_are_there() -> None:
    page = manual.page("python")
    parts = re.findall(r"`(\w+)`", section(page, "# Python").partition("Everything else")[2].partition(".\n")[0])
    assert {"catalogue", "history", "writing", "journal"} <= {*parts}
    rows = [row for row in section(page, "## A session on the sample").splitlines() if row.startswith("| `session.")]
    with Session.open("sample:") as session:
        for part in parts:
            assert hasattr(session, part), part
        for row in rows:
            (first, *_), text = re.findall(r"`session\.(\w+)`", row), row.split("|")[2]
            for name in re.findall(r"`(\w+)`", text):
                assert hasattr(getattr(session, first), name), (first, name)
    assert {name for row in rows for name in re.findall(r"`session\.(\w+)`", row)} == {*parts}


BEFORE, AFTER = {"price": 10, "tags": ["a", "b"]}, {"price": 12, "tags": ["a", "b", "new"]}


def test_each_example_of_a_change_leads_from_one_state_to_the_next() -> None:
    told = manual.page("profiles").partition("### Forms of changes")[2].partition("\n###")[0]
    tried = set()
    for part in told.split("\n**`")[1:]:
        form = FORMS[part.partition("`")[0]]
        path = part.partition('`changes = "')[2].partition('"')[0]
        for row in "\n".join(re.findall(r"```json\n(.*?)```", part, re.DOTALL)).split("\n\n"):
            stored = bson.encode(json_util.loads(row))
            places = (value_at(stored, each) for each in (path or "changes", ""))
            patch = node_of(next(value for value in places if value is not None))
            before, after = tree_of(bson.encode(BEFORE)), tree_of(bson.encode(AFTER))
            assert form.apply(before, patch) == after, row
            if not re.search('"changedTo"|"U"', row):  # these say only what is new
                assert form.unapply(after, patch) == tree_of(bson.encode(BEFORE)), row
            tried.add(form.name)
    assert tried == {*FORMS}
