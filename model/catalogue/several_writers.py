"""The doubt that several programs write one collection, each with its own layout.

Documents with a layout's fields and those without are judged separately. Only if both parts are recognised on their
own, as different layouts or with different fields, are there several writers. An optional field splits documents of
one layout, and documents of several kinds are not versions at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.layouts.registry import declared, fields_of, versions_told
from model.recognition.field_names import BEFORE, NOW, bare, is_version_name
from model.recognition.sampling import Document, Proposal, Sample

FEWEST, SHARE = 5, 10  # each part needs FEWEST documents, and 1 in SHARE of all sampled
CARRIED = 0.8  # the share of a part's documents that must have its layout's fields
TRIED = 4  # ways to split a sample
TELLING = ("id", "version", "current", "prev", "hash", "archive", "archive_id")
"""Roles that distinguish layouts; any document may lack flags, tokens and times."""


def several_writers(
    sample: Sample, whole: Proposal, judge: Callable[[Sample], Iterable[Proposal]]
) -> tuple[str, tuple[str, ...]]:
    """Why no single layout can write a collection, one sentence, and two layouts that fit; "" if nothing says so."""
    for inside, outside in _splits(sample, whole):
        others = _recognised(sample, outside, judge)
        ours = _recognised(sample, inside, judge) if others is not None else None
        if ours is not None and others is not None and _told(ours.profile) != _told(others.profile):
            said = (
                f"Several programs keep versions in {sample.ns}: of {len(sample.documents)} documents sampled "
                f"{len(inside)} are {_named(ours.profile)}, and {len(outside)} are {_named(others.profile)}."
            )
            return said, tuple(dict.fromkeys((ours.profile.layout, others.profile.layout)))
    return "", ()


def parts_of(sample: Sample) -> Iterator[Sample]:
    """The parts of a sample that several programs may have written, divided by their fields."""
    for inside, _ in _splits(sample, None):
        yield replace(sample, documents=tuple(inside))


def _splits(sample: Sample, whole: Proposal | None) -> Iterator[tuple[list[Document], list[Document]]]:
    """The documents with a layout's fields and those without, if there are enough of both."""
    if whole is not None and _keeps_versions(whole):
        ways = [] if whole.profile.writer else [_carriers(sample, _tops(whole.profile))]
    else:
        ways = _ways(sample)
    everyone = frozenset(range(len(sample.documents)))
    fewest = max(FEWEST, len(everyone) / SHARE)
    enough = (each for each in ways if fewest <= len(each) <= len(everyone) - fewest)
    for inside in islice(enough, TRIED):
        yield [sample.documents[n] for n in sorted(inside)], [sample.documents[n] for n in sorted(everyone - inside)]


def _ways(sample: Sample) -> list[frozenset[int]]:
    """Groups of documents that share fields which others lack, those with most such fields first.

    A layout's fields occur together; a single field splits only if its name or values suggest it.
    """
    names: dict[frozenset[int], list[str]] = {}
    for name, shape in sample.shapes.items():
        if len(shape.values) < shape.total:  # what all have splits nothing
            names.setdefault(_carriers(sample, {name}), []).append(name)
    told = [each for each in names if len(names[each]) > 1 or _may_tell(sample, names[each][0])]
    return sorted(told, key=lambda each: -len(names[each]))


def _carriers(sample: Sample, names: set[str]) -> frozenset[int]:
    return frozenset(n for n, each in enumerate(sample.documents) if names <= each.fields.keys())


def _may_tell(sample: Sample, name: str) -> bool:
    return bare(name) in BEFORE | NOW or is_version_name(name) or sample.shapes[name].sealing > 0


def _recognised(sample: Sample, part: list[Document], judge: Callable[[Sample], Iterable[Proposal]]) -> Proposal | None:
    """The layout of some documents alone, if they have its fields: look-ups also find other documents."""
    alone = replace(sample, documents=tuple(part))
    for made in judge(alone):
        if _keeps_versions(made) and len(_carriers(alone, _tops(made.profile))) >= CARRIED * len(part):
            return made
    return None


def _tops(profile: CollectionProfile) -> set[str]:
    """The top-level fields of current documents by which a layout is recognised."""
    inner = declared(profile.layout).within
    roles = (inner, "prev") if inner else ("id", "version", "hash")
    return {name.partition(".")[0] for role, name in fields_of(profile).items() if role in roles}


def _keeps_versions(made: Proposal) -> bool:
    return versions_told(made.profile.layout)


def _told(profile: CollectionProfile) -> tuple[str, ...]:
    fields = fields_of(profile)
    return (profile.layout, *(fields.get(role, "") for role in TELLING))


def _named(profile: CollectionProfile) -> str:
    fields = fields_of(profile)
    names = dict.fromkeys(fields[role] for role in TELLING if role in fields and fields[role] != "_id")
    return f"{profile.layout} ({', '.join(names)})"
