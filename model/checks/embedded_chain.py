"""All versions of a document inside it: a chain in an array that is whole, in order and without repeats."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from model.checks.facts import Fact, FactReader, SomeFact, are_whole, place, right_type
from model.checks.rules import CheckContext, DamageDraft, hashes, listed, missing_below, times, wrong_types
from model.errors import Unreadable
from model.storage.gaps import loss
from model.storage.reserved_fields import legible_field
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Value

NEAR_FULL = 15 << 20
"""Bytes from which on a document is said to be near the 16 MiB that a server stores."""


def embedded_chain(
    reader: FactReader,
    raw: bytes,
    id: Value,
    ground: CheckContext,
    sound: bool = False,
    elsewhere: Callable[[Value], Collection[int]] = lambda id: (),
) -> list[DamageDraft]:
    """The damage of one document; ``reader`` makes facts of its versions.

    ``sound`` says that its bytes have no damage. ``elsewhere`` gives the numbers of versions that were moved out of it;
    it is asked only where some are missing.
    """
    p = ground.profile
    drafts: list[DamageDraft] = []
    if len(raw) >= NEAR_FULL:
        said = f"{len(raw) / (1 << 20):.1f} MiB of the 16 that fit"
        drafts.append(DamageDraft("E2", id, (), said, "move-to-archive", ()))
    now, past = legible_field(raw, p.current), legible_field(raw, p.prev)
    if now is None or now.type != c.OBJECT:
        said = f"has no {p.current}" if now is None else f"{p.current} is a {now.kind} and no version"
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
    """M1: the dates of the versions contradict the array, whose order is that of writing."""
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
    words: list[str] = []
    numbers = [fact.number for fact in previous]
    known = [number for number in numbers if number is not None]
    missing, gap = missing_below(known, top) if ground.dense else ((), "")
    if missing and (moved := elsewhere(id)):
        missing, gap = missing_below((*known, *moved), top)
    sure = elements is not None and len(previous) == len(elements) and len(known) == len(numbers)
    if elements is None and past is not None:
        words.append(f"{p.prev} is a {past.kind} and no list")
    elif not sure and len(previous) != len(elements or ()):
        words.append(f"{p.prev} holds something that is no version")
    if missing:
        words.append(f"{gap} missing: {loss(p)}")
    concerned: list[Fact] = []
    digests: dict[int, list[Fact]] = {}
    for fact in (*previous, current):
        if right_type(fact.v, False) and fact.number is not None:
            digests.setdefault(fact.number, []).append(fact)
    for several in digests.values():
        if len(several) > 1:
            equal = len({fact.digest for fact in several}) == 1
            words.append(f"{version_name(several[0].v)} repeated, {'equal' if equal else 'with different contents'}")
            concerned += several
            sure = sure and equal
    above = [fact for fact in previous if fact.number is not None and fact.number > top and right_type(fact.v, False)]
    if above:
        said = listed([version_name(fact.v) for fact in above], 4)
        words.append(f"{said} above current {version_name(current.v)}")
        concerned += above
        sure = False
    fallen = [fact for fact, before in zip(previous[1:], previous, strict=False) if _number(fact) < _number(before)]
    if fallen:
        words.append(f"{listed([version_name(fact.v) for fact in fallen], 4)} out of order")
        concerned += fallen
    drafts = times(
        [(fact.number, fact) for fact in sorted(facts_with(previous, current), key=_number) if fact.number is not None],
        ground,
    )
    if not words:
        return drafts
    versions = missing or tuple(dict.fromkeys(fact.v for fact in concerned if fact.v is not None))
    repair = "rebuild-prev" if sure and not missing and concerned else None
    return [DamageDraft("E1", id, versions, ", ".join(words), repair, ()), *drafts]


def facts_with(previous: Sequence[Fact], current: Fact) -> list[Fact]:
    """All versions, the current one last."""
    return [*previous, current]


def _number(fact: Fact) -> int:
    number = fact.number
    return -(2**63) if number is None else number
