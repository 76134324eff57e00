"""Saved connections: everything needed to open a source again, with passwords only in the system's keyring.

``connections.json`` in the data folder holds names and addresses without secrets; :class:`.Address` knows which parts
are secret. The keyring stores the full address under the address without secrets.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import asdict, replace

from model.errors import NotFound, Refused
from model.foundation import kept_files
from model.foundation.address import Address
from model.userdata import folders as homes

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds to wait for a keyring: somebody may be typing its password into a dialog of the system."""

_SERVICE = "palimpsest"
_ADDRESS = re.compile(r"mongodb(?:\+srv)?://[^\s'\"]+")
_CREDENTIALS = re.compile(r"(://[^\s:/@]*):(?!\d+(?:[/,?;\s.]|$))[^\n]*@")  # a password with blanks, but not a port


class SavedConnection(Struct, frozen=True):
    """A source to open again; ``uri`` has no password, and may be a dump's path."""

    name: str
    uri: str
    read_only: bool = False
    production: bool = False  # asks for more confirmation before anything destructive
    last_used: dt.datetime | None = None
    profile: str = ""  # the full path of the file that states its layouts


def without_password(source: str) -> str:
    """The source for display and storage: an address without its password and secret options."""
    address = Address.parse(source)
    return source if address is None else str(address.without_secrets())


def hidden(sentence: str) -> str:
    """The sentence with the password of every address in it hidden, in any notation."""
    sentence = _CREDENTIALS.sub(r"\1:…@", sentence)
    return _ADDRESS.sub(lambda found: without_password(found[0]), sentence)


def has_secret(source: str) -> bool:
    """Whether an address contains a password or a secret option."""
    address = Address.parse(source)
    return address is not None and address.without_secrets() != address


def needs_password(source: str) -> bool:
    """Whether an address lacks a password although it names a user whose mechanism needs one."""
    address = Address.parse(source)
    return address is not None and address.lacks_password


def may_lack_secrets(source: str) -> bool:
    """Whether an address may have had secrets that were removed."""
    address = Address.parse(source)
    return address is not None and address.may_lack_secrets


def with_password(uri: str, password: str) -> str:
    """The address with this password for its user, percent-encoded."""
    address = Address.parse(uri)
    if address is None or address.user is None:
        raise Refused("The URI names no user for this password; write it as mongodb://user@host.")
    return str(address.with_password(password))


def database_of(source: str) -> str:
    """The database in an address; "" if there is none."""
    address = Address.parse(source)
    return "" if address is None else address.database


def label(source: str) -> str:
    """A short name for a source: its hosts, the last part of its path, ``sample:``."""
    address = Address.parse(source)
    if address is None:
        return source if source == "sample:" else Path(source).name or source
    return address.hosts or source


class Connections:
    """The saved connections of one person on one computer. It holds no state: create one wherever it is needed."""

    def __init__(self, home: Path | None = None) -> None:
        self._home = home

    @property
    def _file(self) -> Path:
        return homes.folder(self._home) / "connections.json"

    def all(self) -> list[SavedConnection]:
        """Every connection, the last used one first; raises ``Refused`` if the file may not be read."""
        found = list(self._read().values())
        never = dt.datetime.min.replace(tzinfo=dt.UTC)
        return sorted(found, key=lambda c: c.last_used or never, reverse=True)

    def get(self, name: str) -> SavedConnection:
        """One connection by its name; raises ``NotFound``."""
        try:
            return self._read()[name]
        except KeyError:
            raise NotFound(f"No saved connection is called {name}.") from None

    def save(
        self, connection: SavedConnection, password: str | None = None, with_secrets: bool = True
    ) -> SavedConnection:
        """Save a connection under its name, and its secrets in the keyring; returns it as it was saved.

        Without ``with_secrets`` its secrets are removed from the keyring. Raises ``Refused`` if the keyring does not
        store them; the connection is then saved without password.
        """
        uri = connection.uri if password is None else with_password(connection.uri, password)
        kept = replace(connection, uri=without_password(uri))
        listed = self._read()
        listed[kept.name] = kept
        self._write(listed)
        if not with_secrets:
            if may_lack_secrets(kept.uri):
                _keyring_delete(kept.uri)
        elif has_secret(uri):
            _keyring_set(kept.uri, uri)
        return kept

    def used(self, name: str) -> None:
        """Note that a connection has just been opened."""
        listed = self._read()
        if name in listed:
            listed[name] = replace(listed[name], last_used=dt.datetime.now(dt.UTC))
            self._write(listed)

    def remove(self, name: str) -> None:
        """Forget a connection, and also its password unless another connection needs it."""
        listed = self._read()
        gone = listed.pop(name, None)
        if gone is None:
            return
        self._write(listed)
        if all(c.uri != gone.uri for c in listed.values()) and may_lack_secrets(gone.uri):
            _keyring_delete(gone.uri)

    def complete(self, source: str) -> str:
        """The source with its secrets from the keyring; unchanged if there are none.

        Secrets in the source itself take precedence. Raises ``Refused`` if the keyring fails.
        """
        given = Address.parse(source)
        if given is None or not given.may_lack_secrets:
            return source
        known = Address.parse(_keyring_get(str(given.without_secrets())) or "")
        return source if known is None else str(given.completed(known))

    def _read(self) -> dict[str, SavedConnection]:
        path = self._file
        found = kept_files.content(path, _rows)
        if found is None:
            return {}
        listed = {row.name: row for row in found if row is not None}
        if len(listed) < len(found):
            self._leave_out(path, listed)
        return listed

    def _leave_out(self, path: Path, listed: Mapping[str, SavedConnection]) -> None:
        """Set a list with damaged rows aside, and begin a new one with the sound rows."""
        with contextlib.suppress(OSError, Refused):
            if kept_files.set_aside(path, path.lstat()) is not None:
                self._write(listed)

    def _write(self, listed: Mapping[str, SavedConnection]) -> None:
        rows = []
        for connection in listed.values():
            row = asdict(connection)
            row["last_used"] = connection.last_used and connection.last_used.isoformat()
            rows.append(row)
        homes.keep(self._file, json.dumps(rows, indent=2, ensure_ascii=False) + "\n")


def _rows(written: str) -> list[SavedConnection | None]:
    """The rows of the file, None for each damaged one; raises one of ``kept_files.DAMAGE``."""
    rows = json.loads(written)
    if not isinstance(rows, list):
        raise TypeError(type(rows))
    return [_from_row(row) for row in rows]


def _from_row(row: object) -> SavedConnection | None:
    try:
        used = kept_files.text_in(row, "last_used", "")
        return SavedConnection(
            name=_whole(kept_files.text_in(row, "name")),
            uri=without_password(_whole(kept_files.text_in(row, "uri"))),
            read_only=kept_files.flag_in(row, "read_only"),
            production=kept_files.flag_in(row, "production"),
            last_used=kept_files.moment(used) if used else None,
            profile=_whole(kept_files.text_in(row, "profile", "")),
        )
    except kept_files.DAMAGE:
        return None


def _whole(said: str) -> str:
    """A text without half characters, which could not be written again; raises ``UnicodeEncodeError``."""
    said.encode()
    return said


# The keyring is imported late: on import it looks for its backends, and most commands do not need it. Its backends
# raise any error that the system raises, so every error is treated as one of the keyring.


class _Silence(Exception):
    """The keyring has not answered in time."""


def _answer(ask: Callable[[], T]) -> T:
    """The answer of the keyring, or its error; raises ``_Silence`` if none comes.

    It is asked in a thread of its own: if a backend waits forever, as on a bus without a service, only that thread
    hangs.
    """
    told: list[T | Exception] = []

    def work() -> None:
        try:
            told.append(ask())
        except Exception as error:
            told.append(error)

    thread = threading.Thread(target=work, name="keyring", daemon=True)
    thread.start()
    thread.join(PATIENCE)
    if not told:
        raise _Silence
    if isinstance(told[0], Exception):
        raise told[0]
    return told[0]


def _keyring_set(account: str, secret: str) -> None:
    def ask() -> None:
        import keyring

        keyring.set_password(_SERVICE, account, secret)
        if keyring.get_password(_SERVICE, account) != secret:
            raise LookupError("it does not come back")  # some backends store nothing

    try:
        _answer(ask)
    except _Silence:
        raise Refused(
            f"The keyring of this computer has not answered for {PATIENCE:.0f} s, so the password may not be kept; "
            "unlock it and connect again, or type the password each time."
        ) from None
    except Exception as error:
        if _is_missing(error):
            raise Refused(
                "This computer offers no keyring, so the password is not kept; type it again next time."
            ) from None
        raise Refused(
            f"The keyring of this computer does not keep the password ({type(error).__name__}); unlock it and connect "
            "again, or type the password each time."
        ) from None


def _keyring_get(account: str) -> str | None:
    def ask() -> str | None:
        import keyring

        found = keyring.get_password(_SERVICE, account)
        if not isinstance(found, str | None):
            raise TypeError("it is not text")
        return found

    try:
        return _answer(ask)
    except _Silence:
        raise Refused(
            f"The keyring of this computer has not answered for {PATIENCE:.0f} s; unlock it, or give the password."
        ) from None
    except Exception as error:
        if _is_missing(error):
            return None
        raise Refused(
            f"The keyring of this computer cannot be read ({type(error).__name__}); unlock it, or give the password."
        ) from None


def _keyring_delete(account: str) -> None:
    def ask() -> None:
        import keyring

        if keyring.get_password(_SERVICE, account) is None:
            return
        keyring.delete_password(_SERVICE, account)
        if keyring.get_password(_SERVICE, account) is not None:
            raise LookupError("it is still there")

    try:
        _answer(ask)
    except Exception as error:
        if _is_missing(error):
            return
        if isinstance(error, _Silence):
            raise Refused(
                f"The keyring of this computer has not answered for {PATIENCE:.0f} s, so the password may be kept "
                f"still; take the entry {_SERVICE} out of it by hand."
            ) from None
        raise Refused(
            f"The keyring of this computer does not forget the password ({type(error).__name__}); take the entry "
            f"{_SERVICE} out of it by hand."
        ) from None


def _is_missing(error: Exception) -> bool:
    """Whether there is no keyring at all, as opposed to one that fails."""
    try:
        import keyring.errors
    except Exception:
        return True
    return isinstance(error, keyring.errors.NoKeyringError)
