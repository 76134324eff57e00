"""What passed through a pipe: writes that the server acknowledged, and what the program told its users.

A write counts as acknowledged if its reply said that it took effect, and was delivered. What was carried out and not
told is in doubt: it may stand. On the wire nobody can see what a program made of that, so a program may tell it, with
a ``ping`` whose comment is ``{told, ns, id, set | inc | push}``.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import bson
from msgspec import Struct

from model.errors import NotFound, Refused
from model.foundation.collection_profile import CollectionProfile
from model.layouts.registry import declared, within
from model.localserver import wire
from model.localserver.wire import Command
from model.mql.command_error import CommandError
from model.pipe import carried_messages as messages
from model.pipe.faults import WRITES, ns_of
from model.profile import Profile
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

Place: TypeAlias = tuple[str, Value]
"""A collection and the id of a document in it."""
_Effect: TypeAlias = tuple[str, bytes, bytes, bool]
"""Kind, filter, document or update, and whether something stored changed."""
TOLD = ("applied", "refused", "unknown")
_DUPLICATE = 11000
WAYS = ("set", "inc", "push")


class ToldChange(Struct, frozen=True):
    """What a program told its user about one change of one field."""

    told: str  # one of :data:`TOLD`
    way: str
    path: str
    value: Value


class Made(Struct, frozen=True):
    """A version that an acknowledged write made."""

    ns: str
    id: Value
    v: Value


class Inserted(Struct, frozen=True):
    """A document whose insert was acknowledged."""

    ns: str
    raw: bytes


class WireRecord:
    """Collects what an audit needs, for the collections of a profile; thread-safe."""

    def __init__(self, session: Session, profile: Profile) -> None:
        self._session = session
        self._by_ns: dict[str, CollectionProfile] = {each.ns: each for each in profile.collections}
        self._archives = {each.archive: each for each in profile.collections if each.archive}
        self._lock = threading.Lock()
        self._open: dict[tuple[bytes, int], list[tuple[Command, bytes, bool]]] = {}
        self.acknowledged = self.in_doubt = 0
        self.before: dict[Place, bytes | None] = {}
        """The content of each document before the first write to it; None if there was none."""
        self.made: dict[Made, int] = {}
        self.inserted: list[Inserted] = []
        self.rewritten: list[Made] = []
        """Versions in an archive that a write changed."""
        self.refused: Counter[Made] = Counter()
        """How often a version could not be archived, as the archive had it already."""
        self.deleted: dict[str, list[bytes]] = {}
        """The filters of deletes that may have taken effect, by collection."""
        self.claims: dict[Place, list[ToldChange]] = {}

    # --- what the program tells

    def told(self, command: Command) -> bytes | None:
        """The answer to a ``ping`` that tells something; None for any other command."""
        said = command.fields.get("comment") if command.name == "ping" else None
        if said is None or said.type != c.OBJECT or c.get(said.data, ("told",)) is None:
            return None
        try:
            place, claims = self._read(dict(c.fields(said.data)))
        except ValueError as error:
            return wire.pack(ok=0.0, errmsg=f"palimpsest pipe: {error}", code=2, codeName="BadValue")
        self._remember(place)
        with self._lock:
            self.claims.setdefault(place, []).extend(claims)
        return wire.pack(ok=1.0)

    def _read(self, said: Mapping[str, Value]) -> tuple[Place, list[ToldChange]]:
        told = str(said["told"].python())
        if told not in TOLD:
            raise ValueError(f"told is one of {', '.join(TOLD)}")
        ns = said["ns"].python() if "ns" in said and said["ns"].type == c.STRING else ""
        if ns not in self._by_ns:
            raise ValueError("ns names a collection of the profile that the audit goes by")
        if "id" not in said:
            raise ValueError("id is missing: the document's")
        claims = [
            ToldChange(told, way, path, value)
            for way in WAYS
            if way in said and said[way].type == c.OBJECT
            for path, value in c.fields(said[way].data)
        ]
        if not claims:
            raise ValueError("name what was changed: set, inc or push with a field and its value")
        if any(claim.way == "inc" and number_of(claim.value) is None for claim in claims):
            raise ValueError("inc takes numbers")
        return (ns, said["id"]), claims

    # --- what passes

    def begins(self, command: Command) -> None:
        """Keep the content of documents that are written for the first time."""
        if command.name not in WRITES or ns_of(command) not in self._by_ns:
            return
        ns = ns_of(command)
        for id in _ids(command, self._by_ns[ns]):
            self._remember((ns, id))

    def _remember(self, place: Place) -> None:
        with self._lock:
            if place not in self.before:
                self.before[place] = content(self._session, place)

    def wrote(self, command: Command, reply: bytes, delivered: bool) -> None:
        """Take note of a write's reply; writes of a transaction count when it is committed."""
        ns = ns_of(command)
        with self._lock:
            transaction = _transaction(command)
            if command.name == "commitTransaction" and transaction is not None:
                if _ok(reply):
                    for earlier, its_reply, _ in self._open.pop(transaction, []):
                        self._note(earlier, its_reply, delivered)
            elif command.name in WRITES and (ns in self._by_ns or ns in self._archives):
                if transaction is not None and "autocommit" in command.fields:
                    self._open.setdefault(transaction, []).append((command, reply, delivered))
                else:
                    self._note(command, reply, delivered)

    def _note(self, command: Command, reply: bytes, delivered: bool) -> None:
        said, ns = messages.document(reply), ns_of(command)
        try:
            effect = list(_effects(command, said))
        except CommandError:
            return
        if command.name == "insert" and ns in self._archives:
            self._note_refused(command, said, self._archives[ns])
        if not _ok(reply) or not effect:
            return
        known = delivered and "writeConcernError" not in said
        self.acknowledged += known
        self.in_doubt += not known
        for kind, filter, body, modified in effect:
            if kind == "delete":
                self.deleted.setdefault(ns, []).append(filter)
            elif kind == "insert":
                if known:
                    self.inserted.append(Inserted(ns, body))
            elif ns in self._by_ns:
                self._note_version(ns, filter, body, known)
            elif modified and not declared(self._archives[ns].layout).holds_current:
                of = self._archives[ns]
                id, v = equal_to(filter, of.archive_id), equal_to(filter, of.version)
                if id is not None and v is not None:
                    self.rewritten.append(Made(of.ns, id, v))

    def _note_refused(self, command: Command, said: Mapping[str, Value], of: CollectionProfile) -> None:
        documents = command.documents("documents")
        for error in map(dict, map(c.fields, _errors(said))):
            at, code = number_of(error.get("index")), number_of(error.get("code"))
            if code == _DUPLICATE and isinstance(at, int) and at < len(documents):
                id, v = c.get(documents[at], (of.archive_id,)), c.get(documents[at], (of.version,))
                if id is not None and v is not None:
                    self.refused[Made(of.ns, id, v)] += 1

    def _note_version(self, ns: str, filter: bytes, body: bytes, known: bool) -> None:
        of = self._by_ns[ns]
        id, v = equal_to(filter, of.id), version_in(filter, body, of)
        if known and id is not None and v is not None:
            made = Made(ns, id, v)
            self.made[made] = self.made.get(made, 0) + 1


def content(session: Session, place: Place) -> bytes | None:
    """The current content of a document; None if there is none."""
    try:
        return session.history.version(*place).content
    except NotFound:
        return None


def number_of(value: Value | None) -> int | float | None:
    """A number; None for anything else."""
    found: Any = value.python() if value is not None else None
    if isinstance(found, bson.Decimal128):
        return float(found.to_decimal())
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


def equal_to(filter: bytes, name: str) -> Value | None:
    """The value that a filter demands of a field; None if it leaves that open."""
    found = dict(c.fields(filter)).get(name)
    if found is not None and found.type == c.OBJECT:
        operators = c.fields(found.data)
        if operators and operators[0][0].startswith("$"):
            return dict(operators).get("$eq")
    return None if found is None or found.type == c.REGEX else found


def version_in(filter: bytes, body: bytes, of: CollectionProfile) -> Value | None:
    """The version that an update makes, as far as it says so."""
    inside = (place,) if (place := within(of)) else ()
    path = ".".join((*inside, of.version))
    pairs = c.fields(body)
    if not pairs or not pairs[0][0].startswith("$"):
        return c.get(body, (*inside, of.version))
    operators = {name: dict(c.fields(value.data)) for name, value in pairs if value.type == c.OBJECT}
    fields = operators.get("$set", {})
    if path in fields:
        return fields[path]
    if inside and inside[0] in fields and fields[inside[0]].type == c.OBJECT:
        return c.get(fields[inside[0]].data, (of.version,))
    step, base = number_of(operators.get("$inc", {}).get(path)), equal_to(filter, path)
    if step is None or base is None or not isinstance(number_of(base), int):
        return None
    return Value.of(int(base.python()) + int(step))


def _ids(command: Command, of: CollectionProfile) -> Iterator[Value]:
    """The documents that a write names."""
    try:
        if command.name == "insert":
            found = [c.get(raw, (of.id,)) for raw in command.documents("documents")]
        elif command.name in ("update", "delete"):
            listed = command.documents("updates" if command.name == "update" else "deletes")
            found = [equal_to(dict(c.fields(raw))["q"].data, of.id) for raw in listed if c.get(raw, ("q",))]
        else:
            found = [equal_to(command.document("query"), of.id)]
    except (CommandError, Refused):
        return
    yield from (id for id in found if id is not None)


def _effects(command: Command, said: Mapping[str, Value]) -> Iterator[_Effect]:
    """What a command did, as its reply says.

    Of a command with several statements that did not all take effect, those that did are not known, save for inserts.
    """
    if command.name == "insert":
        yield from _inserts(command, said)
    elif command.name == "update":
        yield from _updates(command, said)
    elif command.name == "delete":
        for raw in command.documents("deletes"):
            yield "delete", dict(c.fields(raw))["q"].data, b"", True
    elif command.name != "bulkWrite":
        yield from _found_and_modified(command, said)


def _inserts(command: Command, said: Mapping[str, Value]) -> Iterator[_Effect]:
    failed = {int(each.python()) for error in _errors(said) if (each := c.get(error, ("index",))) is not None}
    for number, raw in enumerate(command.documents("documents")):
        if number in failed and command.flag("ordered", True):
            return
        if number not in failed:
            yield "insert", b"", raw, False


def _updates(command: Command, said: Mapping[str, Value]) -> Iterator[_Effect]:
    listed = [dict(c.fields(raw)) for raw in command.documents("updates")]
    if _errors(said) or (number_of(said.get("n")) or 0) < len(listed):
        return
    for fields in listed:
        if fields["u"].type == c.OBJECT:
            yield "update", fields["q"].data, fields["u"].data, number_of(said.get("nModified")) == len(listed)


def _found_and_modified(command: Command, said: Mapping[str, Value]) -> Iterator[_Effect]:
    last = said.get("lastErrorObject")
    if last is None or last.type != c.OBJECT or not number_of(c.get(last.data, ("n",))):
        return
    if command.flag("remove"):
        yield "delete", command.document("query"), b"", True
    elif (update := command.get("update")) is not None and update[0] == c.OBJECT:
        existed = c.get(last.data, ("updatedExisting",))
        yield "update", command.document("query"), update[1], existed == Value.of(True)


def _errors(said: Mapping[str, Value]) -> list[bytes]:
    listed = said.get("writeErrors")
    return [] if listed is None or listed.type != c.ARRAY else [each.data for each in c.items(listed)]


def _ok(reply: bytes) -> bool:
    return bool(number_of(messages.document(reply).get("ok")))


def _transaction(command: Command) -> tuple[bytes, int] | None:
    session, number = command.fields.get("lsid"), command.fields.get("txnNumber")
    return None if session is None or number is None else (session.data, int(number.python()))
