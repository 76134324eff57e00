"""A diff in other forms: lines of text, sentences, JSON Patch, DeepDiff's text view and its Delta."""

from __future__ import annotations

import unicodedata

from model.diff.distances import distances
from model.diff.json_patch import json_patch
from model.diff.operations import Diff, Move, Operation, Reorder, Retype, TextEdit
from model.errors import Refused
from model.foundation.hidden_characters import plain
from model.text import name_text, path_text, shown
from model.values.canonical import BINARY, CODE, OBJECT, STRING, SYMBOL, Value

__all__ = ["to_deepdiff", "to_delta", "to_json_patch", "to_lines", "to_words"]

_SIGNS = {"add": "+", "remove": "-", "replace": "~", "retype": "t", "move": ">", "reorder": "o", "text": "~"}


def to_json_patch(changes: Diff, a: bytes, b: bytes, kind: int = OBJECT) -> str:
    """A JSON Patch (RFC 6902); applied to the relaxed Extended JSON of ``a``, it gives that of ``b``.

    ``kind`` says whether both are documents or both arrays.
    """
    return json_patch(changes, Value(kind, a), Value(kind, b))


def to_deepdiff(a: bytes, b: bytes, kind: int = OBJECT) -> str:
    """DeepDiff's text view as JSON, with values as canonical Extended JSON.

    It is exact where DeepDiff alone is not: leaves are compared by their bytes, a BSON type is a type, and documents
    with another order of fields are under ``key_order_changed``. ``Delta(json.loads(…))`` turns the canonical
    Extended JSON of ``a`` into that of ``b``. Raises ``Refused`` for documents nested too deep for DeepDiff.
    """
    from model.diff.deepdiff_tree import text_view  # imports DeepDiff, which is slow

    try:
        return text_view(Value(kind, a), Value(kind, b))
    except RecursionError:
        raise Refused("These documents are nested too deep for DeepDiff; take another format, such as json.") from None


def to_delta(a: bytes, b: bytes, title: str = "") -> str:
    """A Python program with a DeepDiff ``Delta`` that turns ``a`` into ``b``, both as PyMongo decodes them.

    It was run before it is returned: the result is ``b``, byte for byte. ``title`` is its first line. Raises
    ``Refused`` if a Delta cannot express the difference.
    """
    from model.diff.delta_program import program  # imports DeepDiff

    try:
        return program(a, b, title)
    except RecursionError:
        raise Refused("These documents are nested too deep for DeepDiff; take another format, such as json.") from None


def to_words(changes: Diff, zone: str = "UTC") -> str:
    """A sentence for each change, for people; if there is none, one sentence that says so."""
    if not changes:
        return "Nothing changed."
    return "\n".join(_sentence(op, zone) for op in changes)


def _sentence(op: Operation, zone: str) -> str:
    name = plain(path_text(op.path)) or "the whole document"
    start = name if op.path else "The whole document"
    if isinstance(op, Reorder):
        whose = f"The fields of {name}" if op.path else "The fields of the document"
        return f"{whose} stand in another order: {plain(', '.join(map(name_text, op.names_new)))}."
    if isinstance(op, Move):
        return f"{start} moved to {plain(path_text(op.to_path))}; it is {shown(op.old, zone, 80)}."
    if isinstance(op, TextEdit):
        places = "1 place" if len(op.edits) == 1 else f"{len(op.edits):,} places"
        return f"The text of {name} changed in {places}: {'; '.join(_edit_words(op, zone))}."
    if op.old is None or op.new is None:
        if op.new is not None:
            return f"{start} was added: {shown(op.new, zone)}."
        return f"{start} was removed; it was {shown(op.old, zone)}." if op.old is not None else ""
    old, new = shown(op.old, zone), shown(op.new, zone)
    if isinstance(op, Retype):
        return f"{start} is {_named(op.new.kind)} now instead of {_named(op.old.kind)}; its value, {new}, is the same."
    if op.old.type != op.new.type:
        return f"{start} changed from {old}, {_named(op.old.kind)}, to {new}, {_named(op.new.kind)}."
    alike = (
        f", from byte {distances().Prefix.similarity(_content(op.old), _content(op.new))} on"
        if _alike(old) == _alike(new)
        else ""
    )
    return f"{start} changed from {old} to {new}{alike}."


def _named(kind: str) -> str:
    return f"{'an' if kind[:1] in 'AEIOU' else 'a'} {kind}"


def _edit_words(op: TextEdit, zone: str) -> list[str]:
    words = []
    for _, removed, inserted in op.edits:
        gone = shown(Value.of(removed), zone, 80) if removed else ""
        come = shown(Value.of(inserted), zone, 80) if inserted else ""
        both = f"{gone} became {come}" if gone and come else ""
        words.append(both or (f"{gone} was removed" if gone else f"{come} was added"))
    return words


def to_lines(changes: Diff, zone: str = "UTC") -> str:
    """One or more lines for each change, for people; "" if there is none."""
    lines = [line for op in changes for line in _lines(op, zone)]
    if changes.coarse:
        lines.append("(This is correct, but not the smallest difference: finding that would take too long.)")
    return "\n".join(lines)


def _lines(op: Operation, zone: str) -> list[str]:
    head = f"{_SIGNS[op.op]} {plain(path_text(op.path)) or 'the whole document'}"
    if isinstance(op, Reorder):
        orders = (plain(", ".join(map(name_text, names))) for names in (op.names_old, op.names_new))
        return [f"{head}: fields in another order", *(f"    {order}" for order in orders)]
    if isinstance(op, Move):
        return [f"{head}: moved to {plain(path_text(op.to_path))}: {shown(op.old, zone, 80)}"]
    if isinstance(op, TextEdit):
        return [f"{head}: text changed", *_edits(op, zone)]
    if op.old is None:
        return [f"{head}: {shown(op.new, zone)}"] if op.new is not None else []
    if op.new is None:
        return [f"{head}: {shown(op.old, zone)}"]
    kinds = "" if op.old.type == op.new.type else f" ({op.old.kind} to {op.new.kind})"
    old, new = shown(op.old, zone), shown(op.new, zone)
    where = [_first_bytes(op.old, op.new)] if _alike(old) == _alike(new) and not kinds else []
    return [f"{head}: {old} -> {new}{kinds}", *where]


def _alike(text: str) -> str:
    """The text without invisible characters, in a normal form."""
    return "".join(x for x in unicodedata.normalize("NFKC", text) if unicodedata.category(x) != "Cf")


def _first_bytes(old: Value, new: Value) -> str:
    """The first bytes in which two values differ that look alike, such as long binaries of one size."""
    a, b = _content(old), _content(new)
    at = distances().Prefix.similarity(a, b)
    return f"    ~ at byte {at}: {_hex(a, at)} -> {_hex(b, at)}"


def _content(value: Value) -> bytes:
    if value.type in (STRING, SYMBOL, CODE):
        return value.data[4:-1]
    return value.data[5:] if value.type == BINARY else value.data


def _hex(data: bytes, at: int) -> str:
    return data[at : at + 8].hex(" ") + (" …" if len(data) > at + 8 else "")


def _edits(op: TextEdit, zone: str) -> list[str]:
    lines = []
    for at, removed, inserted in op.edits:
        gone = shown(Value.of(removed), zone, 80) if removed else ""
        come = shown(Value.of(inserted), zone, 80) if inserted else ""
        sign, said = ("~", f"{gone} -> {come}") if gone and come else ("-", gone) if gone else ("+", come)
        lines.append(f"    {sign} at {at}: {said}")
    return lines
