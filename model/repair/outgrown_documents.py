"""Moves the earlier versions of a document near the server's size limit into a second collection.

First each version is inserted as a row, then one update removes them from the document, if every byte of it is still
as it was read. A run that dies between leaves copies, which the next run recognises as its own.
"""

from __future__ import annotations

import hashlib

from msgspec.structs import replace

from model.checks.embedded_chain import NEAR_FULL
from model.errors import Refused
from model.layouts.base import Layout
from model.repair.field_repairs import holding
from model.repair.items import Item
from model.repair.steps import Prepared, RepairContext, Step, nothing, refused, seen
from model.server.guards import LARGEST
from model.storage import overflow_archive
from model.storage.indexes import is_unique
from model.storage.reserved_fields import number_of, version_damage
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

FEW, SMALL = 10, 64 << 10
"""So many of the newest earlier versions stay in the document, unless they take more bytes than this."""
_ROOM = 8 << 10  # bytes of a command besides the document and the written values


def move_to_archive(ground: RepairContext, item: Item) -> Prepared:
    """Move all earlier versions except the newest few into a second collection, where the history finds them."""
    here = holding(ground, item)
    if isinstance(here, Prepared):
        return here
    layout, id, raw = here
    if len(raw) < NEAR_FULL:
        return nothing(f"{id_name(id)} is far from full now.")
    p, place = layout.profile, overflow_archive.place(layout.profile)
    prev = c.get(raw, (p.prev,))
    past = _in_order(layout, id, raw, c.items(prev) if prev is not None and prev.type == c.ARRAY else [])
    stay = _staying(past, len(raw))
    go = past[: len(past) - stay]
    if not go:
        return refused(f"The current version alone makes {id_name(id)} large; there is nothing to move.")
    steps: list[Step] = []
    held = seen(layout.ns, raw)  # undo removes a row only if the document holds its version again
    there = {number_of(c.get(row, (p.version,))): row for row in overflow_archive.rows(ground.server, p, id)}
    for each in go:
        v = c.get(each.data, (p.version,))
        row = c.document([("_id", _key(place, id, each, p.token)), (p.archive_id, id), *c.fields(each.data)])
        found = there.get(number_of(v))
        if found is None:
            step = ground.inserted(place, f"{version_name(v)} in {place}", row, "the version as a row")
            steps.append(replace(step, beside=(held,)))
        elif c.without(found, ("_id", p.archive_id)) != each.data:
            return refused(
                f"{place} holds another {version_name(v)} of {id_name(id)}; a person has to decide which is right."
            )
    after = c.put(raw, (p.prev,), c.array(past[len(go) :]))
    if len(after) >= NEAR_FULL:
        return refused(f"The current version alone makes {id_name(id)} large; moving the others does not help.")
    said = _range(go, p.version)
    steps.append(ground.swapped(layout.ns, "the document", raw, after, f"{said} are taken out of {p.prev}"))
    return Prepared(
        "would",
        f"{said}, to {place}; {p.prev} keeps {f'the newest {stay}' if stay else 'none'}",
        f"{said} {'is' if len(go) == 1 else 'are'} in {place} now, and the document has "
        f"{len(after) / (1 << 20):.1f} MiB. Programs that read {p.prev} themselves find the older ones there.",
        tuple(steps),
        f"First each version is inserted into {place} as it stands; then one update takes them out of {p.prev}, which "
        "applies only if every byte of the document is as it was seen. Undo brings them back.",
    )


def _in_order(layout: Layout, id: Value, raw: bytes, past: list[Value]) -> list[Value]:
    """The earlier versions, oldest first and each once; raises ``Refused`` if a person must decide that.

    So large a document cannot be sorted first: its array and guard together exceed the size of a command.
    """
    p, now = layout.profile, c.get(raw, (layout.profile.current,))
    if now is None or now.type != c.OBJECT or (top := number_of(c.get(now.data, (p.version,)))) is None:
        raise Refused(f"{p.current} of {id_name(id)} is not a version with a number; settle that first.")
    kept: dict[int, Value] = {top: now}
    for each in past:
        v = c.get(each.data, (p.version,)) if each.type == c.OBJECT else None
        number = number_of(v)
        if v is None or number is None or v.type == c.DATE or version_damage(v) or not 0 < number <= top:
            said = version_name(v) if v is not None else "something that is not a version"
            raise Refused(
                f"{p.prev} of {id_name(id)} holds {said}, which has no place below v{top}; settle that first."
            )
        there = kept.setdefault(number, each)
        if there is not each and layout.own.content(there.data) != layout.own.content(each.data):
            raise Refused(f"{version_name(v)} is there with different contents; a person has to decide which is right.")
        taken = [name for name, _ in c.fields(each.data) if name in ("_id", p.archive_id)]
        if taken:
            raise Refused(
                f"{version_name(v)} has a field {taken[0]!r} of its own; name archive_id otherwise in a profile."
            )
    return [kept[number] for number in sorted(kept) if number != top]


def _staying(past: list[Value], size: int) -> int:
    """The number of newest earlier versions that stay; fewer if the guard leaves no room to write them."""
    room, stay = min(SMALL, LARGEST - size - _ROOM), 0
    for each in reversed(past):
        room -= len(each.data) + 16
        if room < 0 or stay == FEW:
            break
        stay += 1
    return stay


def _key(place: str, id: Value, part: Value, token: str) -> Value:
    """The ``_id`` of a row: equal for all who move this version, and as old as its token."""
    said = hashlib.sha256(b"\x00".join((place.encode(), bytes([id.type]), id.data, part.data))).digest()
    made = c.get(part.data, (token,)) if token else None
    time = made.data[:4] if made is not None and made.type == c.OBJECT_ID else bytes(4)
    return Value(c.OBJECT_ID, time + said[:8])


def _range(parts: list[Value], name: str) -> str:
    first, last = (version_name(c.get(part.data, (name,))) for part in (parts[0], parts[-1]))
    return first if len(parts) == 1 else f"{first} to {last}"


def index_offer(ground: RepairContext, item: Item) -> str:
    """The index that makes the rows fast to find, as an offer: it is never created automatically."""
    p = ground.layouts(item.finding.ns).profile
    place = overflow_archive.place(p)
    if is_unique(ground.server, place, (p.archive_id, p.version)):
        return ""
    name = place.partition(".")[2]
    return (
        f"To find what was moved fast, create a unique index on {p.archive_id} and {p.version} of {place}: "
        f"db.getCollection({name!r}).createIndex({{{p.archive_id}: 1, {p.version}: 1}}, {{unique: true}})."
    )
