"""Merges an edit with the database's version, field by field: first the conflicts, then places merged by themselves.

Each choice is one step, and undo brings the conflict back. The result is swapped against the database's version; if
that has moved again, the merge is made again, and choices that still fit are kept.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QPlainTextEdit, QStackedWidget, QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.parts.fields.field_model import VALUE
from gui.parts.fields.field_nodes import FieldNode
from gui.parts.notices import Notices
from gui.parts.saver import Saver, following
from gui.parts.values.value_pane import ValuePane
from gui.style import boxes, preferences, theme, wording
from gui.style.states import hair, say
from gui.style.wording import many, version
from gui.views.merge.decision_table import BARE, ROW, DecisionModel, DecisionTable
from gui.views.merge.merge_draft import MergeDraft
from gui.views.merge.resolution import Resolution, Result, drawn
from gui.views.merge.resolver_parts import WAYS, ConflictBar, MergeHead, ResultHead
from gui.views.merge.result_tree import ResultModel, ResultTree
from model import text
from model.errors import Refused
from model.foundation.records import Outcome, Version
from model.session import Session
from model.session.guarded_writing import Conflict
from model.values.canonical import Path, Value

LARGE = 512 * 1024  # bytes of all three sides; larger results are computed in a task
NARROW = 1160
HUGE = 1024 * 1024
AT_ONCE = 64 * 1024  # bytes that are written as JSON without delay


class ResolverPanel(QWidget):
    """The merge of one edit. ``moved``: the database moved again, and nothing is left to merge here."""

    saved = Signal(object)  # Outcome
    moved = Signal(object)  # Conflict
    discarded = Signal()
    changed = Signal()

    def __init__(self, session: Session, ns: str, id: Value, conflict: Conflict, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns, self.id = session, ns, id
        self._answers = True
        self.zone = preferences.zone()
        self._resolution = Resolution(conflict)
        self._result: Result | None = None
        self._unchanged: int | None = None
        self._saver = Saver(session, ns, id, self)
        self._saver.known = conflict.theirs
        self._saver.applied.connect(self._applied)
        self._saver.conflicted.connect(self._moved_again)
        self._saver.refused.connect(self._refused)
        self._saver.unknown.connect(self._unknown)
        self._saver.changed.connect(self._show_state)
        self._draft = MergeDraft(session, ns, id, conflict.base, conflict.mine, self)
        self._draft.changed.connect(self._draft_known)
        self._build()
        preferences.signals.changed.connect(self._preference)
        self._begin()

    def _build(self) -> None:
        boxes.ground(self, "surface")
        self.head, self.bar, self.result_head = MergeHead(), ConflictBar(self), ResultHead()
        self.head.reason.setVisible(self._resolution.conflict.takes_reason)
        self.head.reason.setText(self._resolution.conflict.reason)
        self.head.reason.returnPressed.connect(self.save)
        self.rows = DecisionModel(self._resolution, self.zone, self)
        self.table = DecisionTable(self.rows)
        self.model = ResultModel(self, self.zone)
        self.tree = ResultTree(self.model)
        self.json = QPlainTextEdit()
        self.json.setReadOnly(True)
        self.json.setObjectName("json")
        self.json.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.json.setAccessibleName(tr("Result as Extended JSON"))
        self.notices = Notices()
        self.split = boxes.split()
        self.split.setHandleWidth(1)
        # Below the button that they are about: in a low window the page's foot is out of sight.
        _column(self, self.head.bar, self.notices, hair(), self.split, stretch=self.split)
        above, lower = QWidget(self.split), boxes.split(parent=self.split)
        _column(above, self.table, hair(), self.bar.bar, stretch=self.table)
        below = QWidget(lower)
        self._views = QStackedWidget()
        _column(below, self.result_head, hair(), self._views, stretch=self._views)
        self._views.addWidget(self.tree)
        self._views.addWidget(self.json)
        self.value = ValuePane(lower)
        self.value.hide()
        boxes.share(lower, 220, 180)
        self.split.setStretchFactor(1, 1)
        self.setFocusProxy(self.table)
        self.table.row_changed.connect(self._show_row)
        self.table.taken.connect(self.choose)
        self.table.reopened.connect(self.reopen)
        self.table.whole_asked.connect(self.toggle_value)
        self.table.escaped.connect(self.hide_value)
        self.value.closed.connect(self.hide_value)
        self.tree.value_typed.connect(self._typed)
        self.tree.key_asked.connect(self._tree_key)
        self.tree.clicked.connect(self._follow_tree)
        self.bar.up.clicked.connect(self.previous_conflict)
        self.bar.down.clicked.connect(self.next_conflict)
        for side, made in self.bar.ways.items():
            made.clicked.connect(partial(self.choose_current, side))
        self.head.undo.clicked.connect(self.undo)
        self.head.discard.clicked.connect(self._ask_discard)
        self.head.save.clicked.connect(self.save)
        self.result_head.view_chosen.connect(self.show_json)
        for side, key in WAYS:
            self._key(key, partial(self.choose_current, side))
            self._key(key.replace("+", "+Shift+"), partial(self.choose_all, side))
        self._key("Ctrl+PgUp", self.previous_conflict)
        self._key("Ctrl+PgDown", self.next_conflict)
        self._key("Ctrl+Z", self.undo)
        self._key("Ctrl+Shift+Z", self.redo)
        self._key("Ctrl+S", self.save)

    def _key(self, key: str, call: object) -> None:
        made = QShortcut(QKeySequence(key), self)
        made.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        made.activated.connect(call)

    # --- the merge

    @property
    def unresolved(self) -> int:
        """How many places wait for a choice."""
        return self._resolution.unresolved

    @property
    def resolution(self) -> Resolution:
        """The present decisions."""
        return self._resolution

    @property
    def _following(self) -> str:
        theirs = self._resolution.conflict.theirs
        return following(theirs.v) if theirs is not None else ""

    @property
    def draft(self) -> MergeDraft:
        """The edit's draft on disk."""
        return self._draft

    def _draft_known(self) -> None:
        self._say_head()
        self.changed.emit()

    def _say_head(self) -> None:
        in_doubt = self._saver.held is not None
        self.head.show(self._resolution, self._following, self._draft.kept, in_doubt)

    def _begin(self) -> None:
        """Start with another resolution."""
        self._unchanged = None
        self.rows.show(self._resolution)
        rows = min(len(self._resolution.rows) + 1, 9)
        self._table_height = theme.px(28) + rows * theme.px(ROW)
        self._share()
        self._work_out()
        first = next((i for i in range(len(self._resolution.rows)) if self._resolution.decision(i).open), 0)
        if self._resolution.rows:
            self.table.go(first, 3)
        self._show_row()

    def _share(self) -> None:
        above = min(self._table_height + theme.px(57), max(theme.px(200), int(self.split.height() * 0.56)))
        self.split.setSizes([above, max(1, self.split.height() - above)])

    def _work_out(self) -> None:
        """Compute the result of the decisions, and show it."""
        resolution, unchanged = self._resolution, self._unchanged
        self.rows.show(resolution)
        self._show_state()
        if len(resolution.base) + len(resolution.mine) + len(resolution.theirs) <= LARGE:
            self._worked_out(drawn(resolution, unchanged))
            return
        tasks.run(
            lambda _: drawn(resolution, unchanged),
            done=self._worked_out,
            failed=self._not_worked_out,
            owner=self,
            key="result",
            title=tr("Merging"),
        )

    def _not_worked_out(self, error: BaseException) -> None:
        self._result = None
        self.notices.put("result", "failed", tasks.describe(error)[0])
        self._show_state()

    def _worked_out(self, result: Result) -> None:
        first = self._result is None
        self._result = result
        self.notices.clear("result")
        if self._unchanged is None:
            self._unchanged = result.unchanged
            self.rows.count_unchanged(result.unchanged)
        self.model.show_result(self._resolution, result)
        if first:
            self._open_changed()
        theirs = self._resolution.conflict.theirs
        now = version(theirs.v) if theirs is not None else ""
        waiting = {path for path, row in result.places.items() if self._resolution.decision(row).open}
        differing = [c.path for c in result.from_theirs.all if c.path not in waiting]
        self.result_head.show_result(now, self._following, [text.path_text(p) for p in differing], self.unresolved)
        if self._views.currentWidget() is self.json:
            self._write_json()
        self._show_state()

    def _open_changed(self) -> None:
        """Expand the containers in which something changed or waits."""
        result = self._result
        if result is None:
            return
        changed = [change.path for change in result.changes.all[:500]] + list(result.places)[:500]
        for above in sorted({path[:depth] for path in changed for depth in range(1, len(path))}, key=len):
            index = self.model.find(above, 0)
            if index.isValid():
                self.tree.expand(index)

    # --- the current row

    @property
    def place(self) -> Path:
        """The path in the result of the current row, else of the first conflict; () if it has none there."""
        row = max(0, self.table.row)
        return next((path for path, at in self._result.places.items() if at == row), ()) if self._result else ()

    def _show_row(self) -> None:
        self.bar.show(self._resolution, self.table.row)
        self._show_value()
        result, row = self._result, self.table.row
        if result is not None and row >= 0:
            path = next((path for path, at in result.places.items() if at == row), None)
            index = self.model.find(path, VALUE) if path is not None else None
            if index is not None and index.isValid():
                above = index.parent()
                while above.isValid():
                    self.tree.expand(above)
                    above = above.parent()
                self.tree.setCurrentIndex(index)
                self.tree.scrollTo(index)

    # --- the whole values below

    def toggle_value(self) -> None:
        """Show the whole values of the current row below, or hide them."""
        if self.value.isHidden() and self.table.row >= 0:
            self.value.show()
            self._show_value()
            self.table.scrollTo(self.table.currentIndex())
        else:
            self.hide_value()

    def hide_value(self) -> None:
        """Close the values below."""
        if not self.value.isHidden():
            self.value.hide()
            self.table.setFocus()

    def _show_value(self) -> None:
        if self.value.isHidden() or self.table.row < 0:
            return
        one, conflict = self._resolution.decision(self.table.row), self._resolution.conflict
        now = wording.version(conflict.theirs.v) if conflict.theirs is not None else ""
        self.value.show_pair(
            one.place, one.mine, one.theirs, "chgS", (tr("Your edit"), tr("In the database {now}", now=now).strip())
        )

    def _follow_tree(self) -> None:
        node = self.model.node(self.tree.currentIndex())
        row = self._result.places.get(self.model.path(node)) if node is not None and self._result is not None else None
        if row is not None and row != self.table.row:
            self.table.go(row)

    def _step(self, by: int) -> None:
        """Go to the next waiting row; if none waits, to the next one that was a conflict."""
        count, here = self._resolution.asked, self.table.row
        if not count:
            return
        start = here if 0 <= here < count else (-1 if by > 0 else count)
        order = [(start + by * i) % count for i in range(1, count + 1)]
        row = next((i for i in order if self._resolution.decision(i).open), order[0])
        self.table.go(row)
        if not self.table.hasFocus():
            self.table.setFocus()

    def next_conflict(self) -> None:
        """Go to the next conflict."""
        self._step(1)

    def previous_conflict(self) -> None:
        """Go to the previous conflict."""
        self._step(-1)

    # --- choosing

    def choose(self, row: int, action: str | Value) -> None:
        """Decide a row: base, mine, theirs, both, or a value."""
        try:
            self._resolution.choose(row, action)
        except Refused as refusal:
            messages.fail(self, refusal)
            return
        self._decided()

    def choose_current(self, side: str) -> None:
        """Decide the current row."""
        if self.table.row >= 0:
            self.choose(self.table.row, side)

    def choose_all(self, side: str) -> None:
        """Decide all unresolved rows, as one step."""
        if self._resolution.choose_all(side):
            self._decided()

    def reopen(self, row: int) -> None:
        """Undo a row's choice."""
        self._resolution.reopen(row)
        self._decided()

    def _typed(self, node: FieldNode, value: Value) -> None:
        if self._result is None:
            return
        path = self.model.path(node)
        try:
            self._resolution.type_value(path, value, self._result.places.get(path), self._result.merge)
        except Refused as refusal:
            messages.fail(self, refusal)
            return
        self._decided()

    def _decided(self) -> None:
        self.notices.clear("moved")
        self.notices.clear("refused")
        self._work_out()
        self._show_row()
        self.changed.emit()

    def undo(self) -> None:
        """Undo the last choice; its conflict is open again."""
        self.tree.give_up()
        if self._resolution.undo():
            self._decided()

    def redo(self) -> None:
        """Redo the choice undone last."""
        if self._resolution.redo():
            self._decided()

    # --- saving

    @property
    def save_reason(self) -> str:
        """Why the result cannot be saved; "" if it can."""
        if self._session.trust.read_only:
            return tr("This connection is read-only")
        if not self._answers:
            return wording.silent(self._session.name)
        if self.unresolved:
            return tr("{fields} still to decide", fields=many(self.unresolved, "field"))
        if self._saver.hold_reason:
            return self._saver.hold_reason
        if self._result is None:
            return tr("The result is being worked out")
        return "" if self._result.from_theirs.all else tr("The result is what is in the database already")

    def say_writable(self) -> None:
        """Update whether saving is offered: the connection's permission changed."""
        self._show_state()

    def say_answering(self, answers: bool) -> None:
        """Offer saving only while the server answers; decisions stay."""
        self._answers = answers
        self._show_state()

    def _show_state(self) -> None:
        self._say_head()
        self.head.show_state(self._resolution, self.save_reason)

    def save(self) -> None:
        """Save the result over the database's version."""
        if not self.tree.commit():
            return
        theirs = self._resolution.conflict.theirs
        if (reason := self.save_reason) or theirs is None:
            messages.why_not(self, reason)
            return
        self.notices.clear("refused")
        try:
            content = self._resolution.document()
        except Refused as refusal:
            self._refused(translated(str(refusal)))
            return
        self._saver.save(theirs, content, self.head.reason.take(), "merge")

    def _applied(self, outcome: Outcome, there: Version | None) -> None:
        self.notices.clear("doubt")
        later = self._chosen_since()
        if later is None or there is None:
            self._draft.forget()
        elif not self._draft.go_on(there, later):
            said = tr("What you chose while it was being saved is not kept: the document's draft is of another edit")
            messages.note(self, said)
        self.saved.emit(outcome)

    def _chosen_since(self) -> bytes | None:
        """The content by choices made since the save was sent; None if there are none."""
        self.tree.commit()
        try:
            content = self._resolution.document()
        except Refused:
            return None  # a field was opened again
        return content if content != self._saver.sent else None

    def _refused(self, sentence: str) -> None:
        self.notices.put("refused", "failed", tr("Nothing was saved. {sentence}", sentence=sentence))

    def _unknown(self, outcome: Outcome) -> None:
        self.notices.doubt(
            tr("It is not known whether {sent_name} was saved", sent_name=self._saver.sent_name),
            outcome,
            self._saver.settle,
        )

    def _moved_again(self, conflict: Conflict) -> None:
        """Merge the edit again, because the database moved again; choices that still fit are kept."""
        self.notices.clear("doubt")
        if conflict.theirs is None:
            self.moved.emit(self._as_shown(conflict))
            return
        self._ask_again(self._merged_again, self._not_merged_again, tr("Merging again"))

    def _ask_again(self, done: Callable[[Conflict], None], failed: Callable[[BaseException], None], title: str) -> None:
        session, ns, id = self._session, self.ns, self.id
        base, mine, known = self._resolution.conflict.base, self._resolution.mine, self._saver.known
        tasks.run(
            lambda _: session.writing.conflict(ns, id, base, mine, known),
            done=done,
            failed=failed,
            owner=self,
            key="again",
            title=title,
        )

    def _merged_again(self, conflict: Conflict) -> None:
        if conflict.theirs is None or conflict.merge is None or conflict.kind == "identical":
            self.moved.emit(self._as_shown(conflict))
            return
        before = self._resolution
        total = len(before.chosen())
        self._resolution, kept = before.carried(conflict)
        self._result = None
        self._begin()
        was = version(before.conflict.theirs.v) if before.conflict.theirs is not None else ""
        now = version(conflict.theirs.v)
        self.notices.put("moved", "note", moved_again(was, now, kept, total, self.unresolved))
        self.changed.emit()

    def _as_shown(self, conflict: Conflict) -> Conflict:
        """The conflict with the result on screen in the place of the edit, where nothing in it is undecided."""
        try:
            return replace(conflict, mine=self._resolution.document())
        except Refused:
            return conflict

    def look_again(self) -> None:
        """Check whether the database moved again; decisions stay if they still fit."""
        if self._saver.hold_reason:
            return  # a save under way, or in doubt, finds out by itself
        self._ask_again(self._looked_again, self._not_looked_again, tr("Looking at {id}", id=wording.plain(self.id)))

    def follow(self) -> None:
        """Merge again with the version just written; if nothing is left to merge, say so and wait."""
        if not self._saver.hold_reason:
            title = tr("Looking at {id}", id=wording.plain(self.id))
            self._ask_again(self._followed, self._not_looked_again, title)

    def _followed(self, conflict: Conflict) -> None:
        if self._is_still(conflict):
            return
        if conflict.theirs is None or conflict.merge is None or conflict.kind == "identical":
            gone = (
                tr("was deleted in the database")
                if conflict.theirs is None
                else tr("has your edit in the database already")
            )
            said = f"{wording.plain(self.id)} {gone}."
            self.notices.put("moved", "note", said, [(tr("What now?"), self.look_again)])
        else:
            self._merged_again(conflict)

    def _is_still(self, conflict: Conflict) -> bool:
        """Whether the database still has the version that was merged with."""
        before, now = self._resolution.conflict.theirs, conflict.theirs
        return before is not None and now is not None and (before.v, before.content) == (now.v, now.content)

    def _looked_again(self, conflict: Conflict) -> None:
        now = conflict.theirs
        if now is not None and self._is_still(conflict):
            at = version(now.v)
            messages.tell(
                self, tr("The database is still at {at}", at=at) if at else tr("The database has not moved again")
            )
        else:
            self._merged_again(conflict)

    def _not_looked_again(self, error: BaseException) -> None:
        messages.fail(self, error)

    def act_on(self, conflict: Conflict, choice: str) -> None:
        """Carry out a choice of the prompt when nothing is left to merge."""
        if choice == "create_again":
            self._saver.create(conflict.mine, self.id, self.head.reason.take(), conflict.known)
        elif choice in ("take", "discard"):
            self.discard()

    def _not_merged_again(self, error: BaseException) -> None:
        self._refused(tasks.describe(error)[0])

    def _ask_discard(self) -> None:
        messages.confirm(
            self,
            tr("Discard your edit?"),
            tr(
                "Your edit{how} and what you decided here would be forgotten. The database stays as it is.",
                how=tr(", its draft") if self._draft.kept else "",
            ),
            tr("Discard 1 edit"),
            self.discard,
            danger=True,
        )

    def discard(self) -> None:
        """Discard the edit, its draft and the decisions."""
        self._draft.forget()
        self.discarded.emit()

    # --- the rest

    def show_json(self, as_json: bool) -> None:
        """Show the result as JSON, or as fields."""
        self.result_head.views.button(int(as_json)).setChecked(True)
        self._views.setCurrentWidget(self.json if as_json else self.tree)
        if as_json:
            self._write_json()

    def _write_json(self) -> None:
        if self._result is None:
            return
        content = self._result.content
        if len(content) > HUGE:
            tasks.drop(self, "json")
            self.json.setPlainText(
                tr("The result is {content}; read it in the tree.", content=wording.size(len(content)))
            )
        elif len(content) > AT_ONCE:  # half a megabyte takes a tenth of a second, for each choice
            tasks.run(
                lambda _: text.to_text(content, 2),
                done=self.json.setPlainText,
                failed=self._not_worked_out,
                owner=self,
                key="json",
            )
        else:
            tasks.drop(self, "json")
            self.json.setPlainText(text.to_text(content, 2))

    def _tree_key(self, node: FieldNode, what: str) -> None:
        if what == "copy":
            value = node.value
            copying.copy(self, len(value.data), lambda: text.value_text(value))

    def _preference(self, name: str) -> None:
        if name == "zone":
            self.zone = self.model.zone = self.rows.zone = preferences.zone()
            self.model.refresh()
            self.rows.show(self._resolution)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        narrow = self.width() < theme.px(NARROW)
        self.tree.narrow(narrow)
        say(self.head.undo, "" if self.width() < theme.px(BARE) else tr("Undo"))
        if narrow != self.bar.is_narrow:
            self.bar.is_narrow = narrow
            self.bar.show(self._resolution, self.table.row)
        self._share()


def moved_again(was: str, now: str, kept: int, total: int, waiting: int) -> str:
    """The message for a person who was deciding while the database moved."""
    lead = (
        tr("The database moved again while you decided, {was} → {now}.", was=was, now=now)
        if was and now
        else tr("The database moved again.")
    )
    if total == 0:
        choices = ""
    elif kept == total:
        choices = (
            tr(" Your choice still applies.")
            if total == 1
            else tr(" All {total} of your choices still apply.", total=total)
        )
    else:
        choices = tr(
            " {kept} of your {choices} still {how}.",
            kept=kept,
            choices=many(total, "choice"),
            how=tr("applies") if kept == 1 else tr("apply"),
        )
    rest = (
        tr(" {fields} to decide.", fields=many(waiting, "field"))
        if waiting
        else tr(" Look at the result, then save again.")
    )
    return tr("{lead} Nothing was written.{choices}{rest}", lead=lead, choices=choices, rest=rest)


def _column(widget: QWidget, *parts: QWidget, stretch: QWidget) -> None:
    column = boxes.column(widget)
    for part in parts:
        column.addWidget(part, 1 if part is stretch else 0)


__all__ = ["ResolverPanel", "moved_again"]
