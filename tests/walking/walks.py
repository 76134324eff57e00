"""Random walks by mouse and key over the sample; after each step, focus and pointer are checked."""

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from PySide6.QtCore import QAbstractListModel, QPoint, QRect, Qt, QTimer
from PySide6.QtGui import QCursor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTabBar,
    QWidget,
)
from shiboken6 import isValid

from gui import messages
from gui.pages.page_request import PageRequest
from gui.style import focus_keeper
from model.errors import Refused
from model.foundation.records import Entry
from tests.walking.truths import stale
from tests.walking.world import PATIENCE, World, living, sent_writes, where

ACTIONS = 60
KINDS = ("collection", "document", "map", "blame", "field", "bisect", "journal", "drafts", "repair", "pending")
ABOUT_ONE = ("document", "map", "blame", "field", "bisect")
KEYS = (
    Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Right,
    Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Escape, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_F2,
    Qt.Key.Key_Delete, Qt.Key.Key_Insert, Qt.Key.Key_PageDown,
)  # fmt: skip
MOVES = KEYS[:6]
"""Keys by which a person goes from one control to another."""
COMMANDS = (
    "save", "refresh", "undo", "redo", "find", "history", "compare", "change-map", "blame", "close-tab", "next-tab",
    "previous-tab", "next-pane", "previous-pane", "next-change", "previous-change", "swap", "as-json", "journal",
    "drafts", "palette", "shortcuts", "delete", "duplicate", "new-document", "colleague", "reopen-tab",
    "toggle-sidebar", "discard", "settings",
)  # fmt: skip
IN_MENU = (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_Return, Qt.Key.Key_Escape)
LEFT_OUT = ("Open", "Quit", "Close the window", "Disconnect")
"""Beginnings of what leads to other servers, or ends the walk; the palette has them all the same."""
ONE_DATABASE = 0.75  # the share of the worlds that show one
SETTLING = 300.0  # seconds in which a look for damage everywhere ends on a busy machine
SCRATCH = "palimpsest_check_"  # databases of a server check, which drops them itself and leaves no way back
HELD = 100  # milliseconds after which a step is held up by a menu


@dataclass
class Walk:
    """A walk that was made, and what was wrong on it."""

    seed: int
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Walker:
    """One walk in the first window of a world, drawn from a seed."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.random, self.walk = world, random.Random(seed), Walk(seed)
        self.session, self.window = world.session, world.windows[0]
        self._chosen_switch = False
        self._held = QTimer(self.window)
        self._held.setSingleShot(True)
        self._held.setInterval(HELD)
        self._held.timeout.connect(self._in_menu)
        self._noted: set[str] = set()  # entries of the journal that were seen
        self._sent(), self._entered()
        self.ways: list[tuple[int, Callable[[], str]]] = [
            (5, self._open), (6, self._click), (4, self._row), (8, self._key), (3, self._type), (5, self._command),
            (3, self._elsewhere), (2, self._message), (2, self._menu),
        ]  # fmt: skip

    def run(self, actions: int = ACTIONS) -> Walk:
        """Make the walk; it ends with the first thing that is wrong."""
        try:
            return self._run(actions)
        except Exception as error:  # of the walker itself: the other walks go on
            self.walk.wrong.append(f"{type(error).__name__}: {error} {where(error)}")
            return self.walk

    def _run(self, actions: int) -> Walk:
        self.window.activateWindow()
        self._open()
        self.world.settle()
        weights = [weight for weight, _ in self.ways]
        for _ in range(actions):
            way = self.random.choices([way for _, way in self.ways], weights)[0]
            self._held.start()
            self.walk.done.append(way())
            self._held.stop()
            self.world.close_others()
            if not self.world.settle(seconds=SETTLING):
                self.walk.wrong.append("nothing settles")
            if self.world.is_left:
                return self.walk
            self._look()
            if self.walk.wrong:
                break
        else:
            self._end()
        self._leave()
        return self.walk

    # --- what is looked at

    def _look(self) -> None:
        wrong = self.walk.wrong
        wrong += self.world.troubles
        self.world.troubles.clear()
        unnoted = self._sent() - self._entered()
        wrong += [f"a write to {ns} is not in the journal" for ns in sorted(unnoted)]
        if QApplication.activePopupWidget() is not None or not self.window.isActiveWindow():
            return
        here = QApplication.focusWidget()
        if here is None:
            wrong.append("nothing has the focus")
        elif not here.isVisible() or not here.isEnabled():
            wrong.append(f"the focus is on {_name(here)}, which is hidden or disabled")
        elif here.property(focus_keeper.SWITCH) and not self._chosen_switch:
            wrong.append("the focus is on the switch that allows writes, which nobody chose")
        elif not here.property(focus_keeper.SWITCH) and self._asked() is None:
            self._chosen_switch = False  # a dialog gives it back to where the person was

    def _sent(self) -> set[str]:
        """The collections that were written since the last look, each with its archive."""
        others, self.world.others = self.world.others, set()
        sent = {ns for ns in sent_writes.take() if not ns.startswith(SCRATCH)}
        return {self._owner(ns) for ns in sent} - {self._owner(ns) for ns in others}

    def _entered(self) -> set[str]:
        """The collections of the journal's new entries."""
        new: list[Entry] = []
        while part := self.session.journal.entries(20, self.session.source, new[-1].id if new else None):
            fresh = [entry for entry in part if entry.id not in self._noted]
            new += fresh
            if len(fresh) < len(part):
                break
        self._noted.update(entry.id for entry in new)
        copies = {
            f"{entry.ns.partition('.')[0]}.quarantine" for entry in new
        }  # a repair's entry says where its copy is
        return {self._owner(entry.ns) for entry in new} | copies

    def _owner(self, ns: str) -> str:
        try:
            return self.session.catalogue.info(ns).belongs_to or ns
        except Refused:
            return ns

    def _end(self) -> None:
        """Every view is true."""
        found: list[str] = []

        def look() -> bool:
            found[:] = [each for _, page in self.world.pages for each in stale(page)]
            return not found

        if not self.world.settle(look, PATIENCE):
            self.walk.wrong += found or ["nothing settles"]

    def _leave(self) -> None:
        while (popup := QApplication.activePopupWidget()) is not None:
            popup.close()
        self._held.deleteLater()
        self.world.clear()
        self.session.trust.read_only = False

    # --- steps

    def _documents(self, ns: str) -> list[object]:
        page = self.session.documents.page(ns, limit=12)
        found = [row.id for row in page.rows if row.readable]
        if not found and page.total:
            raise AssertionError(f"none of {page.total} documents of {ns} is listed and readable")
        return found

    def _open(self) -> str:
        if self._asked() is not None:
            return self._key()
        kind = self.random.choice(KINDS)
        ns = "insurance." + self.random.choice(("contracts", "claims", "customers", "tariffs", "agents", "invoices"))
        there = self._documents(ns) if kind in ABOUT_ONE else [None]
        if not there:  # earlier walks deleted them
            return f"nothing to open in {ns}"
        id = self.random.choice(there)
        ns = "insurance.tariffs" if kind == "repair" else "insurance.stats" if kind == "pending" else ns
        if len(self.window.workspace.tab_area.pages) > 6:
            self.window.commands.do_close_tab()
        self.window.workspace.open(self.session, PageRequest(kind, ns, id))  # type: ignore[arg-type]
        return f"open {kind} {ns} {id}"

    def _asked(self) -> QWidget | None:
        return self.world.sheet(self.window)

    def _within(self) -> QWidget:
        return QApplication.activePopupWidget() or self._asked() or self.window

    def _pick(self, kind: type[QWidget]) -> list[QWidget]:
        within = self._here = self._within()  # kept: PySide lets go of a popup's parts together with the popup
        return [each for each in within.findChildren(kind) if _reachable(each)]

    def _click(self) -> str:
        popup = QApplication.activePopupWidget()
        if isinstance(popup, QMenu):
            popup.close()
            return "close a menu"
        buttons = [
            each
            for each in self._pick(QAbstractButton)
            if isinstance(each, QAbstractButton) and not each.text().startswith(LEFT_OUT)
            and not each.accessibleName().startswith(LEFT_OUT) and not each.toolTip().startswith(LEFT_OUT)
        ]  # fmt: skip
        if not buttons:
            return self._key()
        button = self.random.choice(buttons)
        self._chosen_switch = bool(button.property(focus_keeper.SWITCH)) or self._chosen_switch
        said = f"click {_name(button)}"
        QTest.mouseClick(button, Qt.MouseButton.LeftButton, pos=button.rect().center())
        return said

    def _in_menu(self) -> None:
        """Go on in a menu that drops down from a button, which holds the step up until it is closed."""
        self._held.start()
        menu = QApplication.activePopupWidget()
        if isinstance(menu, QMenu):
            self.walk.done.append(self._press(menu, self.random.choice(IN_MENU)))

    def _press(self, menu: QMenu, key: Qt.Key) -> str:
        chosen = menu.activeAction()
        said = chosen.text().replace("&", "") if chosen is not None else ""
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Space) and said.startswith(LEFT_OUT):
            key = Qt.Key.Key_Escape
        QTest.keyClick(menu, key)
        return f"{key.name} in a menu, on {said!r}"

    def _menu(self) -> str:
        """Ask for the menu of a row, of the tabs or of whatever else is there."""
        if self._asked() is not None or QApplication.activePopupWidget() is not None:
            return self._key()
        there = self._pick(QAbstractItemView) + self._pick(QTabBar)
        handle = self.window.windowHandle()
        if not there or handle is None:
            return self._key()
        widget = self.random.choice(there)
        within = widget.visibleRegion().boundingRect()
        spot = QPoint(
            self.random.randint(within.left(), within.right()), self.random.randint(within.top(), within.bottom())
        )
        # By way of the system's window: Qt makes a context menu of the button there, and not of events to a widget.
        QTest.mouseClick(
            handle, Qt.MouseButton.RightButton, Qt.KeyboardModifier.NoModifier, widget.mapTo(self.window, spot)
        )
        return f"menu of {_name(widget)}"

    def _row(self) -> str:
        views = [each for each in self._pick(QAbstractItemView) if isinstance(each, QAbstractItemView)]
        views = [each for each in views if each.model() is not None and each.model().rowCount() > 0]
        if not views:
            return self._key()
        view = self.random.choice(views)
        model = view.model()
        row = self.random.randrange(min(model.rowCount(), 30))
        column = 0 if isinstance(model, QAbstractListModel) else self.random.randrange(model.columnCount())
        index = model.index(row, column)
        box: QRect = view.visualRect(index).intersected(view.viewport().rect())
        if box.isEmpty():
            return self._key()
        click = QTest.mouseDClick if self.random.random() < 0.2 else QTest.mouseClick
        said = f"row {index.row()} of {_name(view)}"
        click(view.viewport(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, box.center())
        return said

    def _key(self) -> str:
        key = self.random.choice(KEYS)
        to = QApplication.activePopupWidget() or QApplication.focusWidget() or self.window
        if isinstance(to, QMenu):
            return self._press(to, self.random.choice(IN_MENU))
        said = f"{key.name} on {_name(to)}"
        self._chosen_switch = key in MOVES or self._chosen_switch
        shift = key == Qt.Key.Key_Backtab
        QTest.keyClick(to, key, Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier)
        return said

    def _type(self) -> str:
        to = QApplication.focusWidget()
        if not isinstance(to, QLineEdit | QPlainTextEdit) or not to.isEnabled():
            return self._key()
        typed = self.random.choice(("12", "true", '"x"', "{", "status", "K-2041"))
        said = f"type {typed} into {_name(to)}"
        QTest.keyClicks(to, typed)
        return said

    def _command(self) -> str:
        if self._asked() is not None or QApplication.activePopupWidget() is not None:
            return self._key()
        actions = self.window.actions_.by_id
        there = [name for name in COMMANDS if actions[name].isEnabled()]
        name = self.random.choice(there)
        keys = actions[name].shortcut()
        if keys.isEmpty():
            self.window.actions_.trigger(name)
        else:
            QTest.keySequence(QApplication.focusWidget() or self.window, keys)
        return f"command {name}, {keys.toString() or 'from the palette'}"

    def _elsewhere(self) -> str:
        """Somebody else writes while the pointer rests on something: that stays under it."""
        pages = [page for page in self.window.workspace.tab_area.pages if page.id is not None and page.ns]
        page = self.random.choice(pages) if pages else None
        id = page.id if page is not None else None
        if page is None or id is None:
            return self._message()
        before = self._rest()
        try:
            self.session.colleague.change(page.ns, id)
        except Refused:
            return "nobody writes"
        self.world.settle()
        self._stayed(before, "somebody else's write")
        return f"somebody else writes {page.ns} {id}"

    def _message(self) -> str:
        before = self._rest()
        messages.tell(self.window, f"Message {self.random.randrange(100)}")
        self.world.settle()
        self._stayed(before, "a message")
        return "a message"

    def _rest(self) -> tuple[QWidget, QRect] | None:
        """Put the pointer on a control; returns that with its place in the window."""
        working = self.window.status.tasks  # its words, and so its width, are about the work under way
        there = [each for each in self._pick(QAbstractButton) if each is not working]
        if not there:
            return None
        widget = self.random.choice(there)
        where = widget.mapToGlobal(widget.rect().center())
        QCursor.setPos(where)
        return widget, QRect(widget.mapTo(self.window, QPoint()), widget.size())

    def _stayed(self, before: tuple[QWidget, QRect] | None, what: str) -> None:
        if before is None:
            return
        widget, box = before
        if not isValid(widget) or not widget.isVisible():
            return  # it went with what it was about
        now = QRect(widget.mapTo(self.window, QPoint()), widget.size())
        if not now.contains(box.center()):
            self.walk.wrong.append(f"{what} moved {_name(widget)} under the pointer: {box} became {now}")
        found = self.window.childAt(now.center())
        if found is not None and found is not widget and self.window.messages.isAncestorOf(found):
            self.walk.wrong.append(f"{what} lies over {_name(widget)}, where the pointer is")


def _reachable(widget: QWidget) -> bool:
    if not widget.isVisible() or not widget.isEnabled() or widget.visibleRegion().isEmpty():
        return False
    window = widget.window()
    found = window.childAt(widget.mapTo(window, widget.rect().center())) if window is not widget else widget
    return found is widget or (found is not None and widget.isAncestorOf(found))


def _name(widget: QWidget) -> str:
    said = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
    return f"{type(widget).__name__} {said or widget.objectName()!r}".strip()


def walk_all(asked: tuple[list[int], int]) -> list[Walk]:
    """Make the walks of some seeds in one world, or in a further one where a walk has left it.

    Most worlds show one database: to look for damage and tokens everywhere takes longer than all the rest of a walk.
    """
    seeds, actions = asked
    database = "insurance" if random.Random(seeds[0]).random() < ONE_DATABASE else ""
    with living() as troubles:
        world = World(troubles, windows=1, database=database)
        walks = []
        try:
            for seed in seeds:
                if world.is_left:
                    world.close()
                    world = World(troubles, windows=1, database=database)
                walks.append(Walker(world, seed).run(actions))
        finally:
            world.close()
        gc.unfreeze()
        gc.collect()  # the application does so where nobody is at the window for a while, as a walk always is
        return walks


__all__ = ["Walk", "Walker", "walk_all"]
