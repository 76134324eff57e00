"""A row of parts that continues on another line if there is no room."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QApplication, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.style import boxes
from gui.style.giving_way import GivingWay
from gui.style.states import button, words


def _row(qtbot: QtBot, *widths: int) -> tuple[QWidget, list[QWidget]]:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8)
    made = []
    for wide in widths:
        part = QWidget(owner)
        part.setFixedSize(wide, 20)
        row.addWidget(part)
        made.append(part)
    return owner, made


def test_parts_stand_in_one_line_where_there_is_room_and_in_two_where_there_is_not(qtbot: QtBot) -> None:
    owner, (first, second, third) = _row(qtbot, 100, 100, 100)
    owner.resize(400, 60)
    owner.show()
    qtbot.waitUntil(lambda: first.x() == 0 and second.x() == 108 and third.x() == 216)
    assert first.y() == second.y() == third.y()
    owner.resize(230, 60)
    qtbot.waitUntil(lambda: third.x() == 0)
    assert third.y() == first.y() + 28
    assert second.y() == first.y()


def test_a_column_around_it_gives_the_further_line_its_height(qtbot: QtBot) -> None:
    row, parts = _row(qtbot, 100, 100, 100)
    outer = QWidget()
    qtbot.addWidget(outer)
    column = QVBoxLayout(outer)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(row)
    below = QWidget()
    column.addWidget(below, 1)
    outer.resize(400, 200)
    outer.show()
    qtbot.waitUntil(lambda: row.height() == 20)
    outer.resize(120, 200)
    qtbot.waitUntil(lambda: row.height() == 3 * 20 + 2 * 8)
    assert [part.y() for part in parts] == [0, 28, 56]
    outer.resize(400, 200)
    qtbot.waitUntil(lambda: row.height() == 20)


def test_a_further_line_gets_and_loses_its_height_before_anything_is_drawn(qtbot: QtBot) -> None:
    row, _ = _row(qtbot, 100, 100, 100)
    outer = QWidget()
    qtbot.addWidget(outer)
    column = QVBoxLayout(outer)
    column.setContentsMargins(0, 0, 0, 0)
    column.addWidget(row)
    column.addWidget(QWidget(), 1)
    outer.resize(400, 200)
    outer.show()
    for width, height in ((120, 3 * 20 + 2 * 8), (400, 20)):
        outer.resize(width, 200)
        QApplication.sendPostedEvents()
        assert row.height() == height


def test_room_that_nobody_needs_goes_to_the_part_with_a_share(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=10)
    left, right = QWidget(), QWidget()
    right.setFixedSize(50, 20)
    left.setMinimumSize(40, 20)
    row.addWidget(left, 1)
    row.addSpacing(5)
    row.addWidget(right)
    owner.resize(300, 20)
    owner.show()
    qtbot.waitUntil(lambda: right.x() == 250)
    assert left.width() == 300 - 50 - 10 - 5


def test_hidden_parts_take_no_room(qtbot: QtBot) -> None:
    owner, (first, second, third) = _row(qtbot, 100, 100, 100)
    owner.resize(230, 60)
    owner.show()
    qtbot.waitUntil(lambda: third.y() > first.y())
    second.hide()
    qtbot.waitUntil(lambda: third.x() == 108 and third.y() == first.y())


def test_each_part_is_asked_a_few_times_however_many_there_are(qtbot: QtBot) -> None:
    asked: list[QWidget] = []

    class Part(QWidget):
        def minimumSizeHint(self) -> QSize:
            asked.append(self)
            return QSize(40, 20)

    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8)
    parts = [Part() for _ in range(20)]
    for part in parts:
        row.addWidget(part)
    owner.resize(300, 100)
    owner.show()
    qtbot.waitUntil(lambda: parts[-1].y() > 0)
    asked.clear()
    row.minimumSize()
    assert len(asked) <= 4 * len(parts)


def test_words_that_wrap_in_a_narrow_row_make_it_as_high_as_they_are(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8)
    said = words("Every write from this computer, as it was noted before it was sent, with its outcome", wrap=True)
    said.setMinimumWidth(120)
    row.addWidget(said, 1)
    beside = QWidget()
    beside.setFixedSize(80, 20)
    row.addWidget(beside)
    owner.resize(900, 400)
    owner.show()
    qtbot.waitUntil(lambda: said.width() > 400)
    low = owner.minimumSizeHint().height()
    owner.resize(220, 400)
    qtbot.waitUntil(lambda: said.width() < 140)
    assert said.height() >= said.heightForWidth(said.width()) > low
    assert owner.minimumSizeHint().height() >= said.height()
    assert beside.x() > said.geometry().right()


def test_parts_at_the_right_end_are_there_in_a_further_line_too(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8)
    left, *right = (QWidget() for _ in range(4))
    for part in (left, *right):
        part.setFixedSize(100, 20)
    row.addWidget(left)
    row.addStretch(1)
    for part in right:
        row.addWidget(part)
    owner.show()
    for width, places in ((150, [50, 50, 50]), (220, [120, 12, 120]), (330, [122, 230, 230])):
        owner.resize(width, 120)
        qtbot.waitUntil(lambda places=places: [part.x() for part in right] == places)
        assert left.x() == 0


def test_its_least_height_is_no_bound_for_further_lines(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8, least=40)
    for _ in range(3):
        part = QWidget(owner)
        part.setFixedSize(100, 20)
        row.addWidget(part)
    owner.resize(400, 200)
    owner.show()
    qtbot.waitUntil(lambda: owner.minimumSizeHint().height() == 40)
    owner.resize(120, 200)
    qtbot.waitUntil(lambda: owner.minimumSizeHint().height() == 3 * 20 + 2 * 8)


class _Asked(QWidget):
    """A part that counts how often it is asked for its size."""

    def __init__(self, owner: QWidget) -> None:
        super().__init__(owner)
        self.asked = 0
        self.wide = 100

    def sizeHint(self) -> QSize:
        self.asked += 1
        return QSize(self.wide, 20)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()


def test_parts_are_asked_for_their_sizes_again_only_after_one_of_them_changed(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner, x=0, y=0, gap=8)
    parts = [_Asked(owner) for _ in range(4)]
    for part in parts:
        row.addWidget(part)
    owner.resize(432, 60)
    owner.show()
    qtbot.waitUntil(lambda: parts[-1].x() == 324)
    row.sizeHint()
    before = [part.asked for part in parts]
    for width in (425, 424, 426, 440):
        row.setGeometry(QRect(0, 0, width, 60))
        assert (row.sizeHint().width(), row.minimumSize().width()) == (424, 100)
    assert [part.asked for part in parts] == [count + 4 * 2 for count in before]  # by Qt, as it places them
    parts[0].wide = 150
    parts[0].updateGeometry()
    qtbot.waitUntil(lambda: parts[-1].y() > parts[0].y())
    assert all(part.asked > count for part, count in zip(parts, before, strict=True))
    parts[1].hide()
    qtbot.waitUntil(lambda: parts[-1].y() == parts[0].y())


def test_texts_of_buttons_give_way_one_after_the_other_and_come_back(qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    row = boxes.wrapping(owner)
    first, second = (button(said, None, "small", icon="copy") for said in ("Compare the two", "Save the picture"))
    for each in (first, second):
        row.addWidget(each)
    owner.resize(600, 60)
    owner.show()
    GivingWay(owner, row, (first, ("Compare the two", "Compare")), (second, ("Save the picture", "")))
    seen = []
    for width in (*range(600, 100, -20), 600):
        owner.resize(width, 60)
        QApplication.sendPostedEvents()
        seen.append((first.text(), second.text()))
        assert row.in_one_line <= width or seen[-1] == ("Compare", "")
    assert list(dict.fromkeys(seen)) == [
        ("Compare the two", "Save the picture"), ("Compare the two", ""), ("Compare", ""),
    ]  # fmt: skip
    assert seen[-1] == seen[0]
