"""Messages that tell, fail, doubt and ask."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QListWidget, QMainWindow, QPushButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui import messages
from gui.messages import MessageArea, MessageLine
from gui.style import focus_ring, theme
from gui.style.states import Glyph
from model.errors import Refused


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    made = QMainWindow()
    centre = QWidget()
    column = QVBoxLayout(centre)
    column.addWidget(QPushButton("Save"))
    MessageArea(centre)
    made.setCentralWidget(centre)
    qtbot.addWidget(made)
    made.resize(800, 600)
    made.show()
    qtbot.waitExposed(made)
    return made


def lines(window: QWidget) -> list[MessageLine]:
    return messages.area(window).lines


def test_what_was_done_goes_after_its_time(window: QMainWindow, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(messages, "SECONDS", 0.05)
    line = messages.tell(window, "Saved as v15")
    line._timer.start(1)
    qtbot.waitUntil(lambda: not lines(window))


def test_a_message_stays_where_it_is_in_the_very_moment_that_another_one_comes(
    window: QMainWindow, qtbot: QtBot
) -> None:
    first = messages.note(window, "Something to act on.")
    qtbot.waitUntil(lambda: first.isVisible() and not first.geometry().isEmpty())
    before = first.mapTo(window, first.close_button.geometry().topLeft())
    messages.note(window, "Something else.")
    assert first.mapTo(window, first.close_button.geometry().topLeft()) == before


def test_a_line_waits_while_it_is_focused(window: QMainWindow, qtbot: QtBot) -> None:
    line = messages.tell(window, "Saved as v15", lambda: None)
    window.activateWindow()
    line.buttons[0].setFocus()
    line._time_is_up()
    assert lines(window) == [line]
    window.findChildren(QPushButton)[0].setFocus()
    line._time_is_up()
    assert not lines(window)


def test_a_message_lies_over_the_focus_ring_of_a_button_below_it(window: QMainWindow, qtbot: QtBot) -> None:
    focus_ring.install(QApplication.instance())  # type: ignore[arg-type]
    window.activateWindow()
    save = window.findChildren(QPushButton)[0]
    line = messages.tell(window, "Saved as v15")
    area = messages.area(window)
    save.move(area.x() + 20, area.y() - save.height() + 6)  # its lower edge is below the message
    place = QRect(area.mapTo(window, QPoint()), area.size())
    plain = window.grab(place).toImage()
    save.setFocus()
    ring = next(each for each in window.findChildren(QWidget) if type(each).__name__ == "_Ring" and each.isVisible())
    assert ring.geometry().intersects(place)
    assert window.grab(place).toImage() == plain
    line.leave()
    assert window.grab(place).toImage() != plain


def test_undo_is_called_once_and_takes_the_line_away(window: QMainWindow) -> None:
    undone: list[bool] = []
    line = messages.tell(window, "Saved as v15", lambda: undone.append(True))
    line.buttons[0].click()
    assert undone == [True]
    assert not lines(window)


def test_a_failure_stays_a_minute_in_front_and_its_details_can_be_copied(window: QMainWindow, qtbot: QtBot) -> None:
    line = messages.fail(window, Refused("The server said no; ask its keeper."))
    assert line.text == "The server said no; ask its keeper."
    assert [made.text() for made in line.buttons] == ["Copy details"]
    line.buttons[0].click()
    assert lines(window) == [line]
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    for _ in range(messages.FAILED_SECONDS // messages.STEP):
        line._time_is_up()
        assert lines(window) == [line]
    line._time_is_up()
    assert not lines(window)


def test_a_failure_waits_for_a_window_that_is_behind_another_one(window: QMainWindow, qtbot: QtBot) -> None:
    line = messages.fail(window, "The server said no.")
    other = QWidget()
    qtbot.addWidget(other)
    other.show()
    other.activateWindow()
    qtbot.waitUntil(other.isActiveWindow)
    for _ in range(2 * messages.FAILED_SECONDS // messages.STEP):
        line._time_is_up()
    assert lines(window) == [line]


def test_doubt_stays_when_other_messages_need_room(window: QMainWindow) -> None:
    doubt = messages.doubt(window, "It is not known whether v15 was saved", lambda: None, "691f")
    for number in range(6):
        messages.tell(window, f"Saved {number}")
    assert doubt in lines(window)
    assert len(lines(window)) == messages.MOST


def test_the_same_message_is_not_shown_twice(window: QMainWindow) -> None:
    for _ in range(3):
        messages.tell(window, "The id is copied")
    assert len(lines(window)) == 1


def test_no_message_moves_while_one_is_pointed_at(window: QMainWindow, monkeypatch: pytest.MonkeyPatch) -> None:
    messages.tell(window, "The id is copied")
    above = messages.tell(window, "v15 is saved")
    QApplication.processEvents()
    place = above.mapToGlobal(QPoint())
    monkeypatch.setattr(messages.MessageArea, "_pointed", True)
    messages.tell(window, "The id is copied")
    QApplication.processEvents()
    assert above.mapToGlobal(QPoint()) == place


def test_a_message_that_is_pointed_at_stays_while_the_sidebar_beside_it_unfolds(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    within = QWidget(host)
    host.resize(1400, 600)
    within.setGeometry(50, 0, 1350, 600)
    host.show()
    area = messages.MessageArea(host, lambda: within)
    line = area.add("done", "Saved as v15")
    middle = within.geometry().center().x()
    qtbot.waitUntil(lambda: abs(area.geometry().center().x() - middle) <= 1)
    at = line.close_button.mapToGlobal(line.close_button.rect().center())
    with monkeypatch.context() as patched:
        patched.setattr(QCursor, "pos", lambda: at)
        before = area.geometry()
        within.setGeometry(300, 0, 1100, 600)
        area.add("done", "Saved as v16")
        QApplication.processEvents()
        assert (area.x(), area.width()) == (before.x(), before.width())
    within.setGeometry(302, 0, 1098, 600)
    qtbot.waitUntil(lambda: abs(area.geometry().center().x() - within.geometry().center().x()) <= 1)


def test_at_the_top_a_further_message_lies_below_those_that_are_there(
    window: QMainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = messages.area(window)
    monkeypatch.setattr(QCursor, "pos", lambda: area._host.mapToGlobal(area._host.rect().center() + QPoint(0, 255)))
    first = messages.tell(window, "The id is copied")
    QApplication.processEvents()
    place = first.mapToGlobal(QPoint())
    assert area._host.mapFromGlobal(place).y() < 100
    monkeypatch.setattr(QCursor, "pos", lambda: first.close_button.mapToGlobal(QPoint(3, 3)))
    second = messages.tell(window, "v15 is saved")
    QApplication.processEvents()
    assert first.mapToGlobal(QPoint()) == place
    assert second.mapToGlobal(QPoint()).y() >= place.y() + first.height()
    assert (first.property("lowest"), second.property("lowest")) == (False, True)


def test_a_further_message_does_not_grow_over_what_the_mouse_is_at(
    window: QMainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    area = messages.area(window)
    monkeypatch.setattr(QCursor, "pos", lambda: area._host.mapToGlobal(QPoint()))
    first = messages.tell(window, "The id is copied")
    QApplication.processEvents()
    above = area._host.mapToGlobal(area.geometry().topLeft() + QPoint(20, -10))
    monkeypatch.setattr(QCursor, "pos", lambda: above)
    second = messages.tell(window, "v15 is saved")
    QApplication.processEvents()
    assert not area._pointed
    assert area.y() < 100
    assert second.y() >= first.geometry().bottom()
    assert (first.property("lowest"), second.property("lowest")) == (False, True)
    below = area._host.mapToGlobal(area.geometry().bottomLeft() + QPoint(20, 10))
    monkeypatch.setattr(QCursor, "pos", lambda: below)
    third = messages.tell(window, "v16 is saved")
    QApplication.processEvents()
    assert not area._pointed
    assert area.geometry().bottom() > area._host.height() - 100
    assert third.geometry().bottom() <= second.y()
    assert second.geometry().bottom() <= first.y()
    assert [each.property("lowest") for each in (first, second, third)] == [True, False, False]


def test_a_page_that_leaves_less_room_brings_no_message_over_what_the_mouse_is_at(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(1000, 600)
    within = QWidget(host)
    within.setGeometry(0, 0, 1000, 600)
    host.show()
    area = messages.MessageArea(host, lambda: within)
    area.add("done", "Saved as v15")
    at = host.mapToGlobal(QPoint(500, 450))
    monkeypatch.setattr(QCursor, "pos", lambda: at)
    place = area.geometry()
    within.resize(1000, 599)
    qtbot.waitUntil(lambda: area.geometry() != place)
    assert area.y() > 450
    within.resize(1000, 475)
    qtbot.waitUntil(lambda: area.y() < 450)
    assert not area._pointed
    assert area.y() == theme.px(messages.FROM_TOP)


def test_what_cannot_be_done_has_no_tick_and_goes_by_itself(window: QMainWindow) -> None:
    told, line = messages.tell(window, "v15 is saved"), messages.why_not(window, "Nothing is changed")
    glyphs = [one.findChildren(Glyph)[0].grab().toImage() for one in (told, line)]
    assert glyphs[0] != glyphs[1]
    assert line._timer.isActive()


def test_what_is_copied_is_said_in_one_line(window: QMainWindow) -> None:
    messages.tell(window, "v15 is saved")
    for said in ("The id is copied", "The diff is copied, 301 B", "The diff is copied, 797 B"):
        messages.copied(window, said)
    assert [line.text for line in lines(window)] == ["v15 is saved", "The diff is copied, 797 B"]


def test_a_question_calls_back_on_yes_only(window: QMainWindow) -> None:
    agreed: list[str] = []
    first = messages.confirm(
        window, "Delete?", "It goes.", "Delete 1 document", lambda: agreed.append("yes"), danger=True
    )
    first.cancel.click()
    second = messages.confirm(
        window, "Delete?", "It goes.", "Delete 1 document", lambda: agreed.append("yes"), danger=True
    )
    second.verb.click()
    assert agreed == ["yes"]


def test_focus_is_on_cancel_where_something_would_be_lost(window: QMainWindow) -> None:
    assert messages.confirm(window, "Delete?", "", "Delete", lambda: None, danger=True).first().text() == "Cancel"
    assert messages.confirm(window, "Restore?", "", "Restore", lambda: None).first().text() == "Restore"


def test_words_to_type_hold_the_verb_back(window: QMainWindow, qtbot: QtBot) -> None:
    asked = messages.confirm(window, "Delete?", "", "Delete", lambda: None, danger=True, typed="K-204117")
    assert not asked.verb.isEnabled()
    assert asked.field is not None
    qtbot.keyClicks(asked.field, "K-20411")
    assert not asked.verb.isEnabled()
    qtbot.keyClicks(asked.field, "7")
    assert asked.verb.isEnabled()


def test_escape_says_no(window: QMainWindow, qtbot: QtBot) -> None:
    agreed: list[bool] = []
    asked = messages.confirm(window, "Restore?", "", "Restore", lambda: agreed.append(True))
    qtbot.keyClick(asked, Qt.Key.Key_Escape)
    assert not asked.isVisible()
    assert not agreed


def test_a_message_finds_the_area_of_its_window_and_a_lone_panel_gets_one(window: QMainWindow, qtbot: QtBot) -> None:
    inner = window.centralWidget()
    assert messages.area(inner) is window.findChild(MessageArea)
    alone = QWidget()
    QVBoxLayout(alone)
    qtbot.addWidget(alone)
    messages.tell(alone, "Done")
    assert len(lines(alone)) == 1


def test_a_message_moves_nothing_and_none_moves_another(window: QMainWindow) -> None:
    save = window.findChildren(QPushButton)[0]
    before = save.geometry()
    first = messages.tell(window, "Saved as v15", lambda: None)
    QApplication.processEvents()
    assert save.geometry() == before
    place = first.mapTo(window, QPoint())
    messages.tell(window, "Saved as v16")
    messages.tell(window, "Saved as v17")
    QApplication.processEvents()
    assert first.mapTo(window, QPoint()) == place
    assert save.geometry() == before


def test_the_focus_in_a_message_goes_back_to_where_it_came_from(window: QMainWindow, qtbot: QtBot) -> None:
    window.activateWindow()
    save = window.findChildren(QPushButton)[0]
    save.setFocus()
    line = messages.tell(window, "Saved as v15", lambda: None)
    line.buttons[0].setFocus()
    line.leave()
    assert window.focusWidget() is save


def test_a_message_leaves_the_buttons_of_a_foot_free_and_no_others(window: QMainWindow, qtbot: QtBot) -> None:
    centre = window.centralWidget()
    button = QPushButton("Copy", centre)
    button.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    button.setGeometry(300, centre.height() - theme.px(60), 80, theme.px(30))
    button.show()
    window.findChildren(QPushButton)[0].hide()
    messages.tell(window, "Saved as v15")
    area = messages.area(window)
    assert area.geometry().intersects(button.geometry())  # a button of the page, which has other things below it
    button.move(300, centre.height() - theme.px(38))
    messages.tell(window, "Saved as v16")
    assert area.geometry().bottom() < button.y()


def test_a_message_leaves_the_report_above_a_foot_free(window: QMainWindow, qtbot: QtBot) -> None:
    centre = window.centralWidget()
    window.findChildren(QPushButton)[0].hide()
    foot, report = QPushButton("Repair", centre), messages.report("1 repaired, 1 not known")
    foot.setGeometry(300, centre.height() - theme.px(46), 80, theme.px(30))
    report.setParent(centre)
    report.setGeometry(16, centre.height() - theme.px(84), 400, theme.px(24))
    foot.show()
    report.show()
    messages.doubt(window, "It is not known whether 1 repair arrived.", lambda: None)
    area = messages.area(window)
    assert area.geometry().bottom() < report.y()
    report.move(16, 20)  # far above the foot, where no message comes
    messages.tell(window, "Saved")
    assert report.geometry().bottom() < area.y() < area.geometry().bottom() < foot.y()


def test_buttons_go_below_words_that_would_have_little_room_beside_them(window: QMainWindow) -> None:
    line = messages.doubt(window, "It is not known whether it was written.", lambda: None, "0f")
    ways = line._ways.sizeHint().width()
    for beside, way in ((messages.LEAST + 20, line._row.Direction.LeftToRight), (60, line._row.Direction.TopToBottom)):
        edges = line._row.contentsMargins()
        line.fit(theme.px(beside) + ways + edges.left() + edges.right() + line._row.spacing())
        assert line._row.direction() == way


def test_a_window_may_go_after_python_has_let_go_of_what_its_messages_hold(window: QMainWindow) -> None:
    area = messages.area(window)
    vars(area).clear()  # as the collector does with a window in a cycle
    centre = area.parentWidget()
    centre.hide()  # qtbot fails a test with an error in an event
    assert not centre.isVisible()


def test_no_message_lies_over_what_has_the_focus_or_over_a_main_button(window: QMainWindow, qtbot: QtBot) -> None:
    centre, area = window.centralWidget(), messages.area(window)
    window.activateWindow()
    window.findChildren(QPushButton)[0].hide()
    rows = QListWidget(centre)
    rows.addItems([f"row {number}" for number in range(60)])
    rows.setGeometry(0, 0, centre.width(), centre.height())
    rows.show()
    area.raise_()

    def row() -> QRect:
        found = rows.visualRect(rows.currentIndex())
        return QRect(rows.viewport().mapTo(centre, found.topLeft()), found.size())

    rows.setFocus()
    rows.setCurrentRow(rows.row(rows.itemAt(5, rows.viewport().height() - 40)))
    messages.tell(window, "The row is saved")
    assert not area.geometry().intersects(row())
    assert area.y() == theme.px(messages.FROM_TOP)
    ask = QPushButton("Rebuild", centre)
    ask.setProperty("main", True)
    ask.setGeometry(300, area.y() + 4, 80, 30)
    ask.show()
    area.raise_()
    messages.tell(window, "The next one is saved")
    assert not area.geometry().intersects(row())
    assert not area.geometry().intersects(ask.geometry())
    field = QLineEdit(centre)
    field.setGeometry(area.geometry().adjusted(40, 4, -40, -10))
    field.show()
    field.setFocus()
    qtbot.waitUntil(lambda: not area.geometry().intersects(field.geometry()))


def test_a_message_leaves_the_row_that_is_chosen_by_keys(window: QMainWindow, qtbot: QtBot) -> None:
    centre, area = window.centralWidget(), messages.area(window)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    rows = QListWidget(centre)
    rows.addItems([f"row {number}" for number in range(60)])
    rows.setGeometry(0, 0, centre.width(), centre.height())
    rows.show()
    rows.setFocus()
    rows.setCurrentRow(0)
    messages.fail(window, "The row could not be saved")

    def covered() -> bool:
        box = rows.visualRect(rows.currentIndex())
        return area.geometry().intersects(QRect(rows.viewport().mapTo(centre, box.topLeft()), box.size()))

    met = 0
    while rows.currentRow() < rows.row(rows.itemAt(5, rows.viewport().height() - 5)):
        QTest.keyClick(rows, Qt.Key.Key_Down)
        met += covered()
        qtbot.waitUntil(lambda: not covered())
    assert met


def test_a_message_leaves_what_it_speaks_of_in_sight_as_far_as_there_is_room(window: QMainWindow) -> None:
    centre, area = window.centralWidget(), messages.area(window)
    window.findChildren(QPushButton)[0].hide()
    low, high = QWidget(centre), QWidget(centre)
    low.setGeometry(0, centre.height() - 250, centre.width(), 250)
    low.show()
    messages.hint(window, "Choose a row of the list below", about=(low,))
    assert not area.geometry().intersects(low.geometry())
    area.lines[0].leave()
    high.setGeometry(0, 0, centre.width(), centre.height() - 250)
    high.show()
    messages.hint(window, "Choose a row of either list", about=(low, high))
    assert area.isVisible()  # over the foot, as ever
    assert area.geometry().bottom() > centre.height() - 100
