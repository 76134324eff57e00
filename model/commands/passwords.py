"""Passwords of commands: read from a file or the terminal, and hidden from the system's list of processes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from model.errors import Refused

TYPE_CHECKING = False  # importing it from typing takes longer than all imports here
if TYPE_CHECKING:
    import argparse

_STARTS, _ENDS = 48, 49  # the fields of /proc/self/stat with the argument list's addresses in memory, see proc(5)
_BEHIND_NAME = 3  # the first field after the program's name, which may contain blanks
_LONGEST_PASSWORD_FILE = 4096  # bytes


def hide(words: Sequence[str]) -> None:
    """Overwrite secrets in this process's argument list with dots.

    It works on Linux, where other users read that list from the process's memory; elsewhere it does nothing.
    """
    addresses = [word for word in words if "://" in word]
    if not addresses:
        return  # most commands have none, and need not wait for the imports below
    import ctypes
    from pathlib import Path

    from model.foundation.address import Address

    secrets = {each for word in addresses if (address := Address.parse(word)) is not None for each in address.secrets}
    if not secrets or not sys.platform.startswith("linux"):
        return
    with suppress(OSError, ValueError, IndexError):
        told = Path("/proc/self/stat").read_text("ascii", "replace").rpartition(")")[2].split()
        start, end = int(told[_STARTS - _BEHIND_NAME]), int(told[_ENDS - _BEHIND_NAME])
        listed = Path("/proc/self/cmdline").read_bytes()
        if len(listed) != end - start:
            return  # somebody has changed the list already
        hidden = listed
        for secret in sorted(map(os.fsencode, secrets), key=len, reverse=True):
            hidden = hidden.replace(secret, b"." * len(secret))
        ctypes.memmove(start, hidden, len(hidden))


@contextmanager
def given(args: argparse.Namespace) -> Iterator[None]:
    """Provide the password for the command's source, from ``--password-file`` or a question on the terminal.

    Until the end of the block ``given_password`` has it, and no environment. Raises ``Refused``.
    """
    from model.userdata.given_password import kept_from_children

    with kept_from_children(_password(args)):
        yield


def _password(args: argparse.Namespace) -> str | None:
    path, source = getattr(args, "password_file", None), getattr(args, "source", None)
    if path is not None:
        return _first_line(path)
    if not isinstance(source, str) or "://" not in source:
        return None
    from model.foundation.address import Address

    address = Address.parse(source)
    if address is None or not address.lacks_password or not sys.stdin.isatty():
        return None
    from model.session.sources import with_kept_password  # asks the keyring, but only if a password is missing

    kept = Address.parse(with_kept_password(str(source)))
    if kept is None or not kept.lacks_password:
        return None
    import getpass

    return getpass.getpass(f"Password of {address.user_name}: ")


def _first_line(path: str) -> str:
    from model.foundation.input_files import whole_text

    try:
        lines = whole_text(path, _LONGEST_PASSWORD_FILE).splitlines()
    except OSError as error:
        raise Refused(f"The password file {path} cannot be read ({error.strerror or error}).") from None
    except UnicodeDecodeError:
        raise Refused(f"The password file {path} is not UTF-8 text; save it as UTF-8.") from None
    if not lines or not lines[0]:
        raise Refused(f"The password file {path} has no password in its first line.")
    return lines[0]
