"""The in-process server with answers that are wrong: other types, sizes and counts, and cursors without end."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from typing import Any

import bson

from model.localserver import wire
from model.localserver.local_server import LocalServer
from model.localserver.wire import Command

Lie = Callable[[Command, bytes], bytes]
"""Makes the answer that is sent from a command and the true answer."""


class LyingServer(LocalServer):
    """Tells its lies, by the name of the command, once :attr:`lies` has some; ``*`` is every command but greetings."""

    def __init__(self, lies: Mapping[str, Lie] | None = None, replica_set: str | None = None) -> None:
        super().__init__(replica_set=replica_set)
        self.lies: Mapping[str, Lie] = lies or {}
        self.asked = 0
        """Commands that were answered with a lie."""

    def _reply(self, connection: socket.socket, command: Command) -> None:
        name = GREETING if command.name in GREETINGS else command.name
        lie = self.lies.get(name) or (self.lies.get("*") if name != GREETING else None)
        answer = self._commands.answer(command)
        if lie is not None:
            self.asked += 1
            answer = lie(command, answer)
        if not command.silent:
            connection.sendall(wire.reply(command, answer))


GREETING = "hello"
GREETINGS = ("hello", "isMaster", "ismaster")


def saying(**fields: Any) -> Lie:
    """The true answer with some fields changed, and without those that are ``...``."""

    def lie(_: Command, answer: bytes) -> bytes:
        said = bson.decode(answer) | fields
        return bson.encode({name: value for name, value in said.items() if value is not ...})

    return lie


def in_cursor(**fields: Any) -> Lie:
    """The true answer with some fields of its cursor changed."""

    def lie(_: Command, answer: bytes) -> bytes:
        said = bson.decode(answer)
        if isinstance(said.get("cursor"), dict):
            said["cursor"] |= fields
        return bson.encode(said)

    return lie


def rows(*given: Any) -> Lie:
    """These rows in the first batch, whatever was asked for."""
    return in_cursor(firstBatch=[*given], id=bson.Int64(0))


def without_end(rows_in_each: int = 1) -> Lie:
    """A cursor that has always more: the rows of the first answer again, or no rows at all."""

    def lie(command: Command, answer: bytes) -> bytes:
        said = bson.decode(answer)
        if command.name == "getMore":
            batch = [{"_id": n, "name": f"c{n}", "docId": "K-1", "v": n} for n in range(rows_in_each)]
            cursor = {"id": bson.Int64(7), "ns": "shop.x", "nextBatch": batch}
            return bson.encode({"cursor": cursor, "ok": 1.0})
        if isinstance(said.get("cursor"), dict):
            said["cursor"]["id"] = bson.Int64(7)
        return bson.encode(said)

    return lie


def raw(answer: bytes) -> Lie:
    """These bytes as the answer's document."""
    return lambda _, __: answer


def damaged(at: int, byte: int) -> Lie:
    """The true answer with one byte changed, counted from its end."""

    def lie(_: Command, answer: bytes) -> bytes:
        changed = bytearray(answer)
        changed[-min(at, len(changed))] = byte
        return bytes(changed)

    return lie
