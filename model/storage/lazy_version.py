"""Versions that are read on first use, because few versions of a long history are shown."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias, cast

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Condition, Count, Version
from model.storage.field_reader import NUMBER_AT, FieldReader, Spans
from model.storage.lazy_row import SMALL
from model.storage.reserved_fields import Own
from model.values import canonical as c
from model.values.canonical import Value

Rest: TypeAlias = tuple[Iterator[bytes], bool]
"""The remaining rows of a history, and whether any version came before them."""

NumberIn: TypeAlias = Callable[[bytes, int], tuple[int]]
"""Reads a number at a place of a row."""

KEPT = 16 << 20
"""Bytes of stored versions that one history may keep unread, if contents are not requested."""


VERDICTS = 10_000
"""The number of remembered verdicts."""

SHORT = 200
"""The most bytes of values for which a verdict is remembered."""


class _Read:
    """A field of a version; the first use of one reads them all."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, version: LazyVersion, owner: type) -> Any:
        value = version.__dict__[self._name] = getattr(version.read, self._name)
        return value


class _Content:
    """The content; cut out of the stored version without reading the rest, if possible."""

    def __get__(self, version: LazyVersion, owner: type) -> bytes | None:
        fields = version.__dict__
        found = None if "read" in fields else version.among.content(fields["document"])
        fields["content"] = found = version.read.content if found is None else found
        return found


class LazyVersion(Version):
    """A version without a gap to its neighbours; the rest of it is read on first use.

    :meth:`but` and ``dataclasses.replace`` make an ordinary version of it. It equals any version with equal fields.
    """

    document: bytes
    among: LazyVersions
    compared: tuple[Version | None, Count] | None
    v, at, author, stored, state, hash, bytes, detail, raw, reason, signed, stored_bytes = (
        cast("Any", _Read()) for _ in range(12)
    )
    content = cast("Any", _Content())
    current = is_missing = False
    is_extra = False
    """Whether the history already keeps as many unread bytes as it may."""

    def __new__(cls, *values: Any, **fields: Any) -> Version:  # type: ignore[misc]
        # ``replace`` comes here with all fields at hand, so nothing is left to be read later.
        return Version(*values, **fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Version):
            return NotImplemented
        return replace(self) == (replace(other) if isinstance(other, LazyVersion) else other)

    __hash__ = Version.__hash__

    def but(self, **changes: Any) -> Version:
        """An ordinary version with some fields changed."""
        read = self.read
        own = {"current": self.current, "content": self.content, "raw": self.raw, "changed": self.changed}
        return read.but(**{**own, **changes})

    def slimmed(self) -> Version:
        """This version with its content hidden, if it may stay unread; else a copy without content."""
        fields = self.__dict__
        if self.is_extra or "read" in fields:
            return self.without_content()
        fields["content"] = fields["raw"] = None
        return self

    @cached_property
    def read(self) -> Version:
        """The version, read completely."""
        return self.among.make(self.document)

    def meets(self, condition: Condition) -> bool | None:
        """Whether its content meets a condition; versions that agree in its fields share a verdict."""
        if condition.fields is None or "read" in self.__dict__ or "content" in self.__dict__:
            return super().meets(condition)
        judge = self.among.judge
        if judge is None or judge.condition is not condition:
            # Shared by all versions of a history: neighbours mostly agree in the fields that are asked about.
            judge = self.among.judge = Judge(condition, self.among.own)
        verdict = judge.verdict(self.document)
        return super().meets(condition) if verdict is None else verdict

    def compared_with(self, older: Version | None, count: Count) -> Version:
        """This version with its content hidden, and a number of fields that differ from ``older``, counted on first
        use.

        If it may not stay unread, an ordinary version is returned.
        """
        if self.is_extra:
            return replace(self).compared_with(older, count)
        fields = self.__dict__
        fields["content"] = fields["raw"] = None
        fields["compared"] = older, count
        return self

    @cached_property
    def changed(self) -> int | None:
        """How many fields differ from the previous version; None if not requested or unknown."""
        older, count = self.__dict__.pop("compared", (None, None))
        if older is None or count is None:
            return None
        # Not `older.content`: a slimmed version hides it.
        before = older.read.content if isinstance(older, LazyVersion) else older.content
        return None if before is None or self.read.content is None else count(before, self.read.content)


class Judge:
    """The verdicts of a condition, by the values of its fields; a layout's ``own`` fields are not content."""

    def __init__(self, condition: Condition, own: Own) -> None:
        self.condition, self._own = condition, own
        self._fields = FieldReader(*("" if name in own.names else name for name in condition.fields or ()))
        self._verdicts: dict[tuple[tuple[int, bytes] | None, ...], bool] = {}

    def verdict(self, document: bytes) -> bool | None:
        """Whether a stored version's content meets the condition; None if the whole version must be read to tell."""
        try:
            if c.walker is None or not c.walker.survives(document):
                c.decode(document)  # only a version that decodes completely has a content
            spans = self._fields.spans(document)
        except Unreadable:
            return None
        seen = tuple([None if at is None else (at[0], document[at[1] : at[2]]) for at in spans])
        known = self._verdicts.get(seen)
        if known is None:
            known = self.condition(self._own.content(document))
            if sum(at[2] - at[1] for at in spans if at is not None) <= SHORT:
                if len(self._verdicts) >= VERDICTS:
                    self._verdicts.clear()
                self._verdicts[seen] = known
        return known


def _places(found: Spans, kind: int) -> tuple[tuple[int, int, bool], tuple[NumberIn | None, int]]:
    """For rows of one shape: where the id is and whether it is of type ``kind``; how to read the number, and where."""
    of, at = found
    id = (0, 0, True) if of is None else (of[1], of[2], of[0] == kind)
    return id, (None, 0) if at is None else (NUMBER_AT.get(at[0]), at[1])


def _rest(last: bytes) -> list[bytes]:
    """The row that waits for the next one, if any does."""
    return [last] if last else []


class LazyVersions:
    """Lists versions without reading them, as long as their numbers alone prove the order.

    That holds if numbers go down by one and no version is large or may be a tombstone. ``make`` reads a version.
    """

    judge: Judge | None = None  # of the condition requested last

    def __init__(self, profile: CollectionProfile, id: str, own: Own, make: Callable[[bytes], Version]) -> None:
        self.make, self.own = make, own
        self._fields = FieldReader(id, profile.version)
        self._mark, self._seal = (
            c.name_bytes(name) + b"\x00" if name else b"" for name in (profile.deleted, profile.hash)
        )

    def stretch(
        self, rows: Iterator[bytes], id: Value, contents: bool, below: int | None = None
    ) -> Generator[LazyVersion, None, Rest]:
        """The versions of exactly one document, newest first; returns the remaining rows, and whether any version
        came.

        The last version remains too: what follows it decides whether one is missing or stored twice. ``below`` is the
        number of a version above; without it, the first version is the current one.
        """
        spans, mark, kind, data = self._fields.spans, self._mark, id.type, id.data
        expected, last, came, room = None if below is None else below - 1, b"", False, KEPT
        known: Spans | None = None  # the places of both fields in the last row; similar rows share the object
        start = end = number_at = 0
        number_in: NumberIn | None = None
        of_kind = True
        for raw in rows:
            try:
                found = spans(raw)
            except Unreadable:
                found = (None, None)
            if found is not known:
                known = found
                (start, end, of_kind), (number_in, number_at) = _places(found, kind)
            # The server also returned rows of ids that it finds equal, such as 1.0 for 1.
            if end and (not of_kind or raw[start:end] != data):
                continue
            room -= len(raw)
            full = room < 0 and not contents
            # From this row on, versions must be read to be judged.
            if number_in is None or full or len(raw) > SMALL or (mark and raw.find(mark) >= 0):
                return chain(_rest(last), [raw], rows), came
            (number,) = number_in(raw, number_at)
            # A gap, a duplicate or a phantom: the row before is still held back, because this one decides what it is.
            if number != expected and expected is not None:
                return chain(_rest(last), [raw], rows), came
            if last:
                yield self._lazy(last, contents, below is None, room < 0)
                came, below = True, number
            last, expected = raw, number - 1
        # Below version 1 nothing can be missing, so the last row need not wait for another.
        if expected == 0 and last:
            yield self._lazy(last, contents, below is None, room < 0)
            last, came = b"", True
        return iter(_rest(last)), came

    def current(self, raw: bytes, part: bytes) -> LazyVersion | None:
        """The current version in ``part`` of a document; None unless it is sound and small."""
        if len(raw) > SMALL or c.walker is None or not c.walker.survives(raw):
            return None
        top, content = self.own.parted(part)
        made = self._lazy(raw, True, True, len(raw) > KEPT)
        fields = made.__dict__
        fields["raw"], fields["content"], fields["v"] = raw, content, top.get(self.own.version)
        return made

    def content(self, raw: bytes) -> bytes | None:
        """The content of a stored version; None if it cannot be read, or has a hash to compare."""
        if self._seal and raw.find(self._seal) >= 0:  # faster than `in`
            return None
        try:
            return c.readable_without(raw, self.own.kept)
        except Unreadable:
            return None

    def _lazy(self, raw: bytes, contents: bool, current: bool, extra: bool) -> LazyVersion:
        made = object.__new__(LazyVersion)
        fields = made.__dict__
        fields["document"] = raw
        fields["among"] = self
        if not contents:
            fields["content"] = fields["raw"] = None
        elif extra:
            fields["is_extra"] = True
        if current:
            fields["current"] = True
        return made
