"""The in-process server with TLS and access control: it admits known users, by SCRAM or certificate."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import socket
import ssl
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bson.binary import Binary

from model.localserver import wire
from model.localserver.local_server import LocalServer
from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import decode
from tests.privileges import (
    ANYTHING,
    FREE,
    Need,
    Privilege,
    of_role,
    permitted,
    refusal,
    sees_collection,
    sees_database,
)
from tests.servers.asked import Turned
from tests.servers.hosted_server import PROFILES, HostedServer, ServerProfile
from tests.servers.listener import Listener

ROUNDS = 4096
HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}
NAMES = {13: "Unauthorized", 18: "AuthenticationFailed", 8000: "AtlasError"}


class _ClosedAtTheEnd(ssl.SSLSocket):
    def __del__(self) -> None:
        self.close()


# Python leaves a socket open whose other end goes before the handshake begins, here and within the driver.
ssl.SSLContext.sslsocket_class = _ClosedAtTheEnd


class GuardedServer(Listener):
    """Without users everybody may do everything.

    ``users`` have passwords, and everybody else whose certificate ``clients`` has signed comes in by that. Each has the
    privileges that stand under its name in ``rights``, else all; :meth:`allow` changes them in mid-work. Commands make
    further users, with roles. With a ``profile`` it is that server behind the door, and turns away in its words.
    """

    def __init__(
        self,
        users: Mapping[str, str] | None = None,
        rights: Mapping[str, Sequence[Privilege]] | None = None,
        certificate: Path | None = None,
        clients: Path | None = None,
        breaks_off: bool = False,
        replica_set: str = "",
        mechanism: str = "SCRAM-SHA-256",
        profile: ServerProfile | None = None,
    ) -> None:
        super().__init__()
        self.store = HostedServer(profile) if profile else LocalServer(replica_set=replica_set)
        self._profile = profile or PROFILES["mongodb"]
        self.mechanism = mechanism
        self.lists_databases = True
        """Whether ``listDatabases`` shows everybody what they may see, as MongoDB does, or refuses those without it."""
        self.lists_collections = True
        """Whether `listCollections` can leave out those that somebody may not see, or refuses as old servers do."""
        self.hangs_up_on: Counter[str] = Counter()
        """Names of commands on whose arrival the connection ends, without a farewell of TLS, and how often it does."""
        self.expired: set[str] = set()
        """Users who have to log in once more before anything else is answered."""
        self.answered: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self._users, self._rights = dict(users or {}), dict(rights or {})
        self._roles: dict[str, list[Privilege]] = {}
        self._held: dict[str, list[str]] = {}  # the roles of users who were made by a command
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
        self.store._commands.address = self.host

    def __enter__(self) -> Self:
        self.store.__enter__()
        return super().__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        super().__exit__(kind, error, at)
        self.store.__exit__(kind, error, at)

    def serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(wire.Garbled), contextlib.ExitStack() as ends:
            if self._breaks_off:
                self.seen += connection.recv(4096)
                return
            if self._tls is not None:
                secured = self._tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
                ends.callback(secured.close)
                try:
                    secured.do_handshake()
                except ssl.SSLError:
                    _let_go(secured)
                    return
                connection = secured
            visitor = _Visitor(self, connection)
            while (command := wire.receive(connection)) is not None:
                if self._tls is None:
                    self.seen += repr({name: value.data for name, value in command.fields.items()}).encode()
                if self.hangs_up_on[command.name] > 0:
                    self.hangs_up_on[command.name] -= 1
                    return
                answer = visitor.answer(command)
                if not command.silent:
                    connection.sendall(wire.reply(command, answer))

    # What a visitor asks.

    def password(self, user: str) -> str | None:
        """The password of a user; None for somebody unknown."""
        return self._users.get(user)

    def rights(self, user: str) -> Sequence[Privilege]:
        """The privileges of a user; none of somebody who is not logged in."""
        if not self._guarded:
            return [ANYTHING]
        if user in self._held:
            return [each for role in self._held[user] for each in self._roles.get(role, ())]
        return self._rights.get(user, [ANYTHING]) if user else []

    def managed(self, name: str, fields: Mapping[str, Any]) -> bytes | None:
        """The reply to a command that makes, changes or drops a user or a role; None for any other command."""
        named = str(fields[name])
        if name in ("createRole", "updateRole"):
            self._roles[named] = of_role(fields)
        elif name == "dropRole":
            self._roles.pop(named)
        elif name == "createUser":
            self._users[named] = fields["pwd"]
            self._held[named] = [each if isinstance(each, str) else each["role"] for each in fields["roles"]]
        elif name == "dropUser":
            self._users.pop(named)
            self._held.pop(named)
        else:
            return None
        return wire.pack(ok=1.0)

    def allow(self, user: str, privileges: Sequence[Privilege]) -> None:
        """Give a user other privileges from now on."""
        self._rights[user] = privileges

    def change_password(self, user: str, password: str) -> None:
        """Let a user in by another password from now on."""
        self._users[user] = password

    def refusal(self, user: str, command: Command) -> tuple[int, str, str] | None:
        """Why a command is not answered: code, name and words of the error; None where it is."""
        if not self._guarded or command.name in FREE:
            return None
        if not user:
            return self.turned_away("nobody", f"Command {command.name} requires authentication")
        if user in self.expired:
            return 391, "ReauthenticationRequired", "Reauthentication required: the authentication has expired"
        rights = self.rights(user)
        lenient = {"listDatabases": self.lists_databases, "listCollections": self.lists_collections}
        listing = Need(command.name, "" if command.name == "listDatabases" else command.database)
        strict = not lenient.get(command.name, True)
        if (strict and not listing.met_by(rights)) or not permitted(command, rights):
            return self.turned_away("right", refusal(command))
        return None

    def turned_away(self, why: Turned, words: str) -> tuple[int, str, str]:
        """Code, name and words of the error for somebody who is not let in; the words are those of MongoDB."""
        own = 18 if why in ("password", "user") else 13
        code, said = self._profile.turned_away(why) or (own, words)
        return code, NAMES[code], said


def _let_go(connection: socket.socket) -> None:
    """End a connection so that the last words arrive: closing one with something unread throws them away."""
    connection.settimeout(10)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(4096):
        pass


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
        if (refused := self._server.refusal(self._user, command)) is not None:
            self._server.refused[command.name] += 1
            return _error(*refused)
        self._server.answered[command.name] += 1
        if (done := self._server.managed(command.name, _plain(command))) is not None:
            return done
        reply = self._server.store._commands.answer(command)
        if command.get("saslSupportedMechs"):
            return c.document([*c.fields(reply), *c.fields(wire.pack(saslSupportedMechs=[self._server.mechanism]))])
        return self._visible(command, reply)

    def _visible(self, command: Command, reply: bytes) -> bytes:
        """A list of databases or collections with those alone on which the user has some privilege."""
        rights, found = self._server.rights(self._user), decode(reply)
        if command.name == "listDatabases" and not Need("listDatabases").met_by(rights):
            found["databases"] = [each for each in found["databases"] if sees_database(each["name"], rights)]
        elif command.name == "listCollections" and command.flag("authorizedCollections"):
            db, batch = command.database, found["cursor"]["firstBatch"]
            found["cursor"]["firstBatch"] = [each for each in batch if sees_collection(db, each["name"], rights)]
        else:
            return reply
        return c.encode(found)

    def _refuse(self, why: Turned) -> bytes:
        return _error(*self._server.turned_away(why, "Authentication failed."))

    def _begin(self, command: Command) -> bytes:
        first = bytes(_plain(command)["payload"]).partition(b",,")[2]
        parts = dict(piece.split(b"=", 1) for piece in first.split(b","))
        user = parts[b"n"].decode().replace("=2C", ",").replace("=3D", "=")
        password = self._server.password(user)
        if _plain(command)["mechanism"] != self._server.mechanism or password is None:
            return self._refuse("user")
        if self._server.mechanism == "SCRAM-SHA-1":  # the secret there is a digest of both
            password = hashlib.md5(f"{user}:mongo:{password}".encode()).hexdigest()
        salt = base64.b64encode(hashlib.sha256(user.encode()).digest()[:16])
        reply = b"r=" + parts[b"r"] + base64.b64encode(os.urandom(12)) + b",s=" + salt + b",i=%d" % ROUNDS
        self._said, self._asked = [first, reply], (user, password)
        return wire.pack(conversationId=1, done=False, payload=Binary(reply), ok=1.0)

    def _end(self, command: Command) -> bytes:
        final = bytes(_plain(command)["payload"])
        bare, _, proof = final.rpartition(b",p=")
        user, password = self._asked
        kind = HASHES[self._server.mechanism]
        salt = base64.b64decode(dict(piece.split(b"=", 1) for piece in self._said[1].split(b","))[b"s"])
        salted = hashlib.pbkdf2_hmac(kind, password.encode(), salt, ROUNDS)
        client = hmac.digest(salted, b"Client Key", kind)
        signed = b",".join((*self._said, bare))
        signature = hmac.digest(hashlib.new(kind, client).digest(), signed, kind)
        if base64.b64decode(proof) != bytes(a ^ b for a, b in zip(client, signature, strict=True)):
            return self._refuse("password")
        self._user = user
        self._server.expired.discard(user)
        verifier = hmac.digest(hmac.digest(salted, b"Server Key", kind), signed, kind)
        return wire.pack(conversationId=1, done=True, payload=Binary(b"v=" + base64.b64encode(verifier)), ok=1.0)

    def _by_certificate(self) -> bytes:
        shown = self._connection.getpeercert() if isinstance(self._connection, ssl.SSLSocket) else None
        if not shown:
            return self._refuse("user")
        self._user = ",".join(f"CN={value}" for part in shown["subject"] for _, value in part)  # type: ignore[union-attr,misc]
        return wire.pack(dbname="$external", user=self._user, ok=1.0)

    def _status(self) -> bytes:
        who = [{"user": self._user, "db": "admin"}] if self._user else []
        rights = [dict(right) for right in self._server.rights(self._user)] if self._user else []
        info = {"authenticatedUsers": who, "authenticatedUserRoles": [], "authenticatedUserPrivileges": rights}
        return wire.pack(authInfo=info, ok=1.0)


def _error(code: int, name: str, words: str) -> bytes:
    return wire.pack(ok=0.0, errmsg=words, code=code, codeName=name)


def _plain(command: Command) -> dict[str, Any]:
    return decode(c.document(command.fields.items()))
