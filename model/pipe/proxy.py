"""The pipe itself: listens, dials the server for each connection, and carries messages one request and reply at a time.

Whatever goes wrong with a message is decided before it is sent on, so that a plan or a seed repeats it.
"""

from __future__ import annotations

import contextlib
import errno
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from types import TracebackType
from typing import Protocol, Self

from msgspec.structs import replace

from model.errors import Refused
from model.foundation.address import Address
from model.localserver import wire
from model.localserver.wire import Command
from model.pipe import carried_messages as messages
from model.pipe.carried_messages import Request
from model.pipe.faults import QUIET, WRITES, Fault, Faults

PASSED = "passed"
"""Under which :attr:`Pipe.did` counts writes with which nothing went wrong."""
_OF_THE_SERVER = ("ssh", "replicaSet", "loadBalanced", "compressors", "srvServiceName", "srvMaxHosts", "readPreference")
"""Options of an address that are about the way to the server, which only the pipe goes."""
_FAREWELL = 10.0  # seconds in which each thread ends


class Witness(Protocol):
    """Sees what passes."""

    def told(self, command: Command) -> bytes | None:
        """The answer to a command that is meant for the witness; None for any other."""

    def begins(self, command: Command) -> None:
        """A command is about to go to the server."""

    def wrote(self, command: Command, reply: bytes, delivered: bool) -> None:
        """The server's reply to a command, and whether its client has got it."""


class Pipe:
    """Stands before a server. It takes connections once it is entered; leaving it lets all that is late arrive."""

    def __init__(
        self,
        dial: Callable[[], socket.socket],
        faults: Faults,
        listen: str = "127.0.0.1:0",
        witness: Witness | None = None,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> None:
        """``dial`` makes a connection to the server, ``listen`` is host:port, with port 0 for a free one.

        ``say`` gets a sentence when a client or the server cannot be served. Raises ``Refused`` if nothing can listen
        there.
        """
        self.faults, self._dial, self._witness, self._say = faults, dial, witness, say
        self.did: Counter[str] = Counter()
        self.arrived: list[tuple[float, bytes]] = []
        """Inserts and deletes that arrived late: the time by ``time.monotonic``, and the message."""
        self._listener = _listening(listen)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._late: list[tuple[ExitStack, socket.socket, Request]] = []
        self._said: set[str] = set()
        self._stopped = threading.Event()

    @property
    def host(self) -> str:
        """Host and port."""
        return messages.address(self._listener)

    @property
    def uri(self) -> str:
        """The address for clients, without a user."""
        return f"mongodb://{self.host}/?directConnection=true"

    def uri_like(self, source: str) -> str:
        """The address for clients, with the user, the database and the options of the server's own."""
        address = Address.parse(source)
        if address is None:
            return self.uri
        for name in _OF_THE_SERVER:
            address = address.with_option(name, "")
        login = "" if address.user is None or address.option("authSource") or address.database else "admin"
        address = replace(address.with_tls(on=False), scheme="mongodb://", hosts=self.host, path=address.path or "/")
        address = address.with_option("tls", "").with_option("directConnection", "true")
        return str(address.with_option("authSource", login) if login else address)

    def __enter__(self) -> Self:
        self._run(self._accept)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End all connections, and let all that is on its way arrive; a second call does nothing."""
        self._stopped.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # closing alone does not end a wait for a connection
        self._listener.close()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RD)  # a reply that is being sent still arrives
            threads = list(self._threads)
        until = time.monotonic() + _FAREWELL
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        self.settle()
        with self._lock:
            for each in self._open:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def calm(self) -> None:
        """Let nothing go wrong any more, and let all that is on its way arrive."""
        self.faults.end()
        self.settle()

    def settle(self) -> None:
        """Let all that is on its way arrive."""
        while self._land():
            pass

    # --- one connection

    def _serve(self, connection: socket.socket) -> None:
        here = messages.address(connection)
        with ExitStack() as ends:
            server: socket.socket | None = None
            while (request := messages.request(connection)) is not None:
                if server is None:
                    server = ends.enter_context(self._kept(self._dialled()))
                if not self._carry(ends, connection, server, request, here):
                    return

    def _carry(
        self, ends: ExitStack, connection: socket.socket, server: socket.socket, request: Request, here: str
    ) -> bool:
        """Carry a request and its reply; False where the connection ends with it."""
        command = request.command
        if self._witness is not None:
            answer = self._witness.told(command)
            if answer is not None:
                connection.sendall(messages.answered(command, answer))
                return True
            self._witness.begins(command)
        fault = self._fate(command)
        what = fault.do if fault is not None else ""
        seconds = (fault.seconds if fault is not None else None) or 0.0
        if what == "late":
            self._send_later(ends.pop_all(), server, request, fault.seconds if fault is not None else None)
        if what in ("late", "lose-request"):
            return False
        reply = self._exchanged(server, request, twice=what == "repeat")
        if command.silent:
            return what not in ("lose-reply", "cut", "stall")
        if reply is None:
            return False
        if what == "delay":
            self._stopped.wait(seconds)
        if what in ("lose-reply", "cut", "stall"):
            self._saw(command, reply, delivered=False)
            if what == "cut":
                connection.sendall(reply[: len(reply) // 2])
            if what == "stall":
                _silence(connection, seconds)
            return False
        connection.sendall(messages.staying(reply, here) if command.name in messages.HANDSHAKES else reply)
        self._saw(command, reply, delivered=True)
        return True

    def _exchanged(self, server: socket.socket, request: Request, twice: bool) -> bytes | None:
        """The server's reply to a request, the first one if it is sent ``twice``; None without any."""
        server.sendall(request.raw)
        if request.command.silent:
            if twice:
                server.sendall(request.raw)
            return None
        reply = messages.reply(server)
        if twice and reply is not None:
            server.sendall(request.raw)
            again = messages.reply(server)
            if again is not None:
                self._saw(request.command, again, delivered=False)
        return reply

    def _saw(self, command: Command, reply: bytes, delivered: bool) -> None:
        if self._witness is not None:
            self._witness.wrote(command, reply, delivered)

    def _fate(self, command: Command) -> Fault | None:
        if command.name not in QUIET:
            while self.faults.lands and self._land(self.faults.lands):
                pass
        with self._lock:
            fault = None if command.name in QUIET else self.faults.next(command)
            if fault is not None:
                self.did[fault.do] += 1
            elif command.name in WRITES:
                self.did[PASSED] += 1
            return fault

    # --- what is late

    def _send_later(self, ends: ExitStack, server: socket.socket, request: Request, seconds: float | None) -> None:
        if seconds is None:
            with self._lock:
                self._late.append((ends, server, request))
            return

        def send() -> None:
            self._stopped.wait(seconds)
            self._deliver(ends, server, request)

        self._run(send)

    def _land(self, chance: float = 1.0) -> bool:
        """Perhaps send what is on its way longest, and wait until it is done."""
        with self._lock:
            if not self._late or (chance < 1 and self.faults.roll() > chance):
                return False
            late = self._late.pop(0)
        self._deliver(*late)
        return True

    def _deliver(self, ends: ExitStack, server: socket.socket, request: Request) -> None:
        with ends, suppress(OSError):
            reply = self._exchanged(server, request, twice=False)
            if request.command.name in ("insert", "delete"):
                self.arrived.append((time.monotonic(), request.raw))
            if reply is not None:
                self._saw(request.command, reply, delivered=False)

    # --- connections and threads

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._run(self._take, connection)

    def _take(self, connection: socket.socket) -> None:
        with self._kept(connection):
            try:
                self._serve(connection)
            except Refused as refusal:
                self._tell(str(refusal))
            except wire.Garbled as error:
                self._tell(f"A client says what is no message of MongoDB ({error}); its connection is ended.")
            except OSError:
                pass  # the client or the server is gone

    def _dialled(self) -> socket.socket:
        try:
            return self._dial()
        except OSError as error:
            self._tell(f"The server does not take connections any more: {str(error).rstrip('.')}.")
            raise

    def _tell(self, sentence: str) -> None:
        with self._lock:
            if sentence in self._said:
                return
            self._said.add(sentence)
        self._say(sentence)

    def _run(self, does: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=does, args=args, daemon=True)
        with self._lock:
            self._threads = [each for each in self._threads if each.is_alive()]
            thread.start()
            self._threads.append(thread)

    @contextlib.contextmanager
    def _kept(self, connection: socket.socket) -> Iterator[socket.socket]:
        """Have a connection ended with the pipe; it is closed when it is left."""
        with suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with self._lock:
            self._open.add(connection)
        try:
            yield connection
        finally:
            with self._lock:
                self._open.discard(connection)
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()


def _silence(connection: socket.socket, seconds: float) -> None:
    """Say nothing until the client has had enough, or for this long."""
    connection.settimeout(seconds or 0.001)
    with suppress(OSError):
        connection.recv(1, socket.MSG_PEEK)


def _listening(written: str) -> socket.socket:
    host, _, port = written.strip().rpartition(":")
    host = host.strip("[]") or "127.0.0.1"
    if not port.isascii() or not port.isdecimal() or int(port) > 65535:
        raise Refused(f"{written or 'Nothing'} is no place to listen; write LISTEN as host:port: 127.0.0.1:27100.")
    try:
        family = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, int(port)), family=family, backlog=128)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise Refused(f"{host}:{port} is in use by another program; name another port, or 0 for any.") from None
        raise Refused(f"Nothing can listen on {host}:{port} ({error.strerror or error}); name another place.") from None
