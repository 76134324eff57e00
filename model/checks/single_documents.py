"""Checks histories and documents that are one stored document each: ``embedded``, ``hashed`` and ``plain``."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct

from model.checks.bson_damage import damage_of
from model.checks.chains import finding, left_out, unreadable
from model.checks.external_sort import ExternalSort
from model.checks.facts import Fact, FactReader
from model.checks.field_orders import FieldOrders
from model.checks.ordered_reading import BrokenOff, OrderedReading, all_of, by_ids
from model.checks.rules import ORDER_ONLY, CheckContext, DamageDraft, ground_of, hashes
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.server.retry import Port
from model.storage.reserved_fields import legible, legible_field
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

SAMPLED = 100


class SingleDocuments(Struct):
    """The check of a layout with one stored document for everything."""

    server: Port
    profile: CollectionProfile
    reader: FactReader
    judge: Callable[[bytes, Value, CheckContext, bool], list[DamageDraft]] | None = None
    """Judges documents that can be decoded; the flag says that their bytes are undamaged."""
    shared: bool = False  # report hashes shared by several documents
    _orders: FieldOrders | None = None

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all documents."""
        ground = self._ground(now)
        left: dict[str, int] = {}
        if ids is not None:
            for _, raw in by_ids(self.server, self.profile.ns, self.reader.id, ids):
                reading.looked()
                yield from self._looked(raw, ground, left, None)
            if self.shared:
                yield from self._sharing(ids)
        else:
            plain = self.judge is None and not self.shared  # only bytes are checked
            with ExternalSort() as spool:
                try:
                    for raw in all_of(reading, self.profile.ns, last=None if self.shared else reading.after):
                        reading.histories += 1
                        if not plain or damage_of(raw):
                            yield from self._looked(raw, ground, left, spool if self.shared else None)
                        reading.last = raw if reading.in_order and not self.shared else None
                except BrokenOff as error:
                    yield Unchecked(self.profile.ns, str(error))
                yield from self._shared(spool)
        for why, count in left.items():
            yield Unchecked(self.profile.ns, left_out(count, why), left_out=(count, why))
        if self.profile.hash_doubt:
            yield Unchecked(self.profile.ns, f"The hashes were not checked. {self.profile.hash_doubt}")

    @property
    def ordered_by(self) -> str:
        """The field that orders a scan; "" if all documents must be compared with one another."""
        return "" if self.shared else "_id"

    def _ground(self, now: dt.datetime) -> CheckContext:
        p = self.profile
        if self.judge is None:
            return CheckContext(p, now, False)
        shown = {f"{p.current}.{p.version}": 1, p.version: 1}
        found: list[Value | None] = []
        for raw in self.server.find(p.ns, projection=shown, limit=SAMPLED):
            part = legible_field(raw, p.current)
            found.append(legible_field(raw if part is None or part.type != c.OBJECT else part.data, p.version))
        return ground_of(p, [v for v in found if v is not None], now, "E1")

    def _looked(
        self, raw: bytes, ground: CheckContext, left: dict[str, int], spool: ExternalSort | None
    ) -> Iterator[Finding]:
        p = self.profile
        damage = damage_of(raw)
        if damage:
            yield unreadable(p.ns, p.ns, raw, damage, self.reader.id, self._version_path(raw))
        id = self.reader.id_of(raw)
        why = f"have no {self.reader.id}" if id is None else "do not decode" if damage == "does not decode" else ""
        if id is None or why:
            if self.judge is not None or self.shared:
                left[why] = left.get(why, 0) + 1
            return
        if self.judge is not None:
            for draft in self.judge(raw, id, ground, not damage):
                yield finding(p.ns, draft, draft.detail, (Evidence(p.ns, "in the document", raw, _version(draft)),))
        if self.shared:
            fact = self.reader.fact(id, raw)
            yield from self._sealed(fact, raw)
            if spool is not None and fact.v is not None:
                spool.add(
                    bytes((fact.v.type,)) + fact.v.data,
                    (id.type, id.data, fact.physical.type, fact.physical.data, fact.digest),
                )

    def _version_path(self, raw: bytes) -> c.Path:
        """The path of the current version's number or hash."""
        p = self.profile
        if self.judge is None:
            return (self.reader.own.version,) if self.reader.own.version else ()
        part = legible(raw).get(p.current)
        return (p.current, p.version) if part is not None and part.type == c.OBJECT else (p.version,)

    def _sealed(self, fact: Fact, raw: bytes) -> Iterator[Finding]:
        for draft in hashes([fact]):
            said = fact.sealed
            self._orders = self._orders or FieldOrders(self.server, self.profile, self.reader.own)
            if said == "hash differs" and self._orders.explain(raw):
                said = ORDER_ONLY
            yield finding(self.profile.ns, draft, said, (Evidence(self.profile.ns, "in the document", raw, fact.v),))

    # --- hashes that several have

    def _shared(self, spool: ExternalSort) -> Iterator[Finding | Unchecked]:
        for key, rows in spool.groups():
            before: tuple[object, ...] | None = None
            told = False
            for row in rows:
                if before is not None:
                    if not told:
                        yield from self._shares(Value(key[0], key[1:]), before, row)
                    told = True
                    yield from self._shares(Value(key[0], key[1:]), row, before)
                before = row

    def _shares(self, v: Value, row: tuple[object, ...], other: tuple[object, ...]) -> Iterator[Finding]:
        id, physical = Value(row[0], row[1]), Value(row[2], row[3])  # type: ignore[arg-type]
        theirs = Value(other[2], other[3])  # type: ignore[arg-type]
        found = {
            p: raw
            for raw in self.server.find(self.profile.ns, {"_id": {"$in": [physical, theirs]}})
            if (p := legible(raw).get("_id")) is not None
        }
        if physical not in found or theirs not in found:
            return
        mine, beside = found[physical], found[theirs]
        if any(legible(raw).get(self.profile.hash) != v for raw in (mine, beside)):
            return
        yield self._row(id, v, mine, beside, row[4] == other[4])

    def _row(self, id: Value, v: Value, mine: bytes, beside: bytes, equal: bool) -> Finding:
        ns = self.profile.ns
        other = legible(beside).get(self.reader.id) or Value.of(None)
        how = "equal content, which is legal" if equal else "another content"
        said = f"{id_name(other)} has the same hash and {how}"
        return Finding(
            "H2",
            ns,
            id,
            (v,),
            said,
            None,
            (Evidence(ns, "in the document", mine, v), Evidence(ns, "beside it", beside, v)),
        )

    def _sharing(self, ids: Sequence[Value]) -> Iterator[Finding]:
        p = self.profile
        for id, raw in by_ids(self.server, p.ns, self.reader.id, ids):
            v = legible(raw).get(p.hash)
            if v is None:
                continue
            for other in self.server.find(p.ns, {p.hash: {"$eq": v}}, limit=2):
                if legible(other).get("_id") != legible(raw).get("_id"):
                    equal = self.reader.fact(id, raw).digest == self.reader.fact(id, other).digest
                    yield self._row(id, v, raw, other, equal)
                    break


def _version(draft: DamageDraft) -> Value | None:
    return draft.versions[0] if len(draft.versions) == 1 else None
