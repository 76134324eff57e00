"""The attack on the window: every page over the hostile database, and everything that leaves it.

It examines every text that widgets hold or offer, what they paint, what every copying action puts on the clipboard,
and the files left behind. The database needs a password, which must not be in any of them.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Container, Iterator, Sequence
from functools import partial
from pathlib import Path

import bson
import pymongo
from PySide6.QtCore import QAbstractItemModel, QAbstractListModel, QAbstractTableModel, QEvent, QModelIndex, QPoint
from PySide6.QtGui import QAction, QContextMenuEvent, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QTextEdit,
    QToolButton,
    QWidget,
)
from shiboken6 import isValid

from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import CollectionStart, PageRequest, PairStart, TakingBackStart
from gui.parts.document_side import DocumentSide
from gui.style.sheet import Sheet
from gui.tour.tour_views import settle
from gui.window.connect_dialog import ConnectDialog
from gui.window.opening import Opening
from gui.window.window import Window
from model.operations.taking_back import Chosen
from model.session import Session
from model.values.canonical import Value
from model.writing.edit import Conflict
from tests.guarded_server import GuardedServer
from tests.hostile.pictures import painted
from tests.hostile.planted import (
    CURRENT,
    DATABASE,
    ID,
    MARK,
    NAME,
    OTHER_ID,
    SECRET,
    STATS,
    VERSIONS,
    WORDS,
    content,
    plant,
    profile,
    raw_in,
)
from tests.hostile.sockets import watched

FEWEST = 10  # things to copy on all pages together; a page or two have fewer
USER = "eva"
MIGRATE = "Copy and verify"  # copies documents
CONTROL = Qt.KeyboardModifier.ControlModifier
BEFORE = 3  # runs of painted text
FEW = 60  # rows of a list that are looked at
EXACT = ("ReadOnlyText", "JsonText", "QLineEdit")
"""Where a text is edited or copied character by character, and so stays what it is."""


def requests(session: Session) -> Iterator[PageRequest]:
    """A request for each kind of page, with its panes, its sheets and what it begins with."""
    id = Value.of(ID)
    for ns in (CURRENT, VERSIONS):
        yield PageRequest("collection", ns)
        yield PageRequest("collection", ns, id, CollectionStart(a=Value.of(1), b=Value.of(3)))
        for pane in ("history", "compare", "indexes"):
            yield PageRequest("collection", ns, id, CollectionStart(pane=pane))
        for kind in ("document", "map", "blame", "field", "bisect", "activity", "repair", "health"):
            yield PageRequest(kind, ns, id)
    for kind in ("times", "migrate"):
        yield PageRequest(kind, CURRENT)
    yield PageRequest("pending", STATS)
    yield PageRequest("repair", DATABASE)
    for kind in ("drafts", "journal", "check", "activity", "health"):
        yield PageRequest(kind)
    left, right = (DocumentSide(session, CURRENT, each) for each in (id, Value.of(OTHER_ID)))
    yield PageRequest("pair", CURRENT, right.id, PairStart(left, right))
    yield PageRequest("taking-back", CURRENT, start=TakingBackStart((Chosen(id, (Value.of(2),)),)))
    yield PageRequest("merge", CURRENT, id, conflict(session, id))


def sheets(window: Window, session: Session, folder: Path) -> Iterator[Sheet]:
    """The sheets that ask before something is written, taken out or brought in."""
    id, file = Value.of(ID), folder / "histories.jsonl"
    page = window.workspace.open(session, PageRequest("collection", CURRENT, id))
    assert isinstance(page, CollectionPage)
    settle()
    page.histories.write(str(file), "jsonl")
    settle()
    yield page.histories.ask(id)
    yield page.batches.pick_history()
    yield page.batches.read_history(f"{DATABASE}.arrived{NAME}", str(file))
    yield page.batches.delete([id])
    other = Value.of(OTHER_ID)
    edited = window.workspace.open(session, PageRequest("document", CURRENT, other))
    assert isinstance(edited, DocumentPage)
    settle()
    edited.ask_conflict(conflict(session, other))
    assert edited.prompt is not None
    yield edited.prompt


def conflict(session: Session, id: Value) -> Conflict:
    """A hostile edit of the first version, behind which there are two more."""
    mine = bson.encode({**content(7), "same": f"mine {WORDS}", NAME: [WORDS]})
    return session.writing.conflict(CURRENT, id, session.history.version(CURRENT, id, Value.of(1)), mine)


def walked(folder: Path, most: int | None, asked_for: list[str]) -> Iterator[tuple[str, QWidget]]:
    """Each page of one window with its name; the window shows it."""
    with GuardedServer({USER: SECRET}) as server:
        with pymongo.MongoClient(server.store.uri) as client:
            plant(client)
        address = f"mongodb://{USER}:{SECRET}@{server.host}/"
        opening = Opening(address, f"<b>{MARK}</b>&amp;\u202e\x1b", profile=str(profile(folder)))
        window = Window()
        window.resize(1280, 860)
        window.show()
        with watched(f"mongodb://{server.host}/", asked_for):
            try:
                window.open(opening)
                settle(lambda: bool(window.sessions))
                session = window.sessions[0]
                for asked in itertools.islice(requests(session), most):
                    window.workspace.open(session, asked)
                    settle()
                    pane = asked.start.pane if isinstance(asked.start, CollectionStart) else ""
                    yield f"{asked.kind} {pane}".strip(), window
                for sheet in sheets(window, session, folder) if most is None else ():
                    settle()
                    yield type(sheet).__name__, window
                    sheet.reject()
                window.connecting.ask(opening)
                (dialog,) = window.findChildren(ConnectDialog)
                settle()
                yield "connection", dialog
                dialog.reject()
            finally:
                window.close_quietly()
                window.deleteLater()
                QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def is_wrong(said: str, drawn: bool, key: bool) -> str:
    """What is wrong with a text; "" where nothing is."""
    if SECRET in said:
        return f"the password in {said[:200]!a}"
    if raw := raw_in(said):
        return f"unseen in {raw}"
    if drawn and f"<b>{MARK}" in said:
        return f"markup in {said[:200]!a}"
    return f"a key made of {said[:200]!a}" if key and f"&{MARK}" in said.replace("&&", "") else ""


def faults(window: QWidget) -> Iterator[str]:
    """What the widgets of a window show that is not plain text, or that nobody sees."""
    for widget in [window, *window.findChildren(QWidget)]:
        name = f"{type(widget).__name__} {widget.objectName()}".strip()
        for place, said, drawn, key in texts(widget):
            if wrong := is_wrong(said, drawn, key):
                yield f"{name}, {place}: {wrong}"


def texts(widget: QWidget) -> Iterator[tuple[str, str, bool, bool]]:
    """Each text of a widget: its place, the text, whether markup in it would be drawn, whether an & makes a key."""
    yield "tooltip", widget.toolTip(), Qt.mightBeRichText(widget.toolTip()), False
    for place, said in (
        ("accessible name", widget.accessibleName()),
        ("accessible description", widget.accessibleDescription()),
        ("title", widget.windowTitle()),
        ("status tip", widget.statusTip()),
    ):
        yield place, said, False, False
    if isinstance(widget, QLabel):
        rich = widget.textFormat() != Qt.TextFormat.PlainText and Qt.mightBeRichText(widget.text())
        yield "text", widget.text(), rich, widget.buddy() is not None
    if isinstance(widget, QAbstractButton):
        yield "text", widget.text(), False, True
    if isinstance(widget, QLineEdit):
        yield "masked text", widget.displayText() if SECRET in widget.displayText() else "", False, False
    if isinstance(widget, QComboBox):
        yield from ((f"item {at}", widget.itemText(at), False, False) for at in range(min(widget.count(), FEW)))
    if isinstance(widget, QTabBar):
        for at in range(widget.count()):
            yield f"tab {at}", widget.tabText(at), False, True
            yield f"tab {at} tooltip", widget.tabToolTip(at), Qt.mightBeRichText(widget.tabToolTip(at)), False
            yield f"tab {at} name", widget.accessibleTabName(at), False, False
    if isinstance(widget, QPlainTextEdit | QTextEdit) and type(widget).__name__ not in EXACT:
        yield "text", widget.toPlainText(), isinstance(widget, QTextEdit), False
    for action in widget.actions():
        yield from _of_action(action)
    if isinstance(widget, QMenu):
        yield "menu", widget.title(), False, True
    if isinstance(widget, QAbstractItemView) and widget.model() is not None:
        yield from _of_model(widget.model(), QModelIndex(), [FEW * 10])


def _of_action(action: QAction) -> Iterator[tuple[str, str, bool, bool]]:
    yield "action", action.text(), False, True
    shown = any(isinstance(by, QMenu) and by.toolTipsVisible() for by in action.associatedObjects())
    yield "action's tooltip", action.toolTip(), shown and Qt.mightBeRichText(action.toolTip()), False


def _of_model(model: QAbstractItemModel, above: QModelIndex, left: list[int]) -> Iterator[tuple[str, str, bool, bool]]:
    roles = Qt.ItemDataRole
    across = Qt.Orientation.Horizontal
    columns = 1 if isinstance(model, QAbstractListModel) else model.columnCount(above)
    for column in range(columns):
        yield f"header {column}", str(model.headerData(column, across, roles.DisplayRole) or ""), False, False
    for row in range(min(model.rowCount(above), FEW)):
        for column in range(columns):
            index = model.index(row, column, above)
            left[0] -= 1
            if left[0] < 0:
                return
            for role in (roles.DisplayRole, roles.AccessibleTextRole, roles.AccessibleDescriptionRole):
                said = model.data(index, role)
                if isinstance(said, str):
                    yield f"cell {row}, {column}, {role.name}", said, False, False
            # The delegate puts the cell's tooltip through the door; a view without one shows what the model says.
            if (
                column == 0
                and not isinstance(model, QAbstractListModel | QAbstractTableModel)
                and model.hasChildren(index)
            ):
                yield from _of_model(model, index, left)


def menus(window: QWidget) -> Iterator[tuple[str, QMenu]]:
    """The menus of the lists' rows, each as it would open there."""
    opened: list[QMenu] = []
    before = QMenu.exec, QMenu.popup
    QMenu.exec = lambda menu, *_: opened.append(menu)  # type: ignore[method-assign,assignment]
    QMenu.popup = lambda menu, *_: opened.append(menu)  # type: ignore[method-assign,assignment]
    try:
        for view in window.findChildren(QAbstractItemView):
            if not view.isVisible() or view.model() is None or not view.model().rowCount():
                continue
            at = view.visualRect(view.model().index(0, 0)).center()
            view.setCurrentIndex(view.model().index(0, 0))
            reason = QContextMenuEvent.Reason.Mouse
            QApplication.sendEvent(view.viewport(), QContextMenuEvent(reason, at, view.viewport().mapToGlobal(at)))
            view.customContextMenuRequested.emit(QPoint(at))
            for menu in opened:
                yield type(view).__name__, menu
            opened.clear()
    finally:
        QMenu.exec, QMenu.popup = before  # type: ignore[method-assign]


def copied(window: QWidget, known: Container[str]) -> Iterator[tuple[str, str]]:
    """What each button, view and entry of the rows' menus that copies puts on the clipboard, but for those known."""
    clipboard = QApplication.clipboard()
    for name, copy in _copies(window):
        if name in known:
            continue
        clipboard.clear()
        copy()
        settle()
        yield name, clipboard.text()


def _copies(window: QWidget) -> Iterator[tuple[str, Callable[[], object]]]:
    for button in window.findChildren(QAbstractButton):
        if not isValid(button):
            continue  # what was copied before has changed the page
        said = button.text() or button.toolTip()
        if not button.isVisible() or not button.isEnabled() or not _is_copy(said):
            continue
        if isinstance(button, QToolButton) and button.menu() is not None:
            button.menu().aboutToShow.emit()
            yield from ((each.text(), each.trigger) for each in button.menu().actions() if _is_copy(each.text()))
        else:
            yield f"{said}, of {type(button.parent()).__name__}", button.click
    for view in window.findChildren(QAbstractItemView):
        if isValid(view) and view.isVisible() and view.model() is not None and view.model().rowCount():
            view.selectAll()
            yield f"Ctrl+C in {type(view).__name__}", partial(QTest.keyClick, view, Qt.Key.Key_C, CONTROL)
    for name, menu in menus(window):
        for action in menu.actions():
            if action.isEnabled() and _is_copy(action.text()):
                yield f"{action.text()}, menu of {name}", action.trigger


def _is_copy(said: str) -> bool:
    return said.replace("&", "").startswith("Copy") and said != MIGRATE


def badly_painted(runs: Sequence[str]) -> Iterator[str]:
    """The runs that hold the password, and those that would not stand alone if no markup had been drawn."""
    for at, said in enumerate(runs):
        signs = "".join(runs[max(0, at - BEFORE) : at])  # writing turned round stands behind its beginning
        if SECRET in said or (said.strip() == MARK and "<b>" not in signs):
            yield f"painted {said[:200]!a} behind {signs[-20:]!a}"


def attack(folder: Path, most: int | None = None) -> list[str]:
    """What the window shows, paints and hands out and should not, on so many pages where not on all."""
    found: dict[str, None] = {}
    asked: list[str] = []
    taken: dict[str, bool] = {}
    for page, window in walked(folder, most, asked):
        for fault in faults(window):
            found.setdefault(f"{page}: {fault}")
        for fault in badly_painted(painted(window)):
            found.setdefault(f"{page}: {fault}")
        for view, menu in menus(window):
            for place, said, drawn, key in itertools.chain.from_iterable(map(_of_action, menu.actions())):
                if wrong := is_wrong(said, drawn, key):
                    found.setdefault(f"{page}: menu of {view}, {place}: {wrong}")
        done = {name.partition(": ")[2] for name in taken if name.startswith(f"{page}: ")}
        for name, said in copied(window, done):
            taken[f"{page}: {name}"] = bool(said)
            if SECRET in said:
                found.setdefault(f"{page}: {name}: the password is on the clipboard")
    if sum(taken.values()) < (most or FEWEST):
        found.setdefault(f"only these were copied: {[name for name, filled in taken.items() if filled]}")
    return [*found, *left(Path(os.environ["PALIMPSEST_HOME"])), *asked]


def left(home: Path) -> Iterator[str]:
    """The files of a home in which the password stands."""
    files = [path for path in home.rglob("*") if path.is_file()]
    if not files:
        yield f"nothing was kept in {home}"
    yield from (f"{path.name} holds the password" for path in files if SECRET.encode() in path.read_bytes())
