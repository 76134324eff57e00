"""The in-process server with faults on cue: the test decides beforehand what happens to the product's nth message."""

from __future__ import annotations

import contextlib
import random
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from model.localserver import wire
from model.localserver.local_server import LocalServer
from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import Value

FAULTS = (
    "cut before",
    "apply then cut",
    "half a reply",
    "garbage",
    "stall",
    "apply then stall",
    "slow",
    "error code",
    "write concern error",
    "not primary",
    "land late",
    "wrong reply id",
    "oversized reply",
)
WRITES_ALONE = ("write concern error", "land late")  # what cannot happen to a read
WRITES = ("insert", "update", "delete", "findAndModify", "createIndexes")
ALWAYS = 10**6
PATIENCE = 0.15  # seconds that the product waits here for a reply
LATEST = 0.3  # seconds after which what is late has landed

REFUSED = (9, 13, 18, 24, 112, 121, 365, 391, 8000, 10334, 14031, 16500)
IN_DOUBT = (1, 6, 7, 8, 50, 64, 79, 89, 91, 189, 202, 262, 317, 9001, 11600, 11601, 11602)
RETRYABLE = (6, 7, 89, 91, 134, 189, 262, 9001, 10107, 11600, 11602, 13435, 13436)
_QUIET = {"hello", "isMaster", "ismaster", "ping", "buildInfo", "endSessions", "killCursors"}

WELCOME = wire.pack(conversationId=1, done=True, payload=b"", ok=1.0)  # to whoever says any password


@dataclass
class Plan:
    """What happens to the product's messages from a certain one on."""

    at: int = -1
    fault: str = ""
    times: int = 0
    rng: random.Random = field(default_factory=random.Random)
    shape: Callable[[bytes, random.Random], bytes] = lambda reply, rng: reply  # what a malformed reply looks like
    kill: Callable[[], object] = lambda: None  # ends the process that sends the messages
    greetings: bool = False  # handshakes are messages as well
    seen: list[str] = field(default_factory=list)
    hit: list[str] = field(default_factory=list)

    def next(self, command: Command) -> str:
        """The fault of the message that came just now; "" for none."""
        number = len(self.seen)
        self.seen.append(command.name)
        if not self.at <= number < self.at + self.times:
            return ""
        if self.fault in WRITES_ALONE and command.name not in WRITES:
            return ""
        self.hit.append(f"{number}:{command.name}")
        return self.fault


class BlackPipe(LocalServer):
    """A server that fails as its plan says, to connections of the product alone."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.plan = Plan()
        self._guard = threading.Lock()
        self._on_the_way = 0
        self._landed = threading.Condition()

    def settle(self) -> None:
        """Wait until all that is on its way has landed, also what its sender has given up in the meantime."""
        while self._unread():
            time.sleep(0.001)
        with self._landed:
            self._landed.wait_for(lambda: not self._on_the_way)

    def _unread(self) -> bool:
        """Whether something lies in a connection that its thread has not come to yet."""
        poll = select.poll()
        with self._lock:
            for connection in self._connections:
                if connection.fileno() >= 0:
                    poll.register(connection, select.POLLIN)
            return bool(poll.poll(0))

    def _late(self, command: Command, seconds: float) -> bytes:
        """Carry out a command after a while, wherever its sender is by then."""
        try:
            time.sleep(seconds)
            return self._commands.answer(command)
        finally:
            self._has_landed()

    def _carried_out(self, command: Command) -> bytes:
        """The answer to a command that is carried out now; on a busy machine its sender may not wait for it."""
        self._sets_out()
        try:
            return self._commands.answer(command)
        finally:
            self._has_landed()

    def _sets_out(self) -> None:
        with self._landed:
            self._on_the_way += 1

    def _has_landed(self) -> None:
        with self._landed:
            self._on_the_way -= 1
            self._landed.notify_all()

    def _serve(self, connection: socket.socket) -> None:
        ours = False
        try:
            with contextlib.suppress(OSError, wire.Garbled):
                while (command := wire.receive(connection)) is not None:
                    ours = ours or _is_product(command)
                    if not self._answer(connection, command, ours):
                        return
        finally:
            with self._lock:
                self._connections.pop(connection, None)
                connection.close()

    def _answer(self, connection: socket.socket, command: Command, ours: bool) -> bool:
        """Answer one command as the plan says; False where the connection ends with it."""
        fault = ""
        if ours and (command.name not in _QUIET or self.plan.greetings):
            with self._guard:
                fault = self.plan.next(command)
                if fault in ("land late", "slow"):
                    self._sets_out()
                rng = random.Random(self.plan.rng.random())
        if not fault:
            answer = WELCOME if command.name == "saslStart" else self._carried_out(command)
            if not command.silent:
                connection.sendall(wire.reply(command, answer))
            return True
        return self._fail(connection, command, fault, rng)

    def _fail(self, connection: socket.socket, command: Command, fault: str, rng: random.Random) -> bool:
        match fault:
            case "cut before":
                return False
            case "kill before":
                self.plan.kill()
                return False
            case "stall":
                return _silence(connection)
            case "land late":
                seconds = rng.choice((0, 0.005, 0.02, 0.06, 0.15, LATEST))
                threading.Thread(target=self._late, args=(command, seconds)).start()
                return False
            case _ if fault.startswith("refuse "):
                connection.sendall(wire.reply(command, self._error(command, int(fault.split()[1]), "refused on cue")))
                return True
            case "not primary":
                connection.sendall(wire.reply(command, self._error(command, 10107, "not primary")))
                return True
            case "error code":
                code = rng.choice(REFUSED + IN_DOUBT)
                if code in IN_DOUBT and rng.random() < 0.5:
                    self._carried_out(command)
                connection.sendall(
                    wire.reply(command, self._error(command, code, f'error {code} on cue for {{ _id: "K-1" }}'))
                )
                return True
            case "slow":
                answer = self._late(command, PATIENCE * rng.choice((0.2, 0.5, 1.3)))
                connection.sendall(wire.reply(command, answer))
                return True
        reply = wire.reply(command, self._carried_out(command))
        match fault:
            case "apply then cut":
                return False
            case "kill after":
                self.plan.kill()
                return False
            case "apply then stall":
                return _silence(connection)
            case "half a reply":
                connection.sendall(reply[: rng.randrange(1, len(reply))])
                return False
            case "garbage":
                connection.sendall(rng.choice((b"HTTP/1.1 400 Bad Request\r\n\r\n" * 3, rng.randbytes(64))))
                return False
            case "write concern error":
                connection.sendall(wire.reply(command, self._unconfirmed(reply, command, rng)))
                return True
            case "malformed":
                connection.sendall(self.plan.shape(reply, rng))
                return True
            case "wrong reply id":
                connection.sendall(reply[:8] + struct.pack("<i", command.request + 77) + reply[12:])
                return True
            case "oversized reply":
                lie = rng.choice((2**31 - 1, len(reply) + 100, -1))
                connection.sendall(struct.pack("<i", lie) + reply[4:])
                return _silence(connection)
        connection.sendall(reply)
        return True

    def _error(self, command: Command, code: int, text: str) -> bytes:
        labels = ["RetryableWriteError"] if code in RETRYABLE and "txnNumber" in command.fields else []
        return wire.pack(ok=0.0, errmsg=text, code=code, codeName="OnCue", errorLabels=labels)

    def _unconfirmed(self, reply: bytes, command: Command, rng: random.Random) -> bytes:
        code = rng.choice((64, 91, 100))
        trouble = {"code": code, "codeName": "OnCue", "errmsg": "waiting for replication ended on cue"}
        if code == 64:
            trouble["errInfo"] = {"wtimeout": True}
        labels = ["RetryableWriteError"] if code == 91 and "txnNumber" in command.fields else []
        added = wire.pack(writeConcernError=trouble, **({"errorLabels": labels} if labels else {}))
        return c.document([*c.fields(reply[21:]), *c.fields(added)])


def _is_product(command: Command) -> bool:
    """Whether the handshake of a connection names the product."""
    said = command.fields.get("client")
    app = c.get(said.data, ("application", "name")) if said is not None and said.type == c.OBJECT else None
    return app == Value.of("palimpsest")


def _silence(connection: socket.socket) -> bool:
    """Say nothing until the other side has had enough."""
    connection.recv(1)
    return False
