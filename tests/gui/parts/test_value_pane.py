"""Whole values: text and its differences, bytes, pictures, very large ones."""

from __future__ import annotations

import datetime as dt

import pytest
from bson import Binary
from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot

from gui.parts.values import value_pane, value_text
from gui.parts.values.value_pane import StoredDialog, ValuePane
from gui.tasks import tasks
from model import text
from model.errors import NotFound
from model.values.canonical import OBJECT, STRING, Value, encode


@pytest.fixture
def pane(qtbot: QtBot) -> ValuePane:
    made = ValuePane()
    qtbot.addWidget(made)
    made.resize(900, 300)
    made.show()
    return made


def test_the_parts_of_a_pane_are_made_when_it_is_first_shown(qtbot: QtBot) -> None:
    made = ValuePane()
    qtbot.addWidget(made)
    made.hide()
    assert made.findChildren(QWidget) == []
    made.show()
    assert made.sides.isVisible()


def settle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.running)


def picture(width: int, height: int, colour: str, kind: str = "PNG") -> bytes:
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(QColor(colour))
    kept = QByteArray()
    buffer = QBuffer(kept)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    image.save(buffer, kind)
    return kept.data()


def marked(old: str, new: str) -> tuple[list[str], list[str]]:
    left, right = value_text.read_pair(Value.of(old), Value.of(new), "UTC")
    assert left is not None
    assert right is not None
    return [left.text[a:b] for a, b in left.marks], [right.text[a:b] for a, b in right.marks]


def test_differing_words_are_marked_in_both_texts() -> None:
    assert marked("line one\nline two\nthe end", "line one\nline 2\nthe end") == (["two"], ["2"])
    assert marked("same", "same") == ([], [])
    assert marked("", "all") == ([], ["all"])
    assert marked("monthly", "quarterly") == (["monthly"], ["quarterly"])  # the words, and not what their ends share


def test_code_is_read_with_its_whole_scope() -> None:
    value = text.value_from_text('{"$code": "f(x)", "$scope": {"x": {"deep": "down"}}}')
    assert "down" in value_text.read(value, "UTC").text


def test_long_texts_are_marked_without_comparing_every_word() -> None:
    ends = "begin " * 20_000
    left, right = marked(f"{ends}old words{'x' * 300_000}", f"{ends}new ones{'x' * 300_000}")
    assert (left, right) == (["old", "word"], ["new", "one"])


def test_numbers_differ_from_the_first_other_digit_on() -> None:
    left, right = value_text.read_pair(Value.of(41280), Value.of(43860), "UTC")
    assert left is not None
    assert right is not None
    assert [(r.text, r.marks) for r in (left, right)] == [("41280", ((1, 5),)), ("43860", ((1, 5),))]


def test_bytes_are_a_dump_with_the_differing_ones_marked() -> None:
    left, right = value_text.read_pair(Value.of(bytes(range(20))), Value.of(bytes([*range(19), 65])), "UTC")
    assert left is not None
    assert right is not None
    assert right.text.splitlines()[0] == "00000000  00 01 02 03 04 05 06 07  ........"
    assert [right.text[a:b] for a, b in right.marks] == ["41", "A"]
    assert [left.text[a:b] for a, b in left.marks] == ["13", "."]


def test_the_longer_binary_differs_in_what_it_has_more() -> None:
    _, right = value_text.read_pair(Value.of(b"ab"), Value.of(b"abcd"), "UTC")
    assert right is not None
    assert [right.text[a:b] for a, b in right.marks] == ["63", "64", "cd"]


def test_a_date_is_said_in_the_zone_and_in_utc() -> None:
    reading = value_text.read(Value.of(dt.datetime(2026, 11, 3, 9, 14, tzinfo=dt.UTC)), "Europe/Berlin")
    assert reading.text == "2026-11-03 10:14 CET\n2026-11-03 09:14 UTC"


@pytest.mark.parametrize("odd", ["😀😀 ", "one\r\ntwo\r\n", "\r\n😀\r\n", "a\rb\u2028c\x00", "e\u0301", ""])
def test_marks_lie_on_what_differs_whatever_stands_before_it(pane: ValuePane, qtbot: QtBot, odd: str) -> None:
    pane.show_pair("t", Value.of(f"{odd} good old {odd} day"), Value.of(f"{odd} good new {odd} night"))
    settle(qtbot)
    seen = [
        [one.cursor.selectedText() for one in side.text.extraSelections()]
        for side in (pane.sides.left, pane.sides.right)
    ]
    assert seen == [["old", "day"], ["new", "night"]]


def test_a_line_break_between_two_pieces_of_a_long_text_moves_no_mark(pane: ValuePane, qtbot: QtBot) -> None:
    long = "x" * 99 + "\n"
    lead = (long * (value_pane.PIECE // 100 + 1))[: value_pane.PIECE - 1] + "\r\n"
    pane.show_pair("t", Value.of(f"{lead}the old day"), Value.of(f"{lead}the new day"))
    settle(qtbot)
    qtbot.waitUntil(lambda: bool(pane.sides.left.text.extraSelections()))
    assert [one.cursor.selectedText() for one in pane.sides.left.text.extraSelections()] == ["old"]


@pytest.mark.parametrize("lead", ["", "😀\n", "é\n\n"])
def test_a_selection_is_copied_without_the_breaks_of_the_view(pane: ValuePane, qtbot: QtBot, lead: str) -> None:
    text = lead + "x" * 5000 + "\nlast 😀 line"
    pane.show_value("t", Value.of(text))
    settle(qtbot)
    view = pane.sides.left.text
    assert view.document().blockCount() > text.count("\n") + 1
    view.selectAll()
    view.copy()
    assert QGuiApplication.clipboard().text() == text
    view.setTextCursor(view.document().find("last 😀"))
    view.copy()
    assert QGuiApplication.clipboard().text() == "last 😀"


def test_what_cannot_be_read_is_not_shown_or_copied_as_the_value_before(pane: ValuePane, qtbot: QtBot) -> None:
    broken = Value(OBJECT, b"\x0c\x00\x00\x00\x02s\x00\xe8\x03\x00\x00\x00")
    pane.show_pair("first", Value.of("one"), Value.of("two"))
    settle(qtbot)
    pane.show_pair("second", broken, Value.of("three"))
    assert pane.sides.title.text() == "first"  # until the values are there too
    settle(qtbot)
    assert pane.sides.title.text() == "second"
    assert "extends beyond the document" in pane.sides.left.caption.text()
    assert not pane.sides.left.copy.isVisible()
    assert pane.sides.left.text.toPlainText() == ""
    assert pane.sides.right.text.toPlainText() == "three"


def test_containers_are_indented_extended_json() -> None:
    assert value_text.read(Value.of({"a": [1]}), "UTC").text.splitlines()[0] == "{"


def test_half_characters_do_not_stop_the_reading() -> None:
    reading = value_text.read(Value(STRING, b"\x04\x00\x00\x00a\xffb\x00"), "UTC")
    assert reading.text == "a?b"


def test_lines_are_broken_where_a_view_would_take_too_long() -> None:
    reading = value_text.read(Value.of("x" * 10_000), "UTC")
    assert [len(line) for line in reading.text.split("\u2029")] == [value_text.LONGEST] * 5
    assert reading.text.replace("\u2029", "") == "x" * 10_000


def test_long_lines_of_words_are_broken_between_two_words() -> None:
    words = " ".join(f"word{number}" for number in range(2000))
    pieces = value_text.read(Value.of(words), "UTC").text.split("\u2029")
    assert "".join(pieces) == words
    assert {piece[-1] for piece in pieces[:-1]} == {" "}
    assert all(value_text.LONGEST / 2 < len(piece) <= value_text.LONGEST for piece in pieces[:-1])


def test_above_a_megabyte_only_the_size_is_said_until_asked(pane: ValuePane, qtbot: QtBot) -> None:
    text = "word " * 300_000
    pane.show_value("notes", Value.of(text))
    settle(qtbot)
    assert pane.sides.left.load.isVisible()
    assert pane.sides.left.large_words.text() == "String, 1.4 MB. Showing it takes a moment."
    pane.sides.left.load.click()
    settle(qtbot)
    qtbot.waitUntil(lambda: len(pane.sides.left.text.toPlainText()) >= len(text))
    assert pane.sides.left.text.isVisible()


def test_copy_gives_the_value_and_not_its_looks(pane: ValuePane, qtbot: QtBot) -> None:
    pane.show_pair("t", Value.of("one\ntwo"), Value.of(5))
    settle(qtbot)
    pane.sides.left.copy.click()
    assert QGuiApplication.clipboard().text() == "one\ntwo"
    pane.sides.right.copy.click()
    assert QGuiApplication.clipboard().text() == '{"$numberInt": "5"}'


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_pictures_are_shown_as_pictures_and_as_bytes(pane: ValuePane, qtbot: QtBot, kind: str) -> None:
    pane.show_value("photo", Value.of(Binary(picture(320, 200, "teal", kind))))
    settle(qtbot)
    assert pane.sides.left.picture.isVisible()
    assert "picture of 320 × 200" in pane.sides.left.caption.text()
    pane.sides.left.as_hex.click()
    assert pane.sides.left.text.isVisible()
    assert pane.sides.left.text.toPlainText().startswith("00000000  ")
    pane.sides.left.as_hex.click()
    assert pane.sides.left.picture.isVisible()
    pane.grab()


GIF = bytes.fromhex("47494638396102000200800000ff0000ffffff2c00000000020002000002028451003b")


def test_two_pictures_stand_side_by_side(pane: ValuePane, qtbot: QtBot) -> None:
    pane.show_pair("photo", Value.of(Binary(picture(32, 20, "teal"))), Value.of(Binary(GIF)))
    settle(qtbot)
    assert pane.sides.left.picture.isVisible()
    assert pane.sides.right.picture.isVisible()
    assert "picture of 2 × 2" in pane.sides.right.caption.text()
    pane.sides.right.as_hex.click()
    assert pane.sides.right.text.isVisible()
    assert pane.sides.right.text.toPlainText().startswith("00000000  47 49 46")


def test_what_only_begins_like_a_picture_is_bytes(pane: ValuePane, qtbot: QtBot) -> None:
    pane.show_value("photo", Value.of(Binary(b"\x89PNG\r\n\x1a\n broken")))
    settle(qtbot)
    assert pane.sides.left.text.isVisible()
    assert not pane.sides.left.as_hex.isVisible()


def test_huge_pictures_are_scaled_down() -> None:
    image = value_text.picture_of(picture(5000, 1000, "teal"))
    assert image is not None
    assert (image.width(), image.height()) == (2048, 409)


def test_a_picture_that_is_one_long_line_is_one_too() -> None:
    image = value_text.picture_of(picture(1, 5000, "teal"))
    assert image is not None
    assert (image.width(), image.height()) == (1, value_text.PICTURE)


def test_the_absent_side_is_named(pane: ValuePane, qtbot: QtBot) -> None:
    pane.show_pair("x", None, Value.of(1), "addS", ("A  v1", "B  v2"))
    settle(qtbot)
    assert pane.sides.left.caption.text() == "A  v1   absent"
    assert not pane.sides.left.copy.isVisible()
    assert pane.sides.right.caption.text() == "B  v2   Int32"


def test_escape_closes(pane: ValuePane, qtbot: QtBot) -> None:
    with qtbot.waitSignal(pane.closed):
        qtbot.keyClick(pane, Qt.Key.Key_Escape)


def test_the_stored_document_opens_in_a_dialog(qtbot: QtBot) -> None:
    dialog = StoredDialog("K-1, v2, as stored")
    qtbot.addWidget(dialog)
    dialog.open()
    dialog.show_raw(encode({"_id": 1, "v": 2}))
    settle(qtbot)
    assert '"v": {"$numberInt": "2"}' in dialog.pane.sides.left.text.toPlainText().replace("\n", " ").replace("  ", " ")
    dialog.show_error(NotFound("There is no version 2 any more; refresh the list."))
    assert dialog.stack.state.help == "There is no version 2 any more; refresh the list."


def test_two_long_texts_scroll_as_one_with_what_belongs_together_side_by_side(pane: ValuePane, qtbot: QtBot) -> None:
    old = [f"line {number}" for number in range(200)]
    new = [*old[:50], *(f"this is new {number}" for number in range(30)), *old[50:120], "here", *old[121:]]
    pane.show_pair("t", Value.of("\n".join(old)), Value.of("\n".join(new)))
    settle(qtbot)
    left, right = pane.sides.left.text, pane.sides.right.text

    def tops() -> tuple[str, str]:
        found = [side.document().findBlock(side.top).text() for side in (left, right)]
        return found[0], found[1]

    left.verticalScrollBar().setValue(20)
    assert tops() == ("line 20", "line 20")
    left.verticalScrollBar().setValue(100)
    assert tops() == ("line 100", "line 100")
    right.verticalScrollBar().setValue(60)
    assert tops() == ("line 50", "this is new 10")
    left.verticalScrollBar().setValue(left.verticalScrollBar().maximum())
    assert right.verticalScrollBar().value() == right.verticalScrollBar().maximum()


def test_the_differences_of_a_long_text_are_gone_through(pane: ValuePane, qtbot: QtBot) -> None:
    old = [f"line {number}" for number in range(200)]
    new = [*old[:50], "new", *old[50:120], "other", *old[121:]]
    pane.show_pair("t", Value.of("\n".join(old)), Value.of("\n".join(new)))
    settle(qtbot)
    assert pane.sides.count.text() == "Difference 1 of 2"
    assert not pane.sides.up.isEnabled()
    pane.sides.down.click()
    assert pane.sides.count.text() == "Difference 2 of 2"
    assert not pane.sides.down.isEnabled()
    for side, word in ((pane.sides.left.text, "line 120"), (pane.sides.right.text, "other")):
        assert side.textCursor().block().text() == word
        assert side.viewport().rect().contains(side.cursorRect())
    data = bytes(range(256))
    pane.show_pair("t", Value.of(Binary(data)), Value.of(Binary(bytes((9, 9)) + data[2:200] + b"!" + data[201:])))
    settle(qtbot)
    assert pane.sides.count.text() == "Difference 1 of 2"  # bytes, and the letters behind them, are one
    pane.show_pair("t", Value.of("one"), Value.of("two"))
    settle(qtbot)
    assert not pane.sides.down.isVisible()


def test_a_difference_far_into_a_long_text_is_gone_to_once_it_is_there(pane: ValuePane, qtbot: QtBot) -> None:
    lines = [f"line {number}" for number in range(40_000)]
    other = [*lines[:30_000], "here", *lines[30_000:35_000], "there", *lines[35_001:]]
    pane.show_pair("t", Value.of("\n".join(lines)), Value.of("\n".join(other)))
    settle(qtbot)
    qtbot.waitUntil(lambda: pane.sides.count.text() == "Difference 1 of 2")
    left, right = pane.sides.left.text, pane.sides.right.text
    qtbot.waitUntil(lambda: right.textCursor().block().text() == "here")
    assert left.textCursor().block().text() == "line 30000"  # nothing is marked there
    for side in (left, right):
        assert side.viewport().rect().contains(side.cursorRect())
