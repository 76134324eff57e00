"""Recognising collections in which every version is a document: ``versions``, ``flagged`` and ``deltas``.

The guess is a pair of fields, one with the document's id and one with the version. It stands on a unique index on both,
and on the documents that share an id: their versions differ and follow one another. Names only add to that.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from model import canonical as c
from model.canonical import Value
from model.layouts.evidence import ID_TYPES, Chain, Document, Proposal, Sample, chains, of
from model.layouts.hints import FLAGS, IDS, REMOVED, VERSIONS, bare, can_play_a_role, words
from model.layouts.inminiature import is_flagged
from model.layouts.stamps import stamps
from model.profile import stated
from model.resilient import Port

PAIRS = 6  # guesses that are followed up
LOOK_UPS = 8  # ids whose versions are read for a guess
LARGE = 50_000  # documents from which on a look-up without an index is made seldom


@dataclass(frozen=True, eq=False)
class Fit:
    """How well two fields serve as id and version."""

    id: str
    version: str
    unique: bool  # an index keeps the pairs apart
    chains: tuple[Chain, ...]

    @property
    def hinted(self) -> bool:
        """Whether the version is named like one."""
        return is_version_name(self.version)

    @cached_property
    def several(self) -> tuple[Chain, ...]:
        """The documents with more than one version."""
        return tuple(each for each in self.chains if len(each.documents) > 1)

    @cached_property
    def dated(self) -> bool:
        """Whether versions are dates."""
        values = [v for each in self.chains for d in each.documents if (v := d.get(self.version)) is not None]
        return sum(v.type == c.DATE for v in values) * 2 > len(values)

    @cached_property
    def distinct(self) -> float:
        """The part of the documents whose version no other one with that id has."""
        total = sum(len(each.places) for each in self.several)
        return sum(len(set(each.places)) for each in self.several) / total if total else 0.0

    @cached_property
    def dense(self) -> float:
        """How completely the numbers between the lowest and the highest are there."""
        if not self.several:
            return 0.0
        shares = [(len(set(p)) - 1) / (max(p) - min(p)) if len(set(p)) > 1 else 0.0 for p in self._places]
        return sum(shares) / len(shares)

    @property
    def _places(self) -> list[tuple[int, ...]]:
        return [each.places for each in self.several]

    @cached_property
    def alike(self) -> float:
        """How much of a document is the same in the version after it; dates and ObjectIds do not count."""
        same = total = 0
        for each in self.several:
            for older, newer in each.steps:
                for name in dict.fromkeys((*older.fields, *newer.fields)):
                    a, b = older.get(name), newer.get(name)
                    if name in ("_id", self.id, self.version) or (a or b).type in (c.DATE, c.OBJECT_ID):  # type: ignore[union-attr]
                        continue
                    total += 1
                    same += a == b
        return same / total if total else 1.0

    @property
    def confidence(self) -> float:
        """How sure it is that these are versions; 0 where something speaks against it."""
        if not self.several:
            return (0.6 if self.hinted else 0.0) if self.unique else 0.0
        numbers = 1.0 if self.dated else self.dense
        if self.distinct < 0.7 or numbers < 0.5 or (self.dated and not self.hinted):
            return 0.0
        if self.hinted:
            return 0.97 if self.unique else round(0.6 + 0.3 * self.distinct * numbers * self._repeated, 2)
        if self.alike < 0.5 or numbers < 0.8:
            return 0.0
        if self.unique:
            return 0.85
        return 0.65 if self.distinct > 0.95 and is_id_name(self.id) and self._repeated >= 0.5 else 0.0

    @property
    def _repeated(self) -> float:
        above = [each for each in self.chains if each.places and max(each.places) > 1]
        return sum(len(each.places) > 1 for each in above) / len(above) if above else 0.0

    @property
    def why(self) -> str:
        """The evidence, as the beginning of a sentence."""
        index = f"unique index on {self.id} and {self.version}" if self.unique else ""
        found = ""
        if self.chains and self.several:
            share = of(len(self.several), len(self.chains), "id")
            numbered = "by time" if self.dated else "without gaps" if self.dense == 1 else "with few gaps"
            found = f"{share} looked up in {self.id} have several versions, numbered {numbered} in {self.version}"
        elif self.chains:
            found = f"no document has more than one {self.version} yet"
        return "; ".join(filter(None, (index, found)))


def is_version_name(name: str) -> bool:
    """Whether a field is named as versions are; ``__v`` is what Mongoose locks with, and keeps no history."""
    return bare(name) in VERSIONS and not name.startswith("__")


def is_id_name(name: str) -> bool:
    """Whether a field is named as ids are."""
    return bare(name) in IDS or words(name)[-1:] in (("id",), ("key",), ("uuid",), ("no",))


def version_fields(sample: Sample) -> list[str]:
    """Fields that may hold a version, the likeliest first."""
    found: list[tuple[Any, ...]] = []
    for name, shape in sample.shapes.items():
        dated = is_version_name(name) and shape.share(c.DATE) >= 0.6
        if name != "_id" and (shape.numbered >= 0.6 or dated):
            unique = bool(sample.unique_with(name))
            found.append((not is_version_name(name), not unique, len(found), name))
    return [name for *_, name in sorted(found)]


def id_fields(sample: Sample, version: str) -> list[str]:
    """Fields that may hold the id that a document's versions share, the likeliest first."""
    unique = sample.unique_with(version)
    found: list[tuple[Any, ...]] = []
    for name, shape in sample.shapes.items():
        if name in ("_id", version) or shape.share(*ID_TYPES) < 0.8 or is_version_name(name):
            continue
        order = (name not in unique, not sample.leads_index(name), not is_id_name(name), shape.share(c.DOUBLE) > 0)
        found.append((*order, len(found), name))
    return [name for *_, name in sorted(found)]


def fits(server: Port, sample: Sample) -> Iterator[Fit]:
    """The pairs of fields that may be id and version, looked into one by one."""
    tried = 0
    for version in version_fields(sample):
        for id in id_fields(sample, version):
            unique = id in sample.unique_with(version)
            if not unique and not _promising(sample, id, version):
                continue
            tried += 1
            if tried > PAIRS:
                return
            rare = not sample.leads_index(id) and (sample.count or LARGE) >= LARGE
            ids = _worth_a_look(sample, id, version, 2 if rare else LOOK_UPS)
            yield Fit(id, version, unique, tuple(chains(server, sample, id, version, ids)))


def _promising(sample: Sample, id: str, version: str) -> bool:
    """Whether the sample does not speak against a pair that no index bears out."""
    shared: dict[Value, list[int]] = defaultdict(list)
    for document in sample.documents:
        value, place = document.get(id), document.place(version)
        if value is not None and place is not None:
            shared[value].append(place)
    several = [places for places in shared.values() if len(places) > 1]
    documents = sum(map(len, several))
    if documents and sum(len(set(places)) for places in several) < 0.7 * documents:
        return False
    if is_version_name(version):
        return True
    return len(several) >= 2 and is_id_name(id)


def _worth_a_look(sample: Sample, id: str, version: str, most: int) -> list[Value]:
    """Ids whose versions tell most: half of them with the highest versions, half across the sample."""
    placed = [(p, v) for d in sample.documents if (v := d.get(id)) is not None and (p := d.place(version)) is not None]
    usable = [(place, value) for place, value in placed if value.type in ID_TYPES]
    high = dict.fromkeys(value for _, value in sorted(usable, key=lambda pair: -pair[0]))
    across = list(dict.fromkeys(value for _, value in usable))
    step = max(1, len(across) // max(1, most // 2))
    chosen = dict.fromkeys([*list(high)[: most - most // 2], *across[::step]])
    return list(chosen)[:most]


def best(server: Port, sample: Sample) -> Fit | None:
    """The pair of fields that fits best, whether well or not."""
    found: Fit | None = None
    for fit in fits(server, sample):
        if found is None or _rank(fit) > _rank(found):
            found = fit
        if found.confidence >= 0.95:
            break
    return found


def _rank(fit: Fit) -> tuple[float, bool]:
    return fit.confidence, fit.unique


def own_documents(server: Port, sample: Sample) -> Proposal | None:
    """``versions``, ``flagged`` or ``deltas`` with its fields; None where versions are no documents of their own."""
    fit = best(server, sample)
    if fit is None or not fit.confidence:
        return None
    return _told(sample, fit)


def wanted(server: Port, sample: Sample, layout: str) -> Proposal | None:
    """The fields for one of these layouts, as well as can be guessed; None where there is no version or no id."""
    fit = best(server, sample)
    return None if fit is None else _told(sample, fit, layout)


def near_miss(server: Port, sample: Sample) -> tuple[str, ...]:
    """``versions`` where numbers follow one another under a unique index, and yet look like lines of one thing."""
    for version in version_fields(sample):
        if sample.unique_with(version):
            return ("versions",)
    return ()


def _told(sample: Sample, fit: Fit, layout: str = "") -> Proposal:
    own = {"_id", fit.id, fit.version}
    flag, agreed, sure = flag_field(fit.chains, own)
    found = stamps(fit.several, _all(sample, fit), own | ({flag} if flag else set()))
    kept = {*own, flag, found.token, found.hash, found.at, found.author}
    covered, changed = coverage(fit.several, kept)
    fields: dict[str, Any] = {
        "id": fit.id,
        "version": fit.version,
        "token": found.token,
        "hash": found.hash,
        "at": found.at,
        "author": found.author,
        "numbering": "time" if fit.dated else "next",
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
        elif covered <= 0.8 and changed >= 0.6 and (covered <= 0.6 or changed >= 0.9):
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
    if picked == "flagged":
        fields["current"] = flag or _free_flag(sample)
    if picked == "deltas":
        fields["removed"] = removed_field(fit.several)
    if found.said:
        why += f"; {found.said}"
    return Proposal(stated(sample.ns, picked, **fields), round(confidence, 2), f"{why[:1].upper()}{why[1:]}.", others)


def _free_flag(sample: Sample) -> str:
    hinted = [n for n, s in sample.shapes.items() if bare(n) in FLAGS and s.share(c.BOOLEAN)]
    return hinted[0] if hinted else "current"


def _all(sample: Sample, fit: Fit) -> list[Document]:
    """The sampled documents that are versions at all."""
    return [d for d in sample.documents if d.get(fit.id) is not None and d.get(fit.version) is not None]


# --- what tells the three apart


def flag_field(chains: Sequence[Chain], own: Collection[str]) -> tuple[str, float, bool]:
    """The field that marks the newest version, how often it is right, and whether its name says so; "" if none."""
    whole = [each for each in chains if each.whole and each.documents]
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
        if (hinted and agreed >= 0.7) or (boolean and agreed >= 0.95 and newest >= 0.95 and len(several) >= 3):
            found.append((hinted, agreed, name))
    if not found:
        return "", 0.0, False
    hinted, agreed, name = max(found)
    return name, agreed, hinted


def coverage(chains: Sequence[Chain], own: Collection[str]) -> tuple[float, float]:
    """How much of what is known so far a later version holds, and how much of what it holds is new; 1, 0 if unknown."""
    held = known = changed = 0
    for each in chains:
        state: dict[str, Value] = {}
        for number, document in enumerate(each.documents):
            content = {name: value for name, value in document.fields.items() if name not in own}
            if number and len(state) > 1:
                again = [name for name in content if name in state]
                held += len(again)
                known += len(state)
                changed += sum(content[name] != state[name] for name in again)
            state |= content
    return (held / known, changed / held if held else 1.0) if known else (1.0, 0.0)


def removed_field(chains: Sequence[Chain]) -> str:
    """The field of later versions that lists what they removed; "" where there is none."""
    for each in chains:
        for document in each.documents:
            for name, value in document.fields.items():
                if bare(name) in REMOVED and value.type == c.ARRAY and can_play_a_role(name):
                    return name
    return ""
