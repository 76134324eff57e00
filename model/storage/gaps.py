"""The numbers that are missing in a history, and the words for a history's health."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import groupby
from typing import Literal, TypeAlias

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


def outlined(id: Value, versions: Sequence[Version], phantoms: Sequence[int] = ()) -> Outline:
    """A history in miniature, and its health in a few words. ``versions`` come newest first."""
    words: list[str] = []
    severity: Literal["sound", "warn", "error"] = "sound"
    gone = sum(_length(version) for version in versions if version.state == "missing")
    details = [v.detail for v in versions if v.state == "damaged" and number_of(v.v) not in phantoms]
    hashes = sum(detail.startswith("hash") for detail in details)
    types = sum(detail.startswith("version is") for detail in details)
    twice = sum(detail.startswith("stored twice") for detail in details)
    bytes_ = len(details) - hashes - types - twice
    currents = sum(version.current for version in versions)
    unproven = sum(version.state == "unproven" for version in versions)
    if gone:
        words.append(f"{gone:,} missing")
    if hashes:
        words.append(f"{hashes} hash differs" if hashes == 1 else f"{hashes} hashes differ")
    if types:
        words.append(f"{types} of a wrong type")
    if twice:
        words.append(f"{twice} stored twice")
    if unproven:
        words.append(f"{unproven} unproven")
    if words or any(v.detail and v.state == "present" and not v.current and not v.deleted for v in versions):
        severity = "warn"
    if bytes_:
        words.append(f"{bytes_} unreadable")
        severity = "error"
    if phantoms:
        words.insert(0, _phantoms(phantoms))
        severity = "error"
    if versions and versions[0].deleted:
        words.insert(0, "Deleted")
    elif versions and not currents:
        words.insert(0, "No current document")
        severity = "warn" if severity == "sound" else severity
    if words == [f"{gone:,} missing"]:
        words = ["1 version missing" if gone == 1 else f"{gone:,} versions missing"]
    notes = [v.detail for v in versions if v.current and v.state == "present" and v.detail]
    if notes:
        words.append(notes[0])
        severity = "warn" if severity == "sound" else severity
    health = ", ".join(words) or "Sound"
    at = next((version.at for version in versions if version.current), None)
    return Outline(id, marks_of(versions), health[:1].upper() + health[1:], severity, at)


def _length(version: Version) -> int:
    head = version.detail.partition(" ")[0].replace(",", "")
    return int(head) if head.isdigit() else 1


def _phantoms(numbers: Sequence[int]) -> str:
    if len(numbers) == 1:
        return f"Phantom v{numbers[0]} blocks edits"
    return f"Phantoms v{min(numbers)}–v{max(numbers)} block edits"
