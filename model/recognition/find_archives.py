"""Recognises ``archive``, ``stream`` and ``shadow``: current documents in one collection, versions in a second.

The proof is a look-up: for some current documents, the version itself and its neighbours are searched in the second
collection. If it has the previous version but not the current one, it is an archive. If it has both, it is a stream,
provided that only a feeder can have written it: a feeder's place is stored, or the rows have the documents' own write
tokens. Otherwise an application writes it: a shadow. Rows contradict if they do not resemble their document, record
changes, or have numbers that do not rise.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property, lru_cache
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from model.foundation.collection_profile import CollectionProfile
from model.recognition.evidence import Grounds, Sign, unless, weighed, where
from model.recognition.field_names import PAST, is_version_name, words
from model.recognition.find_logs import records
from model.recognition.key_candidates import duplicates_in, is_id_name, names_a_part, version_fields, versions_in_turn
from model.recognition.metadata_fields import Stamps, stamps, usual_token
from model.recognition.row_ties import tie
from model.recognition.sampling import (
    ID_TYPES,
    SUREST,
    TOGETHER,
    Document,
    Proposal,
    Sample,
    SampledChain,
    chain_of,
    gently,
    matching,
    of,
    on_grounds,
    read_chains,
    share,
    take,
    together,
)
from model.recognition.small_collections import SmallCollections
from model.recognition.version_order import MOST_REPEATED, Judged, Judgement, Verdict, judgement
from model.server.retry import Port, Terms
from model.storage import feed_state
from model.storage.reserved_fields import whole_number
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

ASKED = 12  # documents with an earlier version, and half as many without
ASKABLE = (*ID_TYPES, c.OBJECT, c.DATE)  # a regex among the ids of a query would act as a search
ROWS = 2000  # only id and version of these are read
MOST_BYTES = 8 << 20  # of everything that is read to judge a link
CHAINS = 18  # earlier versions that are read completely
KIN = 0.5
ALIKE = 0.8  # the share of document fields in rows, from which numbers are examined without any other sign
MOST = 0.75  # the least share of the expected versions that it must hold
NAMED = 0.6  # the least share of ids in its rows that belong to current documents; others were deleted
LIKE = 0.4  # the least share of values in rows that their documents still have
LEAST = 3  # documents with a version in it, at least, if neither name nor index suggests it
BOTH = 0.8  # the least share of current versions that a shadow holds
LIKELIEST = 3  # large collections to follow up, if neither name suggests one
LIKELY = 8  # such collections of any size: if documents are numbered, every collection's rows seem to name them
RESIDUES = 0.25  # the largest share of current versions that an archive may hold: left by dead or running edits


class ArchiveKind(Struct, frozen=True):
    """One way in which a second collection holds versions, and its layout."""

    layout: str
    holds_current: bool = False
    stamped: bool = True  # whether the documents have a write token and a hash of the layout


EARLIER = ArchiveKind("archive")
FED = ArchiveKind("stream", holds_current=True)
SNAPSHOTS = ArchiveKind("shadow", holds_current=True, stamped=False)
UNSETTLED = ArchiveKind("")


class Link(Struct, frozen=True, eq=False):
    """The rows of the second collection for some current documents."""

    id: str
    archive: Sample
    archive_id: str
    version: str
    below: int  # documents whose previous version it holds
    later: int  # documents that must have had one
    same: int  # documents whose current version it holds
    asked: int
    chains: tuple[SampledChain, ...]
    equal: tuple[tuple[Document, Document], ...]  # current documents, each with its row of that version
    kin: float  # the share of fields in its rows that the current documents have too
    known: bool  # the look-up finished in time
    alike: float  # the share of content in its rows that the current documents have too
    strange: bool  # rows with equal ids and versions have nothing in common with the documents: other things
    unlike: str  # a document that differs from its rows in nearly all fields; "" if there is none

    @property
    def held(self) -> bool:
        """Whether it really holds versions of these documents, not other things that belong to them."""
        if self.kin < KIN:
            return False
        if self.later:
            # Of two or three documents, a single damaged one does not hide that the others have their history there.
            return self.below >= min(MOST * self.later, max(1, self.later - 1) if self.sealed else self.later)
        return bool(self.asked) and self.same >= MOST * self.asked

    @property
    def sealed(self) -> bool:
        """Whether a unique index separates its rows."""
        return self.archive_id in self.archive.unique_with(self.version)

    @property
    def both(self) -> float:
        """The share of current versions that it also holds."""
        return self.same / self.asked if self.asked else 0.0

    @property
    def share(self) -> float:
        """The share of the expected earlier versions that it holds."""
        return self.below / self.later if self.later else 0.5


def is_past_of(past: str, current: str) -> bool:
    """Whether a collection is named as the history of another: "contracts_history", "archive.contracts"."""
    if not is_past(past):
        return False
    ours, theirs = _stems(current), _stems(past)
    rest = [word for word in theirs if word not in ours]
    # Nothing but words for the past may be left over: "contracts_archive_rules" is about something else.
    return bool(rest) and all(word in PAST for word in rest) and set(ours) <= set(theirs)


@lru_cache(20_000)
def is_past(name: str) -> bool:
    """Whether a collection is named as a history."""
    return any(word in PAST for word in words(name))


@lru_cache(20_000)
def _stems(name: str) -> tuple[str, ...]:
    return tuple(word if word in PAST else word.removesuffix("s") for word in words(name))


class Pairing(Struct, frozen=True, eq=False, dict=True):
    """A link with everything that decides about it: who writes it, and what its documents and rows show."""

    server: Port
    sample: Sample
    link: Link
    judged: Judged
    named: bool  # the second collection is named as the history of the first

    @cached_property
    def records(self) -> bool:
        """Whether the rows record changes instead of states."""
        return records(self.link.archive, frozenset({self.link.archive_id, self.link.version}))

    @property
    def numbers_parts(self) -> bool:
        """Whether the version is named like a part's number, or like nothing, with little evidence from documents."""
        version = self.link.version
        return not is_version_name(version) and (self.judged.good < 2 or names_a_part(version))

    @cached_property
    def earned(self) -> bool:
        """Whether the order of the rows is right; two writers may have taken a number in a field named like one."""
        if self.judged.earned or not (is_version_name(self.link.version) and self.judged.in_order):
            return self.judged.earned
        told = duplicates_in(self.server, self.link.archive, self.link.archive_id, self.link.version)
        twice, ids = (self.judged.repeated, self.judged.several) if told is None else (told.twice, told.ids)
        return twice <= MOST_REPEATED * ids

    @property
    def may_be_chance(self) -> bool:
        """Whether neither an index nor a name with enough documents supports it."""
        link, several = self.link, self.judged.several >= LEAST
        held = self.named and (several or link.below >= LEAST)  # just below the current one, in what is called its past
        return not link.sealed and not held and (link.alike < LIKE or not (self.named or several))

    @cached_property
    def names_others(self) -> bool:
        """Whether the rows name too many documents that do not exist."""
        link = self.link
        asked = link.archive.once(_named, link.archive_id)
        there, _ = matching(self.server, self.sample.ns, {link.id: {"$in": asked}}, projection={link.id: 1})
        return len({d.get(link.id) for d in there}) < NAMED * len(asked)

    @property
    def rank(self) -> float:
        """How well it fits, compared with other links of the same documents."""
        return self.link.share + 2 * self.named + self.link.alike

    @cached_property
    def stamps(self) -> Stamps:
        """The fields beside the content of documents and rows."""
        link, documents = self.link, self.sample.documents
        own = {"_id", link.id, link.archive_id, link.version}
        # A row of the current version is a copy of a document, which would count its token as repeated.
        told = {(d.get(link.id), d.place(link.version)) for d in documents}
        rows = [d for d in link.archive.documents if (d.get(link.archive_id), d.place(link.version)) not in told]
        present = [d for d in (*documents, *rows) if d.get(link.version) is not None]
        return stamps([each for each in link.chains if len(each.documents) > 1], present, own)

    @cached_property
    def tie(self) -> str:
        """How a field other than the layout's own ties the rows to documents, as a clause; "" if none does.

        Rows that a feeder writes need nothing from here.
        """
        link, found = self.link, self.stamps
        own = {"_id", link.id, link.archive_id, link.version, *found.names}
        return tie([each.documents for each in link.chains], own) if self.kind[0] is EARLIER else ""

    @cached_property
    def kind(self) -> tuple[ArchiveKind, str]:
        """The kind of the second collection, by who writes it, and the evidence; unsettled if that is not enough."""
        link, token = self.link, self.stamps.token if self.stamps.token_seen and self.link.sealed else ""
        if gently(lambda: feed_state.place(self.server, self.sample.ns, link.archive.ns), None) is not None:
            return FED, f"its feeder keeps its place in {link.archive.name}{feed_state.SUFFIX}"
        carried = [
            document.get(token) is not None and document.get(token) == row.get(token) for document, row in link.equal
        ]
        # An application that writes both makes a new token for each write; only a copy carries the document's own.
        if token and carried and all(carried) and link.both >= 0.5:
            return FED, f"its rows carry the documents' own {token}"
        if link.both >= BOTH:
            return SNAPSHOTS, "no feeder of it is known, so an application writes both"
        return (EARLIER if link.both <= RESIDUES else UNSETTLED), ""

    @property
    def holds(self) -> str:
        """Which versions the rows hold, as a clause."""
        link, other = self.link, self.link.archive.name
        earlier = (
            f"The collection {other} holds the earlier version of {of(link.below, link.later, 'document')} looked up"
        )
        subject = "and it" if link.later else f"The collection {other}"
        current = f"{subject} holds the current version of {of(link.same, link.asked, 'document')}"
        if not link.same and not self.kind[0].holds_current:
            current = "and no current one"
        parts = [earlier, current] if link.later else [current]
        return f"{', '.join(parts)}, found by {link.archive_id} and {link.version}"


AGAINST: tuple[Sign[Pairing], ...] = (
    Sign(
        "unlike", "rows beside the documents that they name",
        leaves=unless(lambda it: bool(it.link.unlike)), says=lambda it: it.link.unlike,
    ),
    Sign("records", "what the rows hold", leaves=unless(lambda it: it.records)),
    Sign(
        "contradiction", "the order of the rows of each document looked up",
        leaves=unless(lambda it: not it.earned), says=lambda it: it.judged.against,
    ),
    Sign("a part's number", "the name of the version", leaves=unless(lambda it: it.numbers_parts)),
    Sign("chance", "the index, the name of the collection, and likeness", leaves=unless(lambda it: it.may_be_chance)),
    Sign("other things", "the documents that the rows sampled name", leaves=unless(lambda it: it.names_others)),
)  # fmt: skip
"""What speaks against a link that holds enough versions; ignored if a person states the link."""
LINKED: tuple[Sign[Pairing], ...] = (
    Sign(
        "look-up", "the version before the current one of some documents",
        weighs=lambda it: 0.8 + 0.08 * it.link.share, says=lambda it: it.holds,
    ),
    Sign(
        "index", "a unique index on the rows' id and version",
        weighs=where(lambda it: it.link.sealed, 0.1),
        says=lambda it: "these have a unique index" if it.link.sealed else "",
    ),
    Sign("feeder", "who wrote the rows", says=lambda it: it.kind[1]),
    Sign("stamps", "tokens and hashes beside the content", says=lambda it: it.stamps.said),
    Sign("order", "the rows of each document looked up", says=lambda it: it.judged.said),
    Sign(
        "ties", "fields that a new version would have to set in its row",
        leaves=unless(lambda it: bool(it.tie), 0.7), says=lambda it: it.tie,
    ),
    Sign("sample", "some documents only", leaves=lambda it: SUREST),
)  # fmt: skip
"""What speaks for a link, with its clauses."""


def pair(server: Port, sample: Sample, others: Sequence[Sample], wanted: bool = False) -> Proposal | None:
    """``archive`` or ``stream`` with its second collection; None if there is none.

    ``wanted``: a person says that there is one, so a name is enough.
    """
    pasts = [other for other in others if is_past_of(other.name, sample.name)]
    followed = list(_all_followed(server, sample, pasts, [other for other in others if other not in pasts], wanted))
    if found := [seen.stands for seen in followed if seen.stands is not None]:
        pairing, against = max(found, key=lambda each: each[0].rank)
        made = _proposed(replace(pairing, server=server), against)
        return made if made.profile.layout or wanted else None
    if partly := [seen.partly for seen in followed if seen.partly is not None]:
        return _in_part(sample, partly[0])
    contradicted = {seen.other for seen in followed if seen.contradicted}
    named = [past for past in pasts if wanted or past.ns not in contradicted]
    return _by_name(sample, named, wanted, all(seen.in_time for seen in followed))


def _all_followed(
    server: Port, sample: Sample, pasts: Sequence[Sample], others: Sequence[Sample], wanted: bool
) -> Iterator[_Followed]:
    """The links to the collections that are named as the history, until one stands, or else to the likely ones."""
    for past in pasts:
        yield (seen := _followed(server, sample, past, (), wanted))
        if seen.stands is not None:
            return
    likely = _likely(server, sample, others)
    for other in others:
        if other.ns in likely:
            yield _followed(server, sample, other, likely[other.ns], wanted)


class _Followed(Struct):
    """The result of following up the links to one collection."""

    other: str
    stands: tuple[Pairing, Grounds] | None = None  # the first link without anything against it
    in_time: bool = True
    contradicted: bool = False
    partly: Link | None = None  # a link by which it holds earlier versions of a few of the documents


def _followed(
    server: Port, sample: Sample, other: Sample, likely: Sequence[tuple[str, str, str]], wanted: bool
) -> _Followed:
    """The links to a collection, examined one by one until one stands."""
    seen = _Followed(other.ns)
    named = is_past_of(other.name, sample.name)
    for id, archive_id, version in _keys(sample, other, named) if named else likely:
        near, histories = server, server
        if named:
            near, histories = _at_hand(server, sample, id, other, archive_id, version)
        link = _link(near, sample, id, other, archive_id, version)
        seen.in_time = seen.in_time and (link.known or link.held)
        partly = named and bool(link.below) and link.kin >= KIN
        if (link.held and (named or not link.strange)) or partly:
            pairing = Pairing(near, sample, link, _judged(histories, sample, link), named)
            against = Grounds() if wanted else weighed(AGAINST, pairing)
            if against.stands and link.held:
                seen.stands = pairing, against
                break
            if against.stands:
                seen.partly = seen.partly or link
        seen.contradicted = seen.contradicted or (link.known and link.later > 0)
    return seen


def _at_hand(server: Port, sample: Sample, id: str, other: Sample, archive_id: str, version: str) -> tuple[Port, Port]:
    """Reads all that a link's judgement needs in one command: two ports, for the link and signs, and for histories.

    Each port answers the questions of its part about the two collections. Queries ``server`` for rows that are not
    cached, for example because there were too many.
    """
    asked, _ = _asked(sample, id, version)
    near, histories = SmallCollections(server), SmallCollections(server)
    parts: list[tuple[str, list[Terms]]] = []
    holders: list[tuple[list[SmallCollections], Sample, int]] = []  # who answer from these rows, up to how many
    if other.whole is None and asked and not _is_dated(asked):
        ids: Terms = {archive_id: {"$in": list({each.id for each in asked})}}
        if sum(each.place for each in asked) <= TOGETHER:
            parts.append((other.ns, [{"$match": ids}, {"$limit": TOGETHER + 1}]))
            holders.append(([near, histories], other, TOGETHER))
        else:
            parts.append((other.ns, [{"$match": {**ids, version: _versions_wanted(asked)}}, {"$limit": ROWS + 1}]))
            holders.append(([near], other, ROWS))
    if sample.whole is None and (named := other.once(_named, archive_id)):
        parts.append((sample.ns, [{"$match": {id: {"$in": named}}}, {"$limit": ROWS + 1}, {"$project": {id: 1}}]))
        holders.append(([near], sample, ROWS))
    found = gently(lambda: _read_together(server, parts), None)
    for (several, held, most), rows in zip(holders, found or (), strict=found is not None):
        for holder in several if len(rows) <= most else ():
            holder.hold(replace(held, whole=tuple(rows)))
    return near, histories


def _read_together(server: Port, parts: Sequence[tuple[str, Sequence[Terms]]]) -> list[list[bytes]] | None:
    """The rows of each pipeline; None if they are too large."""
    found: list[list[bytes]] = [[] for _ in parts]
    left = MOST_BYTES
    for at, raw in together(server, parts):
        found[at].append(raw)
        left -= len(raw)
        if left < 0:
            return None
    return found


def _judged(server: Port, sample: Sample, link: Link) -> Judged:
    """What the rows' numbers show for each document: one below another, and none far above the current one."""
    asked, _ = _asked(sample, link.id, link.version)
    dated = _is_dated(asked)
    good = damaged = repeated = 0
    by_id = {each.id: each for each in asked[:ASKED]}
    ids, rows = list(by_id), link.archive
    heights = {id: each.place for id, each in by_id.items()} if rows.leads_index(link.archive_id) else None
    for id, chain in read_chains(server, rows.ns, link.archive_id, link.version, ids, heights=heights):
        told = _judgement(chain, by_id[id].place, link.version, dated)
        if told.verdict is Verdict.AGAINST:
            return Judged(link.version, good, damaged, f"{id_name(id)} {told.why}", repeated)
        good += told.verdict not in (Verdict.DAMAGED, Verdict.REPEATED)
        damaged += told.verdict is Verdict.DAMAGED
        repeated += told.verdict is Verdict.REPEATED
    return Judged(link.version, good, damaged, repeated=repeated)


def _judgement(chain: SampledChain, place: int, version: str, dated: bool) -> Judgement:
    """The judgement of one document's rows; those below its own version are its past.

    A row with its version or the next may have been left by an edit that died.
    """
    level, far = chain.places.count(place), sum(each > place + 1 for each in chain.places)
    # A copy and one more that died between its writes can be explained; three rows of one version cannot.
    if level > 2:
        return Judgement(Verdict.AGAINST, f"has its own {version} in {level} rows")
    if not dated and far > max(1, len(chain.places) // 5):
        return Judgement(Verdict.AGAINST, f"has a {version} there that is far above its own")
    told = judgement(chain.below(place), version)
    whole = told.verdict in (Verdict.SILENT, Verdict.GOOD, Verdict.REPEATED)
    if level > 1 and told.verdict is not Verdict.AGAINST:
        return Judgement(Verdict.REPEATED if whole else Verdict.DAMAGED)
    return told


def _is_dated(asked: Sequence[_Asked]) -> bool:
    return sum(each.version.type == c.DATE for each in asked) * 2 > len(asked)


def _keys(sample: Sample, other: Sample, named: bool) -> Iterator[tuple[str, str, str]]:
    """The fields that may link a document to its rows: its id, the rows' id, and the version."""
    ours = sample.shapes
    for version in versions_in_turn(sample) if named else sample.once(version_fields):
        theirs = other.shapes.get(version)
        if theirs is None or theirs.numbered + theirs.share(c.DATE) < 0.5:
            continue
        if not named and not _may_be_linked(sample, other, version):
            continue
        if not (
            named or is_version_name(version) or _kinship(sample, other, {"_id"}) >= ALIKE or other.unique_with(version)
        ):
            continue
        for id in _ids_in_turn(sample, version) if named else sample.once(_ids, version):
            for archive_id in other.once(_archive_ids, version, frozenset(ours[id].types))[:2]:
                yield id, archive_id, version


def _identifying(sample: Sample) -> frozenset[Value]:
    """The values in the fields by which the documents of a small collection may be named."""
    values = (sample.every(name) or () for name in _id_names(sample, ""))
    return frozenset(itertools.chain.from_iterable(values))


def _naming(rows: Sample) -> frozenset[Value]:
    """Some of the values in all fields that may name documents."""
    return frozenset(itertools.chain.from_iterable(_named(rows, name) for name in rows.shapes if name != "_id"))


def _may_be_linked(sample: Sample, other: Sample, version: str) -> bool:
    """Whether any field of these rows may name the documents of a small collection, whatever indexes there are.

    Indexes take a command for each collection, and most collections have nothing to do with one another.
    """
    if sample.whole is None:
        return True
    for id, kinds in sample.once(_id_names, version).items():
        ids = sample.every(id) or frozenset()
        for archive_id in other.once(_archive_id_names, version, kinds):
            asked = other.once(_named, archive_id)
            is_named = not ids.isdisjoint(asked) and sum(v in ids for v in asked) >= NAMED * len(asked)
            if is_named and _kinship(sample, other, {id, archive_id, version, "_id"}) >= KIN:
                return True
    return False


def _likely(server: Port, sample: Sample, others: Sequence[Sample]) -> dict[str, list[tuple[str, str, str]]]:
    """The links to collections with neutral names whose sampled rows name documents of this one.

    All are looked up together. Only those with the best matching rows are followed up, fewer if they are large.
    """
    # Rows that name no document of a small collection in any field need no look at their keys.
    identifying = None if sample.whole is None else sample.once(_identifying)
    links = [
        (other, key)
        for other in others
        if identifying is None or not identifying.isdisjoint(other.once(_naming))
        for key in _keys(sample, other, named=False)
        if _kinship(sample, other, {*key, "_id"}) >= KIN
    ]
    there = {id: _those_named(server, sample, id, links) for id in dict.fromkeys(key[0] for _, key in links)}
    suiting: dict[str, tuple[float, float]] = {}
    kept: dict[str, list[tuple[str, str, str]]] = {}
    for other, key in links:
        id, archive_id, version = key
        asked = other.once(_named, archive_id)
        if asked and sum(v in there[id] for v in asked) >= NAMED * len(asked):
            kept.setdefault(other.ns, []).append(key)
            suits = _suiting(other, there[id], archive_id, version), _kinship(sample, other, {*key, "_id"})
            suiting[other.ns] = max(suiting.get(other.ns, (0, 0)), suits)
    large = {other.ns for other in others if other.whole is None}
    likeliest = sorted(kept, key=suiting.__getitem__, reverse=True)
    followed = {*likeliest[:LIKELY]} - {*[ns for ns in likeliest if ns in large][LIKELIEST:]}
    return {ns: keys for ns, keys in kept.items() if ns in followed}


def _those_named(
    server: Port, sample: Sample, id: str, links: Sequence[tuple[Sample, tuple[str, str, str]]]
) -> dict[Value | None, Document]:
    """The documents named by the rows of all links that use one id field."""
    asked = [v for other, key in links if key[0] == id for v in other.once(_named, key[1])]
    wanted = {id: 1} | {key[2]: 1 for _, key in links}
    found, _ = matching(server, sample.ns, {id: {"$in": list(dict.fromkeys(asked))}}, len(asked), wanted)
    return {d.get(id): d for d in found}


def _named(rows: Sample, archive_id: str) -> list[Value]:
    """Some of the ids that rows name."""
    shape = rows.shapes.get(archive_id)
    ids = shape.of_types(ASKABLE) if shape is not None else ()
    asked = list(dict.fromkeys(ids))
    # Spread over the sample: the first rows are the oldest, and their documents may all be deleted.
    return asked[:: max(1, len(asked) // ASKED)][:ASKED]


def _suiting(rows: Sample, documents: Mapping[Value | None, Document], archive_id: str, version: str) -> float:
    """The share of rows that are not above the version of the document they name."""
    told = [
        (place, now)
        for row in rows.documents
        if (document := documents.get(row.get(archive_id))) is not None
        and (place := row.place(version)) is not None
        and (now := document.place(version)) is not None
    ]
    return sum(place <= now for place, now in told) / len(told) if told else 0.0


def _ids_in_turn(sample: Sample, version: str) -> Iterator[str]:
    """The fields of :func:`_ids` in turn; indexes are read only if ``_id`` is not the key."""
    if "_id" in sample.shapes:
        yield "_id"
    yield from (name for name in _ids(sample, version) if name != "_id")


def _ids(sample: Sample, version: str) -> list[str]:
    """Fields that identify the current documents, ``_id`` first."""
    if sample.unique_with(version):
        return []
    names = sample.once(_id_names, version)
    return [name for name in names if name == "_id" or sample.is_unique(name) or _is_id_of_several(sample, name)][:3]


def _is_id_of_several(sample: Sample, name: str) -> bool:
    return is_id_name(name) and sample.shapes[name].total > 2


def _id_names(sample: Sample, version: str) -> Mapping[str, frozenset[int]]:
    """Fields that may identify the current documents, as far as their values tell, with their types; ``_id`` first."""
    alone = [
        name
        for name, shape in sample.shapes.items()
        if name not in ("_id", version) and len(shape.values) == shape.total == shape.distinct
    ]
    names = ["_id", *alone] if "_id" in sample.shapes else alone
    return {name: frozenset(sample.shapes[name].types) for name in names}


def _archive_ids(other: Sample, version: str, kinds: Set[int]) -> list[str]:
    """Fields of rows that may hold the id of a document, likeliest first."""
    names = _archive_id_names(other, version, kinds)
    if len(names) < 2:  # and then no index is asked for
        return names
    unique = other.unique_with(version)
    return sorted(names, key=lambda name: (name not in unique, not other.leads_index(name), not is_id_name(name)))


def _archive_id_names(other: Sample, version: str, kinds: Set[int]) -> list[str]:
    return [
        name
        for name, shape in other.shapes.items()
        if name not in ("_id", version)
        and shape.share() >= 0.7
        and kinds & shape.types.keys()
        and not is_version_name(name)
    ]


class _Asked(Struct, frozen=True):
    """A current document to look up in the second collection."""

    document: Document
    id: Value
    version: Value
    place: int


class _Met(Struct):
    """The rows of some documents, sorted by the documents' versions."""

    below: int = 0
    later: int = 0
    same: int = 0
    earlier: dict[Value, Document] = field(default_factory=dict)  # by the _id of the row with the previous version
    equal: dict[Value, Document] = field(default_factory=dict)  # by the _id of the row with the current version


def _link(server: Port, sample: Sample, id: str, other: Sample, archive_id: str, version: str) -> Link:
    asked, first = _asked(sample, id, version)
    dated = _is_dated(asked)
    filter: dict[str, Any] = {archive_id: {"$in": list({each.id for each in asked})}}
    if not dated:
        filter[version] = _versions_wanted(asked)
    rows: list[Document] = []
    known = True
    if asked:
        rows, known = matching(server, other.ns, filter, ROWS, {archive_id: 1, version: 1})
    met = _met(asked, rows, archive_id, version, None if dated else first)
    either = met.earlier | met.equal
    whole, _ = matching(server, other.ns, {"_id": {"$in": list(either)}}) if either else ([], True)
    chains = [chain_of((row, met.earlier[of]), version) for row in whole if (of := row.fields["_id"]) in met.earlier]
    twins = [(met.equal[of], row) for row in whole if (of := row.fields["_id"]) in met.equal]
    own = {id, archive_id, version, "_id"}
    alike, strange = _alike([(row, either[row.fields["_id"]]) for row in whole], twins, own)
    unlike = next((said for row in whole if (said := _unlike(row, either[row.fields["_id"]], id, own))), "")
    return Link(
        id,
        other,
        archive_id,
        version,
        met.below,
        met.later,
        met.same,
        len(asked),
        tuple(chains),
        tuple(twins),
        _kinship(sample, other, own),
        known,
        alike,
        strange,
        unlike,
    )


def _met(asked: Sequence[_Asked], rows: Sequence[Document], archive_id: str, version: str, first: int | None) -> _Met:
    """Each document's rows below and at its version; ``first`` is None if versions are dates."""
    met = _Met()
    for each in asked:
        mine = [(at, row) for row in rows if row.get(archive_id) == each.id and (at := row.place(version)) is not None]
        under = max((pair for pair in mine if pair[0] < each.place), key=lambda pair: pair[0], default=None)
        level = next((row for at, row in mine if at == each.place), None)
        met.same += level is not None
        met.below += under is not None
        met.later += under is not None if first is None else each.place > first
        _keep(met.equal, level, each.document)
        _keep(met.earlier, under[1] if under is not None else None, each.document)
    return met


def _keep(kept: dict[Value, Document], row: Document | None, document: Document) -> None:
    id = row.get("_id") if row is not None else None
    if id is not None and id.type in ASKABLE and len(kept) < CHAINS:
        kept[id] = document


def _alike(
    rows: Sequence[tuple[Document, Document]], twins: Sequence[tuple[Document, Document]], own: set[str]
) -> tuple[float, bool]:
    """The share of the rows' content in their documents, and whether rows at the current version share nothing."""
    likeness = [_likeness(row, document, own) for row, document in rows]
    shared, fields = sum(shared for shared, _ in likeness), sum(fields for _, fields in likeness)
    now = any(_likeness(row, document, own)[1] for document, row in twins)
    return shared / fields if fields else 1.0, not shared and (fields >= 3 * len(likeness) > 0 or now)


def _versions_wanted(asked: Sequence[_Asked]) -> Terms:
    """The condition on versions to be those of the documents, or the previous ones."""
    places = {n for each in asked for n in (each.place - 1, each.place) if n >= 0}
    return {"$in": [whole_number(n) for n in sorted(places)]}


def _unlike(row: Document, document: Document, id: str, own: set[str]) -> str:
    """A clause that a row has few fields of the document it names; "" if it has enough."""
    ours, theirs = set(document.fields) - own, set(row.fields) - own
    if 2 * len(ours & theirs) >= min(len(ours), len(theirs)) or not ours:
        return ""
    name = document.get(id)
    return f"{id_name(name) if name is not None else 'a document'} has few of its fields there"


def _likeness(row: Document, document: Document, own: set[str]) -> tuple[int, int]:
    """The number of equal fields of two documents, and of all their fields; ids and dates are ignored."""
    shared = fields = 0
    for name in {*row.fields, *document.fields} - own:
        a, b = row.get(name), document.get(name)
        if not any(value is not None and value.type in (c.DATE, c.OBJECT_ID) for value in (a, b)):
            fields += 1
            shared += a == b
    return shared, fields


def _asked(sample: Sample, id: str, version: str) -> tuple[list[_Asked], int]:
    """Documents with the highest versions, some across the sample, some with the first version; and that version."""
    placed = []
    for document in sample.documents:
        key, value, place = document.get(id), document.get(version), document.place(version)
        if key is None or value is None or place is None:
            continue
        if key.type in ASKABLE and place < 2**63:  # numbers in text and doubles may exceed any version
            placed.append(_Asked(document, key, value, place))
    first = min((each.place for each in placed), default=0)
    first = min(first, 1)
    later = [each for each in placed if each.place > first]
    high = sorted(later, key=lambda each: -each.place)[: ASKED // 2]
    chosen = list(dict.fromkeys([*high, *later[:: max(1, len(later) // ASKED)]]))[:ASKED]
    return chosen + [each for each in placed if each.place == first][: ASKED // 2], first


def _kinship(sample: Sample, other: Sample, own: set[str]) -> float:
    theirs = [(len(s.values), s.name) for s in other.shapes.values() if s.name not in own]
    return sum(n for n, name in theirs if name in sample.shapes) / sum(n for n, _ in theirs) if theirs else 1.0


def picked(server: Port, sample: Sample, others: Sequence[str], kind: ArchiveKind) -> Proposal | None:
    """The likeliest second collection, among ``others`` named as one, else among all."""
    db = sample.ns.partition(".")[0]
    near = [name for name in others if is_past_of(name, sample.name)] or list(others[:20])
    made = pair(server, sample, [take(server, f"{db}.{name}", share(len(near))) for name in near], wanted=True)
    if made is None:
        return None
    profile = replace(made.profile, layout=kind.layout)
    return replace(made, profile=profile if kind.stamped else replace(profile, token="", hash=""))


def to_be_made(sample: Sample, layout: str, defaults: Mapping[str, str]) -> Proposal | None:
    """A second collection yet to be created, under its usual name; None if nothing looks like a version."""
    version = next(iter(version_fields(sample)), "")
    if not version:
        return None
    token = usual_token(sample.documents)
    archive = defaults["archive"].format(ns=sample.ns)
    return Proposal(CollectionProfile(sample.ns, layout, archive, version=version, token=token), 0.3, "")


def _proposed(pairing: Pairing, against: Grounds) -> Proposal:
    """The proposal with the grounds for and against it; without a layout if these do not decide between two."""
    link, found, sample = pairing.link, pairing.stamps, pairing.sample
    kind, _ = pairing.kind
    profile = CollectionProfile(
        sample.ns,
        kind.layout,
        archive=link.archive.ns,
        archive_id=link.archive_id,
        id=link.id,
        version=link.version,
        token=found.token if kind.stamped else "",
        hash=found.hash if kind.stamped or found.proof.fits else "",
        **found.sealing,
        at=found.at,
        author=found.author,
        reason=found.reason,
        numbering=_numbering(sample, link.version),
    )
    return on_grounds(profile, against.and_then(weighed(LINKED, pairing)))


def _numbering(sample: Sample, version: str) -> str:
    return "time" if sample.shapes[version].share(c.DATE) > 0.5 else "next"


def _in_part(sample: Sample, link: Link) -> Proposal:
    """An archive that is named as one, and holds earlier versions of some documents only."""
    held = of(link.below, link.later, "document")
    why = (
        f"The collection {link.archive.name} is named as a history of {sample.name}, but holds the earlier version of "
        f"only {held} looked up."
    )
    return Proposal(_archive_of(sample, link.archive, link.version, link.archive_id), 0.6, why, ("plain", "stream"))


def _by_name(sample: Sample, named: Sequence[Sample], wanted: bool, in_time: bool) -> Proposal | None:
    """An empty archive, one of those ``named`` so, perhaps with an index: nothing has been archived yet."""
    version = next((name for name in version_fields(sample) if wanted or is_version_name(name)), "")
    if not version or not named or not _ids(sample, version):
        return None
    for other in named:
        unique = other.unique_with(version)
        if other.documents and not wanted and version not in other.shapes:
            continue
        if not unique and not wanted:
            continue
        kinds = frozenset(sample.shapes["_id"].types) if "_id" in sample.shapes else frozenset()
        archive_id = next(iter([*unique, *_archive_ids(other, version, kinds)]), "")
        held, sure = ("is empty", 0.8) if not other.documents else (_held(in_time), 0.6)
        index = f" and has a unique index on {unique[0]} and {version}" if unique else ""
        why = f"The collection {other.name} is named as a history of {sample.name}{index}, but {held}."
        return Proposal(_archive_of(sample, other, version, archive_id), sure, why, ("plain", "stream"))
    return None


def _archive_of(sample: Sample, other: Sample, version: str, archive_id: str) -> CollectionProfile:
    """The profile of an archive of which nothing but names is known; ``archive_id`` may be unknown too."""
    found = stamps([], [d for d in sample.documents if d.get(version)], {"_id", version})
    names: dict[str, Any] = {"archive_id": archive_id} if archive_id else {}
    return CollectionProfile(
        sample.ns,
        "archive",
        archive=other.ns,
        version=version,
        token=found.token,
        hash=found.hash,
        **found.sealing,
        at=found.at,
        author=found.author,
        reason=found.reason,
        **names,
    )


def _held(in_time: bool) -> str:
    return "holds no version of the documents looked up" if in_time else "could not be looked into in time"
