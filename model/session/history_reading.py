"""One document over all its versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from model.diff.comparison_rules import EXACT, ComparisonRules, names_from_text
from model.errors import NotFound, Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.records import Condition, Opened, Version
from model.history import following
from model.history.chain import (
    Bisection,
    Blame,
    Chain,
    FieldChange,
    FieldSet,
    Key,
    SeenValue,
    Track,
    TrackedElement,
    Turn,
    bisect,
    key_at,
    key_parts,
    key_text,
    locate,
)
from model.history.chain_reading import ChainReading
from model.history.comparison import Comparison, comparison
from model.over_time.document_history import DocumentHistory
from model.session.halving import halved
from model.storage.composite_ids import stored
from model.text import legacy_uuids
from model.values import canonical

if TYPE_CHECKING:
    from model.session.connection import Connection
    from model.values.canonical import Path, Value

__all__ = [
    "Bisection",
    "Blame",
    "Chain",
    "ChainReading",
    "Comparison",
    "FieldChange",
    "FieldSet",
    "HistoryReading",
    "Key",
    "SeenValue",
    "Track",
    "TrackedElement",
    "Turn",
    "key_parts",
    "key_text",
    "locate",
]


class HistoryReading:
    """The versions of a document: single ones, compared, and each field over all of them."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._port = connection.catalogue, connection.port
        self._dump = connection.dump

    def versions(
        self,
        ns: str,
        id: Value | object,
        checkpoint: Checkpoint = no_checkpoint,
        changed: bool = True,
        early: bool = False,
    ) -> DocumentHistory:
        """The versions of a document newest first, with entries for missing numbers; also as plain rows.

        An ``id`` is text for :meth:`.DocumentLists.find_id`, a ``Value`` or a Python object. With ``changed`` each
        version counts the fields that differ from the previous one. Raises ``NotFound`` when versions are read.

        ``early``: the newest may come from a kept state, as :meth:`seen`, before all are read; raises ``Refused`` then
        if these turn out not to be what it was made from.
        """
        self._dump.need_histories(ns)
        stored_id = self._connection.id_of(ns, id)
        versions = self._catalogue.reading.history(ns, stored_id, changed, checkpoint, early)
        return DocumentHistory(ns, stored_id, versions, lambda: self._contents(ns, stored_id, checkpoint))

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version with content and stored document; the current one if ``v`` is None. Raises ``NotFound``."""
        return self._catalogue.reading.version(ns, id, v)

    def seen(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """A version to look at, as :meth:`version` returns it, or made from a kept state, which then says when.

        Nothing is written from it.
        """
        return self._catalogue.reading.seen(ns, id, v)

    def open(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """One version for reading, the current one if ``v`` is None, as :meth:`seen`; raises ``NotFound``."""
        layout = self._catalogue.layout(ns)
        base = layout.seen(id, v)
        document = self._connection.shown(layout, base)
        legacy_uuids.learn([document])
        return Opened(ns, id, base, layout.locked, False, "It is shown to be read.", document)

    def last(self, ns: str, id: Value) -> Version:
        """The newest version, also of a deleted document; raises ``NotFound`` if no version is left."""
        return self._catalogue.layout(ns).last(id)

    def stored(self, ns: str, raw: bytes) -> bytes:
        """A version's ``raw`` as stored in the database, without the combined field of a composite id."""
        return stored(self._port, ns, raw)

    def rules(self, ns: str) -> ComparisonRules:
        """The rules that a collection's profile states for comparisons."""
        return ComparisonRules(unordered=tuple(map(names_from_text, self._catalogue.layout(ns).profile.unordered)))

    def compare(
        self, ns: str, id: Value, v: Value | None, w: Value | None, rules: ComparisonRules = EXACT
    ) -> Comparison:
        """Two versions, as :meth:`seen`, and the difference from the first to the second; None means the current one.

        ``rules`` leave out differences that do not count.
        """
        a, b = (self._catalogue.reading.seen(ns, id, each) for each in (v, w))
        return self.compare_read(ns, a, b, rules)

    def compare_read(self, ns: str, a: Version, b: Version, rules: ComparisonRules = EXACT) -> Comparison:
        """Two versions that were read, and the difference from the first to the second, as :meth:`compare` finds it."""
        legacy_uuids.learn(filter(None, (a.content, b.content)))
        return comparison(a, b, self._catalogue.layout(ns).profile.keys, rules)

    def chain(
        self,
        ns: str,
        id: Value,
        checkpoint: Checkpoint = no_checkpoint,
        partial: Callable[[Chain], None] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Chain:
        """Each field of a document over all its versions: which versions set it, when, and by whom.

        ``partial`` is called from time to time with the chain so far, newest versions first. ``keys`` are the fields
        that identify array elements, by default the profile's. Raises ``NotFound``.
        """
        return self.chain_reading(ns, id, keys).read(checkpoint, partial)

    def chain_reading(self, ns: str, id: Value, keys: Sequence[str] | None = None) -> ChainReading:
        """The reading for :meth:`chain`, which can be stopped and resumed; asks nothing yet."""

        def versions() -> Iterator[Version]:
            self._dump.need_histories(ns)
            return self._connection.aside(ns).history(id, contents="all")

        return ChainReading(versions, lambda: self._connection.aside(ns).last(id), lambda: self._keys(ns, keys))

    def field_key(self, ns: str, id: Value, path: Path, v: Value | None = None) -> Key:
        """The chain key of the field at a path of a version (the current one if ``v`` is None)."""
        content = self.version(ns, id, v).content or canonical.EMPTY
        return key_at(content, path, self._keys(ns, None))

    def blame(
        self,
        ns: str,
        id: Value,
        checkpoint: Checkpoint = no_checkpoint,
        keys: Sequence[str] | None = None,
        inside: bool = False,
        left_out: list[Version] | None = None,
    ) -> tuple[Blame, ...]:
        """Each field of the current version with the version that last set it.

        An array whose elements have no keys is one field; ``inside`` follows its elements too. Reading stops as soon
        as every field is known; ``left_out`` gets the versions that never landed. Raises ``NotFound``, and
        ``Unreadable`` if the current version has no fields to follow.
        """
        steps = following.RepeatedCheckpoint(checkpoint)
        return following.blamed(self._contents(ns, id, steps), self._keys(ns, keys), steps.again, inside, left_out)

    def bisect(
        self, ns: str, id: Value, filter: str, checkpoint: Checkpoint = no_checkpoint, whole: bool = True
    ) -> Bisection:
        """The versions at which a condition changes: a filter as typed, tested on the content of each version.

        Unless the ``whole`` history is asked for, a long one is halved where the condition holds at one end alone, and
        the answer says so: it has one turn, although there may be more. Raises ``NotFound``, ``Unreadable``
        if the filter is not a document, and ``Refused`` if it is not understood.
        """
        self._dump.need_histories(ns)
        holds = following.condition(filter)
        if not whole and (found := self._halved(ns, id, holds)) is not None:
            return found
        landed = (each for each in self._contents(ns, id, checkpoint) if each.landed)
        return bisect(landed, holds)

    def _halved(self, ns: str, id: Value, holds: Condition) -> Bisection | None:
        """The one turn that halving finds; None if the whole history has to be read."""
        layout = self._connection.aside(ns)
        try:
            return halved(layout.version(id), partial(layout.first_between, id), holds)
        except NotFound:  # it is deleted
            return None

    def merges(self) -> set[tuple[str, Value, Value]]:
        """The versions that were merged here: collection, document and version; only the journal knows them."""
        with suppress(Refused):  # only an additional note: nothing is lost without it
            return self._connection.journal.merges(self._connection.source)
        return set()

    def _keys(self, ns: str, keys: Sequence[str] | None) -> Sequence[str]:
        return self._catalogue.layout(ns).profile.keys if keys is None else keys

    def _contents(self, ns: str, id: Value, checkpoint: Checkpoint) -> Iterator[Version]:
        """The versions newest first, with their contents, one at a time."""
        total = 0
        for done, version in enumerate(self._connection.aside(ns).history(id, contents="all"), 1):
            if done == 1 and version.v is not None and version.v.type in (canonical.INT32, canonical.INT64):
                total = int(version.v.python())
            checkpoint(done, total if total >= done else None)
            yield version
