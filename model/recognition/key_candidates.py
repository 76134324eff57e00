"""Candidates for the key of version documents: pairs of fields for id and version, and how well they fit.

The proof is a look-up of some ids: documents with one id must have different, consecutive versions, made in that
order, and be mostly alike. Two fields that number the lines of an order pass only some of these tests.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice, pairwise
from math import factorial, prod
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from model.errors import OF_CIRCUMSTANCE, Refused
from model.recognition.evidence import RULED_OUT, Grounds, Sign, unless, weighed
from model.recognition.field_names import (
    IDS,
    OPERATIONS,
    PARTS,
    PAYLOADS,
    STREAMS,
    bare,
    is_version_name,
    words,
)
from model.recognition.sampling import (
    ID_TYPES,
    SAMPLED,
    WITHIN_MS,
    Document,
    Sample,
    SampledChain,
    gently,
    of,
    read_chains,
    scattered,
)
from model.recognition.small_collections import SmallCollections
from model.recognition.version_order import MOST_REPEATED, Judged, Verdict, is_timed, judged, judgement, with_time
from model.server.retry import Port, Terms
from model.storage.gaps import SECONDS
from model.storage.reserved_fields import number_of
from model.values import canonical as c
from model.values.canonical import Value

KEYS = (*ID_TYPES, c.OBJECT)
GUESSES = 20  # fields tried for each role
PAIRS = 6  # guesses to follow up
LOOK_UPS = 16  # ids whose versions are read for a guess
SEEN = 10  # of these, ids whose rows in the sample look wrong
LARGE = 50_000  # with this many documents, few look-ups are made without an index
FEW = 2  # long histories to read in such a collection
COUNTED = 20_000  # up to this many documents all are grouped by id, else this many at random
GROUPS = 2000
AT_HAND = 2000  # documents of a collection that is read completely to check guesses without an index
AT_HAND_BYTES = 1 << 20  # their bytes at most
SHOWN = 8  # sampled ids with several versions, if an index and the names suggest versions
LEAST_RISING = 5  # documents with different versions, to doubt that others are plain documents
MOST_BEGIN = 0.6  # share of all ids; under fields that seldom change, few groups begin with version 1
RARE, RARER, RAREST = (
    0.1,
    0.001,
    1e-6,
)  # accepted probability of chance; smaller if names or likeness say less


class Duplicates(NamedTuple):
    """How many ids have a version in several documents."""

    twice: int
    ids: int  # all
    rising: int  # those with different versions

    @property
    def too_many(self) -> bool:
        """Whether two writers that took one number explain them no more."""
        return self.twice > min(MOST_REPEATED * self.ids, self.rising)


def duplicates_in(server: Port, sample: Sample, id: str, version: str) -> Duplicates | None:
    """The versions that are stored twice in a collection; None if it is too large to tell."""
    return gently(lambda: _grouped(server, sample, id, version), _Groups()).duplicates


class Fit(Struct, frozen=True, eq=False, dict=True):
    """The evidence for two fields as id and version."""

    id: str
    version: str
    unique: bool  # an index separates the pairs
    chains: tuple[SampledChain, ...]
    beginning: float = 1.0  # the share of all ids whose rows begin with version 1
    counted: Duplicates | None = None  # of all ids; None if unknown

    @property
    def hinted(self) -> bool:
        """Whether the version field is named like one."""
        return is_version_name(self.version)

    @cached_property
    def several(self) -> tuple[SampledChain, ...]:
        """The documents with more than one version."""
        return tuple(each for each in self.chains if len(each.documents) > 1)

    @cached_property
    def sound(self) -> tuple[SampledChain, ...]:
        """Documents with a complete history; all with several versions if there are none."""
        good = (each for each in self.several if judgement(each, self.version).verdict is Verdict.GOOD)
        return tuple(each for each in good if each.places[0] <= 1) or self.several

    @cached_property
    def dated(self) -> bool:
        """Whether versions are dates, or numbers that count time since 1970."""
        return 2 * sum(is_timed(each, self.version) for each in self.chains) > len(self.chains)

    @cached_property
    def judged(self) -> Judged:
        """The evidence from the order of versions in the documents looked up."""
        return judged(self.chains, self.id, self.version)

    @property
    def earned(self) -> bool:
        """Whether the order of versions is right; in a field named like one, two writers may have taken a number."""
        return self.judged.earned or (self.hinted and self.judged.in_order)

    @property
    def duplicates(self) -> Duplicates:
        """The versions that are stored twice: of all ids, or of those looked up."""
        rising = sum(len(set(each.places)) > 1 for each in self.several)
        return self.counted or Duplicates(self.judged.repeated, len(self.chains), rising)

    @cached_property
    def hidden(self) -> bool:
        """Whether nothing but duplicates speaks against versions, and enough documents and names speak for them."""
        told = self.hinted and (is_id_name(self.id) or (self.kindred and self.akin))
        if not (told and self.duplicates.too_many and self.duplicates.rising >= LEAST_RISING):
            return False
        return weighed([sign for sign in UNINDEXED if sign.name != DUPLICATES], self).stands

    @cached_property
    def dense(self) -> float:
        """The share of numbers between the lowest and the highest that exist."""
        shares = [
            (len(set(part)) - 1) / (part[-1] - part[0]) if len(set(part)) > 1 else 0.0
            for each in self.several
            for part in each.stretches
            if len(part) > 1
        ]
        return sum(shares) / len(shares) if shares else 0.0

    @cached_property
    def alike(self) -> float:
        """The share of a document that the next version keeps, ignoring dates and ObjectIds."""
        return self._alike([step for each in self.several for step in each.steps])

    @cached_property
    def kindred(self) -> bool:
        """Whether two versions of one document are more alike than two documents."""
        firsts = [each.documents[0] for each in self.chains if each.documents]
        return len(firsts) > 1 and self.alike > self._alike(list(pairwise(firsts))) + 0.1

    def _alike(self, pairs: Sequence[tuple[Document, Document]]) -> float:
        same = total = 0
        for older, newer in pairs:
            for name in dict.fromkeys((*older.fields, *newer.fields)):
                a, b = older.get(name), newer.get(name)
                if name in ("_id", self.id, self.version) or (a or b).type in (c.DATE, c.OBJECT_ID):  # type: ignore[union-attr]
                    continue
                total += 1
                same += a == b
        return same / total if total else 1.0

    @cached_property
    def partial(self) -> bool:
        """Whether later versions omit many known fields, and hold new values."""
        held, new = coverage(self.sound, {"_id", self.id, self.version})
        return held <= 0.8 and new >= 0.8

    @cached_property
    def clean(self) -> float:
        """The share of documents with all versions from their lowest one on, each once if no name tells."""
        return self._share(lambda part: self.dated or len(part) == part[-1] - part[0] + 1)

    @cached_property
    def begun(self) -> float:
        """The share of documents with all versions from the first on."""
        lowest = min((each.places[0] for each in self.several), default=0)
        return self._share(
            lambda part: self.dated or len(part) == part[-1] - part[0] + 1,
            lambda first: self.dated or first == min(lowest, 1),
        )

    def _share(self, good: Callable[[tuple[int, ...]], bool], first: Callable[[int], bool] | None = None) -> float:
        fine = sum(
            (self.hinted or len(set(each.places)) == len(each.places))
            and all(good(tuple(dict.fromkeys(part))) for part in each.stretches)
            and (first is None or first(each.places[0]))
            for each in self.several
        )
        return fine / len(self.several) if self.several else 0.0

    @cached_property
    def made_in_order(self) -> tuple[float, int]:
        """The share of steps at which time rises with the version, and the number of steps with known time."""
        told = [with_time(each, self.version) for each in self.several]
        rises, falls = sum(rises for rises, _, _ in told), sum(falls for _, falls, _ in told)
        return (rises / (rises + falls) if rises + falls else 1.0), rises + falls

    @property
    def rises_surely(self) -> bool:
        """Whether time rises at so many steps that numbers need not be consecutive."""
        rising, steps = self.made_in_order
        return rising >= 0.95 and steps >= 8 and self.alike >= 0.4

    @property
    def complete_and_rising(self) -> bool:
        """Whether histories are complete, or supported by time alone."""
        return self.rises_surely or (self.clean >= 0.9 and self.made_in_order[0] >= 0.95 and self.alike >= 0.4)

    @property
    def of_stream(self) -> bool:
        """Whether the id is that of an event store's stream."""
        return bool(STREAMS & {*words(self.id)})

    @property
    def room_for_gaps(self) -> float:
        """The confidence that gaps leave: where half of the numbers are missing, rows may be a cache of something."""
        if self.dated or self.dense > 0.5:
            return 1.0
        return 0.7 if self.rises_surely or self.dense == 0.5 else RULED_OUT

    @cached_property
    def whole_states(self) -> bool:
        """Whether all histories begin with the first version and have no gap, and no row says what happened."""
        names = {bare(name) for each in self.several for document in each.documents for name in document.fields}
        return self.begun == 1 and is_id_name(self.id) and not names & (OPERATIONS | PAYLOADS)

    @property
    def akin(self) -> bool:
        """Whether versions keep enough of one another to be states of one thing."""
        return self.alike >= 0.3 or self.partial

    @cached_property
    def chance(self) -> float:
        """The probability that random numbers are in the order of time in all these documents."""
        return prod(1 / factorial(len(set(each.places))) for each in self.several)

    @property
    def is_chance(self) -> bool:
        """Whether random numbers may explain the order; other evidence for versions makes that less likely."""
        if (self.hinted and is_id_name(self.id)) or (self.kindred and self.akin):
            return self.chance > RARE
        return self.chance > (RARER if self.kindred or self.akin else RAREST)

    @cached_property
    def repeated(self) -> float:
        """The share of documents with a version above the first that have several."""
        above = [each for each in self.chains if each.places and max(each.places) > 1]
        return sum(len(each.places) > 1 for each in above) / len(above) if above else 0.0

    @property
    def found(self) -> str:
        """The versions looked up, as a clause."""
        if self.chains and self.several:
            share = of(len(self.several), len(self.chains), "id")
            numbered = "by time" if self.dated else "without gaps" if self.dense == 1 else "with gaps"
            return f"{share} looked up in {self.id} have several versions, numbered {numbered} in {self.version}"
        return f"no document has more than one {self.version} yet" if self.chains else ""

    @cached_property
    def grounds(self) -> Grounds:
        """The evidence that these are versions of one thing, not its parts."""
        if not self.several:
            return weighed(ALONE, self)
        return weighed(INDEXED if self.unique else UNINDEXED, self)

    @property
    def confidence(self) -> float:
        """The confidence from its evidence; 0 if something rules it out."""
        return self.grounds.confidence


KEY: dict[tuple[bool, bool], float] = {
    (True, True): 0.97,
    (True, False): 0.85,
    (False, True): 0.6,
    (False, False): 0.65,
}
"""The weight of an index on both fields and of the version's name."""

DUPLICATES = "duplicates"
_TOLD: tuple[Sign[Fit], ...] = (
    Sign(
        "key",
        "a unique index on both, and the name of the version",
        weighs=lambda fit: KEY[fit.unique, fit.hinted],
        says=lambda fit: f"unique index on {fit.id} and {fit.version}" if fit.unique else "",
    ),
    Sign("look-up", "the documents of some ids", says=lambda fit: fit.found),
)
ALONE: tuple[Sign[Fit], ...] = (
    *_TOLD,
    Sign("order", "the documents of each id", says=lambda fit: fit.judged.said),
    Sign(
        "single versions",
        "ids of which none has several",
        leaves=lambda fit: RULED_OUT if not fit.hinted or not fit.unique else 0.8 if is_id_name(fit.id) else 0.6,
    ),
)
"""Signs if no id has several versions: only an index and a name can speak for them."""
_ORDERED: tuple[Sign[Fit], ...] = (
    *_TOLD,
    Sign(
        "order",
        "the documents of each id",
        leaves=unless(lambda fit: not fit.earned),
        says=lambda fit: fit.judged.said,
    ),
    Sign(
        DUPLICATES,
        "versions stored twice",
        leaves=unless(lambda fit: fit.duplicates.too_many),
    ),
    Sign(
        "gaps",
        "the numbers between the lowest and the highest",
        leaves=lambda fit: fit.room_for_gaps,
        says=lambda fit: "half of the numbers or more are missing, as in a cache" if fit.room_for_gaps < 1 else "",
    ),
    Sign(
        "stream",
        "an id that names a stream of events",
        leaves=unless(lambda fit: fit.of_stream, 0.7),
        says=lambda fit: (
            f"{fit.id} names a stream of events, of which such rows may be a cache" if fit.of_stream else ""
        ),
    ),
    Sign(
        "unnamed date", "a date that no name calls a version", leaves=unless(lambda fit: fit.dated and not fit.hinted)
    ),
    Sign(
        "a part's number",
        "names of lines, positions and measures",
        leaves=unless(lambda fit: not fit.hinted and any(map(names_a_part, (fit.id, fit.version)))),
    ),
    Sign(
        "unnamed number",
        "the chance of its order, and the likeness of versions",
        leaves=unless(lambda fit: not fit.hinted and (fit.chance > RARE or not (fit.kindred or fit.partial))),
    ),
)
INDEXED: tuple[Sign[Fit], ...] = (
    *_ORDERED,
    Sign(
        "unnamed pair",
        "gaps and likeness, where only the index speaks",
        leaves=unless(
            lambda fit: (
                not fit.hinted and ((not fit.dated and fit.dense < 0.8) or not (fit.alike >= 0.5 or fit.partial))
            )
        ),
    ),
    Sign(
        "likeness",
        "what versions keep of one another",
        leaves=lambda fit: 1.0 if not fit.hinted or fit.akin else 0.8 if fit.whole_states else 0.7,
    ),
)
"""Signs if an index separates the pairs."""
UNINDEXED: tuple[Sign[Fit], ...] = (
    *_ORDERED,
    Sign("completeness", "histories without gaps", weighs=lambda fit: 0.15 * fit.clean if fit.hinted else 0.0),
    Sign(
        "repeats",
        "ids with a version above the first",
        weighs=lambda fit: 0.15 * fit.repeated if fit.hinted else 0.0,
        leaves=unless(lambda fit: fit.repeated < 0.5),
    ),
    Sign("time", "the order in which documents were made", leaves=unless(lambda fit: fit.made_in_order[0] < 0.75)),
    Sign(
        "beginnings",
        "histories that begin with the first version",
        leaves=unless(lambda fit: fit.begun < 0.5 and not fit.complete_and_rising),
    ),
    Sign("chance", "numbers drawn by lot", leaves=unless(lambda fit: fit.is_chance)),
    Sign(
        "neighbours",
        "the first numbers of all ids: fields that seldom change bring neighbours together",
        leaves=unless(lambda fit: fit.beginning < MOST_BEGIN and not (fit.complete_and_rising and is_id_name(fit.id))),
    ),
    Sign(
        "unnamed pair",
        "beginnings, likeness, and the name of the id, where no name calls it a version",
        leaves=unless(
            lambda fit: (
                not fit.hinted
                and not (fit.begun >= 0.9 and fit.alike >= 0.5 and (is_id_name(fit.id) or fit.chance < RARER))
            )
        ),
    ),
    Sign("likeness", "what versions keep of one another", leaves=unless(lambda fit: fit.hinted and not fit.akin, 0.5)),
)
"""Signs without an index: even random numbers are sometimes in order."""


def is_id_name(name: str) -> bool:
    """Whether a field is named like an id."""
    return bare(name) in IDS or words(name)[-1:] in (("id",), ("key",), ("uuid",), ("no",))


def names_a_part(name: str) -> bool:
    """Whether a field is named like a part's number, or a measure."""
    last = words(name)[-1:]
    return bare(name) in PARTS or (last[0] if last else "") in PARTS


def version_fields(sample: Sample) -> list[str]:
    """Fields that may hold a version, likeliest first."""
    return list(islice(versions_in_turn(sample), GUESSES))


def versions_in_turn(sample: Sample) -> Iterator[str]:
    """Fields that may hold a version, likeliest first; indexes are read only if names do not decide."""
    for names in sample.once(_numbered):
        yield from names if len(names) < 2 else sorted(names, key=lambda name: not sample.unique_with(name))


def _numbered(sample: Sample) -> tuple[list[str], list[str]]:
    """The fields with numbers or dates that are named like versions, and the others with numbers."""
    named: list[str] = []
    others: list[str] = []
    for name, shape in sample.shapes.items():
        dated = is_version_name(name) and shape.share(c.DATE) >= 0.6
        if name != "_id" and (shape.numbered >= 0.6 or dated):
            (named if is_version_name(name) else others).append(name)
    return named, others


def id_fields(sample: Sample, version: str) -> list[str]:
    """Fields that may hold the id shared by a document's versions, likeliest first."""
    names = []
    for name, shape in sample.shapes.items():
        ids = shape.share(*ID_TYPES)
        if name in ("_id", version) or ids < 0.5 or ids + shape.share(c.OBJECT) < 0.8 or is_version_name(name):
            continue
        if shape.broken > 0.3:  # ids may be of every type, and few of them are fractions
            continue
        names.append(name)
    # The order is that of indexes, which take a command to ask for.
    if len(names) < 2 or all(sample.once(_repeats, name, version) for name in names):
        return names[:GUESSES]
    unique = sample.unique_with(version)

    def order(name: str) -> tuple[bool, ...]:
        doubles = sample.shapes[name].share(c.DOUBLE) > 0
        return name not in unique, not sample.leads_index(name), not is_id_name(name), doubles

    return sorted(names, key=order)[:GUESSES]


def fits(server: Port, sample: Sample) -> Iterator[Fit]:
    """The pairs of fields that may be id and version, examined one by one."""
    tried = 0
    for version in version_fields(sample):
        for id in id_fields(sample, version):
            # A unique index would have kept out what is repeated, so it need not be asked for.
            if sample.once(_repeats, id, version):
                continue
            if not _promising(sample, id, version) and id not in sample.unique_with(version):
                continue
            tried += 1
            if tried > PAIRS:
                return
            yield _fit(server, sample, id, version)


def _fit(server: Port, sample: Sample, id: str, version: str) -> Fit:
    unique = id in sample.unique_with(version)
    if not unique and sample.whole is None:
        server, sample = sample.once(_at_hand, server)
    indexed = sample.leads_index(id)
    rare = not indexed and (sample.count or LARGE) >= LARGE
    is_told = rare or (unique and _shows_histories(sample, id, version))
    groups = _Groups() if is_told else gently(lambda: _grouped(server, sample, id, version), _Groups())
    ids = _worth_a_look(sample, id, version, LOOK_UPS, groups.several)
    found = tuple(_looked_up(server, sample, id, version, ids, FEW if rare else LOOK_UPS))
    return Fit(id, version, unique, found, groups.beginning, groups.duplicates)


def _at_hand(sample: Sample, server: Port) -> tuple[Port, Sample]:
    """A collection of few small documents read completely, to check guesses without an index."""
    sizes = [len(each.raw) for each in sample.documents]
    most = min(AT_HAND, AT_HAND_BYTES * len(sizes) // (sum(sizes) or 1))
    if most < SAMPLED:
        return server, sample
    rows = server.find(sample.ns, sort={"_id": 1}, limit=most + 1, max_ms=WITHIN_MS, batch=most + 1)
    whole = gently(lambda: tuple(rows), None)
    if whole is None or len(whole) > most:
        return server, sample
    made = replace(sample, whole=whole, ask_count=lambda: len(whole))
    here = SmallCollections(server)
    here.hold(made)
    return here, made


def _shows_histories(sample: Sample, id: str, version: str) -> bool:
    """Whether name and numbers show that sampled ids have several versions, so that no others are searched."""
    shape = sample.shapes[version]
    if not is_version_name(version) or shape.numbered < 1:
        return False
    highest = [max(each.places) for each in _met(sample, id, version).values() if each.places]
    return max(highest, default=SECONDS) < SECONDS and sum(place > 1 for place in highest) >= SHOWN


class _Groups(Struct, frozen=True):
    """The ids that several documents share, longest histories first, and the share of ids that begin with 1."""

    several: tuple[Value, ...] = ()
    beginning: float = 1.0
    duplicates: Duplicates | None = None


def _grouped(server: Port, sample: Sample, id: str, version: str) -> _Groups:
    """The documents grouped by id; of a large collection a random part, which cannot show where histories begin."""
    whole = (sample.count or COUNTED + 1) <= COUNTED
    some: list[Terms] = [] if whole else [{"$sample": {"size": COUNTED // 10}}]

    def grouped(*groups: Terms) -> list[bytes]:
        pipeline: list[Terms] = [*some, *({"$group": each} for each in groups), {"$limit": GROUPS}]
        return list(server.aggregate(sample.ns, pipeline, max_ms=WITHIN_MS, batch=GROUPS))

    pairs: Terms = {"_id": {"id": f"${id}", "v": f"${version}"}, "n": {"$sum": 1}}
    by_id: Terms = {
        "_id": "$_id.id",
        "n": {"$sum": "$n"},
        "most": {"$max": "$n"},
        "versions": {"$sum": 1},
        "first": {"$min": "$_id.v"},
    }
    try:
        rows, told = grouped(pairs, by_id), whole
    except OF_CIRCUMSTANCE:
        raise
    except Refused:  # some servers cannot do anything but count in groups
        rows, told = grouped({"_id": f"${id}", "n": {"$sum": 1}}), False
    named = ((value, raw) for raw in rows if (value := c.get(raw, ("_id",))) is not None and value.type in KEYS)
    found = [(number_of(c.get(raw, ("n",))) or 0, value, raw) for value, raw in named]
    several = sorted((each for each in found if each[0] > 1), key=lambda each: -each[0])
    ids = tuple(value for _, value, _ in several)
    if not told or not found:
        return _Groups(ids)
    begun = sum(_begins(c.get(raw, ("first",))) for _, _, raw in found)
    twice, rising = (sum((number_of(c.get(raw, (x,))) or 0) > 1 for _, _, raw in found) for x in ("most", "versions"))
    return _Groups(ids, begun / len(found), Duplicates(twice, len(found), rising))


def _begins(first: Value | None) -> bool:
    """Whether a document's lowest version is the first, or a time."""
    start = number_of(first) or 0
    return first is not None and (first.type == c.DATE or start <= 1 or start >= SECONDS)


def _looked_up(
    server: Port, sample: Sample, id: str, version: str, ids: Sequence[Value], singly: int
) -> Iterator[SampledChain]:
    """The versions of some documents, up to the first that contradicts."""
    met = _met(sample, id, version) if sample.leads_index(id) else None
    heights = None if met is None else {v: max(met[v].places, default=0) if v in met else 0 for v in ids}
    for _, read in read_chains(server, sample.ns, id, version, ids, singly, heights):
        yield read
        if judgement(read, version).verdict is Verdict.AGAINST:
            return


def _promising(sample: Sample, id: str, version: str) -> bool:
    """Whether the sample suggests a pair that does not repeat, without an index."""
    if is_version_name(version):
        return True
    several = [each for each in _met(sample, id, version).values() if len(each.places) > 1]
    return len(several) >= 2 and not names_a_part(version)


def _repeats(sample: Sample, id: str, version: str) -> bool:
    """Whether too many of the sampled documents with one id have the same version."""
    pairs = [*zip(sample.column(id), sample.places(version), strict=True)]
    if None in sample.places(version) or len(sample.shapes[id].of_types(KEYS)) < len(pairs):
        pairs = [each for each in pairs if each[0] is not None and each[0].type in KEYS and each[1] is not None]
    met = Counter(map(itemgetter(0), pairs))
    apart = Counter(map(itemgetter(0), {*pairs}))
    several = [value for value, times in met.items() if times > 1]
    documents = sum([met[value] for value in several])
    least = 0.5 if is_version_name(version) else 0.7
    return bool(documents) and sum([apart[value] for value in several]) < least * documents


def occurs_twice(sample: Sample, id: str, version: str) -> bool:
    """Whether two sampled documents have both values in common, as no unique index on the two fields allows.

    A partial one may, and counts for none.
    """
    ids, versions = sample.column(id), sample.column(version)
    pairs = [*zip(ids, versions, strict=True)]
    if None in ids or None in versions:
        pairs = [each for each in pairs if None not in each]
    return len({*pairs}) < len(pairs)


def _met(sample: Sample, id: str, version: str) -> dict[Value, SampledChain]:
    """The sampled documents by the field that may be their id."""
    shared: dict[Value, list[Document]] = defaultdict(list)
    for document in sample.documents:
        value = document.get(id)
        if value is not None and value.type in KEYS:
            shared[value].append(document)
    return {value: scattered(documents, version) for value, documents in shared.items()}


def _worth_a_look(sample: Sample, id: str, version: str, most: int, several: Sequence[Value]) -> list[Value]:
    """The most informative ids: those that look wrong, long and short histories, the highest versions."""
    met = _met(sample, id, version)
    wrong = [v for v, each in met.items() if judgement(each, version).verdict is Verdict.AGAINST]
    high = sorted(met, key=lambda value: -max(met[value].places, default=0))
    across = zip(_spread(several, most), _spread(list(met), most), strict=False)
    mixed = [*several[:2], *several[-2:], *chain(*across), *several, *met]
    chosen = dict.fromkeys([*wrong[:SEEN], *high[: most // 4], *mixed])
    return list(chosen)[:most]


def _spread(values: Sequence[Value], most: int) -> Sequence[Value]:
    return values[:: max(1, len(values) // most)] if values else ()


def best(server: Port, sample: Sample) -> Fit | None:
    """The pair of fields that fits best, even if not well."""
    found: Fit | None = None
    for fit in fits(server, sample):
        if found is None or _is_better(fit, found, sample):
            found = fit
        if found.confidence >= 0.95:
            break
    return found


def _is_better(fit: Fit, found: Fit, sample: Sample) -> bool:
    """Whether one pair fits better than another.

    Versions are in order under every field that seldom changes, so the id is the field that groups most of them, or
    nearly as many without damage.
    """
    ranks = [(each.confidence > 0, each.unique, each.hinted) for each in (fit, found)]
    if ranks[0] != ranks[1] or not fit.confidence:
        return ranks[0] > ranks[1]
    ours, theirs = (sample.shapes[each.id].distinct for each in (fit, found))
    if not 0.7 * theirs < ours < theirs / 0.7:
        return ours < theirs
    return (is_id_name(fit.id), -fit.judged.damaged) > (is_id_name(found.id), -found.judged.damaged)


def coverage(chains: Sequence[SampledChain], own: Collection[str]) -> tuple[float, float]:
    """The share of known fields that later versions repeat, and of new values among these; 1 and 0 if unknown."""
    held = known = changed = 0
    for each in chains:
        state: dict[str, Value] = {}
        for number, document in enumerate(each.documents):
            content = {name: value for name, value in document.fields.items() if name not in own}
            if number in each.holes:
                state = {}
            if len(state) > 1:
                again = [name for name in content if name in state]
                held += len(again)
                known += len(state)
                changed += sum(content[name] != state[name] for name in again)
            state |= content
    return (held / known, changed / held if held else 1.0) if known else (1.0, 0.0)
