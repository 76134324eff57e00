"""The driver's settings: time-outs, a listener for its attempts, and what its logs contain.

On a replica set the driver repeats a write by itself, and then reports only the error of the second attempt;
:class:`Attempts` counts the attempts so that the first is not forgotten. With debug logging the driver logs commands
and replies; these are filtered out.
"""

from __future__ import annotations

import linecache
import logging
import socket
import ssl
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

import pymongo
import pymongo.uri_parser
from bson.raw_bson import RawBSONDocument
from msgspec import Struct
from msgspec.structs import replace
from pymongo.monitoring import CommandFailedEvent, CommandListener, CommandStartedEvent, CommandSucceededEvent

from model.errors import Unreachable
from model.foundation.address import Address
from model.foundation.input_files import LARGEST_CERTIFICATES, whole_input
from model.server import handshake

COUNTING = frozenset(("insert", "update", "delete"))  # writes whose replies count the matched documents
WRITES = COUNTING | {"findAndModify"}
_LOGGERS = ("pymongo.command", "pymongo.connection", "pymongo.serverSelection", "pymongo.topology", "pymongo.client")
_TOLD = frozenset(
    (
        *("message", "clientId", "commandName", "databaseName", "requestId", "operationId", "durationMS", "operation"),
        *("serverHost", "serverPort", "serviceId", "topologyId", "driverConnectionId", "serverConnectionId", "reason"),
        *("remainingTimeMS", "awaited", "selector", "maxPoolSize", "minPoolSize", "maxIdleTimeMS"),
    )
)
_APP = "palimpsest"


class Sent(Struct):
    """The attempts of the write sent inside this block, in one thread."""

    by: Attempts
    attempts: int = 0
    lost: bool = False  # the last attempt got no reply
    matched: int | None = None  # from the last reply

    def __enter__(self) -> Sent:
        self.by.sent = self
        return self

    def __exit__(self, *_: object) -> None:
        self.by.sent = None


# Local to each thread: the driver tells its listeners in the thread that sends, and several may send at once.
class Attempts(CommandListener, threading.local):
    """Counts the attempts of the write that each thread is sending."""

    sent: Sent | None = None  # in this thread

    def started(self, event: CommandStartedEvent) -> None:
        self.begun(event.command_name)

    def begun(self, name: str) -> None:
        """Note that a command is sent."""
        if (sent := self.sent) is not None and name in WRITES:
            sent.attempts += 1
            sent.lost, sent.matched = False, None

    def succeeded(self, event: CommandSucceededEvent) -> None:
        self.answered(event.reply, event.command_name)

    def answered(self, reply: Mapping[str, Any], name: str) -> None:
        """Note the reply to a command."""
        if (sent := self.sent) is not None and name in COUNTING:
            number = reply.get("n")
            sent.matched = number if isinstance(number, int) else None

    def failed(self, event: CommandFailedEvent) -> None:
        if (sent := self.sent) is not None and event.command_name in WRITES:
            # A failure with a code is the server's answer; without one the connection broke, and the server may have
            # gone on.
            sent.lost = not isinstance(event.failure, Mapping) or "code" not in event.failure

    def heard_alone(self, by: pymongo.MongoClient[RawBSONDocument]) -> None:
        """Make a client report commands only in a thread that is sending a write, because for reads it would waste
        time.

        If others listen too, it reports everything. The driver has no public setting for this; if it stores its
        listeners in another way, it reports every command, and only time is lost.
        """
        listeners: Any = getattr(by.options.pool_options, "_event_listeners", None)
        if listeners is not None and len(by.options.event_listeners) == 1:
            asked = property(attrgetter("attempts.sent"))  # implemented in C: the driver asks several times per command
            inside: dict[str, Any] = {"attempts": self, "enabled_for_commands": asked}
            if _leads_with(listeners, "publish_command_start", "command"):
                inside["publish_command_start"] = lambda _, command, *others, **named: self.begun(next(iter(command)))
            if _leads_with(listeners, "publish_command_success", "duration", "reply", "command_name"):
                inside["publish_command_success"] = lambda _, duration, reply, name, *others, **named: self.answered(
                    reply, name
                )
            listeners.__class__ = type("WhileSending", (type(listeners),), inside)


def _leads_with(listeners: Any, method: str, *parameters: str) -> bool:
    """Whether a method of the driver takes these parameters first."""
    found = getattr(getattr(type(listeners), method, None), "__code__", None)
    return found is not None and found.co_varnames[1 : len(parameters) + 1] == parameters


def client(
    uri: str, connect_ms: int, socket_ms: int, attempts: Attempts, certified: str = ""
) -> tuple[pymongo.MongoClient[RawBSONDocument], float]:
    """A client that never waits for ever, and the seconds until a silent server is given up.

    Time-outs in the URI win, unless they mean no limit. ``certified`` is the host whose certificate is expected, if
    the URI reaches it by another name. Raises the driver's errors for a bad URI.
    """
    options: dict[str, Any] = {
        "socketTimeoutMS": socket_ms,
        "connectTimeoutMS": connect_ms,
        "serverSelectionTimeoutMS": connect_ms,
        "waitQueueTimeoutMS": socket_ms,
    }
    address = Address.parse(uri)
    assert address is not None  # the caller has checked it
    check_files(address)
    given = {name.lower(): value for name, value in read_options(address).items()}
    # A time-out of 0 in an address means none at all, and counts as not given.
    unset = {name: value for name, value in options.items() if not given.get(name.lower())}
    if address.option("timeoutMS") and not given.get("timeoutms"):
        unset["timeoutMS"] = None  # 0 would mean: for ever
    hush()
    handshake.install()
    made: pymongo.MongoClient[RawBSONDocument] = pymongo.MongoClient(
        str(address.without_repeats()),
        _pool_class=handshake.pool_for(partial(is_named, address)),
        # The bytes as stored: decoded and encoded again, a damaged or rare value would be another one.
        document_class=RawBSONDocument,
        appname=_APP,
        event_listeners=[attempts],
        # The driver would connect in the background at once; errors then end in its log, with no one to tell.
        connect=False,
        **unset,
    )
    linecache.clearcache()  # the driver notes where it is called from, for which the source of each caller is read
    attempts.heard_alone(by=made)
    if certified and (context := made.options.pool_options._ssl_context) is not None:
        expect(context, certified)
    chosen = made.options
    return made, float(chosen.timeout or chosen.pool_options.socket_timeout or socket_ms / 1000)


def read_options(address: Address) -> Mapping[str, Any]:
    """The options of an address as the driver reads them; raises its errors if it cannot read the address.

    Does not ask DNS, which may add options. The client itself only warns of a wrong option.
    """
    # The driver refuses these options without `mongodb+srv://`, for which it would ask DNS.
    for name in ("srvServiceName", "srvMaxHosts", "srvAllowedHostsSuffix") if address.by_dns else ():
        address = address.with_option(name, "")
    listed = replace(address.without_repeats(), scheme="mongodb://")
    read: Mapping[str, Any] = pymongo.uri_parser.parse_uri(str(listed), warn=False)["options"]
    return read


def hosts(address: Address) -> Sequence[tuple[str, int | None]]:
    """The hosts of an address with their ports, None for a socket; raises the driver's errors if DNS has none."""
    nodes: Sequence[tuple[str, int | None]] = pymongo.uri_parser.parse_uri(str(address.without_repeats()), warn=False)[
        "nodelist"
    ]
    return nodes


def is_named(address: Address, host: str, port: int | None) -> bool:
    """Whether an address names a host: one of its own, or with ``mongodb+srv://`` one of its domain."""
    if address.by_dns:
        domain = address.hosts.partition(":")[0].partition(".")[2].lower().rstrip(".")
        return bool(domain) and host.lower().rstrip(".").endswith(f".{domain}")
    return (host, port) in hosts(address)


def expect(context: Any, host: str) -> None:
    """Compare certificates with this host, whichever host is connected."""
    wrap = context.wrap_socket

    def wrapped(found: socket.socket, *args: Any, **options: Any) -> Any:
        # Through a tunnel the driver connects to this computer, and would look for that name in the certificate.
        return wrap(found, *args, **{**options, "server_hostname": host})

    context.wrap_socket = wrapped


def check_files(address: Address) -> None:
    """Raise ``Refused`` if a file with certificates is none, and ``Unreachable`` if a key's password is missing.

    OpenSSL would read a device without end, and ask for the password on the terminal and wait for ever.
    """
    for name in ("tlsCAFile", "tlsCRLFile", "tlsCertificateKeyFile"):
        if not (file := address.option(name)):
            continue
        try:
            data = whole_input(file, LARGEST_CERTIFICATES)
        except OSError:
            continue  # the driver reports that
        # The mark is in the head of the PEM file, in the old and the new form of locked keys.
        given = name != "tlsCertificateKeyFile" or address.option("tlsCertificateKeyFilePassword")
        if not given and b"ENCRYPTED" in data:
            raise Unreachable(f"The key in {file} is locked; give its password (tlsCertificateKeyFilePassword).")


def tls_context(uri: str) -> ssl.SSLContext | None:
    """The TLS settings that the driver uses for this address; None without TLS."""
    if (address := Address.parse(uri)) is not None:
        check_files(address)
        uri = str(address.without_repeats())
    unused: pymongo.MongoClient[Any]
    with pymongo.MongoClient(uri, connect=False) as unused:
        context: Any = unused.options.pool_options._ssl_context  # of pyOpenSSL's type, if that is installed
    found: ssl.SSLContext | None = context
    return found


class _Discretion(logging.Filter):
    """Removes documents, write tokens and the server's quotations of them from the driver's logs."""

    def filter(self, record: logging.LogRecord) -> bool:
        fields = getattr(record.msg, "_kwargs", None)
        if isinstance(fields, dict):
            for name in set(fields) - _TOLD:
                del fields[name]
        if record.exc_info and record.exc_info[0] is not None:
            record.msg, record.exc_info = f"{record.msg} {record.exc_info[0].__name__}", None
        return True


_discretion = _Discretion()


def hush() -> None:
    """Keep contents out of the driver's logs, and these off the terminal unless somebody listens; idempotent."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_discretion)
    whole = logging.getLogger("pymongo")
    if not whole.handlers:  # Python would print the driver's warnings next to our sentence about the same thing
        whole.addHandler(logging.NullHandler())


def next_number(session: Any) -> int:
    """Take the number that the driver would give to the session's next retryable write.

    A pooled session may already have sent hundreds; a server refuses a number below its last. The driver has no
    public way to ask for it.
    """
    session._materialize(None)
    session._server_session.inc_transaction_id()
    return int(session._server_session.transaction_id)
