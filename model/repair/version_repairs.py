"""Repairs of versions that are documents of their own: duplicates, the newest version's flag, numbers of a wrong
type.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from model import text
from model.errors import Refused
from model.layouts.base import Layout
from model.repair import quarantine
from model.repair.field_repairs import put_right
from model.repair.items import Item
from model.repair.steps import Prepared, RepairContext, Step, kept_in, named, nothing, physical, refused, seen
from model.storage.outlines import is_flagged
from model.storage.reserved_fields import number_of, place_of, version_damage, whole_number
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value

# --- V1


def remove_duplicate(ground: RepairContext, item: Item) -> Prepared:
    """Delete all but one of several stored versions with equal numbers and contents."""
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    ns = item.seen[0].ns if item.seen else layout.ns
    name = layout.profile.archive_id if ns != layout.ns else layout.profile.id
    if id is None or not item.finding.versions:
        return refused("The plan does not say which version this is about.")
    place, v = place_of(item.finding.versions[0]), version_name(item.finding.versions[0])
    same = [raw for raw in ground.having(ns, name, id) if place_of(c.get(raw, (layout.profile.version,))) == place]
    if len(same) < 2:
        return nothing(f"{v} of {id_name(id)} is stored once now.")
    contents = {layout.comparable(ns, raw) for raw in same}
    if len(contents) > 1:
        return refused(f"The stored {v} of {id_name(id)} differ, and which of them is right is for a person to say.")
    known = named(item, ns, same)
    if len(known) < len(same):
        return Prepared("changed", f"{v} of {id_name(id)} was stored once more since")
    # With this order every repair keeps the same one.
    keeper, *others = sorted(same, key=lambda raw: (not _is_current(layout, raw), _order(physical(raw))))

    def step(raw: bytes) -> Step:
        found = ground.removed(ns, f"{v}, stored twice", raw, f"the second {v} is deleted")
        last = lambda: _trouble_with_keeper(ground, layout, ns, keeper, place)  # noqa: E731 - one line reads best here
        return replace(found, last=last, beside=(seen(ns, keeper),))

    return Prepared(
        "would",
        f"all but one of the {len(same)} stored {v}" if len(same) > 2 else f"the second {v}",
        f"{v} is stored once now; {kept_in(ns)}.",
        tuple(map(step, others)),
        f"First a copy goes to {quarantine.place(ns)}, then the second {v} is deleted if every byte of it is as it was "
        "seen. The one that stays is read again behind it; is it gone, the deleted one is put back.",
    )


def bring_back(ground: RepairContext, item: Item) -> Prepared | None:
    """Bring one of the deleted duplicates back if the one to keep is gone; None if it is there."""
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    if id is None or not item.seen or not item.finding.versions:
        return None
    ns, place = item.seen[0].ns, place_of(item.finding.versions[0])
    name = layout.profile.archive_id if ns != layout.ns else layout.profile.id
    found = [c.get(raw, (layout.profile.version,)) for raw in ground.having(ns, name, id)]
    if not found or any(place_of(v) == place for v in found):
        return None  # somebody deleted the document, or a copy exists
    for each in item.seen:
        if (kept := quarantine.find(ground.server, ns, each.id, each.sha256)) is not None:
            _, doc = kept
            v = version_name(item.finding.versions[0])
            step = ground.inserted(ns, v, doc, f"{v} is put back")
            step = replace(step, extra={"second": "yes"})  # the copy stays: a delete in doubt may land later
            said = "it is put back, as the one that was to stay is gone"
            done = f"{v} was put back, as the one that was to stay is gone."
            return Prepared("would", said, done, (step,), "One insert of the very bytes that the quarantine kept.")
    return None


def _is_current(layout: Layout, raw: bytes) -> bool:
    return layout.flags_newest and is_flagged(c.get(raw, (layout.profile.current,)))


def _order(id: Value) -> tuple[int, bytes]:
    return id.type, id.data


def _trouble_with_keeper(ground: RepairContext, layout: Layout, ns: str, keeper: bytes, place: int | None) -> str:
    """What is wrong if the version to keep is gone or changed; "" if it is there."""
    now = ground.at(ns, physical(keeper))
    if now is not None and place_of(c.get(now, (layout.profile.version,))) == place:
        if layout.comparable(ns, now) == layout.comparable(ns, keeper):
            return ""
        return "the one that stays was changed meanwhile"
    return "the one that was to stay is gone"


# --- C1


def set_current_flag(ground: RepairContext, item: Item) -> Prepared:
    """Flag the highest version, then remove the flag from all lower ones."""
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    p = layout.profile
    if id is None or not layout.flags_newest:
        return refused(f"{layout.ns} is taken for {layout.name} here, which has no flag; state its layout.")
    versions = list(ground.having(layout.ns, p.id, id))
    if not versions:
        return nothing(f"{id_name(id)} is gone.")
    if odd := [raw for raw in versions if version_damage(c.get(raw, (p.version,)))]:
        return refused(f"{version_name(c.get(odd[0], (p.version,)))} is not a number; settle that first.")
    versions.sort(key=lambda raw: place_of(c.get(raw, (p.version,))) or 0)
    top = place_of(c.get(versions[-1], (p.version,)))
    highest = [raw for raw in versions if place_of(c.get(raw, (p.version,))) == top]
    if len(highest) > 1:
        v = version_name(c.get(highest[0], (p.version,)))
        return refused(f"{v} is stored {len(highest)} times; settle that first.")
    newest = highest[0]
    begun = any(ground.ours_at(layout.ns, physical(raw)) for raw in versions)
    if not begun and not named(item, layout.ns, [newest]):
        return Prepared("changed", f"{id_name(id)} got {version_name(c.get(newest, (p.version,)))} since the scan")
    steps = _flag_moved(ground, layout, versions, newest)
    v = version_name(c.get(newest, (p.version,)))
    if not steps:
        return nothing(f"{v} alone carries {p.current}.")
    return Prepared(
        "would",
        f"{v} alone would carry {p.current}",
        f"{v} alone carries {p.current} now.",
        tuple(steps),
        f"First {v}, the highest version, gets {p.current} where it has none; then each version below loses it. Each "
        "write applies only if that version is as it was seen, and afterwards all is read again until it is right.",
    )


def _flag_moved(ground: RepairContext, layout: Layout, versions: list[bytes], newest: bytes) -> list[Step]:
    """The writes that give the newest version the flag, then take it from all others."""
    p = layout.profile
    steps: list[Step] = []
    flags = [flag for raw in versions if (flag := c.get(raw, (p.current,))) is not None]
    if not is_flagged(c.get(newest, (p.current,))):
        v = version_name(c.get(newest, (p.version,)))
        yes = next(filter(is_flagged, flags), Value.of(True))  # the value that this collection uses for the flag
        after = c.put(newest, (p.current,), yes)
        steps.append(ground.swapped(layout.ns, v, newest, after, f"{v} gets {p.current}"))
    # As the collection itself says "not current": false, 0 or no field at all.
    no = next((flag for flag in flags if not is_flagged(flag)), None)
    for raw in versions:
        if raw is newest or not is_flagged(c.get(raw, (p.current,))):
            continue
        v = version_name(c.get(raw, (p.version,)))
        after = c.drop(raw, (p.current,)) if no is None else c.put(raw, (p.current,), no)
        steps.append(ground.swapped(layout.ns, v, raw, after, f"{v} loses {p.current}"))
    return steps


# --- V3


def convert_version(ground: RepairContext, item: Item) -> Prepared:
    """Give a version the whole number that a person says."""
    layout, name = ground.layouts(item.finding.ns), ground.layouts(item.finding.ns).profile.version

    def right(ns: str, raw: bytes) -> Iterator[tuple[c.Path, Value, str]]:
        for path in ((*part, name) for part in layout.parts(raw)):
            v = c.get(raw, path)
            if v is not None and version_damage(v):
                number = _number(item, v)
                yield path, number, f"{text.shown(v)} becomes {text.shown(number)}"

    steps, said = put_right(ground, item, "the version becomes a whole number", right, "the archive's row")
    if not steps:
        return nothing("Every version of it is a whole number now.")
    return Prepared(
        "would",
        said,
        f"{said.replace(' becomes ', ' is now ')}.",
        steps,
        "One update of the version, which applies only if every byte of the document is as it was seen.",
    )


def _number(item: Item, v: Value) -> Value:
    answer = item.answer or ""
    number = number_of(v) if answer == "convert" else number_of(text.value_from_text(answer))
    if number is None:
        raise Refused(f"{text.shown(v)} does not stand for a whole number; say in the plan which one it is.")
    return whole_number(number)
