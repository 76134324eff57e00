"""The program behind the protocol, told by what a server says of itself, and the values that must not be sent to it.

Servers other than MongoDB's answer with the version of MongoDB that they imitate, and some call themselves a router.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bson.raw_bson import RawBSONDocument
from msgspec import Struct

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value

_LONGEST = 40  # characters of a version
_OWN_HOSTS = (
    (r"\.docdb(-elastic)?\.amazonaws\.com(\.cn)?$", "Amazon DocumentDB"),
    (r"\.mongocluster\.cosmos\.azure\.com$", "Azure DocumentDB"),
    (r"\.(mongo\.cosmos|documents)\.azure\.(com|us|cn)$", "Azure Cosmos DB"),
)
_AMAZON = {"version", "versionArray", "bits", "maxBsonObjectSize"}
"""All that Amazon DocumentDB says of its build."""
_LIKE_A_ROUTER = ("DocumentDB", "Azure DocumentDB")
FERRETDB_1_LACKS = frozenset(
    (c.DECIMAL128, c.UNDEFINED, c.DB_POINTER, c.CODE, c.SYMBOL, c.SCOPED_CODE, c.MIN_KEY, c.MAX_KEY)
)
"""FerretDB 1 closes the connection at each of these, in a filter as in a document."""


class Engine(Struct, frozen=True):
    """A server's program."""

    name: str = "MongoDB"
    version: str = ""  # its own; "" if it has none but that of MongoDB
    lacks: frozenset[int] = frozenset()  # types of values that must not be sent to it

    @property
    def is_called_a_router(self) -> bool:
        """Whether it greets like a router of a sharded cluster without being one."""
        return self.name in _LIKE_A_ROUTER


def engine_of(build: Mapping[str, Any], greeting: Mapping[str, Any], hosts: Iterable[str]) -> Engine:
    """The program behind a server's ``buildInfo``, ``hello`` and host names; MongoDB if nothing tells another one."""
    ferret = build.get("ferretdb")
    told = ferret.get("version") if isinstance(ferret, Mapping) else build.get("ferretdbVersion")
    if isinstance(told, str):
        version = told.removeprefix("v")[:_LONGEST]
        return Engine("FerretDB", version, FERRETDB_1_LACKS if re.match(r"[01]\b", version) else frozenset())
    name = next((name for host in hosts for end, name in _OWN_HOSTS if re.search(end, host.lower())), "")
    internal = greeting.get("internal")
    inside = internal if isinstance(internal, Mapping) else {}
    for key in ("documentdb_versions", "cosmos_versions"):
        if key in inside:
            versions = inside[key]
            first = versions[0] if isinstance(versions, list) and versions else ""
            return Engine(name or "DocumentDB", first[:_LONGEST] if isinstance(first, str) else "")
    if not name and build and {*build} - {"ok", "operationTime", "$clusterTime"} <= _AMAZON:
        name = "Amazon DocumentDB"
    return Engine(name or "MongoDB")


def kinds_in(part: Any) -> Iterator[int]:
    """The types of all values in a command, a filter, an update or a stored document, at any depth."""
    if isinstance(part, RawBSONDocument | bytes):
        for value in _values(bytes(part.raw) if isinstance(part, RawBSONDocument) else part):
            yield from kinds_in(value)
    elif isinstance(part, Mapping | list | tuple):
        for each in part.values() if isinstance(part, Mapping) else part:
            yield from kinds_in(each)
    elif (leaf := _value(part)) is not None:
        yield leaf.type
        if leaf.is_container:
            yield from kinds_in(leaf.data)


def _values(raw: bytes) -> list[Value]:
    """The values of a document; none if it is damaged, as then the server judges it."""
    try:
        return [value for _, value in c.fields(raw)]
    except Unreadable:
        return []


def _value(part: Any) -> Value | None:
    if part is None:
        return None
    if isinstance(part, Value):
        return part
    try:
        return Value.of(part)
    except (Unreadable, TypeError, ValueError, OverflowError):
        return None
