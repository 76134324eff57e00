"""The wording of counts, sizes, times, versions and ids, for every view."""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from PySide6.QtGui import QKeySequence

from gui import language
from gui.language import plural, tr
from gui.style import preferences
from gui.tasks import Task
from model import text
from model.errors import Refused

if TYPE_CHECKING:
    from model.foundation.records import Outcome
    from model.values.canonical import Value

MONTHS = (
    tr("Jan"), tr("Feb"), tr("Mar"), tr("Apr"), tr("May"), tr("Jun"),
    tr("Jul"), tr("Aug"), tr("Sep"), tr("Oct"), tr("Nov"), tr("Dec"),
)  # fmt: skip

_NO_NAME = re.compile(r"[^\w .()+,@=-]+")
_DEVICE = re.compile(
    r"(?i:con|prn|aux|nul|conin|conout|com[\d¹²³]|lpt[\d¹²³])"
)  # Windows opens these devices instead of a file
_LONGEST_NAME = 200  # bytes; systems allow 255 with the ending


SAMPLE = "sample:"


def source(name: str, first: bool = False) -> str:
    """A source's name within a sentence, or as its ``first`` word; without the sample's colon."""
    if name != SAMPLE:
        return name
    return tr("The sample") if first else tr("the sample")


def silent(name: str) -> str:
    """Why nothing can be written to a source now."""
    return tr("{name} does not answer now, so nothing can be written.", name=source(name, first=True))


def unread(name: str) -> str:
    """Why nothing can be read from a source now."""
    return tr("{name} does not answer now, so nothing can be read.", name=source(name, first=True))


def tip(said: str) -> str:
    """Text for a tooltip, escaped: Qt would take a value like ``<b>1</b>`` for markup, and hide its tags."""
    seen = text.visible(said)
    if "<" not in seen and "&" not in seen:
        return seen
    import html

    return f"<p style='white-space:pre-wrap'>{html.escape(seen)}</p>"


def item(said: str, most: int = 60) -> str:
    """Text for a menu line: an ``&`` stays, long names lose their middle."""
    half = most // 2
    seen = text.plain(said)
    return label(seen if len(seen) <= most else f"{seen[:half]}…{seen[-half:]}")


def by_size(count: int, is_array: bool) -> str:
    """A container by its size: ``{ 6 fields }``, ``[ 3 ]``."""
    if is_array:
        return f"[ {count} ]" if count else "[ ]"
    return "{ }" if count == 0 else tr("{ 1 field }") if count == 1 else tr("{{ {n:,} fields }}", n=count)


def title(said: str) -> str:
    """Text for a window's title: Qt would replace ``[*]`` by its mark of changes."""
    return text.plain(said).replace("[*]", "[*][*]")


def file_name(said: str, ending: str) -> str:
    """A name for a file that every system accepts: no path, and as many of the words as fit."""
    kept = _NO_NAME.sub("-", text.plain(said)).strip(" .-")
    while len(kept.encode("utf-8", "replace")) > _LONGEST_NAME:
        kept = kept[:-1].rstrip(" .-")
    if not kept or _DEVICE.fullmatch(kept.partition(".")[0].strip()):
        kept = f"palimpsest-{kept}".rstrip("-")
    return kept + ending


def label(said: str) -> str:
    """Text for a tab, a button or a field's label, in which Qt makes a key of the letter after an ``&``."""
    return text.plain(said).replace("&", "&&")


def keys(said: str) -> str:
    """Keys as menus show them: ``Ctrl+S``, in German ``Strg+S``."""
    return QKeySequence(said).toString(QKeySequence.SequenceFormat.NativeText)


def count(number: int) -> str:
    """``2,318``."""
    return f"{number:,}".replace(",", language.locale().groupSeparator())


def many(number: int, one: str, more: str = "") -> str:
    """``1 field``, ``3 fields``."""
    return f"{count(number)} {plural(number, one, more)}"


def size(length: int) -> str:
    """``812 B``, ``2.1 KB``, ``15.8 MB``: 1 KB is 1,024 bytes."""
    if length < 1024:
        return f"{length} B"
    units = ["TB", "GB", "MB", "KB"]
    amount = length / 1024
    while amount >= 999.95 and len(units) > 1:
        units.pop()
        amount /= 1024
    return f"{amount:.1f} {units[-1]}".replace(".", language.locale().decimalPoint())


def progress(task: Task) -> str:
    """A task's progress, its pace, and its remaining time, as far as they are known."""
    if not task.done:
        return ""
    in_words = size if task.unit == "bytes" else count
    said = [in_words(task.done)]
    if task.total:
        said = [tr("{done} of {total}", done=in_words(task.done), total=in_words(task.total))]
    rate, left = task.pace.rate, task.pace.left
    if rate is not None:
        said.append(tr("{amount} a second", amount=in_words(round(rate))))
    if left is not None:
        said.append(tr("{time} left", time=duration(left)))
    return ", ".join(said)


def duration(seconds: float) -> str:
    """``8 s``, ``3 min``, ``2 h``: how long something takes."""
    if seconds < 90:
        return tr("{seconds} s", seconds=max(1, round(seconds)))
    if seconds < 5400:
        return tr("{minutes} min", minutes=round(seconds / 60))
    return tr("{hours} h", hours=round(seconds / 3600))


def moment(at: dt.datetime | None, exact: bool = False) -> str:
    """``18 Nov 2026 09:12`` in the chosen zone, if ``exact`` with its seconds if it has any; "" if unknown."""
    if at is None:
        return ""
    there = preferences.local(at)
    return _day_and(there, f"{there:%H:%M:%S}" if exact and there.second else f"{there:%H:%M}")


def date(at: dt.datetime | None) -> str:
    """``18 Nov 2026`` in the chosen zone; "" if unknown."""
    return moment(at).rpartition(" ")[0].rstrip(",")


def second(at: dt.datetime | None) -> str:
    """``18 Nov 2026 09:12:00`` in the chosen zone, for lists whose rows are seconds apart; "" if unknown."""
    if at is None:
        return ""
    there = preferences.local(at)
    return _day_and(there, f"{there:%H:%M:%S}")


def _day_and(there: dt.datetime, time: str) -> str:
    parts = {"day": f"{there.day:02d}", "month": MONTHS[there.month - 1], "year": f"{there.year:04d}"}
    return tr("{day} {month} {year} {time}", **parts, time=time)


def day(at: dt.datetime | None) -> str:
    """``18 Nov 26`` in the chosen zone; "" if unknown."""
    if at is None:
        return ""
    there = preferences.local(at)
    parts = {"day": f"{there.day:02d}", "month": MONTHS[there.month - 1], "year": f"{there.year % 100:02d}"}
    return tr("{day} {month} {year}", **parts)


def month(at: dt.datetime) -> str:
    """``Nov 26`` in the chosen zone."""
    there = preferences.local(at)
    return f"{MONTHS[there.month - 1]} {there.year % 100:02d}"


def recently(at: dt.datetime | None, now: dt.datetime | None = None) -> str:
    """``today, 14:02``, ``yesterday``, ``2 days ago``, then the date."""
    if at is None:
        return ""
    there = preferences.local(at)
    today = preferences.local(now or dt.datetime.now(dt.UTC)).date()
    days = (today - there.date()).days
    if days <= 0:
        return tr("today, {time}", time=f"{there.hour:02d}:{there.minute:02d}")
    if days == 1:
        return tr("yesterday")
    return tr("{days} days ago", days=days) if days < 14 else day(at)


def age(since: dt.datetime | None, now: dt.datetime | None = None) -> str:
    """``40 min``, ``26 h``, ``12 days``; "unknown" without a time."""
    if since is None:
        return tr("unknown")
    seconds = max(0.0, ((now or dt.datetime.now(dt.UTC)) - since).total_seconds())
    if seconds < 90:
        return tr("{seconds} s", seconds=int(seconds))
    if seconds < 5400:
        return tr("{minutes} min", minutes=round(seconds / 60))
    if seconds < 48 * 3600:
        return tr("{hours} h", hours=round(seconds / 3600))
    return tr("{days} days", days=round(seconds / 86400))


def version(v: Value | None) -> str:
    """``v14``; the first seven characters of a hash; "" if the layout has no versions."""
    if v is None:
        return ""
    if v.kind in ("Int32", "Int64"):
        return f"v{int.from_bytes(v.data, 'little', signed=True)}"
    shown = plain(v)
    return shown[:7] if v.kind == "String" and len(shown) > 12 else f"v{shown}" if shown[:1].isdigit() else shown


def about(outcome: Outcome) -> str:
    """How a write ended, with the document's name."""
    said, name = language.translated(outcome.detail), "" if outcome.id is None else plain(outcome.id)
    return said if not name or name in said else tr("{name}: {said}", name=name, said=said)


def plain(value: Value) -> str:
    """An id for people: text without quotes, everything else on one line as in any list."""
    return text.plain(_exact(value))


def _exact(value: Value) -> str:
    if value.kind == "String":
        try:
            return str(value.python())
        except Refused:
            pass
    return text.shown(value, preferences.zone())


def copied(value: Value) -> str:
    """An id as it is copied: a text's own characters, anything else in a form that reads as the same id."""
    return _exact(value) if value.kind == "String" else typed(value)


def typed(value: Value) -> str:
    """A value as a person would type it: text without quotes if it reads as text again, else Extended JSON."""
    bare = _exact(value)
    try:
        again = text.loose_value(bare)
    except Refused:
        again = None
    if value.kind == "String" and again is None:
        return bare
    return bare if again == value else text.value_text(value)
