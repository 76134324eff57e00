"""The activity in the window: its list, groups, filters and counts, and how it follows writes."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import ObjectId
from PySide6.QtCore import QEvent, QModelIndex, QObject, QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gui import tasks, turns
from gui.pages.activity_page import ActivityPage
from gui.style import theme
from gui.style.states import StateView
from gui.views.activity import activity_panel, change_tree, day_strip
from gui.views.activity.activity_model import AUTHOR, FIELDS, ONE_DOCUMENT, WHAT, WHEN, ActivityModel
from gui.views.activity.activity_panel import ActivityPanel, doubts_said, pace_said
from gui.views.activity.change_tree import ChangeTree
from gui.views.activity.day_strip import DayBar, bars, short
from model.localserver import LocalServer
from model.over_time.activity import Activity
from model.over_time.newest import Newest
from model.session import Session
from model.session.through_time import ThroughTime
from model.values import canonical
from model.values.canonical import Value
from tests.gui.activity_scenes import DAY, orders, widen
from tests.gui.menus import offered

NS = "shop.orders"
Client = pymongo.MongoClient[dict[str, Any]]


@pytest.fixture
def server() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


@pytest.fixture
def client(server: LocalServer, tmp_path: Path) -> Iterator[Client]:
    with pymongo.MongoClient(server.uri) as made:
        orders(made["shop"], tmp_path)
        yield made


@pytest.fixture
def session(server: LocalServer, client: Client, tmp_path: Path) -> Iterator[Session]:
    with Session.open(server.uri, tmp_path / "profile.toml", home=tmp_path) as made:
        yield made


def shown(qtbot: QtBot, session: Session, place: str = NS, id: Value | None = None) -> ActivityPanel:
    panel = ActivityPanel(session, place, id)
    qtbot.addWidget(panel)
    panel.resize(1300, 800)
    panel.show()
    idle(qtbot, panel)
    widen(panel)
    idle(qtbot, panel)
    return panel


def idle(qtbot: QtBot, panel: ActivityPanel) -> None:
    qtbot.waitUntil(lambda: not (tasks.tasks.running or turns.turns.waiting or panel.is_reading))


def listed(panel: ActivityPanel) -> list[tuple[str, list[str]]]:
    """Each heading with its rows as document, version and kind."""
    return [
        (group.name, [f"{row.id.python()}{_number(row.v)} {row.kind}" for row in group.rows])
        for group in panel.model.groups
    ]


def _number(v: Value | None) -> object:
    return "-" if v is None else v.python()


def row_at(panel: ActivityPanel, group: int, row: int, column: int = WHEN) -> QModelIndex:
    return panel.model.index(row, column, panel.model.index(group, 0))


def press(panel: ActivityPanel, day: dt.date) -> None:
    row = next(at for at, bar in enumerate(panel.strip.days.rows) if bar.day == day)
    place = panel.strip.visualRect(panel.strip.days.index(row, 0)).center()
    QTest.mouseClick(panel.strip.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)


def state(panel: ActivityPanel) -> StateView:
    return panel.stack.state


def test_changes_stand_under_their_days_newest_first_with_gaps_said_and_counted(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    assert listed(panel) == [
        ("05 Mar 2026", ["A4 restored"]),
        ("04 Mar 2026", ["B4 unknown"]),
        ("03 Mar 2026", ["A3 edited", "B2 edited"]),
        ("02 Mar 2026", ["A2 edited", "B1 created"]),
        ("01 Mar 2026", ["A1 created"]),
    ]
    cells = panel.model
    several = cells.cell(row_at(panel, 2, 0, FIELDS))
    assert (several.text, several.tip) == ("to.city, tags", 'to.city, tags\nto.city: "Bonn" → "Ulm"')
    assert cells.cell(row_at(panel, 2, 1, FIELDS)).text == "total: 7 → 8"
    unknown = cells.cell(row_at(panel, 1, 0, WHAT))
    assert ([badge.text for badge in unknown.badges], unknown.text) == (["gap"], "not known")
    assert panel.summary.accessibleName() == "7 changes of 2 documents"
    assert panel.doubts.text() == "1 change after a gap, so what it set is not known."
    assert panel.tree.isColumnHidden(activity_panel.ActivityModel.headers.index("Reason"))
    assert panel.notices.lines == {}


@pytest.mark.deep
def test_the_header_says_the_day_whose_heading_has_scrolled_away(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.tree.setFixedHeight(theme.px(28 * 4))
    header = lambda: panel.model.headerData(WHEN, Qt.Orientation.Horizontal)  # noqa: E731
    assert header() == "When"
    panel.tree.scrollTo(row_at(panel, 2, 1), panel.tree.ScrollHint.PositionAtTop)
    assert header() == "03 Mar 2026"
    panel.tree.scrollTo(panel.model.index(3, 0), panel.tree.ScrollHint.PositionAtTop)
    assert header() == "When"
    panel.tree.scrollTo(row_at(panel, 3, 0), panel.tree.ScrollHint.PositionAtTop)
    assert header() == "02 Mar 2026"
    panel.grouping.button(AUTHOR).click()
    assert header() == "When"


def test_other_headings_keep_what_was_picked_and_a_heading_stands_for_all_below_it(
    qtbot: QtBot, session: Session
) -> None:
    panel = shown(qtbot, session)
    panel.tree.setFocus()
    panel.tree.setCurrentIndex(row_at(panel, 2, 0))
    QTest.keyClick(panel.tree, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    picked = panel.tree.picked()
    assert [(row.id.python(), _number(row.v)) for row in picked] == [("A", 3), ("B", 2)]
    panel.grouping.button(AUTHOR).click()
    assert [name for name, _ in listed(panel)] == ["ben", "ann"]
    assert {_key(row) for row in panel.tree.picked()} == {_key(row) for row in picked}
    panel.tree.setCurrentIndex(panel.model.index(1, 0))
    assert [(row.id.python(), _number(row.v)) for row in panel.tree.picked()] == [
        ("A", 3), ("B", 2), ("B", 1), ("A", 1)
    ]  # fmt: skip
    QTest.keyClick(panel.tree, Qt.Key.Key_Return)
    assert not panel.tree.isExpanded(panel.model.index(1, 0))
    panel.grouping.button(ONE_DOCUMENT).click()
    assert listed(panel)[1] == ("B", ["B4 unknown", "B2 edited", "B1 created"])


def _key(row: Activity) -> object:
    return row.id, row.v


def test_a_click_on_a_bar_narrows_to_that_day_and_another_one_leads_back(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    assert [(bar.day.day, bar.count) for bar in panel.strip.days.rows] == [(1, 1), (2, 2), (3, 2), (4, 1), (5, 1)]
    press(panel, dt.date(2026, 3, 2))
    assert listed(panel) == [("02 Mar 2026", ["A2 edited", "B1 created"])]
    assert panel.summary.accessibleName() == "02 Mar 2026: 2 changes"
    index = panel.strip.days.index(1, 0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "02 Mar 2026, 2 changes, chosen"
    panel.strip.setFocus()
    panel.strip.setCurrentIndex(index)
    QTest.keyClick(panel.strip, Qt.Key.Key_Space)
    assert len(panel.rows) == 7


def test_a_refresh_keeps_the_day_and_leaves_what_is_typed_alone(qtbot: QtBot, session: Session) -> None:
    page = ActivityPage(session, NS)
    qtbot.addWidget(page)
    page.resize(1300, 800)
    page.show()
    panel = page.panel
    idle(qtbot, panel)
    widen(panel)
    idle(qtbot, panel)
    press(panel, dt.date(2026, 3, 2))
    panel.filter.author.setText("nob")
    for again in (page.do_refresh, page.after_silence):
        again()
        idle(qtbot, panel)
        assert listed(panel) == [("02 Mar 2026", ["A2 edited", "B1 created"])]
        assert panel.day == dt.date(2026, 3, 2)
        assert panel.filter.author.text() == "nob"


def below_days(panel: ActivityPanel) -> int:
    """How far the bars begin below the row of the chosen day; rows above that may break into more lines meanwhile."""
    row = panel.all_days.parentWidget()
    assert row is not None
    return panel.strip.mapTo(panel, QPoint()).y() - row.y()


@pytest.mark.deep
def test_words_and_bars_end_at_the_margin_while_no_day_is_chosen(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    margin, strip = theme.px(16), panel.strip
    assert panel.filter.said.mapTo(panel, QPoint(panel.filter.said.width(), 0)).x() == panel.width() - margin
    left = strip.viewport().mapTo(panel, QPoint()).x()
    assert (left, panel.width() - left - strip.viewport().width()) == (margin, margin)
    panel.resize(theme.px(560), 800)
    top = below_days(panel)
    assert panel.summary.text() == panel.summary.accessibleName()  # the note gives way
    panel.choose_day(dt.date(2026, 3, 3))
    qtbot.waitUntil(panel.all_days.isVisible)
    QApplication.processEvents()  # the row of the button is arranged anew
    assert below_days(panel) == top


def test_more_than_can_be_shown_is_said_a_day_of_it_is_read_alone_and_older_ones_are_a_click_away(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_panel, "MOST", 3)
    panel = shown(qtbot, session)
    assert panel.shown.text() == "The newest 3 of 7 changes are shown."
    press(panel, dt.date(2026, 3, 2))
    idle(qtbot, panel)
    assert listed(panel) == [("02 Mar 2026", ["A2 edited", "B1 created"])]
    assert sum(bar.count for bar in panel.strip.days.rows) == 7
    panel.choose_day(None)
    QTest.mouseClick(panel.older, Qt.MouseButton.LeftButton)
    idle(qtbot, panel)
    assert listed(panel)[0] == ("03 Mar 2026", ["A3 edited", "B2 edited"])


def test_the_lines_narrow_name_the_zone_and_say_what_is_wrong(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    assert panel.filter.said.accessibleName() == "A time without a zone is taken in Europe/Berlin, as in the settings."
    type_into(panel.filter.since, "2026-03-03 13:00")
    idle(qtbot, panel)
    assert [name for name, _ in listed(panel)] == ["05 Mar 2026", "04 Mar 2026", "03 Mar 2026"]
    assert "taken as 2026-03-03 13:00:00 Europe/Berlin" in panel.filter.said.accessibleName()
    type_into(panel.filter.since, "yesterday")
    assert panel.filter.trouble.text().startswith("yesterday is not a time; write it as")
    assert len(panel.rows) == 4
    panel.filter.clear()
    idle(qtbot, panel)
    panel.filter.author.setFocus()
    QTest.keyClicks(panel.filter.author, "be")
    assert [each.word for each in panel.filter.author.offered] == ["ben"]
    QTest.keyClick(panel.filter.author, Qt.Key.Key_Return)
    QTest.keyClick(panel.filter.author, Qt.Key.Key_Return)
    idle(qtbot, panel)
    assert {row.author for row in panel.rows} == {"ben"}
    type_into(panel.filter.author, "bea")
    idle(qtbot, panel)
    assert (state(panel).title, state(panel).help) == (
        "No change matches", "No author is called “bea”; the name has to match as a whole."
    )  # fmt: skip
    panel.filter.author.clear()
    type_into(panel.filter.path, "to.city")
    idle(qtbot, panel)
    assert [_number(row.v) for row in panel.rows] == [4, 3, 1]
    panel.filter.path.clear()
    type_into(panel.filter.document, "B")
    idle(qtbot, panel)
    assert {row.id.python() for row in panel.rows} == {"B"}
    type_into(panel.filter.document, "Z")
    idle(qtbot, panel)
    assert "Z" in panel.filter.trouble.text()
    assert panel.rows == ()


def type_into(line: Any, text: str) -> None:
    line.setFocus()
    line.clear()
    QTest.keyClicks(line, text)
    QTest.keyClick(line, Qt.Key.Key_Return)


def test_a_written_document_is_read_again_and_nothing_else_moves(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.tree.setCurrentIndex(row_at(panel, 2, 1))
    outcome = session.edit(NS, "A", set={"total": 5})
    assert outcome.kind == "applied", outcome
    panel.follow({(NS, Value.of("A"))})
    idle(qtbot, panel)
    assert listed(panel)[0][1] == ["A5 edited"]
    assert panel.summary.accessibleName() == "8 changes of 2 documents"
    assert [_key(row) for row in panel.tree.picked()] == [(Value.of("B"), Value.of(2))]
    assert panel.strip.days.rows[-1].count == 1


@pytest.mark.deep
def test_a_merge_that_an_open_list_follows_is_told_as_one(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    now = session.history.version(NS, Value.of("A"))
    content = canonical.put(now.content or canonical.EMPTY, ("total",), Value.of(5))
    assert session.writing.save(NS, Value.of("A"), now, content, action="merge").kind == "applied"
    panel.follow({(NS, Value.of("A"))})
    idle(qtbot, panel)
    assert listed(panel)[0][1] == ["A5 merged"]


def test_return_asks_for_the_comparison_with_the_version_before_it_that_is_there(
    qtbot: QtBot, session: Session
) -> None:
    panel = shown(qtbot, session)
    asked: list[Activity] = []
    panel.compare_asked.connect(asked.append)
    panel.tree.setFocus()
    panel.tree.setCurrentIndex(row_at(panel, 1, 0))
    QTest.keyClick(panel.tree, Qt.Key.Key_Return)
    assert [(_number(row.older), _number(row.v)) for row in asked] == [(2, 4)]
    assert panel.compare_button.text() == "Compare v2 and v4"
    where = panel.tree.visualRect(row_at(panel, 0, 0)).center()
    QTest.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, where)
    QTest.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, where)
    assert _key(asked[-1]) == (Value.of("A"), Value.of(4))


def test_reading_can_be_stopped_and_what_is_there_stays(
    qtbot: QtBot, session: Session, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, session)
    going, gate = threading.Event(), threading.Event()
    real = ThroughTime.activity

    def held(self: Session, *args: Any, **more: Any) -> Any:
        going.set()
        assert gate.wait(60)
        return real(self, *args, **more)

    monkeypatch.setattr(ThroughTime, "activity", held)
    panel.look()
    qtbot.waitUntil(going.is_set)
    panel.stop()
    gate.set()
    idle(qtbot, panel)
    assert len(panel.rows) == 7
    assert panel.stack.kind == "content"


class Held:
    """Reads activity as ever, and waits behind the first part of it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.going, self.gate, self._real = threading.Event(), threading.Event(), activity_panel.newest
        monkeypatch.setattr(activity_panel, "newest", self.newest)

    def newest(self, listed: Any, most: int, zone: dt.tzinfo, merges: Any) -> Iterator[Newest]:
        for part in self._real(listed, most, zone, merges, 0):
            yield part
            self.going.set()
            assert self.gate.wait(60)

    def begun(self, qtbot: QtBot) -> None:
        qtbot.waitUntil(self.going.is_set)
        QApplication.processEvents()


@pytest.mark.parametrize("stopped", [False, True])
def test_what_is_read_again_stays_as_it_is_until_all_is_there(
    qtbot: QtBot, session: Session, client: Client, monkeypatch: pytest.MonkeyPatch, stopped: bool
) -> None:
    panel = shown(qtbot, session)
    panel.tree.setCurrentIndex(row_at(panel, 3, 0))
    rows, picked = list(panel.rows), panel.tree.picked()
    held = Held(monkeypatch)
    row = {"docId": "A", "v": 5, "_w": ObjectId(), "changedAt": DAY[6], "changedBy": "ann", "total": 3}
    client["shop"]["orders"].insert_one(row)
    panel.refresh()
    held.begun(qtbot)
    assert (list(panel.rows), panel.tree.picked()) == (rows, picked)
    if stopped:
        panel.stop()
    held.gate.set()
    idle(qtbot, panel)
    assert len(panel.rows) == (7 if stopped else 8)
    assert panel.tree.picked() == picked
    said = "Reading was stopped; these changes were read before it."
    assert (panel.stack._busy._text.accessibleName() == said) is stopped


def test_only_a_few_changes_and_days_are_shown_while_others_are_read(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(activity_panel, "EARLY", 1)
    monkeypatch.setattr(day_strip, "AT_ONCE", 2)
    panel = shown(qtbot, session)
    assert len(panel.rows) == 7
    held = Held(monkeypatch)
    type_into(panel.filter.author, "ann")
    held.begun(qtbot)
    assert len(panel.rows) == 1
    assert panel.shown.text() == ""  # the others are on their way
    assert not panel.older.isVisible()
    assert [bar.day.day for bar in panel.strip.days.rows] == [2, 3]  # those in sight
    held.gate.set()
    idle(qtbot, panel)
    assert len(panel.rows) == 4
    assert [bar.day.day for bar in panel.strip.days.rows] == [1, 2, 3]


def test_a_collection_without_versions_and_one_without_an_index_say_so(
    qtbot: QtBot, session: Session, client: Client
) -> None:
    client["shop"]["agents"].insert_many([{"_id": n, "name": "Eva"} for n in range(3)])
    panel = shown(qtbot, session, "shop.agents")
    assert state(panel).title == "There is no activity to show"
    assert "keeps no earlier versions" in state(panel).help
    client["shop"]["orders"].drop_index("changedAt_1")
    panel = shown(qtbot, session)
    type_into(panel.filter.since, "2026-03-04T00:00Z")
    idle(qtbot, panel)
    assert "No index of shop.orders leads to changedAt" in panel.notices.lines["index"].text
    assert len(panel.rows) == 2


@pytest.mark.deep
def test_a_time_before_an_earlier_version_has_a_badge(qtbot: QtBot, session: Session, client: Client) -> None:
    row = {"docId": "B", "v": 5, "_w": ObjectId(), "changedAt": DAY[0], "changedBy": "ann", "total": 1}
    client["shop"]["orders"].insert_one(row)
    panel = shown(qtbot, session, NS, Value.of("B"))
    at = next(n for n, each in enumerate(panel.rows) if each.v == Value.of(5))
    cell = panel.model.cell(row_at(panel, at, 0))
    assert [badge.text for badge in cell.badges] == ["clock"]
    assert "1 change with a time before that of an earlier version" in panel.doubts.text()
    assert panel.filter.document.isHidden()


def test_nothing_is_counted_before_it_is_read_and_nothing_taken_back_without_an_answer(
    qtbot: QtBot, session: Session
) -> None:
    panel = ActivityPanel(session, NS)
    qtbot.addWidget(panel)
    panel.show()
    assert panel.summary.accessibleName() == ""
    idle(qtbot, panel)
    widen(panel)
    idle(qtbot, panel)
    said = panel.summary.accessibleName()
    assert said.endswith(" documents")
    panel.tree.setCurrentIndex(row_at(panel, 0, 0))
    assert panel.take_back_button.isEnabled()
    panel.say_answering(False)
    assert not panel.take_back_button.isEnabled()
    assert "does not answer" in panel.take_back_button.toolTip()
    panel.say_answering(True)
    assert panel.take_back_button.isEnabled()
    panel._not_read(OSError("no"))
    assert panel.summary.accessibleName() == ""
    assert not panel.take_back_button.isEnabled()
    assert not panel.compare_button.isEnabled()
    assert doubts_said(Newest(unknown=1)) == "1 change after a gap, so what it set is not known."
    assert doubts_said(Newest(unknown=2)) == "2 changes after gaps, so what they set is not known."


def test_days_without_a_change_are_drawn_or_left_out_as_a_break() -> None:
    first, next_one, later = dt.date(2026, 3, 1), dt.date(2026, 3, 3), dt.date(2026, 9, 1)
    assert bars([(first, 2), (next_one, 1), (later, 4)]) == [
        DayBar(first, 2), DayBar(dt.date(2026, 3, 2)), DayBar(next_one, 1), DayBar(later, 0, 181), DayBar(later, 4)
    ]  # fmt: skip
    assert [short(n) for n in (7, 999, 1000, 1250, 34_500, 999_999, 5_000_000)] == [
        "7", "999", "1.0k", "1.2k", "34k", "999k", "5.0M"
    ]  # fmt: skip


def test_the_pace_names_what_is_left() -> None:
    assert pace_said(None, None) == ""
    assert pace_said(10.2, 5.4) == "10 documents a second, about 5 s left"
    assert pace_said(0.8, 9990) == "1 document a second, about 3 h left"
    assert pace_said(10, None) == "10 documents a second"


def test_the_menu_narrows_to_an_author_or_a_field(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    row = panel.model.at(row_at(panel, 2, 0))
    assert row is not None
    menu = panel.menu(row)
    words = offered(menu)
    assert list(words) == [
        "Compare v2 and v3", "Open A", "Activity of A", "Only by ann", "Only changes of to.city",
        "Only changes of tags", "Take back…", "Copy the id", "Copy the rows",
    ]  # fmt: skip
    words["Only changes of tags"].trigger()
    idle(qtbot, panel)
    assert [_number(each.v) for each in panel.rows] == [4, 3]
    assert panel.tree.indexAt(QPoint(20, 40)).isValid()


def test_changes_of_one_collection_are_offered_to_be_taken_back_and_of_several_not(
    qtbot: QtBot, session: Session, client: Client
) -> None:
    client["shop"]["tariffs"].create_index([("docId", 1), ("v", 1)], unique=True)
    rows = [{"docId": f"T-{n}", "v": v, "_w": ObjectId(), "rate": v} for n in range(3) for v in (1, 2, 3)]
    client["shop"]["tariffs"].insert_many(rows)
    panel = shown(qtbot, session, "shop")
    asked: list[list[Activity]] = []
    panel.take_back_asked.connect(asked.append)
    at = next(n for n, group in enumerate(panel.model.groups) if group.name == "03 Mar 2026")
    panel.tree.setCurrentIndex(panel.model.index(at, 0))
    QTest.mouseClick(panel.take_back_button, Qt.MouseButton.LeftButton)
    assert [(row.ns, row.id.python()) for row in asked[0]] == [(NS, "A"), (NS, "B")]
    panel.tree.selectAll()
    assert {row.ns for row in panel.tree.picked()} == {NS, "shop.tariffs"}
    assert not panel.take_back_button.isEnabled()
    assert "several collections" in panel.take_back_button.toolTip()
    session.trust.read_only = True
    panel.say_writable()
    assert "read-only" in panel.take_back_button.toolTip()


def opened(qtbot: QtBot, session: Session) -> ActivityPanel:
    panel = ActivityPanel(session, NS)
    qtbot.addWidget(panel)
    panel.resize(1300, 800)
    panel.show()
    return panel


def test_it_begins_with_the_last_day_that_an_index_finds_and_shows_more_on_request(
    qtbot: QtBot, session: Session
) -> None:
    panel = opened(qtbot, session)
    idle(qtbot, panel)
    asked = []
    for wider in ("The last 7 days", "The last 30 days", "All changes"):
        asked.append((panel.filter.since.text(), len(panel.rows)))
        assert panel.filter.wider.text() == wider
        panel.filter.wider.click()
        idle(qtbot, panel)
    assert asked == [("2026-03-05", 1), ("2026-02-27", 7), ("2026-02-04", 7)]
    assert panel.filter.since.text() == ""
    assert len(panel.rows) == 7
    assert not panel.filter.wider.isVisible()


def test_without_an_index_a_server_is_asked_for_the_day_before_now(
    qtbot: QtBot, session: Session, client: Client
) -> None:
    client["shop"]["orders"].drop_index("changedAt_1")
    panel = opened(qtbot, session)
    idle(qtbot, panel)
    assert panel.filter.since.text() == "1d"
    assert not panel.rows
    (wider,) = [made for made in state(panel).findChildren(QPushButton) if made.text() == "The last 7 days"]
    wider.click()
    idle(qtbot, panel)
    assert panel.filter.since.text() == "7d"
    assert panel.filter.wider.text() == "The last 30 days"
    panel.filter.wider.click()
    panel.filter.wider.click()
    idle(qtbot, panel)
    assert panel.filter.since.text() == ""
    assert len(panel.rows) == 7
    assert not panel.filter.wider.isVisible()


def test_what_is_typed_while_the_last_change_is_looked_for_stays(qtbot: QtBot, session: Session) -> None:
    panel = opened(qtbot, session)
    panel.filter.since.setText("2026-03-03")
    idle(qtbot, panel)
    assert panel.filter.since.text() == "2026-03-03"
    assert len(panel.rows) == 4


@pytest.mark.parametrize("way", ["waiting", "a key", "another key"])
def test_headings_far_below_expand_later_and_before_a_key_leads_there(way: str, qtbot: QtBot) -> None:
    model = ActivityModel()
    tree = ChangeTree(model)
    qtbot.addWidget(tree)
    tree.show()
    rows = edits(900)

    def expanded() -> int:
        return sum(tree.isExpanded(model.index(at, 0)) for at in range(900))

    tree.put(rows, ONE_DOCUMENT, False, False)
    assert 20 < expanded() < 100  # to lay out all of them at once would stop the window
    if way == "waiting":
        qtbot.waitUntil(lambda: expanded() == 900)
    else:
        if way == "another key":
            before = expanded()
            QTest.keyClick(tree, Qt.Key.Key_Control)
            QTest.keyClick(tree, Qt.Key.Key_F5, Qt.KeyboardModifier.ShiftModifier)
            assert expanded() == before  # no shortcut waits for what is out of sight
            tree.setCurrentIndex(model.index(before - 1, 0))
            QTest.keyClick(tree, Qt.Key.Key_PageDown)
            assert before < expanded() < 900
            tree.setCurrentIndex(model.index(0, 0))
        QTest.keyClick(tree, Qt.Key.Key_End)
        assert expanded() == 900
        assert tree.currentIndex() == model.index(1, 0, model.index(899, 0))
    tree.collapse(model.index(899, 0))
    tree.setCurrentIndex(model.index(0, 0, model.index(800, 0)))
    tree.put(rows[1:], ONE_DOCUMENT, False, False)
    assert tree.currentIndex() == model.index(0, 0, model.index(800, 0))
    assert tree.isExpanded(model.index(800, 0))
    qtbot.waitUntil(lambda: expanded() == 899)  # what a person collapsed stays so


def edits(documents: int, versions: int = 2) -> tuple[Activity, ...]:
    return tuple(
        Activity("shop.orders", Value.of(n), Value.of(v), DAY[0], "ann", None, "edited")
        for n in range(documents)
        for v in range(versions, 0, -1)
    )


class Painted(QObject):
    """Counts how often a widget is drawn."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.times = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.times += event.type() == QEvent.Type.Paint
        return False


def test_headings_that_expand_out_of_sight_draw_nothing_and_later_ones_in_sight_are_drawn(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ActivityModel()
    tree = ChangeTree(model)
    qtbot.addWidget(tree)
    tree.resize(800, 400)
    tree.show()
    tree.put(edits(900), ONE_DOCUMENT, False, False)
    painted = Painted(tree.viewport())
    monkeypatch.setattr(change_tree, "SHARE", 0)  # many turns
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert tree.isExpanded(model.index(899, 0))
    assert painted.times <= 1  # as it was shown
    assert tree.viewport().updatesEnabled()
    tree.collapse(model.index(0, 0))
    qtbot.waitUntil(lambda: painted.times > 0)


def test_a_view_is_filled_at_once_however_high_it_is_and_wherever_it_was_scrolled_to(qtbot: QtBot) -> None:
    model = ActivityModel()
    tree = ChangeTree(model)
    qtbot.addWidget(tree)
    tree.resize(800, theme.px(28 * 200))
    tree.show()
    tree.put(edits(900), ONE_DOCUMENT, False, False)
    assert tree.visualRect(model.index(1, 0, model.index(65, 0))).top() > theme.px(28 * 190)
    tree.setFixedHeight(theme.px(28 * 10))
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    tree.scrollTo(model.index(500, 0), tree.ScrollHint.PositionAtTop)
    tree.put(edits(900)[2:], ONE_DOCUMENT, False, False)
    top = tree.indexAt(QPoint(20, 5))
    assert all(tree.isExpanded(model.index(at, 0)) for at in range(top.row(), top.row() + 10))


def test_parts_that_come_together_are_shown_once(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.newest = None
    resets: list[int] = []
    panel.model.modelReset.connect(lambda: resets.append(len(panel.model.groups)))
    rows = edits(9, 1)
    for count in (3, 6, 9):
        panel._part(Newest(rows[:count], count, count))
    assert panel.is_reading
    panel._done(None)  # which does not overtake them
    idle(qtbot, panel)
    assert resets == [1]
    assert len(panel.rows) == 9


def test_the_end_of_an_earlier_reading_does_not_end_a_later_one(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.newest = None
    panel._part(Newest(edits(1), 2, 1))
    panel._done(None)
    panel.filter.author.setText("ben")
    panel.look()
    ended: list[bool] = []
    panel.read_ended.connect(lambda: ended.append(panel.reading.is_on))
    idle(qtbot, panel)
    assert ended == [False]
    assert {row.author for row in panel.rows} == {"ben"}


def test_a_page_out_of_sight_shows_no_part_until_it_is_seen(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, session)
    panel.hide()
    panel.newest = None
    panel._part(Newest(edits(2, 1), 2, 2))
    qtbot.waitUntil(lambda: not turns.turns.waiting)
    assert len(panel.model.groups) > 1
    panel.show()
    idle(qtbot, panel)
    assert [row.id.python() for row in panel.rows] == [0, 1]
    assert len(panel.model.groups) == 1


def test_changes_that_are_shown_already_stay_as_they_are(qtbot: QtBot) -> None:
    model = ActivityModel()
    tree = ChangeTree(model)
    qtbot.addWidget(tree)
    tree.put(edits(3), ONE_DOCUMENT, False, False)
    told: list[bool] = []
    tree.picked_changed.connect(lambda: told.append(True))
    tree.put(edits(3), ONE_DOCUMENT, False, False)
    assert not told
    tree.put(edits(3), ONE_DOCUMENT, True, False)
    assert told
    tree.collapse(model.index(0, 0))
    tree.put(edits(2), ONE_DOCUMENT, True, False)
    assert not tree.isExpanded(model.index(0, 0))  # what a person collapsed stays so
