"""Tests a connection step by step, so that people see how far it came."""

from __future__ import annotations

import datetime as dt
import socket
import ssl
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

from msgspec import Struct

from model.errors import Refused, Unreachable
from model.foundation.address import Address
from model.foundation.records import ConnectionStep
from model.server import driver
from model.server.driver_errors import cannot_connect, tls_trouble
from model.server.server import Server, host_name
from model.server.tunnel import Tunnel

CONNECT_MS, ANSWER_MS = 5000, 10_000
_SHOWN = 3  # hosts or databases to name
_READS, _WRITES = frozenset(("find",)), frozenset(("insert", "update"))


class _Host(Struct, frozen=True):
    name: str
    port: int | None  # None for a local socket

    def __str__(self) -> str:
        return self.name if self.port is None else f"{self.name}:{self.port}"


def try_connection(uri: str) -> Iterator[ConnectionStep]:
    """Test an address: is it valid, are its hosts known and reachable, is TLS right, who are we, and what may we do?

    Yields each step as soon as it ends; none follows a failed one. Nothing is written.
    """
    name = "Address"
    with ExitStack() as ends:
        try:
            Server.check_address(uri)
            address = Address.parse(uri)
            assert address is not None
            yield ConnectionStep(name, "ok", "It can be used as it is written.")
            if through := address.option("ssh"):
                name = "SSH"
                tunnel = Tunnel.open(address)
                ends.callback(tunnel.close)
                host = _Host(host_name(uri), 0)
                found = tunnel.dial(CONNECT_MS / 1000)
                ends.callback(found.close)
                yield ConnectionStep(name, "ok", f"Logged in at {through}.")
            else:
                name = "Name"
                hosts = _hosts(address, uri)
                yield ConnectionStep(name, "ok", _resolved(hosts))
                name = "Network"
                found, host, silent = _reached(hosts)
                ends.callback(found.close)
                said = f"{host} takes connections." + (f" No answer: {_listed(map(str, silent))}." if silent else "")
                yield ConnectionStep(name, "warning" if silent else "ok", said)
            name = "TLS"
            yield _encrypted(found, host, str(address.without_ssh()), bool(through))
            name = "Login"
            server = Server.connect(uri, read_only=True, connect_ms=CONNECT_MS, socket_ms=ANSWER_MS)
            ends.callback(server.close)
            who = server.logged_in()
            yield _login(address, who)
            name = "Answer"
            facts = server.facts(refresh=True)
            program = ", ".join(filter(None, (facts.program, facts.called)))
            yield ConnectionStep(name, "ok", f"{program}, answers in {facts.milliseconds} ms.")
            name = "Rights"
            yield _rights(server, address, who)
        except Refused as refusal:
            yield ConnectionStep(name, "failed", str(refusal))


def _hosts(address: Address, uri: str) -> list[_Host]:
    """The hosts of an address; asks DNS for a ``mongodb+srv://`` address."""
    try:
        return [_Host(name, port) for name, port in driver.hosts(address)]
    except Exception as error:
        raise cannot_connect(error, uri) from None


def _resolved(hosts: list[_Host]) -> str:
    found: dict[str, list[str]] = {}
    for host in hosts:
        if host.port is None:
            found[host.name] = ["Unix socket"]
            continue
        try:
            infos = socket.getaddrinfo(host.name, host.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Unreachable(
                f"There is no host {host.name}: the name is not known; check its spelling and the network."
            ) from None
        found[host.name] = list(dict.fromkeys(str(info[4][0]) for info in infos))
    return _listed(f"{name} → {_listed(numbers)}" for name, numbers in found.items()) + "."


def _reached(hosts: list[_Host]) -> tuple[socket.socket, _Host, list[_Host]]:
    """A connection to the first host that accepts one, that host, and those that refused."""
    silent: list[tuple[_Host, OSError]] = []
    first: tuple[socket.socket, _Host] | None = None
    for host in hosts:
        try:
            made = _dialled(host)
        except OSError as trouble:
            silent.append((host, trouble))
            continue
        if first is None:
            first = made, host
        else:
            made.close()
    if first is None:
        host, error = silent[0]
        refused = isinstance(error, ConnectionRefusedError)
        why = (
            "refuses the connection; check the port" if refused else "does not answer in time; check network, firewall"
        )
        raise Unreachable(f"{host} {why}, and that a server runs there.")
    return (*first, [host for host, _ in silent])


def _dialled(host: _Host) -> socket.socket:
    if host.port is not None:
        return socket.create_connection((host.name, host.port), CONNECT_MS / 1000)
    made = socket.socket(socket.AF_UNIX)
    try:
        made.settimeout(CONNECT_MS / 1000)
        made.connect(host.name)
    except BaseException:
        made.close()
        raise
    return made


def _encrypted(found: socket.socket, host: _Host, uri: str, by_ssh: bool) -> ConnectionStep:
    try:
        context = driver.tls_context(uri)
    except Refused:
        raise
    except Exception as error:
        raise cannot_connect(error, uri) from None
    if context is None:
        if by_ssh:
            return ConnectionStep("TLS", "ok", "Encrypted by ssh as far as its host, and not behind it.")
        near = host.port is None or host.name in ("localhost", "127.0.0.1", "::1")
        far = "Not encrypted: everybody on the way can read and change what is sent. Use TLS where the server has it."
        return ConnectionStep("TLS", "ok" if near else "warning", "Not encrypted, on this computer." if near else far)
    try:
        secured = context.wrap_socket(found, server_hostname=host.name)
    except (OSError, ValueError) as error:
        raise Unreachable(tls_trouble(str(error), host.name)) from None
    if not isinstance(secured, ssl.SSLSocket):
        return ConnectionStep("TLS", "ok", "Encrypted.")
    with secured:
        shown = secured.getpeercert() or {}
        said = f"Encrypted by {secured.version()}"
        if context.verify_mode == ssl.CERT_NONE:
            return ConnectionStep("TLS", "warning", f"{said}, but the certificate is not verified: anybody may answer.")
        until = dt.datetime.fromtimestamp(ssl.cert_time_to_seconds(str(shown["notAfter"])), dt.UTC)
        said += f"; the certificate is trusted until {until:%Y-%m-%d}"
        if not context.check_hostname:
            return ConnectionStep("TLS", "warning", f"{said}, but its host name is not compared.")
    return ConnectionStep("TLS", "ok", f"{said} and is for {host.name}.")


def _login(address: Address, who: Mapping[str, Any]) -> ConnectionStep:
    users = [f"{user.get('user')} ({user.get('db')})" for user in who.get("authenticatedUsers", ())]
    if users:
        named = _listed(users)
        by = address.mechanism
        return ConnectionStep("Login", "ok", f"Logged in as {named} by {by}." if by else f"Logged in as {named}.")
    if address.user is None and not address.mechanism:
        return ConnectionStep("Login", "ok", "Nobody is logged in: the address names no user.")
    return ConnectionStep("Login", "ok", "The server accepted the login, but does not say who that is.")


def _rights(server: Server, address: Address, who: Mapping[str, Any]) -> ConnectionStep:
    told = who.get("authenticatedUserPrivileges") or ()
    try:
        databases = server.databases()
    except Refused:
        databases = []
        if not told:
            wanted = "name a user" if address.user is None else "ask for the role read"
            return ConnectionStep("Rights", "warning", f"The databases may not be listed; {wanted}.")
    if not told and not databases and who.get("authenticatedUsers"):
        return ConnectionStep("Rights", "warning", "This user sees no database; ask for the role read.")
    if not told and not databases:
        return ConnectionStep("Rights", "ok", "There is no database yet.")
    if not told and len(databases) == 1:
        return ConnectionStep("Rights", "ok", f"One database can be seen: {databases[0]}.")
    if not told:
        return ConnectionStep("Rights", "ok", f"{len(databases)} databases can be seen: {_listed(databases)}.")
    writes, reads = _where(told, _WRITES), _where(told, _READS)
    if not reads:
        return ConnectionStep("Rights", "warning", "This user may read nothing; ask for the role read.")
    written = f" and writes {_listed(writes)}" if writes else ""
    return ConnectionStep("Rights", "ok", f"This user reads {_listed(reads)}{written}.")


def _where(told: Iterable[Mapping[str, Any]], wanted: frozenset[str]) -> list[str]:
    """The places where privileges allow some actions, in words."""
    found: dict[str, None] = {}
    for privilege in told:
        resource = privilege.get("resource") or {}
        if not wanted <= set(privilege.get("actions") or ()):
            continue
        db, collection = str(resource.get("db", "")), str(resource.get("collection", ""))
        if resource.get("anyResource") or ("db" in resource and not db and not collection):
            return ["all databases"]
        if not collection.startswith("system."):
            found[f"{db or '*'}.{collection}" if collection else db] = None
    return [name for name in found if name]


def _listed(words: Iterable[str]) -> str:
    """``a, b, c and 4 more``."""
    every = list(words)
    more = len(every) - _SHOWN
    return ", ".join(every[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
