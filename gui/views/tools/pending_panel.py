"""Cleaning up pending tokens: what finishing or dropping each does, then one guarded write per token.

Old tokens are ticked; one inside the grace period can only be ticked by hand, and is only written after a name or
number was typed.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QSize, Qt, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLineEdit, QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.paging import refill
from gui.parts.reading import Reading
from gui.parts.writes_in_doubt import WritesInDoubt
from gui.style import boxes, icons, states, theme, wording
from gui.style.clear_cross import ClearCross
from gui.style.states import OneLine, StateStack, button, words
from gui.style.wrapping_row import WrappingRow
from gui.views.tools.token_list import AGES, STATES, Filter, TokensModel, TokenTree, is_old
from gui.views.tools.token_preview import TokenPreview, What
from gui.views.tools.token_question import TokenQuestion, consequences, to_type
from model import text
from model.foundation.records import Outcome, PendingToken
from model.session import Session

_VERBS: dict[str, str] = {"finish": tr("Finish"), "drop": tr("Drop")}
_DONE: dict[str, str] = {"finish": tr("finished"), "drop": tr("dropped")}


class PendingPanel(QWidget):
    """Cleans up counters that are raised in two steps; ``ns`` None means every collection of the source."""

    closed = Signal()

    def __init__(self, session: Session, ns: str | None = None, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns = session, ns
        self._in_doubt = WritesInDoubt(self, session, self._doubt_said, self._looked)
        self._task: tasks.Task | None = None
        self._doing: What = "finish"
        self._production = False
        self._answers = True
        self._done_so_far: tuple[int, int | None] = (0, None)
        self.tokens: list[PendingToken] = []  # all that were found; the filters choose the listed ones
        boxes.ground(self, "surface")
        self.model = TokensModel()
        self.model.ticked_changed.connect(self._said)
        self.list = TokenTree(self.model)
        self.list.selectionModel().currentRowChanged.connect(self._chosen)
        self.preview = TokenPreview(session)
        column = boxes.column(self)
        column.addLayout(self._title_row())
        column.addWidget(states.hair())
        self.states = StateStack()
        self.states.turned.connect(self._say_filters)
        self.states.turned.connect(self._said)
        self.reading = Reading(
            self,
            self.states,
            again=self.refresh,
            stopped=self._stopped,
            has=lambda: self._is_listed,
            title=tr("The pending tokens could not be read"),
            key="tokens",
        )
        self.filters = self._filter_row()
        column.addWidget(self.filters)
        column.addWidget(self.states, 1)
        split = boxes.split(parent=self.states.place)
        upper = QWidget(split)
        inner = boxes.column(upper)
        inner.addWidget(self.list, 1)
        inner.addWidget(self._ticks_row())
        split.addWidget(self.preview)
        boxes.share(split, 340, 260)
        self.states.put(split)
        column.addWidget(states.hair())
        column.addLayout(self._report_row())
        column.addWidget(self._foot())
        self.setFocusProxy(self.list)
        self.refresh()

    # --- its parts

    def _title_row(self) -> WrappingRow:
        row, _ = boxes.titled(
            tr("Pending tokens"),
            tr(
                "Step one was written, step two was not: the counter lacks these tokens. Writers of young ones "
                "may be at work."
            ),
        )
        self._again = button(tr("Scan again"), self.refresh, "small", icon="arrows-clockwise")
        row.addWidget(self._again)
        return row

    def _filter_row(self) -> QWidget:
        made = QWidget()
        inner = boxes.ground(QWidget(), "toolrow")
        column = boxes.column(made)
        column.addWidget(inner)
        column.addWidget(states.hair())
        row = boxes.wrapping(inner, 16, 5)
        self.search = QLineEdit()
        self.search.setProperty("small", True)  # as high as the boxes beside it
        self.search.setPlaceholderText(tr("Document, token or owner"))
        self.search.setAccessibleName(tr("Show tokens with these words"))
        ClearCross(self.search)
        self.search.setMinimumWidth(theme.px(160))
        self.search.textChanged.connect(self._filter_changed)
        row.addWidget(self.search, 1)
        self.ages, self.kinds, self.places = QComboBox(), QComboBox(), QComboBox()
        for name, hours in AGES:
            self.ages.addItem(name, hours)
        self.kinds.addItems(STATES)
        for box, said in (
            (self.ages, tr("How old the tokens shown are")),
            (self.kinds, tr("What can be done about the tokens shown")),
            (self.places, tr("Of which collection the tokens shown are")),
        ):
            box.setAccessibleName(said)
            box.currentIndexChanged.connect(self._filter_changed)
            row.addWidget(box)
        self.places.hide()
        made.hide()  # until there are tokens
        return made

    def _say_filters(self) -> None:
        """Show the filters if there are tokens, even if none of them passes."""
        self.filters.setVisible(bool(self.tokens) and not self.states.is_unread)

    def _ticks_row(self) -> QWidget:
        made = boxes.ground(QWidget(), "toolrow")
        row = QHBoxLayout(made)
        row.setContentsMargins(theme.px(4), theme.px(5), theme.px(16), theme.px(5))  # aligned with the rows' ticks
        row.setSpacing(theme.px(8))
        self._all = button("", self._tick_all, "quiet", "small")
        self._all.setIconSize(QSize(theme.px(20), theme.px(16)))
        row.addWidget(self._all)
        guard = OneLine("second")
        guard.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        guard.setText(tr("Each is written only if it is still pending and was not applied."))
        row.addWidget(guard, 1)
        return made

    def _report_row(self) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setContentsMargins(theme.px(16), theme.px(9), theme.px(16), theme.px(9))
        self.report = messages.report()
        row.addWidget(self.report, 1)
        self._save = button(tr("Copy report"), self._copy_report, "quiet", "small")
        row.addWidget(self._save)
        return row

    def _foot(self) -> QWidget:
        made = boxes.ground(QWidget(), "toolrow")
        row = boxes.wrapping(made)
        self._note = words(tr("Nothing has been written yet. What is written is in the journal."), "second", wrap=True)
        self._note.setMinimumWidth(theme.px(boxes.BESIDE_BUTTONS))
        row.addWidget(self._note, 1)
        self.cancel = button(tr("Close"), self._cancel)
        row.addWidget(self.cancel)
        self.drop = button(tr("Drop…"), partial(self._ask, "drop"))
        row.addWidget(self.drop)
        self.older = button(tr("Finish all older than…"), self._ask_age)
        row.addWidget(self.older)
        self.go = button(tr("Finish"), partial(self._ask, "finish"), "main")
        row.addWidget(self.go)
        return made

    def set_production(self, production: bool) -> None:
        """Set whether a name or number must be typed before anything is written."""
        self._production = production

    # --- reading

    def refresh(self) -> None:
        """Look for tokens again; ticks and scroll position stay. During writes nothing is read: their report stays."""
        self._look(self._shown)

    def follow(self) -> None:
        """Look for tokens again after a write elsewhere; the outcomes of tokens handled here stay visible."""
        self._look(self._followed)

    def _look(self, done: Callable[[list[PendingToken]], None]) -> None:
        if self.busy:
            return
        session, ns, said = self._session, self.ns, tr("Looking for pending tokens")
        self.reading.ask(lambda progress: list(session.tokens.pending(ns, None, progress)), done, said, title=said)

    def _stopped(self) -> None:
        if not self._is_listed:
            self.tokens = []
        self.reading.show_stopped()

    def _shown(self, tokens: list[PendingToken]) -> None:
        self.model.ends, self.model.dropped = {}, set()
        self._list(tokens)

    def _followed(self, tokens: list[PendingToken]) -> None:
        key, ends = self.model.key, self.model.ends
        read = {key(token): token for token in tokens}
        back = [one for one, end in ends.items() if end.kind == "applied" and one in read]  # somebody undid it
        for one in back:
            del ends[one]
        self.model.dropped.difference_update(back)
        kept = {key(token): token for token in self.tokens if key(token) in read or key(token) in ends}
        self._list([*(kept | read).values()])

    def _list(self, tokens: list[PendingToken]) -> None:
        self.model.now = dt.datetime.now(dt.UTC)
        self.tokens = tokens
        places = sorted({token.ns for token in tokens})
        self.model.whole_ns = len({ns.partition(".")[0] for ns in places}) > 1
        kept = self.places.currentData()
        self.places.blockSignals(True)
        self.places.clear()
        self.places.addItem(tr("All collections"), "")
        for ns in places:
            self.places.addItem(text.plain(ns), ns)
        self.places.setCurrentIndex(max(0, self.places.findData(kept)))
        self.places.blockSignals(False)
        self.places.setVisible(len(places) > 1)
        self._filter_changed()
        self._say_filters()

    @property
    def _is_listed(self) -> bool:
        """Whether tokens are shown, rather than a state."""
        return self.states.kind == "content"

    @property
    def _filter(self) -> Filter:
        hours = self.ages.currentData()
        age = None if hours is None else dt.timedelta(hours=hours)
        return Filter(age, self.kinds.currentIndex(), self.places.currentData() or "", self.search.text())

    def _filter_changed(self, _: object = None) -> None:
        wanted = self._filter
        shown = [token for token in self.tokens if wanted.takes(token, self.model.now)]
        refill(self.list, self.model, shown)
        if shown:
            self.states.show_content()
            if not self.list.currentIndex().isValid():
                self.list.setCurrentIndex(self.model.index(0, 0))
        elif not self.tokens:
            self.states.show_empty(
                tr("No token is pending"),
                tr("Every counter has been raised by the step that follows its token."),
                [],
                icon="check-circle",
            )
        else:
            none = tr("No token is that old") if wanted == Filter(wanted.age) else tr("No token matches these filters")
            said = tr(
                "{tokens} {how} pending, and none of them passes the filters above. Change them, or show all tokens.",
                tokens=wording.many(len(self.tokens), "token"),
                how=tr("is") if len(self.tokens) == 1 else tr("are"),
            )
            self.states.show_empty(none, said, [(tr("Show all tokens"), self._show_all)], icon="funnel")
        self._said()

    def _show_all(self) -> None:
        for box in (self.ages, self.kinds, self.places):
            box.setCurrentIndex(0)
        self.search.clear()

    # --- the chosen token

    def _chosen(self, now: QModelIndex) -> None:
        self.preview.show_token(self.model.at(now))

    # --- ticks and report

    def _tick_all(self) -> None:
        old = [row for row in self.model.rows if self.model.can_tick(row) and is_old(row)]
        on = not all(self.model.is_ticked(row) for row in old)
        # Young tokens are ticked one by one, but unticked with all others.
        self.model.tick(old if on else self.model.rows, on)

    def say_writable(self) -> None:
        """Update whether finishing and dropping are offered: the connection's permission changed."""
        self._said()

    def say_answering(self, answers: bool) -> None:
        """Offer looking, finishing and dropping only while the server answers."""
        self._answers = answers
        self._said()

    def _why_not(self) -> str:
        """Why nothing can be written, whatever is ticked; "" if it can."""
        if self._session.trust.read_only:
            return tr(
                "{name} is open read-only; to finish or drop tokens, allow writes.",
                name=wording.source(self._session.name, first=True),
            )
        return "" if self._answers else wording.silent(self._session.name)

    def _said(self) -> None:
        rows = self.model.rows if self._is_listed else []
        ticked = self.model.ticked() if rows else []
        old = sum(self.model.can_tick(row) and is_old(row) for row in rows)
        self._all.setText(
            tr(
                "{ticked} of {tokens} ticked",
                ticked=wording.count(len(ticked)),
                tokens=wording.many(len(rows), "token"),
            )
        )
        self._all.setIcon(icons.tick(len(ticked), len(rows)))
        self._all.setEnabled(old > 0 or bool(ticked))
        self._all.setToolTip(tr("Tick all that are old enough") if len(ticked) < old else tr("Untick all"))
        self.report.setText("" if self.states.is_unread else self._report())
        self._save.setEnabled(bool(rows))
        count = wording.many(len(ticked), "token")
        self.go.setText(tr("Finish {count}", count=count) if ticked else tr("Finish"))
        self.drop.setText(tr("Drop {count}…", count=count) if ticked else tr("Drop…"))
        unread = "" if self._answers else wording.unread(self._session.name)
        self._again.setEnabled(not unread and not self.busy)
        self._again.setToolTip(wording.tip(unread))
        never = self._why_not()
        why = never if never or ticked else tr("No token is ticked.")
        for one in (self.go, self.drop):
            one.setEnabled(not why and not self.busy)
            one.setToolTip(wording.tip(why))
        self.older.setEnabled(not never and bool(self.tokens) and not self.states.is_unread and not self.busy)
        self.older.setToolTip(wording.tip(never))

    def _report(self) -> str:
        if self.busy:
            done, total = self._done_so_far
            return tr(
                "{verbs}ing {done} of {total}",
                verbs=_VERBS[self._doing],
                done=wording.count(done),
                total=wording.count(total or 0),
            )
        ends: Counter[str] = Counter(end.kind for end in self.model.ends.values())
        if ends:
            dropped = sum(end.kind == "applied" and key in self.model.dropped for key, end in self.model.ends.items())
            counts = {tr("finished"): ends["applied"] - dropped, tr("dropped"): dropped, tr("skipped"): ends["skipped"],
                      tr("changed meanwhile"): ends["conflict"], tr("refused"): ends["refused"],
                      tr("not known"): ends["unknown"]}  # fmt: skip
            return tr("Report:  ") + "    ".join(f"{wording.count(n)} {word}" for word, n in counts.items() if n)
        rows = self.model.rows
        left = sum(not is_old(row) and not self.model.is_ticked(row) for row in rows)
        asks = sum(bool(row.problem) for row in rows)
        return tr(
            "Dry run:  {ticked} would be finished    {left} left out, too young    {asks} need a person",
            ticked=wording.count(len(self.model.ticked())),
            left=wording.count(left),
            asks=wording.count(asks),
        )

    def _copy_report(self) -> None:
        lines = [self.report.text()]
        for row in self.model.rows:
            token = text.shown(row.token)
            lines.append(f"{row.ns}  {wording.plain(row.id)}  {token}  {self.model.verdict(row)[2]}")
        copying.put("\n".join(lines))
        messages.copied(self, tr("The report is in the clipboard."))

    # --- writing

    @property
    def busy(self) -> bool:
        """Whether tokens are being finished or dropped."""
        return self._task is not None and self._task.running

    def _ask_age(self) -> None:
        asked = TokenQuestion(self, self.tokens, self.model.can_tick)
        asked.agreed.connect(self._ask_older)
        asked.open()

    def _ask_older(self, tokens: Sequence[PendingToken]) -> None:
        self._show_all()
        self.model.tick(self.tokens, False)
        self.model.tick(tokens, True)
        self._ask("finish")

    def _ask(self, what: What) -> None:
        ticked = self.model.ticked()
        if not ticked:
            return
        count, young = wording.many(len(ticked), "token"), [row for row in ticked if not is_old(row)]
        messages.confirm(
            self,
            tr("{verbs} {count}?", verbs=_VERBS[what], count=count),
            consequences(what, ticked),
            tr("{verbs} {count}", verbs=_VERBS[what], count=count),
            partial(self._write, what, ticked, bool(young)),
            danger=what == "drop" or bool(young),
            typed=to_type(ticked, self._production),
        )

    def _write(self, what: What, ticked: Sequence[PendingToken], confirmed: bool) -> None:
        session = self._session
        send = session.tokens.finish if what == "finish" else session.tokens.drop

        def write(progress: tasks.Progress) -> None:
            for token, outcome in zip(ticked, send(ticked, progress, confirmed), strict=True):
                progress.put((token, outcome, what))

        self.reading.drop()  # what is being read would remove the report
        self.states.show_content()
        self._doing, self._done_so_far = what, (0, len(ticked))
        self._task = tasks.run(
            write, done=self._ended, failed=self._broke, owner=self, cancelled=self._ended, partial=self._one_ended,
            key="write", title=tr(
"{verbs}ing {tokens}", verbs=_VERBS[what], tokens=wording.many(len(ticked), 'token')),
        )  # fmt: skip
        self._task.progressed.connect(self._progressed)
        self.cancel.setText(tr("Stop"))
        self._said()

    def _progressed(self, done: int, total: int | None) -> None:
        self._done_so_far = (done, total)
        self.report.setText(self._report())

    def _one_ended(self, part: tuple[PendingToken, Outcome, What]) -> None:
        token, outcome, what = part
        key = self.model.key(token)
        self.model.ends[key] = outcome
        if what == "drop":
            self.model.dropped.add(key)
        if (at := self.model.row_of(key)) >= 0:
            self.model.touch(at)
        self._said()

    def _ended(self, _: object = None, error: BaseException | None = None) -> None:
        self.cancel.setText(tr("Close"))
        self._said()
        ends = list(self.model.ends.values())
        done = [end for end in ends if end.kind == "applied"]
        self._note.setText(tr("What was written is in the journal, where each token can be undone."))
        if done:
            entries = [end.entry for end in done if end.entry is not None]
            undo = partial(self._undo, entries) if entries else None
            messages.tell_of_run(self, f"{wording.many(len(done), 'token')} {_DONE[self._doing]}.", undo)
        self._in_doubt.tell(ends, error)

    def _doubt_said(self, unknown: int) -> str:
        count = wording.many(unknown, "token")
        return tr("It is not known whether {count} was {done}.", count=count, done=_DONE[self._doing])

    def _looked(self, found: Sequence[Outcome]) -> None:
        for end in found:
            if end.kind != "unknown":
                messages.tell(self, wording.about(end))
        self.refresh()

    def _broke(self, error: BaseException) -> None:
        self._ended(error=error)

    def _undo(self, entries: list[str]) -> None:
        work = partial(_undo, self._session, entries)
        tasks.run(work, done=self._undone, failed=self._undo_failed, owner=self, title=tr("Undoing"))

    def _undo_failed(self, error: BaseException) -> None:
        messages.fail(self, error)
        self.refresh()

    def _undone(self, ended: list[Outcome]) -> None:
        back = sum(end.kind == "applied" for end in ended)
        messages.tell(self, tr("{tokens} pending again.", tokens=wording.many(back, "token")))
        for end in ended:
            if end.kind != "applied":
                messages.fail(self, translated(end.detail))
        self.refresh()

    def _cancel(self) -> None:
        if self.busy and self._task is not None:
            self._task.cancel()
        else:
            self.closed.emit()


def _undo(session: Session, entries: Sequence[str], progress: tasks.Progress) -> list[Outcome]:
    """Undo writes, the last one first."""
    ended = []
    for at, entry in enumerate(reversed(entries)):
        progress(at, len(entries))
        ended.append(session.way_back.undo(entry))
    return ended
