"""Recognises ``nested``: documents with an array of their complete earlier states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from msgspec import Struct

from model.foundation.collection_profile import CollectionProfile
from model.recognition.evidence import Sign, fixed, unless, weighed, where
from model.recognition.field_names import BEFORE, bare, is_version_name
from model.recognition.find_embedded import inner
from model.recognition.key_candidates import names_a_part, version_fields
from model.recognition.metadata_fields import Stamps, stamps
from model.recognition.row_ties import tie
from model.recognition.sampling import SUREST, Document, Proposal, Sample, SampledChain, chain_of, of, on_grounds
from model.recognition.version_order import Inside, Judged, judged_inside
from model.values import canonical as c

NAME = "nested"


def nested(sample: Sample) -> Proposal | None:
    """The likeliest array whose elements are earlier states of the document, with lower versions."""
    found = [
        made for prev in _arrays(sample) for name in version_fields(sample) if (made := _proposed(sample, name, prev))
    ]
    return max(found, key=lambda each: (each.profile.layout == NAME, each.confidence), default=None)


def picked(sample: Sample, usual: str) -> Proposal | None:
    """:func:`nested`; else the likeliest version with an array named like a history, or with the usual name."""
    version = next(iter(version_fields(sample)), "")
    named = [name for name in _arrays(sample) if bare(name) in BEFORE]
    made = nested(sample)
    if (made is not None and made.profile.layout == NAME) or not version:
        return made
    found = stamps([], sample.documents, {"_id", version})
    prev = named[0] if named else usual
    return Proposal(
        CollectionProfile(sample.ns, NAME, version=version, prev=prev, token=found.token, at=found.at), 0.3, ""
    )


class KeptBeside(Struct, frozen=True, eq=False, dict=True):
    """An array whose elements may be earlier states of their document, and the field that may number all of them."""

    prev: str
    version: str
    inside: Sequence[Inside]
    dated: bool  # the version is a date in most documents

    @property
    def hinted(self) -> bool:
        """Whether the version is named like one."""
        return is_version_name(self.version)

    @property
    def named(self) -> bool:
        """Whether the array is named like a history."""
        return bare(self.prev) in BEFORE

    @cached_property
    def alike(self) -> float:
        """The share of fields that the latest earlier state has in common with the current one."""
        return sum(each.alike for each in self.inside) / len(self.inside) if self.inside else 0.0

    @cached_property
    def chains(self) -> list[SampledChain]:
        """The states of each document, oldest first."""
        return [chain_of([*each.past, each.now], self.version) for each in self.inside]

    @property
    def dense(self) -> bool:
        """Whether in nearly all documents the latest earlier state has the number just below the current one's."""
        follow = sum(each.places[-1] - each.places[-2] == 1 for each in self.chains if len(each.places) > 1)
        return follow >= 0.8 * len(self.chains)

    @cached_property
    def judged(self) -> Judged:
        """The evidence from the order of the versions."""
        return judged_inside(self.inside, self.version, self.prev)

    @property
    def good(self) -> float:
        """The share of documents with several versions that are in order."""
        return self.judged.good / max(1, self.judged.several)

    @cached_property
    def stamps(self) -> Stamps:
        """The fields beside the content of all states."""
        documents = [document for each in self.chains for document in each.documents]
        return stamps(self.chains, documents, {"_id", self.version, self.prev})

    @cached_property
    def tie(self) -> str:
        """How a field other than the layout's own ties versions to one another, as a clause; "" if none does."""
        own = {self.version, self.prev, *self.stamps.names}
        return tie([each.documents for each in self.chains], own)

    @property
    def shaped(self) -> str:
        """What the elements and the document have in common, as a clause."""
        return f"The elements of {self.prev} have the shape of the document itself"

    @property
    def found(self) -> str:
        """The versions in documents with a past, as a clause."""
        several = len(self.inside)
        any = "have any" if several > 1 else "has any"
        return f"{self.shaped}, and a {self.version} below its own in {of(several, several, 'document')} that {any}"


BESIDE: tuple[Sign[KeptBeside], ...] = (
    Sign(
        "likeness",
        "the fields of the latest earlier state",
        weighs=lambda it: 0.1 * it.alike,
        leaves=unless(lambda it: it.alike < 0.6),
    ),
    Sign(
        "gaps",
        "the number of the latest earlier state",
        leaves=unless(lambda it: not it.hinted and not it.dense),
    ),
    Sign(
        "unnamed date",
        "a date that no name calls a version",
        leaves=unless(lambda it: not it.hinted and it.dated),
    ),
    Sign(
        "a part's number",
        "names of lines, positions and measures",
        leaves=unless(lambda it: not it.hinted and names_a_part(it.version)),
    ),
    Sign("shape", "the document, and an array of its kind", weighs=fixed(0.7), says=lambda it: it.found),
    Sign(
        "order",
        "the versions of each document",
        weighs=lambda it: 0.15 * it.good,
        leaves=unless(lambda it: not it.judged.earned),
        says=lambda it: it.judged.said,
    ),
    Sign("names", "the name of the array", weighs=where(lambda it: it.named, 0.03)),
    Sign(
        "single document",
        "documents with a past",
        weighs=where(lambda it: len(it.inside) < 2 and not it.named, -0.15),
    ),
    Sign("stamps", "tokens and hashes beside the content", says=lambda it: it.stamps.said),
    Sign(
        "ties",
        "fields that a new version would have to set in an earlier one",
        leaves=unless(lambda it: bool(it.tie), 0.7),
        says=lambda it: it.tie,
    ),
    Sign("sample", "some documents only", leaves=lambda it: SUREST),
)
"""Signs that an array's elements are earlier states of their document."""


def _arrays(sample: Sample) -> list[str]:
    return [name for name, shape in sample.shapes.items() if shape.share(c.ARRAY) >= 0.3]


def _proposed(sample: Sample, version: str, prev: str) -> Proposal | None:
    """The proposal with these two fields; None if the elements are not earlier states of their document.

    If a document contradicts a likeness, ``plain`` with the contradiction.
    """
    inside = [
        Inside(d.get("_id"), [_bare(each, prev) for each in past], _bare(d, prev))
        for d in sample.documents
        if (past := inner(d.get(prev))) and d.place(version) is not None
    ]
    it = KeptBeside(prev, version, inside, sample.shapes[version].share(c.DATE) > 0.5)
    grounds = weighed(BESIDE, it)
    if grounds.ruled_out_by == "order" and it.hinted and it.judged.against:
        return Proposal(CollectionProfile(sample.ns), 0.7, f"{it.shaped}, but {it.judged.against}.", (NAME,))
    if not grounds.stands:
        return None
    profile = CollectionProfile(
        sample.ns,
        NAME,
        version=version,
        prev=prev,
        token=it.stamps.token,
        hash=it.stamps.hash,
        **it.stamps.sealing,
        at=it.stamps.at,
        author=it.stamps.author,
        reason=it.stamps.reason,
        numbering="time" if it.dated else "next",
    )
    return on_grounds(profile, grounds)


def _bare(state: Document, prev: str) -> Document:
    """A state without the array and without ``_id``."""
    return Document(c.without(state.raw, ["_id", prev]))
