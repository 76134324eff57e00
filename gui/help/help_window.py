"""The window of the manual: topics at the left, a page at the right, and a line that finds words in all pages."""

from __future__ import annotations

from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtGui import QCloseEvent, QDesktopServices, QKeySequence, QShortcut, QTextDocument
from PySide6.QtWidgets import QLineEdit, QWidget

from gui import tasks
from gui.help.manual_view import ManualView
from gui.help.topic_list import TopicList
from gui.language import tr
from gui.style import boxes, focus_ring, logo, preferences, theme, wording
from gui.style.states import StateStack, hair, tool, words
from resources import manual


class _Page(Struct, frozen=True):
    """A page as it was read: its Markdown, and its text as shown."""

    markdown: str
    words: str


class _Stop(Struct, frozen=True):
    """A place in the reader's history."""

    topic: str
    heading: str = ""
    place: int | None = None  # how far it was scrolled when the reader left it


def _read(progress: tasks.Progress) -> dict[str, _Page]:
    """All pages, with the text that each page's Markdown shows: a hidden document makes it."""
    found = {}
    for at, topic in enumerate(manual.topics(), 1):
        document = QTextDocument()
        document.setMarkdown(manual.page(topic.name))
        found[topic.name] = _Page(manual.page(topic.name), document.toPlainText().lower())
        progress(at, len(manual.topics()))
    return found


class HelpWindow(QWidget):
    """Stays open beside the window that it explains, until one of the two is closed."""

    def __init__(self) -> None:
        super().__init__()
        boxes.ground(self, "page")
        self.setWindowTitle(tr("Help – Palimpsest"))
        self.setWindowIcon(logo.icon())
        self.setAttribute(Qt.WidgetAttribute.WA_QuitOnClose, False)
        self.setMinimumSize(QSize(theme.px(560), theme.px(360)))
        self._pages: dict[str, _Page] = {}
        self._way: list[_Stop] = []
        self._at = -1
        self._wanted = _Stop(manual.FIRST)
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Find in the manual"))
        self.search.setAccessibleName(tr("Find in the manual"))
        self.search.setToolTip(tr("Find (Ctrl+F); next and previous are F3 and Shift+F3"))
        self.search.textChanged.connect(self._searched)
        self.search.returnPressed.connect(self._next)
        self.topics = TopicList()
        self.topics.chosen.connect(self.open_topic)
        self._none = words(tr("No page has these words"), "second", wrap=True)
        self._none.setContentsMargins(theme.px(16), theme.px(8), theme.px(12), 0)
        self._none.hide()
        self.back = tool("caret-left", tr("Back (Alt+Left)"), partial(self._go, -1))
        self.forward = tool("caret-right", tr("Forward (Alt+Right)"), partial(self._go, 1))
        self._count = words("", "second")
        self.up = tool("arrow-up", tr("The hit before (Shift+F3)"), partial(self._step, -1))
        self.down = tool("arrow-down", tr("The next hit (F3)"), partial(self._step, 1))
        self.view = ManualView()
        self.view.asked.connect(self._follow)
        self.view.found.connect(self._say)
        self.states = StateStack(self.view)
        self._lay_out()
        for keys, call in (
            ("Ctrl+F", self._look), ("F3", self._next), ("Shift+F3", partial(self._step, -1)),
            ("Alt+Left", partial(self._go, -1)), ("Alt+Right", partial(self._go, 1)),
            ("Esc", self._leave), ("Ctrl+W", self.close),
        ):  # fmt: skip
            QShortcut(QKeySequence(keys), self).activated.connect(call)
        self.resize(theme.px(1080), theme.px(800))
        if (kept := preferences.shape("help")) is not None:
            self.restoreGeometry(kept)
        self.topics.put()
        self.view.setFocus()
        self._load()
        self._say()

    def _lay_out(self) -> None:
        left = boxes.ground(QWidget(), "sidebar")
        left.setFixedWidth(theme.px(248))
        column = boxes.column(left)
        column.setContentsMargins(0, theme.px(12), 1, 0)
        line = boxes.row(x=12, y=0)
        line.addWidget(self.search)
        column.addLayout(line)
        column.addSpacing(theme.px(8))
        column.addWidget(self._none)
        column.addWidget(self.topics, 1)
        head = boxes.ground(QWidget(), "sunken")
        row = boxes.row(head, x=12, y=6, gap=4)
        row.addWidget(self.back)
        row.addWidget(self.forward)
        row.addStretch(1)
        row.addWidget(self._count)
        row.addWidget(self.up)
        row.addWidget(self.down)
        right = boxes.column()
        right.addWidget(head)
        right.addWidget(hair())
        right.addWidget(self.states, 1)
        whole = boxes.row(self, x=0, y=0, gap=0)
        whole.addWidget(left)
        whole.addLayout(right, 1)
        self.setFocusProxy(self.view)

    # --- reading the pages

    def _load(self) -> None:
        tasks.run(_read, done=self._loaded, failed=self._failed, owner=self, key="manual")
        self.states.show_loading(tr("Reading the manual"))

    def _loaded(self, pages: dict[str, _Page]) -> None:
        self._pages = pages
        self.states.show_content()
        self._searched()
        self._arrive(self._wanted)

    def _failed(self, error: BaseException) -> None:
        self.states.show_failed(error, self._load, tr("The manual could not be read"))

    # --- going back and forth

    @property
    def topic(self) -> str:
        """The name of the page that is shown, or will be once it is read."""
        return self._way[self._at].topic if self._way else self._wanted.topic

    def open_topic(self, name: str, heading: str = "") -> None:
        """Show a page, from its beginning or from a heading."""
        self._arrive(_Stop(name, heading))

    def _arrive(self, stop: _Stop) -> None:
        if not self._pages:
            self._wanted = stop
            self.topics.choose(stop.topic)
            return
        if self._way and (stop.topic, stop.heading) == (self.topic, ""):
            self.view.go_to("")
            return
        self._keep_place()
        self._way = [*self._way[: self._at + 1], stop]
        self._at = len(self._way) - 1
        self._show()

    def _go(self, by: int) -> None:
        """Go back to an earlier place, or forward again."""
        if 0 <= self._at + by < len(self._way):
            self._keep_place()
            self._at += by
            self._show()

    def _keep_place(self) -> None:
        if self._way:
            self._way[self._at] = replace(self._way[self._at], place=self.view.place)

    def _show(self) -> None:
        stop = self._way[self._at]
        title = next(topic.title for topic in manual.topics() if topic.name == stop.topic)
        self.view.show_page(title, self._pages[stop.topic].markdown)
        if stop.place is not None:
            self.view.place = stop.place
        else:
            self.view.go_to(stop.heading)
        self.view.mark(self.search.text().strip())
        self.topics.choose(stop.topic)
        self.setWindowTitle(wording.title(tr("{title} – Palimpsest", title=title)))
        self._say()

    def _follow(self, link: str) -> None:
        if "://" in link:
            QDesktopServices.openUrl(QUrl(link))
            return
        page, _, heading = link.partition("#")
        self.open_topic(page.removesuffix(".md") or self.topic, heading)

    # --- finding

    def _look(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def _hits(self) -> dict[str, int]:
        """How often each page has the words that are looked for, ignoring case."""
        sought = self.search.text().strip().lower()
        return {name: page.words.count(sought) for name, page in self._pages.items()} if sought else {}

    def _searched(self) -> None:
        if not self._pages:
            return
        sought, hits = self.search.text().strip(), self._hits()
        self.topics.put(hits if sought else None)
        self.topics.choose(self.topic)
        self._none.setVisible(bool(sought) and not any(hits.values()))
        if self._way:
            self.view.mark(sought)
        self._say()

    def _next(self) -> None:
        self._step(1)

    def _step(self, by: int) -> None:
        """Go to the next hit, on this page or on another; after the last it begins again."""
        if self.view.step(by):
            return
        names = [name for name, count in self._hits().items() if count]
        if not names:
            return
        order = [topic.name for topic in manual.topics()]
        here = order.index(self.topic)
        names.sort(key=order.index, reverse=by < 0)
        on = next((name for name in names if (order.index(name) - here) * by > 0), names[0])
        if on != self.topic:
            self.open_topic(on)
        self.view.go_to_hit(last=by < 0)

    def _say(self) -> None:
        """Update the head: the place in the history, and the hits."""
        at, count = self.view.hits
        sought = bool(self.search.text().strip())
        self._count.setText(
            ""
            if not sought
            else tr("{at} of {hits} here", at=at, hits=wording.many(count, "hit"))
            if count
            else tr("None here")
        )
        for each in (self.up, self.down):
            each.setVisible(sought)
            each.setEnabled(any(self._hits().values()))
        self.back.setEnabled(self._at > 0)
        self.forward.setEnabled(self._at < len(self._way) - 1)

    # --- the end

    def _leave(self) -> None:
        """Forget the words that are looked for; if there are none, close."""
        if self.search.text():
            self.search.clear()
            self.view.setFocus()
        else:
            self.close()

    def focusNextPrevChild(self, forward: bool) -> bool:
        return focus_ring.step(self, forward)

    def closeEvent(self, event: QCloseEvent) -> None:
        preferences.keep_shape("help", self.saveGeometry())
        super().closeEvent(event)
