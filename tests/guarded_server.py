"""The in-process server behind a door: it speaks TLS, and lets in whom it knows, by SCRAM-SHA-256 or by certificate."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from bson.binary import Binary

from model.localserver import wire
from model.localserver.local_server import LocalServer
from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import decode

FREE = {"hello", "isMaster", "ismaster", "ping", "buildInfo", "endSessions", "connectionStatus", "logout"}
WRITES = {"insert", "update", "delete", "create", "createIndexes", "drop", "dropDatabase"}
ROUNDS = 4096

Privilege = Mapping[str, Any]
ANYTHING: Privilege = {"resource": {"anyResource": True}, "actions": ["find", "insert", "update", "remove"]}


def may(db: str, *actions: str, collection: str = "") -> Privilege:
    """A privilege on a database, or on one collection of it."""
    return {"resource": {"db": db, "collection": collection}, "actions": list(actions)}


class _ClosedAtTheEnd(ssl.SSLSocket):
    def __del__(self) -> None:
        self.close()


# Python leaves a socket open whose other end goes before the handshake begins, here and within the driver.
ssl.SSLContext.sslsocket_class = _ClosedAtTheEnd


class GuardedServer:
    """Listens on a port of its own. Without users everybody may do everything.

    ``users`` have passwords, ``subjects`` certificates; each has the privileges that stand under its name in
    ``rights``, else all. What goes over the wire is kept in :attr:`seen`, as it goes.
    """

    def __init__(
        self,
        users: Mapping[str, str] | None = None,
        rights: Mapping[str, Sequence[Privilege]] | None = None,
        certificate: Path | None = None,
        clients: Path | None = None,
        breaks_off: bool = False,
    ) -> None:
        self.store = LocalServer()
        self._users, self._rights = dict(users or {}), dict(rights or {})
        self._guarded = users is not None
        self._breaks_off = breaks_off
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
            if clients is not None:
                self._tls.verify_mode = ssl.CERT_REQUIRED
                self._tls.load_verify_locations(clients)
        self.seen = bytearray()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]

    @property
    def host(self) -> str:
        """Host and port."""
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> GuardedServer:
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self.store.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError, wire.Garbled), contextlib.ExitStack() as ends:
            ends.callback(connection.close)
            if self._breaks_off:
                self.seen += connection.recv(4096)
                return
            if self._tls is not None:
                connection = self._tls.wrap_socket(connection, server_side=True)
                ends.callback(connection.close)
            visitor = _Visitor(self, connection)
            while (command := wire.receive(connection)) is not None:
                if self._tls is None:
                    self.seen += repr({name: value.data for name, value in command.fields.items()}).encode()
                answer = visitor.answer(command)
                if not command.silent:
                    connection.sendall(wire.reply(command, answer))

    # What a visitor asks.

    def password(self, user: str) -> str | None:
        """The password of a user; None for somebody unknown."""
        return self._users.get(user)

    def rights(self, user: str) -> Sequence[Privilege]:
        """The privileges of a user."""
        return self._rights.get(user, [ANYTHING])

    def allows(self, user: str, command: Command) -> bool:
        """Whether a user may do this."""
        if command.name in FREE or not self._guarded:
            return True
        action = "insert" if command.name in WRITES else "find"
        named = command.get(command.name)
        where = command.text(command.name) if named is not None and named[0] == c.STRING else ""
        for right in self.rights(user) if user else ():
            resource = right["resource"]
            here = resource.get("anyResource") or (
                resource.get("db") in ("", command.database)
                and (not where or resource.get("collection") in ("", where))
            )
            if here and action in right["actions"] and (command.name != "listDatabases" or resource.get("anyResource")):
                return True
        return False


class _Visitor:
    """One connection, and who is at its other end."""

    def __init__(self, server: GuardedServer, connection: socket.socket) -> None:
        self._server, self._connection = server, connection
        self._user = ""
        self._said: list[bytes] = []
        self._asked = ("", "")  # user, password

    def answer(self, command: Command) -> bytes:
        if command.name == "saslStart":
            return self._begin(command)
        if command.name == "saslContinue":
            return self._end(command)
        if command.name == "authenticate":
            return self._by_certificate()
        if command.name == "connectionStatus":
            return self._status()
        if not self._server.allows(self._user, command):
            return wire.pack(
                ok=0.0, errmsg=f"not authorized to execute {command.name}", code=13, codeName="Unauthorized"
            )
        reply = self._server.store._commands.answer(command)
        if command.get("saslSupportedMechs"):
            return c.document([*c.fields(reply), *c.fields(wire.pack(saslSupportedMechs=["SCRAM-SHA-256"]))])
        return reply

    def _refuse(self) -> bytes:
        return wire.pack(ok=0.0, errmsg="Authentication failed.", code=18, codeName="AuthenticationFailed")

    def _begin(self, command: Command) -> bytes:
        first = bytes(_plain(command)["payload"]).partition(b",,")[2]
        parts = dict(piece.split(b"=", 1) for piece in first.split(b","))
        user = parts[b"n"].decode().replace("=2C", ",").replace("=3D", "=")
        password = self._server.password(user)
        if _plain(command)["mechanism"] != "SCRAM-SHA-256" or password is None:
            return self._refuse()
        salt = base64.b64encode(hashlib.sha256(user.encode()).digest()[:16])
        reply = b"r=" + parts[b"r"] + base64.b64encode(os.urandom(12)) + b",s=" + salt + b",i=%d" % ROUNDS
        self._said, self._asked = [first, reply], (user, password)
        return wire.pack(conversationId=1, done=False, payload=Binary(reply), ok=1.0)

    def _end(self, command: Command) -> bytes:
        final = bytes(_plain(command)["payload"])
        bare, _, proof = final.rpartition(b",p=")
        user, password = self._asked
        salt = base64.b64decode(dict(piece.split(b"=", 1) for piece in self._said[1].split(b","))[b"s"])
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
        client = hmac.digest(salted, b"Client Key", "sha256")
        signed = b",".join((*self._said, bare))
        signature = hmac.digest(hashlib.sha256(client).digest(), signed, "sha256")
        if base64.b64decode(proof) != bytes(a ^ b for a, b in zip(client, signature, strict=True)):
            return self._refuse()
        self._user = user
        verifier = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), signed, "sha256")
        return wire.pack(conversationId=1, done=True, payload=Binary(b"v=" + base64.b64encode(verifier)), ok=1.0)

    def _by_certificate(self) -> bytes:
        shown = self._connection.getpeercert() if isinstance(self._connection, ssl.SSLSocket) else None
        if not shown:
            return self._refuse()
        self._user = ",".join(f"CN={value}" for part in shown["subject"] for _, value in part)  # type: ignore[union-attr,misc]
        return wire.pack(dbname="$external", user=self._user, ok=1.0)

    def _status(self) -> bytes:
        who = [{"user": self._user, "db": "admin"}] if self._user else []
        rights = [dict(right) for right in self._server.rights(self._user)] if self._user else []
        info = {"authenticatedUsers": who, "authenticatedUserRoles": [], "authenticatedUserPrivileges": rights}
        return wire.pack(authInfo=info, ok=1.0)


def _plain(command: Command) -> dict[str, Any]:
    return decode(c.document(command.fields.items()))
