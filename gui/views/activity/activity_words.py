"""The texts and symbols of a change: its kind, its author, its fields."""

from __future__ import annotations

from gui.language import tr
from gui.style import preferences, wording
from gui.style.cells import Badge, Cell, Span, plain, value
from model import text
from model.session.through_time import Activity, ChangedValue
from model.text.paths import path_text

KINDS = {
    "created": tr("created"),
    "edited": tr("edited"),
    "merged": tr("merged"),
    "restored": tr("restored"),
    "deleted": tr("deleted"),
    "unknown": tr("not known"),
}
_SIGNS = {"created": "add", "edited": "replace", "deleted": "remove"}
_ICONS = {"restored": "arrow-counter-clockwise", "merged": "git-merge", "unknown": "question"}
MODES = (tr("Changes"), tr("Live"))
GAP = Badge(tr("gap"), "warn", "warnT")
CLOCK = Badge(tr("clock"), "warn", "warnT")
FIELDS = 30  # paths in a cell; screens show fewer


def change_cell(row: Activity, column: int) -> Cell:
    """A change's cell after its time, in the columns that all lists of changes share."""
    match column:
        case 1:
            return author_cell(row)
        case 2:
            return value(wording.plain(row.id), middle=True)
        case 3:
            return plain(row.ns, "text2", middle=True, size=12)
        case 4:
            return value(version_said(row), "text2")
        case 5:
            return kind_cell(row)
        case 6:
            return fields_cell(row)
    return plain(row.reason or "", "text2", size=12)


def kind_cell(row: Activity) -> Cell:
    """A change's kind: a symbol and a word, with a badge after a gap."""
    if not row.landed:
        tip = tr(
            "It is in the archive, above the current version: its edit never reached the document. Nobody counts it."
        )
        return Cell(spans=(Span(tr("never landed"), "text2"),), size=12, icon="question", icon_token="warn", tip=tip)
    said = KINDS[row.kind]
    if row.kind == "unknown":
        tip = tr("The version before it is missing or cannot be read, so what it changed is not known.")
        return Cell(spans=(Span(said, "text2"),), size=12, badges=(GAP,), icon="question", icon_token="warn", tip=tip)
    spans = (Span(said),)
    if row.kind in _SIGNS:
        return Cell(spans=spans, size=12, change=_SIGNS[row.kind], accessible=said)
    return Cell(spans=spans, size=12, icon=_ICONS[row.kind])


def moment_cell(row: Activity, time_only: bool) -> Cell:
    """Its time; with a badge if that contradicts the order of versions."""
    if row.at is None:
        return plain(tr("no date"), "text3", size=12)
    whole = wording.moment(row.at)
    said = whole[-5:] if time_only else whole
    if not row.astray:
        return plain(said, size=12, tip=whole)
    tip = tr("{moment} lies before the time of an earlier version: a clock was wrong.", moment=whole)
    return plain(said, size=12, badges=(CLOCK,), tip=tip, accessible=f"{said}, {tip}")


def author_cell(row: Activity) -> Cell:
    """Its author."""
    return plain(row.author or tr("not known"), "text2" if row.author else "text3", size=12)


def fields_cell(row: Activity) -> Cell:
    """The fields that it set; a single one with both values, which the tooltip has of others too."""
    changes = [f"{path_text(each.path)}: {values_said(each)}" for each in row.values]
    said = changes[0] if len(row.paths) == 1 and changes else fields_said(row)
    return value(said, tip="\n".join([fields_said(row, 2 * FIELDS), *changes]))


def values_said(changed: ChangedValue) -> str:
    """``561.37 → 587.02``; a value that was not there is left out."""
    zone = preferences.zone()
    old, new = ("" if each is None else text.shown(each, zone) for each in (changed.old, changed.new))
    return f"{old} → {new}".strip()


def fields_said(row: Activity, most: int = FIELDS) -> str:
    """The paths that a change set, separated by commas."""
    said = ", ".join(map(path_text, row.paths[:most]))
    more = len(row.paths) - most
    return tr("{fields} and {more} more", fields=said, more=wording.count(more)) if more > 0 else said


def version_said(row: Activity) -> str:
    """The version's name; "" if only the document's absence shows its deletion."""
    return "" if row.v is None else wording.version(row.v)


def compare_said(row: Activity) -> str:
    """The text of the action that compares a change with the version before it."""
    if row.v is None or row.older is None:
        return tr("Show {name}", name=version_said(row) or tr("the versions"))
    return tr("Compare {older} and {newer}", older=wording.version(row.older), newer=version_said(row))
