"""Writes started outside the editor: restore, delete, purge, create, count, undo, the sample's colleague.

Each reads its document, asks with all changes in sight, runs in a task and says how it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from gui import copying, messages, tasks
from gui.language import tr, translated
from gui.parts.author_sheet import ask_author
from gui.parts.differences import diff_grouping
from gui.style import wording
from gui.views.compare.restore_sheet import RestoreSheet, Restoring
from gui.views.edit.new_document import NewDocument
from gui.views.edit.once_sheet import FormLine, OnceSheet
from model.diff import diff
from model.errors import Refused
from model.foundation.records import Opened, Outcome, Version
from model.session import Session
from model.session.guarded_writing import Conflict
from model.values import canonical
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.session.batch_writing import RetentionPlan, Thinned


class _Read(Struct, frozen=True):
    """A restore as worked out, before anybody agreed to it."""

    id: Value
    v: Value
    paths: tuple[Path, ...] | None
    base: Version
    plan: diff_grouping.Plan
    barred: str = ""  # why nothing is written here
    values: str = ""  # in that case, the values to enter elsewhere
    takes_reason: bool = False
    asks_author: bool = False


class DocumentWrites(QObject):
    """The writes of one page. Their changes reach all pages as news; only their ends are told here."""

    merge_asked = Signal(object, object)  # id, Conflict
    several_asked = Signal(object)  # the documents that were typed instead of one

    def __init__(self, session: Session, ns: str, page: QWidget, production: bool = False) -> None:
        super().__init__(page)
        self._session, self._ns, self._page = session, ns, page
        self._production = production  # if so, the name has to be typed before anything is deleted

    # --- restore

    def restore(self, id: Value, v: Value, paths: Sequence[Path] | None = None, seen: Value | None = None) -> None:
        """Make an earlier state, or some of its fields, a new version, once it is shown and agreed to.

        ``seen`` is the version in which the paths were found: their positions mean nothing in a later one.
        """
        session, ns = self._session, self._ns
        placed = seen is not None and any(isinstance(step, int) for path in paths or () for step in path)

        def read(progress: tasks.Progress) -> _Read:
            base = session.history.last(ns, id)
            if placed and base.v != seen:
                raise Refused(tr("{id} changed since it was compared; refresh, then restore.", id=wording.plain(id)))
            made = session.writing.restored(ns, id, v, paths, base)
            before = (base.content if base.current else None) or canonical.EMPTY  # a deleted document has no content
            plan = diff_grouping.plan(before, made.content, diff(before, made.content), progress)
            asked = session.authorship.takes_reason(ns), session.authorship.asks_author(ns)
            return _Read(id, v, None if paths is None else tuple(paths), base, plan, made.barred, made.values, *asked)

        self._run(read, self._ask_restore, tr("Reading {v}", v=wording.version(v)))

    def _ask_restore(self, read: _Read) -> None:
        name, old, base = wording.plain(read.id), wording.version(read.v), read.base
        if not read.plan.changes and base.current:
            messages.tell(self._page, tr("{name} has what {old} had; nothing needs to be written", name=name, old=old))
            return
        if read.barred:
            messages.note(self._page, read.barred, [(tr("Copy the values"), partial(self._copy_values, read.values))])
            return
        if read.paths is None:
            saying = tr("The content of {old} becomes a new version", old=old)
        else:
            takes = tr("takes its value") if len(read.paths) == 1 else tr("take their values")
            saying = tr(
                "{fields} {takes} from {old} in a new version",
                fields=wording.many(len(read.paths), "field"),
                takes=takes,
                old=old,
            )
        now = wording.version(base.v) or tr("the present content")
        there = tr("{saying}; {now} stays in the history.", saying=saying, now=now)
        asked = RestoreSheet(
            self._page,
            Restoring(
                tr("Restore {old} of {name}?", old=old, name=name),
                there
                if base.current
                else tr(
                    "{saying}, which brings {name} back; {now} stays in the history.", saying=saying, name=name, now=now
                ),
                (tr("{now}, now", now=now) if base.current else "deleted", tr("as in {old}", old=old)),
                read.plan,
                read.paths,
                base.current,
                read.takes_reason,
            ),
        )
        asked.agreed.connect(partial(self._agreed_to_restore, read, asked))
        asked.open()

    def _agreed_to_restore(self, read: _Read, asked: RestoreSheet, paths: tuple[Path, ...] | None) -> None:
        reason = asked.reason.take()
        if read.asks_author and not self._session.authorship.author:
            ask_author(self._page, self._session, partial(self._do_restore, read, paths, reason))
        else:
            self._do_restore(read, paths, reason)

    def _copy_values(self, values: str) -> None:
        copying.copy(self._page, len(values), lambda: values, tr("The values are copied"))

    def _do_restore(self, read: _Read, paths: tuple[Path, ...] | None, reason: str) -> None:
        session, ns = self._session, self._ns
        self._run(
            lambda _: session.writing.restore(ns, read.id, read.v, paths, read.base, reason),
            partial(self.ended, again=partial(self.restore, read.id, read.v, paths, read.base.v)),
            tr("Restoring {v}", v=wording.version(read.v)),
        )

    # --- delete

    def delete(self, id: Value) -> None:
        """Delete a document as it is now, once agreed."""
        session, ns = self._session, self._ns
        self._run(
            lambda _: session.writing.open(ns, id),
            partial(self._ask_delete, id),
            tr("Reading {id}", id=wording.plain(id)),
        )

    def _ask_delete(self, id: Value, read: Opened) -> None:
        base = read.base
        name = wording.plain(id)
        which = tr(" at {v}", v=wording.version(base.v)) if base.v is not None else ""
        messages.confirm(
            self._page,
            tr("Delete {name}?", name=name),
            tr(
                "{name}{which} is deleted from {ns}, unless it changed meanwhile. {kept}",
                name=name,
                which=which,
                ns=self._ns,
                kept=translated(read.kept_by_delete),
            ),
            tr("Delete 1 document"),
            partial(self._do_delete, id, base),
            danger=True,
            icon="trash",
            typed=name if self._production else None,
        )

    def _do_delete(self, id: Value, base: Version) -> None:
        session, ns = self._session, self._ns
        self._run(
            lambda _: session.writing.delete(ns, id, base),
            partial(self.ended, again=partial(self.delete, id)),
            tr("Deleting {id}", id=wording.plain(id)),
        )

    # --- purge

    def purge(self, id: Value) -> None:
        """Remove a document with all its versions, once its name is typed."""
        session, ns = self._session, self._ns
        self._run(
            lambda _: session.history.last(ns, id),
            partial(self._ask_purge, id),
            tr("Reading {id}", id=wording.plain(id)),
        )

    def _ask_purge(self, id: Value, base: Version) -> None:
        name = wording.plain(id)
        upto = tr(" up to {v}", v=wording.version(base.v)) if base.v is not None else ""
        messages.confirm(
            self._page,
            tr("Purge {name}?", name=name),
            tr(
                "{name} and every version of it{upto} are removed from {ns}, unless it changed meanwhile. "
                "Nobody finds its history in the database any more; only the journal on this computer keeps "
                "it and can put it back.",
                name=name,
                upto=upto,
                ns=self._ns,
            ),
            tr("Purge 1 document with all versions"),
            partial(self._do_purge, id, base),
            danger=True,
            icon="trash",
            typed=name,
        )

    def _do_purge(self, id: Value, base: Version) -> None:
        session, ns = self._session, self._ns
        self._run(
            lambda _: session.writing.purge(ns, id, base),
            partial(self.ended, again=partial(self.purge, id)),
            tr("Purging {id}", id=wording.plain(id)),
        )

    def erase(self, id: Value) -> None:
        """Erase fields of a document from all of its versions, for good."""
        from gui.views.repair.erasing_sheet import ErasingSheet  # as few windows as erase

        typed = self._session.name if self._production else ""
        ErasingSheet(self._page, self._session, self._ns, id, typed).open()

    def remove_version(self, id: Value, v: Value) -> None:
        """Remove one earlier version, once it is shown what that does to the next one."""
        from model.session.batch_writing import Rule  # as few windows as remove a version

        session, ns = self._session, self._ns

        def look(_: tasks.Progress) -> tuple[RetentionPlan, Thinned]:
            plan = session.retaining.listed(ns, Rule(only=v), id)
            return plan, next(session.retaining.drawn(plan))

        self._run(look, partial(self._ask_remove, v), tr("Reading {id}", id=wording.plain(id)))

    def _ask_remove(self, v: Value, found: tuple[RetentionPlan, Thinned]) -> None:
        plan, thinned = found
        if thinned.kind != "applied":
            messages.fail(self._page, translated(thinned.detail))
            return
        name = tr("{version} of {id}", version=wording.version(v), id=wording.plain(thinned.id))
        messages.confirm(
            self._page,
            tr("Remove {name}?", name=name),
            tr("{what} The journal can put it back.", what=translated(thinned.detail)),
            tr("Remove {version}", version=wording.version(v)),
            partial(self._do_remove, plan, v),
            danger=True,
            icon="trash",
            typed=self._session.name if self._production else None,
        )

    def _do_remove(self, plan: RetentionPlan, v: Value) -> None:
        session = self._session
        self._run(
            lambda _: next(iter(session.retaining.apply(plan, confirmed=True))),
            self.ended,
            tr("Removing {version}", version=wording.version(v)),
        )

    # --- create

    def create(self, content: bytes | None = None) -> None:
        """Ask for a new document, beginning from some content."""
        asked = NewDocument(self._page, self._ns, content)
        asked.agreed.connect(partial(self._do_create, asked))
        asked.several.connect(self.several_asked)
        asked.open()

    def _do_create(self, asked: NewDocument, id: Value | None, content: bytes) -> None:
        session, ns = self._session, self._ns
        tasks.run(
            lambda _: session.writing.create(ns, content, id),
            done=partial(self._created, asked),
            failed=asked.refuse,
            owner=self,
            title=tr("Inserting a document"),
        )

    def _created(self, asked: NewDocument, outcome: Outcome) -> None:
        if outcome.kind in ("refused", "conflict"):
            asked.refuse(Refused(outcome.detail))
            return
        asked.accept()
        self.ended(outcome)

    def duplicate(self, id: Value) -> None:
        """Ask for a new document that begins as a copy."""
        session, ns = self._session, self._ns
        self._run(lambda _: session.history.version(ns, id), self._copy_read, tr("Reading {id}", id=wording.plain(id)))

    def _copy_read(self, base: Version) -> None:
        self.create(base.content)

    # --- what counts once

    def next_number(self, id: Value) -> None:
        """Take the next number of a counter, once agreed."""
        session, ns, name = self._session, self._ns, wording.plain(id)
        messages.confirm(
            self._page,
            tr("Take the next number of {name}?", name=name),
            tr(
                "The counter moves up by one, and that number goes to you and to nobody else. It cannot be "
                "given back: a "
                "number that is not used stays a gap."
            ),
            tr("Take the next number"),
            partial(
                self._run, lambda _: session.once.next(ns, id), self._drawn, tr("Drawing a number of {name}", name=name)
            ),
        )

    def _drawn(self, outcome: Outcome) -> None:
        if outcome.kind != "applied" or outcome.value is None:
            self.ended(outcome)
            return
        number = wording.plain(outcome.value)
        copy = (tr("Copy {number}", number=number), partial(copying.put, number))
        messages.tell(self._page, translated(outcome.detail), choices=[copy])

    def count(self, id: Value | None) -> None:
        """Ask for a count: the document, and the token that identifies this event."""
        lines = (
            FormLine("id", tr("Document"), "" if id is None else wording.typed(id)),
            FormLine("token", tr("Token"), hint=tr("left empty: a new one"), needed=False),
            FormLine("by", tr("Raise by"), hint=tr("1 in a new token"), kind="number", needed=False),
            FormLine("owner", tr("Owner"), hint=tr("who counts, for a new token"), kind="text", needed=False),
        )
        about = tr(
            "A token is noted, then counted: the same one again counts nothing more. A missing document is made."
        )
        asked = OnceSheet(self._page, tr("Count once in {ns}", ns=self._ns), about, lines, tr("Count once"))
        asked.agreed.connect(partial(self._do_count, asked))
        asked.open()

    def _do_count(self, asked: OnceSheet, said: dict[str, Any]) -> None:
        once, ns, by = self._session.once, self._ns, said["by"]
        self._ask_once(
            asked,
            lambda _: once.count(ns, said["id"], said["token"], 1 if by is None else by, said["owner"], create=True),
            tr("Counting"),
        )

    def process(self, key: Value | None, totals: Sequence[str], total: str) -> None:
        """Ask for an entry of an apply-once list."""
        hint = tr("one of {totals}", totals=", ".join(totals)) if len(totals) > 1 else tr("the field that is raised")
        chosen = total if total in totals else totals[0] if len(totals) == 1 else ""
        lines = (
            FormLine("key", tr("Document"), "" if key is None else wording.typed(key)),
            FormLine("entry", tr("Entry"), hint=tr("what is processed, such as 2026-11")),
            FormLine("field", tr("Total"), chosen, hint, "field"),
            FormLine("by", tr("Raise by"), "1", kind="number"),
        )
        about = tr(
            "One write adds the entry to the list and raises the total. An entry that is already there is "
            "not counted again."
        )
        asked = OnceSheet(self._page, tr("Process an entry in {ns}", ns=self._ns), about, lines, tr("Process once"))
        asked.agreed.connect(partial(self._do_process, asked))
        asked.open()

    def _do_process(self, asked: OnceSheet, said: dict[str, Any]) -> None:
        once, ns = self._session.once, self._ns
        self._ask_once(
            asked, lambda _: once.process(ns, said["key"], said["entry"], said["by"], said["field"]), tr("Processing")
        )

    def insert_next(self) -> None:
        """Ask for a new document that gets the next number as its id."""
        asked = NewDocument(self._page, self._ns, numbered=True)
        asked.agreed.connect(partial(self._do_insert_next, asked))
        asked.open()

    def _do_insert_next(self, asked: NewDocument, _: object, content: bytes) -> None:
        once, ns = self._session.once, self._ns
        tasks.run(
            lambda _: once.insert_next(ns, content),
            done=partial(self._created, asked),
            failed=asked.refuse,
            owner=self,
            title=tr("Inserting a document"),
        )

    def _ask_once(self, asked: OnceSheet, work: Callable[[tasks.Progress], Outcome], title: str) -> None:
        tasks.run(work, done=partial(self._counted, asked), failed=asked.refuse, owner=self, title=title)

    def _counted(self, asked: OnceSheet, outcome: Outcome) -> None:
        if outcome.kind in ("refused", "conflict"):
            asked.refuse(translated(outcome.detail))
            return
        asked.accept()
        self.ended(outcome)

    # --- the rest

    def colleague(self, id: Value) -> None:
        """Change a document of the sample as someone else."""
        session, ns = self._session, self._ns
        self._run(lambda _: session.colleague.change(ns, id), self._colleague_done, tr("Editing as a colleague"))

    def _colleague_done(self, outcome: Outcome) -> None:
        if outcome.kind != "applied":
            messages.fail(self._page, translated(outcome.detail))
            return
        now = (
            tr(" It is at {version} now.", version=wording.version(outcome.version))
            if outcome.version is not None
            else ""
        )
        name = wording.plain(outcome.id) if outcome.id is not None else tr("the document")
        messages.tell(
            self._page,
            tr(
                "A colleague has just changed {name}.{now} If you save an edit begun before, it meets a conflict",
                name=name,
                now=now,
            ),
        )

    def create_index(self) -> None:
        """Create the unique index that safe writing needs, once agreed."""
        session, ns = self._session, self._ns
        messages.confirm(
            self._page,
            tr("Create the unique index on {ns}?", ns=ns),
            tr("The collection is first checked for duplicates. On a large one this takes a while and slows writing."),
            tr("Create the index"),
            partial(self._run, lambda _: session.indexes.create(ns), self.ended, tr("Creating an index")),
        )

    def undo(self, outcome: Outcome) -> None:
        """Undo a write by writing its inverse; if the document moved on, that becomes a merge."""
        session, entry = self._session, outcome.entry
        if entry is not None:
            self._run(lambda _: session.way_back.undo(entry), partial(self._undone, outcome), tr("Undoing"))

    def _undone(self, first: Outcome, outcome: Outcome) -> None:
        entry = first.entry
        if outcome.kind != "conflict" or entry is None or first.id is None:
            undone = outcome.kind == "applied" and not outcome.detail.startswith("Undone")
            self.ended(
                replace(outcome, detail=tr("Undone: {detail}", detail=translated(outcome.detail)))
                if undone
                else outcome
            )
            return
        session = self._session
        self._run(
            lambda _: session.way_back.conflict(entry),
            partial(self._undo_conflict, first.id),
            tr("Reading what changed"),
        )

    def _undo_conflict(self, id: Value, conflict: Conflict) -> None:
        self.merge_asked.emit(id, conflict)

    def settle(self, outcome: Outcome) -> None:
        """Look again for a write with unknown outcome."""
        session = self._session
        self._run(lambda _: session.way_back.settle(outcome), self.ended, tr("Looking for the write"))

    # --- how it ended

    def ended(self, outcome: Outcome, again: object = None) -> None:
        """Say how a write ended, with undo or the next step."""
        if outcome.kind == "applied":
            messages.tell(
                self._page, translated(outcome.detail), partial(self.undo, outcome) if outcome.entry else None
            )
        elif outcome.kind == "skipped":
            messages.tell(self._page, translated(outcome.detail))
        elif outcome.kind == "unknown":
            messages.doubt(self._page, wording.about(outcome), partial(self.settle, outcome), outcome.token or "")
        else:
            messages.fail(self._page, translated(outcome.detail), [(tr("Try again"), again)] if callable(again) else [])

    def _run(self, work: object, done: object, title: str) -> None:
        assert callable(work)
        assert callable(done)
        tasks.run(work, done=done, failed=partial(messages.fail, self._page), owner=self, title=title)
