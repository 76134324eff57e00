"""Editor, prompt and resolver over the sample, with a real colleague and a real server in between."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from gui.views.edit.editor_panel import EditorPanel
from gui.views.merge.resolver_panel import ResolverPanel
from model import text
from model.diff import diff
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.gui.document_scenes import shown
from tests.gui.field_support import open_paths

NS = "insurance.contracts"


@pytest.fixture
def session(home: Path) -> Iterator[Session]:
    with Session.open("sample:", home=home) as made:
        yield made


@pytest.fixture
def marta(session: Session) -> Value:
    return session.documents.find_id(NS, "K-204117")


def opened(qtbot: QtBot, session: Session, id: Value) -> EditorPanel:
    panel = EditorPanel(session, NS, id)
    shown(qtbot, panel)
    qtbot.waitUntil(lambda: panel.is_loaded)
    return panel


def type_value(panel: EditorPanel, path: tuple[str | int, ...], said: str) -> None:
    assert panel.tree.edit_cell(panel.model.find(path))
    editor = panel.tree.editor.widget
    assert editor is not None
    editor.selectAll()
    QTest.keyClicks(editor, said)
    QTest.keyClick(editor, Qt.Key.Key_Return)


def stored(session: Session, id: Value, *path: str) -> str:
    content = session.history.version(NS, id).content
    assert content is not None
    found = canonical.get(content, path)
    assert found is not None
    return text.shown(found)


def test_an_edit_is_previewed_saved_and_found_in_the_database(qtbot: QtBot, session: Session, marta: Value) -> None:
    panel = opened(qtbot, session, marta)
    before = session.history.version(NS, marta)
    type_value(panel, ("billing", "interval"), '"quarterly"')
    qtbot.waitUntil(lambda: "quarterly" in panel.side.code.whole)
    assert panel.side.explanation.text()
    with qtbot.waitSignal(panel.saved) as saved:
        panel.save()
    assert saved.args is not None
    assert saved.args[0].kind == "applied"
    after = session.history.version(NS, marta)
    assert (before.v, after.v) == (Value.of(14), Value.of(15))
    assert stored(session, marta, "billing", "interval") == '"quarterly"'
    assert before.content is not None
    assert after.content is not None
    expected = canonical.put(before.content, ("billing", "interval"), Value.of("quarterly"))
    assert canonical.without(expected, ("changedBy",)) == canonical.without(after.content, ("changedBy",))
    assert not panel.is_dirty
    assert panel.content == after.content


def test_an_edit_overtaken_by_a_colleague_is_merged_and_nobodys_work_is_lost(
    qtbot: QtBot, session: Session, marta: Value, idle: Callable[[], None]
) -> None:
    panel = opened(qtbot, session, marta)
    mine = session.history.version(NS, marta).content
    assert mine is not None
    type_value(panel, ("notes",), "Call in the morning.")
    assert session.colleague.change(NS, marta).kind == "applied"
    overtaken = session.history.version(NS, marta)
    with qtbot.waitSignal(panel.conflict_found) as found:
        panel.save()
    assert found.args is not None
    conflict = found.args[0]
    assert conflict.kind == "changed"
    kept = session.drafts.get(session.source, NS, marta)
    assert kept is not None, "whoever decides the conflict has no draft"
    assert kept.content == conflict.mine
    assert session.history.version(NS, marta).v == overtaken.v
    resolver = ResolverPanel(session, NS, marta, conflict)
    shown(qtbot, resolver, 1392, 795)
    idle()
    resolver.choose_all("mine")
    idle()
    with qtbot.waitSignal(resolver.saved) as saved:
        resolver.save()
    assert saved.args is not None
    assert saved.args[0].kind == "applied"
    assert stored(session, marta, "notes") == '"Call in the morning."'
    after = session.history.version(NS, marta).content
    assert after is not None
    assert conflict.base.content is not None
    assert overtaken.content is not None
    for path in (each.path for each in diff(conflict.base.content, overtaken.content, conflict.keys)):
        if path not in open_paths(conflict):
            assert canonical.get(after, path) == canonical.get(overtaken.content, path)
    assert session.drafts.get(session.source, NS, marta) is None


def test_every_layout_of_the_sample_opens_and_edits_a_field(qtbot: QtBot, session: Session) -> None:
    done = []
    for info in session.catalogue.collections("insurance"):
        if info.belongs_to is not None or info.layout in ("stream", "deltas", "flagged"):
            continue
        page = session.documents.page(info.ns, limit=5)
        row = next((row for row in page.rows if row.readable), None)
        if row is None:
            continue
        panel = EditorPanel(session, info.ns, row.id)
        shown(qtbot, panel)
        qtbot.waitUntil(lambda panel=panel: panel.is_loaded or panel.states.kind == "failed")
        assert panel.is_loaded, (info.ns, panel.states.state.help)
        if panel.save_reason != "Nothing is changed":
            continue
        panel.menus._apply(canonical.put(panel.content, ("written by the test",), Value.of(1)), "add", None)
        with qtbot.waitSignal(panel.saved):
            panel.save()
        now = session.history.version(info.ns, row.id).content
        assert now is not None
        assert canonical.get(now, ("written by the test",)) == Value.of(1)
        done.append(info.layout)
        panel.close()
    assert len(set(done)) >= 4, done
