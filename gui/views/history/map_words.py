"""The change map's text about the cell under its crosshair."""

from __future__ import annotations

from collections.abc import Sequence

from gui.language import tr, translated
from gui.style import preferences, wording
from gui.style.cells import Span
from gui.views.history.map_model import DID, MapModel, MapRow, listed
from gui.views.history.map_painter import version_name
from model import text
from model.foundation.records import Version
from model.session.history_reading import Key, SeenValue, locate
from model.values import canonical
from model.values.canonical import Value


def happened(model: MapModel, row: MapRow, column: int) -> Sequence[Span]:
    """What happened to the field in a cell, when and by whom."""
    mark = row.by_column.get(column)
    field, name = Span(row.name, weight=600), version_name(model, column)
    version = model.versions[column]
    if mark is not None:
        set_in = model.versions[mark.column]
        by = tr(" by {author}", author=set_in.author) if set_in.author else ""
        on = wording.moment(set_in.at)
        did = DID[mark.op]
        if mark.first < mark.column:
            stretch = f"{version_name(model, mark.first)}–{version_name(model, mark.column)}"
            at_last = tr("on {on} at the latest", on=on) if on else ""
            return (
                field,
                Span(tr("was {did} somewhere in", did=did), "text2", sans=True),
                Span(stretch, weight=600),
                Span(at_last, "text2", sans=True),
            )
        return (
            field,
            Span(tr("was {did} in", did=did), "text2", sans=True),
            Span(name, weight=600),
            Span(tr("on {on}{by}", on=on, by=by) if on else by.strip(), "text2", sans=True),
        )
    at = Span(name, weight=600)
    if version.state == "missing":
        said = tr("is missing: {detail}", detail=translated(version.detail) or tr("retention or loss"))
        return field, Span(tr("in"), "text2", sans=True), at, Span(said, "text2", sans=True)
    if not model.readable(column):
        return at, Span(
            tr("takes no part: {detail}", detail=translated(version.detail) or translated(version.state)),
            "text2",
            sans=True,
        )
    if row.seen(column) is None and row.track.key:
        return field, Span(tr("is not there in"), "text2", sans=True), at
    setter = row.setter(column)
    if setter is None:
        return (
            field,
            Span(tr("in"), "text2", sans=True),
            at,
            Span(tr("is as it was from the start"), "text2", sans=True),
        )
    since = tr("is as it was {did} in", did=DID[setter.op])
    return (
        field,
        Span(tr("in"), "text2", sans=True),
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
        spans.append(Span(tr("   together with {listed}", listed=listed(others)), "text2", sans=True))
    return spans


def shown(seen: SeenValue | None, zone: str) -> str:
    """A value on one line: itself, or its length."""
    if seen is None:
        return ""
    return wording.size(seen.size) if seen.value is None else text.shown(seen.value, zone, 80)


def value_at(version: Version, key: Key, keys: Sequence[str]) -> Value | None:
    """The value of a field in a version; ``keys`` are those of its versions' arrays."""
    if version.content is None:
        return None
    path = locate(version.content, key, keys)
    return canonical.get(version.content, path) if path is not None else None
