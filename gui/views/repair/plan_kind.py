"""What is done to many documents by a page with ticks: for each kind its words, its dry run and its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gui import tasks
from gui.language import tr
from gui.style import wording
from model.session import Session
from model.session.batch_writing import Candidate, Changed, Chosen, Rule, Run, TakenBack, Thinned
from model.session.two_collections import Copied, CopyAcross, CopyPlan, Standing
from model.text.paths import path_from_text, path_text
from model.values import canonical
from model.values.canonical import EMPTY, Value

Step: TypeAlias = Callable[[int, int | None], None]


class Compared(Struct, frozen=True):
    """What the comparison below the documents shows of one: both sides, and their headings."""

    before: bytes
    after: bytes
    titles: tuple[str, str]


class Foreseen(Struct, frozen=True):
    """How a document would end under a plan that is not about its current version alone."""

    id: Value
    kind: str  # applied, skipped, conflict, refused
    detail: str
    work: object = None  # what the plan's writes take of it
    cells: tuple[str, ...] = ()  # for the kind's columns
    compared: Compared | None = None
    bytes: int = 0  # that are won
    base: ClassVar[None] = None  # this and what follows is of changes that are taken back
    left: ClassVar[tuple[tuple[Value, str], ...]] = ()
    at_odds: ClassVar[tuple[Value, ...]] = ()
    warning: ClassVar[str] = ""


Drawn: TypeAlias = TakenBack | Changed | Foreseen
"""A document as it would be."""


NOT_APPLIED = {
    "skipped": tr("Skipped"),
    "conflict": tr("Changed meanwhile"),
    "refused": tr("Refused"),
    "unknown": tr("Not known"),
}
"""How a document ended that was not written, in words."""


class PlanKind(Struct, frozen=True):
    """One kind of plan over many documents: its words, how they are tried, and how they are written."""

    title: str
    list_name: str
    verdicts: Mapping[str, tuple[str, str, str]]  # icon, colour, words
    done: Mapping[str, str]
    counted: Mapping[str, str]  # "{count} …" for the dry run
    about: Callable[[Sequence[Chosen]], str]
    some: Callable[[int], str]  # the button over some documents
    ended: Callable[[int], str]
    working: str
    read_only: Callable[[str], str]
    place: Callable[[str, str], str]  # what the page is about, from the collection and the connection
    compared: Callable[[Any], Compared | None]
    draw: Callable[[Session, str, Sequence[Chosen], str, Step], Iterator[Drawn]]
    apply: Callable[[Session, str, Sequence[Chosen], str, Mapping[Value, Any], tasks.Progress, str], Run]
    columns: tuple[str, ...] = ()  # between the id and the dry run
    cells: Callable[[Chosen, Drawn | None], Sequence[str]] = lambda row, drawn: ()
    summed: Callable[[Iterable[Any]], str] = lambda drawn: ""  # what all documents that would be written come to
    takes_reason: bool = True
    label: str = ""  # of a line to type into; "" if there is none
    placeholder: str = ""
    tip: str = ""
    wants_line: str = ""  # what to do before anything is typed, a sentence; "" if the line may be empty
    typed: Callable[[Sequence[Chosen], str], Sequence[Chosen]] = lambda rows, said: rows  # raises ``Refused``
    shown: Callable[[Sequence[Chosen]], str] = lambda rows: ""  # the line of documents that are brought


def _documents(count: int) -> str:
    return wording.many(count, "document")


def _saved(after: Callable[[Any], str], drawn: TakenBack | Changed) -> Compared | None:
    """The current version beside the one that would be saved over it."""
    if drawn.base is None or drawn.content is None:
        return None
    now = tr("{version} now", version=wording.version(drawn.base.v))
    return Compared(drawn.base.content or EMPTY, drawn.content, (now, after(drawn)))


# --- taking back


def _about_versions(rows: Sequence[Chosen]) -> str:
    return tr(
        "{changes} of {documents}. Each document as it would be without them; later edits of other fields stay.",
        changes=wording.many(sum(len(row.versions) for row in rows), "change"),
        documents=_documents(len(rows)),
    )


def _limited(rows: Sequence[Chosen], said: str) -> Sequence[Chosen]:
    paths = tuple(path_from_text(each.strip()) for each in said.split(",") if each.strip())
    return [replace(row, paths=paths) for row in rows]


def _named(versions: Sequence[Value]) -> str:
    shown = ", ".join(wording.version(v) for v in versions[:3])
    return shown if len(versions) <= 3 else tr("{shown} and {more} more", shown=shown, more=len(versions) - 3)


TAKING_BACK = PlanKind(
    title=tr("Take back"),
    label=tr("Only these fields"),
    placeholder=tr("All fields"),
    tip=tr("Fields such as premium.gross, separated by commas: only these are taken back"),
    list_name=tr("Documents of which changes are taken back"),
    columns=(tr("Versions"),),
    cells=lambda row, drawn: (", ".join(wording.version(v) for v in row.versions),),
    verdicts={
        "applied": ("check", "acc", tr("Can be taken back")),
        "skipped": ("minus", "text2", tr("Nothing to take back")),
        "conflict": ("warning", "warn", tr("Changed later: decide by hand")),
        "refused": ("warning-circle", "err", tr("Cannot be taken back")),
    },
    done={"applied": tr("Taken back")} | NOT_APPLIED,
    counted={
        "applied": tr("{count} would be written"),
        "conflict": tr("{count} wait for a decision"),
        "skipped": tr("{count} with nothing left to take back"),
        "refused": tr("{count} cannot be taken back"),
    },
    about=_about_versions,
    some=lambda count: tr("Take back in {documents}", documents=_documents(count)),
    ended=lambda count: tr("Taken back in {documents}", documents=_documents(count)),
    working=tr("Taking back"),
    read_only=lambda name: tr("{name} is open read-only; to take changes back, allow writes.", name=name),
    place=lambda ns, name: tr("Changes to be taken back in {ns} of {name}", ns=ns, name=name),
    compared=partial(_saved, lambda drawn: tr("without {versions}", versions=_named(drawn.versions))),
    typed=_limited,
    shown=lambda rows: ", ".join(map(path_text, dict.fromkeys(path for row in rows for path in row.paths))),
    draw=lambda session, ns, rows, said, step: session.taking_back.drawn(ns, rows, step),
    apply=lambda session, ns, rows, said, drawn, progress, reason: session.taking_back.apply(
        ns, rows, progress, confirmed=True, reason=reason
    ),
)


# --- one change in many


def _checked(rows: Sequence[Chosen], said: str) -> Sequence[Chosen]:
    from model.session.batch_writing import typed_update

    if said.strip():
        typed_update(said)
    return rows


def _draw_change(session: Session, ns: str, rows: Sequence[Chosen], said: str, step: Step) -> Iterator[Drawn]:
    from model.session.batch_writing import typed_update

    plan = session.changing.chosen(ns, [row.id for row in rows], typed_update(said))
    return session.changing.drawn(plan, step)


def _change(
    session: Session,
    ns: str,
    rows: Sequence[Chosen],
    said: str,
    drawn: Mapping[Value, Changed],
    progress: tasks.Progress,
    reason: str,
) -> Run:
    from model.session.batch_writing import typed_update

    seen = [drawn[row.id] for row in rows]
    plan = session.changing.seen(ns, seen, typed_update(said))
    return session.changing.apply(plan, progress, confirmed=True, reason=reason)


CHANGING = PlanKind(
    title=tr("Change documents"),
    label=tr("The change"),
    placeholder='{ $set: { status: "closed" }, $unset: { note: "" }, $rename: { "a.b": "c" } }',
    tip=tr("MongoDB's own update, or only the fields to set; Enter shows each document as it would be"),
    list_name=tr("Documents that are changed"),
    wants_line=tr('Type the change above, such as { status: "closed" }, and press Enter.'),
    verdicts={
        "applied": ("check", "acc", tr("Would be changed")),
        "skipped": ("minus", "text2", tr("Is so already")),
        "conflict": ("warning", "warn", tr("Changed meanwhile")),
        "refused": ("warning-circle", "err", tr("Cannot be changed")),
    },
    done={"applied": tr("Changed")} | NOT_APPLIED,
    counted={
        "applied": tr("{count} would be written"),
        "conflict": tr("{count} changed meanwhile"),
        "skipped": tr("{count} are so already"),
        "refused": tr("{count} cannot be changed"),
    },
    about=lambda rows: tr(
        "{documents}. Each is written as an edit is, as a version of its own where versions are kept.",
        documents=_documents(len(rows)),
    ),
    some=lambda count: tr("Change {documents}", documents=_documents(count)),
    ended=lambda count: tr("Changed {documents}", documents=_documents(count)),
    working=tr("Changing documents"),
    read_only=lambda name: tr("{name} is open read-only; to change documents, allow writes.", name=name),
    place=lambda ns, name: tr("Documents to be changed in {ns} of {name}", ns=ns, name=name),
    compared=partial(_saved, lambda drawn: tr("changed")),
    typed=_checked,
    draw=_draw_change,
    apply=_change,
)


# --- earlier versions removed by a rule


def _lasting(seconds: float) -> str:
    days = round(seconds / 86400)
    return wording.many(days, "day") if days > 2 else wording.duration(seconds)


def _stays(rule: Rule) -> str:
    """What a rule keeps, a sentence."""
    parts = [
        tr("the newest {keep}", keep=wording.count(rule.keep)) if rule.keep else "",
        tr("what is younger than {age}", age=_lasting(rule.younger.total_seconds())) if rule.younger else "",
        tr("beyond that the newest of each day") if rule.daily else "",
        tr("what matches {filter}", filter=rule.hold) if rule.hold else "",
    ]
    return tr("These versions stay: {parts}.", parts=", ".join(filter(None, parts)))


def _thinned(found: Thinned) -> Foreseen:
    """A document without the contents of the versions that would go, of which there may be many."""
    gone = found.gone
    kind = "skipped" if found.kind == "applied" and not gone else found.kind
    names = _named([each.v for each in reversed(gone) if each.v is not None])
    shown = canonical.document(
        (wording.version(each.v), Value.of(", ".join(filter(None, (wording.moment(each.at), each.author)))))
        for each in gone
    )
    compared = Compared(shown, EMPTY, (tr("Stored now"), tr("Afterwards"))) if gone else None
    cells = names, wording.size(found.bytes) if gone else ""
    return Foreseen(found.id, kind, found.detail, found.candidate, cells, compared, found.bytes)


def _draw_retention(
    rule: Rule, session: Session, ns: str, rows: Sequence[Chosen], said: str, step: Step
) -> Iterator[Drawn]:
    work = session.retaining
    return map(_thinned, work.every(work.planned(ns, rule, (Candidate(row.id) for row in rows)), step))


def _retain(
    rule: Rule,
    session: Session,
    ns: str,
    rows: Sequence[Chosen],
    said: str,
    drawn: Mapping[Value, Any],
    progress: tasks.Progress,
    reason: str,
) -> Run:
    work = session.retaining
    return work.apply(work.planned(ns, rule, (drawn[row.id].work for row in rows)), progress, confirmed=True)


def retaining(rule: Rule) -> PlanKind:
    """Earlier versions of documents are removed, except those that a rule keeps."""
    return PlanKind(
        title=tr("Remove earlier versions"),
        list_name=tr("Documents that lose earlier versions"),
        columns=(tr("Versions that go"), tr("Size")),
        cells=lambda row, drawn: drawn.cells if isinstance(drawn, Foreseen) else ("", ""),
        verdicts={
            "applied": ("check", "acc", tr("Would be removed")),
            "skipped": ("minus", "text2", tr("All versions stay")),
            "conflict": ("warning", "warn", tr("Changed meanwhile")),
            "refused": ("warning-circle", "err", tr("Cannot be removed")),
        },
        done={"applied": tr("Removed")} | NOT_APPLIED,
        counted={
            "applied": tr("{count} would lose versions"),
            "skipped": tr("{count} keep all versions"),
            "refused": tr("{count} cannot lose versions"),
        },
        summed=lambda drawn: tr("{size} would be won", size=wording.size(sum(each.bytes for each in drawn))),
        about=lambda rows: _stays(rule),
        some=lambda count: tr("Remove versions of {documents}", documents=_documents(count)),
        ended=lambda count: tr("Removed versions of {documents}", documents=_documents(count)),
        working=tr("Removing versions"),
        read_only=lambda name: tr("{name} is open read-only; to remove versions, allow writes.", name=name),
        place=lambda ns, name: tr("Earlier versions to be removed in {ns} of {name}", ns=ns, name=name),
        compared=lambda drawn: drawn.compared,
        draw=partial(_draw_retention, rule),
        apply=partial(_retain, rule),
        takes_reason=False,
    )


# --- documents copied from another collection


def _copied(found: Copied) -> Foreseen:
    """A document with what comes of it, and its newest content on both sides."""
    versions = [each.v for each in found.versions if each.v is not None]
    if versions:
        what = tr("Its history: {versions}", versions=_named(versions))
    elif found.base is None:
        what = tr("Its content, as a new document")
    else:
        what = tr("Its content, as an edit")
    compared = None
    if found.kind == "applied" and found.content is not None:
        before = EMPTY if found.base is None else found.base.content or EMPTY
        compared = Compared(before, found.content, (tr("There now"), tr("Afterwards")))
    cells = (what if found.kind == "applied" else "",)
    return Foreseen(found.id, found.kind, found.detail, None, cells, compared)


def copying(whence: tuple[Session, str], ns: str, key: str, found: Mapping[Value, Standing], run: str) -> PlanKind:
    """Documents of another collection are copied to one, by how they stood when both were compared.

    ``found`` has each under the id that it has, or gets, where it is copied to; ``run`` is the name of their run.
    """
    source, from_ns = whence

    def work(session: Session) -> CopyAcross:
        return source.beside(from_ns, session, ns, key).copying

    def planned(rows: Sequence[Chosen]) -> CopyPlan:
        return CopyPlan(tuple(found[row.id] for row in rows), run)

    return PlanKind(
        title=tr("Copy across"),
        list_name=tr("Documents that are copied"),
        columns=(tr("What comes"),),
        cells=lambda row, drawn: drawn.cells if isinstance(drawn, Foreseen) else ("",),
        verdicts={
            "applied": ("check", "acc", tr("Would be copied")),
            "skipped": ("minus", "text2", tr("The same on both sides")),
            "conflict": ("warning", "warn", tr("Changed meanwhile")),
            "refused": ("warning-circle", "err", tr("Cannot be copied")),
        },
        done={"applied": tr("Copied")} | NOT_APPLIED,
        counted={
            "applied": tr("{count} would be written"),
            "conflict": tr("{count} changed meanwhile"),
            "skipped": tr("{count} are the same on both sides"),
            "refused": tr("{count} cannot be copied"),
        },
        about=lambda rows: tr(
            "{documents} of {ns} in {name}, to {ns2}.",
            documents=_documents(len(rows)),
            ns=from_ns,
            name=wording.source(source.name),
            ns2=ns,
        ),
        some=lambda count: tr("Copy {documents}", documents=_documents(count)),
        ended=lambda count: tr("Copied {documents}", documents=_documents(count)),
        working=tr("Copying documents"),
        read_only=lambda name: tr("{name} is open read-only; to copy documents, allow writes.", name=name),
        place=lambda ns, name: tr("Documents to be copied to {ns} of {name}", ns=ns, name=name),
        compared=lambda drawn: drawn.compared,
        draw=lambda session, ns, rows, said, step: map(_copied, work(session).drawn(planned(rows), step)),
        apply=lambda session, ns, rows, said, drawn, progress, reason: work(session).apply(
            planned(rows), progress, confirmed=True, reason=reason
        ),
    )
