"""Connecting: the window says what is wrong, typed text stays, and no password is stored in a file or shown."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from urllib.parse import quote

import keyring
import keyring.backend
import keyring.backends.fail
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from gui.style import theme, zooming
from gui.tasks import tasks
from gui.window.connect_dialog import ConnectDialog, PasswordPrompt
from gui.window.opening import Opener, Opening, keep
from gui.window.window import Window
from model.errors import Unreachable
from model.foundation.address import DOTS
from model.session import Session
from model.userdata import connections
from model.userdata.connections import Connections
from tests.certificates import Authority
from tests.guarded_server import GuardedServer
from tests.gui.window.windows import new_window, open_sample, sheet, told, wait_idle
from tests.memory_keyring import Memory

SECRET = "s3cret/pw"


@pytest.fixture
def ring() -> Memory:
    before, made = keyring.get_keyring(), Memory()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture
def window(qtbot: QtBot) -> Window:
    return new_window(qtbot)


@pytest.fixture
def dialog(window: Window, qtbot: QtBot) -> ConnectDialog:
    window.connecting.ask(Opening("mongodb://db.example/"))
    found = sheet(window)
    assert isinstance(found, ConnectDialog)
    return found


def files(home: Path) -> str:
    return "".join(path.read_text("utf-8", "replace") for path in home.rglob("*") if path.is_file())


def test_a_wrong_address_is_said_in_the_dialog_and_stays_typed(dialog: ConnectDialog, qtbot: QtBot) -> None:
    dialog.uri.setText("ftp://db")
    qtbot.keyClick(dialog.uri, Qt.Key.Key_Return)
    assert dialog.trouble.isVisible()
    assert dialog.trouble.text().startswith("An address begins with")
    assert dialog.uri.text() == "ftp://db"


def test_a_server_that_does_not_answer_is_said_in_the_dialog(
    dialog: ConnectDialog, window: Window, qtbot: QtBot
) -> None:
    dialog.uri.setText("mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200&connectTimeoutMS=200")
    dialog.go.click()
    wait_idle(qtbot, dialog.trouble.isVisible)
    assert dialog.isVisible()
    assert dialog.go.isEnabled()
    assert "127.0.0.1:9" in dialog.trouble.text()
    assert window.workspace.at_welcome


def test_boxes_begin_at_one_line_in_every_part_and_are_as_high_as_one_another(dialog: ConnectDialog) -> None:
    boxes: dict[str, tuple[QWidget, ...]] = {
        "Server": (dialog.name, dialog.profile),
        "Login": (dialog.login.way, dialog.login.user),
        "TLS": (dialog.tls.ca, dialog.tls.key_password),
        "SSH": (dialog.ssh,),
    }
    for part, shown in boxes.items():
        dialog.show_part(part)
        QApplication.processEvents()
        assert len({each.mapTo(dialog, QPoint()).x() for each in (dialog.uri, *shown)}) == 1, part
        assert {each.height() for each in (dialog.uri, *shown)} == {theme.px(32)}, part


def test_labels_stand_in_the_middle_of_their_boxes_with_large_text_too(window: Window, qtbot: QtBot) -> None:
    zooming.apply(200)
    try:
        dialog = ConnectDialog(window)
        qtbot.addWidget(dialog)
        dialog.open()
        QApplication.processEvents()
        said = [label for label in dialog.findChildren(QLabel) if label.buddy() in (dialog.uri, dialog.name)]
        assert len(said) == 2
        for label in said:
            box = label.buddy()
            assert abs(label.geometry().center().y() - box.geometry().center().y()) <= 1, label.text()
    finally:
        zooming.apply(100)


def test_a_long_address_is_seen_from_its_scheme_on(dialog: ConnectDialog) -> None:
    dialog.uri.put(f"mongodb://clerk:secret@{'host-of-a-long-name,' * 12}last/")
    assert dialog.uri.cursorPosition() == 0


def test_an_address_is_seen_from_its_scheme_on_while_nobody_types(dialog: ConnectDialog, qtbot: QtBot) -> None:
    dialog.name.setFocus()
    dialog.uri.setText("mongodb://db.example/?" + "&".join(f"option{n}=1" for n in range(40)))
    assert dialog.uri.cursorPosition() == 0
    dialog.uri.setFocus()
    dialog.uri.end(False)
    dialog.name.setFocus()
    assert dialog.uri.cursorPosition() == 0


def test_no_two_boxes_have_one_key(dialog: ConnectDialog) -> None:
    boxes = [*dialog.findChildren(QLabel), *dialog.findChildren(QAbstractButton)]
    named = [box.text() for box in boxes if not dialog.login.isAncestorOf(box)]  # which has one way of several
    keys = [name[name.index("&") + 1].lower() for name in named if "&" in name]
    assert len(keys) > 5
    assert len(keys) == len(set(keys)), sorted(keys)


def test_boxes_become_part_of_the_address(dialog: ConnectDialog, tmp_path: Path) -> None:
    (ca := tmp_path / "ca.pem").write_text("")
    dialog.login.user.setText("an na")
    dialog.login.password.setText(SECRET)
    dialog.tls.tls.setChecked(True)
    dialog.tls.ca.setText(str(ca))
    dialog.read_only.setChecked(True)
    dialog.production.setChecked(True)
    opening = dialog.opening()
    assert opening.source == f"mongodb://an%20na:s3cret%2Fpw@db.example/?tls=true&tlsCAFile={quote(str(ca))}"
    assert dialog.uri.text() == opening.source.replace("s3cret%2Fpw", DOTS)
    assert (opening.read_only, opening.production, opening.keep_password) == (True, True, True)
    assert "s3cret" not in opening.shown


PASTED = (
    "mongodb://an%20na:s3cret%2Fpw@a.example:1,b.example/shop?replicaSet=rs0&tls=true&authSource=users"
    "&readPreferenceTags=dc:1&readPreferenceTags=&appName=x%2By&w=majority"
)


def test_a_pasted_address_fills_the_boxes_and_nothing_of_it_is_dropped(dialog: ConnectDialog, qtbot: QtBot) -> None:
    QApplication.clipboard().setText(PASTED)
    dialog.uri.selectAll()
    dialog.uri.paste()
    assert dialog.tls.tls.isChecked()
    assert dialog.login.user.text() == "an na"
    assert dialog.login.password.text() == SECRET
    assert dialog.login.source.text() == "users"
    assert dialog.opening().source == PASTED
    dialog.login.source.setText("admin")
    dialog.login.user.setText("eva")
    expected = PASTED.replace("authSource=users", "authSource=admin").replace("an%20na", "eva")
    assert dialog.opening().source == expected


def test_a_pasted_password_never_stands_in_clear(dialog: ConnectDialog, window: Window, qtbot: QtBot) -> None:
    for field in (dialog.uri, window.workspace.welcome.uri):
        QApplication.clipboard().setText(PASTED)
        field.selectAll()
        field.paste()
        assert field.text() == PASTED.replace("s3cret%2Fpw", DOTS)
        field.undo()
        assert "s3cret" not in field.text()
        field.setCursorPosition(len(field.text()))
        qtbot.keyClicks(field, "&retryReads=false")
        assert field.source == f"{PASTED}&retryReads=false"
    assert "s3cret" not in dialog.login.password.displayText()


def test_a_typed_password_is_covered_once_the_field_is_left(dialog: ConnectDialog, qtbot: QtBot) -> None:
    dialog.uri.clear()
    qtbot.keyClicks(dialog.uri, "mongodb://eva:s3cret%2Fpw@db.example/?w=1")
    assert dialog.login.password.text() == SECRET
    dialog.name.setFocus()
    assert dialog.uri.text() == f"mongodb://eva:{DOTS}@db.example/?w=1"
    dialog.uri.setFocus()
    dialog.uri.setCursorPosition(len("mongodb://eva:") + 1)
    qtbot.keyClick(dialog.uri, Qt.Key.Key_Backspace)
    assert dialog.opening().source == "mongodb://eva@db.example/?w=1", "a part of the dots is nobody's password"


def test_every_way_of_logging_in_has_its_boxes_and_they_become_its_address(dialog: ConnectDialog) -> None:
    way, login = dialog.login.way, dialog.login

    def choose(name: str) -> None:
        way.setCurrentIndex(way.findData(name))
        way.activated.emit(way.currentIndex())

    login.user.setText("AKIA")
    login.password.setText(SECRET)
    choose("MONGODB-AWS")
    login.token.setText("t0ken:s+x/=")
    aws = "mongodb://AKIA:s3cret%2Fpw@db.example/?authMechanism=MONGODB-AWS&authMechanismProperties="
    assert dialog.uri.source.startswith(aws)
    assert "t0ken" not in dialog.uri.text()
    assert not login.source.isVisibleTo(dialog)
    login.token.clear()
    choose("GSSAPI")
    login.service.setText("mongo-db")
    login.realm.setText("EXAMPLE.COM")
    assert dialog.opening().source == (
        "mongodb://AKIA:s3cret%2Fpw@db.example/?authMechanism=GSSAPI"
        "&authMechanismProperties=SERVICE_NAME:mongo-db,SERVICE_REALM:EXAMPLE.COM"
    )
    login.service.clear()
    login.realm.clear()
    choose("MONGODB-X509")
    assert dialog.opening().source == "mongodb://AKIA@db.example/?authMechanism=MONGODB-X509&tls=true"
    choose("MONGODB-OIDC")
    login.environment.setCurrentIndex(login.environment.findData("azure"))
    login.environment.activated.emit(0)
    login.resource.setText("api://shop")
    assert dialog.opening().source.endswith("authMechanismProperties=ENVIRONMENT:azure,TOKEN_RESOURCE:api://shop")
    choose("PLAIN")
    assert login.source.placeholderText() == "$external"
    choose("")
    assert "authMechanism=" not in dialog.opening().source


def test_the_order_of_old_uuids_is_a_choice_and_a_part_of_the_address(dialog: ConnectDialog) -> None:
    dialog.uri.setText("mongodb://db.example/?uuidRepresentation=javalegacy")
    assert dialog.uuids.currentText() == "as of the old Java driver"
    dialog.uuids.setCurrentIndex(2)
    dialog.uuids.activated.emit(2)
    assert dialog.uri.text() == "mongodb://db.example/?uuidRepresentation=csharpLegacy"
    dialog.uuids.setCurrentIndex(0)
    dialog.uuids.activated.emit(0)
    assert dialog.uri.text() == "mongodb://db.example/"


def test_the_way_through_ssh_is_a_box_and_a_part_of_the_address(dialog: ConnectDialog) -> None:
    dialog.ssh.setText("me@bastion")
    assert dialog.opening().source == "mongodb://db.example/?ssh=me%40bastion"
    dialog.uri.setText("mongodb://db.example/?ssh=other&w=1")
    assert dialog.ssh.text() == "other"
    dialog.ssh.clear()
    assert dialog.opening().source == "mongodb://db.example/?w=1"
    dialog.ssh.setText("-oProxyCommand=rm")
    dialog.go.click()
    assert "Write ssh in the address as user@host" in dialog.trouble.text()


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("mongodb://db example/", "has a blank in it"),
        ("db example", "has a blank in it"),
        ("mongodb://eva:p@ss@db/", "Percent-encode"),
        ("mongodb://db/?tls=true&tls=false", "gives tls twice"),
        ("mongodb+srv://ann:<db_password>@c0.example.net/", "<db_password> is a placeholder of Atlas"),
        ("mongodb+srv://db.example/?tsl=true", "tsl"),
        ("mongodb://db/?tlsCAFile=/nowhere/ca.pem", "/nowhere/ca.pem"),
    ],
)
def test_an_address_that_would_not_be_used_as_typed_is_refused_at_once(
    dialog: ConnectDialog, typed: str, said: str
) -> None:
    dialog.uri.setText(typed)
    dialog.go.click()
    assert said in dialog.trouble.text()
    assert not [task for task in tasks.running if task.title.startswith("Connecting")]


def test_an_address_that_means_tls_shows_it_and_can_be_told_otherwise(dialog: ConnectDialog) -> None:
    assert not dialog.tls.tls.isChecked()
    dialog.uri.setText("mongodb+srv://claims.db.example/")
    assert dialog.tls.tls.isChecked()
    assert dialog.tls.ca.isEnabled()
    assert dialog.opening().source == "mongodb+srv://claims.db.example/"
    dialog.tls.tls.setChecked(False)
    assert dialog.opening().source == "mongodb+srv://claims.db.example/?tls=false"
    dialog.tls.tls.setChecked(True)
    assert dialog.opening().source == "mongodb+srv://claims.db.example/"


def test_tls_files_are_only_asked_for_with_tls(dialog: ConnectDialog) -> None:
    assert not dialog.tls.ca.isEnabled()
    dialog.tls.tls.setChecked(True)
    assert dialog.tls.ca.isEnabled()


def test_a_password_of_an_address_goes_with_it_and_a_typed_one_stays(dialog: ConnectDialog) -> None:
    dialog.uri.setText("mongodb://eva:first@db.example/")
    assert dialog.login.password.text() == "first"
    dialog.uri.setText("mongodb://other.example/")
    assert dialog.login.password.text() == ""
    assert dialog.opening().source == "mongodb://other.example/"
    dialog.login.password.setText("second")
    dialog.uri.setText("mongodb://third.example/")
    assert dialog.login.password.text() == "second"
    dialog.login.user.setText("ann")
    assert dialog.opening().source == "mongodb://ann:second@third.example/"
    dialog.login.user.setText("")
    dialog.login.user.setText("bob")
    assert dialog.opening().source == "mongodb://bob:second@third.example/"


def test_a_password_without_a_user_is_refused(dialog: ConnectDialog) -> None:
    dialog.login.password.setText(SECRET)
    dialog.go.click()
    assert dialog.trouble.text() == "The password has no user; type the user's name beside it."


def test_the_test_button_says_what_each_step_found_and_connects_nothing(
    dialog: ConnectDialog, window: Window, qtbot: QtBot, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    with GuardedServer({"eva": SECRET}, certificate=authority.signed("server", "127.0.0.1")) as server:
        dialog.uri.setText(f"mongodb://eva:s3cret%2Fpw@{server.host}/?tls=true")
        dialog.test.click()
        assert not dialog.go.isEnabled()
        wait_idle(qtbot, lambda: bool(dialog.steps.steps))
        assert [(step.name, step.result) for step in dialog.steps.steps][-2:] == [("Network", "ok"), ("TLS", "failed")]
        assert "name the authority's file" in dialog.steps.steps[-1].said
        dialog.tls.ca.setText(str(authority.file))
        dialog.show_part("TLS")
        assert dialog.tls.height() >= dialog.tls.minimumSizeHint().height(), "the boxes keep their height"
        assert not dialog.steps.isVisible(), "what was found of another address holds no longer"
        dialog.test.click()
        wait_idle(qtbot, lambda: len(dialog.steps.steps) == 7)
        assert {step.result for step in dialog.steps.steps} == {"ok"}
        shown = [label.text() for label in dialog.steps.findChildren(QLabel)]
        assert "Logged in as eva (admin)." in shown
        assert not [text for text in shown if SECRET in text]
        assert dialog.isVisible()
        assert not window.sessions
        dialog.go.click()
        wait_idle(qtbot, lambda: bool(window.sessions))
        assert SECRET not in window.sessions[0].source
        window.connecting.disconnect_session(window.sessions[0])
        wait_idle(qtbot)


def test_a_try_can_be_stopped(dialog: ConnectDialog, qtbot: QtBot) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dialog.uri.setText(f"mongodb://127.0.0.1:{silent.getsockname()[1]}/?serverSelectionTimeoutMS=500")
        dialog.test.click()
        dialog.busy.findChild(QPushButton).click()
        assert dialog.go.isEnabled()
        assert dialog.busy.isHidden()
        wait_idle(qtbot)
        assert not dialog.steps.steps


def test_escape_closes_the_dialog_and_opens_nothing(dialog: ConnectDialog, window: Window, qtbot: QtBot) -> None:
    qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not dialog.isVisible()
    assert window.workspace.at_welcome


def test_a_password_goes_to_the_keyring_and_into_no_file(ring: Memory, home: Path) -> None:
    note = keep(Opening(f"mongodb://anna:{SECRET.replace('/', '%2F')}@db.example/", "staging"))
    assert note == ""
    assert any("s3cret" in kept for kept in ring.kept.values())
    assert "s3cret" not in files(home)
    assert [c.uri for c in Connections().all()] == ["mongodb://anna@db.example/"]


def test_a_keyring_that_fails_is_a_sentence_and_the_password_is_asked_for(
    ring: Memory, window: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    def locked(*_: object) -> None:
        raise OSError("org.freedesktop.Secret.Error.IsLocked")

    monkeypatch.setattr(ring, "get_password", locked)
    assert "does not keep the password (OSError)" in keep(Opening(f"mongodb://anna:{SECRET}@db.example/", "staging"))
    window.open(Opening("mongodb://anna@db.example/"))
    wait_idle(qtbot)
    prompt = sheet(window)
    assert isinstance(prompt, PasswordPrompt)
    assert any("cannot be read (OSError)" in label.text() for label in prompt.findChildren(QLabel))


def test_while_a_keyring_hangs_the_window_goes_on_and_asks_for_the_password_after_a_while(
    ring: Memory, window: Window, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, asked = threading.Event(), threading.Event()

    def hang(*_: object) -> None:
        asked.set()
        answers.wait()

    monkeypatch.setattr(ring, "get_password", hang)
    monkeypatch.setattr(connections, "PATIENCE", 0.5)
    try:
        window.open(Opening("mongodb://anna@db.example/"))
        qtbot.waitUntil(asked.is_set)  # the events of the window are dealt with meanwhile
        wait_idle(qtbot)
        prompt = sheet(window)
        assert isinstance(prompt, PasswordPrompt)
        assert any("has not answered" in label.text() for label in prompt.findChildren(QLabel))
    finally:
        answers.set()


def test_a_password_that_is_not_to_be_kept_any_more_leaves_the_keyring(ring: Memory) -> None:
    keep(Opening("mongodb://anna:s3cret@db.example/", "staging"))
    assert ring.kept
    keep(Opening("mongodb://anna:s3cret@db.example/", "staging", keep_password=False))
    assert not ring.kept


def test_without_a_keyring_the_connection_is_kept_and_the_password_is_not(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyring, "set_password", keyring.backends.fail.Keyring().set_password)
    note = keep(Opening("mongodb://anna@db.example/", "staging", password=SECRET))
    assert "not kept" in note
    assert "s3cret" not in files(home)
    assert [c.name for c in Connections().all()] == ["staging"]


def test_a_password_that_shall_not_be_kept_is_not(ring: Memory, home: Path) -> None:
    keep(Opening("mongodb://anna@db.example/", "staging", password=SECRET, keep_password=False))
    assert not ring.kept
    assert "s3cret" not in files(home)


def test_an_opening_that_an_error_quotes_shows_no_password() -> None:
    assert "s3cret" not in repr(Opening("mongodb://anna:s3cret@db.example/", "staging", password=SECRET))


def test_two_connections_of_one_host_have_two_names() -> None:
    keep(Opening("mongodb://db.example/"))
    keep(Opening("mongodb://db.example/?replicaSet=rs0"))
    assert sorted(c.name for c in Connections().all()) == ["db.example", "db.example (2)"]
    keep(Opening("mongodb://db.example/", "staging"))
    assert sorted(c.name for c in Connections().all()) == ["db.example (2)", "staging"]


def test_a_user_without_password_is_asked_for_it(window: Window, qtbot: QtBot) -> None:
    window.open(Opening("mongodb://anna@127.0.0.1:9/?serverSelectionTimeoutMS=200"))
    wait_idle(qtbot)
    prompt = sheet(window)
    assert isinstance(prompt, PasswordPrompt)
    assert any("anna@127.0.0.1:9" in label.text() for label in prompt.findChildren(QLabel))
    prompt.password.setText(SECRET)
    qtbot.keyClick(prompt.password, Qt.Key.Key_Return)
    wait_idle(qtbot, window.workspace.welcome.trouble.isVisible)
    assert SECRET not in window.workspace.welcome.trouble.text()


def test_an_address_on_the_welcome_page_that_fails_stays_with_its_reason(window: Window, qtbot: QtBot) -> None:
    typed = "mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=200&connectTimeoutMS=200"
    window.workspace.welcome.uri.setText(typed)
    window.workspace.welcome.connect_button.click()
    wait_idle(qtbot, window.workspace.welcome.trouble.isVisible)
    assert window.workspace.welcome.uri.text() == typed
    assert not window.sessions


def test_a_dump_that_is_none_is_refused_in_one_sentence(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "broken.bson").write_bytes(b"this is not BSON at all")
    window.open(Opening(str(tmp_path / "broken.bson")))
    wait_idle(qtbot, window.workspace.welcome.trouble.isVisible)
    assert "broken.bson" in window.workspace.welcome.trouble.text()
    assert "Traceback" not in window.workspace.welcome.trouble.text()


def test_a_dump_opens_read_only_and_says_so(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text(json.dumps({"_id": 1, "name": "Ada"}) + "\n")
    window.open(Opening(str(tmp_path / "people.json")))
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert window.title.badge.text() == "read-only"
    assert [c.uri for c in Connections().all()] == [str(tmp_path / "people.json")]
    window.title.badge.click()
    asked = sheet(window)
    asked.verb.click()  # type: ignore[attr-defined]
    wait_idle(qtbot, lambda: bool(window.sessions) and not window.sessions[0].trust.read_only)
    assert window.title.badge.text() == "Writes allowed"


def test_a_dump_is_opened_into_memory_by_a_button(window: Window, qtbot: QtBot, tmp_path: Path) -> None:
    (tmp_path / "people.json").write_text(json.dumps({"_id": 1, "name": "Ada"}) + "\n")
    window.open(Opening(str(tmp_path / "people.json")))
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert window.title.memory.isVisible()
    window.title.memory.click()
    wait_idle(qtbot, lambda: bool(window.sessions) and not window.sessions[0].trust.read_only)
    assert not window.title.memory.isVisible()
    assert window.title.badge.text() == "Writes allowed"


def test_a_saved_connection_is_edited_with_its_secrets_and_takes_the_place_of_the_old_one(
    ring: Memory, window: Window, qtbot: QtBot
) -> None:
    key = "mongodb://db.example/?tls=true&tlsCertificateKeyFilePassword=k3y&tlsCertificateKeyFile="
    keep(Opening(f"{key}%2Fc.pem", "staging", production=True))
    (saved,) = Connections().all()
    window.connecting.edit_saved(saved)
    wait_idle(qtbot, lambda: window.connecting._dialog is not None)
    dialog = sheet(window)
    assert isinstance(dialog, ConnectDialog)
    assert dialog.tls.key_password.text() == "k3y"
    assert "k3y" not in dialog.uri.text()
    dialog.tls.client.clear()
    dialog.tls.key_password.clear()
    opening = dialog.opening()
    assert (opening.source, opening.replaces) == ("mongodb://db.example/?tls=true", "staging")
    keep(opening)
    assert [(c.name, c.uri) for c in Connections().all()] == [("staging", "mongodb://db.example/?tls=true")]
    assert not ring.kept, "nobody needs the old secrets any more"


@pytest.fixture
def dump(tmp_path: Path) -> Opening:
    file = tmp_path / "orders.jsonl"
    file.write_text('{"_id": 1}\n')
    return Opening(str(file), "orders")


def test_a_double_click_opens_a_source_once(window: Window, qtbot: QtBot, dump: Opening) -> None:
    for _ in range(2):
        window.open(dump)
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert len(window.sessions) == 1
    window.connecting.disconnect_session(window.sessions[0])
    window.open(dump)
    wait_idle(qtbot, lambda: bool(window.sessions))


def test_what_was_stopped_can_be_opened_again_at_once(window: Window, qtbot: QtBot, dump: Opening) -> None:
    window.open(dump)
    window.connecting.opener.stop(dump)
    window.open(dump)
    wait_idle(qtbot, lambda: bool(window.sessions))
    assert len(window.sessions) == 1


def test_a_try_that_was_given_up_says_nothing_more_and_ends_no_other(
    qtbot: QtBot, dump: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    gates = [threading.Event(), threading.Event()]
    begun: list[threading.Event] = []

    def slowly(source: str, **_: object) -> Session:
        begun.append(gates[len(begun)])
        assert begun[-1].wait(60)
        raise Unreachable(f"{source} did not answer.")

    monkeypatch.setattr(Session, "open", slowly)
    owner = QWidget()  # a signal source that nobody owns may go while its answers are on their way
    qtbot.addWidget(owner)
    opener, said = Opener(owner), []
    for name in ("began", "opened", "failed", "stopped"):
        getattr(opener, name).connect(lambda *_, name=name: said.append(name))
    opener.open(dump)
    qtbot.waitUntil(lambda: len(begun) == 1)
    opener.stop(dump)
    assert said == ["began", "stopped"]  # at once, and not when the server has been waited for
    opener.open(dump)
    qtbot.waitUntil(lambda: len(begun) == 2)
    gates[0].set()
    qtbot.waitUntil(lambda: len(tasks.running) == 1)
    assert said == ["began", "stopped", "began"]
    gates[1].set()
    qtbot.waitUntil(lambda: not tasks.running)
    assert said == ["began", "stopped", "began", "failed"]


@pytest.mark.deep
def test_the_sample_is_not_listed_among_saved_connections_twice(window: Window, qtbot: QtBot) -> None:
    open_sample(qtbot, window)
    assert [root.name for root in window.workspace.sidebar.model.roots] == ["sample:"]
    assert Connections().all() == []
    assert not told(window)
