"""The guards against attacks; each is removed from the product for a moment, and its attack must then succeed."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel

from gui import copying
from gui.style import states, wording
from gui.window import opening
from model.commands import output, standard_streams
from model.exchange import export_total, git_program, kept_version
from model.foundation import hidden_characters, kept_files
from model.server import tunnel
from model.session import Session
from model.userdata import connections, journal
from model.userdata.given_password import given_password
from tests.hostile.planted import SECRET

Taken = Callable[[], AbstractContextManager[object]]


def as_it_is(words: str) -> str:
    """Hand words on without a look."""
    return words


@contextmanager
def raw_terminal() -> Iterator[None]:
    """Commands print what they are given."""
    with patch.object(standard_streams, "visible", as_it_is), patch.object(output, "plain", as_it_is):
        yield


@contextmanager
def raw_json() -> Iterator[None]:
    """JSON keeps every character that its grammar allows."""
    with patch.object(hidden_characters, "_hidden", lambda: re.compile("(?!)")):
        yield


@contextmanager
def calls_home() -> Iterator[None]:
    """Opening a source tells somebody else of it."""
    true = Session.open

    def telling(source: str, *more: Any, **named: Any) -> Session:
        with suppress(OSError), socket.socket(socket.AF_INET) as home:
            home.connect(("127.0.0.1", 9))
        return true(source, *more, **named)

    with patch.object(Session, "open", telling):
        yield


@contextmanager
def rich_labels() -> Iterator[None]:
    """Labels decide by themselves whether a text is markup, and show it as it came."""

    def said(label: QLabel, words: str = "", parent: object = None) -> None:
        QLabel.__init__(label)
        QLabel.setText(label, words)

    with patch.object(states.PlainLabel, "__init__", said), patch.object(states.PlainLabel, "setText", QLabel.setText):
        yield


@contextmanager
def rich_tooltips() -> Iterator[None]:
    """Tooltips are handed to Qt as they are."""
    with patch.object(wording, "tip", as_it_is):
        yield


@contextmanager
def keys_in_names() -> Iterator[None]:
    """A letter behind an & in a name becomes a key."""
    with patch.object(wording, "label", as_it_is):
        yield


@contextmanager
def told_passwords() -> Iterator[None]:
    """An address is shown and kept as it was given."""
    with ExitStack() as stack:
        for place in (connections, opening):
            stack.enter_context(patch.object(place, "without_password", as_it_is))
        yield


@contextmanager
def chatty_copies() -> Iterator[None]:
    """Whatever is copied comes with the way into the database."""
    true = copying.put

    def put(words: str) -> None:
        true(f"{words} {SECRET}")

    with patch.object(copying, "put", put):
        yield


@contextmanager
def painted_passwords() -> Iterator[None]:
    """A label paints more than its text says."""

    def paint(label: QLabel, event: QPaintEvent) -> None:
        QPainter(label).drawText(label.rect(), SECRET)

    with patch.object(states.PlainLabel, "paintEvent", paint, create=True):
        yield


@contextmanager
def trusting_files() -> Iterator[None]:
    """Files of the program's own are taken for what they were when they were written."""

    def content(path: Path, parsed: Callable[[str], Any]) -> Any:
        return parsed(path.read_text("utf-8")) if path.is_file() else None

    with patch.object(kept_files, "content", content):
        yield


@contextmanager
def zoneless_times() -> Iterator[None]:
    """A time is taken as it was written, with a zone or without."""
    with patch.object(kept_files, "moment", dt.datetime.fromisoformat):
        yield


@contextmanager
def unproven_exports() -> Iterator[None]:
    """An import believes what it reads, and does not count it."""
    with (
        patch.object(kept_version, "check_proof", lambda *_: None),
        patch.object(export_total.ExportTotal, "check", lambda *_: None),
    ):
        yield


@contextmanager
def settings_of_others() -> Iterator[None]:
    """Git takes the settings and attributes of the repository."""
    true = git_program.GitProgram._private

    def private(git: git_program.GitProgram, place: Path, head: str | None) -> Path:
        own = true(git, place, head)
        for name in ("config", "info/attributes"):
            if (git.inner / name).exists():
                shutil.copy(git.inner / name, place / name)
        return own

    with patch.object(git_program.GitProgram, "_private", private):
        yield


@contextmanager
def whole_environment() -> Iterator[None]:
    """Programs get the environment as it is, with the password in it."""
    with (
        patch.object(tunnel, "child_environment", lambda *_: {**os.environ, "PALIMPSEST_PASSWORD": given_password()}),
    ):
        yield


@contextmanager
def any_row() -> Iterator[None]:
    """The journal takes every row for its own."""
    with patch.object(journal, "check", lambda *_: None):
        yield
