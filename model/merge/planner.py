"""Compares base, mine and theirs side by side, and makes a decision for each place where they differ."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import TypeAlias

from model.diff import same_value
from model.diff.array_elements import elements
from model.diff.common_order import agreed, diverging
from model.diff.field_changes import Change, changes
from model.diff.walk import Span, spans
from model.merge.array_merge import ArrayMerge
from model.merge.decision import Decision, Who
from model.merge.line_merge import merge_lines
from model.merge.merged_form import Container, DecidedValue, Key, Part, Patched, Side, Stretch, Three, old_ones, settled
from model.text import scalars
from model.text.scalars import quoted
from model.values import canonical as c
from model.values.canonical import Path, Value

Link: TypeAlias = "tuple[Link, str | int] | None"
Fields: TypeAlias = dict[str, Stretch]
_Task: TypeAlias = "tuple[Container | Patched, Key, Link, Side, Side, Side, str, bool]"


def path_of(link: Link) -> Path:
    """The path from links, whose last step comes first."""
    steps: list[str | int] = []
    while link is not None:
        link, step = link
        steps.append(step)
    return tuple(reversed(steps))


class Planner:
    """One merge being planned. Work waits on a stack, last first, so that decisions come in document order."""

    def __init__(self, base: bytes, mine: bytes, theirs: bytes, keys: Sequence[str]) -> None:
        self.three = Three(base, mine, theirs)
        self.keys = [c.name_bytes(key) for key in keys]
        self.decisions: list[Decision] = []
        self.stack: list[_Task] = []

    def run(self) -> Part:
        """The plan of the document, or one decision on all of it."""
        # A parent for the document itself, so that its plan is put into a place like any other.
        roof = Container(c.OBJECT)
        self.stack = [(roof, "", None, *self.three.tops, "", False)]
        while self.stack:
            container, key, link, one, two, three, hint, whole = self.stack.pop()
            container.parts[key] = self.part(link, one, two, three, hint, whole)
        return roof.parts[""]

    def part(self, link: Link, base: Side, mine: Side, theirs: Side, hint: str, whole: bool) -> Part:
        """The plan of one place; with ``whole``, it does not look inside a value that both sides changed."""
        if base is not None and mine is not None and theirs is not None:
            if self.three.all_same(base, mine, theirs):
                return base
            whole = whole and not self.three.same(base, mine) and not self.three.same(base, theirs)
            if base.kind == mine.kind == theirs.kind and not whole:
                inside: Part | None = None
                if base.kind == c.OBJECT:
                    inside = self.document(link, base, mine, theirs)
                elif base.kind == c.ARRAY:
                    inside = self.array(link, base, mine, theirs)
                if inside is not None:
                    return inside
        return DecidedValue(self.leaf(link, base, mine, theirs, hint))

    def leaf(self, link: Link, base: Side, mine: Side, theirs: Side, hint: str) -> int:
        """Decide on a value that is taken whole, from a side or by a person's choice; returns the decision's number."""
        if self.three.same(mine, theirs):
            return self.decide(link, base, mine, theirs, _kind(base, mine), "both", "mine", hint)
        if self.three.same(base, mine):
            return self.decide(link, base, mine, theirs, _kind(base, theirs), "theirs", "theirs", hint)
        if self.three.same(base, theirs):
            return self.decide(link, base, mine, theirs, _kind(base, mine), "mine", "mine", hint)
        # Only texts of several lines are merged within: two edits of one line rarely make sense together.
        text = _texts(base, mine, theirs)
        if text is not None:
            merged, clash = merge_lines(*text)
            both = Value(c.STRING, scalars.string_data(merged))
            action = "base" if clash else "both"
            return self.decide(link, base, mine, theirs, "text", "both", action, hint, both, clash)
        kinds = {_kind(base, mine), _kind(base, theirs)}
        # The sides may have done different things: the gravest names the conflict.
        kind = next(kind for kind in ("deleted", "added", "type", "changed") if kind in kinds)
        return self.decide(link, base, mine, theirs, kind, "both", "base", hint, conflict=True)

    def decide(
        self, link: Link, base: Side, mine: Side, theirs: Side, kind: str, who: Who,
        action: str = "base", hint: str = "", both: Value | None = None, conflict: bool = False,
    ) -> int:  # fmt: skip
        """Add a decision on values in the three documents; returns its number."""
        values = [None if side is None else side.value() for side in (base, mine, theirs)]
        return self.note(path_of(link), values, kind, who, action, hint, both, conflict)

    def note(
        self, path: Path, values: Sequence[Value | None], kind: str, who: Who,
        action: str, hint: str = "", both: Value | None = None, conflict: bool = False,
    ) -> int:  # fmt: skip
        """Add a decision on given values; returns its number."""
        index = len(self.decisions)
        self.decisions.append(
            Decision(
                path, values[0], values[1], values[2], kind, conflict, action, who, hint, both, index, conflict, action
            )
        )
        return index

    def order(self, link: Link, orders: dict[str, list[Key]], shown: dict[str, Value], moves: bool = False) -> int:
        """The decision on an order that somebody changed; adds the combined order to ``orders``.

        With ``moves``, an element that both moved to different places is a conflict, even if the orders can be
        combined.
        """
        base, mine, theirs = orders["base"], orders["mine"], orders["theirs"]
        values = [shown["base"], shown["mine"], shown["theirs"]]
        if mine == theirs:
            return self.note(path_of(link), values, "order", "both", "mine")
        left, right = (old_ones(side, base) for side in (mine, theirs))
        # An array's order carries meaning, so two different moves of one element are for a person; of fields it rarely
        # does.
        found = None if moves and diverging(base, left, right) else agreed(base, mine, theirs)
        if found is None:
            return self.note(path_of(link), values, "order", "both", "base", conflict=True)
        # One side moved none of the base's elements, so the order of the other counts.
        if left == base or right == base:
            who: Who = "theirs" if left == base else "mine"
            return self.note(path_of(link), values, "order", who, who)
        orders["both"] = found
        where = dict(zip(mine, c.items(shown["mine"]), strict=True))
        both = c.array(where[key] for key in found)
        return self.note(path_of(link), values, "order", "both", "both", both=both)

    # --- documents

    def document(self, link: Link, base: Stretch, mine: Stretch, theirs: Stretch) -> Container | Patched | None:
        """The plan of a document; None if one of the three has two fields of one name."""
        pairs = self.three.pairs
        ours = changes(pairs[0, 1], base.start, mine.start)
        others = changes(pairs[0, 2], base.start, theirs.start) if ours is not None else None
        # Nobody added, removed or moved a field: only the values that changed need a plan.
        if ours is not None and others is not None:
            return self.patched(link, (base, mine, theirs), ours, others)
        sides = [_fields(side) for side in (base, mine, theirs)]
        if any(fields is None for fields in sides):
            return None
        old, left, right = (fields or {} for fields in sides)
        container = Container(c.OBJECT)
        names: list[list[Key]] = [list(fields) for fields in (old, left, right)]
        container.sides = (names[1], names[2], names[0])
        lists = names
        if not names[0] == names[1] == names[2]:
            container.rank = {name: i for i, name in enumerate(names[0])}
            common = old.keys() & left.keys() & right.keys()
            lists = [[name for name in order if name in common] for order in names]
            lists = self.with_added(lists, names, old, left, right)
        container.orders = dict(zip(("base", "mine", "theirs"), lists, strict=True))
        if not settled(container.orders):
            shown = {side: c.array(map(_name, order)) for side, order in container.orders.items()}
            container.order = self.order(link, container.orders, shown)
        tasks: list[_Task] = []
        hints = _renames(old, left, right)
        for name in {**old, **left, **right}:
            one, two, three = old.get(name), left.get(name), right.get(name)
            if one is not None and self.three.all_same(one, two, three):
                container.parts[name] = one
            else:
                tasks.append((container, name, (link, name), one, two, three, hints.get(name, ""), False))
        self.stack += reversed(tasks)
        return container

    def with_added(
        self, lists: list[list[Key]], names: list[list[Key]], old: Fields, left: Fields, right: Fields
    ) -> list[list[Key]]:
        """The orders including fields that both sides added alike, if that causes no contradiction."""
        # Fields that were added differently are conflicts of their own, and get their place once they are decided.
        added = {x for x in left.keys() & right.keys() - old.keys() if self.three.same(left[x], right[x])}
        if not added:
            return lists
        common = set(lists[0])
        mine, theirs = ([x for x in side if x in common or x in added] for side in names[1:])
        return lists if agreed(lists[0], mine, theirs) is None else [lists[0], mine, theirs]

    def patched(
        self, link: Link, sides: tuple[Stretch, Stretch, Stretch], ours: list[Change], others: list[Change]
    ) -> Patched:
        """The plan of a document in which only values changed."""
        base, mine, theirs = sides
        spots = sorted({x[2]: x for x, _ in (*ours, *others)}.values(), key=itemgetter(2))
        lefts, rights = _followed(mine, base, spots, ours), _followed(theirs, base, spots, others)
        patched = Patched(base, spots)
        tasks: list[_Task] = []
        for spot, two, three in zip(spots, lefts, rights, strict=True):
            name = c.name_of(spot[0])
            one = Stretch(base.raw, 0, *spot[1:])
            tasks.append((patched, name, (link, name), one, two, three, "", False))
        self.stack += reversed(tasks)
        return patched

    # --- arrays

    def array(self, link: Link, base: Stretch, mine: Stretch, theirs: Stretch) -> Part | None:
        """The plan of an array, or one decision on all of it; None if its positions are not 0, 1, 2 …"""
        found = [elements(side.raw, side.start) for side in (base, mine, theirs)]
        lists = [side for side in found if side is not None]
        if len(lists) < len(found):
            return None
        work = ArrayMerge(self.three, lists, self.keys)
        if work.unclear:
            return DecidedValue(self.decide(link, base, mine, theirs, "array", "both", conflict=True))
        container = work.container
        container.order = self.order(link, container.orders, work.shown, True) if work.reordered else None
        tasks: list[_Task] = []
        for key, step, one, two, three, whole, moved in work.elements:
            if moved:  # to take the removal alone would lose the move without a word
                index = self.decide((link, step), one, two, three, "deleted", "both", hint="moved", conflict=True)
                container.parts[key] = DecidedValue(index)
            else:
                tasks.append((container, key, (link, step), one, two, three, "", whole))
        for put in work.insertions:
            values = (None, put.mine, put.theirs)
            index = self.note(
                (*path_of(link), put.step), values, "inserted", "both", "base", both=put.both, conflict=True
            )
            container.parts[put.key] = DecidedValue(index, many=True)
        self.stack += reversed(tasks)
        return container


def _followed(side: Stretch, base: Stretch, spots: list[Span], differing: list[Change]) -> list[Stretch]:
    """The places of the base's ``spots`` in a side, found from the fields that differ there."""
    there = {x[2]: y for x, y in differing}
    shift = side.start - base.start
    found: list[Stretch] = []
    for _, kind, start, end in spots:
        y = there.get(start)
        if y is not None:
            # A value of another length displaces all fields after it.
            shift = y[3] - end
            found.append(Stretch(side.raw, side.side, y[1], y[2], y[3]))
        else:
            found.append(Stretch(side.raw, side.side, kind, start + shift, end + shift))
    return found


def _fields(side: Stretch) -> Fields | None:
    """The fields by name; None if two have one name."""
    found = spans(side.raw, side.start)
    fields = {c.name_of(name): Stretch(side.raw, side.side, kind, a, b) for name, kind, a, b in found}
    return fields if len(fields) == len(found) else None


def _name(name: Key) -> Value:
    return Value(c.STRING, scalars.string_data(str(name)))


def _kind(base: Side, side: Side) -> str:
    """The kind of a side's change."""
    if base is None:
        return "added"
    if side is None:
        return "deleted"
    if base.kind != side.kind and same_value(base.value(), side.value()):
        return "type"
    return "changed"


def _texts(*sides: Side) -> tuple[str, str, str] | None:
    """The three texts, if all are UTF-8 and at least one has several lines; else None."""
    texts: list[str] = []
    for side in sides:
        found = scalars.string_of(side.value().data) if side is not None and side.kind == c.STRING else None
        if found is None or not _is_text(found[0]):
            return None
        texts.append(found[0])
    return (texts[0], texts[1], texts[2]) if any("\n" in text for text in texts) else None


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _renames(old: dict[str, Stretch], left: dict[str, Stretch], right: dict[str, Stretch]) -> dict[str, str]:
    """Hints on fields that a side seems to have renamed: one was removed, and one with an equal value added."""
    hints: dict[str, str] = {}
    for side in (left, right):
        if old.keys() == side.keys():
            continue
        gone = [name for name in old if name not in side]
        # By type and bytes: a renamed field keeps its value exactly. It is a hint alone, since equal values may be
        # chance.
        come = {(side[name].kind, side[name].value().data): name for name in side if name not in old}
        for name in gone if come else ():
            other = come.pop((old[name].kind, old[name].value().data), None)
            if other is not None:
                hints[name] = f"renamed to {quoted(other)}"
                hints[other] = f"renamed from {quoted(name)}"
    return hints
