"""The search for the order of fields in which a document was hashed, where its stored hash differs.

That order is not stored. It is looked for in documents of the collection whose hash is right, among the orders found
before, and, of few fields, among all possible ones.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.collection_profile import CollectionProfile
from model.errors import Refused, Unreadable
from model.layouts.checks.facts import hash_trouble
from model.layouts.reserved_fields import Own
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value

FEW = 7  # fields of which every order is tried
SOUND = 200  # documents that are asked for their order

Pairs = Sequence[tuple[str, Value]]


@dataclass
class FieldOrders:
    """The orders of fields that one collection is known to have been hashed in."""

    server: Port
    profile: CollectionProfile
    own: Own
    _known: dict[tuple[str, ...], None] | None = field(default=None)

    def explain(self, raw: bytes) -> bool:
        """Whether the stored hash of a document, which is not its content's, is that of its fields in another order."""
        p = self.profile
        stored = c.get(raw, (p.hash,))
        if stored is None or stored.type != c.STRING:
            return False
        wanted = stored.data[4:-1].decode("ascii", "replace")
        pairs = [pair for pair in c.fields(self.own.content(raw)) if _is_hashed(pair[0], p)]
        hasher = hashlib.sha256 if len(wanted) == 64 else hashlib.sha1
        for order in self._orders(pairs):
            if hasher(c.document(order), usedforsecurity=False).hexdigest() == wanted:
                return True
        if len(pairs) > FEW:
            return False
        parts = [bytes((v.type,)) + c.name_bytes(name) + b"\0" + v.data for name, v in pairs]
        begun = hasher((sum(map(len, parts)) + 5).to_bytes(4, "little"), usedforsecurity=False)
        found = _arranged(begun, parts, tuple(range(len(parts))), bytes.fromhex(wanted) if _is_hex(wanted) else b"")
        if found is None:
            return False
        self._learned()[tuple(pairs[at][0] for at in found)] = None
        return True

    def _orders(self, pairs: Pairs) -> Iterator[Pairs]:
        tried = set()
        for names in list(self._learned()):
            rank = {name: at for at, name in enumerate(names)}
            order = sorted(pairs, key=lambda pair: rank.get(pair[0], len(rank)))
            if (key := tuple(name for name, _ in order)) not in tried:
                tried.add(key)
                yield order

    def _learned(self) -> dict[tuple[str, ...], None]:
        if self._known is None:
            self._known = {}
            try:
                for raw in self.server.find(self.profile.ns, {self.profile.hash: {"$exists": True}}, limit=SOUND):
                    self._learn(raw)
            except Refused:
                return self._known
        return self._known

    def _learn(self, raw: bytes) -> None:
        assert self._known is not None
        try:
            content = self.own.content(raw)
            stored = c.get(raw, (self.profile.hash,))
            if stored is not None and not hash_trouble(stored, content, self.profile):
                self._known[tuple(name for name, _ in c.fields(content))] = None
        except Unreadable:
            return


def _is_hashed(name: str, profile: CollectionProfile) -> bool:
    return name in profile.hash_include if profile.hash_include else name not in profile.hash_exclude


def _is_hex(written: str) -> bool:
    return len(written) in (40, 64) and all(digit in "0123456789abcdef" for digit in written)


def _arranged(begun: Any, parts: Sequence[bytes], left: tuple[int, ...], wanted: bytes) -> tuple[int, ...] | None:
    """The order in which the parts give a digest; a part hashed already is never hashed again."""
    if not left:
        whole = begun.copy()
        whole.update(b"\0")
        return () if whole.digest() == wanted else None
    for at in left:
        further = begun.copy()
        further.update(parts[at])
        rest = _arranged(further, parts, tuple(other for other in left if other != at), wanted)
        if rest is not None:
            return (at, *rest)
    return None
