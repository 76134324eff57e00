"""The resolver's frame: the edit and how much waits above, the three ways below the table, the result's head."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from gui.parts.pill import Pill
from gui.style import boxes, theme, wording
from gui.style.states import OneLine, button, tool, words
from gui.style.wording import many, version
from gui.views.merge.decision_table import clash, renamed
from gui.views.merge.resolution import Resolution
from model import text
from model.merge import Decision

WAYS = (("base", "Ctrl+1"), ("mine", "Ctrl+2"), ("theirs", "Ctrl+3"))


def _bar(height: float, sunken: bool = True) -> QWidget:
    made = QWidget()
    made.setObjectName("sunken" if sunken else "surface")
    made.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
    made.setFixedHeight(theme.px(height))
    return made


class MergeHead:
    """Title, Undo, Discard my edit…, how much is unresolved, Save."""

    def __init__(self) -> None:
        self.bar = _bar(68, sunken=False)
        row = QHBoxLayout(self.bar)
        row.setContentsMargins(theme.px(16), 0, theme.px(16), 0)
        row.setSpacing(theme.px(8))
        said = QVBoxLayout()
        said.setSpacing(theme.px(2))
        said.addStretch(1)
        self.title = OneLine("title")
        self.line = OneLine("second")
        said.addWidget(self.title)
        said.addWidget(self.line)
        said.addStretch(1)
        row.addLayout(said, 1)
        self.undo = button("Undo", None, "quiet", icon="arrow-counter-clockwise")
        self.discard = button("Discard my edit…", None)
        self.count = Pill()
        self.save = button("Save", None, "main")
        row.addWidget(self.undo)
        row.addSpacing(theme.px(4))
        row.addWidget(self.discard)
        row.addSpacing(theme.px(4))
        row.addWidget(self.count)
        row.addWidget(self.save)

    def show(self, resolution: Resolution, name: str, following: str, keeps_draft: bool) -> None:
        """Say which edit is merged, and whether it is kept as a draft."""
        conflict = resolution.conflict
        was, now = version(conflict.base.v), version(conflict.theirs.v) if conflict.theirs is not None else ""
        lead = f"You opened {was}. The database is at {now} now." if was and now else "The document changed meanwhile."
        self.title.setText(f"Merge your edit of {name}")
        kept = "Your edit is kept; nothing was written." if keeps_draft else "Nothing was written."
        self.line.setText(f"{lead} {kept}")
        self.save.setText(f"Save as {following}" if following else "Save")

    def show_state(self, resolution: Resolution, reason: str) -> None:
        """Say how much waits, and why the result cannot be saved where it cannot."""
        waiting = resolution.unresolved
        if waiting:
            self.count.put(f"{waiting} unresolved", "warn", "warnT", "conflict")
        else:
            self.count.put("All resolved" if resolution.asked else "Nothing to decide", "acc", "accTint", "check")
        self.save.setEnabled(not reason)
        self.save.setToolTip(reason or "Save over what is in the database, if it is still that (Ctrl+S)")
        self.save.setAccessibleDescription(reason)
        title = resolution.undo_title
        self.undo.setEnabled(bool(title))
        self.undo.setToolTip(wording.tip(f"Undo: {title} (Ctrl+Z)") if title else "Nothing to undo")


class ConflictBar:
    """The three ways for the current row, and the way to the other conflicts."""

    def __init__(self, owner: QWidget) -> None:
        self.bar = _bar(56)
        row = QHBoxLayout(self.bar)
        row.setContentsMargins(theme.px(16), 0, theme.px(16), 0)
        row.setSpacing(theme.px(8))
        self.which = words("", "head")
        self.said = OneLine("body2")
        row.addWidget(self.which)
        row.addWidget(self.said, 1)
        self.ways: dict[str, QPushButton] = {}
        for side in ("base", "mine", "theirs", "both"):
            self.ways[side] = button("", None)
            row.addWidget(self.ways[side])
        self.up = tool("arrow-up", "Previous conflict (Ctrl+PgUp)", side=32)
        self.down = tool("arrow-down", "Next conflict (Ctrl+PgDn)", side=32)
        for made in (self.up, self.down):
            made.setProperty("boxed", True)
            row.addWidget(made)
        self.is_narrow = False
        owner.setTabOrder(self.ways["both"], self.up)

    def show(self, resolution: Resolution, row: int) -> None:
        """Say the current row's conflict, and offer its choices."""
        decision = resolution.decision(row) if row >= 0 else None
        was = version(resolution.conflict.base.v)
        labels = {"base": f"Keep {was}" if was else "Keep as it was", "mine": "Use mine", "theirs": "Use database"}
        for side, key in WAYS:
            made = self.ways[side]
            made.setText(labels[side] if self.is_narrow else f"{labels[side]}   {key}")
            made.setAccessibleName(labels[side])
            made.setToolTip(f"{labels[side]} ({key}); with Shift for everything unresolved")
            made.setEnabled(decision is not None)
        self.ways["both"].setText("Both")
        self.ways["both"].setToolTip("Keep both, mine first")
        self.ways["both"].setVisible(decision is not None and decision.both is not None)
        several = resolution.asked > 0
        self.up.setEnabled(several)
        self.down.setEnabled(several)
        self.which.setText(f"Conflict {row + 1} of {resolution.asked}" if 0 <= row < resolution.asked else "")
        self.which.setVisible(bool(self.which.text()))
        said = sentence(decision, resolution) if decision is not None else "Choose a row above."
        if decision is None and not resolution.rows:
            said = "Nothing differs from what is in the database."
        self.said.setText(said)


def sentence(decision: Decision, resolution: Resolution) -> str:
    """One decision in a sentence."""
    theirs = resolution.conflict.theirs
    other = (theirs.author if theirs is not None else None) or "someone else"
    hint = f"; {renamed(decision)}" if decision.hint else ""
    if not decision.open and decision.conflict:
        return f"{decision.place}: decided; choose again to change your mind."
    if not decision.conflict:
        if decision.who == "both":
            return f"{decision.place}: you and {other} changed it, and both changes fit together{hint}."
        return f"{decision.place}: only {'you' if decision.who == 'mine' else other} changed it{hint}."
    if decision.kind == "changed" or clash(decision) == "both changed it":
        return f"{decision.place}: you and {other} changed it in different ways{hint}."
    words_of = {
        "both added it": f"you and {other} added it with different values",
        "you removed it, the database changed it": f"you removed it, {other} changed it",
        "the database removed it, you changed it": f"{other} removed it, you changed it",
        "both ordered it anew": f"you and {other} put it into different orders",
        "both added here": f"you and {other} added different elements at the same place",
    }
    return f"{decision.place}: {words_of[clash(decision)]}{hint}."


class ResultHead(QWidget):
    """The row above the result: the version it is saved over, its differences from that, Tree | JSON."""

    view_chosen = Signal(bool)  # whether JSON

    def __init__(self) -> None:
        super().__init__()
        boxes.ground(self, "surface")
        self.setFixedHeight(theme.px(40))
        row = boxes.row(self, 16, 0, gap=0)
        self.against = words("", "second")
        self.differs = OneLine("second")
        self.differs.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(words("Result", "head"))
        row.addSpacing(theme.px(8))
        row.addWidget(self.against)
        row.addSpacing(theme.px(16))
        row.addWidget(self.differs, 1)
        row.addSpacing(theme.px(16))
        choice, self.views = boxes.segments(self, ("Tree", "JSON"), "Result as {}")
        row.addLayout(choice)
        self.views.idToggled.connect(self._chosen)

    def _chosen(self, which: int, on: bool) -> None:
        if on:
            self.view_chosen.emit(which == 1)

    def show_result(self, now: str, following: str, differing: list[str], waiting: int) -> None:
        """Say in which fields the result differs from the database."""
        self.against.setText(
            f"what would be saved as {following}, against {now}" if following and now else "what would be saved"
        )
        named = differing if len(differing) <= 2 else [*differing[:1], many(len(differing) - 1, "more field")]
        where = " and ".join(named)
        there = now or "the database"
        still = f"{many(waiting, 'field')} still to decide" if waiting else ""
        if where and still:
            said = f"Differs from {there} in {where}, and in {still}"
        elif where or still:
            said = f"Differs from {there} in {where or still}"
        else:
            said = f"The same as {there}"
        self.differs.setText(said)


__all__ = ["WAYS", "ConflictBar", "MergeHead", "ResultHead", "sentence", "text"]
