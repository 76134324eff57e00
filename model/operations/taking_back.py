"""Takes single changes back: later edits of other fields survive.

Taking back a version is a three-way merge: the base is that version, mine is the one before it, theirs is the current
one. Of a version that was limited to some fields, mine has only these of the one before. Several versions of a document
are taken back in one write, newest first. A real conflict leaves the whole document alone, and so does a document that
changed after the plan was made. A warning names fields that would be removed or emptied although all documents have
them.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.browsing.field_survey import survey
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.records import Checkpoint, Outcome, Version, no_checkpoint
from model.layouts.base import Layout
from model.merge import merge
from model.operations import plan_files
from model.operations.batches import Run
from model.operations.change_parts import later_stamps, only_at, without_stamps
from model.over_time.activity import changed_paths
from model.repair.running import new_run
from model.storage.newest_query import PageQuery
from model.text.names import id_name, version_name
from model.text.paths import path_from_text, path_text
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.writing import edit
from model.writing.edit import Conflict
from model.writing.writer import Writer

FORMAT = "palimpsest revert"
NAMED = 4  # paths in a sentence
TRIES = 4  # per document: somebody else may edit it between its reading and its writing
LOOKED_AT = 200  # documents examined to learn which fields are usual


class Chosen(Struct, frozen=True):
    """One document, and its versions to be taken back."""

    id: Value
    versions: tuple[Value, ...]
    current: Value | None = None  # the version that was current when a plan was made; None: any
    paths: tuple[Path, ...] = ()  # only these fields of the versions; (): all


class TakenBack(Struct, frozen=True):
    """One document as it would be without some of its versions.

    ``kind`` is applied if ``content`` would be saved over ``base``; otherwise ``detail`` says why nothing is written.
    """

    id: Value
    versions: tuple[Value, ...]
    kind: str  # applied, skipped, conflict, refused
    detail: str
    base: Version | None = None
    content: bytes | None = None
    left: tuple[tuple[Value, str], ...] = ()  # versions that cannot be taken back, with reasons
    at_odds: tuple[Value, ...] = ()  # versions, newest first, that a later edit of the same fields prevents
    warning: str = ""  # what would be missing afterwards, a sentence
    paths: tuple[Path, ...] = ()  # the fields to which this is limited; (): all


class TakingBack(Struct, frozen=True):
    """Takes back changes for a session: ``Session.writing``."""

    writer: Writer
    allowed: Callable[[str], None]  # raises if a collection may not be written
    production: Callable[[], bool] = lambda: False

    def drawn(self, ns: str, chosen: Iterable[Chosen], step: Checkpoint = no_checkpoint) -> Iterator[TakenBack]:
        """Each document as it would be; writes nothing."""
        layout = self.writer.catalogue.layout(ns)
        usual = _Usual(layout)
        for done, each in enumerate(chosen):
            step(done, None)
            yield usual.warned(_drawn(layout, each, self.writer.catalogue.objection(ns)))

    def conflict(self, ns: str, drawn: TakenBack) -> Conflict:
        """The conflict for a person to decide, if a later edit prevents taking back: the current content without the
        versions.

        Raises ``NotFound`` and ``Refused``.
        """
        layout = self.writer.catalogue.layout(ns)
        versions = list(layout.history(drawn.id))
        there = [at for at, each in enumerate(versions) if each.v in drawn.at_odds]
        if not there:
            raise Refused(f"Nothing of {id_name(drawn.id)} is left to decide; do another dry run.")
        base = layout.version(drawn.id, versions[there[0]].v)
        # The history comes newest first, so the next entry is the version before.
        before = layout.version(drawn.id, versions[there[-1] + 1].v)
        if base.content is None or before.content is None:
            raise Refused(f"{version_name(base.v)} of {id_name(drawn.id)} cannot be read.")
        now = layout.version(drawn.id).content or c.EMPTY
        mine, origin = _sides(layout, drawn.id, drawn.paths, before.content, base.content, now)
        return edit.conflict(layout, drawn.id, base.but(content=origin), mine)

    def apply(
        self,
        ns: str,
        chosen: Iterable[Chosen],
        step: Checkpoint = no_checkpoint,
        confirmed: bool = False,
        reason: str = "",
    ) -> Run:
        """Take the changes back, one guarded write per document; returns the outcomes, and the run's name for undo.

        Changes that cannot be taken back get an outcome too. ``reason`` is stored if the profile has a field for it.
        Raises ``NotAllowed`` if writing is not allowed.
        """
        self.allowed(ns)
        if not confirmed and self.production():
            raise NotAllowed("This connection is production; confirm the writes by the collection's name first.")
        run = new_run(lambda: dt.datetime.now(dt.UTC), uuid.uuid4().hex[:6])
        writer = replace(self.writer, run=run, reason=reason or self.writer.reason)

        def outcomes() -> Iterator[Outcome]:
            layout = self.writer.catalogue.layout(ns)
            usual = _Usual(layout)
            for done, wanted in enumerate(chosen):
                step(done, None)
                tries = TRIES if wanted.current is None else 1
                each, outcome = self._taken(writer, layout, wanted, usual)
                while outcome is not None and outcome.kind == "conflict" and (tries := tries - 1):
                    each, outcome = self._taken(writer, layout, wanted, usual)  # somebody edited it meanwhile
                yield from (Outcome("skipped", ns, each.id, why, v) for v, why in each.left)
                if outcome is not None:
                    yield outcome
                elif each.versions or not each.left:
                    yield Outcome(each.kind, ns, each.id, each.detail)  # type: ignore[arg-type]

        return Run(run, outcomes())

    def _taken(self, writer: Writer, layout: Layout, wanted: Chosen, usual: _Usual) -> tuple[TakenBack, Outcome | None]:
        """A document as it would be, and the outcome of writing it; None if there is nothing to write."""
        each = usual.warned(_drawn(layout, wanted, self.writer.catalogue.objection(layout.ns)))
        if each.kind != "applied":
            return each, None
        assert each.base is not None
        assert each.content is not None
        outcome = writer.save(layout.ns, each.id, each.base, each.content, "revert")
        told = f"{each.detail} {each.warning}".strip()
        said = f"{told} {outcome.detail}" if outcome.kind == "applied" else outcome.detail
        return each, replace(outcome, detail=said)

    # --- plans

    def save(self, path: str, ns: str, drawn: Iterable[TakenBack]) -> None:
        """Write a plan, including changes that cannot be taken back, with reasons. Raises ``Refused``."""
        items = [
            {
                "id": text.json_object(each.id),
                "versions": [text.json_object(v) for v in each.versions],
                "paths": [path_text(path) for path in each.paths],
                "current": text.json_object(each.base.v) if each.base is not None and each.base.v is not None else None,
                "would": each.kind,
                "detail": f"{each.detail} {each.warning}".strip(),
            }
            for each in drawn
        ]
        plan_files.save(path, FORMAT, self.writer.source, ns, items)

    def load(self, path: str, ns: str) -> list[Chosen]:
        """The documents of a plan for this source and collection. Raises ``NotFound``, ``Unreadable``, ``Refused``."""
        return plan_files.load(path, FORMAT, self.writer.source, ns, _items)


def _items(plan: dict[str, Any]) -> list[Chosen]:
    return [
        Chosen(
            plan_files.value(each["id"]),
            tuple(map(plan_files.value, each["versions"])),
            plan_files.value(each["current"]),
            tuple(map(path_from_text, each.get("paths", ()))),
        )
        for each in plan["items"]
        if each["versions"] and each["current"] is not None
    ]


# --- one document


def _drawn(layout: Layout, chosen: Chosen, objection: str) -> TakenBack:
    try:
        base = layout.version(chosen.id)
        versions = list(layout.history(chosen.id))
    except NotFound:
        said = f"{id_name(chosen.id)} is deleted; restore it first."
        return TakenBack(chosen.id, chosen.versions, "skipped", said)
    if chosen.current is not None and base.v != chosen.current:
        said = (
            f"{id_name(chosen.id)} moved on since the plan ({version_name(chosen.current)} → {version_name(base.v)})."
        )
        return TakenBack(chosen.id, chosen.versions, "conflict", said, base)
    left: list[tuple[Value, str]] = []
    taken: list[int] = []
    for at, each in enumerate(versions):
        if each.v is None or each.v not in chosen.versions:
            continue
        if why := _why_not(versions, at):
            left.append((each.v, f"{version_name(each.v)} of {id_name(chosen.id)} is not taken back: {why}."))
        else:
            taken.append(at)
    there = {each.v for each in versions}
    left += [(v, f"{id_name(chosen.id)} has no version {version_name(v)}.") for v in chosen.versions if v not in there]
    which = tuple(v for at in taken if (v := versions[at].v) is not None)
    found = TakenBack(chosen.id, which, "skipped", "", base, left=tuple(left), paths=chosen.paths)
    if not taken:
        return replace(found, detail=" ".join(why for _, why in left))
    return _merged(layout, found, versions, taken, objection)


def _merged(
    layout: Layout, found: TakenBack, versions: Sequence[Version], taken: Sequence[int], objection: str
) -> TakenBack:
    base = found.base
    assert base is not None
    if reason := objection or layout.writable(base):
        return replace(found, kind="refused", detail=reason)
    content = now = base.content or c.EMPTY
    touched: list[str] = []
    # From the newest down, each from the content that is left after the ones before it.
    for at in taken:
        try:
            before, it = _contents(layout, found, versions, at, content)
        except Unreadable as error:
            return replace(found, kind="refused", detail=str(error))
        if found.paths and before == it:
            continue
        touched.append(version_name(versions[at].v))
        # A merge with the version itself as the base: one side takes it back, the other is all that happened since.
        merged = merge(it, before, content, layout.profile.keys)
        later = tuple(each.path for each in merged.conflicts)
        if later := later or _set_again(layout, found.id, taken, at, (it, before, content)):
            odds = tuple(v for n in _run_from(taken, at) if (v := versions[n].v) is not None)
            said = f"{id_name(found.id)} was changed later in {_some(later)}; take {touched[-1]} back by hand."
            return replace(found, kind="conflict", detail=said, at_odds=odds)
        content = merged.document()
    if not touched:
        names = ", ".join(version_name(versions[at].v) for at in taken)
        return replace(found, detail=f"{names} of {id_name(found.id)} did not change {_some(found.paths)}.")
    return _ended(found, ", ".join(touched), content, now)


def _ended(found: TakenBack, names: str, content: bytes, now: bytes) -> TakenBack:
    """A document from which some versions were taken back without a conflict."""
    # Later edits have undone it already.
    if content == now:
        return replace(found, detail=f"{names} of {id_name(found.id)}: nothing is left to take back.")
    if found.paths:
        said = f"{_some(found.paths)} of {names} of {id_name(found.id)} taken back."
    else:
        said = f"{names} of {id_name(found.id)} taken back."
    return replace(found, kind="applied", detail=said, content=content)


def _contents(
    layout: Layout, found: TakenBack, versions: Sequence[Version], at: int, now: bytes
) -> tuple[bytes, bytes]:
    """The contents before and after a version, as :func:`_sides` gives them. Raises ``Unreadable``."""
    after, before = (layout.version(found.id, versions[n].v).content for n in (at, at + 1))
    if after is None or before is None:
        raise Unreadable(f"{version_name(versions[at].v)} of {id_name(found.id)} cannot be read.")
    try:
        return _sides(layout, found.id, found.paths, before, after, now)
    except Unreadable as error:  # what was there has no place any more
        said = f"{version_name(versions[at].v)} of {id_name(found.id)} cannot be taken back: {error}"
        raise Unreadable(said) from None


def _sides(
    layout: Layout, id: Value, paths: Sequence[Path], before: bytes, after: bytes, now: bytes
) -> tuple[bytes, bytes]:
    """The contents before and after a version, differing only in what is taken back from the content ``now``."""
    before, after = (_as_signed(layout, each, now) for each in (before, after))
    if paths:
        before = only_at(paths, before, after, layout.profile.keys)
    found = later_stamps(lambda: layout.history(id, contents="all"), before, after, now)
    return without_stamps(before, after, [path for path in found if path not in paths], now)


def _some(paths: Sequence[Path]) -> str:
    """The first of some fields by name, and how many more there are."""
    names = [path_text(path) or "the document" for path in paths]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def _set_again(
    layout: Layout, id: Value, taken: Sequence[int], at: int, of: tuple[bytes, bytes, bytes]
) -> tuple[Path, ...]:
    """The fields that have a version's value only because somebody set it again later, which a merge cannot see.

    ``of`` are that version, the one before it and the content from which it is taken back.
    """
    it, before, content = of
    same = {path for path in changed_paths(before, it) if c.get(content, path) == c.get(it, path)}
    later = [n for n in range(at) if n not in taken]
    if not same or not later:
        return ()
    found: set[Path] = set()
    newer: tuple[int, bytes] | None = None
    for n, each in enumerate(layout.history(id, contents=True)):
        if newer is not None and each.content is not None and newer[0] in later:
            found |= {path for path in same if c.get(each.content, path) != c.get(newer[1], path)}
        newer = (n, each.content) if each.content is not None else None
        if n >= at:
            break
    return tuple(sorted(found))


def _run_from(taken: Sequence[int], first: int) -> Iterator[int]:
    """The consecutive positions that start at ``first``."""
    for at in taken:
        if at == first:
            yield at
            first += 1


class _Usual:
    """The fields that all documents of a collection have, judged from some of them; read once, on first use.

    Nobody declares which fields programs depend on: the best sign is that every other document has them.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: tuple[frozenset[str], int] | None = None

    def warned(self, drawn: TakenBack) -> TakenBack:
        """Add a warning about fields that would be missing although all documents have them."""
        if drawn.kind != "applied" or drawn.content is None or drawn.base is None:
            return drawn
        now = drawn.base.content or c.EMPTY
        emptied = [path for path in changed_paths(now, drawn.content) if _is_empty(drawn.content, path)]
        if not emptied:
            return drawn
        usual, documents = self._fields()
        lacking = [name for path in emptied if (name := ".".join(map(str, path))) in usual]
        if not lacking:
            return drawn
        names = ", ".join(lacking[:NAMED])
        more = f" and {len(lacking) - NAMED} more" if len(lacking) > NAMED else ""
        said = f"It leaves {names}{more} empty, which each of the {documents:,} documents looked at has."
        return replace(drawn, warning=said)

    def _fields(self) -> tuple[frozenset[str], int]:
        if self._known is None:
            rows = self._layout.page(PageQuery(limit=LOOKED_AT))
            found = survey(row.but(raw=self._layout.document(row.raw)) if row.readable else row for row in rows)
            several = found.documents > 1  # with a single document every field would be usual
            fields = (use.path for use in found.fields if several and use.documents == found.documents)
            self._known = frozenset(fields), found.documents
        return self._known


def _is_empty(content: bytes, path: Path) -> bool:
    value = c.get(content, path)
    return value is None or value.type == c.NULL or value == Value.of("")


def _as_signed(layout: Layout, content: bytes, like: bytes) -> bytes:
    """A content with another's author and reason, if these belong to the content: they are not taken back."""
    p = layout.profile
    if not p.seals_author:
        return content
    for name in filter(None, (p.author, p.reason)):
        value = c.get(like, (name,))
        if value is not None and c.get(content, (name,)) is not None:
            content = c.put(content, (name,), value)
    return content


def _why_not(versions: Sequence[Version], at: int) -> str:
    """Why a version cannot be taken back, a clause; "" if it can."""
    each = versions[at]
    older = versions[at + 1] if at + 1 < len(versions) else None
    if each.state == "missing":
        return "it is missing"
    if each.deleted:
        return "it deleted the document, and restoring an earlier version brings that back"
    if older is None or older.deleted:
        return "it created the document"
    if older.state == "missing":
        return f"the version before it, {version_name(older.v)}, is missing, so what it changed is not known"
    if "damaged" in (each.state, older.state):
        return "it or the version before it is damaged"
    return ""
