"""The change map's words about the cell under its crosshair."""

from __future__ import annotations

from collections.abc import Sequence

from gui.style import preferences, wording
from gui.style.cells import Span
from gui.views.history.map_model import DID, MapModel, MapRow, listed
from gui.views.history.map_painter import version_name
from model import text
from model.history.chain import Key, SeenValue, locate
from model.records import Version
from model.values import canonical
from model.values.canonical import Value


def happened(model: MapModel, row: MapRow, column: int) -> Sequence[Span]:
    """The event of a cell: what happened to the field there, when and by whom."""
    mark = row.by_column.get(column)
    field, name = Span(row.name, weight=600), version_name(model, column)
    version = model.versions[column]
    if mark is not None:
        set_in = model.versions[mark.column]
        by = f" by {set_in.author}" if set_in.author else ""
        on = wording.moment(set_in.at)
        did = DID[mark.op]
        if mark.first < mark.column:
            stretch = f"{version_name(model, mark.first)}–{version_name(model, mark.column)}"
            at_last = f"on {on} at the latest" if on else ""
            return (
                field,
                Span(f"was {did} somewhere in", "text2", sans=True),
                Span(stretch, weight=600),
                Span(at_last, "text2", sans=True),
            )
        return (
            field,
            Span(f"was {did} in", "text2", sans=True),
            Span(name, weight=600),
            Span(f"on {on}{by}" if on else by.strip(), "text2", sans=True),
        )
    at = Span(name, weight=600)
    if version.state == "missing":
        said = f"is missing: {version.detail or 'retention or loss'}"
        return field, Span("in", "text2", sans=True), at, Span(said, "text2", sans=True)
    if not model.readable(column):
        return at, Span(f"takes no part: {version.detail or version.state}", "text2", sans=True)
    if row.seen(column) is None and row.track.key:
        return field, Span("is not there in", "text2", sans=True), at
    setter = row.setter(column)
    if setter is None:
        return field, Span("in", "text2", sans=True), at, Span("is as it was from the start", "text2", sans=True)
    since = f"is as it was {DID[setter.op]} in"
    return (
        field,
        Span("in", "text2", sans=True),
        at,
        Span(since, "text2", sans=True),
        Span(version_name(model, setter.column)),
    )


def values(model: MapModel, row: MapRow, column: int) -> Sequence[Span]:
    """The values before and after, their type, and the other fields that the version changed."""
    mark = row.by_column.get(column)
    zone = preferences.zone()
    if mark is None:
        seen = row.seen(column) if model.readable(column) else None
        return (Span(shown(seen, zone), weight=600), Span(seen.kind if seen else "", "text2")) if seen else ()
    before, after = mark.change.before, mark.change.after
    if before is not None and after is not None:
        kinds = before.kind if before.type == after.type else f"{before.kind} → {after.kind}"
    else:
        either = after or before
        kinds = either.kind if either else ""
    spans = [Span(shown(before, zone), "text2")] if before else []
    if before and after:
        spans.append(Span("→", "text3", sans=True))
    if after:
        spans.append(Span(shown(after, zone), weight=600))
    spans.append(Span(kinds, "text2"))
    others = model.together(row, mark.column)
    if others:
        spans.append(Span(f"   together with {listed(others)}", "text2", sans=True))
    return spans


def shown(seen: SeenValue | None, zone: str) -> str:
    """A value in a line: itself, or how long it is."""
    if seen is None:
        return ""
    return wording.size(seen.size) if seen.value is None else text.shown(seen.value, zone, 80)


def value_at(version: Version, key: Key, keys: Sequence[str]) -> Value | None:
    """The value of a field in a version, ``keys`` those of its chain."""
    if version.content is None:
        return None
    path = locate(version.content, key, keys)
    return canonical.get(version.content, path) if path is not None else None
