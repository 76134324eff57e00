"""Whole values as readable text: strings as they are, binary as hex, containers as indented Extended JSON.

Made in a task: nothing here touches a widget. Lines are broken at :data:`LONGEST` characters, or at the end of a word
before, because a text view lays out a whole line at once; a copy is made from the value itself.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, AnyStr

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from gui.language import tr
from gui.style import wording
from model import text
from model.diff import text_edits
from model.errors import Refused
from model.values import canonical
from model.values.kinds import NUMBERS, TEXTS

if TYPE_CHECKING:
    from model.values.canonical import Value

LARGE = 1 << 20  # bytes; of a larger value only the size is shown until a person asks for more
LONGEST = 2000
WORD_BY_WORD = 4096  # characters of both texts; longer ones lose their equal ends before words are compared
MARKED = 200_000  # characters; in longer texts differences are not looked for one by one
_WORD = re.compile(r"\S+")
BREAK = "\u2029"  # breaks a line in Qt's text views as \n does
HEX_MOST = 1 << 20  # bytes of a binary that are laid out at most
PICTURE = 2048  # pixels that an image is scaled down to

Range = tuple[int, int]
Edit = tuple[int, str, str]  # position, removed text, inserted text


class ValueText(Struct, frozen=True):
    """One value to read. ``marks`` are (from, to) in ``text``; ``large`` means that only the size is given.

    ``broken`` values are invalid BSON; their ``note`` says why.
    """

    text: str
    note: str
    marks: tuple[Range, ...] = ()
    large: bool = False
    broken: bool = False
    picture: QImage | None = None


def note_of(value: Value) -> str:
    """Type and size: ``String, 2.1 KB``."""
    words = value.kind
    if value.type == canonical.BINARY:
        words = tr("Binary, subtype {data}", data=value.data[4])
    size = len(content_bytes(value)) if value.type in (*TEXTS, canonical.BINARY) else len(value.data)
    return f"{words}, {wording.size(size)}" if size > 16 or value.type in TEXTS else words


def content_bytes(value: Value) -> bytes:
    """The bytes of a text or binary, without its length."""
    if value.type == canonical.BINARY:
        inner = value.data[5:]
        return inner[4:] if value.data[4] == 2 and len(inner) >= 4 else inner
    return value.data[4:-1]


def copied(value: Value) -> str:
    """A value as it is copied: a string's own characters, else canonical Extended JSON."""
    if value.type in TEXTS:
        return content_bytes(value).decode("utf-8", "replace")
    return text.value_text(value)


def read_pair(
    a: Value | None, b: Value | None, zone: str, whole: bool = False
) -> tuple[ValueText | None, ValueText | None]:
    """Both values as text, with their differences marked."""
    left, right = (None if v is None else read(v, zone, whole, 8) for v in (a, b))
    if a is None or b is None or left is None or right is None:
        return left, right
    if left.large or right.large or left.broken or right.broken:
        return left, right
    if a.type == b.type == canonical.BINARY:
        marks = _hex_marks(content_bytes(a), content_bytes(b), 8)
        return replace(left, marks=tuple(marks[0])), replace(right, marks=tuple(marks[1]))
    old, new = left.text.replace(BREAK, ""), right.text.replace(BREAK, "")
    before, after = marks_between(a, b, old, new)
    return replace(left, marks=_shifted(left.text, before)), replace(right, marks=_shifted(right.text, after))


def read(value: Value, zone: str, whole: bool = False, columns: int = 16) -> ValueText:
    """One value as text; above 1 MB only its size, unless ``whole``."""
    note = note_of(value)
    if len(value.data) > LARGE and not whole:
        return ValueText("", note, large=True)
    if value.type == canonical.BINARY:
        data = content_bytes(value)
        words = hex_lines(data[:HEX_MOST], columns)
        if len(data) > HEX_MOST:
            words += tr("\n… {data} more; copy gives everything", data=wording.size(len(data) - HEX_MOST))
        return ValueText(words, note, picture=picture_of(data))
    try:
        return ValueText(_broken(_words(value, zone)), note)
    except Refused as error:  # invalid BSON deep inside
        return ValueText("", f"{note}: {error}", broken=True)


def _words(value: Value, zone: str) -> str:
    if value.type in TEXTS:
        return content_bytes(value).decode("utf-8", "surrogateescape").encode("utf-8", "replace").decode()
    if value.is_container or value.type == canonical.SCOPED_CODE:
        return text.value_text(value, 2)
    shown = text.shown(value, zone, limit=LARGE)
    if value.type == canonical.DATE and zone != "UTC":
        utc = text.shown(value, "UTC")
        return shown if utc == shown else f"{shown}\n{utc}"
    return shown


def _broken(words: str) -> str:
    """The text with overlong lines broken by paragraph separators, which are not line breaks of its own."""
    words = words.replace(BREAK, " ")
    if len(words) <= LONGEST or all(len(line) <= LONGEST for line in words.split("\n")):
        return words
    return "\n".join(BREAK.join(_pieces(line)) for line in words.split("\n"))


def _pieces(line: str) -> Iterator[str]:
    """A line in pieces of bounded length, each up to the end of a word if one ends in its second half."""
    at = 0
    while len(line) - at > LONGEST:
        end = line.rfind(" ", at + LONGEST // 2, at + LONGEST) + 1 or at + LONGEST
        yield line[at:end]
        at = end
    yield line[at:]


def _shifted(broken: str, marks: list[Range]) -> tuple[Range, ...]:
    """Ranges of the unbroken text, moved to their places in the broken one."""
    breaks: list[int] = []  # positions in the unbroken text
    at = broken.find(BREAK)
    while at >= 0:
        breaks.append(at - len(breaks))
        at = broken.find(BREAK, at + 1)
    return tuple((x + bisect.bisect_right(breaks, x), y + bisect.bisect_left(breaks, y)) for x, y in marks)


def hex_lines(data: bytes, columns: int = 16) -> str:
    """A hex dump: offset, bytes, characters."""
    lines = []
    for at in range(0, len(data), columns):
        part = data[at : at + columns]
        seen = "".join(chr(c) if 32 <= c < 127 else "." for c in part)
        lines.append(f"{at:08x}  {part.hex(' '):<{columns * 3 - 1}}  {seen}")
    return "\n".join(lines) or tr("no bytes")


def _hex_marks(a: bytes, b: bytes, columns: int) -> tuple[list[Range], list[Range]]:
    """The places where two dumps differ, byte by byte; the rest of the longer one differs as well."""
    sides: tuple[list[Range], list[Range]] = ([], [])
    shared = min(len(a), len(b), HEX_MOST)
    step = 4096
    differing_at: list[int] = []
    for at in range(0, shared, step):
        x, y = a[at : min(at + step, shared)], b[at : min(at + step, shared)]
        if x != y:
            differing_at.extend(at + i for i, (p, q) in enumerate(zip(x, y, strict=True)) if p != q)
        if len(differing_at) > MARKED // 8:
            break
    for side, data in zip(sides, (a, b), strict=True):
        tail = range(shared, min(len(data), HEX_MOST, shared + MARKED // 8))
        for i in (*differing_at, *tail):
            row, column = divmod(i, columns)
            length = min(columns, len(data) - row * columns)
            start = row * (10 + columns * 3 - 1 + 2 + columns + 1)
            side.append((start + 10 + column * 3, start + 12 + column * 3))
            seen = start + 10 + columns * 3 - 1 + 2 + column
            if column < length:
                side.append((seen, seen + 1))
    return _joined(sides[0]), _joined(sides[1])


def differing(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """The differing ranges of two texts; for long ones only the whole stretch between equal ends."""
    if old == new:
        return [], []
    if len(old) + len(new) <= WORD_BY_WORD:
        return _of_edits(text_edits(old, new))
    head = common(old, new)
    tail = common_end(old, new, min(len(old), len(new)) - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if len(a) + len(b) > MARKED or not a or not b:
        return ([(head, head + len(a))] if a else []), ([(head, head + len(b))] if b else [])
    return _of_edits(text_edits(a, b), head)


def _of_edits(edits: Iterable[Edit], head: int = 0) -> tuple[list[Range], list[Range]]:
    left: list[Range] = []
    right: list[Range] = []
    shift = 0
    for at, removed, inserted in edits:
        if removed:
            left.append((head + at, head + at + len(removed)))
        if inserted:
            start = head + at + shift
            right.append((start, start + len(inserted)))
        shift += len(inserted) - len(removed)
    return _joined(left), _joined(right)


def numbers(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Where two numbers differ: everything from the first different digit on, because each digit's place counts."""
    head = common(old, new)
    return [(head, len(old))], [(head, len(new))]


def words_apart(old: str, new: str) -> tuple[list[Range], list[Range]]:
    """Where two dates differ, in whole words: half a day or half a zone means nothing."""
    left, right = ([(m.start(), m.end()) for m in _WORD.finditer(words)] for words in (old, new))
    if len(left) != len(right):
        return left, right
    apart = [i for i, (x, y) in enumerate(zip(left, right, strict=True)) if old[x[0] : x[1]] != new[y[0] : y[1]]]
    return [left[i] for i in apart], [right[i] for i in apart]


def marks_between(a: Value, b: Value, old: str, new: str) -> tuple[list[Range], list[Range]]:
    """The marks for ``old`` and ``new``, the texts of two values."""
    if a.type == b.type and a.type in NUMBERS:
        return numbers(old, new)
    if a.type == b.type == canonical.DATE:
        return words_apart(old, new)
    return differing(old, new)


def common(a: AnyStr, b: AnyStr) -> int:
    """The length of the beginning that two texts or binaries share, found by halving."""
    low, high = 0, min(len(a), len(b))
    while low < high:
        middle = (low + high + 1) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_end(a: str, b: str, most: int) -> int:
    """The length of the end that two texts share, ``most`` at most."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if a[len(a) - middle : len(a) - low] == b[len(b) - middle : len(b) - low]:
            low = middle
        else:
            high = middle - 1
    return low


def _joined(ranges: list[Range]) -> list[Range]:
    """Ranges in order; touching ones become one."""
    made: list[Range] = []
    for start, end in sorted(ranges):
        if made and start <= made[-1][1]:
            made[-1] = (made[-1][0], max(end, made[-1][1]))
        else:
            made.append((start, end))
    return made


def picture_of(data: bytes) -> QImage | None:
    """The image in a binary that is PNG, JPEG or GIF, scaled down if it is huge; None if there is none."""
    if not data.startswith((b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a")):
        return None
    kept = QByteArray(data)
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    size = reader.size()
    if size.isValid() and max(size.width(), size.height()) > PICTURE:
        scaled = size.scaled(QSize(PICTURE, PICTURE), Qt.AspectRatioMode.KeepAspectRatio)
        reader.setScaledSize(scaled.expandedTo(QSize(1, 1)))  # else an image one pixel high would vanish
    image = reader.read()
    return None if image.isNull() else image
