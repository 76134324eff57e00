"""Offers: readings of a collection that replay what can be checked, and that nobody has proven.

Between a claim and silence stands the offer. A few shapes are tried: whole states in a second collection, at the root
of a row or below one path; the same in an array of the document, either end first; patches beside the document. A
reading is offered only if documents come out of it as they are. Nothing is ever written under an offer.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import islice, pairwise, product

from msgspec import Struct
from msgspec.structs import replace

from model.checks.written_histories import DIFFERS
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.registry import bind
from model.recognition.field_names import AUTHORS, bare
from model.recognition.find_archives import is_past_of
from model.recognition.key_candidates import is_version_name
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
DEEPEST = 3  # names in a path
TRIED = 24  # readings of one pair of collections
ROWS = 400  # rows of one document at most


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


def _readings(server: Port, documents: Sample, rows: Sample) -> Iterator[tuple[CollectionProfile, list[Value]]]:
    """Profiles that may read these rows, and the ids of documents to try each with."""
    if rows.ns == documents.ns:
        for path in _arrays(documents):
            ids = [id for each in documents.documents if (id := each.get("_id")) is not None]
            inside = [
                Document(item.data)
                for each in documents.documents
                for item in _elements(each.raw, path)
                if item.type == c.OBJECT
            ]
            made = replace(_BARE, ns=documents.ns, archive=rows.ns, archive_id="_id", elements=path)
            made = replace(made, ignored=(path.partition(".")[0],))
            for profile in _of_rows(made, documents, inside):
                yield profile, ids
        return
    if not (_states(rows.documents, documents, ()) or any(_patches(rows.documents))):
        return
    for key, path, ids in _links(server, documents, rows):
        made = replace(_BARE, ns=documents.ns, archive=rows.ns, archive_id=path, id=key)
        for profile in _of_rows(made, documents, rows.documents):
            yield profile, ids


_BARE = CollectionProfile("", "shadow", version="", token="", hash="", at="")


def _links(server: Port, documents: Sample, rows: Sample) -> Iterator[tuple[str, str, list[Value]]]:
    """Fields of documents, paths in rows that name them, and the ids that both have; those with most ids first."""
    found: list[tuple[int, str, str, list[Value]]] = []
    for path in _paths(rows.documents, ID_TYPES):
        values = Counter(
            v for row in rows.documents if (v := value_at(row.raw, path)) is not None and v.type in ID_TYPES
        )
        asked = [value for value, _ in values.most_common(ASKED)]
        if len(asked) < FEWEST or path == "_id":
            continue
        for key in _keys(documents):
            met, _ = matching(server, documents.ns, {key: {"$in": asked}}, limit=ASKED, projection={key: 1})
            ids = {id for each in met if (id := each.get(key)) is not None}
            named = [id for id in asked if id in ids]
            if len(named) >= max(FEWEST, len(asked) // 2):
                found.append((-len(named), key, path, named))
    own = documents.shapes.keys() - {"_id"}  # a field that is content too is the second choice
    for _, key, path, named in sorted(
        found, key=lambda each: (each[2].partition(".")[0] in own, each[1] != "_id", each[0])
    ):
        yield key, path, named


def _keys(documents: Sample) -> list[str]:
    """The id, and fields of documents that have as many values as there are documents."""
    found = ["_id"]
    for name, shape in documents.shapes.items():
        alone = len({each.get(name) for each in documents.documents}) == len(documents.documents)
        if alone and name != "_id" and shape.share(c.STRING, c.OBJECT_ID, c.INT32, c.INT64) == 1:
            found.append(name)
    return found[:4]


def _paths(documents: Sequence[Document], types: Sequence[int]) -> list[str]:
    """The paths that most documents have a value of these types at, shallow ones first."""
    counted: Counter[str] = Counter()
    for each in documents:
        counted.update(_paths_in(each.raw, types, "", DEEPEST))
    often = [path for path, count in counted.items() if count >= 0.8 * len(documents)]
    return sorted(often, key=lambda path: path.count("."))


def _paths_in(raw: bytes, types: Sequence[int], before: str, depth: int) -> Iterator[str]:
    for name, value in c.fields(raw):
        if "." in name or not name:
            continue
        if value.type in types:
            yield f"{before}{name}"
        if value.type == c.OBJECT and depth > 1:
            yield from _paths_in(value.data, types, f"{before}{name}.", depth - 1)


def _arrays(documents: Sample) -> list[str]:
    """The paths of arrays that hold documents in most documents."""
    return [
        path
        for path in _paths(documents.documents, (c.ARRAY,))
        if any(item.type == c.OBJECT for each in documents.documents for item in _elements(each.raw, path))
    ]


def _elements(raw: bytes, path: str) -> list[Value]:
    array = value_at(raw, path)
    return list(c.items(array)) if array is not None and array.type == c.ARRAY else []


def _of_rows(made: CollectionProfile, documents: Sample, rows: Sequence[Document]) -> Iterator[CollectionProfile]:
    """Profiles for rows that hold states or patches, by where these are and by what orders the rows."""
    contents = _states(rows, documents, made.ignored)
    for content, kept in product(contents, ("all", "earlier")):
        for order in _orders(made, rows, documents.shapes.keys() if not content else {content.partition(".")[0]}):
            whole = replace(made, content=content, kept=kept, **order)
            yield _with_ignored(whole, rows, {*documents.shapes, "_id"}) if not content else _with_told(whole, rows)
    for path, form in _patches(rows):
        for order, way in product(_orders(made, rows, {path.partition(".")[0]}), ("forward", "backward")):
            if form != "rfc6902" or way == "forward":
                patched = replace(made, layout="patches", patch=form, changes=path, direction=way, **order)
                yield _with_told(patched, rows)


def _states(rows: Sequence[Document], documents: Sample, ignored: Sequence[str]) -> list[str]:
    """The paths at which rows hold states of these documents."""
    names = {name for name, shape in documents.shapes.items() if shape.share() >= 0.8} - {"_id", *ignored}
    return [path for path in ("", *_paths(rows, (c.OBJECT,))) if _is_state(rows, path, names)]


def _is_state(rows: Sequence[Document], path: str, names: set[str]) -> bool:
    """Whether most rows have most fields of a document there."""
    held = 0
    for row in rows:
        value = value_at(row.raw, path) if path else Value.document(row.raw)
        if value is not None and value.type == c.OBJECT:
            there = {name for name, _ in c.fields(value.data)}
            held += len(there & names) >= LIKE * len(names) > 0
    return held >= 0.8 * len(rows) > 0


def _orders(made: CollectionProfile, rows: Sequence[Document], content: Set[str]) -> list[dict[str, str]]:
    """What may order the rows: a number, a time, the order in which they lie; fields with ``content`` are none."""
    dates = [path for path in _dates(rows) if path.partition(".")[0] not in content]
    at = next(iter(dates), "")
    numbers = [path for path in _paths(rows, NUMBERS) if _rises(made, rows, path)]
    numbers.sort(key=lambda path: not is_version_name(path.rpartition(".")[2]))
    found: list[dict[str, str]] = [{"version": path, "at": at} for path in numbers[:2]]
    found += [{"order": path, "at": path} for path in dates[:2]]
    if made.elements:
        return [{"at": at, "order": order} for order in ("", NEWEST_FIRST)]
    return [*found, {"order": ""}]


def _dates(rows: Sequence[Document]) -> list[str]:
    """The paths of times outside of states, those named as times of changes first."""
    dated = _paths(rows, (c.DATE, c.STRING))
    found = [p for p in dated if all(moment(v) for row in rows if (v := value_at(row.raw, p)) is not None)]
    return sorted(found, key=lambda path: (path.count("."), found.index(path)))


def _rises(made: CollectionProfile, rows: Sequence[Document], path: str) -> bool:
    """Whether the rows of one document have different numbers there."""
    seen: dict[Value | None, list[Value | None]] = {}
    for row in rows:
        seen.setdefault(value_at(row.raw, made.archive_id), []).append(value_at(row.raw, path))
    return all(len(set(each)) == len(each) for each in seen.values())


def _patches(rows: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """The paths of what looks like patches, with their form."""
    for path in _paths(rows, (c.ARRAY,)):
        items = [item for row in rows for item in _elements(row.raw, path) if item.type == c.OBJECT]
        if items and all({"op", "path"} <= {name for name, _ in c.fields(item.data)} for item in items):
            yield path, "rfc6902"
    for path in _paths(rows, (c.OBJECT,)):
        changes = [v for row in rows if (v := value_at(row.raw, path)) is not None and v.type == c.OBJECT]
        leaves = [value for each in changes for name, value in c.fields(each.data) if name != "_t"]
        if leaves and all(value.type in (c.ARRAY, c.OBJECT) for value in leaves):
            yield path, "jsondiffpatch"


def _with_told(made: CollectionProfile, rows: Sequence[Document]) -> CollectionProfile:
    """The profile with the fields that tell who made a change, and why."""
    inside = f"{made.content or made.changes}."
    told = [path for path in _paths(rows, (c.STRING,)) if not path.startswith(inside)]
    author = next((path for path in told if bare(path.rpartition(".")[2]) in AUTHORS), "")
    reason = next((path for path in told if bare(path.rpartition(".")[2]) in _REASONS), "")
    return replace(made, author=author, reason=reason)


_REASONS = frozenset(["reason", "message", "comment", "note", "description", "why"])


def _with_ignored(made: CollectionProfile, rows: Sequence[Document], names: set[str]) -> CollectionProfile:
    """The profile for rows with the state at their root: author and reason are named, fields beside it ignored."""
    there = Counter(name for row in rows for name in row.fields)
    beside = [
        name
        for name, count in there.items()
        if name not in names and (count >= 0.8 * len(rows) or bare(name) in AUTHORS | _REASONS)
    ]
    author = next((name for name in beside if bare(name) in AUTHORS), "")
    reason = next((name for name in beside if bare(name) in _REASONS), "")
    told = {path.partition(".")[0] for path in (made.archive_id, made.version, made.order, made.at, author, reason)}
    return replace(made, author=author, reason=reason, ignored=(*made.ignored, *(n for n in beside if n not in told)))


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
