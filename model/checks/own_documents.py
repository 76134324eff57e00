"""Checks versions that are documents of their own: duplicates, gaps, wrong types, flags, hashes, times."""

from __future__ import annotations

from collections.abc import Sequence

from model.checks.facts import Fact, SomeFact, are_whole, right_type
from model.checks.rules import (
    CheckContext,
    DamageDraft,
    by_place,
    gap,
    hashes,
    listed,
    newest,
    numbered,
    times,
    twice,
    wrong_types,
)
from model.text.names import version_name


def own_documents(seen: Sequence[SomeFact], ground: CheckContext) -> list[DamageDraft]:
    """The damage in one document's versions, each a stored document."""
    if not ground.dated and are_whole(seen):
        return []
    facts = [fact.whole for fact in seen]
    drafts = wrong_types(facts, ground)
    placed = numbered(facts, ground)
    if not ground.dated:
        drafts += twice(placed, ground)
        if placed:
            drafts += gap((number for number, _ in placed), placed[-1][0], [fact for _, fact in placed], ground)
    drafts += times(placed, ground)
    if not any(each.code == "D1" for each in drafts):
        drafts += hashes(facts)
    return drafts


def flagged(seen: Sequence[SomeFact], ground: CheckContext) -> list[DamageDraft]:
    """The damage in one document's versions of a flagged collection, including C1 for the flag."""
    drafts = own_documents(seen, ground)
    if not drafts and are_whole(seen) and seen[-1].flagged and not any(fact.flagged for fact in seen[:-1]):
        return drafts
    facts = [fact.whole for fact in seen]
    levels = list(by_place(numbered(facts, ground)))
    if not levels:
        return drafts
    top = levels[-1]
    raised = [fact for fact in facts if fact.flagged]
    beside = [fact for fact in raised if fact not in top]
    if raised and not beside:
        return drafts
    said = _misplaced(raised, top[0], ground.profile.current)
    concerned = [fact for _, fact in numbered([*beside, *top], ground)]
    versions = tuple(dict.fromkeys(fact.v for fact in concerned if fact.v is not None))
    sure = all(right_type(fact.v, ground.dated) or fact.number is not None for fact in concerned)
    repair = "set-current-flag" if sure else None
    drafts.append(DamageDraft("C1", top[0].id, versions, said, repair, tuple(concerned), newest(concerned)))
    return drafts


def _misplaced(raised: Sequence[Fact], highest: Fact, name: str) -> str:
    """What is wrong with the flag: the versions that carry it, and which one should."""
    if not raised:
        return f"no version carries {name}; {version_name(highest.v)} is the highest"
    if len(raised) > 1:
        return f"{listed([version_name(fact.v) for fact in raised], 6)} carry {name}"
    return f"{version_name(raised[0].v)} carries {name}; {version_name(highest.v)} is the highest"
