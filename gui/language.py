"""The language of the window: every text that people read goes through :func:`tr`, every noun with a number through
:func:`plural`.

The texts of the code are English; a catalogue in ``resources/translations`` holds those of another language. The
language is chosen once, before the modules with texts are loaded, so that texts in tables are right as well.

The model knows no language: it makes its sentences with their values inside. :func:`translated` finds the text in the
catalogue that a sentence was made from, and fills in the values; a sentence without such a text stays as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache, cached_property, partial
from importlib import resources
from pathlib import Path

from msgspec import Struct
from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from model.foundation.hidden_characters import visible

LANGUAGES = {"en": "English", "de": "Deutsch"}
"""The available languages, each with its own name."""
CONTEXT = "palimpsest"
MODEL = "model"  # the context of the model's sentences; values that the code does not name are numbered
COUNTED = "count"  # tells a noun after a number from the same word alone

_code = "en"
_locale = QLocale("en_US")
_translator: QTranslator | None = None
_others: list[QTranslator] = []  # Qt keeps no reference
_known: dict[str, str] = {}
_sentences: dict[str, str] = {}
_parts: dict[str, str] = {}  # parts of sentences
LONG = 3  # a value with so many blanks is rather a clause
MOST = 10_000  # sentences that are cached
_VALUE = re.compile(r"\{(\w*)\}")
_GROUPED = re.compile(r"\d{1,3}(,\d{3})+")  # a number as the model writes it
_WORD = re.compile(r"[^\W\d_]+")
_LISTED = re.compile(r"([^ ,;]+(?:, [^ ,;]+)*) and ([^ ,;]+|\d[\d,]* more)")  # names as the model lists them
_END = re.compile(r"(?<=[.?!]) (?=\S)")  # the end of a sentence that another one follows


class _Sentence(Struct, frozen=True, dict=True):
    """A sentence of the model with values in it: its pattern, and its translation."""

    parts: tuple[str, ...]  # between the values
    names: tuple[str, ...]  # of the values
    said: str

    @cached_property
    def own(self) -> int:
        """How many characters are not part of a value."""
        return sum(map(len, self.parts))

    @cached_property
    def chunk(self) -> str:
        """The longest stretch between two values: a quick first test."""
        return max(self.parts, key=len)

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Matches a sentence that has the rarest word and the chunk; adjacent values are one group."""
        first, *others = map(re.escape, self.parts)
        return re.compile(
            first + "".join(f"(.*?){part}" for part in [*filter(None, others[:-1]), *others[-1:]]), re.DOTALL
        )

    @cached_property
    def together(self) -> tuple[tuple[str, ...], ...]:
        """The names of the adjacent values in each group of the pattern."""
        found: list[tuple[str, ...]] = []
        for at, name in enumerate(self.names):
            beside = at > 0 and not self.parts[at]
            found[-1:] = [(*found[-1], name)] if beside else [*found[-1:], (name,)]
        return tuple(found)

    @cached_property
    def words(self) -> list[str]:
        """The words that stand whole in it: no value touches them and could lengthen them."""
        last = len(self.parts) - 1
        return [
            word[0]
            for at, part in enumerate(self.parts)
            for word in _WORD.finditer(part)
            if (not at or word.start()) and (at == last or word.end() < len(part))
        ]


def choose(wanted: str) -> str:
    """Set the language, that of the system if the wanted one is not available; returns its code."""
    global _code, _locale, _translator
    _code = wanted if wanted in LANGUAGES else of_system()
    _locale = QLocale("en_US" if _code == "en" else _code)
    _translator = None
    _known.clear()
    _sentences.clear()
    _parts.clear()
    if _code != "en":
        made = QTranslator()
        if made.load(str(catalogue(_code).with_suffix(".qm"))):
            _translator = made
    return _code


def catalogue(code: str) -> Path:
    """The catalogue of a language, as translators edit it; its compiled form lies beside it."""
    return Path(str(resources.files("resources").joinpath("translations", f"palimpsest_{code}.ts")))


def use(translator: QTranslator | None) -> None:
    """Use another translator instead of the catalogue."""
    global _translator
    _translator = translator
    _known.clear()
    _sentences.clear()
    _parts.clear()


def install() -> None:
    """Give the application the words of Qt's own dialogs and menus, and the language's numbers."""
    QLocale.setDefault(locale())
    while _others:
        QCoreApplication.removeTranslator(_others.pop())
    if _code != "en":
        made = QTranslator()
        if made.load(f"qtbase_{_code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
            _others.append(made)
            QCoreApplication.installTranslator(made)


def of_system() -> str:
    """The first of the system's languages that is available; English if none is."""
    asked = (name.partition("-")[0] for name in QLocale.system().uiLanguages())
    return next((code for code in asked if code in LANGUAGES), "en")


def locale() -> QLocale:
    """The locale that numbers are written in."""
    return _locale


def tr(text: str, /, **values: object) -> str:
    """A text in the window's language; ``values`` replace the names in its braces."""
    said = _known.get(text)
    if said is None:
        said = _known[text] = (_translator.translate(CONTEXT, text) if _translator is not None else "") or text
    return said.format(**{name: _seen(value) for name, value in values.items()}) if values else said


class _Words(str):
    """A value in a text. A translation may ask for its case: ``von {documents:dative}``."""

    __slots__ = ()

    def __format__(self, case: str) -> str:
        return _dative(self) if case == "dative" else super().__format__(case)


def _dative(counted: str) -> str:
    """A German noun with its number, behind "von" or "in": ``2 Dokumenten``; a single one stays as it is."""
    changes = not counted.startswith("1 ") and counted.endswith(("e", "el", "er"))
    return f"{counted}n" if changes else counted


def _seen(value: object) -> object:
    """A value as a text says it: hidden characters in foreign words are made visible."""
    return _Words(visible(value)) if isinstance(value, str) else value


def plural(number: int, one: str, more: str = "") -> str:
    """The noun for a number, without the number: ``field``, ``fields``."""
    said = _translator.translate(CONTEXT, one, COUNTED, min(abs(number), 2**31 - 1)) if _translator is not None else ""
    return said or (one if number == 1 else more or one + "s")


def translated(sentence: str) -> str:
    """One or more sentences of the model in the window's language; hidden characters in the values are made visible."""
    sentence = visible(sentence)
    if _translator is None or not sentence:
        return sentence
    found = _sentences.get(sentence)
    if found is None:
        if len(_sentences) > MOST:
            _sentences.clear()
            _parts.clear()
        parts = _END.split(sentence)
        # A text with a value at its end would take the sentences behind it for a part of that value.
        whole = "" if len(parts) == 1 or all(map(_alone, parts)) else _whole(sentence)
        found = _sentences[sentence] = _whole(sentence, plainly=True) or whole or " ".join(map(_begun, parts))
    return found


def _begun(sentence: str) -> str:
    """One sentence of several; it begins with a capital or not, as in English."""
    found = _alone(sentence) or sentence
    return found[0].upper() + found[1:] if sentence[:1].isupper() else found


def _alone(sentence: str) -> str:
    """One sentence of several by itself; "" if no text is known that it was made from."""
    return _known_as(sentence) or _behind(sentence) or _said(sentence) or _template(f" {sentence}").lstrip()


def _behind(sentence: str) -> str:
    """A sentence after the name of a file, a collection or a key: "in.json: the text ends too early"."""
    for between in (" ", ": "):
        at = sentence.find(between)
        while at > 0:
            before, rest = sentence[:at], sentence[at + len(between) :]
            if (" " not in before or _known_as(before)) and (said := _known_as(rest) or _behind(rest)):
                return f"{_known_as(before) or before}{between}{said}"
            at = sentence.find(between, at + 1) if between == ": " else -1
    return ""


def _said(part: str) -> str:
    """A sentence, or a part of one; "" if no text is known that it was made from."""
    return _known_as(part) or _whole(part)


def _known_as(part: str) -> str:
    """A part in which every word belongs to a text or a value; "" for any other."""
    found = _parts.get(part)
    if found is None:
        found = _parts[part] = _whole(part, plainly=True) or _joined(part)
    return found


def _joined(part: str) -> str:
    """Two parts that are texts of their own: "unique index on docId and v" and "_w is a write token."."""
    end = "." if part.endswith(".") else ""
    bare = part.removesuffix(end)
    for between, said_between in (("; ", "; "), (", ", ", "), (" and ", tr(" and "))):
        at = bare.rfind(between)
        while at > 0:
            clause = _known_as(bare[at + len(between) :])
            tail = said_between + clause if clause else _template(bare[at:], plainly=True)
            if tail and (head := _known_as(bare[:at])):
                return head + tail + end
            at = bare.rfind(between, 0, at)
    return ""


def _whole(sentence: str, plainly: bool = False) -> str:
    """A part as it stands, or as it begins or ends a sentence; ``plainly`` allows no unknown clause in its values."""
    if found := _template(sentence, plainly):
        return found
    bare = sentence.removesuffix(".")
    end = "." if bare != sentence else ""
    for inner in (sentence, bare):
        if inner and inner[0].isupper() and (found := _template(inner[0].lower() + inner[1:], plainly)):
            return found[0].upper() + found[1:] + (end if inner is bare else "")
    if end:
        return f"{found}." if (found := _template(bare, plainly)) else ""
    return _template(sentence[0].upper() + sentence[1:], plainly) if sentence[:1].islower() else ""


def _template(sentence: str, plainly: bool = False) -> str:
    if _translator is not None and (exact := _translator.translate(MODEL, sentence)):
        return exact
    known = _model(_code)
    if exact := known.single.get(sentence, ""):
        return exact
    share = 6 if ". " in sentence else 10
    for each in known.like(sentence):
        # A pattern that is nearly all values, such as "{0} is {1}", would match sentences that it did not make.
        if each.own * share > len(sentence) and each.chunk in sentence and (found := each.pattern.fullmatch(sentence)):
            if plainly and not all(map(_is_plain, found.groups())):
                continue
            values: dict[str, str] = {}
            for at, (names, value) in enumerate(zip(each.together, found.groups(), strict=True), 1):
                for name, one in zip(names, _apart(value, len(names)), strict=True):
                    begins = not found.start(at) and name == names[0]
                    values[name] = _value(one, begins, each.said.startswith(f"{{{name}}}"))
            return _VALUE.sub(partial(_value_of, values), each.said)
    return ""


def _is_plain(value: str) -> bool:
    """Whether a value is neither an unknown clause nor the end of a sentence before another one.

    Text in brackets is data, however long.
    """
    if (
        ("; " not in value and value.count(" ") < LONG)
        or _LISTED.fullmatch(value)
        or (value[:1] + value[-1:]) in ("{}", "[]")
    ):
        return True
    behind = _END.split(value)[1:]
    return bool(_known_as(value)) and not (behind and all(map(_known_as, behind)))


def _apart(value: str, count: int) -> list[str]:
    """Splits a group of adjacent values: the later ones are clauses that begin with a blank or a sign, or nothing."""
    ends = (found.start() for found in re.finditer(r"[ ,;:(]", value)) if count > 1 else ()
    at = next((at for at in ends if _known_as(value[at:])), len(value))
    return [value[:at], value[at:], *[""] * (count - 2)][:count]


def _value(value: str, first: bool, stays: bool) -> str:
    """A value as it is said; ``first``: it begins the sentence; ``stays``: in the translation as well."""
    if _GROUPED.fullmatch(value):
        return locale().toString(int(value.replace(",", "")))
    # Several words, or a word that begins the sentence, may be a part of it; any other word is data.
    if " " not in value and not (first and value.istitle()):
        return value
    inner = value[0].lower() + value[1:] if first and not stays else value
    return _listed(value) or _said(inner) or _said(value) or _behind(value) or value


def _listed(value: str) -> str:
    """Several names, as in ``price, name and 3 more``; "" for anything else. The names stay as they are."""
    found = _LISTED.fullmatch(value)
    if found is None:
        return ""
    names, last = found.groups()
    return names + (_template(f" and {last}") if " " in last else tr(" and ") + last)


def _value_of(values: Mapping[str, str], name: re.Match[str]) -> str:
    return values[name[1]]


class _Model:
    """The model's sentences in a language: ``single`` have no values, the others are found by their rarest word."""

    def __init__(self, code: str) -> None:
        self.single: dict[str, str] = {}
        found = []
        for source, said in _messages(code):
            for one, one_said in _sentences_of(source, said):
                if names := tuple(_VALUE.findall(one)):
                    found.append(_Sentence(tuple(_VALUE.split(one)[::2]), names, one_said))
                elif one != source:  # a whole text is found in the compiled catalogue
                    self.single.setdefault(one, one_said)
        found.sort(key=lambda each: -each.own)  # those with the most fixed characters first
        often = Counter(word for each in found for word in set(each.words))
        self._by_word: dict[str, list[tuple[int, _Sentence]]] = {}
        for at, each in enumerate(found):
            rarest = min(each.words, key=often.__getitem__, default="")
            self._by_word.setdefault(rarest, []).append((at, each))

    def like(self, sentence: str) -> list[_Sentence]:
        """The patterns whose rarest word is in a sentence, those with the most fixed characters first."""
        words = {"", *_WORD.findall(sentence)}
        return [each for _, each in sorted(row for word in words for row in self._by_word.get(word, ()))]


@cache
def _model(code: str) -> _Model:
    return _Model(code)


def _sentences_of(source: str, said: str) -> Iterator[tuple[str, str]]:
    """A text, and each of its sentences, which the model may use without the others."""
    yield source, said
    ones, ones_said = _END.split(source), _END.split(said)
    if len(ones) == len(ones_said) > 1:
        for one, one_said in zip(ones, ones_said, strict=True):
            if set(_VALUE.findall(one_said)) <= set(_VALUE.findall(one)) and len(_WORD.findall(one)) > 1:
                yield one, one_said


def _messages(code: str) -> Iterator[tuple[str, str]]:
    if not catalogue(code).exists():
        return
    from xml.etree import ElementTree  # English needs none

    for context in ElementTree.parse(catalogue(code)).iter("context"):
        if context.findtext("name") == MODEL:
            for message in context.iter("message"):
                if said := message.findtext("translation", ""):
                    yield message.findtext("source", ""), said
