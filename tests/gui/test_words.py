"""One word for each thing: the list in the manual, held against the texts of the window and the manual itself."""

from __future__ import annotations

import re

import pytest

from resources import manual
from tests.resources.manual_text import NAMES
from tests.translating import catalogue

OTHERS = (
    "repair centre",
    "repair center",
    "roll back",
    "rollback",
    "migration",
    "simulation",
    "trial run",
    "audit log",
)
"""Other words for the same things, which nothing says."""
NAMED = re.compile(r"\{.*?\}|`.*?`|\w+(\.\w+)+")
"""What is said for a reader in no language: values, commands, and names such as ``config.collections``."""


def words() -> dict[str, str]:
    """Each word of the manual's list, with its German."""
    there = manual.page("start").partition("## One word for each thing")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in there.splitlines() if line.startswith("|")
    ]
    return {english: german for english, german, _ in rows[2:]}


def stem(german: str) -> str:
    """As much of a word as its inflections share, without umlauts."""
    return plain(german).removesuffix("e").removesuffix("en").removesuffix("nehm").removesuffix("f")


def plain(german: str) -> str:
    return german.casefold().translate(str.maketrans("äöü", "aou"))


@pytest.mark.parametrize("word", words())
def test_german_has_one_word_where_english_has_one(word: str) -> None:
    german, plural = stem(words()[word]), "" if word.endswith("s") or " " in word else "s?"
    told = {text.source: said for text, said in catalogue.read("de").items()}
    there = {en: de for en, de in told.items() if re.search(rf"\b{word}{plural}\b", NAMED.sub("", en), re.I)}
    assert there
    assert {en: de for en, de in there.items() if not all(german in plain(one) for one in de)} == {}


def test_no_text_of_the_window_or_the_manual_has_another_word() -> None:
    texts = [text.source for text in catalogue.read("de")]
    pages = [line for name in NAMES if name != "notices" for line in manual.page(name).splitlines()]
    found = [
        said
        for said in (*texts, *pages)
        for other in OTHERS
        if re.search(rf"\b{other}\b", re.sub("`.*?`", "", said), re.I)
    ]
    assert found == []
