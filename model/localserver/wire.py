"""MongoDB's wire protocol: turns bytes from a socket into commands, and replies into bytes.

OP_MSG with document sequences, and the legacy OP_QUERY with which drivers say hello. A message with wrong lengths
ends its connection: ``Garbled``. Source: "MongoDB Wire Protocol" in the MongoDB manual.
"""

from __future__ import annotations

import itertools
import socket
import struct
from typing import Any

from msgspec import Struct, field

from model.errors import Unreadable
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.order import Element
from model.values import canonical as c
from model.values.canonical import Value

MESSAGE_LIMIT = 48_000_000
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
_CHECKSUM, _MORE_TO_COME = 1, 2
_REQUIRED_FLAGS = 0xFFFF  # a receiver must know the low 16 bits, and may ignore the others
_header = struct.Struct("<iiii")
_numbers = itertools.count(1)


class Garbled(Exception):
    """The bytes are not a message: nothing after them can be trusted."""


class Command(Struct):
    """One request: its name, its fields, and the documents in its sequences."""

    request: int
    legacy: bool
    silent: bool  # the sender wants no reply
    name: str
    database: str
    fields: dict[str, Value]
    sequences: dict[str, list[bytes]] = field(default_factory=dict)

    def get(self, name: str) -> Element | None:
        """A field, or None if it is missing or null."""
        value = self.fields.get(name)
        return None if value is None or value.type == c.NULL else (value.type, value.data)

    def document(self, name: str, default: bytes = c.EMPTY) -> bytes:
        """A field that is a document."""
        found = self.get(name)
        if found is None:
            return default
        if found[0] != c.OBJECT:
            raise CommandError(14, f"BSON field '{self.name}.{name}' is the wrong type, expected type 'object'")
        return found[1]

    def text(self, name: str) -> str:
        """A field that is a string."""
        found = self.get(name)
        if found is None or found[0] != c.STRING:
            raise CommandError(73, f"'{self.name}' needs a string in '{name}'")
        return found[1][4:-1].decode("utf-8", "surrogateescape")

    def integer(self, name: str, default: int = 0) -> int:
        """A field that is a number."""
        found = self.get(name)
        if found is None:
            return default
        if found[0] not in order.NUMBERS:
            raise CommandError(14, f"BSON field '{self.name}.{name}' is the wrong type, expected a number")
        value = order.number(*found)
        if value != value or abs(value) >= 2**63:
            raise CommandError(2, f"'{name}' is not a number of a sensible size")
        return int(value)

    def flag(self, name: str, default: bool = False) -> bool:
        """A field that is true or false."""
        found = self.get(name)
        if found is None:
            return default
        return found[1] != b"\x00" if found[0] == c.BOOLEAN else self.integer(name) != 0

    def documents(self, name: str) -> list[bytes]:
        """Documents from a sequence of the command, or from an array in it."""
        if name in self.sequences:
            return self.sequences[name]
        found = self.get(name)
        if found is None or found[0] != c.ARRAY:
            raise CommandError(40414, f"BSON field '{self.name}.{name}' is missing but a required field")
        out = order.items(found[1])
        if any(kind != c.OBJECT for kind, _ in out):
            raise CommandError(14, f"BSON field '{self.name}.{name}' must hold documents")
        return [data for _, data in out]


def receive(connection: socket.socket) -> Command | None:
    """The next command from a connection, or None if the other side has closed it."""
    message = read_message(connection)
    return None if message is None else command_in(*message)


def read_message(connection: socket.socket) -> tuple[bytes, bytes] | None:
    """The next whole message, as its header and its body; None if the other side has closed the connection."""
    head = _read(connection, 16)
    if head is None:
        return None
    length = _header.unpack(head)[0]
    if not 16 < length <= MESSAGE_LIMIT:
        raise Garbled(f"a message of {length} bytes")
    body = _read(connection, length - 16)
    if body is None:
        raise Garbled("the connection ended inside a message")
    return head, body


def command_in(head: bytes, body: bytes) -> Command:
    """The command that a message is."""
    _, request, _, opcode = _header.unpack(head)
    try:
        if opcode == OP_MSG:
            return _message(request, body)
        if opcode == OP_QUERY:
            return _query(request, body)
    except (Unreadable, struct.error, ValueError, IndexError) as error:
        raise Garbled(str(error)) from None
    raise Garbled(f"the unknown operation {opcode}")


def _read(connection: socket.socket, length: int) -> bytes | None:
    """Exactly ``length`` bytes; None at the end. It does not reserve memory for an announced length."""
    parts: list[bytes] = []
    missing = length
    while missing:
        part = connection.recv(min(missing, 1 << 20))
        if not part:
            return None
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _message(request: int, body: bytes) -> Command:
    flags = struct.unpack_from("<I", body)[0]
    if flags & _REQUIRED_FLAGS & ~(_CHECKSUM | _MORE_TO_COME):
        raise Garbled(f"the unknown flags {flags:x}")
    end = len(body) - 4 if flags & _CHECKSUM else len(body)
    at = 4
    main: bytes | None = None
    sequences: dict[str, list[bytes]] = {}
    while at < end:
        kind = body[at]
        size = struct.unpack_from("<i", body, at + 1)[0]
        stop = at + 1 + size
        if size < 5 or stop > end:
            raise Garbled("a section that leads out of its message")
        if kind == 0 and main is None:
            main = body[at + 1 : stop]
        elif kind == 1:
            name_end = body.index(0, at + 5, stop)
            sequences[body[at + 5 : name_end].decode()] = split(body, name_end + 1, stop)
        else:
            raise Garbled(f"a section of the kind {kind}")
        at = stop
    if main is None:
        raise Garbled("a message without a command")
    return _command(request, main, sequences, silent=bool(flags & _MORE_TO_COME), legacy=False, database=None)


def split(body: bytes, start: int, end: int) -> list[bytes]:
    """Consecutive documents."""
    out = []
    while start < end:
        size = struct.unpack_from("<i", body, start)[0]
        if size < 5 or start + size > end:
            raise Garbled("a document that leads out of its section")
        out.append(body[start : start + size])
        start += size
    return out


def _query(request: int, body: bytes) -> Command:
    name_end = body.index(0, 4)
    target = body[4:name_end].decode()
    database, _, collection = target.partition(".")
    start = name_end + 9
    size = struct.unpack_from("<i", body, start)[0]
    if size < 5 or start + size > len(body):
        raise Garbled("a query that leads out of its message")
    if collection != "$cmd":
        return Command(request, True, False, "OP_QUERY", database, {})
    return _command(request, body[start : start + size], {}, silent=False, legacy=True, database=database)


def _command(
    request: int, raw: bytes, sequences: dict[str, list[bytes]], silent: bool, legacy: bool, database: str | None
) -> Command:
    pairs = c.fields(raw)
    if pairs and pairs[0][0] in ("$query", "query") and pairs[0][1].type == c.OBJECT:
        pairs = c.fields(pairs[0][1].data)
    if not pairs:
        raise Garbled("a command without a name")
    found = dict(reversed(pairs))  # the first of two fields of one name counts
    if database is None:
        given = found.get("$db")
        database = given.data[4:-1].decode("utf-8", "surrogateescape") if given and given.type == c.STRING else "test"
    return Command(request, legacy, silent, pairs[0][0], database, found, sequences)


def reply(command: Command, document: bytes) -> bytes:
    """The message that answers a command."""
    if command.legacy:
        body = struct.pack("<iqii", 8, 0, 0, 1) + document
        return _header.pack(len(body) + 16, next(_numbers), command.request, OP_REPLY) + body
    size = len(document) + 21
    return _header.pack(size, next(_numbers), command.request, OP_MSG) + b"\x00\x00\x00\x00\x00" + document


def pack(**fields: Any) -> bytes:
    """A document from Python values; pass a ``Value`` if exact bytes matter."""
    return _value(fields).data


def _value(python: Any) -> Value:
    if isinstance(python, Value):
        return python
    if isinstance(python, dict):
        return Value.document(c.document((_sound(name), _value(v)) for name, v in python.items()))
    if isinstance(python, list):
        return c.array(map(_value, python))
    return Value.of(_sound(python) if isinstance(python, str) else python)


def _sound(text: str) -> str:
    """Text that a client can decode: error messages quote its request, which may not be UTF-8."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def cursor_reply(ns: str, cursor: int, batch: list[bytes], first: bool) -> bytes:
    """The reply of ``find``, ``aggregate`` and ``getMore``."""
    parts = [b"\x03" + str(i).encode() + b"\x00" + raw for i, raw in enumerate(batch)]
    body = b"".join(parts)
    array = Value(c.ARRAY, (len(body) + 5).to_bytes(4, "little") + body + b"\x00")
    inner = c.document(
        [
            ("firstBatch" if first else "nextBatch", array),
            ("id", Value(c.INT64, struct.pack("<q", cursor))),
            ("ns", _value(ns)),
        ]
    )
    return pack(cursor=Value(c.OBJECT, inner), ok=1.0)
