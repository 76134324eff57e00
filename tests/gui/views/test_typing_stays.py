"""What is typed stays where it was typed, whatever another program does to the document meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bson import BSON
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.parts.fields.field_model import FIELD
from gui.views.edit.editor_panel import EditorPanel
from model.session import Session
from model.values import canonical
from model.values.canonical import Path as FieldPath
from model.values.canonical import Value
from tests.gui.document_scenes import Desk, put, shown
from tests.gui.field_support import Open, get, type_into

NS, ID = "shop.orders", Value.of("K-7")
ORDER = canonical.document(
    [
        ("customer", Value.of("Nora Fink")),
        ("lines", Value.document(canonical.document([("count", Value.of(3)), ("article", Value.of("glass"))]))),
        ("status", Value.of("open")),
        ("note", Value.of("by the door")),
    ]
)
EMBEDDED = """
[[collection]]
ns = "shop.orders"
layout = "embedded"
id = "_id"
at = "changedAt"
author = "changedBy"
"""


@pytest.fixture
def session(home: Path, tmp_path: Path) -> Iterator[Session]:
    (tmp_path / "profile.toml").write_text(EMBEDDED)
    (tmp_path / "orders.bson").write_bytes(BSON.encode({"_id": "K-1", "current": {"v": 1}, "prev": []}))
    with Session.open("sample:", home=home, profile=tmp_path / "profile.toml") as made:
        made.authorship.author = "nora"
        assert made.writing.create(NS, ORDER, ID).kind == "applied"
        yield made


def _shape(panel: EditorPanel) -> tuple[list[str], FieldPath, bool, int]:
    """The rows at the top, the path of the chosen row, whether ``lines`` is open, and how far it is scrolled."""
    names = [str(panel.model.index(row, FIELD).data()) for row in range(panel.model.rowCount())]
    chosen = panel.model.node(panel.tree.currentIndex())
    is_open = panel.tree.isExpanded(panel.model.find(("lines",), 0))
    return names, panel.model.path(chosen) if chosen else (), is_open, panel.tree.verticalScrollBar().value()


def _type(panel: EditorPanel, said: str) -> None:
    """Type at the chosen row: what is no letter for an editor is one for the tree."""
    for letter in said:
        QTest.keyClicks(panel.tree.editor.widget or panel.tree, letter)
    QTest.keyClick(panel.tree.editor.widget or panel.tree, Qt.Key.Key_Return)


def test_a_version_that_arrives_moves_no_row_of_an_unsaved_edit(
    session: Session, qtbot: QtBot, idle: Callable[[], None]
) -> None:
    panel = EditorPanel(session, NS, ID)
    shown(qtbot, panel)
    qtbot.waitUntil(lambda: panel.is_loaded)
    type_into(panel, ("note",), "at the back")
    panel.tree.setCurrentIndex(panel.model.find(("status",)))
    before = _shape(panel)
    assert {"v", "changedAt", "changedBy"} <= set(before[0])
    base = session.history.version(NS, ID)
    session.writing.save(NS, ID, base, put(base.content or b"", customer="Ida Holm"))
    panel.follow()
    idle()
    assert _shape(panel) == before
    assert panel.head.now.said == "v2 in the database"
    _type(panel, "sent")
    assert get(panel.content, "status").python() == "sent"
    assert get(panel.content, "customer").python() == "Nora Fink"


def _without(*names: str) -> Callable[[bytes], bytes]:
    def change(content: bytes) -> bytes:
        return canonical.document([pair for pair in canonical.fields(content) if pair[0] not in names])

    return change


def _in_front(content: bytes) -> bytes:
    first = [(f"added {n}", Value.of(n)) for n in range(12)]
    return canonical.document([*first, *canonical.fields(content)])


def _turned(content: bytes) -> bytes:
    return canonical.document(reversed(canonical.fields(content)))


def _another_name(content: bytes) -> bytes:
    return canonical.document(
        [("notes" if name == "status" else name, value) for name, value in canonical.fields(content) if name != "notes"]
    )


@pytest.mark.parametrize(
    "change", [_without("product", "holder"), _in_front, _turned], ids=["removed", "added", "reordered"]
)
def test_the_chosen_field_stays_chosen_as_a_version_comes_that_has_it_elsewhere(
    opened: Open, desk: Desk, idle: Callable[[], None], change: Callable[[bytes], bytes]
) -> None:
    panel = opened(desk)
    panel.tree.expand(panel.model.find(("billing",), 0))
    panel.tree.expand(panel.model.find(("holder",), 0))
    panel.tree.setCurrentIndex(panel.model.find(("billing", "iban")))
    panel.tree.scrollTo(panel.tree.currentIndex(), panel.tree.ScrollHint.PositionAtCenter)
    panel.resize(panel.width(), 400)
    before = panel.tree.visualRect(panel.tree.currentIndex()).top()
    desk.move(change)
    panel.follow()
    idle()
    assert panel.tree.currentIndex() == panel.model.find(("billing", "iban"))
    assert panel.tree.isExpanded(panel.model.find(("billing",), 0))
    if change is not _turned:
        assert panel.tree.visualRect(panel.tree.currentIndex()).top() == before
    _type(panel, "DE00")
    assert get(panel.content, "billing", "iban").python() == "DE00"


@pytest.mark.parametrize("change", [_without("status"), _another_name], ids=["removed", "renamed"])
def test_nothing_is_typed_beside_a_field_that_another_program_took_away(
    opened: Open, desk: Desk, idle: Callable[[], None], change: Callable[[bytes], bytes]
) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("status",)))
    desk.move(change)
    panel.follow()
    idle()
    assert not panel.tree.currentIndex().isValid()
    _type(panel, "notes")
    assert not panel.is_dirty
    assert panel.content == desk.content
    QTest.keyClick(panel.tree, Qt.Key.Key_Down)
    chosen = panel.model.node(panel.tree.currentIndex())
    assert chosen is not None
    assert panel.model.path(chosen) in {("product",), ("notes",)}


def test_a_list_in_the_place_of_an_object_has_none_of_its_fields(
    opened: Open, desk: Desk, idle: Callable[[], None]
) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("billing", "iban")))
    desk.move(lambda content: canonical.put(content, ("billing",), canonical.array(map(Value.of, "abcd"))))
    panel.follow()
    idle()
    _type(panel, "DE00")
    assert panel.content == desk.content


def test_letters_on_a_field_that_cannot_be_typed_into_choose_no_other(opened: Open, desk: Desk) -> None:
    panel = opened(desk)
    panel.tree.setCurrentIndex(panel.model.find(("v",), FIELD))
    _type(panel, "notes")
    assert not panel.is_dirty
    assert panel.tree.currentIndex() == panel.model.find(("v",), FIELD)
