"""Recognises collections in which every version is a document: ``versions``, ``flagged`` and ``deltas``.

A flag on the newest only, and the share of earlier fields in later versions, distinguish the three.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.recognition.evidence import Sign, unless, weighed
from model.recognition.field_names import FLAGS, REMOVED, bare, can_play_a_role, is_version_name
from model.recognition.find_logs import records
from model.recognition.key_candidates import Duplicates, Fit, best, coverage, is_id_name, occurs_twice, version_fields
from model.recognition.keys_in_ids import opened, paths_in_id
from model.recognition.metadata_fields import Stamps, stamps
from model.recognition.row_ties import tie
from model.recognition.sampling import Document, Proposal, Sample, SampledChain, on_grounds
from model.server.retry import Port
from model.storage.outlines import is_flagged
from model.values import canonical as c


def own_documents(server: Port, sample: Sample) -> Proposal | None:
    """``versions``, ``flagged`` or ``deltas`` with its fields; None if versions are not documents of their own.

    If any document contradicts the likely version field, proposes ``plain`` and says what contradicts.
    """
    keyed, is_named = keyed_in_id(server, sample) or (None, False)
    if keyed is not None and is_named:
        return keyed
    fit = best(server, sample)
    if fit is not None and fit.hidden:
        twice, ids, _ = fit.duplicates
        kind = _likely(sample, fit).kind.layout
        but = (
            f"{sample.name} looks like {kind} by {fit.id} and {fit.version}, but also like plain documents: for "
            f"{twice} of {ids} ids one {fit.version} is in several documents."
        )
        return Proposal(CollectionProfile(sample.ns), 0.5, but, (kind,), doubt=but)
    if fit is None or not fit.confidence:
        signs = fit is not None and (fit.unique or (fit.hinted and is_id_name(fit.id)))
        against = fit.judged.against if fit is not None and signs else ""
        if fit is not None and signs and not against and fit.duplicates.too_many:
            twice, ids, _ = fit.duplicates
            against = f"for {twice} of {ids} ids one {fit.version} is in several documents"
        if fit is None or not against:
            return None
        but = f"The field {fit.version} looks like a version by {fit.id}, but {against}."
        return Proposal(CollectionProfile(sample.ns), 0.7, but, ("versions",))
    if records(sample, frozenset({fit.id, fit.version})):
        but = f"The field {fit.version} numbers rows by {fit.id}, but these record changes or events, not states."
        return Proposal(CollectionProfile(sample.ns), 0.7, but, ("log",))
    return _proposed(sample, fit)


def keyed_in_id(server: Port, sample: Sample) -> tuple[Proposal, bool] | None:
    """``versions`` whose id and number are the two parts of ``_id``, and whether the number is named like one.

    None if nothing fits, or no id sampled has several versions.
    """
    if (inside := opened(server, sample)) is None:
        return None
    port, sample = inside
    fit = best(port, sample)
    if fit is None or not (fit.confidence and fit.several) or not {fit.id, fit.version} <= {*paths_in_id(sample)}:
        return None
    if records(sample, frozenset({fit.id, fit.version})) or _likely(sample, fit).kind is not STATES:
        return None
    made = _proposed(sample, fit, STATES)
    return replace(made, profile=replace(made.profile, token="", hash="")), fit.hinted


def hidden(server: Port, sample: Sample) -> tuple[CollectionProfile, Duplicates] | None:
    """The layout that only duplicate versions contradict, and these; None if there is none."""
    fit = best(server, sample)
    return None if fit is None or not fit.hidden else (_proposed(sample, fit).profile, fit.duplicates)


def wanted(server: Port, sample: Sample, kind: VersionKind) -> Proposal | None:
    """The best guess at the fields for one of these layouts; None if there is no version or no id."""
    fit = best(server, sample)
    return None if fit is None else _proposed(sample, fit, kind)


def near_miss(sample: Sample) -> str:
    """Why documents with some likeness to versions are not taken for versions, one sentence; "" if there is none."""
    numbers = version_fields(sample)
    pairs = [(id, version) for version in numbers for id in sample.shapes if id not in ("_id", version)]
    for index in sample.indexes if any(not sample.once(occurs_twice, *pair) for pair in pairs) else ():
        if index.unique and index.names in pairs:
            id, version = index.names
            return (
                f"A unique index on {id} and {version} would suit a document for every version, but documents with "
                f"the same {id} look like parts of one thing."
            )
    version = next(filter(is_version_name, numbers), "")
    return f"The field {version} looks like a version, but no earlier versions were found here." if version else ""


class LikelyVersions(Struct, frozen=True, eq=False, dict=True):
    """Two fields that fit as id and version, and what else their documents hold."""

    sample: Sample
    fit: Fit
    flag: str
    agreed: float  # the share of documents in which the flag is right
    sure: bool  # the flag's name says so

    @cached_property
    def stamps(self) -> Stamps:
        """The fields beside the content."""
        own = {"_id", self.fit.id, self.fit.version} | ({self.flag} if self.flag else set())
        return stamps(self.fit.several, _all(self.sample, self.fit), own)

    @cached_property
    def tie(self) -> str:
        """How a field other than the layout's own ties rows to one another, as a clause; "" if none does."""
        found = self.stamps
        own = {"_id", self.fit.id, self.fit.version, self.flag, *found.names}
        chains = [each.documents for each in self.fit.several if each.newest and not each.holes]
        return tie(chains, own, self.kind.holds_changes)

    @cached_property
    def coverage(self) -> tuple[float, float]:
        """The share of known fields that later versions repeat, and the share of new values among these."""
        found, fit = self.stamps, self.fit
        kept = {"_id", fit.id, fit.version, self.flag, *found.names}
        return coverage(fit.sound, kept)

    @property
    def kind(self) -> VersionKind:
        """Which of the three layouts it is."""
        covered, changed = self.coverage
        if self.flag:
            return FLAGGED
        few = (covered <= 0.5 and changed >= 0.4) or (covered <= 0.6 <= changed) or (covered <= 0.8 and changed >= 0.9)
        return CHANGES if few else STATES

    @property
    def clear(self) -> bool:
        """Whether later versions hold few fields, most of them with new values."""
        covered, changed = self.coverage
        return covered <= 0.6 and changed >= 0.8

    @property
    def others(self) -> tuple[str, ...]:
        """Other layouts that may be meant."""
        if self.flag:
            return () if self.sure and self.agreed > 0.9 else ("versions",)
        if self.kind.holds_changes:
            return () if self.clear else ("versions",)
        if self.coverage[0] < 0.8:
            return ("deltas",)
        if not self.fit.several:
            return ("flagged", "deltas")
        return ("plain",) if self.fit.alike < 0.3 else ()

    @property
    def unlike(self) -> str:
        """A clause that versions have little in common; "" if they have, or if it is unknown."""
        little = self.coverage[0] >= 0.8 and self.fit.several and self.fit.alike < 0.3
        return f"little stays the same from one {self.fit.version} to the next" if little else ""


class VersionKind(Struct, frozen=True):
    """One of the three ways to store every version as a document, its layout, and its signs."""

    layout: str
    telling: tuple[Sign[LikelyVersions], ...]
    flags_newest: bool = False
    holds_changes: bool = False


FLAGGED = VersionKind(
    "flagged",
    (
        Sign(
            "flag",
            "the field that marks the newest version",
            leaves=lambda it: 0.95 if it.agreed > 0.9 else 0.8 if it.sure else 0.7,
            says=lambda it: f"{it.flag} marks {'just the newest' if it.agreed == 1 else 'mostly the newest'}",
        ),
    ),
    flags_newest=True,
)
CHANGES = VersionKind(
    "deltas",
    (
        Sign(
            "coverage",
            "known fields in later versions",
            leaves=unless(lambda it: not it.clear, 0.6),
            says=lambda it: f"later versions hold {round(it.coverage[0] * 100)} % of the fields, those that changed",
        ),
    ),
    holds_changes=True,
)
STATES = VersionKind(
    "versions",
    (
        Sign("coverage", "known fields in later versions", leaves=unless(lambda it: it.coverage[0] < 0.8, 0.7)),
        Sign("unlike", "what versions keep of one another", says=lambda it: it.unlike),
    ),
)
STAMPED: tuple[Sign[LikelyVersions], ...] = (
    Sign(
        "ties",
        "fields that a new row would have to set in another one",
        leaves=unless(lambda it: bool(it.tie), 0.7),
        says=lambda it: it.tie,
    ),
    Sign("stamps", "tokens and hashes beside the content", says=lambda it: it.stamps.said),
)


def _proposed(sample: Sample, fit: Fit, wanted: VersionKind | None = None) -> Proposal:
    """The proposal for two fields; ``wanted`` is a person's choice among the three layouts."""
    it = _likely(sample, fit)
    found, kind = it.stamps, wanted or it.kind
    fields: dict[str, Any] = {
        "id": fit.id,
        "version": fit.version,
        "token": found.token,
        "hash": found.hash,
        **found.sealing,
        "at": found.at,
        "author": found.author,
        "reason": found.reason,
        "numbering": "time" if sample.shapes[fit.version].share(c.DATE) > 0.5 else "next",
    }
    if kind.flags_newest:
        fields["current"] = it.flag or _free_flag(sample)
    if kind.holds_changes:
        fields["removed"] = removed_field(fit.several)
    grounds = fit.grounds.and_then(weighed((*(() if wanted else kind.telling), *STAMPED), it))
    return on_grounds(CollectionProfile(sample.ns, kind.layout, **fields), grounds, () if wanted else it.others)


def _likely(sample: Sample, fit: Fit) -> LikelyVersions:
    return LikelyVersions(sample, fit, *flag_field(fit.chains, {"_id", fit.id, fit.version}))


def _free_flag(sample: Sample) -> str:
    hinted = [n for n, s in sample.shapes.items() if bare(n) in FLAGS and s.share(c.BOOLEAN)]
    return hinted[0] if hinted else "current"


def _all(sample: Sample, fit: Fit) -> list[Document]:
    """The sampled documents that have both an id and a version."""
    return [d for d in sample.documents if d.get(fit.id) is not None and d.get(fit.version) is not None]


# --- telling the three apart


def flag_field(chains: Sequence[SampledChain], own: Collection[str]) -> tuple[str, float, bool]:
    """The field that marks the newest version ("" if none), how often it is right, and whether its name says so."""
    whole = [each for each in chains if each.newest and each.documents]
    several = [each for each in whole if len(set(each.places)) > 1]
    if not several:
        return "", 0.0, False
    names = dict.fromkeys(n for each in whole for d in each.documents for n, v in d.fields.items() if is_flagged(v))
    found: list[tuple[bool, float, str]] = []
    for name in names:
        if name in own or not can_play_a_role(name):
            continue
        hinted, agreed = bare(name) in FLAGS, _agreed(several, name)
        if (hinted and agreed >= 0.7) or (agreed == 1 and len(several) >= 3 and _marks_all(whole, name)):
            found.append((hinted, agreed, name))
    hinted, agreed, name = max(found, default=(False, 0.0, ""))
    return name, agreed, hinted


def _agreed(chains: Sequence[SampledChain], name: str) -> float:
    """The share of versions in which a field is true for the newest and false for others."""
    right = total = 0
    for each in chains:
        for place, document in zip(each.places, each.documents, strict=True):
            total += 1
            right += is_flagged(document.get(name)) == (place == each.places[-1])
    return right / total


def _marks_all(chains: Sequence[SampledChain], name: str) -> bool:
    """Whether a field is always boolean, and true in the newest version of each of several documents."""
    values = [d.get(name) for each in chains for d in each.documents]
    boolean = all(value is None or value.type == c.BOOLEAN for value in values)
    return boolean and len(chains) >= 5 and all(is_flagged(each.documents[-1].get(name)) for each in chains)


def removed_field(chains: Sequence[SampledChain]) -> str:
    """The field of later versions that lists removed fields; "" if there is none."""
    for each in chains:
        for document in each.documents:
            for name, value in document.fields.items():
                if bare(name) in REMOVED and value.type == c.ARRAY and can_play_a_role(name):
                    return name
    return ""
