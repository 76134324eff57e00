"""Stored documents without some fields, each with the hash of what is left.

A hash is rebuilt only if it fitted before. One that fitted nothing stays as it is: the misfit is what a scan tells
damage by, and a hash of the content as it is now would hide that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.layouts.base import Layout
from model.storage.content_hashes import Sealed, content_hash, fits, in_another_order, settled
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.values.leaves import leaves

SHORTEST = 6  # bytes of a text that is looked for in files: shorter ones occur by chance


class Cleaned:
    """Makes the stored documents of one document without some fields; the texts in them are added to ``texts``."""

    def __init__(self, layout: Layout, id: Value, paths: Sequence[Path]) -> None:
        self._layout, self._id, self._paths = layout, id, paths
        self.texts: set[bytes] = set()
        self._left: set[tuple[str, Value | None, Path]] = set()
        self._states: dict[Value, bytes] = {}  # what each version was before, where a document holds only changes
        self._places: dict[Value, int] = {}
        self._proven: CollectionProfile | None = None

    def look_again(self) -> None:
        """Read what else decides on a hash than the document that holds it, once the documents are read."""
        if not (self._layout.profile.hash and self._layout.holds_changes):
            return
        versions = []
        with suppress(NotFound):
            versions = list(self._layout.history(self._id, contents="all"))
        self._places = {each.v: at for at, each in enumerate(versions) if each.v is not None}
        older: bytes | None = None
        for each in reversed(versions):
            if each.v is None or each.content is None or each.raw is None:
                continue
            known = self._states.get(each.v)
            if known is None or each.content not in (known, self._without(known)):
                known = self._before(each.raw, each.content, older)
            self._states[each.v] = older = known

    def place(self, raw: bytes) -> int:
        """The place of a stored version in the order in which they are written.

        Where a document holds only changes, the newest comes first: then the state under a hash is as it was until
        that hash is rebuilt, also if the run is stopped in between.
        """
        return self._places.get(c.get(raw, (self._layout.profile.version,)) or Value.of(None), len(self._places))

    def left(self, where: str) -> int:
        """How many hashes in stored documents of a collection fitted nothing, and stay as they are."""
        return sum(each[0] == where for each in self._left)

    def of(self, ns: str, raw: bytes, where: str = "") -> bytes:
        """A document of a collection without the fields; the same bytes if it has none of them.

        ``where`` is the collection that has it, if that is the quarantine.
        """
        after = raw
        for part in parts_of(self._layout, ns, raw):
            inner = c.get(raw, part) if part else Value.document(raw)
            if inner is None or inner.type != c.OBJECT:
                continue
            left = self._without(inner.data, self.texts)
            if left != inner.data:
                after = c.put(after, part, Value.document(left)) if part else left
        if not self._layout.profile.hash or (after == raw and not self._layout.holds_changes):
            return after
        return self._sealed(ns, raw, after, where or ns)

    # --- hashes

    def _sealed(self, ns: str, raw: bytes, after: bytes, where: str) -> bytes:
        """A document with the hashes of its contents as they are now, as far as they fitted before."""
        changed = [each for each in self._hashed(ns, raw, after) if each[1] != each[2]]
        profile, id = self._profile(ns, raw), c.get(raw, ("_id",))
        for path, before, now in changed:
            stored = c.get(after, path)
            if stored is None:
                continue
            if profile.hash_doubt:
                raise Refused(profile.hash_doubt)
            if fits(seal := Sealed(before, stored, id), profile):
                after = c.put(after, path, content_hash(now, profile, stored, id))
            elif order := in_another_order(seal, profile):
                after = c.put(after, path, content_hash(_arranged(now, order), profile, stored, id))
            elif not fits(Sealed(now, stored, id), profile):  # else a run that was stopped has rebuilt it
                self._left.add((where, id, path))
        return after

    def _hashed(self, ns: str, raw: bytes, after: bytes) -> Iterator[tuple[Path, bytes, bytes]]:
        """The paths of the hashes in a stored document, each with the content that it covers, before and after."""
        if not self._layout.holds_changes:
            now = dict(self._layout.hashed_parts(ns, after, self._id))
            for path, content in self._layout.hashed_parts(ns, raw, self._id):
                if path in now:
                    yield path, content, now[path]
            return
        state = self._states.get(c.get(raw, (self._layout.profile.version,)) or Value.of(None))
        if state is not None:
            yield (self._layout.profile.hash,), state, self._without(state)

    def _profile(self, ns: str, raw: bytes) -> CollectionProfile:
        """The profile with its recipe, else the one that the hashes beside it prove, as far as they fit any."""
        p = self._layout.profile
        if p.hash_recipe is not None or p.hash_doubt:
            return p
        if self._proven is None:
            parts = [] if self._layout.holds_changes else self._layout.hashed_parts(ns, raw, self._id)
            here = [Sealed(each, stored) for path, each in parts if (stored := c.get(raw, path)) is not None]
            seals = here
            with suppress(NotFound):
                seals = self._layout.sealed(self._id, here)
            self._proven = settled(p, [each for each in seals if fits(each, p)])
        return self._proven

    def _before(self, raw: bytes, state: bytes, older: bytes | None) -> bytes:
        """The state that a version had before; it is another one if somebody added it while those before it were
        cleaned.
        """
        stored = c.get(raw, (self._layout.profile.hash,))
        if older is None or stored is None:
            return state
        seal, profile = Sealed(state, stored, c.get(raw, ("_id",))), self._layout.profile
        was = _put_back(state, older, {path[0] for path in self._paths}, {name for name, _ in c.fields(raw)})
        if not fits(seal, profile) and fits(Sealed(was, stored, seal.id), profile):
            return was
        return state

    def _without(self, content: bytes, texts: set[bytes] | None = None) -> bytes:
        for path in self._paths:
            content = taken_out(content, path, texts)
        return content


def _arranged(content: bytes, order: Sequence[str]) -> bytes:
    """A content with its fields in an order; those that it does not name come last."""
    places = {name: at for at, name in enumerate(order)}
    return c.document(sorted(c.fields(content), key=lambda pair: places.get(pair[0], len(places))))


def _put_back(state: bytes, older: bytes, erased: set[object], own: set[str]) -> bytes:
    """A state with the erased fields of an older one, except those that the version sets on its own."""
    now, pairs = dict(c.fields(state)), []
    for name, value in c.fields(older):
        kept = value if name in erased and name not in own else now.get(name)
        if kept is not None:
            pairs.append((name, kept))
    names = {name for name, _ in pairs}
    return c.document([*pairs, *((name, value) for name, value in now.items() if name not in names)])


# --- one document


def taken_out(raw: bytes, path: Path, values: set[bytes] | None = None) -> bytes:
    """A document without a field; below an array, without it in each element. Its texts are added to ``values``."""
    name, rest = path[:1], path[1:]
    while (value := c.get(raw, name)) is not None:
        if rest:
            return c.put(raw, name, _inner(value, rest, values)) if value.is_container else raw
        if values is not None:
            values |= _texts(value)
        raw = c.drop(raw, name)  # once more: a name may occur twice
    return raw


def _inner(value: Value, path: Path, values: set[bytes] | None) -> Value:
    if value.type == c.OBJECT:
        return Value.document(taken_out(value.data, path, values))
    return c.array(_inner(each, path, values) if each.is_container else each for each in c.items(value))


def _texts(value: Value) -> set[bytes]:
    """The longer texts in a value."""
    inside = [leaf.value for leaf in leaves((), value)] if value.is_container else [value]
    found = (each.data[4:-1] for each in inside if each.type == c.STRING)
    return {each for each in found if len(each) >= SHORTEST}


def parts_of(layout: Layout, ns: str, raw: bytes) -> list[Path]:
    """The paths of the versions inside a stored document of a collection."""
    if ns != layout.ns:
        return [()]
    prev = c.get(raw, (layout.profile.prev,)) if layout.profile.prev else None
    count = len(c.items(prev)) if prev is not None and prev.type == c.ARRAY else 0
    inside: list[Path] = [(layout.profile.prev, at) for at in range(count)]
    return list(dict.fromkeys([*layout.parts(raw), *inside]))
