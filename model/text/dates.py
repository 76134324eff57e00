"""Dates for people: any 64-bit number of milliseconds, in any time zone, and back.

``2026-12-01 00:00 CET`` is a moment in a zone; ``1984-06-02`` alone is midnight UTC, which is how a date without a
time is stored. Seconds and milliseconds appear only if they are not 0. Years outside 1 to 9999 are in UTC and have a
sign: ``+10000-01-01 00:00 UTC``, ``-0043-03-15 12:00 UTC`` (0000 is 1 BC).
"""

from __future__ import annotations

import datetime as dt
import functools
import re

from model.errors import Refused, Unreadable
from model.text import scalars

_DAY = 86_400_000
_FIRST, _LAST = -62135596800000, scalars.YEAR_10000 - 1
_DATE = re.compile(
    r"([+-]\d{4,9}|\d{4})-(\d\d?)-(\d\d?)(?:[T ]+(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,3})\d*)?)?\s*(\S+)?)?", re.ASCII
)
_OFFSET = re.compile(r"([+-])(\d\d):?(\d\d)?", re.ASCII)


@functools.cache
def zone_named(name: str) -> dt.tzinfo:
    """The time zone of this name; raises ``Refused`` if there is none."""
    if name == "UTC":
        return dt.UTC
    import zoneinfo  # it reads how Python was built

    try:
        return zoneinfo.ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise Refused(f"There is no time zone {name!r}; choose one like Europe/Berlin or UTC.") from None


def _civil(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day since 1970 in the Gregorian calendar, for any year.

    Source: https://howardhinnant.github.io/date_algorithms.html
    """
    shifted = days + 719468
    era, of_era = divmod(shifted, 146097)
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    month = (5 * of_year + 2) // 153
    day = of_year - (153 * month + 2) // 5 + 1
    month = month + 3 if month < 10 else month - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def _days(year: int, month: int, day: int) -> int:
    """The inverse of :func:`_civil`."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year - 719468


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(milliseconds, 1000)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}"
    if seconds % 60 or rest:
        text += f":{seconds % 60:02d}"
    return f"{text}.{rest:03d}" if rest else text


def date_text(milliseconds: int, zone: str = "UTC") -> str:
    """The date in a zone, exact: :func:`milliseconds_from` with the same zone gives the milliseconds back."""
    if milliseconds % _DAY == 0 and _FIRST <= milliseconds <= _LAST:
        year, month, day = _civil(milliseconds // _DAY)
        return f"{year:04d}-{month:02d}-{day:02d}"
    place = zone_named(zone)
    if _FIRST + _DAY <= milliseconds <= _LAST - _DAY:
        local = (scalars.EPOCH + dt.timedelta(milliseconds=milliseconds)).astimezone(place)
        name = local.tzname() or "UTC"
        offset = local.utcoffset() or dt.timedelta()
        if offset % dt.timedelta(minutes=1):  # mean solar time before zones were agreed: no clock shows its seconds
            name, local = "UTC", local.astimezone(dt.UTC)
        in_day = (local.hour * 60 + local.minute) * 60_000 + local.second * 1000 + local.microsecond // 1000
        return f"{local.year:04d}-{local:%m-%d} {_clock(in_day)} {name}"
    days, rest = divmod(milliseconds, _DAY)
    year, month, day = _civil(days)
    written = f"{year:04d}" if 1 <= year <= 9999 else f"{year:+05d}"
    return f"{written}-{month:02d}-{day:02d} {_clock(rest)} UTC"


def milliseconds_from(text: str, zone: str = "UTC") -> int:
    """Milliseconds since 1970. A time without an offset or abbreviation is in ``zone``.

    Raises ``Unreadable`` if it is not a date, or a time that the zone skips.
    """
    found = _DATE.fullmatch(text.strip())
    if found is None:
        raise Unreadable("Not a Date: write it as 2026-11-20 14:26, with seconds and zone if need be.")
    year, month, day, hour, minute, second, fraction, where = found.groups()
    y, m, d = int(year), int(month), int(day)
    days = _days(y, m, d) if 1 <= m <= 12 else 0
    if not 1 <= m <= 12 or _civil(days) != (y, m, d):
        raise Unreadable(f"Not a Date: there is no day {d} in month {m} of {year}.")
    if hour is None:
        return _in_range(days * _DAY)
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise Unreadable("Not a Date: the time of day goes from 00:00 to 23:59:59.")
    clock = (int(hour) * 60 + int(minute)) * 60_000 + int(second or 0) * 1000 + int((fraction or "0").ljust(3, "0"))
    wall = days * _DAY + clock
    if where is None:
        return _in_range(_local(wall, zone, None))
    if where in ("Z", "z", "UTC", "GMT"):
        return _in_range(wall)
    offset = _OFFSET.fullmatch(where)
    if offset is None:
        return _in_range(_local(wall, zone, where))
    named = _named(wall, zone, where)  # some zones have no letters: their name may be "+03"
    if named is not None:
        return _in_range(named)
    minutes = int(offset.group(2)) * 60 + int(offset.group(3) or 0)
    return _in_range(wall - minutes * 60_000 * (1 if offset.group(1) == "+" else -1))


def _in_range(milliseconds: int) -> int:
    if not scalars.INT64_MIN <= milliseconds <= scalars.INT64_MAX:
        raise Unreadable("Not a Date: the year is beyond what BSON can store.")
    return milliseconds


def _moments(wall: int, zone: str) -> list[tuple[int, str | None]]:
    """The moments at which a zone's clocks show a time: none when they skip it, two when they are set back."""
    place = zone_named(zone)
    if not _FIRST + 2 * _DAY <= wall <= _LAST - 2 * _DAY:
        return [(wall, "UTC")]
    naive = (scalars.EPOCH + dt.timedelta(milliseconds=wall)).replace(tzinfo=None)
    moments: list[tuple[int, str | None]] = []
    for fold in (0, 1):
        local = naive.replace(tzinfo=place, fold=fold)
        moment = (local - scalars.EPOCH) // dt.timedelta(milliseconds=1)
        back = (scalars.EPOCH + dt.timedelta(milliseconds=moment)).astimezone(place)
        if back.replace(tzinfo=None) == naive and all(moment != earlier for earlier, _ in moments):
            moments.append((moment, local.tzname()))
    return moments


def _named(wall: int, zone: str, name: str) -> int | None:
    return next((moment for moment, known in _moments(wall, zone) if known == name), None)


def _local(wall: int, zone: str, name: str | None) -> int:
    moments = _moments(wall, zone)
    if not moments:
        raise Unreadable(f"Not a Date: clocks in {zone} skip that time; choose another or add an offset like +02:00.")
    if name is None:
        return moments[0][0]
    found = _named(wall, zone, name)
    if found is None:
        known = " or ".join(sorted(str(known) for _, known in moments))
        raise Unreadable(f"Not a Date: {zone} is at {known} then, not {name}; write that or an offset like +02:00.")
    return found
