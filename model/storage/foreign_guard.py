"""The lock field of another program: an edit compares it with what was read, and moves it as that program would.

A program with optimistic locking saves only if the lock field is still what it has read. If an edit from here left
the field alone, the program's next save would silently overwrite the edit. So every write of a current document names
the field in its filter and changes it in the same write: plus one, or a new UUID. The program's save then fails as it
would after its own save.
"""

from __future__ import annotations

import datetime as dt
import re
import secrets
import time
import uuid
from collections.abc import Iterable, Mapping
from typing import Any

from bson import ObjectId

from model import text
from model.errors import Refused
from model.foundation.collection_profile import MOVED, CollectionProfile
from model.server import guards
from model.server.retry import Port
from model.storage.reserved_fields import WHOLE_NUMBERS, number_of, whole_number
from model.values import canonical as c
from model.values.canonical import Value

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\Z")
_HEX = re.compile(r"[0-9a-f]{16,128}\Z|[0-9A-F]{16,128}\Z")
_UUIDS = (3, 4)
"""The subtypes of Binary for UUIDs."""
_LARGEST = 2**63 - 1
WANTED = {"inc": "a number that can go up by one", "uuid": "a UUID, an ObjectId or a hash", "time": "a date"}
"""The value that each way of moving a field asks for."""


class ForeignGuard:
    """The lock field of one collection's documents; without one, it adds no clause and no change."""

    def __init__(self, profile: CollectionProfile) -> None:
        self._ns, lock = profile.ns, profile.guard
        self._lock = lock
        self._name, self._how = (lock.field, lock.how) if lock is not None and lock.how != "none" else ("", "")
        self._path = tuple(self._name.split(".")) if self._name else ()

    # --- why nothing may be written

    def closed(self) -> str:
        """Why no document may be written at all, one sentence; "" if documents may be written."""
        if self._how != "closed":
            return ""
        return (
            f"Only the program that keeps {self._name} can make the next one of it, so documents of {self._ns} are "
            "read-only here; make this change through that program."
        )

    def unstated(self) -> str:
        """What a person has to state before anything is written, one sentence; "" if nothing is missing."""
        if not self._name or self._how or self._lock is None:
            return ""
        if self._lock.in_array:
            return (
                f"{self._name} in {self._ns} looks like the lock of another program inside an array, which no edit "
                f'from here can move; if it is none, state guard = {{ field = "{self._name}", how = "none" }} in a '
                "profile."
            )
        if self._lock.second:
            return (
                f"{self._name} and {self._lock.second} in {self._ns} both look like locks of other programs, and an "
                "edit moves one; state it as guard in a profile, which makes the other one an ordinary field."
            )
        return (
            f"{self._name} in {self._ns} looks like the lock of another program, and nothing states how it moves; "
            f'state guard = {{ field = "{self._name}", how = "inc" }} in a profile, or how = "uuid" where each write '
            'makes a new one, "time" where it is the time of the write, or "none" where it is an ordinary field.'
        )

    def objection(self, raw: bytes) -> str:
        """Why this stored document may not be overwritten, one sentence; "" if it may."""
        if reason := self.closed() or self.unstated():
            return reason
        value = self._read(raw)
        if value is None or moves(value, self._how):
            return ""
        wanted = WANTED[self._how]
        return (
            f"{self._name} of this document is {text.shown(value, limit=60)} ({value.kind}) and not {wanted}, as the "
            f"guard of {self._ns} wants it; mend that first, or state another guard."
        )

    def uncounted(self) -> str:
        """Why nothing may be counted in documents of this collection, one sentence; "" if it may.

        Concurrent counts do not compare what was read. A lock that increases by one allows that, a UUID does not.
        """
        if self._how in ("uuid", "time") or len(self._path) > 1:
            return f"Counting in {self._ns} would have to renew {self._name}, the lock of another program; count there."
        return self.closed() or self.unstated()

    def explain(self, raw: bytes) -> str:
        """What a write does to the field, one sentence; "" if it stays as it is."""
        after = (self.moved(raw) | self.moved_inside(raw)).get(self._name)
        if after is None:
            return ""
        now = self._read(raw)
        return (
            f"{self._name}, the lock of another program, must still be {text.shown(now or Value.of(None), limit=60)}, "
            f"and becomes {text.shown(after, limit=60)}."
        )

    # --- what goes into a write

    def clauses(self, raw: bytes) -> dict[str, object]:
        """The clause that the field is as it was read, or still missing."""
        return guards.nested(self._name, self._read(raw)) if self._name and self._how else {}

    def moved(self, raw: bytes) -> dict[str, Value]:
        """A top-level field with its next value; empty if the document lacks it, because then no program checks it."""
        return self._moved(raw) if len(self._path) == 1 else {}

    def moved_inside(self, raw: bytes) -> dict[str, Value]:
        """A field in a sub-document, by its dotted path, with its next value; empty if the document lacks it."""
        return self._moved(raw) if len(self._path) > 1 else {}

    def refuse_inside(self) -> None:
        """Raise ``Refused`` if the field is in a sub-document; for writes that cannot move it there."""
        if len(self._path) > 1 and self._how:
            raise Refused(
                f"{self._name}, the lock of another program in {self._ns}, stands in a sub-document, which this write "
                "cannot move with it; make this change through that program."
            )

    def refuse_over(self, paths: Iterable[str]) -> None:
        """Raise ``Refused`` if an edit of these dotted paths would itself set the field in a sub-document."""
        for path in paths if len(self._path) > 1 else ():
            if f"{path}.".startswith(f"{self._name}.") or f"{self._name}.".startswith(f"{path}."):
                raise Refused(
                    f"{path} holds {self._name}, the lock of another program, which moves with every edit by itself; "
                    "edit the fields beside it one by one."
                )

    def kept(self, base: bytes, content: bytes) -> bytes:
        """A content with the base's value of a field in a sub-document: an old state would restore an old lock."""
        value = c.get(base, self._path) if len(self._path) > 1 and self._how else None
        above = c.get(content, self._path[:-1]) if value is not None else None
        if value is None or above is None or above.type != c.OBJECT or c.get(content, self._path) == value:
            return content
        return c.put(content, self._path, value)

    def _read(self, raw: bytes) -> Value | None:
        return c.get(raw, self._path) if self._path else None

    def _moved(self, raw: bytes) -> dict[str, Value]:
        value = self._read(raw) if self._how else None
        after = _next(value, self._how) if value is not None else None
        return {} if after is None else {self._name: after}

    def first(self, server: Port) -> dict[str, Value]:
        """The field for a new document, with the type found in another document; raises ``Refused``."""
        if reason := self.closed() or self.unstated():
            raise Refused(reason)
        if not self._name or len(self._path) > 1:
            return {}
        some = {self._name: {"$exists": True, "$ne": None}}
        raw = next(iter(server.find(self._ns, some, projection={self._name: 1}, limit=1)), None)
        like = c.get(raw, (self._name,)) if raw is not None else None
        if self._how == "time":
            return {self._name: _later(like or Value(c.DATE, bytes(8))) or Value.of(dt.datetime.now(dt.UTC))}
        if self._how == "inc":
            return {self._name: Value.of(0.0) if like is not None and like.type == c.DOUBLE else whole_number(0, like)}
        return {self._name: (_next(like, self._how) if like is not None else None) or Value.of(str(uuid.uuid4()))}


def moves(value: Value, how: str) -> bool:
    """Whether a value can be moved like this: a number that can be increased, a UUID that can be replaced."""
    return how not in MOVED or value.type == c.NULL or _next(value, how) is not None


def raised_with(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The operators of a count that also raise a lock field; unchanged if ``name`` is ""."""
    return {**body, "$inc": {**body.get("$inc", {}), name: 1}} if name else dict(body)


def _next(value: Value, how: str) -> Value | None:
    """The field's value after a write; None if its value cannot be moved like this."""
    return raised(value) if how == "inc" else _renewed(value) if how == "uuid" else _later(value)


def raised(value: Value) -> Value | None:
    """A lock that counts, increased by one; None if it is not a number, or has reached its limit."""
    number = number_of(value)
    if number is None or number >= _LARGEST:
        return None
    if value.type in WHOLE_NUMBERS:
        return whole_number(number + 1, value)
    # From 2**53 on, adding one may not change a Double.
    return Value.of(float(number + 1)) if value.type == c.DOUBLE and abs(number) < 2**53 else None


def _later(value: Value) -> Value | None:
    """The current time, or a millisecond after the one that was read; None if the field is not a date."""
    if value.type != c.DATE:
        return None
    was = int.from_bytes(value.data, "little", signed=True)
    # Later than what was read even if this clock is behind: an equal time would let the other program's save through.
    return Value(c.DATE, max(was + 1, int(time.time() * 1000)).to_bytes(8, "little", signed=True))


def _renewed(value: Value) -> Value | None:
    if value.type == c.OBJECT_ID:
        return Value.of(ObjectId())
    if value.type == c.BINARY:  # four bytes of length, then the subtype
        subtype, length = value.data[4], len(value.data) - 5
        return Value(c.BINARY, value.data[:5] + uuid.uuid4().bytes) if subtype in _UUIDS and length == 16 else None
    if value.type != c.STRING:
        return None
    written = str(value.python())
    if _UUID.match(written):
        new = str(uuid.uuid4())
    elif _HEX.match(written):
        # token_hex makes two digits for each byte, so half of them are cut off.
        new = secrets.token_hex(len(written))[: len(written)]
    else:
        return None
    # In the letters that the program uses, which may compare it as text.
    return Value.of(new.upper() if written != written.lower() else new)
