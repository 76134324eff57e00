"""The rules that find damage in one document's facts and that several layouts share."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec import Struct

from model import text
from model.checks.facts import Fact, place, right_type
from model.foundation.collection_profile import CollectionProfile
from model.storage.gaps import ONE_BY_ONE, SECONDS, after, loss
from model.storage.reserved_fields import number_of, whole_number
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

ORDER_ONLY = "hash differs in field order only"
SKEW = 60  # seconds by which the clocks of two makers of ObjectIds may differ


class DamageDraft(Struct, frozen=True):
    """A finding whose stored documents have not been fetched yet."""

    code: str
    id: Value
    versions: tuple[Value, ...]
    detail: str
    repair: str | None
    rests_on: tuple[Fact, ...]
    at: dt.datetime | None = None
    young: bool = False


class CheckContext(Struct, frozen=True):
    """The properties of a collection that its documents are judged by."""

    profile: CollectionProfile
    now: dt.datetime
    dated: bool  # its versions are dates
    gap: str = "V2"  # the class of a gap
    dense: bool = True  # its versions are counted, so a number that is absent is a missing version
    holds_current: bool = False  # the archive should also hold the current version

    def is_young(self, at: dt.datetime | None) -> bool:
        """Whether a time is within the grace period; an unknown time counts as young."""
        return at is None or self.now - at < self.profile.grace


def numbered(facts: Iterable[Fact], ground: CheckContext) -> list[tuple[int, Fact]]:
    """The facts with a valid version, in order."""
    found = [(at, fact) for fact in facts if (at := place(fact.v, ground.dated)) is not None]
    return sorted(found, key=lambda pair: (pair[0], pair[1].archived, pair[1].physical.data))


def wrong_types(facts: Sequence[Fact], ground: CheckContext) -> list[DamageDraft]:
    """V3: versions whose type differs from the collection's, in one draft."""
    wrong = [f for f in facts if not right_type(f.v, ground.dated) and not (f.damaged and f.v is None)]
    if not wrong:
        return []
    said = dict.fromkeys(_typed(fact.v) for fact in wrong)
    sure = not ground.dated and all(fact.v is not None for fact in wrong)  # else a person says which number it is
    versions = tuple(fact.v for fact in wrong if fact.v is not None)
    detail = listed([*said], 5)
    repair = "convert-version" if sure else None
    return [DamageDraft("V3", wrong[0].id, versions, detail, repair, tuple(wrong), newest(wrong))]


def _typed(v: Value | None) -> str:
    if v is None:
        return "a document without a version"
    return f"version {text.shown(v, limit=40)} is a {v.kind}"


def missing_below(
    present: Iterable[int], top: int, marks: Mapping[int, Sequence[int | None]] | None = None
) -> tuple[tuple[Value, ...], str]:
    """The numbers from 1 to below ``top`` that are missing, with words for them; of a very long gap only its ends.

    ``marks`` returns the next number with which each version is marked, by the version's number.
    """
    numbers: list[int] = []
    words: list[str] = []
    before = 0
    for number in [*sorted({n for n in present if 0 < n < top}), top]:
        first, last = after(before, (marks or {}).get(before, ()), number), number - 1
        if first <= last:
            words.append(f"v{first}" if first == last else f"v{first}{', v' if last == first + 1 else ' to v'}{last}")
            if last - first < ONE_BY_ONE and len(numbers) < ONE_BY_ONE:
                numbers.extend(range(first, last + 1))
            else:
                numbers.extend((first, last))
        before = number
    return tuple(whole_number(number) for number in numbers), listed(words, 6)


def gap(present: Iterable[int], top: int, around: Sequence[Fact], ground: CheckContext) -> list[DamageDraft]:
    """The missing numbers below ``top``, with the class that this layout uses for gaps."""
    if not ground.dense:
        return []
    marks: dict[int, list[int | None]] = {}
    for fact in around:
        if fact.number is not None:
            marks.setdefault(fact.number, []).append(fact.next)
    versions, words = missing_below(present, top, marks)
    if not versions:
        return []
    said = f"{words} missing: {loss(ground.profile)}"
    return [DamageDraft(ground.gap, around[-1].id, versions, said, None, tuple(around[-1:]))]


def hashes(facts: Sequence[Fact]) -> list[DamageDraft]:
    """H1: stored hashes that do not match their content."""
    wrong = [fact for fact in facts if fact.sealed]
    if not wrong:
        return []
    versions = tuple(fact.v for fact in wrong if fact.v is not None)
    said = listed([f"{version_name(fact.v)}: {fact.sealed}" for fact in wrong], 5)
    return [DamageDraft("H1", wrong[0].id, versions, said, "rebuild-hash", tuple(wrong), newest(wrong))]


def twice(placed: Sequence[tuple[int, Fact]], ground: CheckContext) -> Iterator[DamageDraft]:
    """V1: several stored documents for one version; V3 reports those of a wrong type."""
    for several in by_place([pair for pair in placed if right_type(pair[1].v, ground.dated)]):
        if len(several) > 1:
            equal = len({fact.digest for fact in several}) == 1
            count = "twice" if len(several) == 2 else f"{len(several)} times"
            said = f"{version_name(several[0].v)} is stored {count}, {'equal' if equal else 'with different contents'}"
            repair = "remove-duplicate" if equal else None
            versions = (several[0].v,) if several[0].v is not None else ()
            yield DamageDraft("V1", several[0].id, versions, said, repair, tuple(several), newest(several))


def by_place(placed: Sequence[tuple[int, Fact]]) -> Iterator[list[Fact]]:
    """The facts grouped by position, in order."""
    several: list[Fact] = []
    before: int | None = None
    for at, fact in placed:
        if several and at != before:
            yield several
            several = []
        several.append(fact)
        before = at
    if several:
        yield several


def times(placed: Sequence[tuple[int, Fact]], ground: CheckContext) -> list[DamageDraft]:
    """M1: times that run backwards along the numbers, or date versions that contradict the order of writing."""
    wrong: list[Fact] = []
    words: list[str] = []
    if ground.dated:
        for before, fact in _neighbours(placed):
            a, b = place(before.v, True), place(fact.v, True)
            assert a is not None
            assert b is not None
            if a >= b:
                wrong += [before, fact]
                words.append(
                    f"{version_name(fact.v)} is {'there twice' if a == b else f'not after {version_name(before.v)}'}"
                )
    else:
        for (a, before), (b, fact) in pairwise(placed):
            if a != b and before.at is not None and fact.at is not None and fact.at < before.at:
                wrong += [before, fact]
                words.append(f"{version_name(fact.v)} was made before {version_name(before.v)}")
    if not wrong:
        return []
    concerned = tuple(dict.fromkeys(wrong))
    versions = tuple(dict.fromkeys(fact.v for fact in concerned if fact.v is not None))
    return [DamageDraft("M1", concerned[0].id, versions, listed(words, 4), None, concerned, newest(concerned))]


def _neighbours(placed: Sequence[tuple[int, Fact]]) -> Iterator[tuple[Fact, Fact]]:
    """Pairs of versions written one after the other, judged by ObjectIds; versions with equal numbers always pair."""
    for (a, before), (b, fact) in pairwise(placed):
        if a == b:
            yield before, fact
        elif _written_before(fact, before):
            yield fact, before


def _written_before(a: Fact, b: Fact) -> bool:
    """Whether ``a`` was certainly written before ``b``: by one maker's counter, or by more than clocks may differ."""
    if not (a.made and b.made):
        return False
    if a.made[4:9] == b.made[4:9]:
        return a.made < b.made
    return int.from_bytes(a.made[:4], "big") + SKEW < int.from_bytes(b.made[:4], "big")


# --- words


def listed(words: Sequence[str], most: int) -> str:
    """Some words with commas; after ``most`` of them the number of the rest."""
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} more"


def newest(facts: Iterable[Fact]) -> dt.datetime | None:
    """The latest known time of writing; None if unknown."""
    return max((at for fact in facts if (at := fact.written) is not None), default=None)


def ground_of(
    profile: CollectionProfile,
    versions: Sequence[Value],
    now: dt.datetime,
    gap: str = "V2",
    holds_current: bool = False,
) -> CheckContext:
    """The properties of a collection, judged from some versions: dates, counted numbers, or times.

    Its versions are dates if most of these are; without a majority the profile's numbering decides.
    """
    dates = sum(v.type == c.DATE for v in versions)
    numbers = [number for v in versions if (number := number_of(v)) is not None]
    dated = dates > len(numbers) if dates != len(numbers) else profile.numbering == "time"
    clock = sum(number >= SECONDS for number in numbers) * 2 > len(numbers) or profile.numbering == "time"
    return CheckContext(profile, now, dated, gap, not dated and not clock, holds_current)
