"""The draft as JSON: exact in both notations, with characters that text widgets tend to change, and at any size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from bson import Int64
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui.style import theme
from gui.views.edit.editor_parts import BOTH, JSON, TREE
from gui.views.edit.json_view import JsonView, taken, written
from gui.views.edit.outline import outline, parts
from model import text
from model.errors import Refused
from model.values import canonical
from model.values.canonical import Path, Value
from tests.gui.document_scenes import ID, NS, Desk
from tests.gui.field_support import Open, type_into

CONTROL_SHIFT = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier

ODD = "no\u00a0break\u2028line\u2029paragraph\ufdd0\ufdd1\ufffcobject\ttab\r\nreturn\x00nul \U0001f9fe"

EVERY_TYPE = text.loose(
    """{
    d: {$numberDouble: "-0.0"}, s: "x", o: {a: 1}, l: [1, NumberLong("2")], b: BinData(0, "AAE="), n: null, t: true,
    i: ObjectId("65f0a1c29b1e8a0012c4d7aa"), w: ISODate("1969-12-31T23:59:59.999Z"), r: /a/i, u: {$undefined: true},
    c: {$code: "f"}, y: {$symbol: "s"}, x: {$code: "f", $scope: {z: NumberLong("1")}}, n32: 5, ts: Timestamp(1, 2),
    n64: NumberLong("5"), e: NumberDecimal("1.00"), whole: {$numberDouble: "5.0"}, lo: MinKey, hi: MaxKey
}"""
)


@pytest.fixture
def view(qtbot: QtBot) -> JsonView:
    made = JsonView()
    qtbot.addWidget(made)
    made.resize(600, 400)
    made.show()
    return made


@pytest.mark.parametrize("relaxed", [False, True])
def test_what_is_written_and_taken_again_is_the_same_document(relaxed: bool) -> None:
    for content in (EVERY_TYPE, canonical.EMPTY, canonical.document([(ODD.replace("\0", ""), Value.of(ODD))])):
        assert taken(written(content, relaxed), content, relaxed) == content


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_change_leaves_every_other_type_as_it_is(relaxed: bool) -> None:
    typed = written(EVERY_TYPE, relaxed).replace('"s": "x"', '"s": "y"')
    assert taken(typed, EVERY_TYPE, relaxed) == canonical.put(EVERY_TYPE, ("s",), Value.of("y"))


def test_the_editor_keeps_characters_that_a_text_widget_would_change(view: JsonView, qtbot: QtBot) -> None:
    content = canonical.document([("s", Value.of(ODD)), ("n", Value.of(1))])
    view.show_content(content)
    seen: list[bytes] = []
    view.edited.connect(seen.append)
    view.text.setPlainText(view.text.typed().replace('"1"', '"2"'))
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [canonical.put(content, ("n",), Value.of(2))]


def test_an_error_goes_away_once_the_text_is_a_document_again(view: JsonView, qtbot: QtBot) -> None:
    view.show_content(EVERY_TYPE)
    whole = view.text.typed()
    view.text.setPlainText(whole + "}")
    qtbot.waitUntil(lambda: bool(view.error))
    assert view.text.error_marks
    view.go_to_error()
    assert view.text.textCursor().blockNumber() > 20
    view.text.setPlainText(whole)
    qtbot.waitUntil(lambda: not view.error)
    assert not view.line.isVisible()
    assert not view.text.error_marks


def test_a_whole_document_that_is_pasted_leaves_out_the_layouts_own_fields_if_they_are_as_they_were(
    view: JsonView, qtbot: QtBot
) -> None:
    content, seen = canonical.encode({"a": 1}), list[bytes]()
    view.set_locked([("_id", Value.of("K-1")), ("v", Value.of(6))])
    view.show_content(content)
    view.edited.connect(seen.append)
    view.text.setPlainText('{"_id": "K-1", "v": {"$numberInt": "6"}, "a": {"$numberInt": "2"}}')
    qtbot.waitUntil(lambda: bool(seen))
    assert seen == [canonical.encode({"a": 2})]
    view.text.setPlainText('{"_id": "K-1", "v": {"$numberInt": "5"}, "a": {"$numberInt": "3"}}')
    qtbot.waitUntil(lambda: bool(view.error))
    assert view.line.text() == "v is the layout's own field: leave it out, or as it is."
    assert seen == [canonical.encode({"a": 2})]
    view.text.setPlainText('{"a": {"$numberInt": "3"}, "o": {"v": "deeper it is content"}}')
    qtbot.waitUntil(lambda: not view.error)
    assert seen[1:] == [canonical.encode({"a": 3, "o": {"v": "deeper it is content"}})]


@pytest.mark.deep
def test_the_stored_document_pasted_over_the_text_of_the_editor_changes_nothing(
    qtbot: QtBot, desk: Desk, opened: Open
) -> None:
    panel = opened(desk)
    panel.show_view(JSON)
    stored = desk.as_session().history.version(NS, ID).raw
    assert stored is not None
    panel.json.text.setPlainText(text.to_text(stored))
    panel.json.flush(wait=True)
    assert panel.json.error == ""
    assert not panel.is_dirty


def test_a_text_that_stands_for_the_content_is_not_written_anew(view: JsonView, qtbot: QtBot) -> None:
    view.show_content(EVERY_TYPE)
    mine = text.to_text(EVERY_TYPE)
    view.text.setPlainText(mine)
    view.flush()
    view.show_content(EVERY_TYPE)
    assert view.text.typed() == mine


def test_text_that_was_never_written_is_forgotten_too(view: JsonView) -> None:
    view.forget_text()
    view.show_content(EVERY_TYPE)
    assert view.text.typed() == written(EVERY_TYPE, relaxed=False)


@pytest.mark.parametrize("content", [None, canonical.document([("a", Value.of(1))])])
def test_other_colours_are_no_typing(view: JsonView, content: bytes | None) -> None:
    if content is not None:
        view.show_content(content)
    for scheme in ("dark", "light"):
        theme.apply(scheme)
        assert not view.is_typing
        view.flush()
        assert view.error == ""


@pytest.mark.parametrize("long", [0, pytest.param(200_000, marks=pytest.mark.deep)])
def test_the_other_notation_chosen_while_typing_leaves_what_is_typed_and_every_type(
    long: int, view: JsonView, qtbot: QtBot
) -> None:
    content = canonical.put(EVERY_TYPE, ("t",), Value.of("x" * long))
    typed = canonical.put(content, ("s",), Value.of("y"))
    for notation in (1, 0):
        view.show_content(content)
        view.notations.button(notation ^ 1).setChecked(True)
        qtbot.waitUntil(lambda notation=notation: view.text.typed() == written(content, not notation))
        view.text.setPlainText(view.text.typed().replace('"s": "x"', '"s": "y"'))
        with qtbot.waitSignal(view.edited) as seen:
            view.notations.button(notation).setChecked(True)
        assert seen.args == [typed]
        qtbot.waitUntil(lambda notation=notation: view.text.typed() == written(typed, bool(notation)))
        view.forget_text()
        view.show_content(content)


@pytest.mark.deep
def test_a_huge_document_is_written_only_when_asked_for(view: JsonView, qtbot: QtBot, idle: Callable[[], None]) -> None:
    content = canonical.document([("s", Value.of("x" * (1 << 21)))])
    view.show_content(content)
    assert not view.text.isVisible()
    view._load_anyway()
    idle()
    assert text.from_text(view.text.typed()) == content


def test_enter_keeps_the_indentation(view: JsonView) -> None:
    view.show_content(text.loose("{a: {b: 1}}"))
    cursor = view.text.textCursor()
    cursor.setPosition(view.text.typed().index("{", 3) + 1)
    view.text.setTextCursor(cursor)
    QTest.keyClick(view.text, Qt.Key.Key_Return)
    assert view.text.textCursor().positionInBlock() == 4


def test_text_that_is_no_document_is_refused_with_its_place() -> None:
    with pytest.raises(Refused, match="ine 2, column"):
        taken('{\n  "a": ,\n}', canonical.EMPTY, False)


WRITTEN = """{
  "status": "active",
  "holder": {
    "id": {"$oid": "65f0a1c29b1e8a0012c4d7aa"},
    "na\\"me": "Marta"
  },
  "riders": [
    {
      "code": "GLASS"
    },
    {"$numberInt": "2"}
  ]
}"""


def test_every_place_of_the_text_belongs_to_a_field() -> None:
    found = outline(WRITTEN)

    def at(words: str) -> Path:
        return found.path_at(WRITTEN.index(words))

    assert at('"active"') == ("status",)
    assert at("65f0") == ("holder", "id")
    assert at("Marta") == ("holder", 'na"me')
    assert at("GLASS") == ("riders", 0, "code")
    assert at("numberInt") == ("riders", 1)
    assert WRITTEN[found.place_of(("riders", 0, "code")) :].startswith('"code"')
    assert found.place_of(("riders", 1, "not", "there")) == WRITTEN.index('{"$numberInt')
    assert found.folds == {0: 12, 2: 5, 6: 11, 7: 9}


@pytest.mark.parametrize("cut", range(0, len(WRITTEN), 7))
def test_text_that_is_not_whole_has_an_outline_as_far_as_it_goes(cut: int) -> None:
    found = outline(WRITTEN[:cut])
    assert list(found.starts) == sorted(found.starts)
    assert all(first < last for first, last in found.folds.items())


def test_containers_fold_and_show_themselves_where_the_cursor_goes(view: JsonView, qtbot: QtBot) -> None:
    view.show_content(text.from_text('{"a": {"b": 1, "c": 2}, "d": [1, 2, 3]}'))
    view.text.read_outline()
    cursor = view.text.textCursor()
    cursor.setPosition(view.text.typed().index('"c"'))
    view.text.setTextCursor(cursor)
    whole = view.text.typed()
    QTest.keyClick(view.text, Qt.Key.Key_BracketLeft, CONTROL_SHIFT)
    assert view.text.is_folded(1)
    assert view.text.textCursor().blockNumber() == 1
    assert view.text.typed() == whole
    assert not view.is_typing
    QTest.keyClick(view.text, Qt.Key.Key_BracketRight, CONTROL_SHIFT)
    assert not view.text.is_folded(1)
    view.text.fold(1, True)
    view.text.go_to(("a", "c"))
    assert not view.text.is_folded(1)
    gutter = view.text.findChild(QWidget, "gutter")
    assert gutter is not None
    row = view.text.cursorRect().height()
    QTest.mouseClick(gutter, Qt.MouseButton.LeftButton, pos=QPoint(4, round(row * 1.5) + 4))
    assert view.text.is_folded(1)


def test_line_numbers_end_above_the_scroll_bar(view: JsonView, qtbot: QtBot) -> None:
    view.show_content(canonical.document([(f"field{at}", Value.of("long " * 99)) for at in range(50)]))
    bar, gutter = view.text.horizontalScrollBar(), view.text.findChild(QWidget, "gutter")
    qtbot.waitUntil(bar.isVisible)
    assert gutter.geometry().bottom() < bar.mapTo(view.text, QPoint()).y()


def test_names_strings_and_wrappers_have_inks_of_their_own() -> None:
    kinds = [(WRITTEN.splitlines()[3][a : a + n], kind) for a, n, kind in parts(WRITTEN.splitlines()[3])]
    assert ('"id"', "name") in kinds
    assert ('"$oid"', "wrapper") in kinds
    assert ('"65f0a1c29b1e8a0012c4d7aa"', "string") in kinds


def test_tree_and_json_stand_side_by_side_and_go_together(desk: Desk, opened: Open, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.show_view(BOTH)
    assert panel.tree.isVisible()
    assert panel.json.isVisible()
    panel.reveal(("holder", "phone"))
    here = panel.json.text
    assert here.textCursor().block().text().strip().startswith('"phone"')
    here.setFocus()
    cursor = here.textCursor()
    cursor.setPosition(here.typed().index('"interval"') + 3)
    here.setTextCursor(cursor)
    node = panel.model.node(panel.tree.currentIndex())
    assert node is not None
    assert panel.model.path(node) == ("billing", "interval")
    assert here.hasFocus()
    type_into(panel, ("status",), "lapsed")
    assert '"status": "lapsed"' in here.typed()
    here.setFocus()
    here.setPlainText(here.typed().replace('"lapsed"', '"gone"'))
    qtbot.waitUntil(lambda: canonical.get(panel.content, ("status",)) == Value.of("gone"))
    panel.tree.setFocus()
    panel.undo()
    assert '"status": "lapsed"' in here.typed()


def test_tree_and_json_come_into_sight_at_the_field_of_the_other(desk: Desk, opened: Open, qtbot: QtBot) -> None:
    panel = opened(desk)
    here = panel.json.text
    panel.reveal(("holder", "phone"))
    for which in (JSON, BOTH):
        panel.show_view(TREE)
        panel.show_view(which)
        assert here.path == ("holder", "phone")
    panel.show_view(JSON)
    cursor = here.textCursor()
    cursor.setPosition(here.typed().index('"interval"') + 3)
    here.setTextCursor(cursor)
    panel.show_view(TREE)
    node = panel.model.node(panel.tree.currentIndex())
    assert node is not None
    assert panel.model.path(node) == ("billing", "interval")


def test_a_field_that_the_cursor_came_to_right_after_typing_is_chosen_in_the_tree(
    desk: Desk, opened: Open, qtbot: QtBot
) -> None:
    panel = opened(desk)
    panel.show_view(BOTH)
    here = panel.json.text
    here.setFocus()
    here.setPlainText(here.typed().replace("monthly", "yearly"))
    cursor = here.textCursor()
    cursor.setPosition(here.typed().index('"phone"') + 3)
    here.setTextCursor(cursor)
    wanted = panel.model.find(("holder", "phone"))
    qtbot.waitUntil(lambda: panel.tree.currentIndex().siblingAtColumn(0) == wanted.siblingAtColumn(0))


def test_the_texts_own_undo_goes_back_over_edits_in_the_tree(desk: Desk, opened: Open, qtbot: QtBot) -> None:
    panel = opened(desk)
    panel.show_view(BOTH)
    here = panel.json.text
    here.setFocus()
    before, phone = panel.content, ("holder", "phone")
    cursor = here.textCursor()
    cursor.setPosition(here.typed().index('"active"') + 1)
    here.setTextCursor(cursor)
    QTest.keyClicks(here, "in")
    qtbot.waitUntil(lambda: canonical.get(panel.content, ("status",)) == Value.of("inactive"))
    typed = panel.content
    panel.json.text.read_outline()
    folded = here.outline.place_of(("period",))
    assert folded is not None
    line = here.document().findBlock(folded).blockNumber()
    here.fold(line, True)
    type_into(panel, phone, "7")
    both = panel.content
    assert '"phone": "7"' in here.typed()
    here.read_outline()
    assert here.is_folded(line)
    here.setFocus()
    for wanted in (typed, before):
        panel.undo()
        qtbot.waitUntil(lambda wanted=wanted: panel.content == wanted)  # type: ignore[misc]
    for wanted in (typed, both):
        panel.redo()
        qtbot.waitUntil(lambda wanted=wanted: panel.content == wanted)  # type: ignore[misc]


def test_undo_in_relaxed_notation_gives_a_number_its_type_back(view: JsonView, qtbot: QtBot) -> None:
    long = canonical.document([("n", Value.of(Int64(5))), ("s", Value.of("\U0001f9fe"))])
    view.notations.button(1).click()
    view.show_content(long)
    view.text.moveCursor(QTextCursor.MoveOperation.Start)
    cursor = view.text.textCursor()
    cursor.setPosition(view.text.typed().index('"s"') + 1)
    view.text.setTextCursor(cursor)
    QTest.keyClicks(view.text, "x")
    with qtbot.waitSignal(view.edited):
        pass
    typed = canonical.document([("n", Value.of(Int64(5))), ("xs", Value.of("\U0001f9fe"))])
    view.show_content(canonical.put(typed, ("n",), Value.of("five")))
    made: list[bytes] = []
    view.edited.connect(made.append)
    for _ in range(2):
        view.text.undo()
        view.flush()
    assert made == [typed, long]


def test_a_newer_version_is_no_step_of_the_texts_own_undo(view: JsonView) -> None:
    view.show_content(canonical.document([("n", Value.of(1))]))
    view.show_content(canonical.document([("n", Value.of(2))]), afresh=True)
    assert not view.text.document().isUndoAvailable()


def test_a_newer_version_leaves_the_cursor_in_its_field_and_in_no_other(view: JsonView, qtbot: QtBot) -> None:
    def put(**fields: object) -> None:
        made = canonical.document([(name, Value.of(value)) for name, value in fields.items()])
        view.show_content(made, afresh=True)

    put(first="one", status="open")
    cursor = view.text.textCursor()
    cursor.setPosition(view.text.typed().index("open") + 2)
    view.text.setTextCursor(cursor)
    put(added="x", first="two", status="open")
    QTest.keyClicks(view.text, "-")
    assert '"status": "op-en"' in view.text.typed()
    view.forget_text()
    put(added="x", first="two")
    assert view.text.textCursor().position() == 0
