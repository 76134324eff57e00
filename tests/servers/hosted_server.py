"""Servers that people really use, simulated in this process: what each says of itself, and what it refuses and how.

:data:`PROFILES` holds them by name. :class:`HostedServer` is one; a part of a command that it lacks is refused before
anything is done, with the code and words of the real server.
"""

from __future__ import annotations

import socket
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import pytest

from model.errors import Unreadable
from model.localserver import wire
from model.localserver.command_table import CommandTable
from model.localserver.local_server import LocalServer
from model.localserver.store import Store
from model.localserver.wire import Command
from model.mql.command_error import CommandError
from model.values import canonical as c
from tests.servers import odd
from tests.servers.asked import Part, Turned, parts_of, parts_of_document

_GROWING = ("insert", "update", "findAndModify", "findandmodify")


@dataclass(frozen=True)
class Refusal:
    """The names of one kind that a server does not take, and the error that it gives instead."""

    kind: str
    code: int
    says: str
    names: Sequence[str] = ()
    hangs_up: bool = False
    """Whether it closes the connection instead of giving an error."""
    but: Sequence[str] | None = None
    """All names except these are refused."""

    def covers(self, part: Part) -> bool:
        """Whether it is about this part of a command."""
        kind, name = part
        return kind == self.kind and (name not in self.but if self.but is not None else name in self.names)


@dataclass(frozen=True)
class ServerProfile:
    """One server as a client meets it."""

    title: str
    version: str
    wire: int
    """The highest version of the protocol that it speaks."""
    member: Literal["alone", "set", "router"]
    """A server of its own, the primary of a replica set, or a router of a cluster."""
    sessions: bool = False
    """Whether it has sessions; those in a set and those behind a router always do."""
    refuses: tuple[Refusal, ...] = ()
    facts: Sequence[str] = ("version", "gitVersion", "storageEngines")
    """The fields of its ``buildInfo``."""
    own: str = ""
    """Its own version, beside the version of MongoDB that it imitates."""
    greets: str = ""
    """The field of ``internal`` in its greeting that has its own version."""
    habits: Sequence[str] = ()
    """Functions of ``tests.servers.odd``."""
    options: str = ""
    """The options that its address needs."""
    room: int | None = None
    """The bytes that all its documents may take."""

    def holds(self, raw: bytes) -> bool:
        """Whether it can store a document; one that is damaged is none of its own."""
        try:
            parts = {*parts_of_document(raw)}
        except Unreadable:
            return True
        return not any(refusal.covers(part) for part in parts for refusal in self.refuses)

    @property
    def stores(self) -> tuple[Refusal, ...]:
        """What it refuses in documents: two servers with the same can hold the same."""
        return tuple(each for each in self.refuses if each.kind in ("stored", "value"))

    def turned_away(self, why: Turned) -> tuple[int, str] | None:
        """The code and the words for somebody who is not let in; None where they are those of MongoDB."""
        found = (refusal for refusal in self.refuses if refusal.covers(("login", why)))
        return next(((refusal.code, refusal.says) for refusal in found), None)

    def hangs_up(self, command: Command) -> bool:
        """Whether it closes the connection at this command."""
        rude = [refusal for refusal in self.refuses if refusal.hangs_up]
        return bool(rude) and any(refusal.covers(part) for part in parts_of(command) for refusal in rude)

    def check(self, command: Command) -> None:
        """Raise the error that it gives for the first part of a command that it lacks."""
        for part in parts_of(command):
            for refusal in self.refuses:
                if refusal.covers(part):
                    raise CommandError(refusal.code, refusal.says.format(name=part[1]))


def _read(name: str, rows: Mapping[str, Any]) -> ServerProfile:
    row = dict(rows[name])
    alike: str = row.pop("like", "")
    refuses = [*row.pop("refuses", ()), *(rows[alike]["refuses"] if alike else ())]  # its own go first
    return ServerProfile(**row, refuses=tuple(map(_refusal, refuses)))


def _refusal(row: Mapping[str, Any]) -> Refusal:
    names, but = tuple(row.get("names", ())), tuple(row["but"]) if "but" in row else None
    return Refusal(row["kind"], row.get("code", 0), row.get("says", ""), names, row.get("hangs_up", False), but)


_ROWS = tomllib.loads((Path(__file__).parent / "profiles.toml").read_text("utf-8"))
PROFILES: Mapping[str, ServerProfile] = {name: _read(name, _ROWS) for name in _ROWS}


def without_stages(*names: str) -> ServerProfile:
    """A server of its own that does not know stages of pipelines."""
    lacks = Refusal("stage", 40324, "Unrecognized pipeline stage name: '{name}'", names)
    return replace(PROFILES["standalone"], refuses=(lacks,))


class _HostedCommands(CommandTable):
    """The commands of a server of some profile."""

    def __init__(self, store: Store, profile: ServerProfile) -> None:
        super().__init__(store, False, "rs0" if profile.member == "set" else "")
        self.profile = profile
        self.asked: set[Part] = set()

    def _answer(self, command: Command) -> bytes:
        greeting = command.name in ("hello", "isMaster", "ismaster")
        if not greeting:
            self.asked.update(parts_of(command))
            self.profile.check(command)
            self._check_room(command)
        if self.profile.member == "router" and not greeting and command.name in self._table:
            reply = self._table[command.name](command)
        else:
            reply = super()._answer(command)
        if greeting:
            return self._introduced(reply)
        return self._built(reply) if command.name.lower() == "buildinfo" else reply

    def _introduced(self, reply: bytes) -> bytes:
        profile = self.profile
        said: dict[str, Any] = {"maxWireVersion": profile.wire}
        if profile.sessions or profile.member != "alone":
            said["logicalSessionTimeoutMinutes"] = 30
        if profile.member == "router":
            said["msg"] = "isdbgrid"
        if profile.greets:
            said["internal"] = {profile.greets: [profile.own]}
        for name, value in c.fields(wire.pack(**said)):
            reply = c.put(reply, (name,), value)
        return reply

    def _built(self, reply: bytes) -> bytes:
        reply = c.put(reply, ("version",), c.Value.of(self.profile.version))
        reply = c.put(reply, ("ferretdb",), c.Value.document(c.encode({"version": self.profile.own})))
        reply = c.put(reply, ("ferretdbVersion",), c.Value.of(self.profile.own))
        return c.only(reply, (*self.profile.facts, "ok"))

    def _check_room(self, command: Command) -> None:
        room = self.profile.room
        if room is None or command.name not in _GROWING:
            return
        used = sum(coll.size for db in self.store.databases() for coll in self.store.collections(db))
        if used >= room:
            raise CommandError(8000, f"you are over your space quota, using {used} bytes of {room} bytes")


class HostedServer(LocalServer):
    """The in-process server with the profile of another; its habits are those of the whole process while it is open."""

    def __init__(self, profile: ServerProfile) -> None:
        super().__init__(replica_set="rs0" if profile.member == "set" else "")
        self.profile = profile
        self._commands = self._hosted = _HostedCommands(self.store, profile)
        self._habits = pytest.MonkeyPatch()
        self.hung_up_at: list[str] = []
        """The commands at which it closed the connection."""

    def _reply(self, connection: socket.socket, command: Command) -> None:
        if self.profile.hangs_up(command):
            self.hung_up_at.append(command.name)
            raise ConnectionResetError
        super()._reply(connection, command)

    @property
    def address(self) -> str:
        """Its URI with the options that it needs."""
        return "&".join(filter(None, (self.uri, self.profile.options)))

    @property
    def asked(self) -> set[Part]:
        """All that was asked for so far."""
        return self._hosted.asked

    def __enter__(self) -> HostedServer:
        for name in self.profile.habits:
            getattr(odd, name)(self._habits)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._habits.undo()
        super().__exit__(kind, error, trace)
