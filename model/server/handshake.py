"""Checks what a server says of itself before the driver believes it, and where passwords go.

The driver compares versions, sizes and times of a greeting without a look at their types, in threads of its own, which
die of that. It connects to every host that a greeting names, and logs in there. It has no public setting for either; if
a later driver has other parts, these checks are not made, which a test notices.
"""

from __future__ import annotations

import datetime as dt
import ssl
from collections.abc import Callable, Mapping
from typing import Any

from bson import ObjectId
from bson.timestamp import Timestamp
from pymongo import hello
from pymongo.errors import ConfigurationError, ProtocolError
from pymongo.synchronous import auth, monitor, pool

MOST_HOSTS = 1000
"""Hosts of a replica set; servers allow 50."""

LONGEST_NAME = 1000
MOST_ITERATIONS = 2_000_000
"""Rounds in which a password is hashed at a login: a server asks for 15,000, and two million take a second."""

_READABLE = ("PLAIN", "MONGODB-OIDC")
"""Mechanisms that send the password or the token itself."""


class Elsewhere(ConfigurationError):
    """A password was about to be sent to a host that the address does not name."""

    def __init__(self, host: str) -> None:
        shown = host if len(host) <= 100 else f"{host[:99]}…"
        super().__init__(
            f"The server leads to {shown}, which the address does not name, so the password was not sent there: "
            "without verified TLS anybody could answer; name that host in the address too, or use tls=true."
        )


class CheckedHello(hello.Hello[Any]):
    """A greeting whose fields have the types and sizes that the driver relies on; raises ``ProtocolError``."""

    __slots__ = ()

    def __init__(self, doc: Any, awaitable: bool = False) -> None:
        for names, fits in _FITTING:
            for name in names:
                if (found := doc.get(name)) is not None and not fits(found):
                    raise ProtocolError(f"greeting: {name}")
        super().__init__(doc, awaitable)


def _is_version(value: Any) -> bool:
    return _is_number(value) and 0 <= value < 1000


def _is_size(value: Any) -> bool:
    return _is_number(value) and 0 < value < 2**31


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 2**63  # some send fractions


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_HOSTS and all(map(_is_name, value))


def _is_host(value: Any) -> bool:
    """Whether the driver can take it apart into host and port."""
    if not _is_name(value):
        return False
    host, colon, port = value.rpartition(":")
    if not colon or value.endswith(("]", ".sock")):
        return True
    return bool(host) and port.isascii() and port.isdecimal() and 0 < int(port[:9]) < 2**16


def _are_hosts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_HOSTS and all(map(_is_host, value))


def _is_topology_version(value: Any) -> bool:
    if not isinstance(value, Mapping):
        return False
    return isinstance(value.get("processId"), ObjectId) and _is_number(value.get("counter"))


def _is_cluster_time(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("clusterTime"), Timestamp)


def _is_last_write(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("lastWriteDate", dt.datetime.min), dt.datetime)


def _are_tags(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values())


_FITTING: tuple[tuple[tuple[str, ...], Callable[[Any], bool]], ...] = (
    (("minWireVersion", "maxWireVersion"), _is_version),
    (("maxBsonObjectSize", "maxMessageSizeBytes", "maxWriteBatchSize"), _is_size),
    (("logicalSessionTimeoutMinutes", "setVersion", "connectionId"), _is_number),
    (("setName", "msg"), _is_name),
    (("hosts", "passives", "arbiters"), _are_hosts),
    (("me", "primary"), _is_host),
    (("compression", "saslSupportedMechs"), _are_names),
    (("topologyVersion",), _is_topology_version),
    (("electionId", "serviceId"), lambda value: isinstance(value, ObjectId)),
    (("lastWrite",), _is_last_write),
    (("tags",), _are_tags),
    (("$clusterTime",), _is_cluster_time),
)


def install() -> None:
    """Make the driver of this process use these checks; idempotent."""
    for module in (pool, monitor):
        if getattr(module, "Hello", None) is hello.Hello:
            setattr(module, "Hello", CheckedHello)  # noqa: B010 - the driver does not export the name
    parsed = getattr(auth, "_parse_scram_response", None)
    if parsed is not None and not hasattr(parsed, "checked"):

        def checked(response: bytes) -> Any:
            found = parsed(response)
            if int(found.get(b"i", 0)) > MOST_ITERATIONS:
                raise ProtocolError("iterations")
            return found

        setattr(checked, "checked", True)  # noqa: B010
        setattr(auth, "_parse_scram_response", checked)  # noqa: B010


def pool_for(is_named: Callable[[str, int | None], bool]) -> type[pool.Pool]:
    """A class of pools that send a readable password only to hosts that are named, or where TLS proves who answers."""

    class NamedHosts(pool.Pool):
        def connect(self, *given: Any, **options: Any) -> Any:
            chosen = self.opts
            credentials = chosen._credentials
            if credentials is not None and credentials.mechanism in _READABLE and not _is_proven(chosen):
                host, port = self.address
                if not is_named(host, port):
                    raise Elsewhere(host if port is None else f"{host}:{port}")
            return super().connect(*given, **options)

    return NamedHosts


def _is_proven(options: Any) -> bool:
    """Whether the certificate of a server is verified, and compared with its name."""
    context = options._ssl_context
    if context is None or options.tls_allow_invalid_hostnames:
        return False
    return bool(context.verify_mode == ssl.CERT_REQUIRED)
