"""Checks ``sequence``: counters below the highest number in use (S1), duplicate or invalid numbers (S2).

A profile's ``targets`` state which field a counter counts. Otherwise a counter named like a neighbouring collection
is assumed to count its field of whole numbers that is named like a number; other counters are not checked.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from model import text
from model.checks.chains import finding
from model.checks.external_sort import ExternalSort
from model.checks.ordered_reading import BrokenOff, OrderedReading, all_of
from model.checks.rules import DamageDraft, listed
from model.errors import NotAllowed
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.layouts.registry import within
from model.recognition.field_names import bare
from model.scan.pattern_documents import PatternDocuments
from model.server.retry import Port
from model.storage.reserved_fields import legible_field
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value
from model.values.decimals import decimal_of
from model.values.kinds import NUMBERS

NAMED = ("number", "no", "nr", "num", "seq", "sequence", "serial", "id", "_id")
SAMPLED = 50
NEAR = 100  # an active counter may always be behind by this much


class Target(Struct, frozen=True):
    """The field whose numbers a counter hands out."""

    ns: str
    path: tuple[str, ...]
    id: str  # the field that identifies documents: versions of one share their number
    guessed: bool = False  # by names only, so the numbers must confirm it


class Sequences(Struct):
    """The check of a collection of counters; ``others`` are the collections that may be counted."""

    server: Port
    profile: CollectionProfile
    others: Mapping[str, CollectionProfile] = field(default_factory=dict)

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all counters and of the numbers they count."""
        p = self.profile
        documents = PatternDocuments(self.server, p.ns, p.id, reading)
        seen: set[str] = set()
        for id, raw in list(documents.read(ids)):  # a recognised sequence has at most a few thousand names
            yield from documents.drained()
            name = str(id.python()) if id.type == c.STRING else ""
            seen.add(name)
            target = self.target(name)
            if target is None:
                why = f"What the counter {id_name(id)} counts is not known; state it in a profile (targets)."
                yield Unchecked(p.ns, why, id)
                continue
            try:
                yield from self._counted(id, raw, target, reading)
            except (NotAllowed, BrokenOff) as error:
                yield Unchecked(p.ns, f"What the counter {id_name(id)} counts could not be read: {error}", id)
        yield from documents.drained()
        yield from documents.unchecked
        for name in p.targets if ids is None else ():
            if name not in seen:
                yield Unchecked(p.ns, f"There is no counter {name}, which the profile states.", Value.of(name))

    # --- targets

    def target(self, name: str) -> Target | None:
        """The field whose numbers a counter hands out; None if unknown."""
        stated = self.profile.targets.get(name)
        if stated is not None:
            ns, counted = stated
            of = self.others.get(ns)
            path = tuple(counted.split("."))
            if of is not None and (inside := within(of)) and counted != of.id:
                path = (inside, *path)
            return Target(ns, path, "_id" if of is None else of.id)
        # Where a person has stated some targets, guessing the others would contradict that they were left out.
        if self.profile.targets:
            return None
        db = self.profile.ns.partition(".")[0]
        wanted = _stem(name)
        for ns, of in self.others.items():
            if ns.partition(".")[0] == db and ns != self.profile.ns and _stem(ns.partition(".")[2]) == wanted:
                return self._guessed(of, wanted)
        return None

    def _guessed(self, of: CollectionProfile, stem: str) -> Target | None:
        """The field of whole numbers that is named like its document's number."""
        counts: dict[str, int] = {}
        total, part = 0, within(of)
        for raw in self.server.find(of.ns, limit=SAMPLED):
            total += 1
            inside = legible_field(raw, part) if part else None
            for name, value in c.fields(inside.data if inside is not None and inside.type == c.OBJECT else raw):
                if value.type in NUMBERS:
                    counts[name] = counts.get(name, 0) + 1
        for name, count in sorted(counts.items(), key=lambda pair: pair[0] != "_id"):
            if count >= 0.9 * total and name != of.version and (bare(name) in NAMED or _stem(name, NAMED) == stem):
                inner = part and name not in ("_id", of.id)
                return Target(of.ns, (part, name) if inner else (name,), of.id, guessed=True)
        return None

    # --- comparing

    def _counted(self, id: Value, raw: bytes, target: Target, reading: OrderedReading) -> Iterator[Finding | Unchecked]:
        shown = ".".join(target.path)
        highest: tuple[Any, Value, Value] | None = None
        with ExternalSort() as spool:
            fields = {shown: 1, target.id: 1} if shown != target.id else {target.id: 1}
            for document in all_of(reading, target.ns, fields):
                value = _at(document, target.path)
                owner, physical = legible_field(document, target.id), legible_field(document, "_id")
                if value is None or value.type == c.NULL or physical is None:
                    continue
                number = number_of(value)
                if number is not None and (highest is None or number > highest[0]):
                    highest = (number, value, physical)
                owner = owner or physical
                # Equal numbers of different types are one number, as they are for the server; no BSON type has the code
                # 0.
                key = b"\0" + repr(number).encode() if number is not None else bytes((value.type,)) + value.data
                spool.add(key, (value.type, value.data, owner.type, owner.data, physical.type, physical.data))
            if target.guessed and not self._borne_out(raw, highest):
                why = f"What the counter {id_name(id)} counts is not certain; state it in a profile (targets)."
                yield Unchecked(self.profile.ns, why, id)
                return
            yield from self._behind(id, raw, target, highest)
            for key, rows in spool.groups():
                yield from self._used(key, rows, target)

    def _borne_out(self, raw: bytes, highest: tuple[Any, Value, Value] | None) -> bool:
        """Whether the highest number is anywhere near the counter."""
        last = c.get(raw, tuple((self.profile.counter or "seq").split(".")))
        number = number_of(last) if last is not None else None
        return number is None or highest is None or number / 2 <= highest[0] <= 2 * number + NEAR

    def _behind(
        self, id: Value, raw: bytes, target: Target, highest: tuple[Any, Value, Value] | None
    ) -> Iterator[Finding]:
        p = self.profile
        last = c.get(raw, tuple((p.counter or "seq").split(".")))
        number = number_of(last) if last is not None else None
        mine = Evidence(p.ns, "the counter", raw)
        if number is None:
            what = "missing" if last is None else text.shown(last)
            said = f"{p.counter or 'seq'} is {what}, no number"
            yield finding(p.ns, DamageDraft("T3", id, (), said, None, ()), said, (mine,))
            return
        if highest is None or highest[0] <= number:
            return
        said = f"{p.counter or 'seq'} is {text.shown(last) if last else ''}, {text.shown(highest[1])} is in use"
        top = next(iter(self.server.find(target.ns, {"_id": highest[2]}, limit=1)), None)
        beside = (Evidence(target.ns, "the highest number", top),) if top is not None else ()
        draft = DamageDraft("S1", id, (), f"{said} in {target.ns}", "raise-counter", ())
        yield finding(p.ns, draft, draft.detail, (mine, *beside))

    def _used(self, key: bytes, rows: Iterator[tuple[Any, ...]], target: Target) -> Iterator[Finding]:
        owners: dict[tuple[int, bytes], Value] = {}
        value = Value.of(None)
        for row in rows:
            value = value if owners else Value(row[0], row[1])
            owners.setdefault((row[2], row[3]), Value(row[4], row[5]))
        numeric = key[0] == 0
        if numeric and len(owners) < 2:
            return
        names = listed([id_name(Value(*owner)) for owner in owners], 4)
        wanted = [*owners.values()][:20]
        found = {legible_field(raw, "_id"): raw for raw in self.server.find(target.ns, {"_id": {"$in": wanted}})}
        evidence = tuple(Evidence(target.ns, id_name(Value(*o)), found[p]) for o, p in owners.items() if p in found)
        count = f"used by {len(owners):,} documents"
        said = f"{count if numeric else f'{text.shown(value)} is not a number'}: {names}"
        yield Finding("S2", target.ns, value, (), said, None, evidence)


def number_of(value: Value) -> Any:
    """The number in a value, None if it is not a number; 5, 5.0 and Int64(5) are equal."""
    if value.type not in NUMBERS:
        return None
    number: Any
    if value.type != c.DECIMAL128:
        number = value.python()
    else:
        number = decimal_of(value.data)
        if number.is_nan():  # even asking a signalling NaN whether it is finite raises an error
            return None
    return number if math.isfinite(number) and number != int(number) else int(number) if math.isfinite(number) else None


def _at(raw: bytes, path: tuple[str, ...]) -> Value | None:
    here = legible_field(raw, path[0])
    for name in path[1:]:
        here = legible_field(here.data, name) if here is not None and here.type == c.OBJECT else None
    return here


def _stem(name: str, endings: Sequence[str] = ()) -> str:
    """A name without case, plural ending and words for a number: users, userId, user_id have one stem."""
    plain = bare(name)
    for ending in (*endings, "ids", "id", "counter", "seq", "numbers", "number"):
        if plain.endswith(ending) and len(plain) > len(ending) + 1:
            plain = plain.removesuffix(ending)
            break
    return plain.removesuffix("s")
