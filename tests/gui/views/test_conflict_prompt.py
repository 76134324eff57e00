"""The prompt after a lost race: what it says, what it asks first, and what it never does in one click."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QImage, QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QPushButton
from pytestqt.qtbot import QtBot

from gui.style import theme
from gui.style.cells import CELL, full_width
from gui.views.merge.conflict_prompt import ConflictPrompt, _ByPlace, clashes
from model.values import canonical
from model.values.canonical import Value
from model.writing.edit import Conflict
from tests.gui.document_scenes import ID, MINE, NS, OPENED, Desk, put, shown, theirs


def met(desk: Desk, change: Callable[[bytes], bytes] = theirs, mine: bytes = MINE, by: int = 2) -> Conflict:
    base = desk.version(NS, ID)
    desk.move(change, by)
    return desk.conflict(NS, ID, base, mine)


@pytest.fixture
def window(qtbot: QtBot) -> QMainWindow:
    made = QMainWindow()
    made.setCentralWidget(QPushButton("Behind"))
    shown(qtbot, made, 1168, 795)
    return made


def asked(window: QMainWindow, conflict: Conflict) -> tuple[ConflictPrompt, list[str]]:
    prompt = ConflictPrompt(window, conflict, NS, ID)
    chosen: list[str] = []
    prompt.chosen.connect(chosen.append)
    prompt.open()
    return prompt, chosen


def said(prompt: ConflictPrompt) -> str:
    return " ".join(label.text() for label in prompt.findChildren(QLabel) if label.isVisible())


def cells(prompt: ConflictPrompt) -> list[list[str]]:
    assert prompt.table is not None
    model = prompt.table.model()
    rows = []
    for row in range(model.rowCount()):
        found = [model.index(row, column).data(CELL) for column in range(4)]
        rows.append([*(cell.text for cell in found[:3]), found[3].badges[0].text])
    return rows


def test_it_says_what_changed_on_both_sides_before_it_asks(window: QMainWindow, desk: Desk) -> None:
    prompt, _ = asked(window, met(desk))
    assert "This document changed since you opened it" in said(prompt)
    assert "v12 → v14, 4 fields. Your edit is kept; nothing was written." in said(prompt)
    assert cells(prompt)[:3] == [
        ["deductible", "250.00  Decimal128", "150.00  Decimal128", "Both changed"],
        ["billing.interval", '"quarterly"', '"monthly"', "Both changed"],
        ["holder.phone", "not changed", '"+49 40 555 0192"', "Only the database"],
    ]
    assert cells(prompt)[3][0] == "riders[2]"
    assert cells(prompt)[3][2].endswith("added")
    assert "Review and merge asks you about those two; the others merge by themselves" in said(prompt)
    assert [b.text() for b in prompt.buttons.values()] == [
        "Review and merge", "Take the database's", "Save as a new document", "Overwrite…", "Cancel",
    ]  # fmt: skip
    assert prompt.focusWidget() is prompt.buttons["review"]


def test_it_says_who_made_the_newest_version_when_and_why(window: QMainWindow, desk: Desk) -> None:
    conflict = met(desk)
    assert conflict.theirs is not None
    by = conflict.theirs.but(author="rk-204", reason="the customer called")
    prompt, _ = asked(window, replace(conflict, theirs=by))
    assert "v12 → v14, the newest by rk-204, 20 Nov 2026 10:12, the customer called, 4 fields." in said(prompt)


def test_fields_in_another_order_are_not_said_to_be_each_of_these_fields(window: QMainWindow, desk: Desk) -> None:
    fields = canonical.fields(MINE)
    prompt, _ = asked(window, met(desk, mine=canonical.document([fields[-1], *fields[:-1]])))
    assert cells(prompt)[:3] == [
        ["deductible", "250.00  Decimal128", "150.00  Decimal128", "Both changed"],
        ["billing.interval", '"quarterly"', '"monthly"', "Both changed"],
        ["holder.phone", "not changed", '"+49 40 555 0192"', "Only the database"],
    ]
    assert "You changed two of these fields as well. Review and merge asks you about those two" in said(prompt)


def test_long_texts_are_told_by_what_differs_in_them(window: QMainWindow, desk: Desk) -> None:
    long = "the same words over and over, " * 20
    desk.content = put(OPENED, notes=f"{long}one way")
    conflict = met(desk, lambda content: put(content, notes=f"{long}their way"), put(OPENED, notes=f"{long}my way"))
    prompt, _ = asked(window, conflict)
    assert cells(prompt)[0] == ["notes", '"… my …"', '"… their …"', "Both changed"]


def test_enter_reviews_and_escape_writes_nothing(window: QMainWindow, desk: Desk) -> None:
    conflict = met(desk)
    prompt, chosen = asked(window, conflict)
    QTest.keyClick(prompt.buttons["review"], Qt.Key.Key_Return)
    assert chosen == ["review"]
    prompt, chosen = asked(window, conflict)
    QTest.keyClick(prompt, Qt.Key.Key_Escape)
    assert chosen == ["cancel"]
    assert desk.sent == []


def test_overwriting_names_what_would_be_lost_and_asks_again_with_the_focus_on_cancel(
    window: QMainWindow, desk: Desk
) -> None:
    prompt, chosen = asked(window, met(desk))
    prompt.buttons["ask_overwrite"].click()
    assert chosen == []
    assert "Overwrite v14 with your edit?" in said(prompt)
    assert len(cells(prompt)) == 4
    assert prompt.buttons["overwrite"].text() == "Overwrite 4 fields"
    assert prompt.buttons["overwrite"].property("danger")
    assert prompt.focusWidget() is prompt.buttons["back"]
    QTest.keyClick(prompt, Qt.Key.Key_Escape)
    assert "Review and merge" in prompt.buttons["review"].text()
    assert prompt.isVisible()
    prompt.buttons["ask_overwrite"].click()
    prompt.buttons["overwrite"].click()
    assert chosen == ["overwrite"]


def test_a_change_that_both_made_alike_is_not_counted_as_lost(window: QMainWindow, desk: Desk) -> None:
    conflict = met(desk, lambda content: put(content, status="lapsed", notes="x"), put(OPENED, status="lapsed"))
    assert [clash.same for clash in clashes(conflict)] == [True, False]
    prompt, _ = asked(window, conflict)
    prompt.buttons["ask_overwrite"].click()
    assert prompt.buttons["overwrite"].text() == "Overwrite 1 field"


def test_overwriting_what_the_edit_has_too_loses_nothing_and_says_so(window: QMainWindow, desk: Desk) -> None:
    prompt, _ = asked(window, met(desk, lambda b: put(b, status="lapsed"), put(MINE, status="lapsed")))
    prompt.buttons["ask_overwrite"].click()
    assert "nothing would be lost" in said(prompt)
    assert prompt.buttons["overwrite"].text() == "Overwrite"


def test_it_says_that_the_edit_is_a_newer_one_than_the_one_that_was_sent(window: QMainWindow, desk: Desk) -> None:
    conflict = met(desk)
    prompt, _ = asked(window, conflict)
    assert "as it is on the screen now" not in said(prompt)
    prompt.reject()
    prompt, _ = asked(window, replace(conflict, typed_on=True))
    assert "You typed on while it was being sent; this is your edit as it is on the screen now." in said(prompt)


def test_a_deleted_document_can_be_created_again(window: QMainWindow, desk: Desk) -> None:
    base = desk.version(NS, ID)
    desk.content = None
    prompt, chosen = asked(window, desk.conflict(NS, ID, base, MINE))
    assert "deleted since you opened it" in said(prompt)
    assert [b.text() for b in prompt.buttons.values()] == ["Create again", "Discard", "Cancel"]
    assert "Nothing tells who deleted it, or when. None of its versions is stored any more." in said(prompt)
    assert "a new history" in said(prompt)
    assert prompt.focusWidget() is prompt.buttons["cancel"], "a key alone writes nothing"
    prompt.buttons["create_again"].click()
    assert chosen == ["create_again"]


def test_after_a_delete_what_is_left_is_said_and_the_default_is_to_look_at_it(window: QMainWindow, desk: Desk) -> None:
    base = desk.version(NS, ID)
    desk.left = [base.but(current=False, author="nora"), base.but(v=Value.of(11), current=False)]
    desk.content = None
    conflict = desk.conflict(NS, ID, base, MINE)
    prompt, chosen = asked(window, conflict)
    assert [b.text() for b in prompt.buttons.values()] == ["Show what is left", "Create again", "Discard", "Cancel"]
    assert "Still stored: 2 versions, the newest v12, 20 Nov 2026 10:12, nora." in said(prompt)
    assert "Create again saves your edit as the version after v12; those before it stay." in said(prompt)
    QTest.keyClick(prompt.focusWidget(), Qt.Key.Key_Return)
    assert chosen == ["history"]
    assert conflict.remains is not None
    ended = replace(conflict.remains, deleted_at=base.at, deleted_by="ida", is_stored=False)
    prompt, _ = asked(window, replace(conflict, remains=ended))
    assert "ida deleted it, 20 Nov 2026 10:12." in said(prompt)
    assert "brings its versions back as they were read last, up to v12, and saves your edit as the next" in said(prompt)


def test_an_edit_that_is_there_already_leaves_nothing_to_save(window: QMainWindow, desk: Desk) -> None:
    prompt, _ = asked(window, met(desk, lambda _: MINE))
    assert "already in the database" in said(prompt)
    assert "overwrite" not in prompt.buttons


def test_a_version_that_moved_and_came_back_can_be_saved_over(window: QMainWindow, desk: Desk) -> None:
    prompt, chosen = asked(window, met(desk, lambda content: content))
    assert "the content came back" in said(prompt)
    prompt.buttons["overwrite"].click()
    assert chosen == ["overwrite"]


def test_a_change_of_types_alone_is_said_to_be_one(window: QMainWindow, desk: Desk) -> None:
    def retyped(content: bytes) -> bytes:
        return put(content, deductible=150)

    prompt, _ = asked(window, met(desk, retyped, put(OPENED, status="lapsed")))
    assert "Only types or order changed" in said(prompt)
    assert cells(prompt) == [["deductible", "not changed", "150  Int32", "Only the database"]]


def test_the_window_behind_takes_no_keys_and_tab_stays_inside(window: QMainWindow, desk: Desk) -> None:
    pressed: list[str] = []
    action = QAction("Save", window)
    action.setShortcut(QKeySequence("Ctrl+S"))
    action.triggered.connect(lambda: pressed.append("save"))
    window.addAction(action)
    prompt, _ = asked(window, met(desk))
    QTest.keyClick(prompt.buttons["review"], Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert pressed == []
    seen = set()
    for _ in range(8):
        focus = QApplication.focusWidget()
        assert focus is not None
        assert prompt.isAncestorOf(focus)
        seen.add(focus)
        QTest.keyClick(focus, Qt.Key.Key_Tab)
    assert seen >= set(prompt.buttons.values())
    prompt.reject()
    QTest.keyClick(window, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert pressed == ["save"]


def test_it_is_at_most_784_wide_and_its_list_scrolls_from_eight_rows(window: QMainWindow, desk: Desk) -> None:
    def many(content: bytes) -> bytes:
        return put(content, **{f"field{i}": i for i in range(12)})

    prompt, _ = asked(window, met(desk, many))
    assert prompt.width() == 784
    assert prompt.table is not None
    assert prompt.table.height() < 28 * 10
    window.resize(700, 480)
    assert prompt.width() <= 700 - 32
    assert window.rect().contains(prompt.mapTo(window, prompt.rect().bottomRight()))


def test_no_header_is_cut_where_a_column_has_room_to_spare(window: QMainWindow, desk: Desk, qtbot: QtBot) -> None:
    prompt, _ = asked(window, met(desk))
    table = prompt.table
    assert table is not None
    header = table.header()
    assert header.model().headerData(0, Qt.Orientation.Horizontal) == "Changed in the database"

    def drawn(mode: Qt.TextElideMode) -> QImage:
        header.setTextElideMode(mode)
        return header.grab().toImage()

    cut, whole = header.textElideMode(), Qt.TextElideMode.ElideNone
    qtbot.waitUntil(lambda: drawn(cut) == drawn(whole))  # columns are fitted a little later


def test_a_layout_without_versions_is_spoken_of_without_them(window: QMainWindow, desk: Desk) -> None:
    conflict = met(desk)
    assert conflict.theirs is not None
    plain = replace(conflict, base=conflict.base.but(v=None), theirs=conflict.theirs.but(v=None))
    prompt, _ = asked(window, plain)
    assert "4 fields. Your edit is kept; nothing was written." in said(prompt)
    prompt.buttons["ask_overwrite"].click()
    assert "Overwrite what is in the database with your edit?" in said(prompt)
    assert Value.of(12) == conflict.base.v


def test_an_added_element_is_not_taken_for_another_that_the_edit_changed(home: Path) -> None:
    def told(base: list[Any], mine: list[Any], theirs: list[Any]) -> list[tuple[Any, Any, bool]]:
        encoded = [canonical.encode({"l": one}) for one in (base, mine, theirs)]
        found = clashes(met(Desk(home, encoded[0]), lambda _: encoded[2], encoded[1]))
        return [(row.theirs.new, row.mine.new if row.mine else None, row.needs_choice) for row in found]

    one, two = {"_id": 1, "n": 1}, {"_id": 2, "n": 2}
    x, y, z = (Value.of(each) for each in "xyz")
    assert told(["a", "b"], ["A", "b"], ["x", "a", "b"]) == [(x, None, False)]
    assert told([one], [one | {"n": 5}], [two, one]) == [(Value.of(two), None, False)]
    # the same element on both sides, and two that stand in one place
    assert told(["a", "b"], ["a", "b", "x"], ["a", "b", "x"])[0][2] is False
    assert told(["a", "b"], ["a", "b", "y"], ["a", "b", "z"]) == [(z, y, True)]
    # one element by its key, at another place on each side
    zero, mine, theirs = {"_id": 0}, two | {"n": 3}, two | {"n": 4}
    assert told([one], [one, mine], [zero, one, theirs]) == [
        (Value.of(theirs), Value.of(mine), True),
        (Value.of(zero), None, False),
    ]


@pytest.mark.deep
def test_thousands_of_changes_on_both_sides_are_told_apart_without_comparing_each_with_each(home: Path) -> None:
    many = 4000
    base = canonical.encode({"n": {f"f{i}": {"a": i, "b": i} for i in range(many)}})
    mine = canonical.encode({"n": {f"f{i}": {"a": -1, "b": i} for i in range(many)}})
    desk = Desk(home, base)
    found = met(desk, lambda _: canonical.encode({"n": {f"f{i}": {"a": i % 2, "b": -1} for i in range(many)}}), mine)
    begun = time.process_time()
    rows = clashes(found)
    assert time.process_time() - begun < 2  # each with each takes 20 s
    assert len(rows) == 2 * many - 2  # a is 0 and 1 in the first two as it was
    assert sum(row.needs_choice for row in rows) == sum(row.mine is not None for row in rows) == many - 2
    assert all(row.mine.old_path == row.theirs.old_path for row in rows if row.mine is not None)


def test_what_lies_at_above_or_below_a_place_is_found_as_by_looking_at_each(seed: int) -> None:
    rnd = random.Random(seed)
    steps: tuple[str | int, ...] = ("", "a", "ab", "b", 0, 1, 10)
    paths = [tuple(rnd.choice(steps) for _ in range(rnd.randrange(4))) for _ in range(300)]
    index = _ByPlace(paths)
    for path in [(), *paths]:
        near = [i for i, other in enumerate(paths) if other[: len(path)] == path[: len(other)]]
        assert sorted(index.near(path)) == near


def test_in_a_narrow_window_no_button_is_cut(window: QMainWindow, desk: Desk) -> None:
    window.resize(640, 700)
    prompt, _ = asked(window, met(desk))
    QApplication.processEvents()
    assert all(one.width() >= one.minimumSizeHint().width() for one in prompt.buttons.values())
    review, cancel = prompt.buttons["review"], prompt.buttons["cancel"]
    assert cancel.y() > review.y()


def test_in_a_very_narrow_window_both_sides_have_room_and_the_last_buttons_stay_together(
    window: QMainWindow, desk: Desk, qtbot: QtBot
) -> None:
    window.resize(theme.px(512), theme.px(700))
    prompt, _ = asked(window, met(desk))
    table = prompt.table
    assert table is not None
    badges = max(full_width(table.model().index(row, 3).data(CELL)) for row in range(4))
    qtbot.waitUntil(lambda: table.columnWidth(3) >= badges)
    assert all(table.columnWidth(side) >= theme.px(90) for side in (1, 2))
    overwrite, cancel = prompt.buttons["ask_overwrite"], prompt.buttons["cancel"]
    assert overwrite.y() == cancel.y()
    assert cancel.mapTo(prompt, cancel.rect().topRight()).x() > prompt.width() - theme.px(28)  # apart on the right
