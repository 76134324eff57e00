"""Checks histories that consist of several stored documents, one by one in the order of their ids.

The documents of a finding are read once more before it is reported: another program may have been in the middle of an
edit, or a secondary may have been behind. Without an index the facts are sorted here, on disk if there are many.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct, field
from msgspec.structs import replace

from model.checks.bson_damage import damage_of
from model.checks.external_sort import ExternalSort
from model.checks.facts import Fact, FactReader, SomeFact
from model.checks.field_orders import FieldOrders
from model.checks.ordered_reading import (
    BrokenOff,
    EqualIds,
    OrderedReading,
    OtherOrder,
    all_of,
    by_ids,
    is_indexed,
    runs,
)
from model.checks.rules import ORDER_ONLY, CheckContext, DamageDraft, ground_of, listed, newest
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.server.guards import by_id
from model.server.retry import Port
from model.storage.reserved_fields import legible, legible_field
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

TOGETHER, FACTS_TOGETHER = 50, 5_000  # documents that are read again in one query, and their versions
SAMPLED = 100  # versions examined to see whether they are dates
GAPS = ("V2", "A4", "D1", "E1", "R1")
TRIES = 3
HELD = 4 << 20
"""Bytes of one document's versions that are kept undecoded; of further versions only the facts are kept."""


class Part(Struct, frozen=True):
    """One of the collections that contain a history."""

    ns: str
    reader: FactReader


class Chains(Struct):
    """The check of a layout with several stored documents per history."""

    server: Port  # for fresh reads
    profile: CollectionProfile
    parts: Sequence[Part]
    judge: Callable[[Sequence[SomeFact], CheckContext], list[DamageDraft]]
    gap: str = "V2"
    holds_current: bool = False
    beyond: Callable[[Value], dict[Value, str]] | None = None
    """Finds wrong hashes that cover more than one stored document: the versions, and what is wrong."""

    more: Callable[[DamageDraft], str] | None = None
    """Adds to a finding's sentence, after a comma."""

    _held: int = 0  # bytes of the documents read since the last history was judged
    _spotted: list[Finding] = field(default_factory=list)
    _left_out: dict[str, int] = field(default_factory=dict)
    _orders: dict[str, FieldOrders] = field(default_factory=dict)

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all documents; yields findings while reading."""
        self._spotted, self._left_out = [], {}
        ground = self._ground(now)
        if ids is not None:
            yield from self._examined(ids, ground, reading)
            yield from self._noted()
            return
        told: set[int] = set()  # findings reported so far, in case the rest must be read in another way
        try:
            if all(is_indexed(self.server, part.ns, part.reader.id) for part in self.parts):
                for finding in self._in_order(ground, reading):
                    if isinstance(finding, Finding):
                        told.add(hash((finding.code, finding.id, finding.versions)))
                    yield finding
                yield from self._noted()
                return
        except OtherOrder:
            if reading.part is not None:
                raise Refused(
                    "The server orders these ids in a way that cannot be followed here; scan this collection whole."
                ) from None
            self._spotted, self._left_out, reading.last, reading.histories = [], {}, None, 0
        for finding in self._sorted_here(ground, reading):
            if isinstance(finding, Unchecked) or hash((finding.code, finding.id, finding.versions)) not in told:
                yield finding
        yield from self._noted()

    def _ground(self, now: dt.datetime) -> CheckContext:
        p = self.profile
        found = self.server.find(p.ns, projection={p.version: 1}, limit=SAMPLED)
        versions = [v for raw in found if (v := legible_field(raw, p.version)) is not None]
        return ground_of(p, versions, now, self.gap, self.holds_current)

    # --- reading

    def _take(self, part: Part, lazily: bool = False) -> Callable[[bytes], tuple[Value, SomeFact] | None]:
        at_once = part.reader.taken_at_once if lazily else None

        def take(raw: bytes) -> tuple[Value, SomeFact] | None:
            self._held += len(raw)
            if at_once is not None and self._held <= HELD and (taken := at_once(raw)) is not None:
                return taken
            # Undecoded rows are cheap for the processor and dear in memory, so one huge history is read at once.
            damage, id, fact = part.reader.read(raw, lazily and self._held <= HELD)
            if damage:
                version = (part.reader.own.version,) if part.reader.own.version else ()
                self._spotted.append(unreadable(self.profile.ns, part.ns, raw, damage, part.reader.id, version))
            if id is None or fact is None or id.type == c.ARRAY:
                why = f"have no {part.reader.id}" if id is None else f"have an array as {part.reader.id}"
                self._left_out[why] = self._left_out.get(why, 0) + 1
                return None
            if fact.damaged:
                self._left_out["do not decode"] = self._left_out.get("do not decode", 0) + 1
            return id, fact

        return take

    def _in_order(self, ground: CheckContext, reading: OrderedReading) -> Iterator[Finding | Unchecked]:
        waiting: dict[Value, int] = {}
        last: Value | None = None
        try:
            for items in self._joined(reading, not ground.dated):
                self._held = 0
                for id, facts in grouped(items):
                    reading.histories += 1
                    if self._suspect(facts, ground):
                        waiting[id] = len(facts)
                    last = id
                if self._spotted:
                    yield from self._drained()
                # Suspects are read again together: most are damaged alike, and one query for each would take longer
                # than the scan.
                if len(waiting) >= TOGETHER or sum(waiting.values()) >= FACTS_TOGETHER:
                    yield from self._examined(list(waiting), ground)
                    waiting = {}
                # Only then is everything up to here told; a scan that resumes earlier tells a finding twice, but loses
                # none.
                if not waiting:
                    reading.last = last
        except BrokenOff as error:
            yield Unchecked(self.profile.ns, str(error))
        yield from self._examined(list(waiting), ground)
        yield from self._drained()

    def _joined(self, reading: OrderedReading, lazily: bool) -> Iterator[list[tuple[Value, SomeFact]]]:
        sources: list[Iterator[EqualIds[SomeFact]]] = [
            runs(reading, part.ns, part.reader.id, self._take(part, lazily), reading.after) for part in self.parts
        ]
        if len(sources) == 1:
            yield from (each.items for each in sources[0])
            return
        currents, archived = sources
        one, other = next(currents, None), next(archived, None)
        while one is not None and other is not None and one.key == other.key:
            yield one.items + other.items  # most documents of two collections are in both
            one, other = next(currents, None), next(archived, None)
        heads = [one, other]
        while left := [head.key for head in heads if head is not None]:
            try:
                least = min(left)
            # Two ids of one rank that Python cannot compare, such as codes with scopes: only the server knows their
            # order.
            except TypeError:
                raise OtherOrder from None
            items: list[tuple[Value, SomeFact]] = []
            for at, head in enumerate(heads):
                if head is not None and head.key == least:
                    items += head.items
                    heads[at] = next(sources[at], None)
            yield items

    def _sorted_here(self, ground: CheckContext, reading: OrderedReading) -> Iterator[Finding | Unchecked]:
        with ExternalSort() as spool:
            for part in self.parts:
                take = self._take(part)
                try:
                    for raw in all_of(reading, part.ns):
                        if (taken := take(raw)) is not None:
                            spool.add(bytes((taken[0].type,)) + taken[0].data, taken[1].whole.packed())
                        yield from self._drained()
                except BrokenOff as error:
                    yield Unchecked(self.profile.ns, str(error))
                    return
            suspects = (id for id, facts in self._grouped(spool, reading) if self._suspect(facts, ground))
            while chunk := list(islice(suspects, TOGETHER)):
                yield from self._examined(chunk, ground)

    def _grouped(self, spool: ExternalSort, reading: OrderedReading) -> Iterator[tuple[Value, list[Fact]]]:
        for group in spool.groups():
            reading.histories += 1
            yield _of_group(group)

    def _suspect(self, facts: Sequence[SomeFact], ground: CheckContext) -> bool:
        drafts = self.judge(facts, ground)
        if drafts and self._of_damaged(drafts, facts):
            return True
        return self.beyond is not None and any(fact.carries_hash for fact in facts)

    def _judged(self, facts: Sequence[SomeFact], ground: CheckContext) -> list[DamageDraft]:
        return self._of_damaged(self.judge(facts, ground), facts)

    def _of_damaged(self, drafts: list[DamageDraft], facts: Sequence[SomeFact]) -> list[DamageDraft]:
        """The damage found, without gaps if a document that cannot be read may be what is missing."""
        if drafts and any(fact.damaged and fact.whole.v is None for fact in facts):
            drafts = [each for each in drafts if each.code not in GAPS]  # the missing version may be a damaged document
        return drafts

    # --- telling

    def _examined(
        self, ids: Sequence[Value], ground: CheckContext, anew: OrderedReading | None = None
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some documents, read fresh; ``anew`` counts them if they were not read before."""
        left = list(ids)
        for attempt in range(TRIES):
            if not left:
                return
            facts: dict[Value, list[Fact]] = {id: [] for id in left}
            for part in self.parts:
                take = self._take(part)
                for id, raw in by_ids(self.server, part.ns, part.reader.id, left):
                    if anew is not None and not attempt:
                        anew.looked()
                        take(raw)
                    facts[id].append(part.reader.fact(id, raw))
            moved: list[Value] = []
            for id in left:
                yield from self._drained()
                if not facts[id]:
                    continue
                drafts = self._judged(facts[id], ground)
                if self.beyond is not None and any(fact.carries_hash for fact in facts[id]):
                    drafts += [] if any(each.code == "D1" for each in drafts) else self._states(id, facts[id])
                found = [self._fetched(draft) for draft in drafts]
                # Written while it was read: one half of the evidence is older than the other, and may not fit it.
                if None in found:
                    moved.append(id)
                else:
                    yield from (finding for finding in found if finding is not None)
            left = moved
        for id in left:
            yield Unchecked(self.profile.ns, "It was being written whenever it was read.", id)

    def _states(self, id: Value, facts: Sequence[Fact]) -> list[DamageDraft]:
        """H1, if hashes cover the states that versions lead to."""
        assert self.beyond is not None
        said = self.beyond(id)
        wrong = [fact for fact in facts if fact.v is not None and fact.v in said]
        words = listed([f"{version_name(fact.v)}: {said[fact.v]}" for fact in wrong if fact.v is not None], 5)
        versions = tuple(fact.v for fact in wrong if fact.v is not None)
        return [DamageDraft("H1", id, versions, words, "rebuild-hash", tuple(wrong), newest(wrong))] if wrong else []

    def _fetched(self, draft: DamageDraft) -> Finding | None:
        """The finding with its stored documents; None if these have changed meanwhile."""
        evidence: list[Evidence] = []
        said = draft.detail
        for fact in draft.rests_on:
            part = next(each for each in self.parts if each.reader.archived == fact.archived)
            raw = next(iter(self.server.find(part.ns, by_id(fact.physical), limit=1)), None)
            # A plan rests on the bytes of these documents, so they have to be those that were judged.
            if raw is None or part.reader.fact(fact.id, raw) != fact:
                return None
            evidence.append(Evidence(part.ns, self._name(fact), raw, fact.v))
            if draft.code == "H1" and fact.sealed == "hash differs" and self._order_of(part).explain(raw):
                told = f"{version_name(fact.v)}: hash differs"
                said = said.replace(told, f"{version_name(fact.v)}: {ORDER_ONLY}")
        if self.more is not None and (told := self.more(draft)):
            said = f"{said}, {told}"
        return finding(self.profile.ns, draft, said, tuple(evidence))

    def _order_of(self, part: Part) -> FieldOrders:
        if part.ns not in self._orders:
            self._orders[part.ns] = FieldOrders(self.server, replace(self.profile, ns=part.ns), part.reader.own)
        return self._orders[part.ns]

    def _name(self, fact: Fact) -> str:
        if len(self.parts) == 1:
            return version_name(fact.v)
        return f"{version_name(fact.v)} in the archive" if fact.archived else f"{version_name(fact.v)} in the document"

    def _drained(self) -> Iterator[Finding]:
        spotted, self._spotted = self._spotted, []
        yield from spotted

    def _noted(self) -> Iterator[Unchecked]:
        for why, count in self._left_out.items():
            yield Unchecked(self.profile.ns, left_out(count, why), left_out=(count, why))

    @property
    def ordered_by(self) -> str:
        """The field that orders a scan; "" if there is none, so that the collection cannot be read in parts."""
        ordered = all(is_indexed(self.server, part.ns, part.reader.id) for part in self.parts)
        return self.parts[0].reader.id if ordered else ""


def left_out(count: int, why: str) -> str:
    """A sentence on documents whose bytes alone were checked."""
    if count == 1:
        why = why.replace("have ", "has ").replace("do not", "does not")
    return f"{count:,} document{'s' if count != 1 else ''} {why}, so only the bytes were looked at."


def grouped(items: Sequence[tuple[Value, SomeFact]]) -> Iterable[tuple[Value, list[SomeFact]]]:
    """Facts grouped by their exact id."""
    first = last = items[0][0]
    for id, _ in items:
        if id is not last:  # equal ids of one collection share one object
            if id.data != first.data or id.type != first.type:
                break
            last = id
    else:
        return ((first, [fact for _, fact in items]),)
    found: dict[Value, list[SomeFact]] = {}
    for id, fact in items:
        found.setdefault(id, []).append(fact)
    return found.items()


def _of_group(group: tuple[bytes, Iterator[tuple[object, ...]]]) -> tuple[Value, list[Fact]]:
    key, rows = group
    return Value(key[0], key[1:]), [Fact.unpacked(row) for row in rows]


def unreadable(ns: str, stored: str, raw: bytes, damage: str, id: str, version: c.Path = ()) -> Finding:
    """The B1 finding for a stored document, with its id and version if they precede the damage."""
    found = legible(raw)
    v = found.get(str(version[0])) if version else None
    for name in version[1:]:
        v = legible(v.data).get(str(name)) if v is not None and v.type == c.OBJECT else None
    if v is not None and v.type in (c.OBJECT, c.ARRAY):  # this cannot be a version, whatever the field's name
        v = None
    where = "" if ns == stored else f" (in {stored})"
    told = "in the document" if ns == stored else "in the archive"
    evidence = Evidence(stored, told, raw, v)
    named = found.get(id) or found.get("_id")
    return Finding("B1", ns, named, () if v is None else (v,), f"{damage}{where}", None, (evidence,))


def finding(ns: str, draft: DamageDraft, detail: str, evidence: tuple[Evidence, ...]) -> Finding:
    """The finding for a draft; without a repair if a document in it would not survive being written."""
    repair = draft.repair
    if repair is not None and any(damage_of(each.raw) for each in evidence):
        repair, detail = None, f"{detail}; it is not to be written, see B1"
    return Finding(draft.code, ns, draft.id, draft.versions, detail, repair, evidence, draft.at, draft.young)
