"""What is done to many documents by a page with ticks: for each kind its words, its dry run and its writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from gui import tasks
from gui.language import tr
from gui.style import wording
from model.session import Session
from model.session.batch_writing import Changed, Chosen, Run, TakenBack
from model.text.paths import path_from_text, path_text
from model.values.canonical import Value

Drawn: TypeAlias = TakenBack | Changed
"""A document as it would be."""


NOT_APPLIED = {
    "skipped": tr("Skipped"),
    "conflict": tr("Changed meanwhile"),
    "refused": tr("Refused"),
    "unknown": tr("Not known"),
}
"""How a document ended that was not written, in words."""


class PlanKind(Struct, frozen=True):
    """One kind of plan over many documents. A person types into its line, and it has the words that depend on this."""

    title: str
    label: str  # of the line
    placeholder: str
    tip: str
    list_name: str
    wants_line: str  # what to do before anything is typed, a sentence; "" if the line may be empty
    columns: tuple[str, ...]  # between the id and the dry run
    verdicts: Mapping[str, tuple[str, str, str]]  # icon, colour, words
    done: Mapping[str, str]
    counted: Mapping[str, str]  # "{count} …" for the dry run
    about: Callable[[Sequence[Chosen]], str]
    some: Callable[[int], str]  # the button over some documents
    ended: Callable[[int], str]
    working: str
    read_only: Callable[[str], str]
    after: Callable[[Drawn], str]  # the heading of the right side
    typed: Callable[[Sequence[Chosen], str], Sequence[Chosen]]  # the documents as the line says; raises ``Refused``
    shown: Callable[[Sequence[Chosen]], str]  # the line of documents that are brought; "" leaves it
    draw: Callable[[Session, str, Sequence[Chosen], str, Callable[[int, int | None], None]], Iterator[Drawn]]
    apply: Callable[[Session, str, Sequence[Chosen], str, Mapping[Value, Any], tasks.Progress, str], Run]


def _documents(count: int) -> str:
    return wording.many(count, "document")


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
    wants_line="",
    columns=(tr("Versions"),),
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
    after=lambda drawn: tr("without {versions}", versions=_named(drawn.versions)),
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


def _draw_change(
    session: Session, ns: str, rows: Sequence[Chosen], said: str, step: Callable[[int, int | None], None]
) -> Iterator[Drawn]:
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
    columns=(),
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
    after=lambda drawn: tr("changed"),
    typed=_checked,
    shown=lambda rows: "",
    draw=_draw_change,
    apply=_change,
)
