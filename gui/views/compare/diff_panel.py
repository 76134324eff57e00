"""Two versions of a document side by side, one row per change, all reachable by key; or a single version.

The comparison is made and grouped in a task; the rows are fetched as they are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QMenu,
    QStackedWidget,
    QWidget,
)

from gui import messages, tasks
from gui.actions import Handlers
from gui.language import tr, translated
from gui.parts.differences.diff_copies import DiffCopies, written
from gui.parts.differences.diff_grouping import Plan, plan
from gui.parts.differences.diff_model import FIELD, DiffModel
from gui.parts.differences.diff_node import DiffNode
from gui.parts.differences.diff_table import DiffTable
from gui.parts.differences.overview import Overview
from gui.parts.differences.table_place import TablePlace
from gui.parts.fields.field_values import add_ways
from gui.parts.reading import Reading
from gui.parts.values.pane_room import PaneRoom
from gui.parts.values.value_pane import ValueDialog, ValuePane
from gui.parts.versions_model import name_of
from gui.style import boxes, preferences, states, symbols, theme, wording
from gui.views.compare import ignored_paths, kept_rules
from gui.views.compare.comparison_source import ComparisonSource, PairSource, VersionSource
from gui.views.compare.diff_tools import DiffTools
from gui.views.compare.document_view import DocumentView
from gui.views.compare.hidden_sheet import HiddenSheet
from gui.views.compare.ignored_paths import IgnoredPaths, Pattern
from gui.views.compare.take_arrows import TakeArrows
from gui.views.compare.version_box import VersionChoices
from model import text
from model.diff import Add, Move, Operation, Remove
from model.diff.comparison_rules import ComparisonRules, Names, names_of
from model.diff.comparison_rules import written as written_names
from model.errors import Refused
from model.foundation.records import Opened, Version
from model.session import Session
from model.session.history_reading import Comparison
from model.values.canonical import ARRAY, Path, Value

NOTHING = tr("Nothing is compared yet")
IN_LIST = tr("Two versions of the document that is chosen in the list are compared here.")
IN_LINES = 60  # u; higher tools are in several lines, on a page so narrow that it scrolls
MOST_BESIDE = 500  # changes whose rows are looked up; more rows are never in sight together
COARSE = tr("Correct, but not the smallest difference: finding that would take too long.")


class DiffPanel(QWidget):
    """Compares two versions, or shows one.

    ``restore_asked`` carries id, version number, and the paths or None for all of it. ``ab_chosen`` carries the numbers
    of the versions that were picked for A and B. ``showing`` says that another comparison is on
    show, or none, or this one in another form. ``open_asked`` carries the id of a document to be edited.
    """

    restore_asked = Signal(object, object, object)
    showing = Signal()
    ab_chosen = Signal(object, object)
    open_asked = Signal(object)
    field_asked = Signal(object, object)  # path, and the number of the version that it is in
    find_asked = Signal(str)  # a filter
    take_asked = Signal(object, object, str, str)  # a content, the path that a draft takes from it, its name, a or b
    swap_asked = Signal()  # of two documents

    def __init__(
        self, source: Session | PairSource, ns: str, parent: QWidget | None = None, pair: bool = False
    ) -> None:
        """Show comparisons from a source: of a ``pair`` of documents, or of versions of one."""
        super().__init__(parent)
        self._source, self.ns = _comparing(source), ns
        self._pair = pair
        self._answers = True
        self.names = ("", "")  # of two documents, shown before the names of their versions
        self.id: Value | None = None
        self.name = ""  # of the document, if it is not shown by its id
        self._asked: tuple[Value, Version | None, Version] | None = None
        self._answered: tuple[Value, Version | None, Version] | None = None  # the comparison shown
        self.comparison: Comparison | None = None
        self._rows_of: Comparison | None = None
        self._place: TablePlace | None = None  # the place before, if this is a later version
        self._plan: Plan | None = None
        self.ignored = ignored_paths.kept(source.source, ns)
        self.rules = kept_rules.kept(source.source, ns)
        self.copies = DiffCopies(self, self._copied)
        self.model = DiffModel(self)
        self.choices = VersionChoices(self)
        self.choices_b = VersionChoices(self) if pair else self.choices
        boxes.ground(self, "surface")
        self._build(pair)
        preferences.signals.changed.connect(self._preference)
        self._show_nothing()
        self._say()

    def _build(self, pair: bool) -> None:
        self.tools = tools = DiffTools(self.choices, self.choices_b)
        self._hair = states.hair()
        column = boxes.column(self)
        column.addWidget(tools)
        self.rule_line = states.words("", "second", wrap=True)
        self.rule_line.setContentsMargins(theme.px(16), 0, theme.px(16), theme.px(6))
        self.rule_line.hide()
        column.addWidget(self.rule_line)
        column.addWidget(self._hair)
        self._forms = QStackedWidget()
        self._stack = states.StateStack(self._forms, self)
        column.addWidget(self._stack, 1)
        self.reading = Reading(
            self,
            self._stack,
            has=lambda: self._answered is not None,
            again=self._again,
            keep=self._go_back,
            failed=self._not_compared,
            stopped=self._stopped,
            title=tr("These versions could not be compared"),
            key="compare",
        )
        tools.wrapped.connect(self._fit_height)
        self._fit_height()
        self.box_a, self.box_b, self.counts, self.only = tools.box_a, tools.box_b, tools.counts, tools.only
        self.swap, self.up, self.down, self.restore = tools.swap, tools.up, tools.down, tools.restore
        self.box_a.picked.connect(self._picked_a)
        self.box_b.picked.connect(self._picked_b)
        self.swap.clicked.connect(self._swap)
        self.up.clicked.connect(self.do_previous_change)
        self.down.clicked.connect(self.do_next_change)
        self.only.toggled.connect(self._show_rows)
        self.restore.clicked.connect(self._restore_all)
        self.inline = tools.inline
        self.inline.toggled.connect(self.set_inline)
        tools.hidden.clicked.connect(self.do_hidden_fields)
        tools.rule_menu.aboutToShow.connect(self._fill_rules)
        tools.copies.addAction(tr("In words…")).triggered.connect(lambda: self.read_in_words())
        tools.copies.addSeparator()
        self.copies.fill(tools.copies)
        self.table = DiffTable(self.model)
        self.arrows = TakeArrows(self.table)
        self.arrows.taken.connect(self.take)
        if pair:
            self.arrows.name(tr("the draft of A's document"), tr("the draft of B's document"))
        self.overview = Overview()
        self.overview.chosen.connect(self._go)
        self._split = boxes.split()
        self._forms.addWidget(self._split)
        rows = QWidget(self._split)
        beside = boxes.row(rows, 0, 0, 0)
        beside.addWidget(self.table, 1)
        beside.addWidget(self.overview)
        self.inline.setChecked(preferences.remembered("diff-inline", False) is True)
        self.restore.setVisible(not pair)
        self.value = ValuePane(self._split)
        self.value.hide()
        self._split.setStretchFactor(0, 3)
        self._split.setStretchFactor(1, 2)
        PaneRoom(self._split, self.value)
        self._look = QTimer(self)
        self._look.setSingleShot(True)
        self._look.setInterval(0)  # rows must not be asked for while they are laid out
        self._look.timeout.connect(self._say_seen)
        bar = self.table.verticalScrollBar()
        for told in (bar.valueChanged, bar.rangeChanged, self.table.expanded, self.table.collapsed):
            told.connect(self._look_soon)
        theme.signals.changed.connect(self._look_soon)
        self.table.value_asked.connect(self.toggle_value)
        self.table.next_asked.connect(self.do_next_change)
        self.table.previous_asked.connect(self.do_previous_change)
        self.table.escaped.connect(self.hide_value)
        self.table.menu_asked.connect(self._menu)
        self.table.doubleClicked.connect(self._double_clicked)
        self.table.selectionModel().currentChanged.connect(self._moved)
        self.table.clicked.connect(self._make_current)
        self.value.closed.connect(self.hide_value)
        self.setFocusProxy(self.table)

    @cached_property
    def document(self) -> DocumentView:
        """The fields of one version, made when there is nothing to compare it with."""
        made = DocumentView(self._forms)
        made.open_asked.connect(self._open)
        made.compare_asked.connect(self._compare_with_current)
        made.field_asked.connect(self.field_asked)
        made.find_asked.connect(self.find_asked)
        self._forms.addWidget(made)
        return made

    # --- the compared versions

    def set_ab_choices(self, versions: Sequence[Version]) -> None:
        """Offer these versions, newest first, in both boxes."""
        self.choices.fill(versions)
        self.box_a.again()
        self.box_b.again()

    def set_source(self, source: Session | PairSource, ns: str) -> None:
        """Compare two other documents from now on."""
        self.clear()
        self._source, self.ns = _comparing(source), ns

    def set_sides(self, a: Sequence[Version], b: Sequence[Version]) -> None:
        """Offer the versions of two documents, newest first."""
        self.choices.fill(a)
        self.choices_b.fill(b)
        self.box_a.again()
        self.box_b.again()

    def _named(self, version: Version, side: str) -> str:
        """A version's name; for two documents, after the document's name."""
        return f"{self.names[side == 'b']} {name_of(version)}".strip()

    def compare(self, id: Value, a: Version | None, b: Version) -> None:
        """Read and compare two versions; without ``a``, show ``b`` by itself."""
        self._asked = (id, a, b)
        self.ignored = ignored_paths.kept(self._source.source, self.ns)  # another tab may have hidden more
        self.rules = kept_rules.kept(self._source.source, self.ns)
        self.box_a.put(a)
        self.box_b.put(b)
        if a is None:
            self.reading.title = tr("This version could not be shown")
            self.reading.ask(
                partial(_opened, self._source, self.ns, id, b),
                self._compared,
                tr("Reading {b}", b=name_of(b)),
                title=tr("Reading a version"),
            )
        else:
            self.reading.title = tr("These versions could not be compared")
            self.reading.ask(
                partial(_compared, self._source, self.ns, id, a, b, self.ignored, self.rules),
                self._compared,
                tr("Comparing {a} with {b}", a=name_of(a), b=name_of(b)),
                title=tr("Comparing versions"),
            )

    def _plan_again(self, comparison: Comparison) -> None:
        ignored = self.ignored
        self.reading.ask(
            lambda progress: (comparison, planned(comparison, progress, ignored)),
            self._compared,
            tr("Comparing versions"),
        )

    def clear(self) -> None:
        """Remove the comparison."""
        self.reading.drop()
        self.id = self._asked = self._answered = self.comparison = self._plan = None
        self._show_form()
        self.choices.fill([])
        self.choices_b.fill([])
        self.box_a.put(None)
        self.box_b.put(None)
        self._drop_value()
        self.model.show(None, ("", ""), True)
        self._show_nothing()
        self._say()
        self.showing.emit()

    def _show_nothing(self) -> None:
        """Say what will be shown here; the list itself says whether it has documents to choose."""
        self._stack.show_empty(NOTHING, "" if self._pair else IN_LIST, icon="git-diff")

    def _stopped(self) -> None:
        self.reading.show_stopped(tr("The comparison was stopped"), tr("Compare again"))

    def _go_back(self) -> None:
        self._stay()
        self._show_rows()

    def _again(self) -> None:
        if self._asked is not None:
            self.compare(*self._asked)

    def _not_compared(self, error: BaseException) -> None:
        self.reading.show_failed(error)
        if self._stack.kind == "content" and self._answered is not None:
            self._stay()  # without a connection the former content stays
            return
        self.id = self._answered = self.comparison = self._plan = None
        self._show_form()
        self.model.show(None, ("", ""), True)
        self._say()
        self.showing.emit()

    def _stay(self) -> None:
        """Return to what is shown, because the requested comparison failed: boxes, rows and actions agree again."""
        self._asked = self._answered
        if self._answered is not None:
            self.box_a.put(self._answered[1])
            self.box_b.put(self._answered[2])

    @property
    def is_alone(self) -> bool:
        """Whether one version is shown by itself."""
        return self._answered is not None and self._answered[1] is None

    def _compared(self, found: tuple[Comparison, Plan] | Opened) -> None:
        # Only now: until here the shown rows, and what is restored from them, belong to the former document.
        before, self._answered = self._answered, self._asked
        self._place = TablePlace(self.table) if self._is_followed(before) else None
        self.id = self._asked[0] if self._asked is not None else self.id
        if isinstance(found, Opened):
            self.comparison = self._plan = None
            self.model.show(None, ("", ""), True)
            self._show_form()
            self.document.show_document(found, len(self.choices.versions) < 2, self.name)
            self._stack.show_content()
            self._drop_value()
            self._say()
        else:
            self.comparison, self._plan = found
            self._show_form()
            self._show_rows()
        self.showing.emit()

    def _is_followed(self, before: tuple[Value, Version | None, Version] | None) -> bool:
        """Whether the requested comparison is the former one with a newer version of its document."""
        asked = self._asked
        if before is None or asked is None or self.model.plan is None:
            return False
        return before[0] == asked[0] and before[2].current and asked[2].current

    def _fit_height(self) -> None:
        """Keep room for the tools and three rows, or six on a page that scrolls; otherwise the panel may shrink."""
        tools = self.tools.sizeHint().height()
        self.setMinimumHeight(tools + theme.px(80 if tools < theme.px(IN_LINES) else 145))

    def _show_form(self) -> None:
        """Show the rows of a comparison with their tools, or the fields of one version."""
        alone = self.is_alone
        form = self.document if alone else self._split
        if self._forms.currentWidget() is not form:
            here = self._forms.isAncestorOf(QApplication.focusWidget() or self)
            self._forms.setCurrentWidget(form)
            self.setFocusProxy(self.document if alone else self.table)
            if here:
                self.setFocus()
        self.tools.setVisible(not alone)
        self._hair.setVisible(not alone)

    def _open(self) -> None:
        if self.id is not None:
            self.open_asked.emit(self.id)

    def _compare_with_current(self) -> None:
        current = next((one for one in self.choices.versions if one.current), None)
        if self._answered is not None and current is not None:
            self.ab_chosen.emit(self._answered[2].v, current.v)

    def _show_rows(self) -> None:
        """Show the comparison with all fields, or only changed ones."""
        if self.comparison is None or self._plan is None:
            return
        a, b, ready = self.comparison.a, self.comparison.b, self._plan
        all_a, all_b = _titles(a, self.names[0]), _titles(b, self.names[1])
        titles, shorter = (all_a[0], all_b[0]), (all_a[1:], all_b[1:])
        only, number = self.only.isChecked(), max(0, self.model.current)
        again = self._rows_of is self.comparison  # in another form, or with other fields hidden
        self._rows_of = self.comparison
        if not ready.changes and only:
            self.model.show(ready, titles, True, shorter)
            show_all: list[states.Choice] = [(tr("Show all fields"), lambda: self.only.setChecked(False))]
            if ready.hidden:
                words = tr(
                    "{named} and {named2} differ in hidden fields only",
                    named=self._named(a, "a"),
                    named2=self._named(b, "b"),
                )
                help = tr("{changes} hidden.", changes=wording.many(ready.hidden, "change is", "changes are"))
                show_all = [(tr("Show the hidden fields…"), self.do_hidden_fields), *show_all]
            else:
                words, help = (
                    tr("{named} and {named2} are the same", named=self._named(a, "a"), named2=self._named(b, "b")),
                    translated(self.comparison.rules.words) or tr("Their contents are equal, byte for byte."),
                )
            self._stack.show_empty(words, help, show_all, icon="git-diff")
        else:
            self.model.show(ready, titles, only, shorter)
            self._stack.show_content()
            place, self._place = self._place, None
            if (place is None or not place.find(self.table)) and ready.changes:
                self._go(min(number, len(ready.changes) - 1) if again else 0)
        self._say()
        if self._here() is None:
            self._drop_value()
        elif not self.value.isHidden():
            self._show_value()

    def _look_soon(self, *_: object) -> None:
        self._look.start()  # without arguments: the timer would take a number for its interval

    def _say_seen(self) -> None:
        """Mark the changes in sight in the overview."""
        view = self.table.viewport().rect()
        ends = []
        for y, after in ((view.top() + 1, False), (view.bottom() - 1, True)):
            index = self.table.indexAt(QPoint(1, y))
            if not index.isValid() and after:
                ends.append(self.model.count - 1)
            else:
                number = self.model.number_of(index)
                ends.append(self.model.next_from(index) - (1 if after else 0) if number is None else number)
        self.overview.see(ends[0], ends[1], self._middles())

    def _middles(self) -> list[int]:
        """The middle of each change's row, in the overview's pixels; none unless all rows are in sight."""
        bar, found = self.table.verticalScrollBar(), dict[int, int]()
        if bar.maximum() > bar.minimum() or self.model.count > MOST_BESIDE:
            return []
        top = self.overview.mapFromGlobal(self.table.viewport().mapToGlobal(QPoint())).y()
        index = self.table.indexAt(QPoint(1, 1))
        while index.isValid():
            middle = top + self.table.visualRect(index).center().y()
            found |= dict.fromkeys(self.model.numbers_in(index), middle)  # those of rows inside it come later
            index = self.table.indexBelow(index)
        return [found[number] for number in sorted(found)]

    def _say(self) -> None:
        ready = self._plan
        total = 0 if ready is None else len(ready.changes)
        self.counts.put({} if ready is None else ready.counts)
        self.overview.put(ready)
        self.overview.mark(self.model.current)
        self._look.start()
        if ready is not None and ready.coarse:
            self.counts.setToolTip(wording.tip(f"{', '.join(self.counts.words)}\n{COARSE}"))
        self.tools.say(self.model.current + 1, total)
        rules = self.comparison.rules.words if self.comparison is not None else ""
        self.rule_line.setText(translated(rules))
        self.rule_line.setVisible(bool(rules) and not self.is_alone)
        self.only.setEnabled(ready is not None)
        self.tools.copy.setEnabled(self.comparison is not None)
        self.tools.say_hidden(len(self.ignored.patterns), ready.hidden if ready is not None else 0)
        self.swap.setEnabled(self.comparison is not None)
        self.arrows.offer(*(not self.why_not_take(side) for side in ("a", "b")))
        why = self.why_not_restore()
        self.restore.setEnabled(not why)
        self.restore.setToolTip(wording.tip(why or tr("Make A, or some of its fields, a new version")))

    def say_writable(self) -> None:
        """Update whether restoring is offered: the connection's permission changed."""
        self._say()

    def say_answering(self, answers: bool) -> None:
        """Offer restoring and taking over only while the server answers."""
        self._answers = answers
        self._say()

    def why_not_restore(self) -> str:
        """Why nothing can be restored from A, in one sentence; "" if it can."""
        if self.comparison is None or self.id is None:
            return tr("Nothing is compared yet.") if not self.is_alone else tr("One version is shown by itself.")
        if self._pair:
            return tr("These are two documents; take over single differences with the arrows.")
        if self._source.read_only:
            return tr("This connection is read-only.")
        if not self._answers:
            return tr("This connection does not answer now.")
        if self.comparison.a.current:
            return tr("A is the current version; choose an earlier one.")
        if self.comparison.a.deleted:
            return tr("A says that the document is deleted; choose a version before it.")
        return tr("A has no version number.") if self.comparison.a.v is None else ""

    # --- choosing A and B

    def _picked_a(self, version: Version) -> None:
        other = self.box_b.version
        self.ab_chosen.emit(version.v, other.v if other is not None else None)

    def _picked_b(self, version: Version) -> None:
        other = self.box_a.version
        self.ab_chosen.emit(other.v if other is not None else None, version.v)

    def _swap(self) -> None:
        a, b = self.box_a.version, self.box_b.version
        if self._pair:
            self.swap_asked.emit()
        elif a is not None and b is not None:
            self.ab_chosen.emit(b.v, a.v)

    def handlers(self) -> Handlers:
        """What each action does here, by the action's id."""
        return {
            "swap": self.swap.click,
            "restore": self.restore.click,
            "inline": self.inline.click,
            "next-change": self.do_next_change,
            "previous-change": self.do_previous_change,
            "hidden-fields": self.do_hidden_fields,
        }

    # --- moving among changes

    def do_next_change(self) -> None:
        """Go to the next change, from the current row."""
        self._go(self.model.next_from(self.table.currentIndex()))

    def do_previous_change(self) -> None:
        """Go to the change before."""
        self._go(self.model.previous_from(self.table.currentIndex()))

    def _go(self, number: int) -> None:
        index = self.model.go(number)
        if not index.isValid():
            return
        above = index.parent()
        while above.isValid():
            self.table.expand(above)
            above = above.parent()
        field = index.siblingAtColumn(FIELD)
        seen = self.table.viewport().rect().contains(self.table.visualRect(field))  # before it is scrolled to
        chosen = self.table.selectionModel()
        chosen.clearSelection()
        chosen.setCurrentIndex(field, chosen.SelectionFlag.NoUpdate)
        hint = QAbstractItemView.ScrollHint
        self.table.scrollTo(field, hint.EnsureVisible if seen else hint.PositionAtCenter)
        self._say()

    def _make_current(self, index: QModelIndex) -> None:
        number = self.model.number_of(index)
        if number is not None and number != self.model.current:
            self.model.go(number)
            self._say()

    def _moved(self, now: QModelIndex, before: QModelIndex) -> None:
        self._make_current(now)  # the next change is the one after the current row
        if not self.value.isHidden() and now.isValid():
            self._show_value()

    # --- the whole value below

    def toggle_value(self) -> None:
        """Show the current row's whole value below, or hide it."""
        if self.is_alone:
            self.document.toggle_value()
        elif self.value.isHidden():
            if self._here() is not None:
                self.value.show()
                self._show_value()
        else:
            self.hide_value()

    def hide_value(self) -> None:
        """Close the value below."""
        if not self.value.isHidden():
            self.value.hide()
            self.table.setFocus()

    def _drop_value(self) -> None:
        """Close a value without a row; the focus moves only if it was inside it."""
        if self.value.isAncestorOf(QApplication.focusWidget() or self):
            self.hide_value()
        self.value.hide()

    def _double_clicked(self, index: QModelIndex) -> None:
        node = self.model.node(index)
        if node is not None and not node.has_kids and self.value.isHidden():
            self.toggle_value()

    def _here(self) -> DiffNode | None:
        node = self.model.node(self.table.currentIndex())
        if node is None and self.model.current >= 0:
            node = self.model.node(self.model.go(self.model.current))
        return node if node is not None and node.kind not in ("fold", "broken") else None

    def _show_value(self) -> None:
        node = self._here()
        if node is None or self.comparison is None:
            return
        tint = node.tint or (node.op.op if node.op is not None else "replace")
        names = (f"A  {self._named(self.comparison.a, 'a')}", f"B  {self._named(self.comparison.b, 'b')}")
        title = text.path_text(node.path) or tr("the whole document")
        self.value.show_pair(title, node.value("a"), node.value("b"), symbols.CHANGES[tint][2], names)

    # --- copying and restoring

    def _menu(self, index: QModelIndex, where: QPoint) -> None:
        node = self.model.node(index)
        if node is not None and node.kind not in ("fold", "broken"):
            self.menu(node).popup(where)

    def menu(self, node: DiffNode) -> QMenu:
        """The menu of a row."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)

        def add(words: str, call: Callable[[], object], enabled: bool = True, why: str = "") -> None:
            action = menu.addAction(wording.item(words))
            action.triggered.connect(lambda: call())
            action.setEnabled(enabled)
            action.setToolTip(wording.tip(why or words))  # without a tooltip Qt uses the line, as markup

        add(tr("Show the whole value"), self._open_value)
        copies = menu.addMenu(tr("Copy"))
        self.copies.row(copies, node)
        copies.addSeparator()
        self.copies.fill(copies)
        if node.path:
            named = ignored_paths.pattern_text(ignored_paths.pattern_of(node.path))
            if self.ignored.hides_path(node.path):
                add(tr("Hidden fields…"), self.do_hidden_fields)
            else:
                add(tr("Hide {named}", named=named), lambda: self.hide_path(node.path))
        if (array := _array_of(node)) is not None:
            named = written_names(array)
            if array in self.rules.unordered:
                fewer = kept_rules.without(self.rules, array)
                add(tr("Mind the order of {named}", named=named), partial(self.use, fewer))
            else:
                more = self.rules.with_unordered([array])
                add(tr("Ignore the order of {named}", named=named), partial(self.use, more))
        if node.path and self.comparison is not None and not self._pair:
            side, version = ("b", self.comparison.b) if node.b is not None else ("a", self.comparison.a)
            here = node.path_b if node.b is not None else node.path_a
            menu.addSeparator()
            add_ways(menu, here or node.path, node.value(side), version.v, self.field_asked, self.find_asked)
        if not node.is_hidden and (node.op is not None or node.kind == "parent"):
            menu.addSeparator()
            path = restorable(node, self.comparison is None or self.comparison.b.current)
            name = text.path_text(path) if path else tr("everything")
            for side in ("a", "b"):
                why = self.why_not_take(side)
                words = tr("Take {upper}'s {name} into the draft", upper=side.upper(), name=name)
                add(words, partial(self.take, side), not why, why)
            why = self.why_not_restore()
            add(tr("Restore {name} from A…", name=name), lambda: self._restore(path), not why, why)
        return menu

    # --- taking a difference into a draft

    def why_not_take(self, side: str) -> str:
        """Why the document's draft can take nothing from A (``a``) or B, in one sentence; "" if it can."""
        if self.comparison is None or self.id is None:
            return tr("Nothing is compared yet.")
        source = self._source
        pair = source if isinstance(source, PairSource) else None
        if source.read_only if pair is None else (pair.right if side == "a" else pair.left).session.trust.read_only:
            return tr("This connection is read-only.")
        if not self._answers:
            return tr("This connection does not answer now.")
        version = self.comparison.a if side == "a" else self.comparison.b
        if self._pair:
            return ""
        return (
            tr("{upper} is the current version, which the draft begins from.", upper=side.upper())
            if version.current
            else ""
        )

    def take(self, side: str) -> None:
        """Ask to take the current row's value of A (``a``) or B into the document's draft."""
        node, comparison = self._here(), self.comparison
        if node is None or comparison is None:
            return
        if why := self.why_not_take(side):
            messages.why_not(self, why)
            return
        source, other = (comparison.a, comparison.b) if side == "a" else (comparison.b, comparison.a)
        self.take_asked.emit(source.content, restorable(node, other.current), name_of(source), side)

    def _open_value(self) -> None:
        if self.value.isHidden():
            self.toggle_value()

    def _copied(self) -> tuple[Comparison, Sequence[Operation]] | None:
        if self.comparison is None or self._plan is None:
            return None
        return self.comparison, self._plan.changes

    def read_in_words(self) -> None:
        """Show the comparison as sentences, in a window of its own."""
        compared = self._copied()
        if compared is None:
            return
        comparison, shown = compared
        tasks.run(
            lambda _: written("words", comparison, shown),
            done=partial(self._read, wording.many(len(shown), "change")),
            failed=partial(messages.fail, self),
            owner=self,
            key="words",
            title=tr("Putting the changes into words"),
        )

    def _read(self, changes: str, words: str) -> None:
        dialog = ValueDialog(tr("The comparison in words"), self.window())
        dialog.pane.show_value(tr("The comparison in words"), Value.of(words), changes)
        dialog.open()

    # --- hiding and drawing

    def set_inline(self, on: bool) -> None:
        """Show both values in one column, or side by side, and remember it."""
        self.inline.setChecked(on)
        preferences.remember("diff-inline", on)
        self.table.set_inline(on)
        self.showing.emit()

    def _fill_rules(self) -> None:
        kept_rules.fill(self.tools.rule_menu, self.rules, self.use)

    def use(self, rules: ComparisonRules) -> None:
        """Compare by these rules, in this collection, from now on."""
        kept_rules.keep(self._source.source, self.ns, rules)
        self.rules = rules
        self._again()

    def hide_path(self, path: Path) -> None:
        """Hide the changes at and below a path, in this collection, from now on."""
        self._ignore(ignored_paths.kept(self._source.source, self.ns).with_path(path))

    def do_hidden_fields(self) -> None:
        """List the hidden paths."""
        kept = ignored_paths.kept(self._source.source, self.ns)
        if kept != self.ignored:
            self._ignore(kept)
        found = self.comparison.diff.operations if self.comparison is not None else ()
        sheet = HiddenSheet(self, self.ns, self.ignored, self.ignored.counted(found))
        sheet.shown.connect(self.show_again)
        sheet.open()

    def show_again(self, pattern: Pattern | None) -> None:
        """Stop hiding a pattern; None: hide nothing."""
        # Read the list again: another tab may have hidden more.
        kept = ignored_paths.kept(self._source.source, self.ns)
        self._ignore(IgnoredPaths() if pattern is None else kept.without(pattern))

    def _ignore(self, ignored: IgnoredPaths) -> None:
        ignored_paths.keep(self._source.source, self.ns, ignored)
        self.ignored = ignored
        self._say()
        if self.reading.is_on:
            self._again()  # a running comparison was started with the other list
        elif self.comparison is not None:
            self._plan_again(self.comparison)

    def _restore_all(self) -> None:
        self._restore(())

    def _restore(self, path: Path) -> None:
        if self.comparison is not None and self.id is not None and not self.why_not_restore():
            self.restore_asked.emit(self.id, self.comparison.a.v, [path] if path else None)

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.model.redraw()
            if self.comparison is not None:
                self._show_rows()


def _opened(source: ComparisonSource, ns: str, id: Value, version: Version, _: tasks.Progress) -> Opened:
    """One version, opened by itself."""
    alone = source.open(ns, id, version.v)
    if alone.base.content is None:
        raise Refused(
            tr(
                "{b} cannot be shown: {detail}.",
                b=name_of(version),
                detail=translated(alone.base.detail) or translated(alone.base.state),
            )
        )
    return alone


def _compared(
    source: ComparisonSource,
    ns: str,
    id: Value,
    a: Version,
    b: Version,
    ignored: IgnoredPaths,
    rules: ComparisonRules,
    progress: tasks.Progress,
) -> tuple[Comparison, Plan]:
    """Two versions compared, and the rows that show them."""
    found = source.compare(ns, id, a.v, b.v, rules)
    return found, planned(found, progress, ignored)


def planned(comparison: Comparison, progress: tasks.Progress, ignored: IgnoredPaths) -> Plan:
    """Prepare a comparison for display; run it in a task."""
    a, b = comparison.a.content or b"", comparison.b.content or b""
    return plan(a, b, comparison.diff, progress, ignored.hides if ignored else None)


def _array_of(node: DiffNode) -> Names | None:
    """The array that a row is, or is an element of, by its names; None if there is none."""
    values = (node.value(side) for side in ("a", "b"))
    path = node.path
    if not any(value is not None and value.type == ARRAY for value in values):
        if not path or not isinstance(path[-1], int):
            return None
        path = path[:-1]
    return names_of(path) or None


def restorable(node: DiffNode, onto_b: bool = True) -> Path:
    """The path to restore for a row; () is everything. ``onto_b``: onto B, not onto a later version.

    Positions mean nothing in a version whose elements have moved since, so such arrays are restored as a whole.
    """
    a, b = node.path_a, node.path_b
    path = b if a is None else a
    assert path is not None
    if isinstance(node.op, Add | Remove | Move) and path and isinstance(path[-1], int):
        path = path[:-1]
    if a is not None and b is not None:
        alike = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), len(path))
        path = path[: min(alike, len(path))]
    if not onto_b:
        path = path[: next((i for i, step in enumerate(path) if isinstance(step, int)), len(path))]
    return path


def _comparing(source: Session | PairSource) -> ComparisonSource:
    return source if isinstance(source, PairSource) else VersionSource(source)


def _titles(version: Version, named: str) -> list[str]:
    """``v11, 03 Nov 2026 10:14, by ab-117, why``, and what of that stands in narrower and narrower columns.

    The time goes first, then the reason, then the date: who it was stays the longest.
    """
    state = translated(version.state) if version.state in ("damaged", "unproven") else ""
    if version.kept_on is not None:
        state = tr("as kept on {when}", when=wording.moment(version.kept_on))
    current = tr("current") if version.current and version.v is not None else ""
    name = f"{named} {name_of(version)}".strip()
    date = wording.date(version.at)
    by = tr("by {author}", author=version.author) if version.author else ""
    forms = (
        (name, current, state, wording.moment(version.at), by, version.reason),
        (name, current, state, date, by, version.reason),
        (name, current, state, date, by),
        (name, current or date, state, by),
        (name, by or current),
        (name,),
    )
    return [", ".join(part for part in form if part) for form in forms]
