"""The optional column beside the fields: which version last set each, when and by whom; filled while reading."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QToolButton

from gui import messages, tasks
from gui.language import tr
from gui.parts.fields.field_model import LAST_SET, FieldModel
from gui.parts.fields.field_tree import FieldTree
from gui.style import preferences, theme, wording
from gui.style.cells import Cell, Span
from model import text
from model.foundation.records import Version
from model.session.history_reading import Blame, Chain
from model.values.canonical import Path

WIDTH = 280
BRIEF = 40  # characters of the value before that stand in the cell
MOST = 200  # characters of the value before
HEAD = tr("Last set by")
_KEPT = "editor-last-set"


class LastSetColumn(QObject):
    """Reads a document's versions while its button is on. Switching it off stops the reading.

    It reads without a :class:`.Reading`: a column has no states of its own, its header says how far it is.
    """

    def __init__(
        self, button: QToolButton, tree: FieldTree, model: FieldModel, read: Callable[[tasks.Progress], Chain]
    ) -> None:
        super().__init__(tree)
        self._button, self._tree, self._model, self._read = button, tree, model, read
        self._task: tasks.Task | None = None
        self._chain: Chain | None = None
        self._base: Version | None = None
        self._moved: Callable[[Path], Path] = lambda path: path
        self._blames: tuple[Blame, ...] = ()
        tree.setColumnHidden(LAST_SET, True)
        tree.setColumnWidth(LAST_SET, theme.px(WIDTH))
        button.toggled.connect(self._toggled)
        preferences.signals.changed.connect(self._fill)

    def follow(self, base: Version | None, moved: Callable[[Path], Path]) -> None:
        """Set the version that the fields began from, and where its fields are now."""
        self._moved, before = moved, self._base
        if base is None:
            return
        if before is None or (before.v, before.content) != (base.v, base.content):
            self._begin(base)
        else:
            self._fill()

    def _begin(self, base: Version) -> None:
        self._base, self._chain, self._blames = base, None, ()
        self._model.last_set = {}
        if self._button.isChecked():
            self._start()
        else:
            self._button.setChecked(preferences.remembered(_KEPT, False) is True)

    def _toggled(self, on: bool) -> None:
        preferences.remember(_KEPT, on)
        self._tree.setColumnHidden(LAST_SET, not on)
        self._tree.fit_columns()
        if on and self._chain is None:
            self._start()
        elif not on and self._task is not None:
            self._task.cancel()

    def _start(self) -> None:
        if self._base is None:
            return
        self._say(tr("reading"))
        self._task = tasks.run(
            self._read,
            done=self._done,
            failed=self._failed,
            cancelled=self._stopped,
            partial=self._put,
            owner=self,
            key="last-set",
            title=tr("Looking for who last set each field"),
        )
        self._task.progressed.connect(self._progressed)

    def _progressed(self, done: int, total: int | None) -> None:
        of = tr(" of about {total}", total=wording.count(total)) if total else ""
        self._say(tr("{done}{of} read", done=wording.count(done), of=of))

    def _say(self, more: str) -> None:
        self._model.headers = (*self._model.headers[:LAST_SET], f"{HEAD}   {more}" if more else HEAD)
        self._model.headerDataChanged.emit(Qt.Orientation.Horizontal, LAST_SET, LAST_SET)

    def _put(self, chain: Chain) -> None:
        self._chain, base = chain, self._base
        if base is not None:
            self._blames = chain.blame_at(base.content or b"", base.v)
        self._fill()

    def _done(self, chain: Chain) -> None:
        self._task = None
        self._put(chain)
        self._say("")

    def _stopped(self) -> None:
        self._task = self._chain = None  # it is read again when switched on
        self._say(tr("stopped"))

    def _failed(self, error: BaseException) -> None:
        self._stopped()
        messages.fail(self._tree, error)

    def _fill(self, *_: object) -> None:
        if self._chain is None:
            return
        ages = {id(one): age for age, one in enumerate(self._chain.versions)}
        said: dict[Path, Cell] = {}
        newest: dict[Path, Blame] = {}
        for one in self._blames:
            path = self._moved(one.path)
            said[path] = _cell(one, False)
            for depth in range(1, len(path)):
                above = newest.get(path[:depth])
                if above is None or ages[id(one.version)] < ages[id(above.version)]:
                    newest[path[:depth]] = one
        for path, one in newest.items():
            said.setdefault(path, _cell(one, True))
        self._model.last_set = said
        self._model.refresh()


def _cell(one: Blame, inside: bool) -> Cell:
    """``v17 · 3 Nov 2026 · rk-204 · was 412.80``; fainter for a container, because it is about the fields inside."""
    name = wording.version(one.version.v) or tr("current")
    tip = "" if one.op else tr("As it was from the start")
    if one.since is not None:
        oldest = wording.version(one.since.v)
        name = f"{oldest}–{name}" if one.op else tr("{name} or before", name=name)
        tip = tr("The versions between {oldest} and {v} are missing", oldest=oldest, v=wording.version(one.version.v))
    when = wording.date(one.version.at)
    parts = [name, *(part for part in (when, one.version.author) if part)]
    lead = tr("inside, last set by") if inside else tr("last set by")
    ink = "text3" if inside else "text2"
    was = "" if inside else _was(one)
    why = [line for line in (was, one.version.reason or "", tip) if line]
    said = ", ".join((f"{lead} {', '.join(parts)}", *([was] if was else [])))
    spans = [Span(" · ".join(parts), ink)]
    if one.before is not None and one.before.value is not None and not inside:
        before = text.shown(one.before.value, preferences.zone(), BRIEF)
        spans.append(Span(tr(" · was {before}", before=before), "text3"))
    return Cell(spans=tuple(spans), size=12, tip="\n".join(why), accessible=said)


def _was(one: Blame) -> str:
    """The value that the version replaced, in words; "" where it replaced none."""
    if one.before is None:
        return tr("It was not there before") if one.op == "add" else ""
    seen = one.before
    kind = tr("{kind} of {size}", kind=seen.kind, size=wording.size(seen.size))
    return tr("Before: {value}", value=text.shown(seen.value, preferences.zone(), MOST) if seen.value else kind)
