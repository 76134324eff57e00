"""Repairs with earlier versions in a second collection: phantoms, residues, edits in place, orphans.

No single write can check two collections. The archive is read before the current document, because versions only
rise. Both are read again after the write, which is undone if the other one has changed meanwhile.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from model.errors import Refused
from model.layouts.archive_reader import ArchiveReader
from model.layouts.base import Layout
from model.repair import quarantine
from model.repair.items import Item
from model.repair.steps import Prepared, RepairContext, Step, kept_in, named, nothing, physical, refused, seen
from model.storage import numbering
from model.storage.indexes import is_unique
from model.storage.reserved_fields import number_of, place_of, whole_number
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value


def _subject(ground: RepairContext, item: Item) -> tuple[Layout, ArchiveReader, Value]:
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    archive = layout.needed_archive()
    if id is None:
        raise Refused("The plan does not say which document this is about.")
    return layout, archive, id


def _rows(ground: RepairContext, archive: ArchiveReader, id: Value) -> list[bytes]:
    return list(ground.having(archive.ns, archive.profile.archive_id, id))


def _version_in(layout: Layout, raw: bytes) -> Value | None:
    return c.get(raw, (layout.profile.version,))


def remove_phantom(ground: RepairContext, item: Item) -> Prepared:
    """Delete the archive row above the current version, after copying it to the quarantine."""
    layout, archive, id = _subject(ground, item)
    rows = named(item, archive.ns, _rows(ground, archive, id))
    current = ground.current(layout, id)
    if current is None:
        return nothing(f"{id_name(id)} is gone, so nothing stands above it.")
    top = place_of(_version_in(layout, current))
    if top is None:
        return refused(f"The version of {id_name(id)} is not a number; settle that first.")
    above = [row for row in rows if (place := place_of(_version_in(layout, row))) is not None and place > top]
    if not above:
        return nothing(f"Nothing in {archive.ns} is above {version_name(_version_in(layout, current))} any more.")

    def step(row: bytes) -> Step:
        v = version_name(_version_in(layout, row))
        found = ground.removed(archive.ns, f"{v} in the archive", row, f"{v} is taken out of the archive")
        # No single write can check two collections, so the document is read again behind the delete.
        return replace(found, last=lambda: _overtaken(ground, layout, id, row), beside=(seen(layout.ns, current),))

    # The highest goes first: if the run stops, the rows that stay have no gap.
    above.sort(key=lambda row: -(place_of(_version_in(layout, row)) or 0))
    said = ", ".join(version_name(_version_in(layout, row)) for row in above)
    return Prepared(
        "would",
        f"{said} in {archive.ns}, above the current {version_name(_version_in(layout, current))}",
        f"{said} was taken out of {archive.ns}; {kept_in(archive.ns)}.",
        tuple(map(step, above)),
        f"First a copy goes to {quarantine.place(archive.ns)}, then {said} is deleted if every byte of it is as it was "
        "seen. The document is read again behind it; has it moved on, the row is put back.",
    )


def _overtaken(ground: RepairContext, layout: Layout, id: Value, row: bytes) -> str:
    """Whether the document has reached the removed row's version, so that the row belongs to its history."""
    current = ground.current(layout, id)
    place, gone = place_of(_version_in(layout, row)), current is None
    now = place_of(_version_in(layout, current)) if current is not None else None
    if gone or now is None or place is None or now >= place:
        return f"{id_name(id)} {'was deleted' if gone else 'moved on'} meanwhile"
    return ""


def bring_back(ground: RepairContext, item: Item) -> Prepared | None:
    """Bring back a removed row that is needed after all, because an edit that relied on it was applied after the
    removal.

    None if nothing is needed. No single write can check both collections, so this is repeated: at the end of a run,
    and whenever its plan is run again.
    """
    layout, archive, id = _subject(ground, item)
    steps: list[Step] = []
    for each in item.seen:
        if each.ns != archive.ns or ground.at(each.ns, each.id) is not None:
            continue
        kept = quarantine.find(ground.server, each.ns, each.id, each.sha256)
        if kept is None:
            continue
        _, doc = kept
        place, current = place_of(_version_in(layout, doc)), ground.current(layout, id)
        now = place_of(_version_in(layout, current)) if current is not None else None
        own = current is not None and layout.content(current) == archive.own.content(doc)
        if place is None or not _wanted(item, own, place, now):
            continue
        if any(place_of(_version_in(layout, other)) == place for other in _rows(ground, archive, id)):
            continue
        v = version_name(_version_in(layout, doc))
        step = ground.inserted(archive.ns, f"{v} in the archive", doc, f"{v} is put back into the archive")
        steps.append(replace(step, extra={"second": "yes"}))  # the copy stays: a delete in doubt may land later
    if not steps:
        return None
    return Prepared(
        "would",
        "it belongs to the history, as the document has moved on since it was taken out",
        "It was put back, as the document had moved on since it was taken out.",
        tuple(steps),
        "One insert of the very bytes that the quarantine kept.",
    )


def _wanted(item: Item, alike: bool, place: int, now: int | None) -> bool:
    """Whether the history needs a removed row: a copy, once the document has changed further.

    A phantom is needed only if its own edit was applied after all; once the document is beyond it, nobody knows
    whether the row would be true.
    """
    if item.repair == "remove-phantom":
        return alike and now == place
    return now is not None and now > place


def remove_residue(ground: RepairContext, item: Item) -> Prepared:
    """Delete the archive's copy of the current version, if both contents are equal."""
    layout, archive, id = _subject(ground, item)
    if layout.holds_current:
        return refused(f"{archive.ns} is meant to hold the current version too.")
    rows = named(item, archive.ns, _rows(ground, archive, id))
    current = ground.current(layout, id)
    if current is None:
        return nothing(f"{id_name(id)} is gone, so its archive is all there is of it.")
    top = place_of(_version_in(layout, current))
    same = [row for row in rows if top is not None and place_of(_version_in(layout, row)) == top]
    if not same:
        return nothing(f"{archive.ns} does not hold the current version any more.")
    # Then it is no copy but a version that was edited in place, which is another class of damage.
    if any(archive.own.content(row) != layout.content(current) for row in same):
        return Prepared("changed", f"The copy of {id_name(id)} in {archive.ns} differs from it now")

    def step(row: bytes) -> Step:
        v = version_name(_version_in(layout, row))
        found = ground.removed(archive.ns, f"{v} in the archive", row, f"the copy of {v} is taken out")
        return replace(found, last=lambda: _moved(ground, layout, id, current), beside=(seen(layout.ns, current),))

    v = version_name(_version_in(layout, current))
    return Prepared(
        "would",
        f"{v} in {archive.ns}, the same as the current one",
        f"The copy of {v} was taken out of {archive.ns}; {kept_in(archive.ns)}.",
        tuple(map(step, same)),
        f"First a copy goes to {quarantine.place(archive.ns)}, then the archive's {v} is deleted if every byte of it "
        "is as it was seen. The document is read again behind it; has it changed, the row is put back.",
    )


def _moved(ground: RepairContext, layout: Layout, id: Value, before: bytes) -> str:
    return "" if ground.current(layout, id) == before else f"{id_name(id)} changed meanwhile"


def save_as_version(ground: RepairContext, item: Item) -> Prepared:
    """Give a content that was edited in place its own number; the archive keeps its row."""
    layout, archive, id = _subject(ground, item)
    rows = _rows(ground, archive, id)
    current = ground.current(layout, id)
    if current is None:
        return nothing(f"{id_name(id)} is gone.")
    v = _version_in(layout, current)
    same = [row for row in rows if place_of(_version_in(layout, row)) == place_of(v)]
    if all(archive.own.content(row) == layout.content(current) for row in same):
        return nothing(f"{archive.ns} holds no other {version_name(v)} of it any more.")
    above = [row for row in rows if (place_of(_version_in(layout, row)) or 0) > (place_of(v) or 0)]
    # The following number may be that of the row above, which no edit could then archive over.
    if above:
        return refused(f"{archive.ns} holds a version above {version_name(v)}; settle that first.")
    stamp = ground.stamp()
    following = numbering.following(v, layout.profile, stamp.at)
    # The counter goes first: if the run stops in between, a number is skipped; otherwise it would be given out again.
    steps = [*_counter(ground, layout, id, following), _bumped(ground, layout, current, following, stamp.token)]
    return Prepared(
        "would",
        f"today's content, as {version_name(following)}; the archive keeps its {version_name(v)}",
        f"Today's content is {version_name(following)} now; the archive keeps its {version_name(v)}.",
        tuple(steps),
        f"One update gives the document the version {version_name(following).removeprefix('v')}, if every byte of it "
        "is as it was seen. The archive is not touched.",
    )


def _bumped(ground: RepairContext, layout: Layout, current: bytes, v: Value, token: object) -> Step:
    p, after = layout.profile, c.put(current, (layout.profile.version,), v)
    if p.token:
        after = c.put(after, (p.token,), Value.of(token))
    if p.at and c.get(current, (p.at,)) is not None:
        after = c.put(after, (p.at,), Value.of(ground.now()))
    return ground.swapped(layout.ns, "the document", current, after, f"it becomes {version_name(v)}")


def _counter(ground: RepairContext, layout: Layout, id: Value, v: Value) -> list[Step]:
    """The step that raises the counter for this document's versions, if there is one."""
    ns = layout.profile.numbering.removeprefix("counter:")
    if ns == layout.profile.numbering:
        return []
    raw = ground.at(ns, id)
    seq = c.get(raw, ("seq",)) if raw is not None else None
    if raw is None or seq is None or (number_of(seq) or 0) >= (number_of(v) or 0):
        return []
    after = c.put(raw, ("seq",), whole_number(number_of(v) or 0, seq))
    return [ground.swapped(ns, "its counter", raw, after, "the counter of versions is raised first")]


def restore_document(ground: RepairContext, item: Item) -> Prepared:
    """Make the highest version in the archive a document again, with the next number."""
    layout, archive, id = _subject(ground, item)
    rows = [row for row in _rows(ground, archive, id) if place_of(_version_in(layout, row)) is not None]
    if ground.current(layout, id) is not None:
        return nothing(f"There is a document {id_name(id)} again.")
    if not rows:
        return nothing(f"{archive.ns} holds nothing of {id_name(id)} any more.")
    highest = max(rows, key=lambda row: place_of(_version_in(layout, row)) or 0)
    if not named(item, archive.ns, [highest]):
        return Prepared("changed", f"{archive.ns} got {version_name(_version_in(layout, highest))} since the scan")
    p, stamp, v = layout.profile, ground.stamp(), _version_in(layout, highest)
    following = numbering.following(v, p, stamp.at)
    own = [("_id", id)] if p.id == "_id" else [("_id", Value.of(stamp.row)), (p.id, id)]
    rest = [(name, value) for name, value in c.fields(highest) if name not in ("_id", p.archive_id, p.id)]
    # Not with its old number: the archive holds a row of that, and it would look like a copy.
    raw = c.put(c.document([*own, *rest]), (p.version,), following)
    if p.token:
        raw = c.put(raw, (p.token,), Value.of(stamp.token))
    if p.at and c.get(highest, (p.at,)) is not None:
        raw = c.put(raw, (p.at,), Value.of(stamp.at))
    for name, value in layout.foreign.moved(highest).items():  # the number that the document had may be known outside
        raw = c.put(raw, (name,), value)
    step = ground.inserted(layout.ns, "the document", raw, f"{version_name(v)} again, as {version_name(following)}")
    # If the id is not _id, no unique index is sure to refuse a second document.
    step = replace(step, last=lambda: _twice(ground, layout, id, step))
    return Prepared(
        "would",
        f"{version_name(v)}, as {version_name(following)} of a document",
        f"{version_name(v)} is a document again, as {version_name(following)}.",
        (*_counter(ground, layout, id, following), step),
        "One insert, which the unique index on _id refuses if somebody was faster. The archive is not touched.",
    )


def _twice(ground: RepairContext, layout: Layout, id: Value, step: Step) -> str:
    others = [raw for raw in ground.having(layout.ns, layout.profile.id, id) if physical(raw) != step.physical]
    return f"somebody made another document {id_name(id)} meanwhile" if others else ""


def archive_current(ground: RepairContext, item: Item) -> Prepared:
    """Insert the current version into the archive, if its feed has left it out."""
    layout, archive, id = _subject(ground, item)
    current = ground.current(layout, id)
    if current is None:
        return nothing(f"{id_name(id)} is gone.")
    v, p = _version_in(layout, current), layout.profile
    if v is None or place_of(v) is None:
        return refused(f"The version of {id_name(id)} is not a number; settle that first.")
    if _copies(ground, archive, id, v):
        return nothing(f"{archive.ns} holds {version_name(v)} now.")
    if archive.names_itself(current):
        return refused(
            f"{id_name(id)} has a field {p.archive_id} of its own, in which {archive.ns} keeps the document's "
            "id; name archive_id otherwise in a profile."
        )
    row = archive.row_of(_row_id(archive, current, ground), id, current)
    step = ground.inserted(archive.ns, f"{version_name(v)} in the archive", row, "the row that is missing")
    sure = is_unique(ground.server, archive.ns, (p.archive_id, p.version))

    def last() -> str:
        """Whether to undo: without a unique index the feed may have inserted its row at the same moment."""
        others = [raw for raw in _copies(ground, archive, id, v) if physical(raw) != step.physical]
        return "the feed has brought the same version meanwhile" if others and not sure else ""

    step = replace(step, last=last)
    guard = f"the unique index on {p.archive_id} and {p.version}" if sure else "a look before and behind it"
    return Prepared(
        "would",
        f"{version_name(v)}, in {archive.ns}",
        f"{version_name(v)} is in {archive.ns} now.",
        (step,),
        f"One insert; {guard} keeps it from being stored twice. Nothing existing is overwritten.",
    )


def _row_id(archive: ArchiveReader, current: bytes, ground: RepairContext) -> Value:
    """An ``_id`` that concurrent repairs both choose, as old as the version's token."""
    token = c.get(current, (archive.profile.token,)) if archive.profile.token else None
    if token is None or token.type != c.OBJECT_ID:
        return Value.of(ground.stamp().row)
    # Derived, so that the index on `_id` lets only one of two repairs insert it, even where no other index would.
    rest = hashlib.sha256(archive.ns.encode() + b"\x00" + current).digest()[:8]
    return Value(c.OBJECT_ID, token.data[:4] + rest)


def _copies(ground: RepairContext, archive: ArchiveReader, id: Value, v: Value) -> list[bytes]:
    name = (archive.profile.version,)
    return [row for row in _rows(ground, archive, id) if place_of(c.get(row, name)) == place_of(v)]
