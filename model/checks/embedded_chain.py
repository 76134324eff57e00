"""Checks documents that contain all their versions: the array must be complete, ordered and without duplicates."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from msgspec import Struct, field

from model.checks.facts import Fact, FactReader, SomeFact, are_whole, place, right_type
from model.checks.rules import CheckContext, DamageDraft, hashes, listed, missing_below, times, wrong_types
from model.errors import Unreadable
from model.storage.gaps import loss
from model.storage.reserved_fields import legible_field
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

NEAR_FULL = 15 << 20
"""Bytes from which a document is reported as close to the server's limit of 16 MiB."""


def embedded_chain(
    reader: FactReader,
    raw: bytes,
    id: Value,
    ground: CheckContext,
    sound: bool = False,
    elsewhere: Callable[[Value], Collection[int]] = lambda id: (),
) -> list[DamageDraft]:
    """The damage of one document; ``reader`` makes facts of its versions.

    ``sound`` says that its bytes are undamaged. ``elsewhere`` returns the numbers of versions that were moved out; it
    is called only if some are missing.
    """
    p = ground.profile
    drafts: list[DamageDraft] = []
    if len(raw) >= NEAR_FULL:
        said = f"{len(raw) / (1 << 20):.1f} MiB of the 16 that fit"
        drafts.append(DamageDraft("E2", id, (), said, "move-to-archive", ()))
    now, past = legible_field(raw, p.current), legible_field(raw, p.prev)
    if now is None or now.type != c.OBJECT:
        said = f"has no {p.current}" if now is None else f"{p.current} is a {now.kind}, not a version"
        return [*drafts, DamageDraft("E1", id, (), said, None, ())]
    elements = _elements(past)
    parts = [*(value.data for value in elements or () if value.type == c.OBJECT), now.data]
    complete = elements is not None and len(parts) == len(elements) + 1
    seen: list[SomeFact] = [reader.at_a_glance(id, part) if sound else reader.fact(id, part) for part in parts]
    if not drafts and not ground.dated and complete and are_whole(seen):
        return drafts
    facts = [fact.whole for fact in seen]
    previous, current = facts[:-1], facts[-1]
    drafts += wrong_types(facts, ground)
    top = place(current.v, ground.dated)
    if ground.dated:
        drafts += _dated(facts, ground)
    elif top is not None:
        drafts += _chain(id, elements, past, previous, current, top, ground, elsewhere)
    drafts += hashes(facts)
    return drafts


def _elements(past: Value | None) -> list[Value] | None:
    if past is None:
        return []
    try:
        return c.items(past) if past.type == c.ARRAY else None
    except Unreadable:
        return None


def _dated(facts: Sequence[Fact], ground: CheckContext) -> list[DamageDraft]:
    """M1: the dates of the versions contradict the array, which is in order of writing."""
    wrong: list[Fact] = []
    words: list[str] = []
    for before, fact in pairwise(facts):
        a, b = place(before.v, True), place(fact.v, True)
        if a is not None and b is not None and a >= b:
            wrong += [before, fact]
            said = "there twice" if a == b else f"not after {version_name(before.v)}"
            words.append(f"{version_name(fact.v)} is {said}")
    versions = tuple(dict.fromkeys(fact.v for fact in wrong if fact.v is not None))
    return [DamageDraft("M1", facts[0].id, versions, listed(words, 4), None, ())] if wrong else []


class _Said(Struct):
    """What is wrong with a chain, in words; the versions concerned; and whether the repair is certain."""

    sure: bool
    words: list[str] = field(default_factory=list)
    concerned: list[Fact] = field(default_factory=list)

    def add(self, said: str, facts: Sequence[Fact], sure: bool) -> None:
        """Add one more fault."""
        self.words.append(said)
        self.concerned += facts
        self.sure = self.sure and sure


def _chain(
    id: Value,
    elements: Sequence[Value] | None,
    past: Value | None,
    previous: Sequence[Fact],
    current: Fact,
    top: int,
    ground: CheckContext,
    elsewhere: Callable[[Value], Collection[int]],
) -> list[DamageDraft]:
    p = ground.profile
    known = [number for fact in previous if (number := fact.number) is not None]
    missing, gap = missing_below(known, top) if ground.dense else ((), "")
    if missing and (moved := elsewhere(id)):
        missing, gap = missing_below((*known, *moved), top)
    said = _Said(elements is not None and len(previous) == len(elements) == len(known))
    if misfit := _misfit(p.prev, elements, past, len(previous)):
        said.words.append(misfit)
    if missing:
        said.words.append(f"{gap} missing: {loss(p)}")
    _repeated(facts_with(previous, current), said)
    _above(previous, current, top, said)
    _fallen(previous, said)
    numbered = [(fact.number, fact) for fact in sorted(facts_with(previous, current), key=_number)]
    drafts = times([(number, fact) for number, fact in numbered if number is not None], ground)
    if not said.words:
        return drafts
    versions = missing or tuple(dict.fromkeys(fact.v for fact in said.concerned if fact.v is not None))
    repair = "rebuild-prev" if said.sure and not missing and said.concerned else None
    return [DamageDraft("E1", id, versions, ", ".join(said.words), repair, ()), *drafts]


def _misfit(prev: str, elements: Sequence[Value] | None, past: Value | None, versions: int) -> str:
    """What the array is instead of a list of versions; "" if it is one."""
    if elements is None and past is not None:
        return f"{prev} is a {past.kind}, not a list"
    return f"{prev} holds something that is not a version" if versions != len(elements or ()) else ""


def _repeated(facts: Sequence[Fact], said: _Said) -> None:
    """Report versions that share a number."""
    by_number: dict[int, list[Fact]] = {}
    for fact in facts:
        if right_type(fact.v, False) and fact.number is not None:
            by_number.setdefault(fact.number, []).append(fact)
    for several in by_number.values():
        if len(several) > 1:
            equal = len({fact.digest for fact in several}) == 1
            how = "equal" if equal else "with different contents"
            said.add(f"{version_name(several[0].v)} repeated, {how}", several, equal)


def _above(previous: Sequence[Fact], current: Fact, top: int, said: _Said) -> None:
    """Report earlier versions whose number is above the current one's."""
    above = [fact for fact in previous if fact.number is not None and fact.number > top and right_type(fact.v, False)]
    if above:
        names = listed([version_name(fact.v) for fact in above], 4)
        said.add(f"{names} above current {version_name(current.v)}", above, False)


def _fallen(previous: Sequence[Fact], said: _Said) -> None:
    """Report versions whose number is below the previous version's."""
    fallen = [fact for fact, before in zip(previous[1:], previous, strict=False) if _number(fact) < _number(before)]
    if fallen:
        said.add(f"{listed([version_name(fact.v) for fact in fallen], 4)} out of order", fallen, True)


def facts_with(previous: Sequence[Fact], current: Fact) -> list[Fact]:
    """All versions, the current one last."""
    return [*previous, current]


def _number(fact: Fact) -> int:
    number = fact.number
    return -(2**63) if number is None else number
