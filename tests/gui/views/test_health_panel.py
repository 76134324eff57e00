"""The health page: findings by class over the scans, its comparisons, and the ways to it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QAccessible, QImage, QPainter
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.pages.repair_pages import HealthPage, RepairPage
from gui.style import theme
from gui.style.cells import full_width
from gui.views.repair.health_lists import CHANGE, CLASS, FIRST, LAST, bars
from gui.views.repair.health_panel import HealthPanel
from gui.views.repair.repair_panel import RepairPanel
from model.profile import Profile, table
from model.session import Session
from model.session.health import Counted
from tests.gui.refusals import denied, try_again
from tests.gui.window.windows import new_window, open_sample, wait_idle

TARIFFS = "insurance.tariffs"
PATIENCE = 60_000
NOON = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)


@pytest.fixture
def session() -> Iterator[Session]:
    with Session.open("sample:") as made:
        yield made


def scan(day: int, place: str = TARIFFS, whole: bool = True, **counts: int) -> Counted:
    return Counted(NOON + dt.timedelta(days=day), place, "", 100, 1.5, whole, counts, 2)


def shown(qtbot: QtBot, panel: HealthPanel) -> HealthPanel:
    qtbot.addWidget(panel)
    panel.resize(1300, 760)
    panel.show()
    idle(qtbot)
    return panel


def idle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def texts(panel: HealthPanel, row: int) -> list[str]:
    model = panel.classes
    return [str(model.index(row, column).data()) for column in (CLASS, FIRST, LAST, CHANGE)]


def test_each_class_says_what_it_was_at_first_what_it_is_now_and_the_change(qtbot: QtBot, session: Session) -> None:
    for each in (scan(1, A3=15, V1=2, H2=1), scan(2, whole=False, A3=3), scan(3, A3=1, V1=2, S1=1)):
        session.health.keep(each)
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    rows = {panel.classes.rows[at].code: texts(panel, at) for at in range(len(panel.classes.rows))}
    assert rows["A3"] == ["Phantom versions", "15", "1", "14 fewer"]
    assert rows["V1"] == ["Duplicate versions", "2", "2", "The same"]
    assert rows["H2"][3] == "Gone"
    (new,) = [at for at, row in enumerate(panel.classes.rows) if row.code == "S1"]
    assert [badge.text for badge in panel.classes.cell(panel.classes.index(new, CHANGE)).badges] == ["New"]
    spoken = panel.classes.index(0, CLASS).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "A3, Phantom versions: 15, not known, 1 in the last 3 scans, oldest first"
    assert panel.said.text().startswith("4 findings on ")
    assert ", 14 fewer than in the first of 2 scans" in panel.said.text()


def test_the_scans_are_listed_newest_first_with_the_change_and_what_was_stopped(qtbot: QtBot, session: Session) -> None:
    for each in (scan(1, A3=15), scan(2, whole=False, A3=3), scan(3, A3=1), scan(4, "other", A3=9)):
        session.health.keep(each)
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    said = [str(panel.scans.index(at, 4).data()) for at in range(panel.scans.rowCount())]
    assert [each.split("  ")[0] for each in said] == ["A3 15 → 1", "A3 3", "A3 15"]
    stopped = panel.scans.cell(panel.scans.index(1, 4))
    assert [badge.text for badge in stopped.badges] == ["Stopped"]
    assert "not compared" in stopped.tip
    assert "2 not checked" in stopped.accessible
    assert panel.places.isVisible()
    panel.places.setCurrentIndex(panel.places.findData("other"))
    panel.places.activated.emit(panel.places.currentIndex())
    idle(qtbot)
    assert [row[0].place for row in panel.scans.rows] == ["other"]
    assert "Scan again after a fix" in panel.said.text()


def test_without_a_scan_it_says_why_it_is_empty_and_makes_one(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    assert panel.states.kind == "empty"
    assert "No scan of insurance.tariffs was made from here yet" in panel.states.state.title
    assert "in memory" in panel.states.state.help
    assert [each.text() for each in panel.findChildren(QPushButton) if each.text() == "Scan now"] == ["Scan now"]
    panel.scan()
    assert not panel.again.isEnabled()
    qtbot.waitUntil(lambda: bool(panel.scans.rows))
    idle(qtbot)
    assert panel.states.kind == "content"
    assert {row.code: row.last for row in panel.classes.rows} == {"V1": 2, "C1": 1}
    assert panel.again.isEnabled()


def test_a_place_that_was_always_sound_says_so_above_its_scans(qtbot: QtBot, session: Session) -> None:
    session.health.keep(scan(1))
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    assert panel._sound.state.title == "Nothing was ever found here"
    assert panel.scans.rowCount() == 1


@pytest.mark.deep
def test_a_repair_and_another_scan_show_that_the_fix_worked(qtbot: QtBot, session: Session) -> None:
    centre = RepairPanel(session, [TARIFFS])
    qtbot.addWidget(centre)
    centre.show()
    qtbot.waitUntil(lambda: centre.plan is not None and not tasks.tasks.running)
    centre.pane.tree.choose(("C1",))
    idle(qtbot)
    centre.apply()
    idle(qtbot)
    centre.scan()
    qtbot.waitUntil(lambda: centre.plan is not None and not tasks.tasks.running)
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    (at,) = [at for at, row in enumerate(panel.classes.rows) if row.code == "C1"]
    assert texts(panel, at)[1:] == ["1", "0", "Gone"]


@pytest.mark.deep
def test_a_scan_that_is_stopped_and_gone_on_with_counts_what_both_parts_found(qtbot: QtBot, session: Session) -> None:
    centre = RepairPanel(session, ["insurance.contracts"])
    qtbot.addWidget(centre)
    centre.scanner.hold(True)
    centre.show()
    qtbot.waitUntil(lambda: centre.scanner.held)
    centre.scanner.stop()
    qtbot.waitUntil(lambda: not centre.scanner.running)
    idle(qtbot)
    centre.scan(go_on=True)
    qtbot.waitUntil(lambda: centre.plan is not None and not tasks.tasks.running)
    last = session.health.scans("insurance.contracts")[0]
    assert last.whole
    assert centre.plan is not None
    assert last.counts == centre.plan.counts
    assert last.documents == centre.scanner.documents


def test_bars_stand_for_counts_and_a_scan_without_findings_is_flat(qtbot: QtBot) -> None:
    image = QImage(200, 28, QImage.Format.Format_ARGB32)
    image.fill(theme.colour("surface"))
    painter = QPainter(image)
    bars(painter, QRectF(0, 0, 200, 28), (10, 5, 0, None, 1), "err")
    painter.end()
    pitch = theme.px(10)
    ground = theme.colour("surface").rgb()
    columns = [theme.px(8) + at * pitch + 1 for at in range(5)]
    tall = [sum(image.pixel(x, y) != ground for y in range(28)) for x in columns]
    assert tall[0] > tall[1] > tall[2] > 0
    assert image.pixel(columns[4], 21) == theme.colour("err").rgb()
    assert image.pixel(columns[0], 21) == theme.colour("ctl").rgb()


@pytest.mark.deep
def test_the_menus_and_the_repair_centre_lead_to_it_and_it_leads_back(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    open_sample(qtbot, window)
    window.actions_.trigger("health")
    page = window.workspace.tab_area.page
    assert isinstance(page, HealthPage)
    assert page.title == "Health: insurance"
    wait_idle(qtbot)
    assert page.panel.states.kind == "empty"
    page.panel.repairs_asked.emit()
    centre = window.workspace.tab_area.page
    assert isinstance(centre, RepairPage)
    qtbot.waitUntil(lambda: centre.panel.plan is not None)
    wait_idle(qtbot)
    (entry,) = [action for action in centre.panel.pane.menu().actions() if action.text().startswith("Health")]
    entry.trigger()
    again = window.workspace.tab_area.page  # another view of the same tab
    assert isinstance(again, HealthPage)
    wait_idle(qtbot)
    qtbot.waitUntil(lambda: again.panel.scans.rowCount() == 1)
    wait_idle(qtbot)
    interface = QAccessible.queryAccessibleInterface(again.panel.class_list)
    assert interface.text(QAccessible.Text.Name) == "Findings by class, over the scans"


def test_a_scan_from_the_page_counts_the_documents_in_which_watched_conditions_hold(
    qtbot: QtBot, session: Session
) -> None:
    known = session.catalogue.known(TARIFFS)[1]
    watches = [{"name": "Has rates", "filter": "{rates: {$exists: true}}"}, {"name": "Never", "filter": "{rates: 1}"}]
    stated = Profile.read({"collection": [{"ns": TARIFFS, **table(known), "watch": watches}]}, "watching")
    with Session.open("sample:", stated) as watching:
        panel = shown(qtbot, HealthPanel(watching, TARIFFS))
        panel.scan()
        qtbot.waitUntil(lambda: bool(watching.health.scans()) and not tasks.tasks.running, timeout=PATIENCE)
        (counted,) = watching.health.scans()
        holds = counted.watched[TARIFFS]["Has rates"]
        assert holds > 5
        assert counted.watched == {TARIFFS: {"Has rates": holds, "Never": 0}}
        qtbot.waitUntil(lambda: panel.scans.rowCount() == 1 and not tasks.tasks.running, timeout=PATIENCE)
        assert f"Has rates {holds}" in str(panel.scans.index(0, 4).data())


def test_no_verdict_stands_over_scans_that_could_not_be_read(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.health.keep(scan(1, A3=15))
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    assert panel.said.isVisible()
    with monkeypatch.context() as patched:
        patched.setattr(session.health, "scans", denied)
        panel.refresh()
        idle(qtbot)
        assert not panel.said.isVisible()
        assert panel.states.state.title == "What was kept of the scans could not be read"
    try_again(panel.states)
    idle(qtbot)
    assert panel.said.isVisible()


def test_nothing_is_scanned_without_an_answer(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    panel.say_answering(False)
    assert not panel.again.isEnabled()
    assert panel.again.toolTip() == "The sample does not answer now, so nothing can be read."
    panel.say_answering(True)
    assert panel.again.isEnabled()
    assert panel.again.toolTip() == ""


def test_the_names_of_classes_begin_in_one_line_whatever_their_codes(qtbot: QtBot, session: Session) -> None:
    codes = ("A3", "V1", "T1", "H2")
    session.health.keep(scan(1, A3=1, V1=1, T1=1, H2=1))
    panel = shown(qtbot, HealthPanel(session, TARIFFS))
    cells = [panel.classes.cell(panel.classes.index(row, CLASS)) for row in range(len(codes))]
    assert len({full_width(replace(cell, spans=())) for cell in cells}) == 1
