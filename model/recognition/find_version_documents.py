"""The recognition of collections in which every version is a document: ``versions``, ``flagged`` and ``deltas``.

A flag on just the newest, and the share of the earlier fields in later versions, tell the three apart.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from model.foundation.collection_profile import CollectionProfile
from model.recognition.field_names import FLAGS, REMOVED, bare, can_play_a_role
from model.recognition.find_logs import records
from model.recognition.key_candidates import Fit, best, coverage, is_id_name, is_version_name, version_fields
from model.recognition.metadata_fields import stamps
from model.recognition.sampling import Document, Proposal, Sample, SampledChain
from model.server.retry import Port
from model.storage.outlines import is_flagged
from model.values import canonical as c


def own_documents(server: Port, sample: Sample) -> Proposal | None:
    """``versions``, ``flagged`` or ``deltas`` with its fields; None where versions are no documents of their own.

    Where one document contradicts the field that looks like a version, ``plain`` with that contradiction.
    """
    fit = best(server, sample)
    if fit is None or not fit.confidence:
        signs = fit is not None and (fit.unique or (fit.hinted and is_id_name(fit.id)))
        against = fit.judged.against if fit is not None and signs else ""
        if fit is None or not against:
            return None
        but = f"The field {fit.version} looks like a version by {fit.id}, but {against}."
        return Proposal(CollectionProfile(sample.ns), 0.7, but, ("versions",))
    if records(sample, frozenset({fit.id, fit.version})):
        but = f"The field {fit.version} numbers rows by {fit.id}, but these record changes or events and are no states."
        return Proposal(CollectionProfile(sample.ns), 0.7, but, ("log",))
    return _told(sample, fit)


def wanted(server: Port, sample: Sample, layout: str) -> Proposal | None:
    """The fields for one of these layouts, by the best guess; None where there is no version or no id."""
    fit = best(server, sample)
    return None if fit is None else _told(sample, fit, layout)


def near_miss(sample: Sample) -> str:
    """Why documents that look a little like versions are not taken for ones, one sentence; "" where none do."""
    numbers = version_fields(sample)
    for index in sample.indexes if numbers else ():
        if index.unique and len(index.names) == 2 and index.names[1] in numbers and index.names[0] in sample.shapes:
            id, version = index.names
            return (
                f"A unique index on {id} and {version} would suit a document for every version, but documents with "
                f"the same {id} look like parts of one thing."
            )
    version = next(filter(is_version_name, numbers), "")
    return f"The field {version} looks like a version, but no earlier versions were found here." if version else ""


def _told(sample: Sample, fit: Fit, layout: str = "") -> Proposal:
    own = {"_id", fit.id, fit.version}
    flag, agreed, sure = flag_field(fit.chains, own)
    found = stamps(fit.several, _all(sample, fit), own | ({flag} if flag else set()))
    kept = {*own, flag, found.token, found.hash, found.at, found.author}
    covered, changed = coverage(fit.sound, kept)
    fields: dict[str, Any] = {
        "id": fit.id,
        "version": fit.version,
        "token": found.token,
        "hash": found.hash,
        **found.sealing,
        "at": found.at,
        "author": found.author,
        "numbering": "time" if sample.shapes[fit.version].share(c.DATE) > 0.5 else "next",
    }
    others: tuple[str, ...] = ()
    confidence, why = fit.confidence, fit.why
    picked = layout
    if not picked:
        if flag:
            picked = "flagged"
            why += f"; {flag} marks {'just the newest' if agreed == 1 else 'mostly the newest'}"
            confidence, others = (min(confidence, 0.95 if agreed > 0.9 else 0.8 if sure else 0.7)), ("versions",)
            others = () if sure and agreed > 0.9 else others
        elif (covered <= 0.5 and changed >= 0.4) or (covered <= 0.6 <= changed) or (covered <= 0.8 and changed >= 0.9):
            picked = "deltas"
            why += f"; later versions hold {round(covered * 100)} % of the fields, those that changed"
            clear = covered <= 0.6 and changed >= 0.8
            confidence, others = (confidence, ()) if clear else (min(confidence, 0.6), ("versions",))
        else:
            picked = "versions"
            if covered < 0.8:
                confidence, others = min(confidence, 0.7), ("deltas",)
            elif not fit.several:
                others = ("flagged", "deltas")
            elif fit.alike < 0.3:
                others = ("plain",)
                why += f"; little stays the same from one {fit.version} to the next"
    if picked == "flagged":
        fields["current"] = flag or _free_flag(sample)
    if picked == "deltas":
        fields["removed"] = removed_field(fit.several)
    if found.said:
        why += f"; {found.said}"
    return Proposal(
        CollectionProfile(sample.ns, picked, **fields), round(confidence, 2), f"{why[:1].upper()}{why[1:]}.", others
    )


def _free_flag(sample: Sample) -> str:
    hinted = [n for n, s in sample.shapes.items() if bare(n) in FLAGS and s.share(c.BOOLEAN)]
    return hinted[0] if hinted else "current"


def _all(sample: Sample, fit: Fit) -> list[Document]:
    """The sampled documents that are versions at all."""
    return [d for d in sample.documents if d.get(fit.id) is not None and d.get(fit.version) is not None]


# --- telling the three apart


def flag_field(chains: Sequence[SampledChain], own: Collection[str]) -> tuple[str, float, bool]:
    """The field that marks the newest version ("" if none), how often it is right, and whether its name says so."""
    whole = [each for each in chains if each.newest and each.documents]
    several = [each for each in whole if len(set(each.places)) > 1]
    if not several:
        return "", 0.0, False
    names = dict.fromkeys(n for each in whole for d in each.documents for n, v in d.fields.items() if is_flagged(v))
    found: list[tuple[Any, ...]] = []
    for name in names:
        if name in own or not can_play_a_role(name):
            continue
        right = total = 0
        for each in several:
            for place, document in zip(each.places, each.documents, strict=True):
                total += 1
                right += is_flagged(document.get(name)) == (place == each.places[-1])
        newest = sum(is_flagged(each.documents[-1].get(name)) for each in whole) / len(whole)
        hinted = bare(name) in FLAGS
        agreed = right / total
        boolean = all(v.type == c.BOOLEAN for each in whole for d in each.documents if (v := d.get(name)) is not None)
        if (hinted and agreed >= 0.7) or (boolean and agreed == newest == 1 and len(whole) >= 5 and len(several) >= 3):
            found.append((hinted, agreed, name))
    if not found:
        return "", 0.0, False
    hinted, agreed, name = max(found)
    return name, agreed, hinted


def removed_field(chains: Sequence[SampledChain]) -> str:
    """The field of later versions that lists what they removed; "" where there is none."""
    for each in chains:
        for document in each.documents:
            for name, value in document.fields.items():
                if bare(name) in REMOVED and value.type == c.ARRAY and can_play_a_role(name):
                    return name
    return ""
