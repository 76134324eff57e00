"""Tests whether a field numbers the versions of one document, and collects evidence against it.

A version differs in every row of a document, and rises with time. The rows' ``_id`` or a date named as a time of
change tells the time; if neither does, the numbers must be consecutive. Known damage of histories does not
contradict: a number taken by two writers, a deleted version, a number of another type. Everything else does. Without
a unique index two writers take one number often, so up to half of the documents may have such numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import partial
from itertools import pairwise

from msgspec import Struct

from model.recognition.field_names import CHANGE_TIMES, TIMES, bare, is_version_name
from model.recognition.sampling import Document, SampledChain, of
from model.storage.gaps import SECONDS
from model.storage.reserved_fields import WHOLE_NUMBERS, number_of, time_of, unreadable
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

SKEW = 2  # seconds by which two writers' clocks may differ
MOST_GOOD = 0.8
MOST_REPEATED = 0.5  # the share of documents with a number in several rows
LEAST_ALIKE = 0.3  # the share of fields that two states of one document must have in common


class Verdict(Enum):
    """The verdict on the rows of one document."""

    SILENT = "silent"  # there is at most one row
    GOOD = "good"
    THINNED = "thinned"  # numbers are missing; time confirms most others and contradicts none
    REPEATED = "repeated"  # a number is in several rows, and nothing else is wrong
    DAMAGED = "damaged"
    AGAINST = "against"


class Judgement(Struct, frozen=True):
    """The verdict on one document, and the reason, in words that follow its name."""

    verdict: Verdict
    why: str = ""


class Judged(Struct, frozen=True):
    """The evidence about a version field from some documents."""

    version: str
    good: int = 0
    damaged: int = 0
    against: str = ""  # the first document that contradicts, and how
    repeated: int = 0

    @property
    def several(self) -> int:
        """The number of documents with several rows."""
        return self.good + self.damaged + self.repeated

    @property
    def in_order(self) -> bool:
        """Whether nothing but repeated numbers is wrong in most documents."""
        return not self.against and self.good >= MOST_GOOD * (self.good + self.damaged)

    @property
    def earned(self) -> bool:
        """Whether nothing contradicts and most documents are in order; repeated numbers are damage."""
        return not self.against and self.good >= MOST_GOOD * self.several

    @property
    def said(self) -> str:
        """The passed tests, as a clause; "" if no document had several rows."""
        if not self.several:
            return ""
        damaged = f" and {self.damaged} {'are' if self.damaged > 1 else 'is'} damaged" if self.damaged else ""
        rising = of(self.good + self.repeated, self.several, "document")
        twice = f" (in {self.repeated} of these a number is in several rows)" if self.repeated else ""
        return f"{self.version} rises with time in {rising} checked{twice}{damaged}"


def judged(chains: Iterable[SampledChain], id: str, version: str) -> Judged:
    """The combined verdicts of some documents, up to the first that contradicts."""
    good = damaged = repeated = 0
    for chain in chains:
        found = judgement(chain, version)
        if found.verdict is Verdict.AGAINST:
            name = chain.documents[0].get(id) if chain.documents else None
            who = id_name(name) if name is not None else "a document"
            return Judged(version, good, damaged, f"{who} {found.why}", repeated)
        good += found.verdict in (Verdict.GOOD, Verdict.THINNED)
        damaged += found.verdict is Verdict.DAMAGED
        repeated += found.verdict is Verdict.REPEATED
    return Judged(version, good, damaged, repeated=repeated)


def judgement(chain: SampledChain, version: str) -> Judgement:
    """The verdict on one document's rows; a version that is a time may fall if a clock was wrong."""
    places, dated = chain.places, is_timed(chain, version)
    total = len(places) + chain.unplaced
    if total < 2:
        return Judgement(Verdict.SILENT)
    if 2 * chain.unplaced > total:
        return Judgement(Verdict.AGAINST, f"has no {version} in {chain.unplaced} of {total} rows")
    if why := _too_few(chain, version):
        return Judgement(Verdict.AGAINST, why)
    repeats = len(places) - len(set(places))
    spare = max(1, len(places) // 5)
    rises, falls, steps = with_time(chain, version)
    if falls > (spare if dated and len(places) > 2 else 0):
        return Judgement(Verdict.AGAINST, f"has a {version} that falls as time goes on")
    if chain.unplaced or falls or _broken(chain.documents):
        return Judgement(Verdict.DAMAGED)
    if not dated and any(b - a > 1 for part in chain.stretches for a, b in pairwise(part)):
        return Judgement(Verdict.THINNED if 2 * rises >= steps and not repeats else Verdict.DAMAGED)
    return Judgement(Verdict.REPEATED if repeats else Verdict.GOOD)


def _too_few(chain: SampledChain, version: str) -> str:
    """Why a document's rows have too few different numbers for versions, in words that follow its name; "" if not."""
    places, different = chain.places, len(set(chain.places))
    created_twice = len(places) == 2 and places[0] <= 1 and is_version_name(version)
    if len(places) > 1 and different == 1 and not (created_twice or _copies(chain.documents)):
        shown = f"{version} {_shown(chain, version)}"
        return f"has {shown} in all of its {len(places)} rows"
    if len(places) - different > max(1, len(places) // 3):
        return f"has only {different} different {version} in {len(places)} rows"
    return ""


class Inside(Struct, frozen=True):
    """One document with earlier states in an array, oldest first, and its current state."""

    id: Value | None
    past: Sequence[Document]
    now: Document

    @property
    def alike(self) -> float:
        """The share of fields that the latest earlier state has in common with the current one."""
        ours, theirs = set(self.now.fields), set(self.past[-1].fields) if self.past else set()
        return len(ours & theirs) / len(ours | theirs) if ours | theirs else 0.0


def judged_inside(documents: Iterable[Inside], version: str, prev: str) -> Judged:
    """The combined verdicts of documents that contain their past, up to the first that contradicts."""
    good = damaged = 0
    for each in documents:
        if not each.past:
            continue
        found = _rising([*(d.place(version) for d in each.past), each.now.place(version)], version, prev)
        if each.alike < LEAST_ALIKE:
            found = Judgement(Verdict.AGAINST, f"has little in {prev} of what it is made of itself")
        if found.verdict is Verdict.AGAINST:
            who = id_name(each.id) if each.id is not None else "a document"
            return Judged(version, good, damaged, f"{who} {found.why}")
        good += found.verdict is Verdict.GOOD
        damaged += found.verdict is Verdict.DAMAGED
    return Judged(version, good, damaged)


def _rising(places: Sequence[int | None], version: str, prev: str) -> Judgement:
    """The verdict on an array's numbers, which is in order of time, with the current number at the end."""
    found = [place for place in places if place is not None]
    if 2 * len(found) < len(places) or places[-1] is None:
        return Judgement(Verdict.AGAINST, f"has no {version} in {len(places) - len(found)} of {len(places)} versions")
    if len(set(found)) == 1 and len(found) > 1:
        return Judgement(Verdict.AGAINST, f"has {version} {found[0]} in all of its {len(found)} versions")
    if found[-1] < max(found):
        return Judgement(Verdict.AGAINST, f"has a {version} that is not above all in {prev}")
    spare = max(1, len(found) // 5) if len(found) > 2 else 0
    astray = len(found) - _longest_rise(found)
    if astray > spare:
        return Judgement(Verdict.AGAINST, f"has a {version} that falls or repeats in {prev}")
    return Judgement(Verdict.DAMAGED if astray or len(found) < len(places) else Verdict.GOOD)


def _longest_rise(places: Sequence[int]) -> int:
    """The length of the longest strictly rising selection."""
    ends: list[int] = []
    for place in places:
        at = next((n for n, end in enumerate(ends) if end >= place), len(ends))
        ends[at : at + 1] = [place]
    return len(ends)


def _shown(chain: SampledChain, version: str) -> str:
    value = chain.documents[-1].get(version)
    number = number_of(value)
    return str(number) if number is not None else str(value.python()) if value is not None else ""


def _copies(documents: Sequence[Document]) -> bool:
    """Whether rows are equal except for ids and tokens."""
    contents = {
        tuple((name, value) for name, value in d.fields.items() if name != "_id" and value.type != c.OBJECT_ID)
        for d in documents
    }
    return len(contents) == 1


# --- time


def with_time(chain: SampledChain, version: str) -> tuple[int, int, int]:
    """Counts of neighbours with different numbers: where time rises, where it falls, and all."""
    rows: dict[int, list[Document]] = {}  # rows with one number count as one: a copy may have been made later
    broken = _broken(chain.documents)  # these do not tell the time
    for place, document in zip(chain.places, chain.documents, strict=True):
        if document.raw not in broken:
            rows.setdefault(place, []).append(document)
    steps = list(pairwise(rows.values()))
    own = _ways(steps, lambda a, b: _later(a.get("_id"), b.get("_id")))
    if 1 in own and -1 not in own:
        return own.count(1), 0, len(steps)
    told = [name for name in _dates([d for each in rows.values() for d in each]) if name != version]
    changes = [name for name in told if bare(name) in CHANGE_TIMES]
    for name in changes or told:
        dates = _ways(steps, partial(_way_of, name))
        if 1 in dates and -1 not in dates:
            return dates.count(1), 0, len(steps)
        if name in changes and -1 not in own and -1 in dates:
            own = dates
    return own.count(1), own.count(-1), len(steps)


def _ways(
    steps: Sequence[tuple[Sequence[Document], Sequence[Document]]], way: Callable[[Document, Document], int]
) -> list[int]:
    """For each step: time rises (1), falls (-1) or is unknown (0), between any rows of its two sides."""
    return [max(way(a, b) for a in before for b in after) for before, after in steps]


def _broken(documents: Sequence[Document]) -> set[bytes]:
    """Rows that cannot be decoded, and a row without a time that all others have."""
    found = {d.raw for d in documents if unreadable(d.raw)}
    counts = Counter(
        name for d in documents for name, v in d.fields.items() if v.type == c.DATE and bare(name) in TIMES
    )
    usual = [name for name, n in counts.items() if n == len(documents) - 1 > 1]
    return found | {d.raw for d in documents for name in usual if d.get(name) is None}


def is_timed(chain: SampledChain, version: str) -> bool:
    """Whether versions are dates, or numbers that count time since 1970."""
    values = [v for d in chain.documents if (v := d.get(version)) is not None]
    return 2 * sum(v.type == c.DATE or (number_of(v) or 0) >= SECONDS for v in values) > len(values)


def _dates(documents: Sequence[Document]) -> list[str]:
    """The dates named like times that all of these documents have."""
    first = documents[0].fields if documents else {}
    return [
        name
        for name in first
        if bare(name) in TIMES and all((v := d.get(name)) is not None and v.type == c.DATE for d in documents)
    ]


def _later(a: Value | None, b: Value | None) -> int:
    """Whether ``b`` was made after ``a`` (1), before (-1), or unknown (0), judged by their ids."""
    if a is None or b is None:
        return 0
    if a.type == b.type == c.OBJECT_ID:
        if a.data[4:9] == b.data[4:9]:
            return (a.data < b.data) - (a.data > b.data)
        early, late = time_of(a), time_of(b)
        apart = (late - early).total_seconds() if early is not None and late is not None else 0
        return 0 if abs(apart) <= SKEW else 1 if apart > 0 else -1
    if a.type in WHOLE_NUMBERS and b.type in WHOLE_NUMBERS:
        return _direction(number_of(a), number_of(b))
    return 0


def _way_of(name: str, a: Document, b: Document) -> int:
    return _direction(a.place(name), b.place(name))


def _direction(a: int | None, b: int | None) -> int:
    return 0 if a is None or b is None else (b > a) - (b < a)
