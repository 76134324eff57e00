"""The title bar calls a server by the name of its program."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from gui.window.about_dialog import details
from gui.window.title_bar import DIVIDER, TitleBar
from model.session import Session
from tests.servers.hosted_server import PROFILES, HostedServer


@pytest.mark.parametrize(
    ("name", "said", "whole"),
    [
        ("documentdb-postgres", ["DocumentDB 0.108-0"], "DocumentDB 0.108-0"),
        ("ferretdb-2", ["standalone", "FerretDB 2.7"], "FerretDB 2.7.0, standalone"),
        ("mongodb", ["rs0", "MongoDB 7.0"], "MongoDB 7.0.0, rs0"),
    ],
)
def test_a_server_is_called_by_its_program(qtbot: QtBot, name: str, said: list[str], whole: str) -> None:
    bar = TitleBar()
    qtbot.addWidget(bar)
    with HostedServer(PROFILES[name]) as server, Session.open(server.address) as session:
        bar.show_session(session, True)
        assert bar._all_facts.split(DIVIDER)[:-1] == said
        assert whole in bar._facts.toolTip()
        assert whole in dict(details(session)).values()
