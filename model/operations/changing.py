"""One change in many documents: previewed, planned, done one guarded write after another, undone as one run.

The documents are listed before the first write, so that none is met twice. Each is written only as it was read: by a
plan only as the plan saw it, else only if it still matches the filter. A plan has the name of its run, by which the
journal knows what it has done: carried out again, it writes nothing that is done.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.catalogue.collection_reading import ALL
from model.diff import diff
from model.diff.export import to_words
from model.diff.operations import Diff, Operation
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.operations import plan_files
from model.operations.batches import Run
from model.operations.earlier_writes import earlier_writes, supersede
from model.operations.foreseen_rejections import foreseen
from model.operations.update import Update, read
from model.over_time.activity import changed_paths
from model.repair.running import new_run
from model.server.retry import Terms
from model.storage.foresight import Foreseen
from model.storage.newest_query import PageQuery
from model.storage.swap_steps import Stamp
from model.text.names import id_name, version_name
from model.text.paths import path_text
from model.text.typed_terms import filter_terms
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer

FORMAT = "palimpsest change"
ACTION = "change"
NAMED = 3  # changed fields in a sentence
TRIES = 4  # per document: somebody else may edit it between its reading and its writing


class Wanted(Struct, frozen=True):
    """One document to be changed, and the state in which it was seen."""

    id: Value
    v: Value | None = None
    mark: str = ""  # the hash of its content under a plan, of the stored document in a list


class Changed(Struct, frozen=True):
    """One document as it would be after the change.

    ``kind`` is applied if ``content`` would be saved over ``base``; otherwise ``detail`` says why nothing is written.
    """

    id: Value
    kind: str  # applied, skipped, conflict, refused, unknown
    detail: str
    base: Version | None = None
    content: bytes | None = None
    done: bool = False  # it is so already
    versions: ClassVar[tuple[Value, ...]] = ()  # this and what follows is of changes that are taken back
    left: ClassVar[tuple[tuple[Value, str], ...]] = ()
    at_odds: ClassVar[tuple[Value, ...]] = ()
    warning: ClassVar[str] = ""

    @property
    def values(self) -> list[tuple[str, Value | None, Value | None]]:
        """Each changed field with its values before and after; None: missing."""
        if self.base is None or self.content is None:
            return []
        before = self.base.content or c.EMPTY
        return [(path_text(p), c.get(before, p), c.get(self.content, p)) for p in changed_paths(before, self.content)]


class ChangePlan(Struct, frozen=True):
    """A change with the documents that it is for, as they were seen; ``run`` is the name of its run."""

    ns: str
    filter: str
    update: Update
    run: str
    items: tuple[Wanted, ...]
    kept: bool = False  # whether it was read from a file


class Changing(Struct, frozen=True):
    """Changes documents for a session: ``Session.changing``."""

    writer: Writer
    allowed: Callable[[str], None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    def listed(self, ns: str, filter: str, update: Update, step: Checkpoint = no_checkpoint) -> ChangePlan:
        """The documents that match a typed filter now. Raises ``Refused``, also if nothing is ever written there."""
        layout = self._layout(ns)
        update.check(layout.locked)
        items: list[Wanted] = []
        for row in layout.page(PageQuery(filter_terms(filter), limit=ALL)):
            step(len(items), None)
            items.append(Wanted(row.id, row.version, c.hash_of(row.raw)))
        return ChangePlan(ns, filter, update, new_run(_now, uuid.uuid4().hex[:6]), tuple(dict.fromkeys(items)))

    def chosen(self, ns: str, ids: Iterable[Value], update: Update) -> ChangePlan:
        """The documents with these ids, whatever they hold."""
        update.check(self._layout(ns).locked)
        return ChangePlan(ns, "", update, new_run(_now, uuid.uuid4().hex[:6]), tuple(Wanted(id) for id in ids))

    def seen(self, ns: str, drawn: Iterable[Changed], update: Update) -> ChangePlan:
        """The documents of a dry run, to be written only as it saw them."""
        items = tuple(
            Wanted(each.id, each.base.v, c.hash_of(each.base.content))
            for each in drawn
            if each.base is not None and each.base.content is not None
        )
        return replace(self.chosen(ns, (), update), items=items, kept=True)

    def matching(self, ns: str, filter: str, step: Checkpoint = no_checkpoint) -> list[Value]:
        """The ids of the current documents that match a typed filter."""
        found: list[Value] = []
        for row in self._layout(ns).page(PageQuery(filter_terms(filter), limit=ALL)):
            step(len(found), None)
            found.append(row.id)
        return list(dict.fromkeys(found))

    def drawn(self, plan: ChangePlan, step: Checkpoint = no_checkpoint) -> Iterator[Changed]:
        """Each document as it would be, and those that the collection's rules or indexes would reject; writes
        nothing."""
        layout = self._layout(plan.ns)
        stamp = Stamp(author=self.writer.author_of(layout), reason=self.writer.reason)

        def makes(each: Changed) -> list[Foreseen]:
            if each.kind != "applied" or each.base is None or each.content is None:
                return []
            return [layout.would_store(each.id, each.base, each.content, stamp)]

        def refused(each: Changed, why: str) -> Changed:
            return replace(each, kind="refused", detail=f"{id_name(each.id)}: {why}", content=None)

        return foreseen(layout, self._each(layout, plan, step), makes, refused)

    def _each(self, layout: Layout, plan: ChangePlan, step: Checkpoint) -> Iterator[Changed]:
        """Each document as it would be."""
        done = earlier_writes(self.writer, plan.run, ACTION) if plan.kept else {}
        for at, wanted in enumerate(plan.items):
            step(at, len(plan.items))
            yield self._drawn(layout, plan, wanted, done)

    def apply(
        self, plan: ChangePlan, step: Checkpoint = no_checkpoint, confirmed: bool = False, reason: str = ""
    ) -> Run:
        """Change the documents, one guarded write each; ``reason`` is stored if the profile has a field for it.

        Raises ``NotAllowed`` if writing is not allowed, and ``Refused`` for a change that must not be done twice and
        has no plan by which that could be known.
        """
        self.allowed(plan.ns)
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        layout = self._layout(plan.ns)
        if layout.read_only:
            raise Refused(layout.read_only)
        writer = replace(self.writer, run=plan.run, reason=reason or self.writer.reason)

        def outcomes() -> Iterator[Outcome]:
            done = earlier_writes(self.writer, plan.run, ACTION) if plan.kept else {}
            for at, wanted in enumerate(plan.items):
                step(at, len(plan.items))
                outcome, tries = self._write(writer, layout, plan, wanted, done), TRIES
                while outcome.kind == "conflict" and not plan.kept and (tries := tries - 1):
                    outcome = self._write(writer, layout, plan, wanted, done)  # somebody edited it meanwhile
                yield outcome
            step(len(plan.items), len(plan.items))

        return Run(plan.run, outcomes())

    def missed(self, plan: ChangePlan) -> list[str]:
        """What the filter leaves out and a person may have meant, and what matches it only now; one sentence each."""
        said = []
        if plan.kept and plan.filter:
            known = {wanted.id for wanted in plan.items}
            rows = self._layout(plan.ns).page(PageQuery(filter_terms(plan.filter), limit=ALL))
            if new := [row.id for row in rows if row.id not in known]:
                many = "document that matches" if len(new) == 1 else "documents that match"
                said.append(f"{len(new):,} {many} the filter now came after the plan, such as {id_name(new[0])}.")
        elif plan.filter:
            said += _of_other_types(self._layout(plan.ns), filter_terms(plan.filter) or {})
        return said

    def _layout(self, ns: str) -> Layout:
        """The layout of a collection whose documents are written directly; raises ``Refused`` for an archive."""
        if (of := self.writer.catalogue.info(ns).belongs_to) is not None:
            raise Refused(f"{ns} holds the earlier versions of {of}; change the documents there.")
        return self.writer.catalogue.layout(ns)

    def _drawn(self, layout: Layout, plan: ChangePlan, wanted: Wanted, done: dict[Value, Outcome]) -> Changed:
        id, who = wanted.id, id_name(wanted.id)
        earlier = done.get(id)
        if earlier is not None and earlier.kind == "applied":
            return Changed(id, "skipped", f"{who} was changed by this plan already.", done=True)
        try:
            base = layout.version(id)
            if base.content is None:
                return Changed(id, "refused", f"{who} cannot be read: {base.detail or base.state}.", base)
            if plan.kept and (base.v != wanted.v or c.hash_of(base.content) != wanted.mark):
                if earlier is not None:
                    return Changed(id, "unknown", f"Whether this plan has changed {who} is not known.", base)
                how = f" ({version_name(wanted.v)} → {version_name(base.v)})" if base.v != wanted.v else ""
                return Changed(id, "conflict", f"{who} moved on since the plan{how}; make another one.", base)
            if not plan.kept and not self._matches(layout, plan, wanted, base):
                return Changed(id, "skipped", f"{who} does not match the filter any more.", base)
            if reason := self.writer.catalogue.objection(plan.ns) or layout.writable(base):
                return Changed(id, "refused", reason, base)
            content = plan.update.of(base.content)
        except NotFound:
            return Changed(id, "skipped", f"{who} is deleted.")
        except Refused as error:
            return Changed(id, "refused", f"{who}: {error}")
        if content == base.content:
            return Changed(id, "skipped", f"{who} is so already; nothing would change.", base, done=True)
        if reason := layout.unfit(content):
            return Changed(id, "refused", reason, base)
        return replace(Changed(id, "applied", "", base, content), detail=in_words(base.content, content))

    def _matches(self, layout: Layout, plan: ChangePlan, wanted: Wanted, base: Version) -> bool:
        """Whether a document, read after it was listed, matches the filter as the server says.

        Asked behind the reading: what is written is guarded by what was read, so a later change does not matter.
        """
        if not plan.filter or (base.raw is not None and c.hash_of(base.raw) == wanted.mark):
            return True
        both = {"$and": [_terms(filter_terms(plan.filter)), _terms({layout.profile.id: {"$eq": wanted.id}})]}
        return any(row.id == wanted.id for row in layout.page(PageQuery(both, limit=2)))

    def _write(
        self, writer: Writer, layout: Layout, plan: ChangePlan, wanted: Wanted, done: dict[Value, Outcome]
    ) -> Outcome:
        each = self._drawn(layout, plan, wanted, done)
        if each.kind != "applied":
            return Outcome(each.kind, plan.ns, each.id, each.detail, done=each.done)  # type: ignore[arg-type]
        assert each.base is not None
        assert each.content is not None
        outcome = writer.save(plan.ns, each.id, each.base, each.content, ACTION)
        if (earlier := done.get(each.id)) is not None and outcome.kind == "applied":
            supersede(self.writer, earlier, outcome)
        return replace(outcome, detail=f"{each.detail} {outcome.detail}") if outcome.kind == "applied" else outcome

    # --- plans

    def save(self, path: str, plan: ChangePlan, drawn: Iterable[Changed]) -> None:
        """Write a plan, including documents that cannot be changed, with reasons. Raises ``Refused``."""
        items = [
            {
                "id": text.json_object(each.id),
                "v": _json(each.base.v if each.base is not None else None),
                "sha1": c.hash_of(each.base.content) if each.base is not None and each.base.content is not None else "",
                "would": each.kind,
                "detail": each.detail,
                "changes": [
                    {"path": path, "before": _json(before), "after": _json(after)}
                    for path, before, after in each.values
                ],
            }
            for each in drawn
        ]
        more = {"filter": plan.filter, "update": text.json_object(Value.document(plan.update.raw)), "run": plan.run}
        plan_files.save(path, FORMAT, self.writer.source, plan.ns, items, **more)

    def load(self, path: str, ns: str) -> ChangePlan:
        """A plan for this source and collection. Raises ``NotFound``, ``Unreadable``, ``Refused``."""

        def made(plan: dict[str, Any]) -> ChangePlan:
            items = tuple(
                Wanted(plan_files.value(each["id"]), _value(each["v"]), str(each["sha1"]))
                for each in plan["items"]
                if each["would"] == "applied"
            )
            update = read(plan_files.value(plan["update"]).data)
            update.check(self._layout(ns).locked)
            return ChangePlan(ns, str(plan["filter"]), update, str(plan["run"]), items, kept=True)

        return plan_files.load(path, FORMAT, self.writer.source, ns, made)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _json(value: Value | None) -> object:
    """A value in a plan; a missing one is no list, so that it is not taken for a null."""
    return None if value is None else [text.json_object(value)]


def _value(written: list[object] | None) -> Value | None:
    return None if written is None else plan_files.value(written[0])


def _terms(terms: Terms | None) -> Terms:
    return terms or {}


def in_words(before: bytes, after: bytes) -> str:
    """The first changes with their values, one sentence."""
    changes = diff(before, after)
    said = [_phrase(each) for each in changes.operations[:NAMED]]
    more = f" and {len(changes) - NAMED:,} more" if len(changes) > NAMED else ""
    return f"{'; '.join(said)}{more}."


def _phrase(change: Operation) -> str:
    """``n: 1 → 2``; a sentence without its full stop for another place, and for values that look alike cut off."""
    was, now = (None if each is None else text.shown(each, limit=40) for each in (change.old, change.new))
    if was == now:
        return to_words(Diff((change,))).rstrip(".")
    return f"{path_text(change.path)}: {was or 'missing'} → {now or 'taken out'}"


# --- what a filter leaves out

_KINDS = {"$eq", "$gt", "$gte", "$lt", "$lte"}
_TWINS: dict[int, tuple[int, ...]] = {
    **dict.fromkeys((c.INT32, c.INT64, c.DOUBLE, c.DECIMAL128), (c.STRING,)),
    c.STRING: (c.INT32, c.INT64, c.DOUBLE, c.OBJECT_ID, c.DATE),
    c.DATE: (c.STRING,),
    c.OBJECT_ID: (c.STRING,),
    c.BOOLEAN: (c.STRING, c.INT32),
}
"""The types in which programs also store such a value."""


def _of_other_types(layout: Layout, terms: Terms) -> list[str]:
    """Documents that a filter leaves out only because a field is of another type there; one sentence for each field."""
    said = []
    for path, condition in terms.items():
        if path.startswith("$") or not isinstance(condition, Value):
            continue
        rest = {name: each for name, each in terms.items() if name != path}
        found: dict[str, int] = {}
        for kind in _TWINS.get(_asked_type(condition), ()):
            try:
                count = layout.count({"$and": [rest, {path: {"$type": kind}}]})
            except Refused:  # a server that has no such query leaves the question open
                continue
            if count:
                found[Value(kind, b"").kind] = count
        if found:
            kinds = " and ".join(f"{count:,} as {kind}" for kind, count in found.items())
            said.append(
                f"The filter compares {path} by its type: it does not see documents that hold it otherwise ({kinds})."
            )
    return said


def _asked_type(condition: Value) -> int:
    """The type that a clause compares with; 0 for other clauses."""
    if condition.type != c.OBJECT:
        return condition.type
    return next((value.type for name, value in c.fields(condition.data) if name in _KINDS), 0)
