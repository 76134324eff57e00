"""Copies to the clipboard: small ones at once, large ones in a task, so that the window stays responsive.

A large copy goes there as UTF-8 bytes. Turning 15 MB into one of Qt's own texts takes up to half a second, during
which the window stands still; that is left to the program that pastes.
"""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QByteArray, QMimeData, QObject
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from gui import messages, tasks
from gui.language import tr
from gui.style import wording
from model.errors import Refused

_STRETCH = 1 << 18  # characters encoded in one go; other threads get their turn in between
AT_ONCE = 64 * 1024  # bytes copied without a task; twice as many take longer than a window may stand still


class _Copying(QObject):
    """One copy under way; a later one, from any part of the window, replaces it."""

    latest: tasks.Task | None = None

    def __init__(self, owner: QWidget, said: str) -> None:
        super().__init__(owner)
        self._owner, self._said = owner, said

    def done(self, encoded: QByteArray) -> None:
        _drop_latest()
        copied = QMimeData()
        copied.setData("text/plain", encoded)
        QGuiApplication.clipboard().setMimeData(copied)
        messages.copied(self._owner, f"{self._said or tr('It is copied')}, {wording.size(encoded.size())}")
        self.deleteLater()

    def failed(self, error: BaseException) -> None:
        messages.fail(self._owner, error)
        self.deleteLater()


def copy(owner: QWidget, size: int | None, words: Callable[[], str | bytes], said: str = "") -> None:
    """Put words on the clipboard; ``said`` then tells so in a message.

    ``size`` is the size in bytes of the document or value that they are made from; None if it has to be read first.
    The words may come in UTF-8. If they cannot be made, a message says so and the clipboard stays as it was.
    """
    _drop_latest()
    if size is None or size > AT_ONCE:
        ends = _Copying(owner, said)
        title = tr("Copying") if size is None else tr("Copying {size}", size=wording.size(size))
        _Copying.latest = tasks.run(
            lambda _: _encoded(words()), done=ends.done, failed=ends.failed, owner=ends, title=title
        )
        return
    try:
        made = words()
    except Refused as refusal:
        messages.fail(owner, refusal)
        return
    put(made if isinstance(made, str) else made.decode())
    if said:
        messages.copied(owner, said)


def put(words: str) -> None:
    """Put words on the clipboard at once; a copy still under way is dropped."""
    _drop_latest()
    QGuiApplication.clipboard().setText(words)


def _encoded(words: str | bytes) -> QByteArray:
    if isinstance(words, bytes):
        return QByteArray(words)
    parts = (words[at : at + _STRETCH].encode("utf-8", "replace") for at in range(0, len(words), _STRETCH))
    return QByteArray(b"".join(parts))


def _drop_latest() -> None:
    if _Copying.latest is not None:
        _Copying.latest.drop()
        _Copying.latest = None
