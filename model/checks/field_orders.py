"""Finds the order of fields in which a document was hashed, if its stored hash differs.

That order is not stored. Known orders are tried: those of other documents whose hash is right, those found before,
and for few fields all possible ones.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from model.errors import Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.server.retry import Port
from model.storage.content_hashes import Sealed, fits, in_another_order
from model.storage.reserved_fields import Own
from model.values import canonical as c

SOUND = 200  # documents whose order is learned


class FieldOrders(Struct):
    """The orders of fields in which one collection's documents were hashed, as far as known."""

    server: Port
    profile: CollectionProfile
    own: Own
    _known: dict[tuple[str, ...], None] | None = field(default=None)

    def explain(self, raw: bytes) -> bool:
        """Whether a stored hash that does not match the content matches it in another order of fields."""
        seal = self._sealed(raw)
        if seal is None:
            return False
        for arranged in self._arranged(seal.content):
            if fits(Sealed(arranged, seal.stored, seal.id), self.profile):
                return True
        found = in_another_order(seal, self.profile)
        if found:
            self._learned()[found] = None
        return bool(found)

    def _sealed(self, raw: bytes) -> Sealed | None:
        stored = c.get(raw, (self.profile.hash,))
        return None if stored is None else Sealed(self.own.content(raw), stored, c.get(raw, ("_id",)))

    def _arranged(self, content: bytes) -> Iterator[bytes]:
        """The content in each known order."""
        pairs, tried = c.fields(content), set()
        for names in list(self._learned()):
            rank = {name: at for at, name in enumerate(names)}
            order = sorted(pairs, key=lambda pair: rank.get(pair[0], len(rank)))
            if (key := tuple(name for name, _ in order)) not in tried:
                tried.add(key)
                yield c.document(order)

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
            seal = self._sealed(raw)
            if seal is not None and fits(seal, self.profile):
                self._known[tuple(name for name, _ in c.fields(seal.content))] = None
        except Unreadable:
            return
