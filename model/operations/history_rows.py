"""The documents in which whole histories are stored in one collection, and the guarded writes that store them.

Migration and import both write a history as its layout stores it (``Layout.as_stored``), with equal bytes each time.
Documents that exist already stay; those left by a shorter history are replaced if they are unchanged byte for byte.
Anything else belongs to somebody else.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from msgspec import Struct, field
from msgspec.structs import replace

from model.errors import Refused
from model.foundation.records import Version
from model.layouts.base import Layout
from model.layouts.registry import has_archive
from model.repair.items import digest
from model.repair.steps import RepairContext, Step, physical
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value


class Taken(Refused):
    """Somebody else's documents are in the place of a history."""


class HistoryRows(Struct, frozen=True):
    """The stored documents of histories in one collection."""

    ground: RepairContext
    target: Layout
    lock: Mapping[str, Value] = field(default_factory=dict)  # another program's lock, with its initial value

    @property
    def places(self) -> dict[str, str]:
        """The collections of the layout, each with the field that holds a document's id."""
        p = self.target.profile
        return {p.ns: p.id} | ({p.archive: p.archive_id} if has_archive(p.layout) else {})

    def there(self, id: Value) -> dict[tuple[str, Value], bytes]:
        """The stored documents of one id, by collection and ``_id``."""
        found = {}
        for ns, name in self.places.items():
            for raw in self.ground.server.find(ns, {name: {"$eq": id}}):
                if c.get(raw, (name,)) == id:
                    found[ns, physical(raw)] = raw
        return found

    def of(self, id: Value, versions: Sequence[Version]) -> list[tuple[str, bytes]]:
        """The documents that store these versions, current one last; another program's lock starts anew."""
        *rows, (ns, raw) = self.target.as_stored(id, versions)
        for name, value in self.lock.items():
            raw = c.put(raw, (name,), value)
        return [*rows, (ns, raw)]

    def left(self, id: Value, several: Iterable[Sequence[Version]]) -> Iterator[set[str]]:
        """The digests of the documents that store each of several histories, computed on request."""
        return ({digest(raw) for _, raw in self.of(id, versions)} for versions in several)

    def shorter(self, id: Value, versions: Sequence[Version]) -> Iterator[set[str]]:
        """The digests that earlier rounds may have left when the history was shorter, latest first."""
        return self.left(id, (versions[:upto] for upto in range(len(versions) - 1, 0, -1)))

    def steps(
        self,
        id: Value,
        wanted: Sequence[tuple[str, bytes]],
        ours: Container[str],
        whence: str,
        done: str,
        ended: bool = False,
    ) -> list[Step]:
        """The writes that turn the existing documents into the wanted ones; [] if nothing is left to do.

        ``ours`` are the digests that may be replaced or, if the document has ``ended``, removed. Raises
        :class:`Taken` if anything else is in the way.
        """
        there = self.there(id)
        steps = []
        for ns, raw in wanted:
            now = there.pop((ns, physical(raw)), None)
            if now == raw:
                continue
            if now is None:
                steps.append(self.ground.inserted(ns, done, raw, done))
                continue
            if digest(now) not in ours:
                raise Taken(f"{id_name(id)} was changed in {ns} by somebody else; settle that by hand.")
            steps.append(self.ground.swapped(ns, "brought up to date", now, raw, "brought up to date"))
        for (ns, _), raw in there.items() if ended else ():
            if digest(raw) not in ours:
                raise Taken(f"{id_name(id)} was changed in {ns} by somebody else; settle that by hand.")
            steps.append(replace(self.ground.removed(ns, "deleted", raw, "deleted"), keep=None))
        if there and not ended:
            ns = next(iter(there))[0]
            raise Taken(f"{ns} holds more of {id_name(id)} than {whence} does; settle that by hand.")
        return steps


class LeftRows(Container[str]):
    """The digests of documents that earlier rounds may have left; the documents are as long as all histories
    together.

    A round is computed only if earlier ones do not contain a document; nearly always the first one does.
    """

    def __init__(self, *rounds: Iterator[set[str]]) -> None:
        self._rounds, self._known = chain(*rounds), set[str]()

    def __contains__(self, digest: object) -> bool:
        while digest not in self._known:
            further = next(self._rounds, None)
            if further is None:
                return False
            self._known |= further
        return True
