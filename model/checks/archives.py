"""A current document and its archive: phantoms, residues, gaps, orphans."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from model.checks.facts import Fact, SomeFact, are_whole, place, right_type
from model.checks.rules import (
    CheckContext,
    DamageDraft,
    gap,
    hashes,
    listed,
    newest,
    numbered,
    times,
    twice,
    wrong_types,
)
from model.storage.reserved_fields import number_of
from model.text.names import version_name


def with_archive(seen: Sequence[SomeFact], ground: CheckContext) -> list[DamageDraft]:
    """The damage of one document and its archive rows."""
    # The usual case, told from numbers alone: the rest would decode every version of a sound collection.
    if _are_complete(seen, ground):
        return []
    facts = [fact.whole for fact in seen]
    drafts = wrong_types(facts, ground)
    placed = numbered(facts, ground)
    rows = [(at, fact) for at, fact in placed if fact.archived]
    currents = [fact for fact in facts if not fact.archived]
    if not currents:
        drafts.append(_orphan(facts, rows))
        below = rows
    else:
        drafts += _several(currents)
        # Of several, the highest counts: below it nothing is above the current version.
        current = max(currents, key=lambda fact: _place(fact, ground))
        top = place(current.v, ground.dated)
        below = rows if top is None else [(at, fact) for at, fact in rows if at < top]
        if top is not None:
            drafts += _above(current, top, rows, ground)
            drafts += _of_same_number(current, top, rows, ground)
            drafts += _missing(current, top, rows, ground)
        placed = [*below, (top, current)] if top is not None else below
    if ground.dated:
        drafts += times(below, ground)
    else:
        drafts += twice(below, ground)
        drafts += times(placed, ground)
    drafts += hashes(facts)
    return drafts


def _are_complete(facts: Sequence[SomeFact], ground: CheckContext) -> bool:
    """Whether one current document and its rows are numbered without gaps and nothing else is wrong."""
    current = facts[0]
    if ground.dated or current.archived:
        return False
    rows = facts[1:]
    for fact in rows:  # a loop is twice as fast as `all`, and this is done for each document
        if not fact.archived:
            return False
    if ground.holds_current:
        if not rows or rows[-1].counted != current.counted or rows[-1].sealed:
            return False
        rows, beside = rows[:-1], rows[-1]
        return are_whole((*rows, current)) and beside.whole.digest == current.whole.digest
    return are_whole([*rows, current])


def _place(fact: Fact, ground: CheckContext) -> int:
    at = place(fact.v, ground.dated)
    return -(2**63) if at is None else at


def _orphan(facts: Sequence[Fact], rows: Sequence[tuple[int, Fact]]) -> DamageDraft:
    versions = tuple(dict.fromkeys(fact.v for _, fact in rows if fact.v is not None))
    several = f"{len(versions):,} versions" if len(versions) != 1 else "one version"
    top = rows[-1][1] if rows else facts[-1]
    said = f"{several} of a document that is gone, up to {version_name(top.v)}"
    # With two rows of the highest number, nobody knows which one the document was.
    whole = bool(rows) and (len(rows) == 1 or rows[-2][0] != rows[-1][0])
    return DamageDraft("A5", top.id, versions, said, "restore-document" if whole else None, (top,), newest([top]))


def _several(currents: Sequence[Fact]) -> list[DamageDraft]:
    if len(currents) < 2:
        return []
    versions = tuple(dict.fromkeys(fact.v for fact in currents if fact.v is not None))
    same = len({(number_of(fact.v), fact.digest) for fact in currents}) == 1
    said = f"{len(currents)} current documents have this id, {'equal' if same else 'with different contents'}"
    repair = "remove-duplicate" if same else None
    return [DamageDraft("V1", currents[0].id, versions, said, repair, tuple(currents), newest(currents))]


def _above(current: Fact, top: int, rows: Sequence[tuple[int, Fact]], ground: CheckContext) -> list[DamageDraft]:
    above = [fact for at, fact in rows if at > top and right_type(fact.v, ground.dated)]
    if not above:
        return []
    versions = tuple(dict.fromkeys(fact.v for fact in above if fact.v is not None))
    said = f"{listed([version_name(v) for v in versions], 6)} above current {version_name(current.v)}"
    at = newest(above)
    rests_on = (current, *above)
    return [DamageDraft("A3", current.id, versions, said, "remove-phantom", rests_on, at, ground.is_young(at))]


def _of_same_number(
    current: Fact, top: int, rows: Sequence[tuple[int, Fact]], ground: CheckContext
) -> list[DamageDraft]:
    """A1 and A2: the archive row with the current version's number."""
    beside = [(at, fact) for at, fact in rows if at == top and right_type(fact.v, ground.dated)]
    same = [fact for _, fact in beside]
    if not same or not right_type(current.v, ground.dated):
        return []
    assert current.v is not None
    equal = all(fact.digest == current.digest for fact in same)
    rests_on = (current, *same)
    at = newest(same)
    name, young = version_name(current.v), ground.is_young(at)
    if ground.holds_current:
        if not equal:
            said = f"the archive holds {name} with another content: it was changed without a new version"
            return [DamageDraft("R1", current.id, (current.v,), said, None, rests_on, at)]
        return [] if ground.dated else list(twice(beside, ground))
    if equal:
        said = f"the archive holds current {name} too, with the same content"
        return [
            DamageDraft("A1", current.id, (current.v,), said, None if young else "remove-residue", rests_on, at, young)
        ]
    said = f"the archive holds current {name} with another content"
    return [DamageDraft("A2", current.id, (current.v,), said, "save-as-version", rests_on, at, young)]


def _is_new(at: dt.datetime | None, ground: CheckContext) -> bool:
    """Whether a version is so new that the feed may not have archived it yet; False if its age is unknown."""
    return at is not None and ground.is_young(at)


def _missing(current: Fact, top: int, rows: Sequence[tuple[int, Fact]], ground: CheckContext) -> list[DamageDraft]:
    present = [at for at, _ in rows]
    earlier = [] if ground.dated else gap(present, top, [current], ground)
    if not ground.holds_current or current.v is None or top in present:
        return earlier
    name = version_name(current.v)
    at = newest([current])
    versions = (*earlier[0].versions, current.v) if earlier else (current.v,)
    said = f"current {name} is not archived"
    if earlier:  # lost versions stay lost, but the current one can still be archived
        said = f"{earlier[0].detail}; {said} either"
    elif rows and rows[-1][0] < top:
        said += f", the archive ends at {version_name(rows[-1][1].v)}"
    return [DamageDraft("R1", current.id, versions, said, "archive-current", (current,), at, _is_new(at, ground))]
