"""Invisible characters are shown as codes, wherever foreign words reach a person."""

from __future__ import annotations

import json
import sys
import unicodedata

from model import text
from model.foundation.hidden_characters import escaped, escaped_once, plain, visible
from model.foundation.toml_text import from_line, to_line
from model.text import scalars
from tests import support

UNSEEN = [
    chr(at) for at in range(sys.maxunicode + 1) if unicodedata.category(chr(at)) in ("Cc", "Cf", "Cs", "Zl", "Zp")
]
JOINERS = "\u200c\u200d"
PREFIXES = [each for each in UNSEEN if "\u0600" <= each <= "\u08e2" or each in "\U000110bd\U000110cd"]
"""Signs over Arabic and Kaithi digits, and joined hieroglyphs and shorthand, which are seen."""


def test_no_character_that_is_not_seen_or_is_acted_on_comes_through() -> None:
    hidden = [each for each in UNSEEN if not (each in PREFIXES or "\U00013430" <= each <= "\U0001bca3")]
    assert len(hidden) > 2200
    assert not [hex(ord(each)) for each in hidden if each in escaped(f"a{each}b")]
    assert not [hex(ord(each)) for each in hidden if each in plain(f"a{each}b")]
    assert [each for each in hidden if each in visible(f"a{each}b")] == ["\t", "\n"]


@support.table(
    "written",
    ["👨\u200d👩\u200d👧", "می\u200cخواهم", "क्\u200dष", "🏳\ufe0f\u200d🌈", "Grüße, 日本語, עברית", "e\u0301", "\ufffd"],
)
def test_the_writing_of_people_stays_as_it_is(written: str) -> None:
    assert escaped(written) == plain(written) == visible(written) == written


@support.table("joiner", JOINERS)
def test_a_joiner_that_joins_nothing_is_shown(joiner: str) -> None:
    code = f"\\u{ord(joiner):04x}"
    assert escaped(f"pay{joiner}pal {joiner}") == f"pay{code}pal {code}"


def test_json_with_the_codes_is_read_back_as_it_was() -> None:
    for each in UNSEEN:
        words = f"\\ a{each}b"
        quoted = scalars.quoted(words)
        assert json.loads(quoted) == words
        if not "\ud800" <= each <= "\udfff":
            assert each == "\0" or text.path_from_text(text.name_text(words)) == (words,)


def test_toml_with_the_codes_is_read_back_as_it_was() -> None:
    for each in UNSEEN:
        if not "\ud800" <= each <= "\udfff":
            assert from_line(to_line(f"a{each}b")) == f"a{each}b"


def test_a_language_without_pairs_of_codes_gets_longer_ones() -> None:
    assert escaped_once("\u202e\U000e0041") == "\\u202e\\U000e0041"
    assert escaped("\u202e\U000e0041") == "\\u202e\\udb40\\udc41"
