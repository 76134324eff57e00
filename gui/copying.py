"""Copies to the clipboard: small ones at once, large ones in a task, so that the window answers meanwhile."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from gui import messages, tasks
from gui.language import tr
from gui.style import wording
from model.errors import Refused

AT_ONCE = 64 * 1024  # bytes that are written out; twice as many take longer than a window may stand still


class _Copying(QObject):
    """One copy under way; a later one, for whatever part of the window, takes its place."""

    latest: tasks.Task | None = None

    def __init__(self, owner: QWidget, said: str) -> None:
        super().__init__(owner)
        self._owner, self._said = owner, said

    def done(self, words: str) -> None:
        put(words)
        size = wording.size(len(words.encode("utf-8", "replace")))
        messages.copied(self._owner, f"{self._said or tr('It is copied')}, {size}")
        self.deleteLater()

    def failed(self, error: BaseException) -> None:
        messages.fail(self._owner, error)
        self.deleteLater()


def copy(owner: QWidget, size: int | None, words: Callable[[], str], said: str = "") -> None:
    """Put words on the clipboard and say so, where ``said`` says how.

    ``size`` is that of the document or value they are made from, in bytes; None where it has to be read first. Where it
    cannot be written out, a message says so and the clipboard stays as it was.
    """
    _drop_latest()
    if size is None or size > AT_ONCE:
        ends = _Copying(owner, said)
        title = tr("Copying") if size is None else tr("Copying {size}", size=wording.size(size))
        _Copying.latest = tasks.run(lambda _: words(), done=ends.done, failed=ends.failed, owner=ends, title=title)
        return
    try:
        made = words()
    except Refused as refusal:
        messages.fail(owner, refusal)
        return
    put(made)
    if said:
        messages.copied(owner, said)


def put(words: str) -> None:
    """Put words on the clipboard at once; a copy still under way does not take their place."""
    _drop_latest()
    QGuiApplication.clipboard().setText(words)


def _drop_latest() -> None:
    if _Copying.latest is not None:
        _Copying.latest.drop()
        _Copying.latest = None
