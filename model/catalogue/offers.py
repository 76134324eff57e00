"""Offers: readings of a collection that replay what can be checked, and that nobody has proven.

Between a claim and silence stands the offer. A few shapes are tried: whole states in a second collection, at the root
of a row or below one path; the same in an array of the document, either end first; patches beside the document. A
reading is offered only if documents come out of it as they are. So is a document for every version where most ids have
a version twice. Nothing is ever written under an offer.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from itertools import chain, islice, pairwise, product

from msgspec import Struct
from msgspec.structs import replace

from model.checks.written_histories import DIFFERS
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.registry import bind
from model.recognition import find_version_documents
from model.recognition.field_names import AUTHORS, bare, is_version_name
from model.recognition.find_archives import is_past_of
from model.recognition.sampling import ID_TYPES, Document, Sample, matching, take
from model.server.retry import Port
from model.storage.row_paths import value_at
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS
from model.writers.written_rows import NEWEST_FIRST, moment

FEWEST = 5  # documents that could have contradicted
LOOKED_AT = 9  # documents whose history is read
LOOKED_THROUGH = 40  # documents of which those with several versions are looked at
MOVED = 2  # of these, documents with several states
ASKED = 60  # values of a field in rows to look for among the ids of documents
LIKE = 0.6  # the share of a document's fields that a state must have
MOST = 0.8  # the share of rows that must have a field or a state
DEEPEST = 3  # names in a path
KEYS = 3  # fields beside the id by which rows may name a document
TRIED = 24  # readings of one pair of collections
ROWS = 400  # rows of one document at most
REASONS = frozenset(["reason", "message", "comment", "note", "description", "why"])
"""Usual names of fields that say why a change was made."""


class Offer(Struct, frozen=True):
    """A reading of a collection, and how much of it was checked."""

    profile: CollectionProfile
    right: int
    looked: int
    kept: int
    """The fields that documents have from the newest row below them."""
    said: str


class Offers:
    """Looks for offers in one server; samples are taken once. Not for several threads."""

    def __init__(self, server: Port) -> None:
        self._server = server
        self._samples: dict[str, Sample] = {}

    def of(self, ns: str, others: Sequence[str], step: Checkpoint = no_checkpoint) -> Offer | None:
        """The first reading that fits a collection for which nothing is claimed; None if none does.

        ``others`` are collections that may hold its history; those named as such are looked at first.
        """
        documents = self._sample(ns)
        name = documents.name
        with contextlib.suppress(Unreadable, NotAllowed):
            if (made := _of_duplicated(self._server, documents)) is not None:
                return made
        for at, place in enumerate(
            (ns, *sorted(others, key=lambda each: not is_past_of(each.partition(".")[2], name)))
        ):
            step(at, len(others) + 1)
            with contextlib.suppress(Unreadable, NotAllowed):
                if (made := _of_pair(self._server, documents, self._sample(place))) is not None:
                    return made
        return None

    def _sample(self, ns: str) -> Sample:
        if ns not in self._samples:
            self._samples[ns] = take(self._server, ns)
        return self._samples[ns]


def _of_duplicated(server: Port, documents: Sample) -> Offer | None:
    """Versions by an id of which most documents have one twice, if they are in order otherwise."""
    if (found := find_version_documents.hidden(server, documents)) is None:
        return None
    profile, (twice, several, _) = found
    layout = bind(server, profile)
    right = looked = 0
    for id in dict.fromkeys(id for each in documents.documents if (id := each.get(profile.id)) is not None):
        versions = list(islice(layout.history(id), ROWS))
        if len({each.v for each in versions}) < 2:
            continue
        looked += 1
        right += all(newer >= older for newer, older in pairwise(each.at for each in versions if each.at is not None))
        if looked == LOOKED_AT:
            break
    if right < FEWEST or right < looked:
        return None
    said = (
        f"The documents of {documents.name} are versions by {profile.id} and {profile.version}; {twice} of {several} "
        f"ids have one twice ({right} of {looked} look-ups fit)."
    )
    return Offer(profile, right, looked, 0, said)


def _of_pair(server: Port, documents: Sample, rows: Sample) -> Offer | None:
    if len(documents.documents) < FEWEST or not rows.documents:
        return None
    best: Offer | None = None
    for profile, ids in islice(_readings(server, documents, rows), TRIED):
        made = _replayed(server, profile, ids, rows)
        if made is not None and made.right == made.looked and not profile.elements:
            return made
        if made is not None and (best is None or (made.right, made.kept) > (best.right, best.kept)):
            best = made  # of both ends of an array, the one that documents go on from
    return best


class _Rows(Struct, frozen=True, dict=True):
    """Rows that may hold the history of some documents, and what is where in them; looked at once each."""

    rows: Sequence[Document]
    documents: Sample
    ignored: tuple[str, ...] = ()

    def paths(self, *types: int) -> list[str]:
        """The paths that most rows have a value of these types at, shallow ones first."""
        return _paths(self.rows, types)

    @cached_property
    def states(self) -> list[str]:
        """The paths at which rows hold states of these documents; "" for their root."""
        names = {name for name, shape in self.documents.shapes.items() if shape.share() >= MOST}
        names -= {"_id", *self.ignored}
        return [path for path in ("", *self.paths(c.OBJECT)) if _is_state(self.rows, path, names)]

    @cached_property
    def patches(self) -> list[tuple[str, str]]:
        """The paths of what looks like patches, with their form."""
        found = []
        for path in self.paths(c.ARRAY):
            items = [item for row in self.rows for item in _elements(row.raw, path) if item.type == c.OBJECT]
            if items and all({"op", "path"} <= {name for name, _ in c.fields(item.data)} for item in items):
                found.append((path, "rfc6902"))
        for path in self.paths(c.OBJECT):
            changes = [v for row in self.rows if (v := value_at(row.raw, path)) is not None and v.type == c.OBJECT]
            leaves = [value for each in changes for name, value in c.fields(each.data) if name != "_t"]
            if leaves and all(value.type in (c.ARRAY, c.OBJECT) for value in leaves):
                found.append((path, "jsondiffpatch"))
        return found

    @cached_property
    def dates(self) -> list[str]:
        """The paths of times."""
        dated = self.paths(c.DATE, c.STRING)
        return [p for p in dated if all(moment(v) for row in self.rows if (v := value_at(row.raw, p)) is not None)]

    @cached_property
    def numbers(self) -> list[str]:
        """The paths of numbers, those that are named like versions first."""
        return sorted(self.paths(*NUMBERS), key=lambda path: not is_version_name(path.rpartition(".")[2]))

    @cached_property
    def texts(self) -> list[str]:
        """The paths of texts; one that few rows have may still say who made a change, or why."""
        return _paths(self.rows, (c.STRING,), least=0)


def _readings(server: Port, documents: Sample, rows: Sample) -> Iterator[tuple[CollectionProfile, list[Value]]]:
    """Profiles that may read these rows, and the ids of documents to try each with."""
    bare_profile = CollectionProfile(
        documents.ns, "shadow", archive=rows.ns, version="", token="", hash="", at="", archive_id="_id"
    )
    if rows.ns == documents.ns:
        ids = [id for each in documents.documents if (id := each.get("_id")) is not None]
        for path in _paths(documents.documents, (c.ARRAY,)):
            inside = [
                Document(item.data)
                for each in documents.documents
                for item in _elements(each.raw, path)
                if item.type == c.OBJECT
            ]
            made = replace(bare_profile, elements=path, ignored=(path.partition(".")[0],))
            for profile in _of_rows(made, _Rows(inside, documents, made.ignored)):
                yield profile, ids
        return
    there = _Rows(rows.documents, documents)
    if not (there.states or there.patches):
        return
    for key, path, ids in _links(server, documents, there):
        for profile in _of_rows(replace(bare_profile, archive_id=path, id=key), there):
            yield profile, ids


def _links(server: Port, documents: Sample, rows: _Rows) -> Iterator[tuple[str, str, list[Value]]]:
    """Fields of documents, paths in rows that name them, and the ids that both have; those with most ids first.

    One query for each field. A field that is content too is the second choice.
    """
    asked: dict[str, list[Value]] = {}
    for path in rows.paths(*ID_TYPES):
        values = Counter(v for row in rows.rows if (v := value_at(row.raw, path)) is not None and v.type in ID_TYPES)
        if path != "_id" and len(values) >= FEWEST:
            asked[path] = [value for value, _ in values.most_common(ASKED)]
    everything = list(dict.fromkeys(chain.from_iterable(asked.values())))
    found: list[tuple[str, str, list[Value]]] = []
    for key in _keys(documents) if everything else ():
        met, _ = matching(server, documents.ns, {key: {"$in": everything}}, limit=len(everything), projection={key: 1})
        ids = {id for each in met if (id := each.get(key)) is not None}
        for path, values_there in asked.items():
            named = [id for id in values_there if id in ids]
            if len(named) >= max(FEWEST, len(values_there) // 2):
                found.append((key, path, named))
    own = documents.shapes.keys() - {"_id"}
    yield from sorted(found, key=lambda each: (each[1].partition(".")[0] in own, each[0] != "_id", -len(each[2])))


def _keys(documents: Sample) -> list[str]:
    """The id, and a few fields of documents that have as many values as there are documents."""
    ids = (c.STRING, c.OBJECT_ID, c.INT32, c.INT64)
    likely = (name for name, shape in documents.shapes.items() if name != "_id" and shape.share(*ids) == 1)
    count = len(documents.documents)
    unique = (name for name in likely if len({each.get(name) for each in documents.documents}) == count)
    return ["_id", *islice(unique, KEYS)]


def _paths(documents: Sequence[Document], types: Sequence[int], least: float = MOST) -> list[str]:
    """The paths that a share ``least`` of documents has a value of these types at, shallow ones first."""
    counted: Counter[str] = Counter()
    for each in documents:
        counted.update(_paths_in(each.raw, types, "", DEEPEST))
    often = [path for path, count in counted.items() if count >= least * len(documents)]
    return sorted(often, key=lambda path: path.count("."))


def _paths_in(raw: bytes, types: Sequence[int], before: str, depth: int) -> Iterator[str]:
    for name, value in c.fields(raw):
        if "." in name or not name:
            continue
        if value.type in types:
            yield f"{before}{name}"
        if value.type == c.OBJECT and depth > 1:
            yield from _paths_in(value.data, types, f"{before}{name}.", depth - 1)


def _elements(raw: bytes, path: str) -> list[Value]:
    array = value_at(raw, path)
    return list(c.items(array)) if array is not None and array.type == c.ARRAY else []


def _is_state(rows: Sequence[Document], path: str, names: set[str]) -> bool:
    """Whether most rows have most fields of a document there."""
    held = 0
    for row in rows:
        value = value_at(row.raw, path) if path else Value.document(row.raw)
        if value is not None and value.type == c.OBJECT:
            there = {name for name, _ in c.fields(value.data)}
            held += len(there & names) >= LIKE * len(names) > 0
    return held >= MOST * len(rows) > 0


def _of_rows(made: CollectionProfile, rows: _Rows) -> Iterator[CollectionProfile]:
    """Profiles for rows that hold states or patches, by where these are and by what orders the rows."""
    for content, kept in product(rows.states, ("all", "earlier")):
        inside = {content.partition(".")[0]} if content else {*rows.documents.shapes}
        for order in _orders(made, rows, inside):
            yield _with_told(replace(made, content=content, kept=kept, **order), rows, inside)
    for path, form in rows.patches:
        inside = {path.partition(".")[0]}
        for order, way in product(_orders(made, rows, inside), ("forward", "backward")):
            patched = replace(made, layout="patches", patch=form, changes=path, direction=way, **order)
            yield _with_told(patched, rows, inside)


def _orders(made: CollectionProfile, rows: _Rows, inside: Set[str]) -> list[dict[str, str]]:
    """What may order the rows: a number, a time, the order in which they lie; fields ``inside`` of states are none."""
    dates = [path for path in rows.dates if path.partition(".")[0] not in inside]
    at = next(iter(dates), "")
    if made.elements:
        return [{"at": at, "order": order} for order in ("", NEWEST_FIRST)]
    numbers = (path for path in rows.numbers if _tells_apart(made, rows.rows, path))
    found: list[dict[str, str]] = [{"version": path, "at": at} for path in islice(numbers, 2)]
    return [*found, *({"order": path, "at": path} for path in dates[:2]), {"order": ""}]


def _tells_apart(made: CollectionProfile, rows: Sequence[Document], path: str) -> bool:
    """Whether the rows of one document have different numbers there."""
    seen: dict[Value | None, list[Value | None]] = {}
    for row in rows:
        seen.setdefault(value_at(row.raw, made.archive_id), []).append(value_at(row.raw, path))
    return all(len(set(each)) == len(each) for each in seen.values())


def _with_told(made: CollectionProfile, rows: _Rows, inside: Set[str]) -> CollectionProfile:
    """The profile with the fields that tell who made a change, and why; others beside a state are no content."""
    told = [path for path in rows.texts if path.partition(".")[0] not in inside]
    author = next((path for path in told if bare(path.rpartition(".")[2]) in AUTHORS), "")
    reason = next((path for path in told if bare(path.rpartition(".")[2]) in REASONS), "")
    made = replace(made, author=author, reason=reason)
    if made.content or made.patch:
        return made
    known = {path.partition(".")[0] for path in (made.archive_id, made.version, made.order, made.at, author, reason)}
    counted = Counter(name for row in rows.rows for name in row.fields)
    beside = (
        name
        for name, count in counted.items()
        if name not in inside | known | {"_id"} and (count >= MOST * len(rows.rows) or bare(name) in AUTHORS | REASONS)
    )
    return replace(made, ignored=(*made.ignored, *beside))


def _replayed(server: Port, profile: CollectionProfile, ids: Sequence[Value], rows: Sample) -> Offer | None:
    """The offer, if documents come out of the reading as they are, and some of them have moved."""
    layout = bind(server, profile)
    right = looked = moved = kept = 0
    for id in ids[:LOOKED_THROUGH]:
        try:
            versions = list(islice(layout.history(id, contents=True), ROWS))
        except (NotFound, Refused):
            return None
        if len(versions) == 1 and (profile.kept == "earlier" or profile.elements):
            continue  # nothing was written about it yet
        looked += 1
        right += _fits(versions, profile)
        moved += len({each.content for each in versions}) > 1
        kept += _same(*versions[:2]) if len(versions) > 1 else 0
        if looked - right > 1:
            return None
        if looked == LOOKED_AT:
            break
    if right < FEWEST or moved < MOVED:
        return None
    name, place = profile.ns.partition(".")[2], rows.ns.partition(".")[2]
    place = ".".join(filter(None, (place, profile.elements, profile.changes if profile.patch else profile.content)))
    if profile.patch:
        said = f"Changes of the documents of {name} lie in {place} ({right} of {looked} look-ups fit)."
    elif profile.kept == "earlier":
        said = f"Earlier states of the documents of {name} lie in {place} ({right} of {looked} look-ups fit)."
    else:
        said = f"States of the documents of {name} lie in {place} ({right} of {looked} look-ups fit)."
    return Offer(profile, right, looked, kept, said)


def _fits(versions: Sequence[Version], profile: CollectionProfile) -> bool:
    """Whether a document is what its newest row says, or goes on from it, and every row has a state."""
    if any(each.state in ("unproven", "damaged", "missing") for each in versions):
        return False
    now = next((each for each in versions if each.current), None)
    if now is None or now.detail == DIFFERS or len(versions) < 2:
        return now is not None and not now.detail and len(versions) == 1 and profile.kept == "all" and now.v is not None
    times = [each.at for each in versions if each.at is not None]
    if any(newer < older for newer, older in pairwise(times)):
        return False
    return profile.kept == "all" or _goes_on(versions)


def _goes_on(versions: Sequence[Version]) -> bool:
    """Whether each version keeps something of the one before, and changes something."""
    for newer, older in pairwise(versions):
        names, same = len(c.fields(newer.content or c.EMPTY)), _same(newer, older)
        if not names or 2 * same < names or (newer.current and same == names):  # that row is the current state
            return False
    return True


def _same(newer: Version, older: Version) -> int:
    """The number of fields that a version has from the one before."""
    theirs = dict(c.fields(older.content or c.EMPTY))
    return sum(theirs.get(name) == value for name, value in c.fields(newer.content or c.EMPTY))
