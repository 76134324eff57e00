"""A merge in progress: each choice is one step that can be undone, and the result is always known."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from gui.language import tr
from gui.parts.fields.edit_changes import EditChanges
from model import text
from model.errors import Refused
from model.merge import Decision, Merge
from model.session.guarded_writing import Conflict
from model.values import canonical
from model.values.canonical import ARRAY, EMPTY, OBJECT, Path, Value


class Standing(Struct, frozen=True):
    """The decisions so far: those of the merge, and values typed at other places.

    The paths of the typed values are those in the result of exactly these decisions: another choice can move
    elements.
    """

    merge: Merge
    typed: tuple[tuple[Path, Value], ...] = ()


class Resolution:
    """The decisions of one conflict. Rows are numbers of decisions; those that need a person come first."""

    def __init__(self, conflict: Conflict) -> None:
        assert conflict.merge is not None
        assert conflict.theirs is not None
        self.conflict, self.merge = conflict, conflict.merge
        self.base = conflict.base.content or EMPTY
        self.mine = conflict.mine
        self.theirs = conflict.theirs.content or EMPTY
        every = range(len(self.merge.decisions))
        asked = [i for i in every if self.merge.decisions[i].conflict]
        self.rows = (*asked, *(i for i in every if not self.merge.decisions[i].conflict))
        self.asked = len(asked)
        self.now = Standing(self.merge)
        self._done: list[tuple[str, Standing]] = []
        self._undone: list[tuple[str, Standing]] = []

    @property
    def unresolved(self) -> int:
        """How many places wait for a choice."""
        return self.now.merge.unresolved

    def decision(self, row: int) -> Decision:
        """The present decision of a row."""
        return self.now.merge.decisions[self.rows[row]]

    def is_overridden(self, row: int) -> bool:
        """Whether a person changed a place that had merged by itself."""
        decision = self.decision(row)
        return not decision.conflict and decision.action != decision.initial

    # --- steps

    def _take(self, title: str, standing: Standing) -> None:
        if standing != self.now:
            if standing.typed and standing.merge is not self.now.merge:
                standing = replace(standing, typed=self._followed(standing.typed, self.now.merge, standing.merge))
            self._done.append((title, self.now))
            self._undone.clear()
            self.now = standing

    def choose(self, row: int, action: str | Value) -> None:
        """Decide a row: base, mine, theirs, both or a value. Raises ``Refused`` if that is impossible."""
        decision = self.decision(row)
        self._take(
            tr("choose for {place}", place=decision.place),
            replace(self.now, merge=self.now.merge.choose(decision, action)),
        )

    def choose_all(self, action: str) -> int:
        """Decide all open rows as one step; returns their number."""
        made = tuple(_decided(decision, action) for decision in self.now.merge.decisions)
        before = self.unresolved
        merge = replace(self.now.merge, decisions=made)
        self._take(tr("choose for {before} fields", before=before), replace(self.now, merge=merge))
        return before - self.unresolved

    def reopen(self, row: int) -> None:
        """Undo a row's choice, as a step of its own."""
        decision = self.decision(row)
        self._take(tr("reopen {place}", place=decision.place), replace(self.now, merge=self.now.merge.reopen(decision)))

    def type_value(self, path: Path, value: Value, row: int | None, seen: Merge | None = None) -> None:
        """Enter a typed value: as the decision of a row, or for a field that needed none.

        ``seen`` are the decisions behind the result that the path was read from, if others were made since.
        """
        if row is not None:
            decision = self.decision(row)
            if decision.kind != "inserted":
                self.choose(row, value)
                return
            # The row inserts elements, and this is the first; if it inserts none, the element after it was meant.
            there = [] if decision.open or decision.result is None else canonical.items(decision.result)
            if there or decision.open:
                self.choose(row, canonical.array([value, *there[1:]]))
                return
        if seen is not None and seen is not self.now.merge:
            followed = self._followed(((path, value),), seen, self.now.merge)
            if not followed:
                raise Refused(tr("{path} is gone after later choices.", path=text.path_text(path)))
            ((path, _),) = followed
        kept = tuple((at, old) for at, old in self.now.typed if at != path)
        self._take(tr("change {path}", path=text.path_text(path)), replace(self.now, typed=(*kept, (path, value))))

    @property
    def undo_title(self) -> str:
        """What undo would undo, or ""."""
        return self._done[-1][0] if self._done else ""

    def undo(self) -> bool:
        """Undo the last step; the conflict that it decided is open again."""
        if not self._done:
            return False
        title, before = self._done.pop()
        self._undone.append((title, self.now))
        self.now = before
        return True

    def redo(self) -> bool:
        """Redo the step undone last."""
        if not self._undone:
            return False
        title, after = self._undone.pop()
        self._done.append((title, self.now))
        self.now = after
        return True

    # --- after the database moved again

    def chosen(self) -> list[Decision]:
        """The decisions made by a person."""
        every = self.now.merge.decisions
        return [d for d in every if not d.open and (d.conflict or d.action != d.initial)]

    def carried(self, conflict: Conflict) -> tuple[Resolution, int]:
        """A resolution of the edit's new conflict, with the choices that still fit; and their number.

        A choice fits if the place, and the values of all three sides there, are unchanged.
        """
        after = Resolution(conflict)
        waiting = {decision.path: decision for decision in self.chosen()}
        kept = 0
        merge = after.merge
        for decision in merge.decisions:
            old = waiting.get(decision.path)
            if old is None or (old.base, old.mine, old.theirs) != (decision.base, decision.mine, decision.theirs):
                continue
            try:
                merge = merge.choose(decision, old.action)
            except Refused:
                continue
            kept += 1
        after.now = Standing(merge, self._followed(self.now.typed, self.now.merge, merge) if self.now.typed else ())
        return after, kept

    # --- the result

    def preview(self) -> bytes:
        """The document so far, with placeholders where nothing is decided."""
        return self._with_typed(_drawn(self.now.merge))

    def document(self) -> bytes:
        """The document to save; raises ``Refused`` while anything is open."""
        return self._with_typed(self.now.merge.document())

    def _with_typed(self, content: bytes) -> bytes:
        for path, value in self.now.typed:
            # A later choice may have removed the field that was typed into.
            if canonical.get(content, path) is not None:
                content = canonical.put(content, path, value)
        return content

    def _followed(
        self, typed: tuple[tuple[Path, Value], ...], before: Merge, after: Merge
    ) -> tuple[tuple[Path, Value], ...]:
        """The typed values at their fields' places after another choice; without those whose fields it removed."""
        changes = EditChanges(_drawn(before), _drawn(after), self.conflict.keys)
        gone = {change.old_path for change in changes.all if change.op == "remove"}
        return tuple(
            (changes.now(path), value)
            for path, value in typed
            if not any(path[:depth] in gone for depth in range(1, len(path) + 1))
        )


def _decided(decision: Decision, action: str) -> Decision:
    if not decision.open:
        return decision
    try:
        return decision.chosen(action)
    except Refused:
        return decision


def _drawn(merge: Merge) -> bytes:
    """The result of a merge, with placeholders where nothing is decided."""
    return replace(merge, decisions=tuple(map(_stand_in, merge.decisions))).preview()


def _stand_in(decision: Decision) -> Decision:
    """An open decision with something at its place, so that it has a row."""
    if not decision.open or decision.base is not None:
        return decision
    side = decision.mine if decision.mine is not None else decision.theirs
    if decision.kind == "inserted" and side is not None:
        return replace(decision, action=canonical.array(canonical.items(side)[:1]))
    return replace(decision, action="mine" if decision.mine is not None else "theirs")


class Result(Struct, frozen=True):
    """The present result, compared with each side; a task computes large ones."""

    content: bytes
    changes: EditChanges  # from the opened version
    from_mine: EditChanges
    from_theirs: EditChanges
    places: dict[Path, int]  # the rows of the decisions by their paths in the result
    unchanged: int
    merge: Merge  # the decisions behind it


def drawn(resolution: Resolution, unchanged: int | None = None) -> Result:
    """Compute the result; ``unchanged`` if it is already known."""
    merge, content, keys = resolution.now.merge, resolution.preview(), resolution.conflict.keys
    changes = EditChanges(resolution.base, content, keys)
    mine, theirs = EditChanges(resolution.mine, content, keys), EditChanges(resolution.theirs, content, keys)
    places: dict[Path, int] = {}
    for row in range(len(resolution.rows)):
        decision = resolution.decision(row)
        if decision.base is not None:
            path = changes.now(decision.path)
        elif decision.mine is not None:
            path = mine.now(decision.path)
        else:
            path = theirs.now(decision.path)
        places.setdefault(path, row)
    if unchanged is None:
        unchanged = leaves(Value(OBJECT, resolution.base)) - sum(
            leaves(decision.base)
            for decision in resolution.merge.decisions
            if decision.base is not None and not _orders_fields(decision, resolution.base)
        )
    return Result(content, changes, mine, theirs, places, max(0, unchanged), merge)


def _orders_fields(decision: Decision, base: bytes) -> bool:
    """Whether a decision is about the order of a document's fields, whose values may all be unchanged."""
    if decision.kind != "order":
        return False
    there = canonical.get(base, decision.path) if decision.path else None
    return there is None or there.type == OBJECT


def leaves(value: Value) -> int:
    """The number of fields that contain no further fields."""
    count = 0
    waiting = [value]
    while waiting:
        here = waiting.pop()
        inside = canonical.items(here) if here.type in (OBJECT, ARRAY) else []
        waiting += inside
        count += not inside
    return count


__all__ = ["Resolution", "Result", "Standing", "drawn", "leaves"]
