"""A scan in parts, each by its own process, and how their results are joined.

The rows of a part are lines of JSON: first which part it is, then each collection with its bounds, findings and
amounts, and an end. A part that was aborted has no end and is not joined.
"""

from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from model import text
from model.checks.chains import left_out
from model.checks.damage_tally import UNTIL_STATED, ClassOf, DamageTally
from model.errors import Refused, Unreadable
from model.foundation.findings import Finding, Unchecked
from model.values.canonical import Value


class CollectionBegun(Struct, frozen=True):
    """A collection, or its part from one id to before another, to which the following findings belong."""

    at: int  # its position among all
    ns: str
    layout: str
    stated: bool  # by a profile, so that no finding contradicts its layout
    whole: bool
    since: Value | None
    before: Value | None


class CollectionDone(Struct, frozen=True):
    """The end of a collection, with the number of documents and of stored documents."""

    histories: int
    documents: int
    read_in_vain: int = 0  # stored ones without a judged history


def part_of(written: str) -> tuple[int, int]:
    """The number of a part and of all parts; raises ``Refused`` for anything unlike "2/4"."""
    number, slash, of = written.partition("/")
    if slash and number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return int(number), int(of)
    raise Refused(f"{written!r} is not a part of a scan; write 1/4 for the first of four.")


# --- rows


def rows(
    found: Iterable[CollectionBegun | Finding | Unchecked | CollectionDone], number: int, of: int, places: Sequence[str]
) -> Iterator[str]:
    """The rows of a part, as lines of JSON."""
    yield json.dumps({"part": number, "of": of, "places": list(places)})
    for each in found:
        yield json.dumps(_row(each))  # ASCII, so that a terminal acts on no character
    yield json.dumps({"end": number})


def _row(each: CollectionBegun | Finding | Unchecked | CollectionDone) -> dict[str, Any]:
    if isinstance(each, CollectionBegun):
        kept: dict[str, Any] = asdict(each)
        return {"begun": kept | {"since": _written(each.since), "before": _written(each.before)}}
    if isinstance(each, CollectionDone):
        return {"done": asdict(each)}
    if isinstance(each, Unchecked):
        return {"unchecked": asdict(each) | {"id": _written(each.id)}}
    at = None if each.at is None else each.at.isoformat()
    kept = asdict(each) | {"id": _written(each.id), "versions": list(map(_written, each.versions)), "at": at}
    kept.pop("evidence")
    return {"finding": kept}


def _written(value: Value | None) -> str | None:
    return None if value is None else text.value_text(value)


def _read(value: str | None) -> Value | None:
    return None if value is None else text.value_from_text(value)


def _made(row: dict[str, Any]) -> CollectionBegun | Finding | Unchecked | CollectionDone:
    ((kind, kept),) = row.items()
    if kind == "begun":
        return CollectionBegun(**kept | {"since": _read(kept["since"]), "before": _read(kept["before"])})
    if kind == "done":
        return CollectionDone(**kept)
    if kind == "unchecked":
        counted = kept["left_out"]
        return Unchecked(**kept | {"id": _read(kept["id"]), "left_out": counted and (counted[0], counted[1])})
    if kind != "finding":
        raise ValueError(kind)
    versions = tuple(map(text.value_from_text, kept["versions"]))
    at = None if kept["at"] is None else dt.datetime.fromisoformat(kept["at"])
    return Finding(**kept | {"id": _read(kept["id"]), "versions": versions, "at": at})


# --- joining


class _CollectionPart(Struct):
    begun: CollectionBegun
    found: list[Finding | Unchecked] = field(default_factory=list)
    done: CollectionDone = CollectionDone(0, 0)


class _Part(Struct, frozen=True):
    number: int
    of: int
    places: tuple[str, ...]
    before: list[Unchecked]  # reported outside any collection
    collections: list[_CollectionPart]


class JoinedScan:
    """The result of a whole scan, joined from its parts: iterate over it, then ask for the amounts."""

    def __init__(self, parts: Iterable[tuple[str, Iterable[str]]], class_of: ClassOf) -> None:
        """``parts`` are names for people with lines; ``class_of`` tells a class of damage by its code.

        Raises ``Refused`` unless they are all parts of one scan.
        """
        self._class_of = class_of
        self._parts = sorted((_part(name, lines) for name, lines in parts), key=lambda part: part.number)
        first = self._parts[0]
        if any((part.of, part.places) != (first.of, first.places) for part in self._parts):
            raise Refused("These are parts of different scans; join those of one.")
        if [part.number for part in self._parts] != list(range(1, first.of + 1)):
            there = ", ".join(str(part.number) for part in self._parts)
            raise Refused(f"There have to be the parts 1 to {first.of}, each once, and there are {there}.")
        self.places = first.places
        self._collections: dict[int, list[_CollectionPart]] = {}
        for part in self._parts:
            for each in part.collections:
                self._collections.setdefault(each.begun.at, []).append(each)
        for at in range(max(self._collections, default=-1) + 1):
            _check(self._collections.get(at, []), first.of)
        everything = [each for several in self._collections.values() for each in several]
        self.documents = sum(each.done.documents for each in everything)
        self.read_in_vain = sum(each.done.read_in_vain for each in everything)
        self.counts: Counter[str] = Counter()
        self.unchecked: list[Unchecked] = []

    def __iter__(self) -> Iterator[Finding | Unchecked]:
        for each in self._all():
            if isinstance(each, Finding):
                self.counts[each.code] += 1
            else:
                self.unchecked.append(each)
            yield each

    def _all(self) -> Iterator[Finding | Unchecked]:
        yield from self._parts[0].before
        for _, several in sorted(self._collections.items()):
            begun, why = several[0].begun, ""
            if not begun.stated:
                tally = DamageTally(begun.ns, self._class_of)
                for part in several:
                    for each in part.found:
                        if isinstance(each, Finding):
                            tally.note(each)
                why = tally.speaks_against(begun.layout, sum(part.done.histories for part in several))
                why = why and f"{why} {UNTIL_STATED}"
            counted: dict[tuple[str, str], int] = {}
            for part in several:
                for each in part.found:
                    if isinstance(each, Unchecked) and each.left_out is not None:
                        count, words = each.left_out
                        counted[each.ns, words] = counted.get((each.ns, words), 0) + count
                    else:
                        yield replace(each, repair=None, doubt=why) if why and isinstance(each, Finding) else each
            for (ns, words), count in counted.items():
                yield Unchecked(ns, left_out(count, words), left_out=(count, words))


def _part(name: str, lines: Iterable[str]) -> _Part:
    try:
        read = [json.loads(line) for line in lines if line.strip()]
        head, *rest = read
        if not rest or rest[-1] != {"end": head["part"]}:
            raise Refused(f"{name} breaks off before its end; scan that part again.")
        part = _Part(int(head["part"]), int(head["of"]), tuple(map(str, head["places"])), [], [])
        for row in rest[:-1]:
            each = _made(row)
            if isinstance(each, CollectionBegun):
                part.collections.append(_CollectionPart(each))
            elif isinstance(each, CollectionDone):
                part.collections[-1].done = each
            elif part.collections:
                part.collections[-1].found.append(each)
            elif isinstance(each, Unchecked):
                part.before.append(each)
        return part
    except (ValueError, KeyError, TypeError, IndexError, OverflowError, RecursionError, Unreadable):
        raise Refused(f"{name} is not a part of a scan; `palimpsest scan SOURCE --range 1/4` writes one.") from None


def _check(several: Sequence[_CollectionPart], of: int) -> None:
    """Raise ``Refused`` unless these are all parts of one collection, each starting where the previous one ends."""
    ends = [(each.begun.since, each.begun.before) for each in several]
    whole = len(several) == 1 and several[0].begun.whole
    joined = len(several) == of and ends[0][0] is None and ends[-1][1] is None
    fits = joined and all(before[1] == after[0] for before, after in pairwise(ends))
    if (whole or fits) and len({each.begun.ns for each in several}) == 1:
        return
    where = several[0].begun.ns if several else "A collection"
    raise Refused(f"{where} was divided in different ways, as documents came or went meanwhile; scan the parts again.")
