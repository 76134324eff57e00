"""The texts on a comparison's two sides: values on one line, with the differing characters marked."""

from __future__ import annotations

import bisect
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from gui.language import tr
from gui.parts.values import value_text
from gui.style import symbols, wording
from gui.style.cells import Cell, Span, plain, value
from model import text
from model.diff import Move, Operation, Reorder, TextEdit, text_edits
from model.errors import Refused
from model.values import canonical
from model.values.canonical import Value

if TYPE_CHECKING:
    from gui.parts.differences.diff_grouping import Place
    from gui.parts.differences.diff_node import DiffNode

SHOWN = 200  # characters of a long value
LEAD = 12  # characters kept before the first difference if a row is cut; fewer in a narrow column
HUGE = 1 << 20  # a longer string is only named by its size
_WALKED = 1 << 16  # bytes of a container whose fields are still counted

Range = tuple[int, int]


def type_cell(node: DiffNode) -> Cell:
    """The type, or both if they differ."""
    kinds = [Value(slot[1], b"").kind for slot in (node.a, node.b) if slot is not None]
    if len(set(kinds)) == 2:
        return plain("  →  ".join(kinds), size=12, weight=500, accessible=tr(" became ").join(kinds))
    return plain(kinds[0] if kinds else "Object", "text2", size=12)


def sides(node: DiffNode, zone: str, room: int) -> tuple[Cell, Cell]:
    """Both value cells of a row; ``room`` is how many characters fit into a column."""
    place = node.place
    reorder = place.reorder if place is not None else None
    if reorder is not None:
        return _orders(reorder, room)
    if place is not None and place.inside:
        words = [wording.by_size(n, place.is_array) for n in (place.size_a, place.size_b)]
        return value(words[0], "text2"), value(words[1], "text2")
    op = place.also or place.op if place is not None else None
    a, b = node.value("a"), node.value("b")
    tint = node.tint
    if node.kind == "same" or not tint:
        return value(shown(a, zone), "text2"), value(shown(b, zone), "text2")
    _, ground, strong, _ = symbols.CHANGES[place.also.op if place is not None and place.also is not None else tint]
    if a is None or b is None:
        return _one_sided(a, ground, zone), _one_sided(b, ground, zone)
    left, right = marked(a, b, op, zone, room, strong)
    return value_spans(left, ground), value_spans(right, ground)


def inline(node: DiffNode, zone: str, room: int) -> Cell:
    """Both values of a row in one cell: removed words are struck out, added ones follow; long values are cut."""
    place = node.place
    a, b = node.value("a"), node.value("b")
    if place is not None and place.inside and place.reorder is None:
        return _sizes(place)
    tint = "reorder" if place is not None and place.reorder is not None else node.tint
    if not tint or node.kind == "same":
        return _unmarked(a, b, zone)
    ground = symbols.CHANGES[tint][1]
    if tint != "reorder" and (a is None or b is None):
        gone = b is None
        return value_spans((Span(shown(a if gone else b, zone), struck=gone),), ground)
    if isinstance(node.op, Move) and a == b:
        return value(shown(b, zone), ground=ground)
    left, right = (cell.spans for cell in sides(node, zone, room // 2))
    made = _woven(left, right)
    words = tr(
        "{text} became {text2}", text="".join(span.text for span in left), text2="".join(span.text for span in right)
    )
    return replace(value_spans(made, ground), accessible=words)


def _sizes(place: Place) -> Cell:
    """The sizes of a container with changes inside."""
    old, new = (wording.by_size(n, place.is_array) for n in (place.size_a, place.size_b))
    return value(old if old == new else f"{old}  →  {new}", "text2")


def _unmarked(a: Value | None, b: Value | None, zone: str) -> Cell:
    """The value of a row that is not a change itself; both values if only their types or digits differ."""
    if a is not None and b is not None and a != b:
        return value(f"{shown(a, zone)}  →  {shown(b, zone)}", "text2")
    return value(shown(b if b is not None else a, zone), "text2")


def _woven(left: tuple[Span, ...], right: tuple[Span, ...]) -> tuple[Span, ...]:
    """Two texts as one if they share enough: words only in the old one are struck out, new ones follow."""
    made = _one_text(left, right) if any(span.mark for span in (*left, *right)) else None
    both = sum(len(span.text) for span in made or () if not span.mark)
    if made is None or both < 4 or both * 4 < min(sum(len(span.text) for span in side) for side in (left, right)):
        struck = tuple(replace(span, mark="remS" if span.mark else "", struck=True) for span in left)
        come = tuple(replace(span, mark="addS" if span.mark else "") for span in right)
        return (*struck, Span("  →  ", "text2"), *come)
    return made


def _one_text(left: tuple[Span, ...], right: tuple[Span, ...]) -> tuple[Span, ...] | None:
    """Two texts woven together, up to the end of the shorter piece of a long one; None if they do not fit."""
    made: list[Span] = []
    old, new = list(left), list(right)
    while old or new:
        if old and old[0].mark:
            made.append(replace(old.pop(0), mark="remS", struck=True))
        elif new and new[0].mark:
            made.append(replace(new.pop(0), mark="addS"))
        elif not old or not new:
            return None
        else:  # a stretch that both share; the marks of each side may cut it at different places
            length = value_text.common(old[0].text, new[0].text)
            if not length:
                is_cut = any(side[0].text.startswith("…") for side in (old, new))
                return (*made, Span("…")) if is_cut else None
            made.append(replace(old[0], text=old[0].text[:length]))
            for side in (old, new):
                side[0] = replace(side[0], text=side[0].text[length:])
                if not side[0].text:
                    side.pop(0)
    return tuple(made)


def _one_sided(v: Value | None, ground: str, zone: str) -> Cell:
    return Cell(hatch=True, accessible=tr("absent")) if v is None else value(shown(v, zone), ground=ground)


def value_spans(spans: tuple[Span, ...], ground: str) -> Cell:
    """A value's cell made from runs of text."""
    return Cell(spans=spans, mono=True, size=12, ground=ground)


def shown(v: Value | None, zone: str) -> str:
    """A value on one line; a large container only by its size, because counting its fields takes time."""
    if v is None:
        return ""
    if v.is_container and len(v.data) > _WALKED:
        return f"{{ … }} {value_text.note_of(v)}" if v.type == canonical.OBJECT else f"[ … ] {value_text.note_of(v)}"
    try:
        return text.shown(v, zone, SHOWN)
    except Refused:  # invalid BSON deep inside: its place can still be shown
        return tr("unreadable {kind}, {data}", kind=v.kind, data=wording.size(len(v.data)))


def marked(
    a: Value, b: Value, op: Operation | None, zone: str, room: int, strong: str
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Two values as runs of text, their differences on ``strong``; long ones are cut around the first difference."""
    if a.type == b.type == canonical.STRING:
        if max(len(a.data), len(b.data)) > HUGE:
            return (Span(tr("{a}, Space to see it", a=shown(a, zone))),), (
                Span(tr("{b}, Space to see it", b=shown(b, zone))),
            )
        return _strings(a, b, op, room, strong)
    left, right = shown(a, zone), shown(b, zone)
    if (a.type == b.type == canonical.BINARY and max(len(left), len(right)) > room) or _sizes_only(a, b, left, right):
        return _bytes(a, b, room, strong)
    if a.type != b.type or isinstance(op, Move) or a.is_container:
        return (Span(left),), (Span(right),)
    before, after = value_text.marks_between(a, b, left, right)
    return _runs(left, before, strong), _runs(right, after, strong)


def _sizes_only(a: Value, b: Value, left: str, right: str) -> bool:
    return a.type == b.type == canonical.BINARY and '"' not in left + right


def _bytes(a: Value, b: Value, room: int, strong: str) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    """Two binaries as their size and the bytes around the first difference."""
    old, new = value_text.content_bytes(a), value_text.content_bytes(b)
    first = value_text.common(old, new)
    return _hex(old, new, first, room, strong), _hex(new, old, first, room, strong)


def _hex(mine: bytes, other: bytes, first: int, room: int, strong: str) -> tuple[Span, ...]:
    lead = wording.size(len(mine))
    start = 0 if first * 3 + len(lead) < room // 2 else max(0, first - 3)
    size = Span(lead, "text2", "" if lead == wording.size(len(other)) else strong)
    spans = [size, Span("  "), Span("… " if start else "")]
    for at in range(start, min(len(mine), start + SHOWN // 3)):
        same = at < len(other) and mine[at] == other[at]
        spans.append(Span(f"{mine[at]:02x}", mark="" if same else strong))
        spans.append(Span(" "))
    return tuple(span for span in spans if span.text)


def _ranges(edits: Sequence[tuple[int, str, str]]) -> tuple[list[Range], list[Range]]:
    old: list[Range] = []
    new: list[Range] = []
    shift = 0
    for at, gone, come in edits:
        old.append((at, at + len(gone)))
        new.append((at + shift, at + shift + len(come)))
        shift += len(come) - len(gone)
    return old, new


def _strings(
    a: Value, b: Value, op: Operation | None, room: int, strong: str
) -> tuple[tuple[Span, ...], tuple[Span, ...]]:
    old, new = _text(a), _text(b)
    if isinstance(op, TextEdit):
        before, after = _ranges(op.edits)
    elif len(old) + len(new) <= 4096:
        before, after = _ranges(text_edits(old, new))
    else:
        before, after = value_text.differing(old, new)
    first = min((r[0][0] for r in (before, after) if r), default=0)
    reach = max((r[0][1] for r in (before, after) if r), default=0)
    start = 0 if reach <= room - 4 else max(0, first - min(LEAD, room // 3))
    left, right = _window(old, before, start, strong, len(a.data)), _window(new, after, start, strong, len(b.data))
    return left, right


def _text(v: Value) -> str:
    return v.data[4:-1].decode("utf-8", "surrogateescape")


def _window(words: str, ranges: list[Range], start: int, strong: str, size: int) -> tuple[Span, ...]:
    """A stretch of a string in quotes, followed by its size if it is long."""
    end = min(len(words), start + SHOWN)
    inside = [(max(x, start) - start, min(y, end) - start) for x, y in ranges if y > start and x < end]
    runs = _runs(words[start:end], inside, strong, quoted=True)
    cut = end < len(words)
    tail = "…" if cut else '"'
    extra = f'" {wording.size(size - 5)}' if cut and size > 1029 else '"' if cut else ""
    return (Span('"' if start == 0 else '"…'), *runs, Span(tail + extra))


def _runs(words: str, ranges: list[Range], strong: str, quoted: bool = False) -> tuple[Span, ...]:
    say = _printed if quoted else str
    made: list[Span] = []
    at = 0
    for start, end in ranges:
        if end <= start:
            continue
        if start > at:
            made.append(Span(say(words[at:start])))
        made.append(Span(say(words[start:end]), mark=strong))
        at = end
    if at < len(words):
        made.append(Span(say(words[at:])))
    return tuple(made)


def _printed(words: str) -> str:
    """A piece of a string, printed as everywhere but without the quotes."""
    data = words.encode("utf-8", "surrogateescape")
    piece = Value(canonical.STRING, struct.pack("<i", len(data) + 1) + data + b"\x00")
    return text.shown(piece, limit=len(words) + 1)[1:-1]


def _orders(op: Reorder, room: int) -> tuple[Cell, Cell]:
    """Both orders of the fields, with moved ones marked; cut before the first of them."""
    _, ground, strong, _ = symbols.CHANGES["reorder"]
    both = set(op.names_old) & set(op.names_new)
    old, new = ([n for n in names if n in both] for names in (op.names_old, op.names_new))
    first = next((i for i, (x, y) in enumerate(zip(old, new, strict=True)) if x != y), 0)
    moved = moved_names(old, new)
    left, right = (value_spans(_order(names, first, moved, room, strong), ground) for names in (old, new))
    return left, right


def moved_names(old: list[str], new: list[str]) -> set[str]:
    """The fewest names that have to move: all but a longest run that stayed in order."""
    at = {name: i for i, name in enumerate(old)}
    ends: list[int] = []  # for each length of run, the least position where one ends
    before: list[tuple[int, str]] = []  # for each name, the run that it continues
    holders: list[int] = []
    for i, name in enumerate(new):
        length = bisect.bisect_left(ends, at[name])
        before.append((holders[length - 1], name) if length else (-1, name))
        ends[length : length + 1] = [at[name]]
        holders[length : length + 1] = [i]
    stayed: set[str] = set()
    i = holders[-1] if holders else -1
    while i >= 0:
        i, name = before[i]
        stayed.add(name)
    return set(new) - stayed


def _order(names: list[str], first: int, moved: set[str], room: int, strong: str) -> tuple[Span, ...]:
    words = [text.name_text(name) for name in names]
    start = 0 if sum(len(w) + 2 for w in words[: first + 1]) <= room else max(0, first - 1)
    end = start + 40
    spans = [Span("… " if start else "")]
    for i, word in enumerate(words[start:end], start):
        spans.append(Span(word, mark=strong if names[i] in moved else ""))
        if i + 1 < len(words):
            spans.append(Span(", ", "text2"))
    if end < len(words):
        spans.append(Span(tr("… {words:,} more", words=len(words) - end), "text2"))
    return tuple(span for span in spans if span.text)
