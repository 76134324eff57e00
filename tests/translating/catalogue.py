"""The texts of the code, and the catalogue of their translations as Qt Linguist keeps it."""

from __future__ import annotations

import ast
import re
import string
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import PySide6

from gui.language import CONTEXT, COUNTED, MODEL, catalogue
from model.repair.damage_classes import REPAIRS
from tests import support
from tests.translating.doors import DOORS


@dataclass(frozen=True, order=True)
class Text:
    """A text of the code; ``counted``: a noun that stands with a number; ``model``: a sentence of the model."""

    source: str
    counted: bool = False
    model: bool = False

    @property
    def names(self) -> set[str]:
        """The names in its braces."""
        return names_in(self.source)


def names_in(said: str) -> set[str]:
    """The names in the braces of a text; none where the braces are no names, as in an example of JSON."""
    try:
        return {name for _, name, _, _ in string.Formatter().parse(said) if name and re.fullmatch(r"\w+", name)}
    except ValueError:
        return set(re.findall(r"\{(\d+)\}", said))


def texts() -> dict[Text, str]:
    """Every text of the window with the first place that has it."""
    found: dict[Text, str] = {}
    for path in sorted((support.ROOT / "gui").rglob("*.py")):
        where = path.relative_to(support.ROOT).as_posix()
        for text in texts_of(path.read_text("utf-8")):
            found.setdefault(text, where)
    return found | {Text(repair.noun, counted=True): "model/repair/damage_classes.py" for repair in REPAIRS.values()}


def sentences() -> set[str]:
    """Every text of the model, its values numbered; a catalogue holds those of them that the window shows."""
    return {each for here, _ in _read_model().values() for each in here}


@cache
def _read_model() -> dict[Path, tuple[set[str], set[str]]]:
    """By file of the model: all its texts, and those that are spoken; to read them takes seconds."""
    found: dict[Path, tuple[set[str], set[str]]] = {}
    for path in sorted((support.ROOT / "model").rglob("*.py")):
        nodes = list(ast.walk(ast.parse(path.read_text("utf-8"))))
        here = {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        here |= {numbered(node) for node in nodes if isinstance(node, ast.JoinedStr)}
        found[path] = here, set(_spoken(nodes))
    return found


UNSEEN = ("commands", "mql", "localserver", "pipe", "over_time/report.py", "repair/reports.py", "text/web_page.py",
          "server/code_preview.py", "diff/delta_program.py", "recognition/field_names.py",
          "recognition/lock_fields.py")  # fmt: skip
"""The rooms and files of the model that say nothing to the window: the command line, a server's own words, pages that
are files, code that is written for people, lists of the names of fields."""
OPENING = (
    *("documents_on_disk.py", "dump_cache.py", "dump_reading.py", "dumped_collections.py", "dumps.py", "large_file.py"),
    *("local_server.py", "mongodump_archive.py", "time_buckets.py"),
)
"""The files of `localserver` that say why a dump cannot be opened."""
KEYS = {
    "when answered", "rests on", "not checked", "in doubt", "repair plan", "whole number", "palimpsest revert",
    "palimpsest change", "palimpsest retain",
    "certificate of erasure", "erased in", "files with such a text", "found again", "found in", "looked for again",
    "not reached",
    "palimpsest compare", "sha1 there",
    "Of the kind", "module {0} has no attribute {1}",
    "A row of model/values/kinds.py names {0}: write {1} in {2}, above its tables.",
    "atlas tier", "change stream", "modifychangestreams has not been run", ", full error:",
    "no such file", "no servers found yet", "name or service not known", "nodename nor", "name resolution",
    "replica set", "got response id", "message length", "connection closed", "timed out", "no scheme", "wire version",
    "authentication source must be", "requires a username", "username without a password", "not yet valid",
    "requires a TOKEN_RESOURCE", "Private key doesn't match", "no certificate or crl found", "private key",
    "not authorized", "not allowed", "could not resolve hostname", "permission denied", "connection refused",
    "The draft in %s cannot be read.", "Invalid control", "version is", "sku, name", "palimpsest history",
    "taken back", "changed in place",
}  # fmt: skip
"""What stands in a plan's file, is asked for in the code, goes to the log, or is looked for in the words of others."""
CODE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|PRAGMA|WHERE) |^kind IN |IS NOT NULL|^before, after"  # of SQL
    r"|\w ?\| ?\w|^[a-z]+\["  # a type, a pattern with choices
    r"|\(\?|\\[bdsw{]|\[\^|^\^|\]\+"  # a pattern
    r"|^(, |\{)\"|^\s*<[a-z!]|^\[data-|^[A-Z]\w+\(\"?[^ ]*\"?, [^ ]*\)$"  # markup, a call
)
"""What is written for a machine."""


def said() -> set[Text]:
    """The sentences of the model that every catalogue has to have."""
    nouns = {noun for repair in REPAIRS.values() for noun in (repair.noun, repair.nouns)}
    found = {each for path in speaking() for each in _read_model()[path][1]}
    return {Text(each, model=True) for each in found - nouns - KEYS if not CODE.search(each)}


def speaking() -> Iterator[Path]:
    """The files of the model whose sentences come into the window."""
    room = support.ROOT / "model"
    for path in sorted(room.rglob("*.py")):
        place = path.relative_to(room).as_posix()
        opens = place.startswith("localserver") and path.name in OPENING
        if opens or not place.startswith(UNSEEN):
            yield path


def spoken(code: str) -> Iterator[str]:
    """The texts in a piece of code that have several words, their values numbered; not those that document it."""
    return _spoken(list(ast.walk(ast.parse(code))))


def _spoken(nodes: list[ast.AST]) -> Iterator[str]:
    inner = {part for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    silent = {node.value for node in nodes if isinstance(node, ast.Expr)} | inner
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Sign":
            silent |= {*node.args[:2]}  # the name of a sign, and what it looks at, are for who reads the table
    for node in nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and node not in silent:
            said = numbered(node) if isinstance(node, ast.JoinedStr) else node.value
            if isinstance(said, str) and len(re.findall(r"[A-Za-z]{2,}", re.sub(r"\{[^}]*\}", "", said))) > 1:
                yield from (said,) if " " in said.strip() else ()


def numbered(node: ast.JoinedStr) -> str:
    """A text with values, which are numbered: ``{0} holds {1}``."""
    parts, at = [], 0
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(str(part.value))
        else:
            parts.append(f"{{{at}}}")
            at += 1
    return "".join(parts)


def texts_of(code: str) -> Iterator[Text]:
    """The texts that a piece of code hands to the door: literals in calls of ``tr``, ``plural`` and ``many``."""
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        first = DOORS.get(called)
        if first is None or len(node.args) <= first:
            continue
        one = node.args[first]
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield Text(one.value, called != "tr")


def read(code: str) -> dict[Text, tuple[str, ...]]:
    """A catalogue: one form for each text, two for a noun with its number; () where it is not translated yet."""
    found: dict[Text, tuple[str, ...]] = {}
    if not catalogue(code).exists():
        return found
    for context in ET.parse(catalogue(code)).iter("context"):
        for message in context.iter("message"):
            counted, model = message.get("numerus") == "yes", context.findtext("name") == MODEL
            said = message.find("translation")
            assert said is not None
            forms = tuple(each.text or "" for each in said.iter("numerusform")) if counted else (said.text or "",)
            text = Text(message.findtext("source", ""), counted, model)
            found[text] = forms if all(forms) and said.get("type") is None else ()
    return found


def write(code: str, translated: dict[Text, tuple[str, ...]]) -> None:
    """Write a catalogue, sorted, so that a change shows as what it is."""
    root = ET.Element("TS", version="2.1", language=code, sourcelanguage="en")
    for name in (CONTEXT, MODEL):
        context = ET.SubElement(root, "context")
        ET.SubElement(context, "name").text = name
        for text in sorted(text for text in translated if text.model == (name == MODEL)):
            _message(context, text, translated[text])
    ET.indent(root)
    written = ET.tostring(root, encoding="unicode")
    catalogue(code).write_text(f'<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE TS>\n{written}\n', "utf-8")


def _message(context: ET.Element, text: Text, forms: tuple[str, ...]) -> None:
    message = ET.SubElement(context, "message", {"numerus": "yes"} if text.counted else {})
    ET.SubElement(message, "source").text = text.source
    if text.counted:
        ET.SubElement(message, "comment").text = COUNTED
    said = ET.SubElement(message, "translation", {} if forms else {"type": "unfinished"})
    if text.counted:
        for form in forms or ("", ""):
            ET.SubElement(said, "numerusform").text = form
    elif forms:
        said.text = forms[0]


def update(code: str) -> tuple[list[Text], list[Text]]:
    """Bring a catalogue into step with the code; returns what is still to be translated, and what is gone."""
    known, there = read(code), sentences()
    now = dict.fromkeys(texts()) | dict.fromkeys(said())
    now |= {text: None for text in known if text.model and text.source in there}
    write(code, {text: known.get(text, ()) for text in now})
    return sorted(text for text in now if not known.get(text)), sorted(set(known) - set(now))


def compile_(code: str) -> None:
    """Write the file that the window loads, by Qt's own tool."""
    tool = Path(PySide6.__file__).parent / "lrelease"
    subprocess.run([tool, "-silent", catalogue(code), "-qm", catalogue(code).with_suffix(".qm")], check=True)
