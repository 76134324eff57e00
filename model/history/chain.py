"""The changes of each field of a document over its versions, computed in a single pass.

A :class:`Follower` takes versions newest first, as histories yield them, and never keeps more than two contents. A
field is identified by its :data:`Key`: names, and for array elements their identity instead of their position, so
that ``riders[GLASS].premium`` stays one field wherever that rider stands. An array is followed by its elements if all
of them are documents with a unique identity; any other array is one field, and so are empty containers and documents
with duplicate names. Fields in such an array of the current version are followed by
:mod:`model.history.unkeyed_arrays`. An unreadable version counts as missing: a change across missing versions
happened in one of them, and no more is known.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from msgspec import Struct

from model import text
from model.errors import Unreadable
from model.foundation.records import Condition, Version
from model.history.tracking import (
    ChildOrders,
    FieldEvent,
    Key,
    Leaf,
    Pause,
    TrackedElement,
    born,
    compare,
    key_at,
    locate,
    places,
)
from model.history.unkeyed_arrays import SetBy, UnkeyedArray, followed
from model.text.names import id_name
from model.values import canonical
from model.values.canonical import ARRAY, Path, Value

__all__ = [
    "Bisection",
    "Blame",
    "Chain",
    "FieldChange",
    "FieldSet",
    "Follower",
    "Key",
    "Op",
    "Pause",
    "SeenValue",
    "Track",
    "TrackedElement",
    "Turn",
    "bisect",
    "key_at",
    "key_parts",
    "key_text",
    "locate",
]

Op: TypeAlias = Literal["set", "add", "remove", "retype", "reorder"]

SMALL = 1024  # a value of up to this many bytes is kept with the change
PAUSE = 0.1  # seconds
OFTEN = 4  # versions with a change that show a field changing every time


class SeenValue(Struct, frozen=True):
    """A value in a version: its type and length in bytes, and itself if at most ``SMALL`` long."""

    type: int
    size: int
    value: Value | None

    @property
    def kind(self) -> str:
        """The type's name."""
        return Value(self.type, b"").kind


class FieldChange(Struct, frozen=True):
    """One change of one field. ``age`` counts versions from the newest, which is 0.

    ``gap`` versions directly before it are missing; the change happened in one of them or in this one.
    """

    age: int
    op: Op
    before: SeenValue | None
    after: SeenValue | None
    gap: int = 0


class Track(Struct, frozen=True):
    """One field over all versions. ``path`` is its place in the current version, None if it is gone."""

    key: Key
    path: Path | None
    changes: tuple[FieldChange, ...]  # newest first
    now: SeenValue | None  # its value in the current version
    from_start: bool  # whether the oldest readable version has it
    identity: bool = False  # the field that identifies its element; it never changes
    every_time: bool = False  # whether every version since the first has changed it


class Blame(Struct, frozen=True):
    """The version that last set a field of the current version; ``before`` is None if it had no value, or fields.

    ``since`` is the oldest missing version in which it may have happened instead, None if there is none. ``op`` is ""
    if the oldest readable version already has the field.
    """

    key: Key
    path: Path
    now: SeenValue
    version: Version
    since: Version | None
    op: Op | Literal[""]
    before: SeenValue | None


class FieldSet(Struct, frozen=True):
    """The setting or removal of one field by one version; ``since`` and ``op`` as in :class:`Blame`.

    ``after`` is None if the field was removed, ``before`` if it did not exist or is unknown.
    """

    version: Version
    since: Version | None
    op: Op | Literal[""]
    before: SeenValue | None
    after: SeenValue | None


class Chain(Struct, frozen=True, dict=True):
    """The versions of a document, newest first and without contents, and its fields in document order.

    Versions before ``start`` are above the current one (phantoms) and are ignored. ``read`` are the ages of those
    that were compared. While ``complete`` is False, older versions are still to come.
    """

    versions: tuple[Version, ...]
    tracks: tuple[Track, ...]
    start: int
    read: frozenset[int]
    complete: bool
    keys: tuple[str, ...] = ("_id",)  # the fields that identify array elements
    elements: tuple[Track, ...] = ()  # fields in arrays without keys, each with only its newest change

    @property
    def unread(self) -> Version | None:
        """The current version, if it could not be split into fields; else None."""
        current = self.versions[self.start] if self.start < len(self.versions) else None
        return current if current is not None and current.current and self.start not in self.read else None

    def blame(self) -> tuple[Blame, ...]:
        """Each field of the current version with the version that last set it; empty if it could not be read."""
        if self.unread is not None:
            return ()
        found = []
        for track in self.tracks:
            if track.path is not None and track.now is not None:
                found.append(self._blamed(track, track.path, track.now, self.start))
                found += self._inside(track, found[-1])
        return tuple(found)

    def _inside(self, array: Track, whole: Blame) -> list[Blame]:
        """The fields in an array without keys, unless one version set them all."""
        found = [
            self._blamed(each, each.path, each.now, self.start)
            for each in self._elements.get(array.key, ())
            if each.path is not None and each.now is not None
        ]
        return found if any(one.version is not whole.version for one in found) else []

    @cached_property
    def _elements(self) -> dict[Key, list[Track]]:
        found: dict[Key, list[Track]] = {}
        for each in self.elements:
            array = next(at for at, step in enumerate(each.key) if isinstance(step, int))
            found.setdefault(each.key[:array], []).append(each)
        return found

    def blame_at(self, content: bytes, v: Value | None) -> tuple[Blame, ...]:
        """Each field of an earlier version ``v`` with this content, with the version that had last set it by then.

        Empty if ``v`` is not among the versions.

        Until the chain is complete, fields without a known change are left out.
        """
        ages = range(self.start, len(self.versions))
        age = self.start if v is None else next((i for i in ages if self.versions[i].v == v), None)
        if age is None:
            return ()
        try:
            there = places(content, self.keys)
        except Unreadable:
            return ()
        found = []
        for track in self.tracks:
            place = None if track.identity or not track.key else there.get(track.key)
            if place and (self.complete or any(change.age >= age for change in track.changes)):
                found.append(self._blamed(track, place[0], SeenValue(*place[1:], None), age))
                found += self._inside(track, found[-1]) if age == self.start else []
        return tuple(found)

    def track(self, key: Key) -> Track | None:
        """The field of a key, or the array without keys that contains it; None if there is none."""
        by_key = {each.key: each for each in self.tracks}
        return next((by_key[key[:n]] for n in range(len(key), 0, -1) if key[:n] in by_key), None)

    def course(self, track: Track) -> tuple[FieldSet, ...]:
        """Every setting of a field, newest first; the last is its value from the start, if it had one."""
        found = []
        value = track.now
        for change in track.changes:
            if change.op == "reorder":
                continue
            since = self.versions[change.age + change.gap] if change.gap else None
            found.append(FieldSet(self.versions[change.age], since, change.op, change.before, change.after))
            value = change.before
        if track.from_start and self.read:
            last = len(self.versions) - 1
            since = self.versions[last] if last > self._oldest else None
            found.append(FieldSet(self.versions[self._oldest], since, "", None, value))
        return tuple(found)

    def values(self, track: Track) -> tuple[tuple[int, SeenValue | None], ...]:
        """The value of a field in each readable version, by age, newest first; None: it did not exist."""
        found = []
        value, changes = track.now, {each.age: each for each in track.changes if each.op != "reorder"}
        for age in sorted(self.read):
            found.append((age, value))
            value = changes[age].before if age in changes else value
        return tuple(found)

    @cached_property
    def _oldest(self) -> int:
        return max(self.read, default=self.start)

    def _blamed(self, track: Track, path: Path, now: SeenValue, start: int) -> Blame:
        oldest = self._oldest
        settled = next((change for change in track.changes if change.op != "reorder" and change.age >= start), None)
        age = settled.age if settled else oldest
        # A field of the oldest known version may have been set before.
        behind = settled.gap if settled else len(self.versions) - 1 - oldest
        since = self.versions[age + behind] if behind and age + behind < len(self.versions) else None
        op: Op | Literal[""] = settled.op if settled else ""
        return Blame(track.key, path, now, self.versions[age], since, op, settled.before if settled else None)


def key_parts(key: Key) -> list[str]:
    """A key in pieces to be joined without separators: ``riders``, ``[GLASS]``, ``.premium``."""
    if not key:
        return ["order of fields"]
    return [
        f"[{id_name(step.id)}]"
        if isinstance(step, TrackedElement)
        else f"[{step}]"
        if isinstance(step, int)
        else ("." if at else "") + text.name_text(step)
        for at, step in enumerate(key)
    ]


def key_text(key: Key) -> str:
    """A key as people read it: ``premium.gross``, ``riders[GLASS].premium``."""
    return "".join(key_parts(key))


class _Course:
    """A field while it is followed back in time."""

    __slots__ = ("changes", "here", "now", "path")

    def __init__(self, here: SeenValue | None) -> None:
        self.changes: list[FieldChange] = []
        self.here = here  # its value in the oldest version read so far
        self.now = here
        self.path: Path | None = None


class Follower:
    """Takes the versions of one document, newest first; returns the chain known so far at any time.

    ``keys`` name the fields that identify array elements; an element uses the first that it has. ``pause`` is called
    ten times a second while versions are processed; its error stops that. ``inside`` also follows the elements of
    arrays without keys.
    """

    def __init__(self, keys: Sequence[str] = ("_id",), pause: Pause = lambda: None, inside: bool = True) -> None:
        self._keys, self._inside = tuple(keys), inside
        self._pause, self._due = pause, time.monotonic() + PAUSE
        self._versions: list[Version] = []
        self._begin(0)

    def _begin(self, start: int) -> None:
        self._start = start
        self._courses: dict[Key, _Course] = {}
        self._arrays: dict[Key, UnkeyedArray] = {}
        self._orders = ChildOrders()
        self._unknown = 0  # fields of the current version without a known change
        self._read: list[int] = []
        self._content = b""  # of the oldest version read so far

    @property
    def settled(self) -> bool:
        """Whether a change of every field of the current version is known, and so its blame."""
        return bool(self._read) and not self._unknown and all(one.settled for one in self._arrays.values())

    def take(self, version: Version) -> None:
        """Take the next older version, with its content if it has one."""
        age, content = len(self._versions), version.content
        self._versions.append(version.slimmed())
        if version.current and age:
            self._begin(age)  # versions above the current one were never valid
        if content is None or version.is_missing:
            return
        try:
            if not self._read:
                self._first(born(content, self._keys, self._orders, self._paused))
            elif content != self._content:
                events = compare(self._content, content, self._keys, self._orders, self._paused)
                self._apply(events, self._read[-1], age - self._read[-1] - 1)
        except Unreadable:
            why = version.detail or "cannot be followed"
            self._versions[-1] = self._versions[-1].but(state="damaged", detail=why)
            return
        self._read.append(age)
        self._content = content

    def _paused(self) -> None:
        now = time.monotonic()
        if now >= self._due:
            self._due = now + PAUSE
            self._pause()

    def _first(self, leaves: Iterable[tuple[Key, Path, Leaf]]) -> None:
        for key, path, leaf in list(leaves):
            self._paused()
            self._courses[key] = made = _Course(_seen(leaf))
            made.path = path
            self._unknown += 1
            if (
                self._inside
                and leaf[0] == ARRAY
                and (array := followed(Value(leaf[0], leaf[1][leaf[2] : leaf[3]]), self._keys))
            ):
                self._arrays[key] = array

    def _apply(self, events: Iterable[FieldEvent], age: int, gap: int) -> None:
        for event in list(events):
            self._paused()
            course = self._courses.get(event.key)
            if course is None:
                course = self._courses[event.key] = _Course(None)
            if event.op == "reorder":
                if not course.changes or course.changes[-1].age != age:
                    course.changes.append(FieldChange(age, "reorder", None, None, gap))
                continue
            if event.key in self._arrays:
                self._follow_array(event, age, gap)
            after, before = course.here, None if event.older is None else _seen(event.older)
            if not course.changes and course.path is not None:
                self._unknown -= 1
            course.changes.append(FieldChange(age, event.op, before, after, gap))
            course.here = before

    def _follow_array(self, event: FieldEvent, age: int, gap: int) -> None:
        """Follow the fields of an array without keys into the older version."""
        array = self._arrays[event.key]
        place = locate(self._content, event.key, self._keys)
        if array.settled or place is None:
            return
        op: SetBy = event.op if event.op in ("set", "retype") else "add"
        older = None if event.older is None else Value(event.older[0], event.older[1][event.older[2] : event.older[3]])
        newer = canonical.get(self._content, place)
        if newer is not None:
            array.older(newer, older, age, op, gap)

    def _element_tracks(self) -> Iterator[Track]:
        for key, array in self._arrays.items():
            whole = self._courses[key].path
            if whole is None:
                continue
            for path, value in array.now.items():
                by = array.set_by.get(path)
                before = _kept(by.before) if by and by.before else None
                changes = () if by is None else (FieldChange(by.age, by.op, before, None, by.gap),)
                yield Track((*key, *path), (*whole, *path), changes, _kept(value), by is None)

    def chain(self, complete: bool = True) -> Chain:
        """The chain known so far; ``complete`` says that no older version follows."""
        peopled = {key[:-1] for key in self._courses if key and not _is_identity(key)}
        pairs = len(self._read) - 1
        courses = ((key, self._courses[key]) for key in self._orders.sorted(self._courses))
        tracks = tuple(
            Track(
                key,
                course.path,
                tuple(course.changes),
                course.now,
                course.here is not None,
                _is_identity(key) and key[:-1] in peopled,
                complete and pairs >= OFTEN and len(course.changes) == pairs and course.here is not None,
            )
            for key, course in courses
        )
        elements = tuple(self._element_tracks())
        return Chain(tuple(self._versions), tracks, self._start, frozenset(self._read), complete, self._keys, elements)


def _is_identity(key: Key) -> bool:
    above = key[-2] if len(key) > 1 else None
    return isinstance(above, TrackedElement) and above.by == key[-1]


def _seen(leaf: Leaf) -> SeenValue:
    kind, raw, start, end = leaf
    size = end - start
    return SeenValue(kind, size, Value(kind, raw[start:end]) if size <= SMALL else None)


def _kept(value: Value) -> SeenValue:
    return SeenValue(value.type, len(value.data), value if len(value.data) <= SMALL else None)


class Turn(Struct, frozen=True):
    """A version at which a condition starts or stops to hold.

    ``before`` is the previous readable version; ``gap`` versions between them are missing, and it may have changed in
    one of those.
    """

    version: Version
    holds: bool
    before: Version
    gap: int


class Bisection(Struct, frozen=True):
    """The turns of a condition, oldest first; ``holds`` says whether it holds now, ``looked`` counts the versions."""

    turns: tuple[Turn, ...]
    holds: bool
    looked: int
    oldest: Version | None
    halved: bool = False
    """Whether only one turn was looked for, by halving: the condition may have turned more often."""


class Bisector:
    """Takes the versions of one document, newest first and with contents, for one condition.

    Every version is tested, because the condition may change more than once. Versions above the current one are
    ignored.
    """

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._turns: list[Turn] = []
        self._newer: tuple[int, Version, bool] | None = None
        self._age, self._holds, self._looked = -1, False, 0

    def take(self, version: Version) -> None:
        """Take the next older version; raises what the condition raises."""
        self._age += 1
        if version.current:
            self._turns, self._newer, self._looked = [], None, 0
        now = version.meets(self._condition)
        if now is None:
            return
        if self._newer is None:
            self._holds = now
        elif self._newer[2] != now:
            newer = self._newer[1].without_content()
            self._turns.append(Turn(newer, self._newer[2], version.without_content(), self._age - self._newer[0] - 1))
        self._newer = self._age, version, now
        self._looked += 1

    def found(self) -> Bisection:
        """The turns among the versions taken so far."""
        oldest = self._newer[1].without_content() if self._newer else None
        return Bisection(tuple(reversed(self._turns)), self._holds, self._looked, oldest)


def bisect(versions: Iterable[Version], condition: Condition) -> Bisection:
    """The turns of a condition over some versions, newest first."""
    found = Bisector(condition)
    for version in versions:
        found.take(version)
    return found.found()
