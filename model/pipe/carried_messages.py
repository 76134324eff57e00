"""Messages on their way through the pipe: what the pipe changes in them, and what it cannot see.

A handshake loses what would hide later messages, compression and answers without a question, and the addresses of
other members, so that a driver stays on the pipe.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping

from msgspec import Struct

from model.errors import Refused
from model.localserver import wire
from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import Value

HANDSHAKES = ("hello", "isMaster", "ismaster")
_OP_COMPRESSED = 2012
_TLS = b"\x16\x03"  # how a TLS handshake begins
_CHECKSUM, _MORE_TO_COME, _EXHAUST_ALLOWED = 1, 2, 1 << 16
_header = struct.Struct("<iiii")
_REPLY, _LEGACY_REPLY = 5, 20  # bytes of the body before the document
_HIDDEN = ("topologyVersion", "compression", "passives", "arbiters")


class Unseen(Refused):
    """A client hides its messages from the pipe."""


class Request(Struct):
    """A message of a client: its bytes as they are sent on, and the command in it."""

    raw: bytes
    command: Command


def request(connection: socket.socket) -> Request | None:
    """The next request of a client, None at its end; raises ``Unseen``, ``OSError`` or ``wire.Garbled``."""
    start = connection.recv(2, socket.MSG_PEEK)
    if start == _TLS:
        raise Unseen(
            "A client speaks TLS to the pipe, which cannot read that: leave tls out of the client's address; to the "
            "server the pipe speaks it by itself, as SOURCE says."
        )
    message = wire.read_message(connection)
    if message is None:
        return None
    head, body = message
    if _opcode(head) == _OP_COMPRESSED:
        raise Unseen("A client compresses its messages without being asked to: leave compressors out of its address.")
    command = wire.command_in(head, body)
    if _opcode(head) == wire.OP_MSG:
        body = _plain(body)
    if command.name in HANDSHAKES:
        body = _without(body, command, "compression")
    return Request(_message(head, body), command)


def reply(connection: socket.socket) -> bytes | None:
    """The next reply of a server, None at its end."""
    try:
        message = wire.read_message(connection)
    except wire.Garbled:
        return None
    return None if message is None else b"".join(message)


def document(reply: bytes) -> Mapping[str, Value]:
    """The document in a reply; empty if it is none."""
    before = 16 + (_REPLY if _opcode(reply) == wire.OP_MSG else _LEGACY_REPLY)
    try:
        return dict(c.fields(reply[before:]))
    except Refused:
        return {}


def answered(command: Command, said: bytes) -> bytes:
    """A reply of the pipe itself."""
    return wire.reply(command, said)


def staying(reply: bytes, here: str) -> bytes:
    """The reply to a handshake, with this address as the only one of its replica set."""
    before = 16 + (_REPLY if _opcode(reply) == wire.OP_MSG else _LEGACY_REPLY)
    pairs = [(name, value) for name, value in c.fields(reply[before:]) if name not in _HIDDEN]
    told = dict(pairs)
    if "setName" in told:
        ours = {"hosts": c.array([Value.of(here)]), "me": Value.of(here)}
        if "primary" in told:
            ours["primary"] = Value.of(here)
        pairs = [*((name, ours.pop(name, value)) for name, value in pairs), *ours.items()]
    return _message(reply[:16], reply[16:before] + c.document(pairs))


def address(connection: socket.socket) -> str:
    """The address by which a client has reached the pipe."""
    host, port = connection.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _opcode(head: bytes) -> int:
    return int(_header.unpack_from(head)[3])


def _message(head: bytes, body: bytes) -> bytes:
    return struct.pack("<i", len(body) + 16) + head[4:16] + body


def _plain(body: bytes) -> bytes:
    """A message whose sender does not allow that one request has several replies."""
    flags = struct.unpack_from("<I", body)[0]
    if not flags & _EXHAUST_ALLOWED:
        return body
    if flags & _CHECKSUM:
        body = body[:-4]
    return struct.pack("<I", flags & ~(_EXHAUST_ALLOWED | _CHECKSUM)) + body[4:]


def _without(body: bytes, command: Command, name: str) -> bytes:
    """A handshake without a field."""
    if command.legacy:
        start = body.index(0, 4) + 9
        length = struct.unpack_from("<i", body, start)[0]
        return body[:start] + c.without(body[start : start + length], (name,))
    if struct.unpack_from("<I", body)[0] & _CHECKSUM or command.sequences:
        return body
    return body[:5] + c.without(body[5:], (name,))
