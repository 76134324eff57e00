"""The numbers that are missing in a history, and the words for a history's health."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct

from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outline, State, Stored, Version
from model.storage.reserved_fields import legible_field, number_of, whole_number
from model.values.canonical import Value

Mark: TypeAlias = tuple[Stored, State, bool]

LOSS = "retention or loss"
UNUSED = "drawn from the counter and never used"
SECONDS = 10**9
"""Numbers from here on are times since 1970, in seconds or shorter, as no version is counted up to here."""
ONE_BY_ONE = 10_000
"""Missing numbers are listed one by one up to here; a longer gap is one entry that says how long it is."""


def loss(profile: CollectionProfile) -> str:
    """The reason why a number may be missing; of a counter's numbers some may never have been used."""
    return f"{LOSS}, or {UNUSED}" if profile.numbering.startswith("counter:") else LOSS


def after(above: int, announced: Iterable[int | None], below: int) -> int:
    """The first number that may be missing between two versions; ``below`` itself where there is no gap.

    ``announced`` is the next number that the lower version, or each of those stored under its number, is marked with:
    numbers before that were handed out and used by nobody. A mark that cannot be right is ignored.
    """
    return max((number for number in announced if number is not None and above < number <= below), default=above + 1)


def are_times(above: int, below: int) -> bool:
    """Whether two neighbours, or with ``above`` 0 the first version, are times: then none is missing between them.

    A scan, which sees most versions of a collection, still tells of a single one that is far too high.
    """
    return below >= SECONDS and (above >= SECONDS or above == 0)


def missing(number: int, detail: str = LOSS) -> Version:
    """The entry of a missing version."""
    return Version(whole_number(number), None, None, "none", "missing", False, None, None, detail)


def absent(above: int, below: int, why: str = LOSS) -> Iterator[Version]:
    """The versions between two numbers, newest first, both of them left out."""
    count = below - above - 1
    if count > ONE_BY_ONE:
        yield missing(below - 1, f"{count:,} versions, v{above + 1} to v{below - 1}: {why}")
        return
    for number in range(below - 1, above, -1):
        yield missing(number, why)


def with_gaps(versions: Iterable[Version], why: str = LOSS, claim: str = "") -> Iterator[Version]:
    """The versions, newest first, with an entry for each number that is not there, down to 1.

    ``claim`` names the field of a stored version with the number of the next one: nobody used the numbers between.
    """
    lowest: int | None = None
    for number, group in groupby(versions, lambda version: number_of(version.v)):
        together: Iterable[Version] = group
        if number is not None:
            if lowest is not None and number < lowest - 1 and not are_times(number, lowest):
                together = list(together)
                yield from absent(after(number, (announced(each, claim) for each in together), lowest) - 1, lowest, why)
            lowest = number if lowest is None else min(lowest, number)
        yield from together
    if lowest is not None and lowest > 1 and not are_times(0, lowest):
        yield from absent(0, lowest, why)


def announced(version: Version, claim: str) -> int | None:
    """The number that the version after this one was to have, where it is marked with it."""
    return number_of(legible_field(version.raw, claim)) if version.raw is not None and claim else None


def newest_first(versions: Iterable[Version]) -> Iterator[Version]:
    """Versions that a server sorted by type and value, in the order of their numbers.

    A server sorts every text above every number; the few of a wrong type are put where they count.
    """
    waiting: list[tuple[int, int, Version]] = []  # a heap, the highest number first, of equal ones the first to come
    odd: list[Version] = []
    for come, version in enumerate(versions):
        number = number_of(version.v)
        if number is None:
            if version.v is not None and not version.detail.startswith("version is"):
                yield version  # a date
            else:
                odd.append(version)
        elif version.detail.startswith("version is"):
            heappush(waiting, (-number, come, version))
        else:
            while waiting and -waiting[0][0] > number:
                yield heappop(waiting)[2]
            yield version
    while waiting:
        yield heappop(waiting)[2]
    yield from odd


# --- in miniature


def marks_of(versions: Sequence[Version]) -> tuple[Mark, ...]:
    """The marks of a history from old to new; a gap too long to list counts once."""
    return tuple((version.stored, version.state, version.current) for version in reversed(versions))


class _Ailment(Struct, frozen=True):
    """One kind of damage in a history in miniature, as its health counts it."""

    begins: str  # the detail of a version that has it
    says: Callable[[int], str]  # how many versions have it


_AILMENTS = (
    _Ailment("hash", lambda n: f"{n} hash differs" if n == 1 else f"{n} hashes differ"),
    _Ailment("version is", lambda n: f"{n} of a wrong type"),
    _Ailment("stored twice", lambda n: f"{n} stored twice"),
)
"""Damage that leaves a version legible; a damaged version with another detail cannot be read."""

Severity: TypeAlias = Literal["sound", "warn", "error"]


def outlined(id: Value, versions: Sequence[Version], phantoms: Sequence[int] = ()) -> Outline:
    """A history in miniature, and its health in a few words. ``versions`` come newest first."""
    gone = sum(_length(version) for version in versions if version.state == "missing")
    words, severity = _damage(versions, gone, phantoms)
    if head := _head(versions):
        words.insert(0, head)
        severity = severity if head == _DELETED else _at_least_warn(severity)
    if words == [f"{gone:,} missing"]:
        words = ["1 version missing" if gone == 1 else f"{gone:,} versions missing"]
    currents = [version for version in versions if version.current]
    if note := next((v.detail for v in currents if v.state == "present" and v.detail), ""):
        words.append(note)
        severity = _at_least_warn(severity)
    health = ", ".join(words) or "Sound"
    at = currents[0].at if currents else None
    return Outline(id, marks_of(versions), health[:1].upper() + health[1:], severity, at)


def _damage(versions: Sequence[Version], gone: int, phantoms: Sequence[int]) -> tuple[list[str], Severity]:
    """What is wrong with versions, counted by kind, and how bad it is."""
    details = [v.detail for v in versions if v.state == "damaged" and number_of(v.v) not in phantoms]
    unproven = sum(version.state == "unproven" for version in versions)
    words = [f"{gone:,} missing"] if gone else []
    words += _ailing(details)
    words += [f"{unproven} unproven"] if unproven else []
    severity: Severity = "warn" if words or any(map(_is_noted, versions)) else "sound"
    if unreadable := sum(map(_is_unreadable, details)):
        words.append(f"{unreadable} unreadable")
    if phantoms:
        words.insert(0, _phantoms(phantoms))
    return words, "error" if unreadable or phantoms else severity


def _at_least_warn(severity: Severity) -> Severity:
    return "warn" if severity == "sound" else severity


def _is_unreadable(detail: str) -> bool:
    """Whether a damaged version with this detail cannot be read at all."""
    return not any(detail.startswith(each.begins) for each in _AILMENTS)


def _ailing(details: Sequence[str]) -> list[str]:
    """The damage that leaves versions legible, counted by kind."""
    counts = [(each, sum(detail.startswith(each.begins) for detail in details)) for each in _AILMENTS]
    return [each.says(count) for each, count in counts if count]


_DELETED = "Deleted"


def _head(versions: Sequence[Version]) -> str:
    """What stands instead of a current document; "" where there is one, or no version at all."""
    if versions and versions[0].deleted:
        return _DELETED
    return "" if not versions or any(version.current for version in versions) else "No current document"


def _is_noted(version: Version) -> bool:
    """Whether something is to be said of an earlier version that is there."""
    return bool(version.detail) and version.state == "present" and not version.current and not version.deleted


def _length(version: Version) -> int:
    head = version.detail.partition(" ")[0].replace(",", "")
    return int(head) if head.isdigit() else 1


def _phantoms(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Phantom v{numbers[0]} blocks edits"
    return f"Phantoms v{min(numbers)}–v{max(numbers)} block edits"
