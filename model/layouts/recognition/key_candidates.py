"""Two fields that may be the id and the version of documents that are versions, and how well they serve.

The proof is a look-up of some ids: the documents that share one have different versions, which follow one another, were
made in that order, and are mostly alike. Two fields that number the lines of an order pass only a part of this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from model.layouts.recognition.field_names import IDS, VERSIONS, bare, words
from model.layouts.recognition.sampling import ID_TYPES, Sample, SampledChain, chains, of
from model.server.retry import Port
from model.values import canonical as c
from model.values.canonical import Value

GUESSES = 20  # fields of each role
PAIRS = 6  # guesses that are followed up
LOOK_UPS = 8  # ids whose versions are read for a guess
LARGE = 50_000  # documents from which on a look-up without an index is made seldom


@dataclass(frozen=True, eq=False)
class Fit:
    """How well two fields serve as id and version."""

    id: str
    version: str
    unique: bool  # an index keeps the pairs apart
    chains: tuple[SampledChain, ...]

    @property
    def hinted(self) -> bool:
        """Whether the version is named like one."""
        return is_version_name(self.version)

    @cached_property
    def several(self) -> tuple[SampledChain, ...]:
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

    @cached_property
    def partial(self) -> bool:
        """Whether later versions leave out much of what is known, and hold what is new."""
        held, new = coverage(self.several, {"_id", self.id, self.version})
        return held <= 0.8 and new >= 0.8

    @cached_property
    def clean(self) -> float:
        """The part of the documents whose versions are all there, each once, from the lowest or from anywhere on."""
        return self._share(lambda p: self.dated or len(p) == max(p) - min(p) + 1)

    @cached_property
    def begun(self) -> float:
        """The part of them that begins with the first version too."""
        lowest = min((min(p) for p in self._places), default=0)
        return self._share(lambda p: self.dated or (len(p) == max(p) - min(p) + 1 and min(p) == min(lowest, 1)))

    def _share(self, good: Callable[[tuple[int, ...]], bool]) -> float:
        fine = sum(len(set(p)) == len(p) and good(p) for p in self._places)
        return fine / len(self.several) if self.several else 0.0

    @cached_property
    def made_in_order(self) -> tuple[float, int]:
        """The part of the steps at which an ObjectId as ``_id`` rises with the version, and of how many steps."""
        steps = [(a.get("_id"), b.get("_id")) for each in self.several for a, b in each.steps]
        known = [(a.data, b.data) for a, b in steps if a and b and a.type == b.type == c.OBJECT_ID]
        return (sum(a < b for a, b in known) / len(known) if known else 1.0), len(known)

    @cached_property
    def confidence(self) -> float:
        """How sure it is that these are versions of one thing and no parts of it; 0 where something speaks against."""
        if not self.several:
            return 0.6 if self.hinted and self.unique else 0.0
        numbers = 1.0 if self.dated else self.dense
        rising, steps = self.made_in_order
        surely = rising >= 0.95 and steps >= 8 and self.distinct >= 0.9 and self.alike >= 0.4
        if self.distinct < 0.7 or (numbers < 0.5 and not surely) or (self.dated and not self.hinted):
            return 0.0
        if self.unique and self.hinted:
            return 0.97 if self.alike >= 0.3 or self.partial else 0.7
        if self.unique:
            return 0.85 if numbers >= 0.8 and (self.alike >= 0.5 or self.partial) else 0.0
        # Without an index even numbers drawn by lot follow one another now and then.
        surely = surely or (self.clean >= 0.9 and rising >= 0.95 and self.alike >= 0.4)
        if self._repeated < 0.5 or rising < 0.75 or (self.begun < 0.5 and not surely):
            return 0.0
        if self.hinted:
            sure = 0.6 + 0.15 * self.clean + 0.15 * self._repeated
            return sure if self.alike >= 0.3 or self.partial else 0.5
        return 0.65 if self.begun >= 0.9 and self.alike >= 0.5 and is_id_name(self.id) else 0.0

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
            numbered = "by time" if self.dated else "without gaps" if self.dense == 1 else "with gaps"
            found = f"{share} looked up in {self.id} have several versions, numbered {numbered} in {self.version}"
        elif self.chains:
            found = f"no document has more than one {self.version} yet"
        return "; ".join(filter(None, (index, found)))


def is_version_name(name: str) -> bool:
    """Whether a field is named as versions are; Mongoose's "__v" is a lock and keeps no history."""
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
    return [name for *_, name in sorted(found)][:GUESSES]


def id_fields(sample: Sample, version: str) -> list[str]:
    """Fields that may hold the id that a document's versions share, the likeliest first."""
    unique = sample.unique_with(version)
    found: list[tuple[Any, ...]] = []
    for name, shape in sample.shapes.items():
        if name in ("_id", version) or shape.share(*ID_TYPES) < 0.8 or is_version_name(name):
            continue
        order = (name not in unique, not sample.leads_index(name), not is_id_name(name), shape.share(c.DOUBLE) > 0)
        found.append((*order, len(found), name))
    return [name for *_, name in sorted(found)][:GUESSES]


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


def coverage(chains: Sequence[SampledChain], own: Collection[str]) -> tuple[float, float]:
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
