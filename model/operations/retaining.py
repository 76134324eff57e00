"""Earlier versions removed by a rule: previewed with the bytes won, planned, guarded, undone as one run.

What goes is copied to the quarantine of its database first; elements of an array stay in the journal, with the document
that held them. The newest version of a document, gaps, damaged and unproven versions always stay; so does what a hold
names. Where versions hold only changes, the oldest ones go, up to the first that stays, and that one is stored whole
before. A rule is asked again before each document is written: by a plan, only what both agree on goes.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.catalogue.collection_reading import ALL
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.findings import Finding
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.history import following
from model.layouts.base import Layout
from model.operations import plan_files
from model.operations.batches import Run
from model.over_time.activity import changed_paths
from model.repair.items import Item, digest
from model.repair.plan import Plan
from model.repair.running import Running, new_run
from model.repair.steps import RepairContext, Step, physical
from model.storage import overflow_archive
from model.storage.newest_query import PageQuery
from model.text.moments import age_from_text
from model.text.names import id_name, version_name
from model.text.paths import path_text
from model.values import canonical as c
from model.values.canonical import Value
from model.writing.writer import Writer

FORMAT = "palimpsest retain"
ACTION = "retain"
NAMED = 4  # versions or fields in a sentence


class Rule(Struct, frozen=True):
    """What stays: a version that any part of the rule keeps."""

    keep: int | None = None  # the newest so many, the current one included
    younger: dt.timedelta | None = None  # what is younger
    daily: bool = False  # beyond these, the newest of each day (UTC)
    hold: str = ""  # a typed filter: a document that matches keeps all, a version that matches stays
    only: Value | None = None  # instead of the rule: this version alone goes

    def kept(self, versions: Sequence[Version], now: dt.datetime) -> set[int]:
        """The positions in a history, newest first, that stay by number or age."""
        present = [at for at, each in enumerate(versions) if each.state != "missing"]
        if self.only is not None:
            return {at for at in present if versions[at].v != self.only}
        stay = set(present[: max(self.keep or 1, 1)])
        if self.younger is not None or self.daily:  # one of unknown age may be young
            stay |= {at for at in present if (when := versions[at].at) is None or self._is_young(when, now)}
        if self.daily:
            days: set[dt.date] = set()
            for at in present:
                when = versions[at].at
                if at not in stay and when is not None and when.astimezone(dt.UTC).date() not in days:
                    stay.add(at)
                if when is not None:
                    days.add(when.astimezone(dt.UTC).date())
        return stay

    def _is_young(self, when: dt.datetime, now: dt.datetime) -> bool:
        return self.younger is not None and now - when < self.younger


def typed_rule(keep: str, younger: str, daily: bool, hold: str) -> Rule:
    """The rule that a person typed into fields, of which some may be empty. Raises ``Refused``."""
    if not (keep or younger or daily):
        raise Refused("Say what stays: a number of versions, an age, or one version of each day.")
    if keep and not (keep.isdecimal() and keep.isascii() and len(keep) < 10 and int(keep)):
        raise Refused(f"{keep} is not a number of versions; at least the current one stays.")
    if hold:
        following.condition(hold)  # that it can be read
    return Rule(int(keep) if keep else None, age_from_text(younger) if younger else None, daily, hold)


class Candidate(Struct, frozen=True):
    """One document; under a plan with the SHA-256 of each stored version that goes."""

    id: Value
    digests: frozenset[str] | None = None


class WholeVersion(Struct, frozen=True):
    """A stored version before and after it is given its whole state."""

    v: Value | None
    before: bytes
    after: bytes


class Thinned(Struct, frozen=True):
    """One document as it would be.

    ``kind`` is applied if versions would go; otherwise ``detail`` says why none does.
    """

    id: Value
    kind: str  # applied, skipped, refused
    detail: str
    gone: tuple[Version, ...] = ()  # with their stored documents, newest first
    bytes: int = 0  # that are won
    done: bool = False  # nothing is to be done: what a plan names is gone already, or a hold keeps all
    checkpoint: WholeVersion | None = None  # the oldest version left, if it holds only changes

    @property
    def candidate(self) -> Candidate:
        """The document for a plan by which only these versions go."""
        return Candidate(self.id, frozenset(digest(each.raw) for each in self.gone if each.raw is not None))


class RetentionPlan(Struct, frozen=True):
    """A rule with the documents that it is for; ``run`` is the name of its run."""

    ns: str
    rule: Rule
    run: str
    items: tuple[Candidate, ...]


class Retaining(Struct, frozen=True):
    """Removes earlier versions for a session: ``Session.retaining``."""

    writer: Writer
    allowed: Callable[..., None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    def listed(self, ns: str, rule: Rule, id: Value | None = None, step: Checkpoint = no_checkpoint) -> RetentionPlan:
        """All current documents, or one. Raises ``Refused`` if versions of this collection cannot be removed."""
        layout = self._layout(ns)
        following.condition(rule.hold or "{}")  # that it can be read
        ids = [id] if id is not None else [row.id for row in layout.page(PageQuery(limit=ALL)) if _stepped(step)]
        return self.planned(ns, rule, map(Candidate, dict.fromkeys(ids)))

    def planned(self, ns: str, rule: Rule, items: Iterable[Candidate]) -> RetentionPlan:
        """A plan for some documents."""
        return RetentionPlan(ns, rule, new_run(_now, uuid.uuid4().hex[:6]), tuple(items))

    def every(self, plan: RetentionPlan, step: Checkpoint = no_checkpoint) -> Iterator[Thinned]:
        """Each document as it would be; writes nothing."""
        layout = self._layout(plan.ns)
        for at, wanted in enumerate(plan.items):
            step(at, len(plan.items))
            yield self._drawn(layout, plan.rule, wanted)

    def concerned(
        self, ns: str, rule: Rule, ids: Sequence[Value] = (), step: Checkpoint = no_checkpoint
    ) -> list[Value]:
        """The documents, of some or of all, that a rule does not leave whole, or that it cannot be applied to."""
        plan = self.planned(ns, rule, map(Candidate, ids)) if ids else self.listed(ns, rule, step=step)
        return [each.id for each in self.drawn(plan, step)]

    def drawn(self, plan: RetentionPlan, step: Checkpoint = no_checkpoint) -> Iterator[Thinned]:
        """Each document from which versions would go, or that is held or cannot be read; writes nothing."""
        return (each for each in self.every(plan, step) if each.kind != "applied" or each.gone)

    def apply(self, plan: RetentionPlan, step: Checkpoint = no_checkpoint, confirmed: bool = False) -> Run:
        """Remove the versions, each guarded by all of its bytes. Raises ``NotAllowed`` if writing is not allowed."""
        self.allowed(plan.ns, writes={"change"})
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        layout = self._layout(plan.ns)
        ground = RepairContext(self.writer.port, self.writer.catalogue.layout, _now, self.writer.author or "palimpsest")
        running = Running(self.writer, ground, Plan(plan.run, self.writer.source, _now()), plan.run, action=ACTION)

        def outcomes() -> Iterator[Outcome]:
            running.remember()
            for at, wanted in enumerate(plan.items):
                step(at, len(plan.items))
                each = self._drawn(layout, plan.rule, wanted)
                if each.kind == "applied" and each.gone:
                    yield self._removed(running, ground, layout, each)
                elif each.kind != "applied":
                    yield Outcome(each.kind, plan.ns, each.id, each.detail, done=each.done)  # type: ignore[arg-type]
            step(len(plan.items), len(plan.items))

        return Run(plan.run, outcomes())

    # --- one document

    def _layout(self, ns: str) -> Layout:
        """The layout of a collection from which versions can be removed; raises ``Refused``."""
        if (of := self.writer.catalogue.info(ns).belongs_to) is not None:
            raise Refused(f"{ns} holds the earlier versions of {of}; name that collection.")
        layout = self.writer.catalogue.layout(ns)
        if reason := layout.read_only or self.writer.catalogue.objection(ns):
            raise Refused(reason)
        if layout.written_by_others:
            raise Refused(f"Another program keeps the versions of {ns}, and only that can remove them.")
        if layout.unversioned or layout.about_others or not layout.numbered:
            raise Refused(f"Documents of {ns} keep no earlier versions, so none can be removed.")
        if layout.holds_changes and (needs := layout.needs_for_checkpoint()):
            raise Refused(
                f"A version of {ns} holds only changes, and nothing would show that the oldest one left is stored "
                f"whole: {needs}."
            )
        return layout

    def _drawn(self, layout: Layout, rule: Rule, wanted: Candidate) -> Thinned:
        id, who = wanted.id, id_name(wanted.id)
        try:
            versions = list(layout.history(id, contents="all"))
        except NotFound:
            return Thinned(id, "skipped", f"{who} is deleted.")
        except Refused as error:
            return Thinned(id, "refused", f"{who}: {error}")
        current = next((each for each in versions if each.current), None)
        if current is None:
            return Thinned(id, "skipped", f"{who} is deleted.")
        try:
            found = self._found(layout, rule, wanted, versions, versions.index(current))
        except Refused as error:
            return Thinned(id, "refused", f"{who}: {error}")
        return found if found.kind != "applied" else self._ended(layout, rule, who, versions, found)

    def _found(
        self, layout: Layout, rule: Rule, wanted: Candidate, versions: Sequence[Version], current: int
    ) -> Thinned:
        """What goes of a document; raises ``Refused`` if the oldest version left cannot be stored whole."""
        id, who = wanted.id, id_name(wanted.id)
        holds = following.condition(rule.hold) if rule.hold else None
        held = [holds is not None and bool(it.content) and holds(_seen(layout, id, it)) for it in versions]
        if held[current]:
            return Thinned(id, "skipped", f"{who} is held, so all of its versions stay.", done=True)
        stay = rule.kept(versions, _now()) | {at for at, hold in enumerate(held) if hold}
        gone = [each for at, each in enumerate(versions) if at not in stay and not _why_not(each)]
        if wanted.digests is not None:
            named = _named_by(wanted.digests, gone)
            if not named:
                return _unmoved(who, id, _named_by(wanted.digests, versions))
            gone = [*named]
        found = Thinned(id, "applied", "", tuple(gone))
        if layout.holds_changes and gone:
            found = _with_checkpoint(layout, versions, found)
            if wanted.digests is not None and not found.gone:
                return Thinned(id, "skipped", f"{who} keeps {_names(gone)}, as older versions stay.")
        return found

    def _ended(self, layout: Layout, rule: Rule, who: str, versions: Sequence[Version], found: Thinned) -> Thinned:
        """A document with a sentence on what goes."""
        id, gone = found.id, found.gone
        if rule.only is not None and not gone:
            return Thinned(id, "refused", _why_not_one(versions, rule.only, who, layout.holds_changes))
        if not gone:
            return Thinned(id, "applied", f"All versions of {who} stay.")
        won = sum(len(each.raw or b"") for each in gone)
        said = f"{who} loses {_names(gone)}"
        said += _beside(versions, gone[0]) if rule.only is not None else ""
        if (whole := found.checkpoint) is not None:
            won -= len(whole.after) - len(whole.before)
            said += f"; {version_name(whole.v)}, the oldest one left, is stored whole first"
        return replace(found, detail=f"{said}.", bytes=won)

    def _removed(self, running: Running, ground: RepairContext, layout: Layout, each: Thinned) -> Outcome:
        """Send the writes of one document."""
        item = Item(
            1, Finding("", layout.ns, each.id, tuple(v.v for v in each.gone if v.v is not None), ""), ACTION, "yes"
        )
        done, entry = 0, None
        try:
            for step in _steps(ground, layout, each):
                outcome = running.send(item, step)
                if outcome.kind != "applied":
                    gone = done - (each.checkpoint is not None)
                    so_far = f" {gone:,} versions were removed before; run it again." if gone > 0 else ""
                    return replace(outcome, detail=f"{outcome.detail}{so_far}")
                done, entry = done + 1, outcome.entry
        except Refused as error:
            return Outcome("refused", layout.ns, each.id, str(error))
        return Outcome("applied", layout.ns, each.id, each.detail, entry=entry if done == 1 else None)

    # --- plans

    def save(self, path: str, plan: RetentionPlan, drawn: Iterable[Thinned]) -> None:
        """Write a plan, with the versions that would go. Raises ``Refused``."""
        rule = plan.rule
        items = [
            {
                "id": text.json_object(each.id),
                "would": each.kind,
                "detail": each.detail,
                "bytes": each.bytes,
                "versions": [
                    {"v": text.json_object(gone.v), "sha256": digest(gone.raw)}
                    for gone in each.gone
                    if gone.v is not None and gone.raw is not None
                ],
            }
            for each in drawn
        ]
        said = {
            "keep": rule.keep,
            "younger": None if rule.younger is None else rule.younger.total_seconds(),
            "daily": rule.daily,
            "hold": rule.hold,
            "only": None if rule.only is None else [text.json_object(rule.only)],
        }
        plan_files.save(path, FORMAT, self.writer.source, plan.ns, items, rule=said, run=plan.run)

    def load(self, path: str, ns: str) -> RetentionPlan:
        """A plan for this source and collection. Raises ``NotFound``, ``Unreadable``, ``Refused``."""
        self._layout(ns)

        def made(plan: dict[str, Any]) -> RetentionPlan:
            said = plan["rule"]
            rule = Rule(
                None if said["keep"] is None else int(said["keep"]),
                None if said["younger"] is None else dt.timedelta(seconds=float(said["younger"])),
                bool(said["daily"]),
                str(said["hold"]),
                None if said["only"] is None else plan_files.value(said["only"][0]),
            )
            items = tuple(
                Candidate(plan_files.value(each["id"]), frozenset(str(gone["sha256"]) for gone in each["versions"]))
                for each in plan["items"]
                if each["would"] == "applied"
            )
            return RetentionPlan(ns, rule, str(plan["run"]), items)

        return plan_files.load(path, FORMAT, self.writer.source, ns, made)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def _stepped(step: Checkpoint) -> bool:
    step(0, None)
    return True


def _seen(layout: Layout, id: Value, version: Version) -> bytes:
    """A version as a filter sees it: its content with the document's id."""
    content = [pair for pair in c.fields(version.content or c.EMPTY) if pair[0] != layout.profile.id]
    own = [] if version.v is None or not layout.profile.version else [(layout.profile.version, version.v)]
    return c.document([(layout.profile.id, id), *own, *content])


def _why_not(version: Version) -> str:
    """Why a version always stays, a clause; "" if it may go."""
    if version.current:
        return "it is the current one"
    if version.state == "missing":
        return "it is missing"
    if version.deleted:
        return "it says that the document was deleted"
    if version.state != "present" or version.raw is None or not version.landed or version.aside:
        return "it is damaged, not proven or never became the current one, which `palimpsest scan` settles"
    return ""


def _why_not_one(versions: Sequence[Version], v: Value, who: str, changes: bool) -> str:
    found = next((each for each in versions if each.v == v), None)
    older = found is not None and any(it.state != "missing" for it in versions[versions.index(found) + 1 :])
    why = "a hold names it" if found is not None else "there is none"
    if changes and older:
        why = "it holds only changes, and older versions stay"
    return f"{version_name(v)} of {who} stays: {(_why_not(found) if found is not None else '') or why}."


def _named_by(digests: frozenset[str], versions: Iterable[Version]) -> tuple[Version, ...]:
    """The versions that a plan names."""
    return tuple(each for each in versions if digest(each.raw or b"") in digests)


def _unmoved(who: str, id: Value, staying: Sequence[Version]) -> Thinned:
    """A document from which nothing goes that a plan names: it is gone already, or some stay by now."""
    if staying:
        return Thinned(id, "skipped", f"{who} keeps {_names(staying)}, which the rule of the plan keeps by now.")
    return Thinned(id, "skipped", f"{who} has none of these versions any more.", done=True)


def _names(versions: Sequence[Version]) -> str:
    """The first of some versions, oldest first, and how many more there are."""
    names = [version_name(each.v) for each in reversed(versions)]
    if len(names) <= NAMED:
        return ", ".join(names)
    return f"{len(names):,} versions from {names[0]} to {names[-1]}"


def _beside(versions: Sequence[Version], gone: Version) -> str:
    """What the removal of one version does to its neighbours, a clause."""
    at = versions.index(gone)
    newer = versions[at - 1]
    older = next((each for each in versions[at + 1 :] if each.state == "present"), None)
    if older is None or older.content is None or gone.content is None:
        return f"; {version_name(newer.v)} is then the first, and what it changed is not known any more"
    paths = [path_text(path) for path in changed_paths(older.content, gone.content)]
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return f"; what it changed ({', '.join(paths[:NAMED])}{more}) is then shown as a change of {version_name(newer.v)}"


def _with_checkpoint(layout: Layout, versions: Sequence[Version], found: Thinned) -> Thinned:
    """A document of which only the oldest versions go, up to the first that stays; that one is to be stored whole.

    Raises ``Refused`` if it cannot be.
    """
    going = set(map(id, found.gone))
    kept = max(at for at, each in enumerate(versions) if each.state != "missing" and id(each) not in going)
    older = tuple(each for each in versions[kept + 1 :] if each.state != "missing")
    if not older:
        return replace(found, gone=())
    version, after = versions[kept], layout.checkpoint(versions, kept)
    whole = WholeVersion(version.v, version.raw or c.EMPTY, after)
    return replace(found, gone=older, checkpoint=whole if whole.after != whole.before else None)


def _steps(ground: RepairContext, layout: Layout, each: Thinned) -> Iterator[Step]:
    """The writes that remove the versions of one document, the oldest first; of changes the newest first.

    So a version that is stored whole always follows those that are gone, and no other version does.
    """
    if (whole := each.checkpoint) is not None:
        label = version_name(whole.v)
        yield ground.swapped(layout.ns, label, whole.before, whole.after, "it is stored whole")
        now = ground.at(layout.ns, physical(whole.after))
        if (
            now is not None
            and now != whole.after
            and c.without(now, layout.own.names) != c.without(whole.after, layout.own.names)
        ):
            yield ground.swapped(layout.ns, label, now, whole.before, "it holds only its changes again")
            raise Refused(f"{label} was not stored as it was sent, so no version is removed.")
    inside = {gone.raw for gone in each.gone if gone.stored == "prev"}
    for gone in each.gone if layout.holds_changes else reversed(each.gone):
        if gone.stored != "prev":
            assert gone.raw is not None
            yield ground.removed(_place(layout, gone), version_name(gone.v), gone.raw, "it is removed")
    if not inside:
        return
    raw, name = ground.current(layout, each.id), layout.profile.prev
    array = c.get(raw, (name,)) if raw is not None else None
    if raw is None or array is None:
        raise Refused(f"{id_name(each.id)} changed meanwhile; run it again.")
    after = c.put(raw, (name,), c.array(part for part in c.items(array) if part.data not in inside))
    yield ground.swapped(layout.ns, "the document", raw, after, f"earlier versions are taken out of {name}")


def _place(layout: Layout, version: Version) -> str:
    """The collection that stores a version."""
    if version.stored != "archive":
        return layout.ns
    return layout.archive.ns if layout.archive is not None else overflow_archive.place(layout.profile)
