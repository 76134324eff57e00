"""The editor of a document, by field or as JSON: the draft, its changes, and the guarded write that saves it.

The draft is bytes and belongs to the version it began from; a refresh, a closed tab or another tab's save never ends
it.
"""

from __future__ import annotations

from functools import partial

from msgspec import Struct
from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent
from PySide6.QtWidgets import QWidget

from gui import messages, tasks, turns
from gui.language import tr, translated
from gui.parts.author_sheet import ask_author
from gui.parts.draft_saver import DraftSaver
from gui.parts.fields.content_tree import locked_fields
from gui.parts.fields.edit_steps import Edit
from gui.parts.fields.field_model import VALUE
from gui.parts.reading import Reading
from gui.parts.saver import Saver
from gui.style import preferences, wording
from gui.style.wording import version
from gui.views.edit.draft_panel import LARGE, DraftPanel
from gui.views.edit.editor_parts import UNCHANGED, Stage
from gui.views.edit.last_set_column import LastSetColumn
from model import text
from model.diff import diff, patch
from model.errors import NotFound, Refused
from model.foundation.records import CollectionInfo, Draft, Opened, Outcome, Sending, Version
from model.session import Session
from model.session.guarded_writing import Conflict, taken_over
from model.session.query_help import FieldSurvey
from model.values import canonical
from model.values.canonical import Path, Value

FEW = 200  # top-level fields; in a larger document no containers are expanded at once
GUARDS = (
    (tr("It goes up by one"), "inc"),
    (tr("It gets a new UUID"), "uuid"),
    (tr("It is an ordinary field"), "none"),
)
"""How writes can change the lock field of another program, for people and for the model."""
SHORT = 50  # fields or elements of such a container; a longer one would push the fields below it out of sight


class _Loaded(Struct, frozen=True):
    """A document as it was read for editing."""

    opened: Opened
    draft: Draft | None
    missing: str | None  # why writing has to wait for an index
    trouble: str  # why a draft cannot be read
    gone: bool = False  # only the draft remains


def load(session: Session, ns: str, id: Value, draft: Draft | None) -> _Loaded:
    """Read the document, its draft, and whether an index is missing; runs in a task."""
    trouble = ""
    if draft is None:
        try:
            draft = session.drafts.get(session.source, ns, id)
        except Refused as refusal:
            trouble = translated(str(refusal))
    try:
        opened = session.writing.open(ns, id)
    except NotFound:
        if draft is None:
            raise
        shown = canonical.document([("_id", id), *canonical.fields(draft.content)])
        return _Loaded(Opened(ns, id, origin_of(draft), ("_id",), True, "", shown), draft, None, trouble, gone=True)
    missing = None if session.trust.read_only else session.indexes.missing(ns)
    return _Loaded(opened, draft, missing, trouble)


def origin_of(draft: Draft) -> Version:
    """The version that a draft began from, as far as the draft knows it."""
    content = draft.base_content
    return Version(draft.base_v, None, None, "none", "unproven", False, None, len(content), content=content)


class EditorPanel(DraftPanel):
    """The editor of one document."""

    dirty_changed = Signal(bool)
    saved = Signal(object)  # Outcome
    conflict_found = Signal(object)  # Conflict
    history_asked = Signal()
    compare_asked = Signal()
    layout_asked = Signal()
    loaded = Signal(object)  # Opened

    def __init__(
        self, session: Session, ns: str, id: Value, draft: Draft | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._session, self.ns, self.id = session, ns, id
        self._opened: Opened | None = None
        self._base: Version | None = None
        self._latest: Version | None = None  # the version in the database, as far as known
        self._missing: str | None = None
        self._begin_at: Path = ()
        self._taken: list[tuple[bytes, Path, str]] = []  # fields to take over once the document is there
        self._was_dirty = self._looked_around = False
        self._answers = True
        self._missed = False  # whether the document was written during a save
        self._previewed_for: tuple[Version, bytes, str] | None = None
        self._saver = Saver(session, ns, id, self)
        self._saver.applied.connect(self._applied)
        self._saver.conflicted.connect(self._conflicted)
        self._saver.refused.connect(self._refused)
        self._saver.unknown.connect(self._unknown)
        self._saver.changed.connect(self._saver_changed)
        self.reading = Reading(
            self,
            self.states,
            has=lambda: self.is_loaded,
            keep=lambda: self.states.show_part(tr("Reading was stopped; this was read before it."), self.reload),
            failed=self._load_failed,
            key="load",
            stops="at once",  # however long the server takes to answer
        )
        self._keeper = DraftSaver(session, ns, id, self)
        self._keeper.kept.connect(self.foot.draft_kept)
        self._keeper.failed.connect(self._not_kept)
        self._preview = QTimer(self)
        self._preview.setSingleShot(True)
        self._preview.setInterval(300)
        self._preview.timeout.connect(self._ask_preview)
        preferences.signals.changed.connect(self._preference)
        self.last_set = LastSetColumn(
            self.head.last_set,
            self.tree,
            self.model,
            lambda progress: session.history.chain(ns, id, progress, progress.put),
        )
        self.keys(("Ctrl+L", self.head.last_set.click))
        self.shown.connect(self._follow_fields)
        self.tree.typing_changed.connect(self._look_around)
        self.edited.connect(self._keep)
        self.shown.connect(self._show_foot)
        self.shown.connect(self._preview_soon)
        self.shown.connect(self._catch_up)
        self.head.compare.clicked.connect(self.compare_asked)
        self.head.history.clicked.connect(self.history_asked)
        self.foot.discard.clicked.connect(self._ask_discard)
        self.foot.save.clicked.connect(self.save)
        self.foot.reason.textChanged.connect(self._preview.start)
        self.foot.reason.returnPressed.connect(self.save)
        self.keys(("Ctrl+S", self.save), ("Ctrl+D", self.compare_asked.emit), ("Ctrl+Shift+H", self.history_asked.emit))
        self.set_writable(False)
        self._load(draft)

    # --- the open document

    @property
    def base(self) -> Version | None:
        """The version that the draft began from; None until it is loaded."""
        return self._base

    @property
    def is_loaded(self) -> bool:
        """Whether the document was read."""
        return self._opened is not None

    def _load(self, draft: Draft | None = None) -> None:
        session, ns, id = self._session, self.ns, self.id
        title = tr("Reading {id}", id=wording.plain(id))
        self.reading.ask(lambda _: load(session, ns, id, draft), self._loaded, title, title=title)

    def _load_failed(self, error: BaseException) -> None:
        if self.is_dirty and isinstance(error, NotFound):
            self._latest = None
            self._say_moved()
            self.states.show_content()
            return
        if self.is_dirty:
            said = tr("The document could not be read again: {sentence}", sentence=tasks.describe(error)[0])
            self.notices.put("reload", "failed", said, [(tr("Try again"), self.reload)])
            self.states.show_content()
            return
        self.reading.title = (
            tr("{id} is not there", id=wording.plain(self.id))
            if isinstance(error, NotFound)
            else tr("This document could not be read")
        )
        self.reading.show_failed(error)
        if self.states.is_unread:
            self.set_writable(False)

    def _loaded(self, loaded: _Loaded) -> None:
        opened, draft = loaded.opened, loaded.draft
        first = self._opened is None
        if loaded.gone and not first and not self.is_dirty:  # the remaining draft belongs to another window
            self._latest = None
            self._say_moved()
            self._load_failed(
                NotFound(tr("There is no document {id} in {ns} any more.", id=wording.plain(self.id), ns=self.ns))
            )
            return
        self._opened, self._missing = opened, loaded.missing
        self._latest = None if loaded.gone else opened.base
        if not loaded.gone:
            self._saver.known = opened.base
        self.notices.clear("reload")
        if first and draft is not None:
            self._take_draft(draft)
        if not self.is_behind:  # for equal content: the record just read guards the next save
            self._base = opened.base
        if (first or self._may_move) and not loaded.gone:
            self._take_base(opened.base)
        if loaded.trouble:
            self.notices.put("draft", "note", loaded.trouble)
        if first or not self.is_behind:  # else the rows below the cursor are those of the version that is edited
            self._show_locked(opened)
        self._say_writable()
        self._say_moved()
        self.states.show_content()
        self.show_draft()
        if first:
            self._first_look()
        self.loaded.emit(opened)
        taken, self._taken = self._taken, []
        for each in taken:
            self.take_over(*each)

    def _look_around(self) -> None:
        """Once a person types, read one time which names and types other documents have."""
        if self._looked_around or not self.tree.has_editor:
            return
        self._looked_around = True
        session, ns = self._session, self.ns
        tasks.run(lambda _: session.queries.fields(ns), done=self._looked, failed=_no_hints, owner=self, key="hints")

    def _looked(self, survey: FieldSurvey) -> None:
        self.model.set_neighbours(survey)
        self.tree.editor.offer_names()

    def _follow_fields(self) -> None:
        self.last_set.follow(self._base, self._changes.now if self._changes is not None else lambda path: path)

    def _first_look(self) -> None:
        if len(self.content) < LARGE and self.model.rowCount() <= FEW and not self.model.root.is_long:
            for index in [self.model.index(row, 0) for row in range(self.model.rowCount())]:
                if self.model.canFetchMore(index):
                    self.model.fetchMore(index)
                if 0 < self.model.rowCount(index) <= SHORT:
                    self.tree.expand(index)
        rows = (self.model.index(row, VALUE) for row in range(self.model.rowCount()))
        own = next((index for index in rows if index.flags() & Qt.ItemFlag.ItemIsEditable), self.model.index(0, VALUE))
        self.tree.setCurrentIndex(own)
        if self._begin_at:
            self.reveal(self._begin_at)
        if self.head.isAncestorOf(self.window().focusWidget() or self.window()):
            self.tree.setFocus()

    def _take_base(self, base: Version) -> None:
        """Show a version, unless there is an edit; the steps of an edit saved just now can still be undone."""
        content = base.content or canonical.EMPTY
        if self._edit.is_dirty:
            return
        self._base = base
        if content != self._edit.base:
            self._edit = Edit(content)

    def _take_draft(self, draft: Draft) -> None:
        self._base = origin_of(draft)
        self._edit = Edit(draft.base_content, draft.content)
        self.foot.draft_kept(draft.kept_at)

    def _show_locked(self, opened: Opened) -> None:
        sides = [
            [(name, kept) for name, value in side if (kept := self._locked_value(name, value)) is not None]
            for side in locked_fields(opened.document, opened.locked)
        ]
        self.model.set_locked(*sides)
        self.json.set_locked(field for side in sides for field in side)

    def _locked_value(self, name: str, value: Value) -> Value | None:
        """The value of a locked field in the version that the draft began from, as far as known."""
        if name == "_id" or not self.is_behind or self._latest is None or self._base is None:
            return value
        return self._base.v if value == self._latest.v else None

    def reload(self) -> None:
        """Read the document again. An edit stays, on the version it began from."""
        self._load()

    def follow(self) -> None:
        """Read the written document again; during a save, when that has ended."""
        if self._saver.busy:
            self._missed = True
        else:
            self.reload()

    def _saver_changed(self) -> None:
        self._show_foot()
        if self._missed and not self._saver.busy:
            self._missed = False
            self.reload()

    @property
    def _may_move(self) -> bool:
        """Whether a newer version may replace the shown one: nothing is typed, and no cell is open."""
        return not self.is_dirty and not self.tree.has_editor

    def _catch_up(self) -> None:
        """Show the newer version that an open cell blocked, unless an edit of the older one can be redone."""
        busy = self._saver.busy or self.can_redo
        if self.is_behind and self._latest is not None and self._may_move and not busy:
            self.reload()

    def say_writable(self) -> None:
        """Allow or forbid typing: the connection's permission changed."""
        if self._opened is None:
            return
        self._say_writable()
        self._show_foot()
        if not self._session.trust.read_only:
            self.reload()  # asks again whether an index that writing needs is missing

    def say_answering(self, answers: bool) -> None:
        """Offer saving only while the server answers; typing continues, and is kept as a draft."""
        self._answers = answers
        self._show_foot()

    @property
    def is_behind(self) -> bool:
        """Whether the database moved on since the draft began, or lost the document."""
        latest, base = self._latest, self._base
        if base is None:
            return False
        return latest is None or (latest.v, latest.content) != (base.v, base.content)

    def _say_moved(self) -> None:
        self.head.now.put("")
        if self.is_behind and self._latest is None:
            self.head.now.put(tr("deleted in the database"), "warn", "warnT", "conflict")
        elif self.is_behind and self._latest is not None:
            now = version(self._latest.v)
            self.head.now.put(
                tr("{now} in the database", now=now) if now else tr("changed in the database"),
                "warn",
                "warnT",
                "conflict",
            )

    def _say_writable(self) -> None:
        opened = self._opened
        self.set_writable(opened is not None and opened.writable and not self._session.trust.read_only)
        asks = opened is not None and not self._session.trust.read_only
        lock, doubt = (opened.lock, opened.doubt) if opened is not None and asks else ("", "")
        told = lock or doubt
        if opened is not None and not opened.writable and opened.reason not in ("", self._missing) and not told:
            self.notices.put("writable", "note", translated(opened.reason))
        else:
            self.notices.clear("writable")
        if doubt:
            said = tr("{doubt} So this layout is not used for writing here.", doubt=translated(doubt))
            ways = [
                (tr("Use it for writing all the same"), self._accept_layout),
                (tr("State the layout…"), self.layout_asked.emit),
            ]
            self.notices.put("layout", "note", said, ways)
        else:
            self.notices.clear("layout")
        if lock and not doubt:
            said = tr(
                "{lock} looks like the lock of another program. How does each write have to change it?", lock=lock
            )
            self.notices.put("lock", "note", said, [(label, partial(self._state_guard, how)) for label, how in GUARDS])
        else:
            self.notices.clear("lock")
        if self._missing and not doubt:  # the layout may be wrong, and with it the index
            self.notices.put("index", "note", self._missing, [(tr("Create the index…"), self._ask_index)])
        else:
            self.notices.clear("index")

    def _keep(self) -> None:
        if self._base is not None:
            self._keeper.keep(self._base, self.content)

    # --- the frame

    def _show_foot(self) -> None:
        dirty = self.is_dirty
        base = version(self._base.v) if self._base is not None else ""
        self.foot.show_state(dirty, self.changed_count, base, self.save_reason, self._stage)
        self.foot.ask_reason(dirty and self._opened is not None and self._opened.takes_reason)
        title = self._edit.undo_title
        self.foot.undo.setEnabled(bool(title) or self.is_json)
        self.foot.undo.setToolTip(
            wording.tip(tr("Undo: {title} (Ctrl+Z)", title=title)) if title else tr("Undo (Ctrl+Z)")
        )
        self.head.base.put(tr("from {base}", base=base) if base else "")
        if dirty != self._was_dirty:
            self._was_dirty = dirty
            self.dirty_changed.emit(dirty)

    @property
    def _stage(self) -> Stage:
        if not self._saver.is_writing:
            return "unsaved"
        return "sent" if self.content == self._saver.sent else "typed on"

    @property
    def save_reason(self) -> str:
        """Why it cannot be saved; "" if it can."""
        opened = self._opened
        if opened is None:
            return tr("The document is not loaded yet")
        if self._session.trust.read_only:
            return tr("This connection is read-only")
        if not self._answers:
            return wording.silent(self._session.name)
        if not opened.writable:
            return translated(opened.reason) or tr("This document cannot be written")
        if self._missing:
            return self._missing
        if self._saver.hold_reason:
            return self._saver.hold_reason
        if self.json.error:
            return tr("The JSON text is not a document yet")
        return "" if self.is_dirty else UNCHANGED

    def _preview_soon(self) -> None:
        """Ask what would be sent once typing rests; that nothing is sent, and why, is said at once."""
        if self._edit.is_dirty and not self.is_behind:
            self._preview.start()
        else:
            self._preview.stop()
            turns.later(self, self._ask_preview)

    def _ask_preview(self) -> None:
        base, content = self._base, self.content
        if base is None or not self._edit.is_dirty or self.is_behind:
            self._previewed_for = None
        if base is None or not self._edit.is_dirty:
            self.side.show_sending(None, tr("Nothing is changed, so nothing is sent."))
            return
        if self.is_behind:
            self.side.show_sending(
                None,
                tr(
                    "The database has moved on since this draft began. Saving asks you first and writes nothing before."
                ),
            )
            return
        reason = "" if self.foot.reason.isHidden() else self.foot.reason.text().strip()
        # Every display of the draft comes here; only another write needs another preview.
        if self._previewed_for == (base, content, reason):
            return
        self._previewed_for = (base, content, reason)
        session, ns, id = self._session, self.ns, self.id
        tasks.run(
            lambda _: session.writing.preview(ns, id, base, content, reason),
            done=self._previewed,
            failed=self._no_preview,
            owner=self,
            key="preview",
        )

    def _previewed(self, sending: Sending) -> None:
        if self._previewed_for is not None:  # else it was taken back meanwhile
            self.side.show_sending(sending)

    def _no_preview(self, error: BaseException) -> None:
        if self._previewed_for is not None:
            self.side.show_sending(None, tasks.describe(error)[0])

    # --- saving

    def _ask_discard(self) -> None:
        count = self.changed_count
        messages.confirm(
            self,
            tr("Discard this edit?"),
            tr(
                "{changed_fields} would be forgotten, and the draft with them.",
                changed_fields=wording.many(count, "changed field"),
            ),
            tr("Discard {changes}", changes=wording.many(count, "change")),
            self.discard,
            danger=True,
        )

    def discard(self) -> None:
        """Discard the edit and its draft, and show the version in the database."""
        self.tree.give_up()
        if self.json.error or self.json.is_typing:
            self.json.forget_text()
        self._keeper.forget()
        self._keeper.flush()  # before the draft is read again
        self._restart()
        self.reload()

    def _restart(self) -> None:
        """Begin again from the version in the database, as far as known."""
        if self._latest is not None:
            self._base = self._latest
        self.begin(Edit(self._latest.content or canonical.EMPTY if self._latest is not None else self._edit.base))
        self._say_moved()

    def save(self) -> None:
        """Save the draft over the version it began from; a signal reports the outcome."""
        if not self.tree.commit():
            return
        self.json.flush()
        reason, base = self.save_reason, self._base
        if self.json.is_typing:
            reason = tr("Your typing is still being read; save again in a moment")
        if reason or base is None:
            messages.why_not(self, reason)
            return
        if self._opened is not None and self._opened.asks_author and not self._session.authorship.author:
            ask_author(self, self._session, self.save)
            return
        self.notices.clear("refused")
        if self.is_behind:
            self._saver.look(base, self._edit.content, self.foot.reason.take())
        else:
            self._saver.save(base, self._edit.content, self.foot.reason.take())

    def begin_at(self, path: Path) -> None:
        """Choose a field, once the document was read."""
        self._begin_at = path
        if self._opened is not None:
            self.reveal(path)

    def take_over(self, source: bytes, path: Path, name: str) -> None:
        """Set a field of the draft to its value in another content, called ``name``; a step that can be undone."""
        if self._opened is None:
            self._taken.append((source, path, name))
            return
        if not self.tree.commit():
            return
        field = text.path_text(path) or tr("the document")
        if not self.tree.may_edit:
            messages.why_not(self, self.save_reason or tr("This document cannot be written"))
            return
        try:
            made = taken_over(source, self.content, [path] if path else None)
        except Refused as refusal:
            messages.why_not(self, translated(str(refusal)))
            return
        if not self._edit.apply(made, tr("take {field} from {name}", field=field, name=name), None):
            self.tell(tr("The draft has {field} as {name} already", field=field, name=name))
            return
        self.show_draft()
        self.reveal(path)
        self.edited.emit()
        self.tell(tr("{field} is taken from {name} into the draft", field=field, name=name))

    def act_on(self, conflict: Conflict, choice: str) -> None:
        """Carry out a choice about a conflict; "review" and "cancel" are left to the window."""
        if choice == "take" and conflict.theirs is not None:
            self._take_theirs(conflict.theirs)
        elif choice == "overwrite" and conflict.theirs is not None:
            self._saver.save(conflict.theirs, conflict.mine, self.foot.reason.take())
        elif choice == "save_new":
            self._saver.create(conflict.mine, None, self.foot.reason.take())
        elif choice == "create_again":
            self._saver.create(conflict.mine, self.id, self.foot.reason.take(), conflict.known)
        elif choice == "discard":
            self.discard()

    def _take_theirs(self, theirs: Version) -> None:
        """Show the database's version; undo brings my edit back on top of it."""
        content = theirs.content or canonical.EMPTY
        self._base = self._latest = theirs
        self._edit.base = content
        self._edit.apply(content, tr("take the database's"))
        self.show_draft()
        self._keeper.forget()
        self.reload()

    def _applied(self, outcome: Outcome, there: Version | None) -> None:
        self.notices.clear("doubt")
        self.foot.reason.clear()
        if outcome.id is not None and outcome.id != self.id:
            # Saved as another document: this one stays as in the database.
            if self.content == self._saver.sent and not self.tree.is_typing and not self.json.is_typing:
                self._keeper.forget()
                self._restart()
            else:
                self.tell(tr("What you typed since then is still unsaved here"))
        else:
            self._saved_as(outcome, there)
        self.saved.emit(outcome)
        self.reload()

    def _saved_as(self, outcome: Outcome, there: Version | None) -> None:
        """Continue from the saved version; what was typed since is an edit of it."""
        sent = self._saver.sent
        if there is None:
            size = len(sent)
            there = Version(outcome.version, None, None, "document", "present", True, None, size, content=sent)
        self._base = self._latest = there
        stored = there.content or sent
        if stored == sent:
            self._edit.base = sent
        else:
            self._edit = Edit(stored, stored if self.content == sent else patch(stored, diff(sent, self.content)))
        if self._edit.is_dirty:
            self._keep()
        else:
            self._keeper.forget()
        self.show_draft()
        self._say_moved()

    def _conflicted(self, conflict: Conflict) -> None:
        self.notices.clear("doubt")
        self._latest = conflict.theirs
        self._say_moved()
        self.tree.commit()
        self.json.flush(wait=True)
        if self.content == conflict.mine:
            self._keeper.flush()  # whoever decides the conflict has the draft from here on
            self.conflict_found.emit(conflict)
        elif self.is_dirty:  # typing went on while it was sent
            self._saver.look(conflict.base, self.content, conflict.reason, typed_on=True)
        else:
            self.reload()

    def _refused(self, sentence: str) -> None:
        self.notices.put(
            "refused",
            "failed",
            tr("Nothing was saved. {sentence}", sentence=sentence) if sentence else tr("Nothing was saved."),
        )

    def _unknown(self, outcome: Outcome) -> None:
        self.notices.doubt(
            tr("It is not known whether {sent_name} was saved", sent_name=self._saver.sent_name),
            outcome,
            self._saver.settle,
        )

    def _not_kept(self, sentence: str) -> None:
        self.notices.put("draft", "note", tr("The draft could not be kept on disk: {sentence}", sentence=sentence))

    def _state_guard(self, how: str) -> None:
        """State how the lock changes in this collection."""
        session, ns = self._session, self.ns
        tasks.run(
            lambda _: session.catalogue.state_guard(ns, how),
            done=self._guard_stated,
            failed=self._statement_failed,
            owner=self,
            title=tr("Keeping the answer"),
        )

    def _accept_layout(self) -> None:
        session, ns = self._session, self.ns
        tasks.run(
            lambda _: session.catalogue.accept(ns),
            done=self._layout_accepted,
            failed=self._statement_failed,
            owner=self,
            title=tr("Keeping the answer"),
        )

    def _layout_accepted(self, _: object) -> None:
        self.reload()

    def _guard_stated(self, info: CollectionInfo) -> None:
        lock = info.fields.get("guard")
        self.tell(
            tr("From now on, each write changes {lock}", lock=lock)
            if lock
            else tr("It is an ordinary field from now on")
        )
        self.reload()

    def _ask_index(self) -> None:
        session, ns = self._session, self.ns
        messages.confirm(
            self,
            tr("Create the unique index on {ns}?", ns=ns),
            tr("The collection is first checked for duplicates. On a large one this takes a while and slows writing."),
            tr("Create the index"),
            lambda: tasks.run(
                lambda _: session.indexes.create(ns),
                done=self._index_made,
                failed=self._statement_failed,
                owner=self,
                title=tr("Creating an index"),
            ),
        )

    def _index_made(self, outcome: Outcome) -> None:
        if outcome.kind == "applied":
            self.tell(tr("The index is there; saving is possible now"))
        else:
            self.notices.put("refused", "failed", translated(outcome.detail))
        self.reload()

    def _statement_failed(self, error: BaseException) -> None:
        self.notices.put("refused", "failed", tasks.describe(error)[0])

    # --- the rest

    def _preference(self, name: str) -> None:
        if name == "zone" and not self.tree.has_editor:
            self.set_zone(preferences.zone())

    def keep_now(self) -> None:
        """Accept the text being typed and keep the draft at once, because the tab closes."""
        self.tree.commit()
        self.json.flush(wait=True)  # an answer would come too late
        self._keeper.flush()

    def closeEvent(self, event: QCloseEvent) -> None:
        self.keep_now()
        super().closeEvent(event)


def _no_hints(_: BaseException) -> None:
    """Ignore it: hints only help, and typing works without them."""
