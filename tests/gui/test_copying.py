"""Copying: the clipboard gets the whole thing itself, and the window answers meanwhile."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable

import pytest
from bson import Int64, ObjectId
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui import copying
from gui.messages import MessageLine
from gui.parts.differences.diff_model import FIELD, SYMBOL, A, B
from gui.style import wording
from gui.tasks import tasks
from gui.views.history.blame_panel import FIELD as NAME
from gui.views.history.blame_panel import VALUE, BlamePanel
from model import text
from model.errors import Refused
from model.history.chain import Follower
from model.values import canonical
from model.values.canonical import Value
from tests.gui.fake_session import ID, Told, told
from tests.gui.views.test_diff_panel import Shown

LONG = "x" * 5000
CTRL = Qt.KeyboardModifier.ControlModifier


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def said(owner: QWidget) -> list[str]:
    return [line.text for line in owner.window().findChildren(MessageLine)]


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.running)


@pytest.mark.parametrize("inline", [False, True])
def test_the_copy_key_takes_the_whole_value_or_path_and_not_the_words_shown(qtbot: QtBot, inline: bool) -> None:
    shown = Shown(qtbot, {"a": {"b": LONG + "y"}}, {"a": {"b": LONG}})
    shown.compare(1, 2)
    table = shown.panel.table
    shown.panel.set_inline(inline)
    found = {}
    for column in (SYMBOL, FIELD, A, B):
        table.setCurrentIndex(table.model().index(0, column))
        QGuiApplication.clipboard().setText("before")
        QTest.keyClick(table, Qt.Key.Key_C, CTRL)
        found[column] = clipboard()
    assert found[FIELD] == "a.b"
    assert found[A] == (LONG if inline else LONG + "y")
    assert found[B] == LONG
    assert '"op"' in found[SYMBOL]


@pytest.mark.parametrize("odd", ["é", "😀", "\u202e", "a\r\nb\tc", "\udce9"])
def test_a_large_copy_is_the_text_to_the_letter(qtbot: QtBot, odd: str) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    words = (odd + "x" * 70_000) * 9
    copying.copy(owner, len(words), lambda: words)
    settle(qtbot)
    assert clipboard() == words.encode("utf-8", "replace").decode()
    assert QGuiApplication.clipboard().mimeData().hasText()


def test_a_large_value_is_written_out_beside_the_window(qtbot: QtBot) -> None:
    many = [{"_id": n, "name": f"number {n}"} for n in range(20_000)]
    shown = Shown(qtbot, {"a": many, "b": 1}, {"b": 2})
    shown.compare(1, 2)
    QGuiApplication.clipboard().setText("before")
    table = shown.panel.table
    table.setCurrentIndex(table.model().index(0, A))
    QTest.keyClick(table, Qt.Key.Key_C, CTRL)
    assert clipboard() == "before"
    assert [task.title for task in tasks.running] == ["Copying 837.7 KB"]
    settle(qtbot)
    assert text.value_from_text(clipboard()) == Value.of(many)
    assert any(line.startswith("It is copied, ") for line in said(shown.panel))


@pytest.mark.parametrize(
    "last", [lambda owner: copying.copy(owner, 1, lambda: "second"), lambda _: copying.put("second")]
)
def test_what_was_copied_last_is_what_the_clipboard_holds(qtbot: QtBot, last: Callable[[QWidget], None]) -> None:
    owner, gate = QWidget(), threading.Event()
    qtbot.addWidget(owner)

    def slow() -> str:
        assert gate.wait(60)
        return "first"

    copying.copy(owner, None, slow)
    last(owner)
    gate.set()
    settle(qtbot)
    assert clipboard() == "second"


@pytest.mark.parametrize("size", [1, None])
def test_what_cannot_be_written_out_is_said_and_not_copied(qtbot: QtBot, size: int | None) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    QGuiApplication.clipboard().setText("before")

    def refuse() -> str:
        raise Refused("The length at byte 7 extends beyond the document.")

    copying.copy(owner, size, refuse)
    settle(qtbot)
    assert clipboard() == "before"
    assert said(owner) == ["The length at byte 7 extends beyond the document."]


def test_blame_copies_a_value_whole_though_only_its_size_was_kept(qtbot: QtBot) -> None:
    raw = canonical.encode({"short": "s", "long": LONG * 4})
    one = told(1, content=raw, current=True)
    source = Told({ID: [one]})
    source.contents[None] = raw
    source.version = lambda *_: one  # type: ignore[method-assign]
    follower = Follower()
    follower.take(one)
    source.chain = lambda *_: follower.chain(True)  # type: ignore[attr-defined]
    panel = BlamePanel(source.as_session(), "insurance.contracts", ID)
    qtbot.addWidget(panel)
    panel.show()
    settle(qtbot)
    row = next(at for at, each in enumerate(panel.model.rows) if each.now.value is None)
    found = []
    for column in (VALUE, NAME):
        panel.list.setCurrentIndex(panel.model.index(row, column))
        QTest.keyClick(panel.list, Qt.Key.Key_C, CTRL)
        settle(qtbot)
        found.append(clipboard())
    assert found == [LONG * 4, "long"]


@pytest.mark.parametrize(
    "id", [5, Int64(5), 1.5, {"region": "eu", "parts": [1, 2]}, dt.datetime(2024, 7, 1, 12, tzinfo=dt.UTC), ObjectId()]
)
def test_a_copied_id_is_read_as_the_same_again_and_a_text_is_its_characters(id: object) -> None:
    value = Value.of(id)
    assert text.loose_value(wording.copied(value)) == value
    assert wording.copied(Value.of("5")) == "5"
