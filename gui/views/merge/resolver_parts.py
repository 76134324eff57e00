"""The resolver's frame: above, the edit and how much waits; below, the three choices and the result's head."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QPushButton, QVBoxLayout, QWidget

from gui.language import tr
from gui.parts.notices import Pill
from gui.parts.reason_line import ReasonLine
from gui.style import boxes, theme, wording
from gui.style.states import OneLine, button, tool, words
from gui.style.wording import keys, many, version
from gui.views.merge.decision_table import clash, renamed
from gui.views.merge.resolution import Resolution
from model import text
from model.merge import Decision

TITLE, SAID = 300, 120  # u that a row's text keeps beside its buttons
WAYS = (("base", "Ctrl+1"), ("mine", "Ctrl+2"), ("theirs", "Ctrl+3"))


class MergeHead:
    """Title, Undo, Discard my edit…, how much is unresolved, Save."""

    def __init__(self) -> None:
        self.bar = boxes.ground(QWidget(), "surface")
        row = boxes.wrapping(self.bar, y=8, least=68)
        said = QVBoxLayout()
        said.setSpacing(theme.px(2))
        said.addStretch(1)
        self.title = OneLine("title")
        self.title.setText(tr("Merge your edit"))
        self.title.setMinimumWidth(theme.px(TITLE))  # with less room the buttons wrap
        self.line = words("", "second", wrap=True)
        said.addWidget(self.title)
        said.addWidget(self.line)
        said.addStretch(1)
        row.addLayout(said, 1)
        self.reason = ReasonLine()
        self.reason.setMaximumWidth(theme.px(260))
        row.addWidget(self.reason, 1)
        self.undo = button(tr("Undo"), None, "quiet", icon="arrow-counter-clockwise")
        self.undo.setAccessibleName(tr("Undo"))
        self.discard = button(tr("Discard my edit…"), None)
        self.count = Pill()
        self.save = button(tr("Save"), None, "main")
        row.addWidget(self.undo)
        row.addSpacing(theme.px(4))
        row.addWidget(self.discard)
        row.addSpacing(theme.px(4))
        ends = boxes.row(x=0, y=0)
        ends.addWidget(self.count)
        ends.addWidget(self.save)
        row.addLayout(ends)

    def show(self, resolution: Resolution, following: str, keeps_draft: bool, in_doubt: bool) -> None:
        """Say which edit is merged, whether it is kept as a draft, and that nothing was written, if that is certain."""
        conflict = resolution.conflict
        was, now = version(conflict.base.v), version(conflict.theirs.v) if conflict.theirs is not None else ""
        lead = (
            tr("You opened {was}. The database is at {now} now.", was=was, now=now)
            if was and now
            else tr("The document changed meanwhile.")
        )
        if in_doubt:
            kept = tr("Your edit is kept.") if keeps_draft else ""
        else:
            kept = tr("Your edit is kept; nothing was written.") if keeps_draft else tr("Nothing was written.")
        self.line.setText(f"{lead} {kept}".strip())
        self.save.setText(tr("Save as {following}", following=following) if following else tr("Save"))

    def show_state(self, resolution: Resolution, reason: str) -> None:
        """Show how much waits, and if the result cannot be saved, why."""
        waiting = resolution.unresolved
        if waiting:
            self.count.put(tr("{waiting} unresolved", waiting=waiting), "warn", "warnT", "conflict")
        else:
            self.count.put(
                tr("All resolved") if resolution.asked else tr("Nothing to decide"), "acc", "accTint", "check"
            )
        self.save.setEnabled(not reason)
        self.save.setToolTip(
            wording.tip(reason or tr("Save over what is in the database, unless it changed again (Ctrl+S)"))
        )
        self.save.setAccessibleDescription(reason)
        title = resolution.undo_title
        self.undo.setEnabled(bool(title))
        self.undo.setToolTip(wording.tip(tr("Undo: {title} (Ctrl+Z)", title=title)) if title else tr("Nothing to undo"))


class ConflictBar:
    """The three choices for the current row, and the buttons to the other conflicts."""

    def __init__(self, owner: QWidget) -> None:
        self.bar = boxes.ground(QWidget(), "sunken")
        row = boxes.wrapping(self.bar, y=8, least=56)
        self.which = words("", "head")
        self.said = OneLine("body2")
        self.said.setMinimumWidth(theme.px(SAID))
        row.addWidget(self.which)
        row.addWidget(self.said, 1)
        self.ways: dict[str, QPushButton] = {}
        ways, steps = boxes.row(x=0, y=0), boxes.row(x=0, y=0)
        for side in ("base", "mine", "theirs", "both"):
            self.ways[side] = button("", None)
            ways.addWidget(self.ways[side])
        row.addLayout(ways)
        self.up = tool("arrow-up", tr("Previous conflict (Ctrl+PgUp)"), side=32)
        self.down = tool("arrow-down", tr("Next conflict (Ctrl+PgDown)"), side=32)
        for made in (self.up, self.down):
            made.setProperty("boxed", True)
            steps.addWidget(made)
        row.addLayout(steps)
        self.is_narrow = False
        owner.setTabOrder(self.ways["both"], self.up)

    def show(self, resolution: Resolution, row: int) -> None:
        """Show the current row's conflict, and offer its choices."""
        decision = resolution.decision(row) if row >= 0 else None
        was = version(resolution.conflict.base.v)
        labels = {
            "base": tr("Keep {was}", was=was) if was else tr("Keep as it was"),
            "mine": tr("Use mine"),
            "theirs": tr("Use database"),
        }
        for side, way in WAYS:
            made, key = self.ways[side], keys(way)
            made.setText(labels[side] if self.is_narrow else f"{labels[side]}   {key}")
            made.setAccessibleName(labels[side])
            made.setToolTip(
                wording.tip(tr("{labels} ({key}); with Shift for everything unresolved", labels=labels[side], key=key))
            )
            made.setEnabled(decision is not None)
        self.ways["both"].setText(tr("Both"))
        self.ways["both"].setToolTip(tr("Keep both, mine first"))
        self.ways["both"].setVisible(decision is not None and decision.both is not None)
        several = resolution.asked > 0
        self.up.setEnabled(several)
        self.down.setEnabled(several)
        self.which.setText(
            tr("Conflict {row} of {asked}", row=row + 1, asked=resolution.asked) if 0 <= row < resolution.asked else ""
        )
        self.which.setVisible(bool(self.which.text()))
        said = sentence(decision, resolution) if decision is not None else tr("Choose a row above.")
        if decision is None and not resolution.rows:
            said = tr("Nothing differs from what is in the database.")
        self.said.setText(said)


def sentence(decision: Decision, resolution: Resolution) -> str:
    """One decision in a sentence."""
    theirs = resolution.conflict.theirs
    other = (theirs.author if theirs is not None else None) or tr("someone else")
    hint = f"; {also}" if (also := renamed(decision)) else ""
    if not decision.open and decision.conflict:
        return tr("{place}: decided; choose again to change your mind.", place=decision.place)
    if not decision.conflict:
        if decision.who == "both":
            return tr(
                "{place}: you and {other} changed it, and both changes fit together{hint}.",
                place=decision.place,
                other=other,
                hint=hint,
            )
        return tr(
            "{place}: only {how} changed it{hint}.",
            place=decision.place,
            how=tr("you") if decision.who == "mine" else other,
            hint=hint,
        )
    if decision.kind == "changed" or clash(decision) == tr("both changed it"):
        return tr(
            "{place}: you and {other} changed it in different ways{hint}.", place=decision.place, other=other, hint=hint
        )
    words_of = {
        tr("both added it"): tr("you and {other} added it with different values", other=other),
        tr("you removed it, the database changed it"): tr("you removed it, {other} changed it", other=other),
        tr("the database removed it, you changed it"): tr("{other} removed it, you changed it", other=other),
        tr("you removed it, the database moved it"): tr("you removed it, {other} moved it", other=other),
        tr("the database removed it, you moved it"): tr("{other} removed it, you moved it", other=other),
        tr("both reordered it"): tr("you and {other} put it into different orders", other=other),
        tr("both added here"): tr("you and {other} added different elements at the same place", other=other),
    }
    return f"{decision.place}: {words_of[clash(decision)]}{hint}."


class ResultHead(QWidget):
    """The row above the result: the version it is saved over, the differences from that, Tree | JSON."""

    view_chosen = Signal(bool)  # whether JSON

    def __init__(self) -> None:
        super().__init__()
        boxes.ground(self, "surface")
        self.setFixedHeight(theme.px(40))
        row = boxes.row(self, 16, 0, gap=0)
        self.against = words("", "second")
        self.differs = OneLine("second")
        self.differs.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(words(tr("Result"), "head"))
        row.addSpacing(theme.px(8))
        row.addWidget(self.against)
        row.addSpacing(theme.px(16))
        row.addWidget(self.differs, 1)
        row.addSpacing(theme.px(16))
        choice, self.views = boxes.segments(self, (tr("Tree"), "JSON"), tr("Result as {}"))
        row.addLayout(choice)
        self.views.idToggled.connect(self._chosen)

    def _chosen(self, which: int, on: bool) -> None:
        if on:
            self.view_chosen.emit(which == 1)

    def show_result(self, now: str, following: str, differing: list[str], waiting: int) -> None:
        """Show in which fields the result differs from the database."""
        self.against.setText(
            tr("what would be saved as {following}, against {now}", following=following, now=now)
            if following and now
            else tr("what would be saved")
        )
        named = differing if len(differing) <= 2 else [*differing[:1], many(len(differing) - 1, "more field")]
        where = tr(" and ").join(named)
        there = now or tr("the database")
        still = tr("{fields} still to decide", fields=many(waiting, "field")) if waiting else ""
        if where and still:
            said = tr("Differs from {there} in {where}, and in {still}", there=there, where=where, still=still)
        elif where or still:
            said = tr("Differs from {there} in {where}", there=there, where=where or still)
        else:
            said = tr("The same as {there}", there=there)
        self.differs.setText(said)


__all__ = ["WAYS", "ConflictBar", "MergeHead", "ResultHead", "sentence", "text"]
