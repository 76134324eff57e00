"""Checks ``processed``: several documents with one key (P1), entries that a list contains repeatedly (P2)."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from model import text
from model.checks.chains import finding
from model.checks.external_sort import ExternalSort
from model.checks.ordered_reading import OrderedReading, by_ids
from model.checks.rules import DamageDraft, listed
from model.foundation.collection_profile import CollectionProfile
from model.foundation.findings import Evidence, Finding, Unchecked
from model.scan.pattern_documents import PatternDocuments
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value


class Entries(Struct):
    """The check of a collection of apply-once lists."""

    server: Port
    profile: CollectionProfile

    def findings(
        self, ids: Sequence[Value] | None, now: dt.datetime, reading: OrderedReading
    ) -> Iterator[Finding | Unchecked]:
        """The damage of some or all keys."""
        p = self.profile
        documents = PatternDocuments(self.server, p.ns, p.id, reading)
        with ExternalSort() as spool:
            for id, raw in documents.read(ids):
                yield from documents.drained()
                if p.id != "_id":
                    spool.add(bytes((id.type,)) + id.data, ())
                for draft in repeats(id, raw, p.processed):
                    yield finding(p.ns, draft, draft.detail, (Evidence(p.ns, "in the document", raw),))
            yield from documents.drained()
            for key, rows in spool.groups():
                if sum(1 for _ in rows) > 1:
                    yield from self._several(Value(key[0], key[1:]))
        yield from documents.unchecked

    def _several(self, id: Value) -> Iterator[Finding]:
        p = self.profile
        found = [raw for _, raw in by_ids(self.server, p.ns, p.id, [id])]
        if len(found) > 1:
            evidence = tuple(Evidence(p.ns, f"document {n}", raw) for n, raw in enumerate(found, 1))
            yield Finding("P1", p.ns, id, (), f"{len(found):,} documents for this key", None, evidence)


def repeats(id: Value, raw: bytes, name: str) -> list[DamageDraft]:
    """The finding for entries that one document's list contains repeatedly."""
    entries = c.get(raw, tuple(name.split(".")))
    if entries is None or entries.type != c.ARRAY:
        return []
    counts = Counter(c.items(entries))
    several = [f"{text.shown(entry, limit=60)} {count} times" for entry, count in counts.items() if count > 1]
    if not several:
        return []
    said = f"{name} holds {listed(several, 3)}"
    return [DamageDraft("P2", id, (), said, "remove-repeats", ())]
