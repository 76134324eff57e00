"""The change map and the blame: what they show of the sample, how keys move in them, and what they ask a server."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QFontMetricsF, QImage, QPainter
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui import language
from gui.messages import area
from gui.pages.collection_page import CollectionPage
from gui.pages.history_pages import BisectPage, BlamePage, ChangeMapPage, FieldPage, restorable
from gui.pages.page_registry import ACTIONS
from gui.pages.page_request import PageRequest
from gui.style import preferences, theme
from gui.views.history import map_axis, map_painter, map_sizes
from gui.views.history.bisect_panel import BisectPanel
from gui.views.history.blame_panel import BEFORE, VALUE, BlamePanel, set_in
from gui.views.history.change_map_panel import ChangeMapPanel
from gui.views.history.field_panel import FieldPanel
from gui.views.history.map_grid import COUNTS
from gui.views.history.map_model import MapModel, MapRow
from gui.views.history.map_painter import heads
from gui.views.history.map_parts import MapLegend
from gui.window.tab_area import TabArea
from model.errors import NotFound, Refused
from model.foundation.records import Version
from model.history.chain import Chain, Follower
from model.history.chain_reading import ChainReading
from model.session import Session
from model.session.history_reading import HistoryReading
from model.things_to_try import THINGS
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import shown
from tests.gui.drawn_words import DrawnWords
from tests.gui.refusals import denied, try_again

NS, ID = "insurance.contracts", Value.of("K-118240")
Idle = Callable[[], None]


@pytest.fixture(scope="module")
def session(homes: Path) -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


@pytest.fixture
def panel(session: Session, qtbot: QtBot, idle: Idle) -> ChangeMapPanel:
    made = ChangeMapPanel(session, NS, ID)
    shown(qtbot, made, 1391, 795)
    idle()
    qtbot.waitUntil(lambda: made.model.chain.complete)
    return made


def row_of(model: MapModel, name: str) -> int:
    return next(at for at, row in enumerate(model.rows) if row.name == name)


def go(panel: ChangeMapPanel, name: str, v: int) -> None:
    panel.grid.go(row_of(panel.model, name), v - 1)


def press(panel: ChangeMapPanel, key: Qt.Key, *modifiers: Qt.KeyboardModifier) -> None:
    QTest.keyClick(panel.grid, key, *modifiers)


def at(panel: ChangeMapPanel) -> tuple[str, int]:
    here = panel.grid.currentIndex()
    return panel.model.rows[here.row()].name, here.column() + 1


def version(v: int, content: dict[str, object] | None, current: bool = False) -> Version:
    raw = None if content is None else canonical.encode(content)
    state = "missing" if raw is None else "present"
    return Version(Value.of(v), None, None, "archive", state, current, None, len(raw or b""), content=raw)


def chain(*versions: Version, complete: bool = True) -> Chain:
    follower = Follower()
    for one in versions:
        follower.take(one)
    return follower.chain(complete)


# --- what is shown


@pytest.mark.deep
def test_a_low_map_opens_at_the_newest_version_with_all_that_it_changed_in_sight(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    panel = ChangeMapPanel(session, NS, ID)
    shown(qtbot, panel, 976, 500)
    idle()
    qtbot.waitUntil(lambda: panel.model.chain.complete)
    grid, newest = panel.grid, panel.model.newest
    changed = [at for at, row in enumerate(panel.model.rows) if row.last_column == newest]
    assert [panel.model.rows[at].name for at in changed] == ["tags", "notes"]
    assert (grid.currentIndex().row(), grid.currentIndex().column()) == (changed[0], newest)
    for row in changed:
        assert grid.viewport().rect().contains(grid.visualRect(panel.model.index(row, newest)))


def test_the_sample_has_thirty_fields_by_sixty_versions_and_two_folded_ones(panel: ChangeMapPanel) -> None:
    assert (panel.model.rowCount(), panel.model.columnCount()) == (30, 60)
    assert "60 versions, 57 kept. 30 fields; 2 that change in every version are folded away." in panel.name.text
    panel.fold.click()
    assert panel.model.rowCount() == 32
    assert panel.model.rows[-1].name == "changedBy"
    panel.fold.click()
    assert panel.model.rowCount() == 30


def test_every_cell_has_a_name_for_those_who_do_not_see_it(panel: ChangeMapPanel) -> None:
    model = panel.model

    def said(name: str, v: int) -> str:
        return str(model.data(model.index(row_of(model, name), v - 1), Qt.ItemDataRole.AccessibleTextRole))

    assert said("premium.gross", 43) == "premium.gross, v43, changed, overwritten since"
    assert said("premium.gross", 57) == "premium.gross, v57, changed, in force now"
    assert said("premium.gross", 18) == "premium.gross, v18, changed somewhere in v17–v20, overwritten since"
    assert said("status", 18) == "status, v18, version missing"
    assert said("insured.sum", 34) == "insured.sum, v34, type only, overwritten since"
    assert said("premium.discount", 40) == "premium.discount, v40, removed, added again since"
    assert said("premium.discount", 57) == "premium.discount, v57, removed"
    assert said("premium.discount", 2) == "premium.discount, v2, not there"
    assert said("period.from", 1) == "period.from, v1, there from the start"
    assert said("period.from", 2) == "period.from, v2, not changed"
    assert said("riders[FLOOD].premium", 52) == "riders[FLOOD].premium, v52, added, in force now"


def test_a_screen_reader_meets_a_table_of_named_cells(panel: ChangeMapPanel) -> None:
    found = QAccessible.queryAccessibleInterface(panel.grid)
    assert found is not None
    assert found.role() == QAccessible.Role.Table
    assert found.childCount() >= 30 * 60
    heads = (found.childCount() - 30 * 60) // (30 + 60)  # Qt counts the headers in, which are not shown
    row = row_of(panel.model, "premium.gross")
    cell = found.child((row + heads) * (60 + heads) + 42 + heads)
    assert cell is not None
    assert cell.text(QAccessible.Text.Name) == "premium.gross, v43, changed, overwritten since"


def test_a_change_in_a_gap_is_never_a_cell_in_one(panel: ChangeMapPanel) -> None:
    row = panel.model.rows[row_of(panel.model, "notes")]
    assert [(mark.first + 1, mark.column + 1) for mark in row.marks[1:4]] == [(8, 8), (17, 20), (21, 21)]


def test_a_field_exists_from_where_it_was_added_to_where_it_was_removed(panel: ChangeMapPanel) -> None:
    row = panel.model.rows[row_of(panel.model, "premium.discount")]
    assert row.spans == ((5, 39), (48, 56))
    assert row.ring is None
    assert panel.model.rows[row_of(panel.model, "status")].spans == ((0, 59),)


def test_the_line_below_says_what_happened_when_and_by_whom(panel: ChangeMapPanel) -> None:
    go(panel, "premium.gross", 43)
    assert panel.first.text == "premium.gross was set in v43 on 21 Mar 2023 09:12 by rk-204"
    assert panel.second.text.split() == (
        ["468.10", "→", "491.23", "Decimal128", "together", "with", "premium.net,", "premium.tax,", "insured.sum"]
    )
    go(panel, "premium.gross", 19)
    assert panel.first.text.startswith("premium.gross was set somewhere in v17–v20 on 24 Jul 2018")
    go(panel, "status", 18)
    assert panel.first.text == "status in v18 is missing: retention or loss"
    go(panel, "status", 20)
    assert panel.first.text == "status in v20 is as it was set in v7"
    assert panel.second.text == '"active" String'
    go(panel, "premium.discount", 41)
    assert panel.first.text == "premium.discount is not there in v41"


# --- being led


def test_arrows_home_and_end_lead_the_crosshair(panel: ChangeMapPanel) -> None:
    go(panel, "premium.net", 43)
    press(panel, Qt.Key.Key_Down)
    press(panel, Qt.Key.Key_Right)
    assert at(panel) == ("premium.tax", 44)
    press(panel, Qt.Key.Key_Home)
    assert at(panel) == ("premium.tax", 4)
    press(panel, Qt.Key.Key_End)
    assert at(panel) == ("premium.tax", 57)
    press(panel, Qt.Key.Key_Left, Qt.KeyboardModifier.ControlModifier)
    assert at(panel) == ("premium.tax", 56)
    press(panel, Qt.Key.Key_Up)
    press(panel, Qt.Key.Key_Left)
    assert at(panel) == ("premium.net", 55)
    go(panel, "status", 1)
    press(panel, Qt.Key.Key_Up)
    press(panel, Qt.Key.Key_Left)
    assert at(panel) == ("status", 1)


def test_enter_compares_the_version_with_the_one_before_it(panel: ChangeMapPanel, qtbot: QtBot) -> None:
    go(panel, "premium.gross", 43)
    assert panel.compare_button.text() == "Compare v42 and v43"
    with qtbot.waitSignal(panel.compare_asked) as asked:
        press(panel, Qt.Key.Key_Return)
    assert asked.args is not None
    assert [one.v for one in asked.args] == [Value.of(42), Value.of(43)]
    go(panel, "premium.gross", 18)
    assert panel.compare_button.text() == "Compare v16 and v20"
    go(panel, "status", 1)
    assert not panel.compare_button.isEnabled()


def test_only_a_value_that_is_not_in_force_can_be_restored(panel: ChangeMapPanel, qtbot: QtBot) -> None:
    go(panel, "premium.gross", 43)
    with qtbot.waitSignal(panel.restore_asked) as asked:
        panel.restore.click()
    assert asked.args is not None
    assert (asked.args[0].v, asked.args[1]) == (Value.of(43), ("premium", "gross"))
    go(panel, "premium.gross", 58)
    assert not panel.restore.isEnabled()
    assert panel.restore.toolTip() == "This value is in force now"
    go(panel, "premium.discount", 41)
    assert "not there in v41" in panel.restore.toolTip()
    go(panel, "premium.discount", 45 + 5)
    assert panel.restore.isEnabled()


def test_space_shows_the_whole_value_below_and_the_crosshair_stays_in_sight(
    panel: ChangeMapPanel, qtbot: QtBot, idle: Idle
) -> None:
    go(panel, "notes", 8)
    press(panel, Qt.Key.Key_Space)
    idle()
    assert panel.values.isVisible()
    grid = panel.grid
    qtbot.waitUntil(lambda: grid.viewport().rect().contains(grid.visualRect(grid.currentIndex()).center()))
    panel.values.closed.emit()
    assert not panel.values.isVisible()


def test_rows_can_stand_by_last_change_and_by_number(panel: ChangeMapPanel) -> None:
    go(panel, "premium.gross", 43)
    panel.orders["most"].click()
    assert [row.name for row in panel.model.rows[:3]] == ["premium.net", "premium.tax", "premium.gross"]
    assert at(panel) == ("premium.gross", 43)
    panel.orders["last"].click()
    assert {row.name for row in panel.model.rows[:2]} == {"tags", "notes"}
    assert panel.model.rows[-1].name == "period.from"


@pytest.mark.deep
def test_columns_are_8_to_24_wide_and_the_crosshair_stays_in_place(panel: ChangeMapPanel) -> None:
    go(panel, "premium.gross", 43)
    for _ in range(9):
        panel.zoom_in.click()
    assert panel.grid.columnWidth(0) == theme.px(24)
    assert not panel.zoom_in.isEnabled()
    assert panel.grid.visualRect(panel.grid.currentIndex()).intersects(panel.grid.viewport().rect())
    for _ in range(9):
        panel.zoom_out.click()
    assert panel.grid.columnWidth(0) == theme.px(8)
    assert not panel.zoom_out.isEnabled()


@pytest.fixture
def tiles(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The tiles of the map that are painted from now on."""
    painted: list[object] = []
    matrix = map_painter.matrix

    def counted(*args: object) -> None:
        painted.append(args[-1])
        matrix(*args)

    monkeypatch.setattr(map_painter, "matrix", counted)
    return painted


@pytest.mark.deep
def test_only_the_crosshair_is_painted_when_it_moves(tiles: list[object], panel: ChangeMapPanel) -> None:
    go(panel, "premium.gross", 43)
    panel.grid.viewport().grab()
    painted = len(tiles)
    assert painted
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Right):
        press(panel, key)
        panel.grid.viewport().grab()
    assert len(tiles) == painted
    panel.zoom_in.click()
    panel.grid.viewport().grab()
    assert len(tiles) > painted


@pytest.mark.deep
def test_a_choice_in_settings_leaves_the_crosshair_and_what_is_in_sight(
    tiles: list[object], panel: ChangeMapPanel, qtbot: QtBot
) -> None:
    panel.resize(700, 600)
    go(panel, "premium.gross", 20)
    seen = panel.grid.horizontalScrollBar().value()
    qtbot.waitUntil(lambda: bool(tiles))
    drawn = len(tiles)
    for name, value in (("page_size", 25), ("theme", "dark"), ("zone", "Pacific/Auckland"), ("theme", "light")):
        preferences.put(name, value)
        assert at(panel) == ("premium.gross", 20)
        assert "premium.gross" in panel.first.text
        assert panel.grid.horizontalScrollBar().value() == seen
    qtbot.waitUntil(lambda: len(tiles) > drawn)  # the years lie elsewhere


@pytest.mark.deep
def test_names_and_axis_stay_put_while_the_cells_scroll(panel: ChangeMapPanel, qtbot: QtBot) -> None:
    panel.resize(900, 480)
    qtbot.waitUntil(lambda: panel.grid.verticalScrollBar().maximum() > 0)
    view = panel.view
    before = (view.names.pos(), view.head.pos(), view.counts.width())
    panel.grid.go(29, 0)
    assert panel.grid.verticalScrollBar().value() > 0
    assert panel.grid.horizontalScrollBar().value() == 0
    assert before == (view.names.pos(), view.head.pos(), view.counts.width())
    top = (panel.grid.verticalScrollBar().value() + 2) // panel.grid.sizes.row
    QTest.mouseClick(view.names, Qt.MouseButton.LeftButton, pos=QPoint(5, 2))
    assert panel.grid.currentIndex().row() == top


@pytest.mark.deep
def test_a_year_that_began_out_of_sight_is_named_whole_at_the_edge_or_not_at_all(panel: ChangeMapPanel) -> None:
    model, sizes = panel.model, panel.grid.sizes
    last = len(model.versions) - 1
    metrics = QFontMetricsF(theme.font(12, 600))
    seen = set()
    for offset in range(0, 40 * sizes.column, 3):
        named = map_axis.period_names(model, sizes, offset // sizes.column, last, offset)
        assert named[0][0] >= offset
        for (x, year), (later, _) in pairwise(named):
            assert x + metrics.horizontalAdvance(year) <= later
        seen.add(named[0][1])
    assert {"2014", "2016", "2020", "2021"} <= seen


@pytest.mark.deep
def test_a_version_is_named_whole_in_sight_or_not_at_all(panel: ChangeMapPanel) -> None:
    model, sizes = panel.model, panel.grid.sizes
    metrics = QFontMetricsF(theme.mono(12, 600))
    chosen = 20
    for offset in range(chosen * sizes.column - 200, (chosen + 1) * sizes.column, 3):
        painter = DrawnWords()
        map_axis.head(painter, model, sizes, offset, 200, chosen)
        painter.end()
        names = {said: box for said, box in painter.said.items() if said.startswith("v")}
        assert map_painter.version_name(model, chosen) in names  # it moves in from the edge of what is in sight
        for said, box in names.items():
            assert box.left() >= offset - 1, said
            assert box.left() + metrics.horizontalAdvance(said) <= offset + 202, said


def test_the_whole_map_is_saved_as_a_picture(panel: ChangeMapPanel, tmp_path: Path, idle: Idle) -> None:
    panel.resize(700, 400)
    drawn = panel.view.picture()()
    panel.save_to(str(tmp_path / "map.png"))
    assert not (tmp_path / "map.png").exists()  # drawing thousands of versions or fields takes seconds
    panel.model.arrange("most", True)  # what is drawn is what was there when it was asked for
    idle()
    made = QImage(str(tmp_path / "map.png"))
    assert made.convertToFormat(drawn.format()) == drawn
    panel.save_to(str(tmp_path / "nowhere" / "map.png"))
    idle()
    assert [line.kind for line in area(panel).lines] == ["done", "failed"]
    assert made.width() >= 2 * panel.grid.wide
    assert made.height() >= 2 * panel.grid.high


def test_below_12_pixels_symbols_go_and_fill_and_outline_stay() -> None:
    model = MapModel()
    model.put(chain(version(2, {"a": 1, "b": 1}, True), version(1, {"a": 1})))

    def drawn(zoom: float) -> QImage:
        made = QImage(64, 64, QImage.Format.Format_RGB32)
        made.fill(theme.colour("surface"))
        painter = QPainter(made)
        map_painter.matrix(painter, model, map_sizes.MapSizes(zoom), made.rect().toRectF())
        painter.end()
        return made

    def sign(zoom: float) -> bool:
        sizes = map_sizes.MapSizes(zoom)
        middle = round(sizes.middle(1)), sizes.row + sizes.row // 2
        return drawn(zoom).pixelColor(*middle) != theme.colour("add")

    assert sign(16)
    assert not sign(8)


def test_what_is_known_so_far_is_shown_while_older_versions_arrive(qtbot: QtBot) -> None:
    model = MapModel()
    model.put(chain(version(3, {"a": 2}, True), version(2, {"a": 1}), complete=False))
    assert model.summary() == "2 versions. 1 field so far."
    assert [mark.column for mark in model.rows[0].marks] == [1]


@pytest.mark.deep
def test_a_long_map_paints_only_what_is_in_sight(tiles: list[object], qtbot: QtBot) -> None:
    model = MapModel()
    model.put(chain(*(version(v, {f"f{i}": v // (i + 1) for i in range(60)}, v == 3000) for v in range(3000, 0, -1))))
    from gui.views.history.map_grid import MapView

    view = MapView(model)
    shown(qtbot, view, 1200, 600)
    view.show_newest()
    view.grab()
    assert 0 < len(tiles) <= 12
    assert "marks" not in model.rows[-1].__dict__  # what is out of sight is not even worked out


@pytest.mark.parametrize(
    ("step", "count", "named"),
    [
        (dt.timedelta(hours=12), 60, ["01 Nov 26", "02 Nov 26", "03 Nov 26"]),
        (dt.timedelta(days=10), 12, ["Nov 26", "Dec 26", "Jan 27"]),
        (dt.timedelta(days=400), 4, ["2026", "2027", "2029"]),
        (dt.timedelta(minutes=1), 3, ["01 Nov 26"]),
    ],
    ids=["a month", "months", "years", "minutes"],
)
def test_the_head_names_days_months_or_years_as_the_versions_span(
    step: dt.timedelta, count: int, named: list[str]
) -> None:
    preferences.put("zone", "UTC")
    begin = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
    model = MapModel()
    model.put(chain(*(replace(version(n + 1, {"a": n}), at=begin + n * step) for n in reversed(range(count)))))
    sizes = map_sizes.MapSizes(90)
    said = [name for _, name in map_axis.period_names(model, sizes, 0, count - 1, 0)]
    assert said[:3] == named


def test_a_year_is_whole_above_two_versions(qtbot: QtBot) -> None:
    from gui.views.history.map_grid import MapView

    model = MapModel()
    model.put(chain(version(2, {"a": 2}, True), version(1, {"a": 1})))
    view = MapView(model)
    shown(qtbot, view, 900, 500)
    need = QFontMetricsF(theme.font(12, 600)).horizontalAdvance("2026") + 2 * theme.px(5)
    assert view.head.width() >= need
    assert view.grid.width() == view.head.width()
    assert view.names.width() + view.head.width() + view.counts.width() <= view.width()


def test_a_row_of_an_element_with_an_object_id_is_named_by_its_end() -> None:
    from bson import ObjectId

    raw = {"r": [{"_id": ObjectId("65f0a1c29b1e8a0012c4d7aa"), "n": 1}]}
    tracks = [track for track in chain(version(1, raw, True)).tracks if not track.identity]
    assert MapRow(tracks[0], 1, 0, 0).label == ("r[…c4d7aa].", "n")


# --- pages


def test_an_element_that_stands_elsewhere_now_is_not_restored_onto_another() -> None:
    old = version(1, {"r": [{"_id": 1, "n": 1}, {"_id": 2, "n": 2}]})
    now = version(2, {"r": [{"_id": 2, "n": 3}]}, True)
    keys = {track.key: track for track in chain(now, old).tracks if track.key[-1:] == ("n",)}
    for key in keys:
        with pytest.raises(Refused, match="edit the document"):
            restorable(old, now, key, ["_id"])
    assert {restorable(old, old, key, ["_id"]) for key in keys} == {("r", 0, "n"), ("r", 1, "n")}
    assert restorable(version(1, {"a": 1}), version(2, {}), ("a",), ["_id"]) == ("a",)


@pytest.mark.deep
def test_the_timeline_leads_to_the_map_and_the_map_back_to_two_versions(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    tabs = TabArea(lambda _: False)
    shown(qtbot, tabs, 1300, 800)
    page = tabs.open(session, PageRequest("collection", NS))
    assert isinstance(page, CollectionPage)
    idle()
    page.show_document(ID)
    idle()
    page.do_change_map()
    mapped = tabs.page
    assert isinstance(mapped, ChangeMapPage)
    assert mapped.title == "Change map: K-118240"
    idle()
    go(mapped.panel, "premium.gross", 43)
    mapped.do_compare()
    idle()
    assert isinstance(tabs.page, CollectionPage)
    qtbot.waitUntil(lambda: page.diff.comparison is not None and page.diff.comparison.a.v == Value.of(42))
    tabs.show_page(mapped)
    blame = tabs.open(session, PageRequest("blame", NS, ID))
    assert isinstance(blame, BlamePage)
    idle()
    blame.handlers()["blame"]()
    assert isinstance(tabs.page, ChangeMapPage)  # both are views of one tab
    assert [one["kind"] for one in tabs.memory(session)] == ["collection", "map"]
    kept = tabs.memory(session)
    tabs.close_session(session)
    assert tabs.restore(session, kept) == 2
    idle()


def test_a_value_is_restored_from_the_map_once_it_is_agreed_to(qtbot: QtBot, idle: Idle) -> None:
    with Session.open("sample:") as own:
        page = ChangeMapPage(own, NS, ID)
        qtbot.addWidget(page)
        page.show()
        idle()
        asked: list[object] = []
        page.writes.restore = lambda *args: asked.append(args)  # type: ignore[method-assign]
        go(page.panel, "insured.zone", 35)
        page.panel.restore.click()
        idle()
        assert asked == [(ID, Value.of(35), [("insured", "zone")])]


def _blame(session: Session, qtbot: QtBot, idle: Idle) -> BlamePanel:
    panel = BlamePanel(session, NS, ID)
    qtbot.addWidget(panel)
    panel.resize(1100, 700)
    panel.show()
    idle()
    return panel


def test_blame_lists_each_field_with_its_version(session: Session, qtbot: QtBot, idle: Idle) -> None:
    panel = _blame(session, qtbot, idle)
    rows = {"".join(panel.model.cell(panel.model.index(at, 1)).text): row for at, row in enumerate(panel.model.rows)}
    assert set_in(rows["premium.gross"]) == "v57"
    assert rows["premium.gross"].version.author == "portal"
    before = {name: panel.model.cell(panel.model.index(at, BEFORE)).text for at, name in enumerate(rows)}
    assert (before["status"], before["period.from"]) == ('"cancelled"', "")
    panel.search.setText("rk-204")
    assert {row.version.author for row in panel.model.rows} == {"rk-204"}
    panel.search.setText("nothing like it")
    assert panel.stack.kind == "empty"
    assert panel.stack.state.help == "Nothing has “nothing like it” in its name, version or author."
    panel.search.clear()
    panel.list.setCurrentIndex(panel.model.index(0, 0))
    assert panel.compare_button.text() == "Compare v46 and v47"
    with qtbot.waitSignal(panel.compare_asked) as asked:
        QTest.keyClick(panel.list, Qt.Key.Key_Return)
    assert asked.args is not None
    assert [one.v for one in asked.args] == [Value.of(46), Value.of(47)]


def test_in_a_wide_blame_only_the_value_is_wider_than_its_words(session: Session, qtbot: QtBot, idle: Idle) -> None:
    panel = _blame(session, qtbot, idle)
    header = panel.list.header()

    def widths(width: int) -> list[int]:
        panel.resize(width, 700)
        idle()
        return [header.sectionSize(at) for at in range(header.count())]

    usual, wide = widths(1400), widths(2560)
    assert header.visualIndex(VALUE) == header.count() - 1
    assert sum(wide[:VALUE]) - sum(usual[:VALUE]) == 0
    assert wide[VALUE] - usual[VALUE] == 2560 - 1400


def test_where_blame_could_not_be_read_nothing_is_counted_or_offered(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    panel = _blame(session, qtbot, idle)
    panel.list.setCurrentIndex(panel.model.index(0, 0))
    assert panel.summary.isVisible()
    assert panel.compare_button.isEnabled()
    panel.reading.show_failed(NotFound("It is gone."))
    assert not panel.summary.isVisible()
    assert not panel.compare_button.isEnabled()
    panel.refresh()
    idle()
    assert panel.summary.isVisible()
    assert panel.compare_button.isEnabled()


def test_where_the_map_could_not_be_read_nothing_is_counted_saved_or_zoomed(panel: ChangeMapPanel, idle: Idle) -> None:
    summary = panel.model.summary()
    assert summary in panel.name.accessibleName()
    assert panel.save.isEnabled()
    panel.reading.show_failed(NotFound("It is gone."))
    assert summary not in panel.name.accessibleName()
    assert not any(each.isEnabled() for each in (panel.save, panel.zoom_in, panel.zoom_out))
    panel.refresh()
    idle()
    assert summary in panel.name.accessibleName()
    assert panel.save.isEnabled()


def test_what_is_typed_for_the_next_search_stays_while_the_last_one_is_made_again(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    panel = BisectPanel(session, NS, ID)
    shown(qtbot, panel, 1200, 800)
    panel.ask('{ "status": "active" }')
    idle()
    assert panel.list.hasFocus()
    found = panel.found
    panel.input.setFocus()
    panel.input.setText('{ "premium.gross": ')
    panel.refresh()  # somebody has saved another version
    idle()
    assert panel.input.text() == '{ "premium.gross": '
    assert panel.input.hasFocus()
    assert (panel.ran, panel.found) == ('{ "status": "active" }', found)
    panel.input.setText('{ "status": "reinstated" }')
    panel.run()
    panel.refresh()  # and once more, before the new condition is judged
    idle()
    assert panel.ran == '{ "status": "reinstated" }'
    assert panel.list.hasFocus()


def test_where_a_condition_could_not_be_judged_no_earlier_result_stands(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    panel = BisectPanel(session, NS, ID)
    qtbot.addWidget(panel)
    panel.show()
    panel.ask('{ "status": "active" }')
    idle()
    assert panel.summary.isVisible()
    assert panel.compare_button.isEnabled()
    panel.reading.show_failed(OSError("no"))
    assert panel.stack.kind == "failed"
    assert not panel.summary.isVisible()
    assert not panel.compare_button.isEnabled()
    panel.run()
    idle()
    assert panel.summary.isVisible()
    assert panel.compare_button.isEnabled()


@pytest.mark.parametrize("kind", [ChangeMapPage, BlamePage, FieldPage, BisectPage])
def test_keys_are_told_only_where_there_are_rows_to_use_them_on(
    session: Session,
    qtbot: QtBot,
    idle: Idle,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[ChangeMapPage | BlamePage | FieldPage | BisectPage],
) -> None:
    with monkeypatch.context() as patched:
        for reader, name in ((ChainReading, "read"), (HistoryReading, "bisect")):
            patched.setattr(reader, name, denied)
        page = kind(session, NS, ID)
        shown(qtbot, page, 1168, 795)
        if isinstance(page, BisectPage):
            page.panel.ask('{ "status": "active" }')
        assert page.hint not in page.status()[0]  # nothing is read yet
        idle()
        assert page.panel.stack.kind == "failed"
        assert page.hint not in page.status()[0]
    with qtbot.waitSignal(page.changed):
        try_again(page.panel.stack)
        idle()
    qtbot.waitUntil(lambda: page.hint in page.status()[0])


def test_the_menu_and_the_welcome_page_know_the_way() -> None:
    items = {item.id: item for item in ACTIONS}
    assert items["blame"].keys == ("Ctrl+Shift+B",)
    assert items["change-map"].menu == "Compare"
    second = THINGS[1]
    assert (second.title, second.key, second.action) == ("See who changed what", "Ctrl+Shift+B", "map")


def test_a_history_that_came_before_its_map_was_shown_needs_no_scroll_bar_either(
    session: Session, qtbot: QtBot, idle: Idle
) -> None:
    panel = ChangeMapPanel(session, NS, Value.of("K-204117"))
    qtbot.addWidget(panel)
    panel.resize(1391, 795)
    idle()
    assert panel.model.chain.complete
    panel.show()
    qtbot.waitUntil(lambda: panel.view.wide > 600 and panel.view.bar.isVisible())
    qtbot.waitUntil(lambda: panel.grid.horizontalScrollBar().maximum() == 0)


@pytest.mark.deep
@pytest.mark.parametrize("width", [1391, 976])
def test_a_short_history_fills_the_width(session: Session, qtbot: QtBot, idle: Idle, width: int) -> None:
    panel = ChangeMapPanel(session, NS, Value.of("K-204117"))
    qtbot.addWidget(panel)
    panel.resize(width, 795)
    panel.show()
    idle()
    qtbot.waitUntil(lambda: panel.model.chain.complete)
    assert len(panel.model.versions) == 14
    bar = panel.grid.horizontalScrollBar()
    qtbot.waitUntil(lambda: panel.view.wide > 0.45 * width and bar.maximum() == 0)
    filled = panel.grid.sizes.zoom
    panel.zoom_out.click()
    assert panel.grid.sizes.zoom < filled
    panel.resize(width + 40, 795)
    assert panel.grid.sizes.zoom < filled  # a person's choice stays
    while panel.zoom_in.isEnabled():
        panel.zoom_in.click()
    assert panel.grid.sizes.zoom >= filled


def test_the_legend_says_every_mark_in_as_many_lines_as_it_takes(qtbot: QtBot) -> None:
    legend = MapLegend()
    qtbot.addWidget(legend)
    legend.show()
    for wide, lines in ((900, 1), (400, 2)):
        legend.resize(wide, 30)
        qtbot.waitUntil(lambda lines=lines: len({one.y() for one in legend.meanings}) >= lines)
        legend.resize(wide, legend.minimumSizeHint().height())
        boxes = [one.geometry() for one in legend.meanings]
        assert all(legend.rect().contains(box) for box in boxes)
        assert not any(left.intersects(right) for left, right in combinations(boxes, 2))


def test_nothing_is_restored_without_an_answer(panel: ChangeMapPanel) -> None:
    go(panel, "premium.gross", 43)
    assert panel.restore.isEnabled()
    panel.say_answering(False)
    assert not panel.restore.isEnabled()
    assert panel.restore.toolTip() == "The sample does not answer now, so nothing can be written."
    panel.say_answering(True)
    assert panel.restore.isEnabled()


@pytest.mark.deep
def test_a_field_whose_versions_could_not_be_read_again_offers_nothing(
    session: Session, qtbot: QtBot, idle: Idle, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = FieldPanel(session, NS, ID)
    shown(qtbot, panel, 1200, 800)
    panel.show_field(("premium", "gross"))
    idle()
    assert panel.compare_button.isEnabled()
    assert panel.find_button.isEnabled()
    with monkeypatch.context() as patched:
        patched.setattr(ChainReading, "read", denied)
        panel.refresh()
        idle()
        assert not panel.compare_button.isEnabled()
        assert not panel.find_button.isEnabled()
    try_again(panel.stack)
    idle()
    assert panel.compare_button.isEnabled()
    assert panel.find_button.isEnabled()


def test_a_right_that_is_missing_is_no_fault_of_the_condition(
    session: Session, qtbot: QtBot, idle: Idle, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = BisectPanel(session, NS, ID)
    shown(qtbot, panel, 1200, 800)
    panel.ask('{ "riders": { $size: 2 } }')
    idle()
    assert panel.summary.isVisible()
    with monkeypatch.context() as patched:
        patched.setattr(HistoryReading, "bisect", denied)
        panel.run()
        idle()
        assert not panel.summary.isVisible()
        assert not panel.trouble.isVisible()
    try_again(panel.stack)
    idle()
    assert panel.summary.isVisible()


@pytest.mark.deep
def test_the_fields_leave_the_history_of_one_most_of_the_width(session: Session, qtbot: QtBot, idle: Idle) -> None:
    panel = FieldPanel(session, NS, ID)
    shown(qtbot, panel, 670, 420)
    idle()
    left, right = panel.split.sizes()
    assert left < 0.5 * right
    panel.resize(1200, 420)
    assert panel.split.sizes()[0] == 300


@pytest.mark.parametrize("code", ["en", "de"])
def test_the_headers_at_the_right_of_the_map_stand_apart_in_each_language(code: str) -> None:
    language.choose(code)
    try:
        first, second = heads()
    finally:
        language.choose("en")
    assert first.right() < second.left()
    assert second.right() <= theme.px(COUNTS)
