"""Moments as people write them: ISO 8601, a date alone, or an age such as ``36h``."""

from __future__ import annotations

import datetime as dt
import re

from msgspec import Struct

from model.errors import Refused

_AGE = re.compile(r"(?:\d+[smhdw])+\Z")
_PART = re.compile(r"(\d+)([smhdw])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


class Moment(Struct, frozen=True):
    """A time in UTC, and a sentence on what was assumed, "" if nothing.

    ``doubt`` is the part of that sentence that the time itself does not show.
    """

    at: dt.datetime
    note: str = ""
    doubt: str = ""


def age_from_text(written: str) -> dt.timedelta:
    """An age such as 24h, 90m or 1d12h. Raises ``Refused``."""
    if not _AGE.match(written):
        raise Refused(f"{written} is not an age; write it as 24h, 90m or 7d.")
    try:
        return sum((dt.timedelta(**{_UNITS[u]: int(n)}) for n, u in _PART.findall(written)), dt.timedelta())
    except (ValueError, OverflowError):
        raise Refused(f"{written} is longer than any age can be.") from None


def moment_from_text(written: str, now: dt.datetime | None = None, zone: str = "UTC") -> Moment:
    """The moment that a person means; a date alone is its first moment, an age is before now.

    A time without a zone is in ``zone``, an IANA name. Raises ``Refused`` with the forms that are understood.
    """
    from zoneinfo import ZoneInfo  # it reads how Python was built

    now = now or dt.datetime.now(dt.UTC)
    text = written.strip()
    try:
        if _AGE.match(text):
            return Moment(now - age_from_text(text))
        at = dt.datetime.fromisoformat(text)
        supplied = at.tzinfo is None
        local = at.replace(tzinfo=ZoneInfo(zone)) if supplied else at
        doubt = _on_the_clock(local, zone) if supplied else ""
        at = local.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        raise Refused(
            f"{written} is not a time; write it as 2026-11-01T14:30:00Z, 2026-11-01T15:30+01:00 or 2026-11-01, or as "
            "an age: 36h."
        ) from None
    taken = [f"{written} has no zone and is taken as {local:%Y-%m-%d %H:%M:%S} {zone}."] if supplied else []
    doubts = [doubt] if doubt else []
    if at > now:
        doubts.append(f"{written} lies in the future.")
    return Moment(at, " ".join(taken + doubts), " ".join(doubts))


def _on_the_clock(local: dt.datetime, zone: str) -> str:
    """A sentence if the clocks of a zone skipped a time, or showed it twice; else ""."""
    first, second = (local.replace(fold=fold).astimezone(dt.UTC) for fold in (0, 1))
    if first == second:
        return ""
    if first.astimezone(local.tzinfo).replace(tzinfo=None) != local.replace(tzinfo=None):
        return f"Clocks in {zone} skipped {local:%H:%M} on that day."
    return f"Clocks in {zone} showed {local:%H:%M} twice on that day, and the first of them is meant."
