"""Values corrected in place: versions and hashes in stored documents, each in one guarded update."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from model.layouts.base import Layout
from model.repair.items import Item
from model.repair.steps import Prepared, RepairContext, Step, nothing, refused
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Path, Value


def holding(ground: RepairContext, item: Item) -> tuple[Layout, Value, bytes] | Prepared:
    """The layout, id and document of a finding about an embedded history; or why there is none."""
    layout, id = ground.layouts(item.finding.ns), item.finding.id
    if not layout.within or id is None:
        return refused(f"{layout.ns} is taken for {layout.name} here, which has no array; state its layout.")
    raw = ground.current(layout, id)
    return nothing(f"{id_name(id)} is gone.") if raw is None else (layout, id, raw)


def put_right(
    ground: RepairContext,
    item: Item,
    note: str,
    right: Callable[[str, bytes], Iterable[tuple[Path, Value, str]]],
    row: str = "the document",
) -> tuple[tuple[Step, ...], str]:
    """The updates that correct wrong values, one for each document in the plan, with the changes in words.

    ``right`` takes a collection and a stored document; it yields the path of each wrong value, the right value, and
    both in words ("a becomes b"). ``row`` is the word for a document of another collection.
    """
    steps: list[Step] = []
    said: dict[str, None] = {}
    for each in item.seen:
        raw = after = ground.at(each.ns, each.id)
        if raw is None or after is None:
            continue
        for path, value, words in right(each.ns, raw):
            after = c.put(after, path, value)
            said[words] = None
        if after != raw:
            label = "the document" if each.ns == item.finding.ns else row
            steps.append(ground.swapped(each.ns, label, raw, after, note))
    return tuple(steps), ", ".join(said)
