"""Whether a stored hash is that of the same fields in another order.

The order that was hashed is not stored. It is looked for in documents of the collection whose hash is right, and, of
few fields, among all there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, permutations

from model import canonical as c
from model.canonical import Value
from model.collection import CollectionProfile
from model.errors import Unreadable
from model.layouts.checks.facts import hash_trouble
from model.layouts.fields import Own, content_hash
from model.resilient import Port

FEW = 7  # fields of which every order is tried
SOUND = 200  # documents that are asked for their order


def in_another_order(server: Port, profile: CollectionProfile, own: Own, raw: bytes) -> bool:
    """Whether the stored hash of a document, which is not its content's, is so of its fields otherwise arranged."""
    stored = c.get(raw, (profile.hash,))
    if stored is None or stored.type != c.STRING:
        return False
    pairs = c.fields(own.content(raw))
    wanted = stored.python()
    return any(
        content_hash(c.document(order), profile, stored) == wanted for order in _orders(server, profile, own, pairs)
    )


def _orders(
    server: Port, profile: CollectionProfile, own: Own, pairs: Sequence[tuple[str, Value]]
) -> Iterator[Sequence[tuple[str, Value]]]:
    tried = set()
    for names in _known(server, profile, own):
        rank = {name: at for at, name in enumerate(names)}
        order = sorted(pairs, key=lambda pair: rank.get(pair[0], len(rank)))
        if (key := tuple(name for name, _ in order)) not in tried:
            tried.add(key)
            yield order
    if len(pairs) <= FEW:
        yield from permutations(pairs)


def _known(server: Port, profile: CollectionProfile, own: Own) -> list[tuple[str, ...]]:
    """The orders of fields in documents whose hash is right."""
    known: dict[tuple[str, ...], None] = {}
    for raw in islice(server.find(profile.ns, {profile.hash: {"$exists": True}}, limit=SOUND), SOUND):
        try:
            content = own.content(raw)
            stored = c.get(raw, (profile.hash,))
            if stored is not None and not hash_trouble(stored, content, profile):
                known[tuple(name for name, _ in c.fields(content))] = None
        except Unreadable:
            continue
    return list(known)
