"""The repair centre in the window: finding, ticking, trying, repairing and undoing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import bson
import pytest
from bson import ObjectId
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from gui import tasks
from gui.messages import MessageArea, Question, area
from gui.pages.repair_pages import RepairPage
from gui.style import theme
from gui.style.cells import full_width
from gui.views.repair.items_model import FOUND, ID, SAID, SIZE, WRITTEN
from gui.views.repair.repair_panel import RepairPanel
from model.errors import Unreachable
from model.foundation.findings import Finding
from model.foundation.records import Outcome
from model.localserver import LocalServer
from model.localserver.sample import IndexSpec, build
from model.localserver.sample.contracts import TOLD
from model.repair.plan import Plan
from model.repair.running import IN_VAIN
from model.repair.steps import RepairContext
from model.session import Session
from model.session.scans import Scans
from model.session.way_back import WayBack
from tests.gui.refusals import silent, try_again
from tests.gui.window.windows import new_window, open_sample, wait_idle

CONTRACTS, HISTORY, STATS = "insurance.contracts", "insurance.contracts_history", "insurance.stats"
TARIFFS, INVOICES, CLAIMS = "insurance.tariffs", "insurance.invoices", "insurance.claims"
SHOWN = {CONTRACTS, HISTORY, STATS, TARIFFS, INVOICES, CLAIMS, "insurance.agents"}
PHANTOMS = ("K-204120", "K-204133")
Part = tuple[str, list[IndexSpec], list[bytes]]


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    """What the sample has of these kinds of damage, and few sound contracts: a scan of it takes a moment."""
    made: list[Part] = []
    for ns, indexes, raws in build():
        if ns in SHOWN:
            made.append((ns, indexes, [raw for raw in raws if ns not in (CONTRACTS, HISTORY) or _is_few(raw)]))
    return made


def _is_few(raw: bytes) -> bool:
    """Whether a contract or a version of it is one of those whose story is told, or of the many that are sound."""
    told = bson.decode(raw)
    id = told.get("docId", told["_id"])
    return id in TOLD or id == "K-204099" or id.startswith("K-204")


@pytest.fixture
def server(parts: list[Part]) -> Iterator[LocalServer]:
    with LocalServer() as made:
        for ns, indexes, raws in parts:
            made.load(ns, raws)
            for keys, unique in indexes:
                made.index(ns, keys, unique)
        yield made


@pytest.fixture
def session(server: LocalServer) -> Iterator[Session]:
    with Session.open(server.uri) as made:
        yield made


def shown(qtbot: QtBot, panel: RepairPanel) -> RepairPanel:
    qtbot.addWidget(panel)
    panel.resize(1340, 800)
    panel.show()
    qtbot.waitUntil(lambda: panel.plan is not None and not tasks.tasks.running)
    return panel


def phantoms(qtbot: QtBot, session: Session, production: bool = False) -> RepairPanel:
    ids = [session.documents.find_id(CONTRACTS, id) for id in PHANTOMS]
    panel = shown(qtbot, RepairPanel(session, [CONTRACTS], ids, production))
    choose(qtbot, panel, "A3")
    return panel


def choose(qtbot: QtBot, panel: RepairPanel, code: str) -> None:
    panel.pane.tree.choose((code,))
    idle(qtbot)


def idle(qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: not tasks.tasks.running)


def click(qtbot: QtBot, button: object) -> None:
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    idle(qtbot)


def agree(panel: RepairPanel) -> None:
    """Press the last button, which removes something, and agree to the question that follows."""
    panel.go.click()
    (question,) = panel.window().findChildren(Question)
    question.verb.click()


def found(session: Session, ns: str, code: str) -> list[Finding]:
    return [each for each in session.scans.scan([ns]) if isinstance(each, Finding) and each.code == code]


def said(panel: RepairPanel, row: int) -> str:
    return panel.model.said(panel.model.rows[row])[2]


@pytest.mark.deep
def test_fields_of_one_item_are_not_shown_under_the_next(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    preview, item = panel.preview, panel.item
    assert item is not None
    dry = panel.model.dry[item.no]
    preview.put(item, dry, 0, 2)
    preview.put(None, None, 0, 0)  # before they are compared
    idle(qtbot)
    assert preview.fields.count == 0
    assert not preview.at_stake.isVisibleTo(preview)


def test_each_item_says_what_its_repair_would_do(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    assert [said(panel, at) for at in range(2)] == ["Would be removed"] * 2
    assert panel.go.text() == "Remove 2 phantom versions"
    assert panel.go.isEnabled()
    assert panel.report.text().startswith("2 would be removed  ")
    assert panel._title.text() == "Phantom versions"
    lines = panel.preview.lines.rows
    assert [(line.op, line.place) for line in lines] == [
        ("", "contracts"),
        ("remove", "contracts_history"),
        ("add", "quarantine"),
    ]
    assert panel.preview.fields.count > 0
    table = panel.preview.table
    before = table.visualRect(panel.preview.lines.index(1, 2))  # what is removed, beside what is not there afterwards
    drawn = table.viewport().grab().toImage()
    ink = [drawn.pixelColor(before.right() - back, before.top() + 2).name() for back in (0, 8)]
    assert ink == [theme.colour("surface").name(), theme.colour("remT").name()]
    panel.preview.writes.click()
    assert "delete_one" in panel.preview.code.toPlainText()


def test_what_a_writer_may_still_be_at_work_on_is_left_out_and_counted(
    qtbot: QtBot, session: Session, server: LocalServer
) -> None:
    young = {"_id": "2026-11-21 calls", "kind": "calls", "count": 3, "pending": [ObjectId()], "applied": []}
    server.load(STATS, [bson.encode(young)])
    panel = shown(qtbot, RepairPanel(session, [STATS]))
    choose(qtbot, panel, "T1")
    assert [said(panel, at) for at in range(3)] == [
        *["Would be finished"] * 2,
        "Younger than the grace period: left out",
    ]
    assert "2 would be finished" in panel.report.text()
    assert "1 left out, too young" in panel.report.text()
    assert panel.go.text() == "Finish 2 tokens"


def test_what_is_ticked_is_done_and_can_be_taken_back(qtbot: QtBot, session: Session) -> None:
    before = {each.id: each.evidence for each in found(session, CONTRACTS, "A3")}
    panel = phantoms(qtbot, session)
    panel.list.setCurrentIndex(panel.model.index(1, 0))
    QTest.keyClick(panel.list, Qt.Key.Key_Space)  # unticks it
    assert panel.go.text() == "Remove 1 phantom version"
    agree(panel)
    idle(qtbot)
    idle(qtbot)
    assert panel.model.ends[panel.model.rows[0].no].kind == "applied"
    assert said(panel, 0) == "Removed"
    assert "a copy is in insurance.quarantine" in panel.model.cell(panel.model.index(0, 5)).tip
    assert "1 removed" in panel.report.text()
    assert len(found(session, CONTRACTS, "A3")) == len(before) - 1
    line = next(line for line in panel.findChildren(MessageArea)[0].lines if "repaired" in line.text)
    click(qtbot, line.buttons[0])
    idle(qtbot)
    assert {each.id: each.evidence for each in found(session, CONTRACTS, "A3")} == before
    assert [said(panel, at) for at in range(2)] == ["Would be removed"] * 2  # looked for anew
    assert "Nothing has been written" in panel._note.text()


@pytest.mark.deep
def test_a_run_that_breaks_off_at_a_silent_server_says_both_in_one_message(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    panel.model.ends[panel.model.ticked()[0].no] = Outcome("unknown", CONTRACTS, None, "The connection was lost.")
    panel._broke(["r1"], Unreachable("db:27017 does not answer."))
    (line,) = [each.text for each in area(panel).lines]
    assert line.startswith("It is not known whether")
    assert line.endswith(" db:27017 does not answer.")


@pytest.mark.deep
def test_once_a_silent_server_answers_again_ticks_and_the_report_are_as_they_were(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = RepairPage(session, CONTRACTS, session.documents.find_id(CONTRACTS, PHANTOMS[0]))
    qtbot.addWidget(page)
    panel = shown(qtbot, page.panel)
    choose(qtbot, panel, "A3")
    (row,) = panel.model.rows
    panel.model.tick([row], on=False)
    scans: list[object] = []
    monkeypatch.setattr(panel.scanner, "begin", scans.append)
    panel.model.dry.clear()
    page.after_silence()
    idle(qtbot)
    assert list(panel.model.dry) == [row.no]  # it is looked at again
    assert not panel.model.ticked()
    panel.model.tick(panel.model.rows, on=True)
    agree(panel)
    idle(qtbot)
    assert [end.kind for end in panel.model.ends.values()] == ["applied"]
    report = panel.report.text()
    page.after_silence()
    idle(qtbot)
    assert [end.kind for end in panel.model.ends.values()] == ["applied"]
    assert panel.report.text() == report
    assert not scans


@pytest.mark.deep
def test_repairs_that_a_silent_server_was_never_sent_are_not_called_refused(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = shown(qtbot, RepairPanel(session, [CONTRACTS]))
    choose(qtbot, panel, "A3")
    count = len(panel.model.ticked())
    assert count > IN_VAIN
    monkeypatch.setattr(RepairContext, "stale", silent)
    agree(panel)
    idle(qtbot)
    assert panel.report.text() == f"{count} not sent"
    assert {end.kind for end in panel.model.ends.values()} == {"refused"}  # as the command says it


def test_what_removes_asks_first_and_writes_nothing_if_it_is_left(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    panel.go.click()
    (question,) = panel.window().findChildren(Question)
    assert question.accessibleName() == "Remove 2 phantom versions?"
    assert question.field is None
    assert question.verb.text() == "Remove 2 phantom versions"
    question.cancel.click()
    idle(qtbot)
    assert not panel.model.ends
    assert len(found(session, CONTRACTS, "A3")) >= 2


def test_while_a_repair_runs_the_page_says_so_and_after_it_nothing_of_the_dry_run_is_left(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, apply = Event(), session.repairs.apply

    def slowly(*values: Any, **named: Any) -> Any:
        go_on.wait()
        return apply(*values, **named)

    monkeypatch.setattr(session.repairs, "apply", slowly)
    panel = phantoms(qtbot, session)
    assert panel._guard.text().startswith("Each is copied to insurance.quarantine, then removed only")
    agree(panel)
    assert panel._note.text() == "Repairing: 0 of 2 findings so far."
    assert panel._report_head.text() == "Report"
    go_on.set()
    idle(qtbot)
    assert [said(panel, at) for at in range(2)] == ["Removed"] * 2
    assert panel.report.text() == "2 removed"
    assert "in the journal" in panel._note.text()
    assert not panel.preview.writes.isEnabled()
    assert "quarantine" not in panel.preview.code.toPlainText()
    assert not any(no in panel.model.dry for no in panel.model.ends)
    lines = panel.findChildren(MessageArea)[0].lines
    assert "Undo the whole run" in {made.text() for line in lines for made in line.buttons}
    shown_words = " ".join(label.text() for label in panel.findChildren(QLabel) if label.isVisible())
    assert "Dry run" not in shown_words
    assert "Nothing has been written" not in shown_words


@pytest.mark.deep
def test_what_cannot_be_undone_on_this_server_is_told_and_no_undo_is_offered(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    lacking = "2 writes of this cannot be undone on this server. This server cannot count fields."
    monkeypatch.setattr(WayBack, "lacking", lambda *_: (lacking, False))
    panel = phantoms(qtbot, session)
    agree(panel)
    idle(qtbot)
    lines = panel.findChildren(MessageArea)[0].lines
    assert lacking in {line.text for line in lines}
    assert any("repaired" in line.text for line in lines)
    assert "Undo the whole run" not in {made.text() for line in lines for made in line.buttons}


@pytest.mark.deep
def test_a_document_that_changed_since_the_scan_is_skipped(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    id = session.documents.find_id(CONTRACTS, PHANTOMS[0])
    session.catalogue.set_layout(CONTRACTS, "plain")  # an edit past the archive, as other programs do it
    assert session.edit(CONTRACTS, id, {"notes": "changed meanwhile"}).kind == "applied"
    session.catalogue.set_layout(CONTRACTS, "archive")
    click(qtbot, panel.again)
    assert "changed since the scan" in said(panel, 0)
    assert panel.go.text() == "Remove 1 phantom version"


def test_what_needs_a_person_asks_one_question_and_waits(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, RepairPanel(session, [INVOICES]))
    choose(qtbot, panel, "H1")
    assert not panel.go.isEnabled()
    assert panel.question.isVisible()
    assert [said(panel, at) for at in range(len(panel.model.rows))] == ["Needs an answer below"] * 2
    panel.resize(976, 560)  # in a window of 1024
    last = panel.model.index(0, SAID)
    qtbot.waitUntil(lambda: panel.list.viewport().width() < 700)
    assert full_width(panel.model.cell(last)) <= panel.list.visualRect(last).width()
    panel.resize(1340, 800)
    click(qtbot, panel.question.buttons["all rebuild"])
    assert panel.go.text() == "Rebuild 2 hashes"
    panel.list.setCurrentIndex(panel.model.index(1, 0))
    click(qtbot, panel.question.buttons["leave"])
    assert panel.go.text() == "Rebuild 1 hash"
    click(qtbot, panel.go)
    assert len(found(session, INVOICES, "H1")) == 1


def test_what_must_never_be_automatic_has_no_tick_and_says_what_a_person_can_do(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, RepairPanel(session, [CLAIMS]))
    choose(qtbot, panel, "V2")
    (row,) = panel.model.rows
    assert not panel.model.can_tick(row)
    assert "never invented" in said(panel, 0)
    assert "look for them in a backup" in panel.preview._same.text()
    assert not panel.go.isEnabled()
    assert "1 need a person" in panel.report.text()


@pytest.mark.deep
def test_a_group_shows_all_of_its_classes(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, RepairPanel(session, [TARIFFS]))
    panel.pane.tree.setCurrentIndex(panel.pane.model.index(0, 0))
    idle(qtbot)
    assert {row.finding.code for row in panel.model.rows} == {"V1", "C1"}
    assert panel._title.text() == "Blocks edits"
    assert panel.go.text() == "Repair 2 findings"


def test_a_production_connection_asks_for_its_name(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session, production=True)
    assert panel.scanner.gently
    panel.go.click()
    (question,) = panel.window().findChildren(Question)
    assert not question.verb.isEnabled()
    assert question.field is not None
    question.field.setText(session.name)
    question.verb.click()
    idle(qtbot)
    assert "2 removed" in panel.report.text()


@pytest.mark.deep
def test_a_read_only_connection_shows_everything_and_says_why_nothing_can_be_done(
    qtbot: QtBot, session: Session
) -> None:
    session.trust.read_only = True
    panel = phantoms(qtbot, session)
    assert said(panel, 0) == "Would be removed"
    assert not panel.go.isEnabled()
    assert "read-only" in panel.go.toolTip()


@pytest.mark.deep
def test_a_plan_is_kept_with_its_ticks_and_opened_again(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    panel = phantoms(qtbot, session)
    panel.list.setCurrentIndex(panel.model.index(0, 0))
    QTest.keyClick(panel.list, Qt.Key.Key_Space)
    assert panel.pane.plan is not None
    path = tmp_path / "plan.json"
    panel.pane.plan.save(path)
    assert [item.do for item in Plan.load(path).items if item.repair] == ["no", "yes"]
    panel.pane.load(str(path))
    idle(qtbot)
    assert "from plan.json" in panel.pane.done.text()
    assert panel.go.text() == "Remove 1 phantom version"


@pytest.mark.deep
def test_what_a_scan_of_today_would_not_propose_is_shown_in_an_opened_plan_and_not_counted_by_the_button(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    panel = phantoms(qtbot, session)
    assert panel.pane.plan is not None
    path = tmp_path / "plan.json"
    panel.pane.plan.save(path)
    settled = session.repairs.apply(Plan.load(path).with_ticked(panel.model.rows[1].no, False), confirmed=True)
    assert [outcome.kind for _, outcome in settled if outcome.kind == "applied"] == ["applied"]
    panel.pane.load(str(path))
    idle(qtbot)
    assert "is gone since the scan" in said(panel, 0)
    assert said(panel, 1) == "Would be removed"
    assert panel.go.text() == "Remove 1 phantom version"


@pytest.mark.deep
def test_a_plan_that_differs_from_a_scan_of_today_is_done_only_once_somebody_agrees(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    panel = phantoms(qtbot, session)
    assert panel.pane.plan is not None
    assert panel.difference.isHidden()
    path = tmp_path / "plan.json"
    panel.pane.plan.save(path)
    data = json.loads(path.read_text("utf-8"))
    item = next(each for each in data["items"] if each["id"] == PHANTOMS[1])
    raw = next(iter(session._connection.opened.server.find("insurance.agents", limit=1)))
    strange = {"ns": "insurance.agents", "id": bson.decode(raw)["_id"], "sha256": hashlib.sha256(raw).hexdigest()}
    item["rests on"].append(strange)
    path.write_text(json.dumps(data), encoding="utf-8")
    panel.pane.load(str(path))
    idle(qtbot)
    assert "Different from what a scan proposes today: 1 item." in panel.difference.text.text()
    assert "insurance.agents, which does not belong to insurance.contracts" in panel.difference.text.text()
    assert not panel.difference.box.isChecked()
    assert (panel.go.isEnabled(), panel.go.toolTip()) == (False, "First agree to leave out what differs.")
    QTest.keyClick(panel.difference.box, Qt.Key.Key_Space)
    assert panel.go.isEnabled()
    panel.pane.load(str(path))
    idle(qtbot)
    assert not panel.go.isEnabled()  # another plan, though of these words, is agreed to anew
    QTest.keyClick(panel.difference.box, Qt.Key.Key_Space)
    agree(panel)
    idle(qtbot)
    assert [end.kind for end in panel.model.ends.values()] == ["applied"]


@pytest.mark.deep
def test_a_plan_for_other_collections_of_these_names_is_refused_in_the_window(
    qtbot: QtBot, session: Session, tmp_path: Path
) -> None:
    panel = phantoms(qtbot, session)
    assert panel.pane.plan is not None
    path = tmp_path / "plan.json"
    panel.pane.plan.save(path)
    data = json.loads(path.read_text("utf-8"))
    data["collections"][HISTORY] = "0" * 32
    path.write_text(json.dumps(data), encoding="utf-8")
    panel.pane.load(str(path))
    idle(qtbot)
    (line,) = panel.findChildren(MessageArea)[0].lines
    assert "is another collection than the one that was scanned" in line.text
    assert not panel.model.dry


@pytest.mark.deep
def test_a_report_is_kept_as_a_page_and_as_json(qtbot: QtBot, session: Session, tmp_path: Path) -> None:
    panel = phantoms(qtbot, session)
    plan = panel.pane.plan
    assert plan is not None
    results = [(item.no, "would", "Would be removed") for item in plan.items]
    for name in ("report.html", "report.json"):
        panel.pane.write_report(str(tmp_path / name), session, plan, results, False, "")
        idle(qtbot)
    assert "Phantom versions" in (tmp_path / "report.html").read_text()
    assert json.loads((tmp_path / "report.json").read_text())


def test_a_sound_collection_says_so(qtbot: QtBot, session: Session) -> None:
    panel = shown(qtbot, RepairPanel(session, ["insurance.agents"]))
    assert panel.states.state.title == "Nothing is wrong here"
    again = [each for each in panel.findChildren(QPushButton) if each.isVisible() and "Scan again" in each.text()]
    assert again == [panel.pane.again]


@pytest.mark.deep
def test_a_scan_is_held_stopped_and_gone_on_with(qtbot: QtBot, session: Session) -> None:
    panel = RepairPanel(session, [CONTRACTS])
    qtbot.addWidget(panel)
    panel.scanner.hold(True)
    panel.resize(1340, 800)
    panel.show()
    qtbot.waitUntil(lambda: panel.scanner.held)
    panel.scanner.stop()
    qtbot.waitUntil(lambda: not panel.scanner.running)
    idle(qtbot)
    assert panel.scanner.can_go_on
    assert not panel.scanner.whole
    panel.scan(go_on=True)
    qtbot.waitUntil(lambda: panel.plan is not None and not tasks.tasks.running)
    assert panel.scanner.whole
    assert panel.plan is not None
    assert panel.plan.counts["A3"] == 15


def test_the_window_leads_to_the_repairs_of_the_database_in_front(qtbot: QtBot) -> None:
    window = new_window(qtbot)
    open_sample(qtbot, window)
    window.workspace.sidebar.entry_asked.emit("repair")
    page = window.workspace.tab_area.page
    assert isinstance(page, RepairPage)
    assert page.title == "Repairs: insurance"
    qtbot.waitUntil(lambda: page.panel.plan is not None)
    wait_idle(qtbot)
    entry = window.workspace.sidebar.entries["repair"]
    assert entry.accessibleName() == f"Repairs, {len(page.panel.scanner.findings)} findings"
    window.workspace.tab_area.close_page(page)
    assert entry.accessibleName() == "Repairs, 7 pending tokens"
    window.workspace.sidebar.entry_asked.emit("repair")
    assert not window.workspace.sidebar.folded  # only a person folds it


def test_a_layout_in_doubt_is_said_above_the_findings(qtbot: QtBot, server: LocalServer) -> None:
    for number in range(20):
        server.load("odd.things", [bson.encode({"_id": number, "v": 2, "net": number})])
        rows = [{"docId": number, "v": v, "net": number + v} for v in ((1, 3) if number < 9 else (1,))]
        server.load("odd.things_history", [bson.encode({"_id": ObjectId(), **row}) for row in rows])
    with Session.open(server.uri) as session:
        panel = shown(qtbot, RepairPanel(session, ["odd.things"]))
        assert panel.pane.doubts.isVisible()
        assert panel.pane.doubts.text().startswith("odd.things is taken for archive, which is in doubt: 9 of its 20")
        choose(qtbot, panel, "A3")
        assert [item.repair for item in panel.plan.items] == [None] * 9
        panel.pane.begin()
        assert not panel.pane.doubts.isVisible()


@pytest.mark.deep
def test_what_is_before_and_after_stands_above_the_two_sides_of_the_fields(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    preview = panel.preview
    qtbot.waitUntil(lambda: preview.at_stake.isVisible() and preview.fields.rowCount() > 0)
    for width in (1340, 990):
        panel.resize(width, 800)
        above, below = preview.table.header(), preview.at_stake.header()
        for column in range(1, 5):
            wanted = below.sectionViewportPosition(column)
            qtbot.waitUntil(lambda: above.sectionViewportPosition(column) == wanted)  # noqa: B023


@pytest.mark.deep
def test_with_little_room_the_button_that_writes_keeps_its_words(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    assert (panel.again.text(), panel.pane.again.text()) == ("Dry run again", "Scan again")
    panel.setMinimumSize(1, 1)  # as in a window that is too small for it
    panel.resize(640, 700)
    QApplication.processEvents()
    for one in (panel.cancel, panel.again, panel.go, panel.pane.again):
        assert one.width() >= one.minimumSizeHint().width(), one.accessibleName()
    assert (panel.again.text(), panel.again.accessibleName()) == ("", "Dry run again")


@pytest.mark.deep
def test_with_little_room_what_was_found_stays_whole_and_the_size_goes(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)

    def cut() -> list[str]:
        at = [panel.model.index(row, of) for row in range(len(panel.model.rows)) for of in (ID, FOUND, WRITTEN)]
        seen = [(panel.model.cell(each), panel.list.columnWidth(each.column())) for each in at]
        return [cell.text for cell, wide in seen if wide and full_width(cell) > wide]

    def hidden() -> list[int]:
        return [at for at in range(panel.model.columnCount()) if panel.list.isColumnHidden(at)]

    for width in (976, 940, 920, 900, 840, 800, 780):  # in a window of 1024, and with larger fonts
        panel.resize(width, 560)
        qtbot.waitUntil(lambda: not cut())
    assert hidden() == [WRITTEN, SIZE]
    panel.resize(1340, 800)
    qtbot.waitUntil(lambda: not hidden())
    assert not cut()


@pytest.mark.deep
def test_with_little_room_the_preview_names_each_collection_whole(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    preview = panel.preview
    qtbot.waitUntil(lambda: preview.at_stake.isVisible() and preview.fields.rowCount() > 0)
    panel.resize(976, 640)
    places = [full_width(preview.lines.cell(preview.lines.index(row, 1))) for row in range(len(preview.lines.rows))]
    for header in (preview.table.header(), preview.at_stake.header()):
        qtbot.waitUntil(lambda: header.sectionSize(1) >= max(places))  # noqa: B023


@pytest.mark.deep
def test_nothing_is_repaired_without_an_answer(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    assert panel.go.isEnabled()
    panel.say_answering(False)
    assert not panel.go.isEnabled()
    assert panel.go.toolTip().endswith("does not answer now, so nothing can be written.")
    for each in (panel.again, panel.pane.again):
        assert not each.isEnabled()
        assert each.toolTip().endswith("does not answer now, so nothing can be read.")
    panel.say_answering(True)
    assert [each.isEnabled() for each in (panel.go, panel.again, panel.pane.again)] == [True] * 3


@pytest.mark.deep
def test_a_scan_that_broke_off_shows_no_empty_list_as_what_it_found(
    qtbot: QtBot, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    panel = phantoms(qtbot, session)
    found = len(panel.model.rows)
    with monkeypatch.context() as patched:
        patched.setattr(Scans, "scan", silent)
        panel.scan()
        idle(qtbot)
        assert panel.pane.done.text().startswith("Failed after 0 documents")
        assert not panel.pane.on.isVisible()
    try_again(panel.states)
    qtbot.waitUntil(lambda: panel.plan is not None and not tasks.tasks.running)
    choose(qtbot, panel, "A3")
    assert len(panel.model.rows) == found


@pytest.mark.deep
def test_names_of_classes_have_the_room_that_counts_leave(qtbot: QtBot, session: Session) -> None:
    tree = phantoms(qtbot, session).pane.tree
    counts = max(full_width(tree._classes.cell(tree._classes.index(at, 1))) for at in range(tree._classes.rowCount()))
    assert counts <= tree.columnWidth(1) < counts + theme.px(16)


def test_what_asks_for_room_asks_for_all_lines_of_its_words(qtbot: QtBot, session: Session) -> None:
    panel = phantoms(qtbot, session)
    panel.resize(640, 700)
    content, words = panel.states._content, panel._meaning
    qtbot.waitUntil(lambda: words.height() > 2 * words.fontMetrics().height())
    layout = content.layout()
    assert layout is not None
    qtbot.waitUntil(lambda: content.width() == content.minimumSizeHint().width())  # as narrow as it gets
    least = content.minimumSizeHint()
    assert least.height() == layout.totalMinimumHeightForWidth(least.width()) > layout.totalMinimumSize().height()
