"""Missing numbers in a history, and descriptions of a history's health."""

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
"""Numbers from here on are taken for times since 1970 (in seconds or finer): nobody counts versions that far."""
ONE_BY_ONE = 10_000
"""Up to this many missing numbers are listed one by one; a longer gap is one entry that gives its length."""


def loss(profile: CollectionProfile) -> str:
    """Why a number may be missing; a counter may also have handed out numbers that were never used."""
    return f"{LOSS}, or {UNUSED}" if profile.numbering.startswith("counter:") else LOSS


def after(above: int, announced: Iterable[int | None], below: int) -> int:
    """The first number that may be missing between two versions; ``below`` if there is no gap.

    ``announced`` holds the next number with which the lower version, or each version of its number, is marked: the
    numbers before it were handed out and never used. An impossible mark is ignored.
    """
    # The highest mark counts: whoever set it has drawn all numbers below it.
    return max((number for number in announced if number is not None and above < number <= below), default=above + 1)


def are_times(above: int, below: int) -> bool:
    """Whether two neighbours are times, so that none is missing between them; ``above`` 0 stands for no version.

    A scan sees most versions of a collection and still reports a single number that is far too high.
    """
    return below >= SECONDS and (above >= SECONDS or above == 0)


def missing(number: int, detail: str = LOSS) -> Version:
    """The entry for a missing version."""
    return Version(whole_number(number), None, None, "none", "missing", False, None, None, detail)


def absent(above: int, below: int, why: str = LOSS) -> Iterator[Version]:
    """The missing versions between two numbers, newest first, without these two."""
    count = below - above - 1
    if count > ONE_BY_ONE:
        yield missing(below - 1, f"{count:,} versions, v{above + 1} to v{below - 1}: {why}")
        return
    for number in range(below - 1, above, -1):
        yield missing(number, why)


def with_gaps(versions: Iterable[Version], why: str = LOSS, claim: str = "") -> Iterator[Version]:
    """The versions, newest first, with an entry for each missing number down to 1.

    ``claim`` names the field with which a version is marked with the next one's number: numbers between were never
    used.
    """
    lowest: int | None = None
    for number, group in groupby(versions, lambda version: number_of(version.v)):
        together: Iterable[Version] = group
        if number is not None:
            if lowest is not None and number < lowest - 1 and not are_times(number, lowest):
                # `groupby` forgets a group once the next is asked for, and this one is needed twice.
                together = list(together)
                yield from absent(after(number, (announced(each, claim) for each in together), lowest) - 1, lowest, why)
            lowest = number if lowest is None else min(lowest, number)
        yield from together
    if lowest is not None and lowest > 1 and not are_times(0, lowest):
        yield from absent(0, lowest, why)


def announced(version: Version, claim: str) -> int | None:
    """The number with which this version marks its successor; None if it has no mark."""
    return number_of(legible_field(version.raw, claim)) if version.raw is not None and claim else None


def newest_first(versions: Iterable[Version]) -> Iterator[Version]:
    """Versions in the order of their numbers, from versions that a server sorted by type and value.

    A server sorts every text above every number; the few versions of a wrong type are moved to their place.
    """
    waiting: list[tuple[int, int, Version]] = []  # a heap, highest number first, equal numbers in order of arrival
    odd: list[Version] = []
    for come, version in enumerate(versions):
        number = number_of(version.v)
        if number is None:
            if version.v is not None and not version.detail.startswith("version is"):
                yield version  # it is a date
            else:
                # No place is known for it, so it comes last, behind all versions that have one.
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
    """The marks of a history, old to new; a gap too long to list is one mark."""
    return tuple((version.stored, version.state, version.current) for version in reversed(versions))


class _Ailment(Struct, frozen=True):
    """One kind of damage, as the health of a history counts it."""

    begins: str  # how the detail of a damaged version begins
    says: Callable[[int], str]  # the words for this number of versions


_AILMENTS = (
    _Ailment("hash", lambda n: f"{n} hash differs" if n == 1 else f"{n} hashes differ"),
    _Ailment("version is", lambda n: f"{n} of a wrong type"),
    _Ailment("stored twice", lambda n: f"{n} stored twice"),
)
"""Damage that leaves a version readable; with any other detail a damaged version cannot be read."""

Severity: TypeAlias = Literal["sound", "warn", "error"]


def outlined(id: Value, versions: Sequence[Version], phantoms: Sequence[int] = ()) -> Outline:
    """A history in miniature, and its health in a few words. ``versions`` come newest first."""
    gone = sum(_length(version) for version in versions if version.state == "missing")
    words, severity = _damage(versions, gone, phantoms)
    if head := _head(versions):
        words.insert(0, head)
        # That a document was deleted is no damage; that its current version is missing is.
        severity = severity if head == _DELETED else _at_least_warn(severity)
    if words == [f"{gone:,} missing"]:
        words = ["1 version missing" if gone == 1 else f"{gone:,} versions missing"]
    currents = [version for version in versions if version.current]
    if note := next((v.detail for v in currents if v.state == "present" and v.detail), ""):
        words.append(note)
        severity = _at_least_warn(severity)
    health = ", ".join(words) or "Sound"
    by = (currents[0].at, currents[0].author, currents[0].reason) if currents else ()
    return Outline(id, marks_of(versions), health[:1].upper() + health[1:], severity, *by)


def _damage(versions: Sequence[Version], gone: int, phantoms: Sequence[int]) -> tuple[list[str], Severity]:
    """What is wrong with versions, counted by kind, and how severe it is."""
    details = [v.detail for v in versions if v.state == "damaged" and number_of(v.v) not in phantoms]
    unproven = sum(version.state == "unproven" for version in versions)
    words = [f"{gone:,} missing"] if gone else []
    words += _damage_counts(details)
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
    """Whether a damaged version with this detail cannot be read."""
    return not any(detail.startswith(each.begins) for each in _AILMENTS)


def _damage_counts(details: Sequence[str]) -> list[str]:
    """The damage that leaves versions readable, counted by kind."""
    counts = [(each, sum(detail.startswith(each.begins) for detail in details)) for each in _AILMENTS]
    return [each.says(count) for each, count in counts if count]


_DELETED = "Deleted"


def _head(versions: Sequence[Version]) -> str:
    """What to say if there is no current document; "" if there is one, or no version at all."""
    if versions and versions[0].deleted:
        return _DELETED
    return "" if not versions or any(version.current for version in versions) else "No current document"


def _is_noted(version: Version) -> bool:
    """Whether an earlier version that is present has a note."""
    return bool(version.detail) and version.state == "present" and not version.current and not version.deleted


def _length(version: Version) -> int:
    head = version.detail.partition(" ")[0].replace(",", "")
    return int(head) if head.isdigit() else 1


def _phantoms(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Phantom v{numbers[0]} blocks edits"
    return f"Phantoms v{min(numbers)}–v{max(numbers)} block edits"
