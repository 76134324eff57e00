"""The draft of one document has two keepers: its editor, and whoever decides its conflict."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QObject
from pytestqt.qtbot import QtBot

from gui.parts.draft_saver import DraftSaver
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

NS = "insurance.contracts"


@pytest.mark.parametrize("in_turn", [False, True], ids=["late", "in turn"])
def test_a_draft_that_a_worker_writes_late_does_not_come_back(qtbot: QtBot, home: Path, in_turn: bool) -> None:
    with Session.open("sample:", home=home) as session:
        id = session.documents.find_id(NS, "K-204117")
        base = session.history.version(NS, id)
        assert base.content is not None
        owner = QObject()
        editor, resolver = (DraftSaver(session, NS, id, owner) for _ in range(2))
        editor.keep(base, canonical.put(base.content, ("notes",), Value.of("Call in the morning.")))
        write = editor._next()
        if in_turn:
            write()
            assert session.drafts.get(session.source, NS, id) is not None
        resolver.forget()
        resolver.flush()
        write()
        assert session.drafts.get(session.source, NS, id) is None
        editor.flush()
