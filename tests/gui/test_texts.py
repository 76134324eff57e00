"""Every text of the window goes through the door, and every catalogue has all of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QLocale, QTranslator
from PySide6.QtGui import QKeySequence

from gui.language import CONTEXT, COUNTED, LANGUAGES, MODEL
from gui.language import catalogue as file_of
from tests import support
from tests.translating import catalogue
from tests.translating.bare_texts import bare
from tests.translating.doors import counted_values, misnamed, past_the_door

CODES = sorted(LANGUAGES.keys() - {"en"})
ALIEN = ("gui/tour/", "gui/__main__.py")  # what is printed on a terminal, and the tour's own page of samples
FILES = [path for path in sorted((support.ROOT / "gui").rglob("*.py"))
         if not path.relative_to(support.ROOT).as_posix().startswith(ALIEN)]  # fmt: skip


def where(finder: Callable[[str], Iterator[tuple[int, str]]]) -> str:
    """A line for each text that is found, with its place."""
    found = [(path, line, said) for path in FILES for line, said in finder(path.read_text("utf-8"))]
    return "\n".join(f"{path.relative_to(support.ROOT)}:{line}: {said}" for path, line, said in found)


def test_no_text_reaches_people_past_the_door() -> None:
    found = where(past_the_door)
    assert not found, f'write tr("… {{value}} …", value=…) around the whole text, as a literal, for each of\n{found}'


def test_each_text_gets_the_values_that_it_names() -> None:
    found = where(misnamed)
    assert not found, f"name each value as in the braces of its text, and give no other, in\n{found}"


@pytest.mark.parametrize(
    "code",
    [
        'label.setText("Nothing is changed")', 'label.setText(f"{count} of {total}")', 'words("Close")',
        'button("Save" if ready else "", go)', 'tool("x", "Close (Esc)", go)', 'Cell(accessible="not there")',
        'messages.tell(self, f"{name} is gone")', 'tasks.run(work, title="Reading a page")', 'box.addRow("Name", line)',
        'item("File", "quit", "Quit", "Ctrl+Q")', 'raise Refused("Choose another name.")', 'words(said or "no date")',
        'tr(f"{count} of {total}")', 'tr("Fields that differ: " + str(count))', 'wording.many(count, f"{kind} field")',
    ],
)  # fmt: skip
def test_a_text_past_the_door_is_found(code: str) -> None:
    assert len(list(past_the_door(code))) == 1


@pytest.mark.parametrize(
    "code",
    [
        'label.setText(tr("Nothing is changed"))', 'words(name, "second")', 'button(tr("Save"), go, "main")',
        'label.setText(f"{name}: {count}")', 'button("", go)', 'QCheckBox("JSON")', 'tool("arrow-up", tr("Back"))',
        'item("File", "quit", tr("Quit"), "Ctrl+Q", "session settable")', 'line.setPlaceholderText("mongodb://host/")',
    ],
)  # fmt: skip
def test_data_and_texts_through_the_door_are_none(code: str) -> None:
    assert not list(past_the_door(code))


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ('tr("{n} of {total}", n=1, total=2)', 0), ('tr("{n} of {total}", n=1)', 1), ('tr("{n} left", count=1)', 1),
        ('tr("{} left", 1)', 1), ('tr("Copy {what}")', 0), ('tr("{n} left", **values)', 0),
    ],
)  # fmt: skip
def test_a_text_with_other_values_than_it_names_is_found(code: str, found: int) -> None:
    assert len(list(misnamed(code))) == found


@pytest.mark.parametrize("code", CODES)
def test_the_catalogue_has_each_text_of_the_code_translated_and_no_other(code: str) -> None:
    """`python -m tests.translating` brings it into step."""
    known, now = catalogue.read(code), catalogue.texts()
    window = {text: forms for text, forms in known.items() if not text.model}
    to_translate(code, [f"{text.source} ({where})" for text, where in now.items() if not window.get(text)])
    sentences = catalogue.sentences()
    gone = [text.source for text in window.keys() - now.keys()]
    gone += [text.source for text in known if text.model and text.source not in sentences]
    assert not gone, f"run python -m tests.translating: {code} still has {gone}"


def to_translate(code: str, lacking: list[str]) -> None:
    """Say what a language lacks, a line each, and how to add it."""
    lines = "\n".join([*lacking[:20], *([f"and {len(lacking) - 20:,} more"] if len(lacking) > 20 else [])])
    assert not lacking, f"run python -m tests.translating, then translate into {code} what it lists:\n{lines}"


def translated(code: str) -> dict[catalogue.Text, tuple[str, ...]]:
    """The texts of a catalogue that are translated."""
    return {text: forms for text, forms in catalogue.read(code).items() if forms}


@pytest.mark.parametrize("code", CODES)
def test_a_translation_has_the_values_and_the_edges_of_its_text(code: str) -> None:
    for text, forms in translated(code).items():
        assert len(forms) == (2 if text.counted else 1), f"{text.source} has {len(forms)} forms in {code}"
        for form in forms:
            assert catalogue.names_in(form) <= text.names, (text.source, form)
            assert form[:1].isspace() == text.source[:1].isspace(), (text.source, form)
            assert form[-1:].isspace() == text.source[-1:].isspace(), (text.source, form)
            assert form.endswith("…") == text.source.endswith("…"), (text.source, form)
            assert form.endswith(" …") == text.source.endswith(" …"), (text.source, form)
            assert ("&" in form) == ("&" in text.source), (text.source, form)
            if text.names and not text.model:
                form.replace(":dative}", "}").format(**dict.fromkeys(text.names, 1))  # no brace is left open


def test_the_manual_names_each_language() -> None:
    page = (support.ROOT / "resources/help/start.md").read_text("utf-8")
    names = [QLocale.languageToString(QLocale(code).language()) for code in LANGUAGES]
    missing = [name for name in names if name not in page]
    assert not missing, f"resources/help/start.md does not say that the window speaks {', '.join(missing)}"


@pytest.mark.parametrize("code", CODES)
def test_each_sentence_of_the_model_that_reaches_the_window_is_translated(code: str) -> None:
    """`python -m tests.translating` lists those that are not."""
    said = catalogue.said()
    assert len(said) > 900
    to_translate(code, [text.source for text in said - translated(code).keys()])


def test_a_sentence_is_told_from_a_key_and_a_docstring() -> None:
    code = '''
"""A docstring of words."""
KEY = "max_bytes"
def said(n: int) -> str:
    """Another docstring of words."""
    if n:
        raise Refused("Name another one.")
    return f"{n} documents differ" + ("; so they stay" if n else "")
'''
    assert set(catalogue.spoken(code)) == {"Name another one.", "{0} documents differ", "; so they stay"}


@pytest.mark.parametrize("code", CODES)
def test_titles_of_menus_have_letters_of_their_own_and_copying_is_told_by_its_words(code: str) -> None:
    known = {text.source: forms[0] for text, forms in catalogue.read(code).items() if not text.model}
    titles = ("&File", "&Edit", "&View", "&Document", "&Compare", "&Repair", "&Help")
    assert len({QKeySequence.mnemonic(known[title]).toString() for title in titles}) == len(titles)
    before, _, after = known["Copy {what}"].partition("{what}")
    for copy in ("Copy details", "Copy the write token", "Copy {number}", "Copy the path"):
        assert known[copy].startswith(before), known[copy]
        assert known[copy].endswith(after), known[copy]


@pytest.mark.parametrize("code", CODES)
def test_the_compiled_catalogue_is_that_which_is_edited(code: str) -> None:
    compiled = QTranslator()
    assert compiled.load(str(file_of(code).with_suffix(".qm"))), (
        f"run python -m tests.translating, which compiles {code}"
    )
    for text, forms in translated(code).items():
        context = MODEL if text.model else CONTEXT
        if text.counted:
            assert tuple(compiled.translate(context, text.source, COUNTED, n) for n in (1, 2)) == forms
        else:
            assert compiled.translate(context, text.source) == forms[0], text.source


def test_a_word_of_english_is_seen_between_the_signs() -> None:
    known = {"status", "contracts"}
    assert bare("Жжжжжж Close жжж", known) == ["Close"]
    assert not bare('Жжж: contracts, insurance.contracts, "a text", v14', known)


def test_a_german_preposition_before_a_noun_with_its_number_asks_for_the_dative() -> None:
    said = {text.source: forms[0] for text, forms in catalogue.read("de").items() if forms and not text.counted}
    nouns = {each for path in FILES for each in counted_values(path.read_text("utf-8"))}
    before = ["von", "mit", "aus", "zu", "bei", "nach", "seit", "in"]
    wrong = {
        said[text] for text, name in nouns if re.search(rf"(?i)\b({'|'.join(before)}) \{{{name}\}}", said.get(text, ""))
    }
    assert len(nouns) > 100
    assert not wrong, f"write {{name:dative}} in {sorted(wrong)}"
