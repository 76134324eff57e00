"""The fields of a stored document that belong to the layout rather than to the users' content."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property

import bson
from msgspec import Struct

from model import text
from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Stored, Version
from model.storage.content_hashes import Sealed, hash_trouble
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value

WHOLE_NUMBERS = (c.INT32, c.INT64)
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Own(Struct, frozen=True, dict=True):
    """The top-level names that belong to the layout in one kind of document; "" names nothing."""

    id: str
    version: str = ""
    token: str = ""
    hash: str = ""
    at: str = ""
    author: str = ""
    reason: str = ""
    others: tuple[str, ...] = ()  # flag, removed paths, histories, the lock field of another program

    @cached_property
    def names(self) -> frozenset[str]:
        """All names that belong to the layout, including ``_id``."""
        return frozenset(self.kept)

    def holds(self, *names: str) -> bool:
        """Whether all of some names belong to the layout; "" names nothing."""
        return self.names.issuperset(filter(None, names))

    @cached_property
    def kept(self) -> tuple[str, ...]:
        """The layout's names as a tuple, for a walk over a document."""
        named = (self.id, self.version, self.token, self.hash, self.at, self.author, self.reason)
        return tuple(dict.fromkeys(filter(None, ("_id", *named, *self.others))))

    def stamped(self, stamp: Stamp) -> dict[str, Value | None]:
        """The fields that a write sets besides number and hash; None removes a field for which there is no value."""
        told = (
            (self.token, stamp.token),
            (self.at, stamp.at),
            (self.author, stamp.author),
            (self.reason, stamp.reason),
        )
        # A field without a value is removed: the author of the version before is not that of this one.
        return {name: Value.of(said) if said else None for name, said in told if name}

    def content(self, raw: bytes) -> bytes:
        """The users' part of a document, in stored order."""
        return c.parted(raw, self.kept, values=False)[1]

    def parted(self, raw: bytes) -> tuple[dict[str, Value], bytes]:
        """The layout's own fields by name, and the users' part of a document."""
        return c.parted(raw, self.kept)


def own_of(profile: CollectionProfile, *others: str, id: str = "", version: str | None = None) -> Own:
    """The own names for a profile; ``id`` and ``version`` override the profile's."""
    v = profile.version if version is None else version
    # A restored version must not bring back the lock of its time, nor another id.
    kept = (*filter(None, others), *profile.lock_names, *profile.id_parts)
    return Own(id or profile.id, v, *stamp_names(profile), kept)


def stamp_names(profile: CollectionProfile) -> tuple[str, str, str, str, str]:
    """The names of token, hash, time, author and reason, without those that belong to the content."""
    signed = ("", "") if profile.seals_author else (profile.author, profile.reason)
    return profile.token, profile.hash, profile.at, *signed


def compose(base: bytes, own: Collection[str], content: bytes, values: Mapping[str, Value | None]) -> bytes:
    """The stored document for a content: the layout's own fields stay where ``base`` has them, with new values.

    ``values`` sets own fields; None removes one. Those that ``base`` lacks are appended, except ``_id``, which comes
    first.
    """
    behind: dict[str | None, list[tuple[str, Value]]] = {}
    seen: set[str] = set()
    inside = c.fields(content)
    kept = {name for name, _ in inside}
    before: str | None = None
    for name, value in c.fields(base):
        if name not in own:
            before = name if name in kept else before
            continue
        seen.add(name)
        now = values.get(name, value) if name in values else value
        if now is not None:
            behind.setdefault(before, []).append((name, now))
    pairs = behind.get(None, [])
    for name, value in inside:
        pairs.append((name, value))
        pairs += behind.get(name, [])
    new = [(name, now) for name, now in values.items() if name not in seen and now is not None]
    first = [pair for pair in new if pair[0] == "_id"]
    return c.document([*first, *pairs, *(pair for pair in new if pair[0] != "_id")])


# --- versions


def number_of(v: Value | None) -> int | None:
    """The number that a version counts as: "3" and 3.0 count as 3. None if it does not fit Int64."""
    if v is None:
        return None
    if v.type in WHOLE_NUMBERS:
        return int.from_bytes(v.data, "little", signed=True)
    if v.type in (c.DOUBLE, c.STRING, c.DECIMAL128):
        try:
            number = int(str(v.python())) if v.type == c.STRING else _whole(float(str(v.python())))
        except (ValueError, OverflowError, Unreadable):
            return None
        return number if number is not None and -INT64_MAX <= number <= INT64_MAX else None
    return None


def _whole(number: float) -> int | None:
    return int(number) if number == int(number) else None


def place_of(v: Value | None) -> int | None:
    """A version's position among versions: its number, or a date's milliseconds."""
    if v is not None and v.type == c.DATE:
        return int.from_bytes(v.data, "little", signed=True)
    return number_of(v)


def places_of(values: Iterable[Value | None]) -> list[int | None]:
    """The position that each value gives, as :func:`place_of` tells it, without a call for a whole number."""
    whole, read = WHOLE_NUMBERS, int.from_bytes
    return [read(v.data, "little", signed=True) if v is not None and v.type in whole else place_of(v) for v in values]


def same_version(a: Value | None, b: Value | None) -> bool:
    """Whether two versions are equal, as values or as the numbers that they count as."""
    return a == b or (number_of(a) is not None and number_of(a) == number_of(b))


def whole_number(number: int, like: Value | None = None) -> Value:
    """A version number as BSON: Int64 if ``like`` is one or Int32 is too small."""
    if abs(number) > INT32_MAX or (like is not None and like.type == c.INT64):
        return Value(c.INT64, number.to_bytes(8, "little", signed=True))
    return Value(c.INT32, number.to_bytes(4, "little", signed=True))


def version_damage(v: Value | None) -> str:
    """What is wrong with a version's type, in a few words; "" if nothing is."""
    if v is None:
        return "has no version"
    if v.type in WHOLE_NUMBERS or v.type == c.DATE:
        return ""
    return f"version is a {v.kind}"


# --- times


def time_of(value: Value | None) -> dt.datetime | None:
    """The time in a Date or an ObjectId, UTC; None for other types and for implausible years."""
    if value is None or value.type not in (c.DATE, c.OBJECT_ID):
        return None
    if value.type == c.OBJECT_ID:
        # The first four bytes of an ObjectId are the seconds since 1970, big-endian unlike the numbers of BSON.
        return dt.datetime.fromtimestamp(int.from_bytes(value.data[:4], "big"), dt.UTC)
    found = value.python()
    return found if isinstance(found, dt.datetime) else None


def date(when: dt.datetime) -> Value:
    """A time as a BSON date, in milliseconds."""
    return Value.of(when)


# --- documents that nobody may write back


def unreadable(raw: bytes) -> str:
    """Why a document cannot be decoded, or would change in a round trip, in a few words; "" if neither."""
    if c.walker is not None and c.walker.survives(raw):
        return ""
    try:
        decoded = c.decode(raw)
    except Unreadable:
        return "does not decode"
    try:
        if len(bson.encode(decoded, codec_options=c.FORGIVING)) == len(raw):
            return ""
        # Some types change their length in a round trip. That loses nothing: decoded bytes are never written back
        # here.
        return _repeated(Value(c.OBJECT, raw))
    except (bson.errors.BSONError, ValueError, OverflowError, RecursionError, TypeError):
        pass
    try:
        return _repeated(Value(c.OBJECT, raw)) or _no_text(Value(c.OBJECT, raw))
    except Unreadable:
        return "does not decode"


def legible(raw: bytes) -> dict[str, Value]:
    """The fields of a document by name, the first of each; of a damaged one those before the damage.

    So a broken document still has its id, by which it can be listed, opened and examined.
    """
    found: dict[str, Value] = {}
    with suppress(Unreadable):
        for name, kind, a, b in c.elements(raw):
            found.setdefault(c.name_of(name), Value(kind, raw[a:b]))
    return found


def legible_field(raw: bytes, name: str) -> Value | None:
    """A top-level field; None if it is missing or the document cannot be read that far."""
    try:
        return c.get(raw, (name,)) if name else None
    except Unreadable:
        return None


def _repeated(container: Value) -> str:
    seen: set[str] = set()
    for name, value in c.fields(container.data):
        if name in seen:
            return f"holds the field {name} twice"
        seen.add(name)
        if value.is_container and (inner := _repeated(value)):
            return inner
    return ""


def _no_text(container: Value) -> str:
    for name, value in c.fields(container.data):
        data = value.data[4:-1] if value.type in (c.STRING, c.CODE, c.SYMBOL) else b""
        try:
            name.encode("utf-8")
            data.decode("utf-8")
        except UnicodeError:
            return "holds text that is not UTF-8"
        if value.is_container and (inner := _no_text(value)):
            return inner
    return ""


# --- putting a version together


def made_version(
    raw: bytes,
    own: Own,
    profile: CollectionProfile,
    stored: Stored,
    current: bool = False,
    contents: bool = False,
    times: Collection[str] = (),
    v: Value | None = None,
    counted: bool = True,
) -> Version:
    """A stored document as a version, with its time, author, reason, hash and damage.

    ``times`` are fields whose ObjectId tells when it was written, if the profile names no field for that; ``counted``
    is False without version numbers. Bytes that are not BSON make a damaged version without content.
    """
    try:
        top, content = own.parted(raw)
        # Some of the fields are content here, so the walk over the layout's own did not collect them.
        if not own.holds(profile.author, profile.reason, *times):
            top = dict(reversed(c.fields(raw)))  # reversed, because the first of duplicate names counts
            top.pop("", None)  # "" means that the profile names no such field
        v = v if v is not None else top.get(own.version)
        author, reason = (top.get(name) for name in (profile.author, profile.reason))
        at = time_of(top.get(own.at))
        for name in times:
            at = at or time_of(top.get(name))
        damage = unreadable(raw) or (version_damage(v) if counted else "")
        if not damage and profile.hash:
            stored_hash = top.get(profile.hash) if own.holds(profile.hash) else c.get(raw, (profile.hash,))
            if stored_hash is not None:
                damage = hash_trouble(Sealed(content, stored_hash, top.get("_id")), profile)
    except Unreadable:
        found = legible(raw)
        v = v if v is not None else found.get(own.version)
        damaged = Version(v, None, None, stored, "damaged", current, None, None, "does not decode", None, raw)
        return damaged.but(stored_bytes=len(raw))
    return _BLANK.but(
        v=v,
        at=at,
        author=words(author),
        stored=stored,
        state="damaged" if damage else "present",
        current=current,
        hash=c.hash_of(content),
        bytes=len(content),
        detail=damage,
        content=content if contents else None,
        raw=raw if contents else None,
        reason=words(reason),
        signed=(author, reason) if contents else (None, None),
        stored_bytes=len(raw),
    )


_BLANK = Version(None, None, None, "none", "missing", False, None, None)


def words(value: Value | None) -> str | None:
    """An author or a reason as people read it; a document's name for a document. None if there is none."""
    if value is None or value.type in (c.NULL, c.UNDEFINED):
        return None
    if value.type == c.STRING:
        return str(value.python())
    if value.type == c.OBJECT:
        # The names that frameworks use for the user who wrote.
        for name in ("name", "username", "email", "_id", "id"):
            if (found := c.get(value.data, (name,))) is not None and not found.is_container:
                return words(found)
    return text.shown(value, limit=60)


SAID = "deleted"
"""The detail of a tombstone in a history."""
MARK = Value.of(True)


def is_tombstone(raw: bytes, own: Own, profile: CollectionProfile) -> bool:
    """Whether a stored version says that its document is deleted."""
    try:
        return is_marked(raw, profile) and says_deleted(own.content(raw), profile)
    except Unreadable:
        return False


def is_marked(raw: bytes, profile: CollectionProfile) -> bool:
    """Whether a stored version, or a projection of it, has the marker."""
    name = profile.deleted
    return bool(name) and c.name_bytes(name) + b"\x00" in raw and c.get(raw, (name,)) == MARK


def says_deleted(content: bytes, profile: CollectionProfile) -> bool:
    """Whether a content would be read as a tombstone: only the marker, perhaps with author and reason."""
    names = {profile.deleted, profile.author, profile.reason}
    return is_marked(content, profile) and all(name in names for name, _ in c.fields(content))
