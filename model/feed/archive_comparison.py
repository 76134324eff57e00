"""Compares the archive with the collection: archives missing current versions, and finds lost versions between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from model.errors import Cancelled
from model.feed.archive_rows import ArchiveRows, in_batches
from model.feed.fed import Fed
from model.layouts.base import Layout
from model.storage.reserved_fields import legible, number_of, place_of, unreadable, version_damage, whole_number
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value


def compared(
    layout: Layout, rows: ArchiveRows, first: bool, lag: float | None, stop: Callable[[], bool]
) -> Iterator[Fed]:
    """Archive every current version that the archive lacks, and tell of versions in between, which are lost.

    ``first``: this collection was never fed, so all missing histories are told in one sentence. Raises ``Cancelled``
    once ``stop`` returns true.
    """
    before = 0
    for batch in in_batches(layout.server.find(layout.ns, sort={"_id": 1})):
        if stop():
            raise Cancelled
        known: list[tuple[Value, Value, bytes]] = []
        for raw in batch:
            read = _read(layout, rows, raw, lag)
            if isinstance(read, Fed):
                yield read
            else:
                known.append((*read, raw))
        yield from _taken_back(layout, rows, [(id, v) for id, v, _ in known], lag)
        # One query for the whole batch: asked one by one, a million documents would cost a million queries.
        there = rows.rows([(id, v) for id, v, _ in known])
        for id, v, raw in known:
            row = there.get((id, place_of(v)))
            if row is not None:
                if not rows.same(row, raw):
                    yield _differs(layout, rows, id, v, lag)
                continue
            gap = gap_below(layout, rows, id, v)
            # Tell, and thereby note, a gap first: once the current version is archived, the gap is invisible.
            if gap is not None and first and gap[0] == 1:
                before += 1
            elif gap is not None:
                yield Fed("refused", layout.ns, told(gap, id), id, gap[1], lag)
            yield from _brought(layout, rows, id, v, raw, lag)
    if before:
        documents = "one document" if before == 1 else f"{before:,} documents"
        yield Fed("note", layout.ns, f"Earlier versions of {documents} were there before the archive was fed.", lag=lag)


def _read(layout: Layout, rows: ArchiveRows, raw: bytes, lag: float | None) -> tuple[Value, Value] | Fed:
    """The id and version of a current document; or the news that it cannot be archived."""
    found = legible(raw)
    id, v = found.get(layout.profile.id), found.get(layout.profile.version)
    wrong = "it has no id" if id is None else version_damage(v) or unreadable(raw) or rows.unfit(id, raw)
    if not wrong and id is not None and v is not None:
        return id, v
    shown = id or found.get("_id") or Value.of(None)
    detail = f"The current version of {id_name(shown)} cannot be archived: {wrong}."
    return Fed("refused", layout.ns, detail, shown, None, lag)


def _brought(layout: Layout, rows: ArchiveRows, id: Value, v: Value, raw: bytes, lag: float | None) -> Iterator[Fed]:
    """Archive a current version; tells nothing if somebody else has just archived it with equal content."""
    end = rows.put(id, v, raw)
    if end == "new":
        yield Fed("applied", layout.ns, f"{version_name(v)} of {id_name(id)} is archived.", id, v, lag)
    elif end == "other":
        yield _differs(layout, rows, id, v, lag)


def _differs(layout: Layout, rows: ArchiveRows, id: Value, v: Value, lag: float | None) -> Fed:
    detail = (
        f"{rows.ns} holds another {version_name(v)} of {id_name(id)} than is current: it was changed "
        "without a new version. Nothing was overwritten."
    )
    return Fed("conflict", layout.ns, detail, id, v, lag)


def _taken_back(
    layout: Layout, rows: ArchiveRows, known: Sequence[tuple[Value, Value]], lag: float | None
) -> Iterator[Fed]:
    """Tell of documents whose version is lower than one in the archive: the document has lost the archived ones.

    Each document is read again after its rows. The version read before them may just have been outdated.
    """
    p, above = layout.profile, rows.above(known)
    for raw in layout.server.find(layout.ns, {p.id: {"$in": list(above)}}) if above else ():
        found = legible(raw)
        id, v = found.get(p.id), found.get(p.version)
        place = place_of(v)
        if id is None or v is None or place is None:
            continue
        gone = sorted((each for each in above.get(id, ()) if (place_of(each) or place) > place), key=place_of)  # type: ignore[arg-type]
        if gone:
            which = version_name(gone[-1]) if len(gone) == 1 else f"{version_name(gone[0])} to {version_name(gone[-1])}"
            detail = (
                f"{id_name(id)} stands at {version_name(v)} again, and {rows.ns} holds {which} of it: a failover or a "
                "restored backup took back what was written, or the document was deleted and created again. The "
                "archive was left as it is, and marked."
            )
            yield Fed("conflict", layout.ns, detail, id, gone[-1], lag, tuple(gone))


def gap_below(layout: Layout, rows: ArchiveRows, id: Value, v: Value) -> tuple[int, Value, int] | None:
    """The first and last version missing between the archive and the current one; None if none is."""
    number = number_of(v)
    if number is None or number < 2 or v.type not in (c.INT32, c.INT64) or layout.profile.numbering != "next":
        return None
    below = rows.below(id, v) or 0
    return (below + 1, whole_number(number - 1, v), number - 1) if below < number - 1 else None


def told(gap: tuple[int, Value, int], id: Value, how: str = "overwritten while nobody watched") -> str:
    """A sentence on versions that are lost."""
    first, v, last = gap
    if first == last:
        return f"{version_name(v)} of {id_name(id)} was {how}, and cannot be proven."
    return f"v{first} to v{last} of {id_name(id)} were {how}, and cannot be proven."
