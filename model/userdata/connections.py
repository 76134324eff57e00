"""Saved connections: all that opens a source again, with the passwords in the system's keyring only.

``connections.json`` in the data folder holds names and URIs without any secret. A URI's secrets are its user's
password and the options of ``SECRET_OPTIONS``; the keyring keeps the whole URI under the URI without them.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import quote, quote_plus, unquote

from model.errors import NotFound, Refused
from model.userdata import folders as homes

SECRET_OPTIONS = frozenset(
    (
        "tlscertificatekeyfilepassword",
        "sslpempassword",
        "sslcertificatekeyfilepassword",
        "proxypassword",
        "authmechanismproperties",  # AWS session tokens travel in it
    )
)
_SERVICE = "palimpsest"
_ADDRESS = re.compile(r"mongodb(?:\+srv)?://[^\s'\"]+")
_CREDENTIALS = re.compile(r"(://[^\s:/@]*):\S*@")
_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True)
class SavedConnection:
    """A source to open again; ``uri`` holds no password and may be a dump's path."""

    name: str
    uri: str
    read_only: bool = False
    production: bool = False  # asks for more before anything destructive
    last_used: dt.datetime | None = None
    profile: str = ""  # the file that states its layouts, by its whole path


@dataclass(frozen=True)
class _Parts:
    scheme: str
    user: str | None  # percent-encoded as it came
    password: str | None
    hosts: str
    options: str  # from "?" on


def _split(uri: str) -> _Parts | None:
    """The parts of a URI; None for a path or ``sample:``. A password may hold any character that people paste."""
    match = _URI.fullmatch(uri)
    if match is None:
        return None
    rest = match["rest"]
    head, mark, options = rest.partition("?")
    if "@" not in head and "@" in options and "/" not in head and ":" in head:
        # A "?" within an unescaped password: everything up to the last "@" is the user's.
        before, _, after = rest.rpartition("@")
        head, mark, options = after.partition("?")
        head = f"{before}@{head}"
    user: str | None = None
    password: str | None = None
    hosts = head
    if "@" in head:
        who, _, hosts = head.rpartition("@")
        user, colon, secret = who.partition(":")
        password = secret if colon else None
    return _Parts(match["scheme"], user, password, hosts, mark + options)


def _join(parts: _Parts) -> str:
    secret = "" if parts.password is None else f":{parts.password}"
    who = "" if parts.user is None else f"{parts.user}{secret}@"
    return f"{parts.scheme}{who}{parts.hosts}{parts.options}"


def without_password(source: str) -> str:
    """The source as it may be shown and kept: a URI loses its password and its secret options."""
    parts = _split(source)
    if parts is None:
        return source
    pairs = parts.options[1:].split("&") if parts.options else []
    kept = [p for p in pairs if p.partition("=")[0].lower() not in SECRET_OPTIONS]
    options = parts.options if kept == pairs else ("?" + "&".join(kept) if kept else "")
    return _join(replace(parts, password=None, options=options))


def hidden(sentence: str) -> str:
    """A sentence in which no address shows its password, however it is written."""
    sentence = _ADDRESS.sub(lambda found: without_password(found[0]), sentence)
    return _CREDENTIALS.sub(r"\1:…@", sentence)


def has_secret(source: str) -> bool:
    """Whether a URI carries a password or a secret option."""
    return without_password(source) != source


def needs_password(source: str) -> bool:
    """Whether a URI names a user and no password, with a mechanism that wants one."""
    parts = _split(source)
    if parts is None or not parts.user or parts.password is not None:
        return False
    return re.search(r"authmechanism=(mongodb-x509|gssapi|mongodb-aws|mongodb-oidc)", parts.options, re.I) is None


def with_password(uri: str, password: str) -> str:
    """The URI with this password for its user, percent-encoded."""
    parts = _split(uri)
    if parts is None or parts.user is None:
        raise Refused("The URI names no user for this password; write it as mongodb://user@host.")
    return _join(replace(parts, password=quote(password, safe="")))


def with_user(uri: str, user: str) -> str:
    """The URI for another user, without a password."""
    parts = _split(uri)
    if parts is None:
        raise Refused("Only a mongodb:// URI takes a user.")
    return _join(replace(parts, user=quote_plus(user) if user else None, password=None))


def with_options(uri: str, options: Mapping[str, str]) -> str:
    """The URI with some options set, such as ``tls`` and ``tlsCAFile``; an empty value takes one out."""
    parts = _split(uri)
    if parts is None:
        return uri
    named = {name.lower() for name in options}
    pairs = [p for p in parts.options[1:].split("&") if p and p.partition("=")[0].lower() not in named]
    pairs += [f"{name}={quote(value, safe='/:,')}" for name, value in options.items() if value]
    hosts = parts.hosts if "/" in parts.hosts or not pairs else parts.hosts + "/"
    return _join(replace(parts, hosts=hosts, options="?" + "&".join(pairs) if pairs else ""))


def database_of(source: str) -> str:
    """The database that a URI names behind its hosts; "" where it names none."""
    parts = _split(source)
    path = "" if parts is None else parts.hosts.partition("/")[2]
    return unquote(path).partition(".")[0]


def options_of(uri: str) -> dict[str, str]:
    """The options of a URI, decoded, with their names as written."""
    parts = _split(uri)
    if parts is None or not parts.options:
        return {}
    pairs = (p.partition("=") for p in parts.options[1:].split("&") if p)
    return {name: unquote(value) for name, _, value in pairs}


def label(source: str) -> str:
    """A short name for a source: its hosts, the last part of its path, ``sample:``."""
    parts = _split(source)
    if parts is None:
        return source if source == "sample:" else Path(source).name or source
    return parts.hosts.partition("/")[0] or source


class Connections:
    """The saved connections of one person on one computer; any part may make one whenever it needs it."""

    def __init__(self, home: Path | None = None) -> None:
        self._file = homes.folder(home) / "connections.json"

    def all(self) -> list[SavedConnection]:
        """Every connection, the last used one first; raises ``Refused`` where the file cannot be understood."""
        found = list(self._read().values())
        never = dt.datetime.min.replace(tzinfo=dt.UTC)
        return sorted(found, key=lambda c: c.last_used or never, reverse=True)

    def get(self, name: str) -> SavedConnection:
        """One connection by its name; raises ``NotFound``."""
        try:
            return self._read()[name]
        except KeyError:
            raise NotFound(f"No saved connection is called {name}.") from None

    def save(self, connection: SavedConnection, password: str | None = None) -> SavedConnection:
        """Keep a connection under its name and its secrets in the keyring; returns it as it was kept.

        Raises ``Refused`` where there is no keyring: then the connection is kept all the same, without password.
        """
        uri = connection.uri if password is None else with_password(connection.uri, password)
        kept = replace(connection, uri=without_password(uri))
        listed = self._read()
        listed[kept.name] = kept
        self._write(listed)
        if has_secret(uri):
            _keyring_set(kept.uri, uri)
        return kept

    def used(self, name: str) -> None:
        """Note that a connection was opened just now."""
        listed = self._read()
        if name in listed:
            listed[name] = replace(listed[name], last_used=dt.datetime.now(dt.UTC))
            self._write(listed)

    def remove(self, name: str) -> None:
        """Forget a connection, and its password unless another one needs it."""
        listed = self._read()
        gone = listed.pop(name, None)
        if gone is None:
            return
        self._write(listed)
        if all(c.uri != gone.uri for c in listed.values()):
            _keyring_delete(gone.uri)

    def complete(self, source: str) -> str:
        """The source with the secrets that the keyring holds for it; unchanged where it holds none."""
        return _keyring_get(without_password(source)) or source

    def _read(self) -> dict[str, SavedConnection]:
        try:
            rows = json.loads(self._file.read_text(encoding="utf-8"))
            return {row["name"]: _from_row(row) for row in rows}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError):
            raise Refused(f"The list of connections in {self._file} cannot be read; mend it or move it away.") from None

    def _write(self, listed: Mapping[str, SavedConnection]) -> None:
        rows = []
        for connection in listed.values():
            row = asdict(connection)
            row["last_used"] = connection.last_used and connection.last_used.isoformat()
            rows.append(row)
        homes.write(self._file, json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def _from_row(row: dict[str, object]) -> SavedConnection:
    used = row.get("last_used")
    return SavedConnection(
        name=str(row["name"]),
        uri=without_password(str(row["uri"])),
        read_only=bool(row.get("read_only")),
        production=bool(row.get("production")),
        last_used=dt.datetime.fromisoformat(str(used)) if used else None,
        profile=str(row.get("profile") or ""),
    )


# The keyring is imported late: it looks for its backends on import, which a command that needs none should not pay.


def _keyring_set(account: str, secret: str) -> None:
    import keyring
    import keyring.errors

    try:
        keyring.set_password(_SERVICE, account, secret)
    except (keyring.errors.KeyringError, RuntimeError, OSError):
        raise Refused(
            "This computer offers no keyring, so the password is not kept; type it again next time."
        ) from None


def _keyring_get(account: str) -> str | None:
    import keyring
    import keyring.errors

    try:
        found: str | None = keyring.get_password(_SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError, OSError):
        return None
    return found


def _keyring_delete(account: str) -> None:
    import keyring
    import keyring.errors

    try:
        keyring.delete_password(_SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError, OSError):
        return
