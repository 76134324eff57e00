"""Later versions put behind a stored history, by writes between any two of which it is sound.

What the current document loses is kept before it is swapped, and what nobody has seen there yet comes behind it. The
versions that are there keep their write tokens, by which writers look for writes in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.operations.cleaned_documents import parts_of
from model.operations.history_import import tied
from model.operations.history_rows import HistoryRows, Taken
from model.repair.steps import Step, physical
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value


class AppendedVersions(Struct, frozen=True):
    """The versions of one document that are there, and those that are to come; ``last`` is the newest one there, None
    if the document there is as it is to be, or others have followed.
    """

    rows: HistoryRows
    id: Value
    before: Sequence[Version]
    later: Sequence[Version]
    last: Version | None

    @property
    def _layout(self) -> Layout:
        return self.rows.target

    def are_ours(self, written: Sequence[Version]) -> bool:
        """Whether versions that are there were stored by an earlier run, one by one."""
        ours = {physical(raw) for _, raw in self._wanted()}
        return all(self._layout.own_documents and physical(each.raw or c.EMPTY) in ours for each in written)

    def _wanted(self) -> list[tuple[str, bytes]]:
        return as_current(self.rows, self.id, [*self.before, *self.later])

    def steps(self) -> tuple[Step, ...]:
        """The writes; raises ``Taken`` if somebody else's documents are in the way."""
        was = {(ns, physical(raw)): raw for ns, raw in as_current(self.rows, self.id, self.before)}
        there = self.rows.there(self.id)
        kept, swaps, behind = list[Step](), list[Step](), list[Step]()
        for ns, raw in self._wanted():
            same, now = was.get((ns, physical(raw))), there.get((ns, physical(raw)))
            beside = ns != self._layout.ns
            if same == raw or now == raw or (self.last is None and not beside):
                continue
            if same is not None and not (beside and now is None):
                now = now or self._having(there, ns, c.get(same, (self._layout.profile.version,)))
                swaps += self._swapped(ns, same, raw, now)
            elif not self._is_stored(there, ns, raw):
                first = not beside or self._number(raw) in [each.v for each in self.before]
                (kept if first else behind).append(self._inserted(ns, raw, now, first and beside))
        if not (kept or swaps or behind):
            return ()
        steps = tied([*behind, *kept, *swaps], self.later)  # all of them rest on the document that is swapped
        return (*steps[len(behind) :], *steps[: len(behind)])

    def _inserted(self, ns: str, raw: bytes, now: bytes | None, is_kept: bool) -> Step:
        """The write that stores a version; ``is_kept``: the one that is still the current one."""
        if now is not None:
            raise Taken(f"{id_name(self.id)} was changed in {ns} by somebody else.")
        row = self._marked(raw, self.last.raw) if is_kept and self.last is not None else raw
        return self.rows.ground.inserted(ns, "copied", row, "copied")

    def _is_stored(self, there: dict[tuple[str, Value], bytes], ns: str, raw: bytes) -> bool:
        """Whether a writer or a feed has archived the very version, or will."""
        archive = self._layout.archive
        if ns == self._layout.ns or archive is None:
            return False
        if any(of == ns and _is_alike(row, raw, self._layout.profile) for (of, _), row in there.items()):
            return True
        return archive.holds_current and self._number(raw) == self.later[-1].v

    def _number(self, raw: bytes) -> Value | None:
        return c.get(raw, (self._layout.profile.version,))

    def _swapped(self, ns: str, before: bytes, after: bytes, now: bytes) -> list[Step]:
        """The write that makes a stored document one that is to be; none if it is that."""
        if self._layout.own_documents:  # an earlier version, which loses its flag
            new = _carried_over(before, after, now)
        elif self.last is None or now != self.last.raw:
            raise Taken(f"{id_name(self.id)} moved on there since the plan.")
        else:
            own = [pair for pair in c.fields(self._marked(after, now)) if pair[0] != "_id"]
            left = [pair for pair in c.fields(now) if pair[0] in self._layout.beside(now)]
            new = c.document([("_id", physical(now)), *own, *left])
        if new == now:
            return []
        return [self.rows.ground.swapped(ns, "brought up to date", now, new, "brought up to date")]

    def _marked(self, raw: bytes, now: bytes | None) -> bytes:
        """A document to be stored, whose versions keep the write tokens that they have there."""
        layout, p = self._layout, self._layout.profile
        if not p.token or now is None:
            return raw
        numbers = {path: c.get(raw, (*path, p.version)) for path in parts_of(layout, layout.ns, raw)}
        for part in parts_of(layout, layout.ns, now):
            number, token = (c.get(now, (*part, name)) for name in (p.version, p.token))
            if token is None:
                continue
            for path in (path for path, v in numbers.items() if v == number):
                raw = c.put(raw, (*path, p.token), token)
        return raw

    def _having(self, there: dict[tuple[str, Value], bytes], ns: str, v: Value | None) -> bytes:
        """The stored document with a version; raises ``Taken`` if it is gone."""
        found = next((raw for (of, _), raw in there.items() if of == ns and self._number(raw) == v), None)
        if found is None:
            raise Taken(f"A version in {ns} was taken away by somebody else.")
        return found


def as_current(rows: HistoryRows, id: Value, versions: Sequence[Version]) -> list[tuple[str, bytes]]:
    """The documents that store versions of which the last one is the current one."""
    *earlier, last = (each.but(current=False) for each in versions)
    return rows.of(id, [*earlier, last.but(current=True)])


def _carried_over(before: bytes, after: bytes, raw: bytes) -> bytes:
    """A stored document with the difference between two others made in it as well."""
    was, now = dict(c.fields(before)), dict(c.fields(after))
    for name in was.keys() - now.keys():
        raw = c.drop(raw, (name,))
    for name, value in now.items():
        if was.get(name) != value:
            raw = c.put(raw, (name,), value)
    return raw


def _is_alike(stored: bytes, raw: bytes, p: CollectionProfile) -> bool:
    """Whether two stored versions differ at most in their own marks and the order of their fields."""
    if c.get(stored, (p.version,)) != c.get(raw, (p.version,)):
        return False
    one, other = (dict(c.fields(c.without(each, ["_id", p.token]))) for each in (stored, raw))
    return one == other
