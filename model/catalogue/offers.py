"""Offers: readings of a collection that replay what can be checked, and that nobody has proven.

Between a claim and silence stands the offer. A few shapes are tried: whole states in a second collection, at the root
of a row or below one path; the same in an array of the document, either end first; changes beside the document, in
every form of :mod:`model.patches`; all of these as JSON text, too. A reading is offered only if documents come out of
it as they are. So is a document for every version where most ids have
a version twice. Nothing is ever written under an offer.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cached_property
from itertools import islice, pairwise, product

from msgspec import Struct
from msgspec.structs import replace

from model.checks.written_histories import DIFFERS
from model.errors import NotAllowed, NotFound, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile, Operation
from model.foundation.records import Checkpoint, Version, no_checkpoint
from model.layouts.registry import bind
from model.patches import FORMS, DoesNotApply, Node, field_lists
from model.patches.meaning import ids_of
from model.patches.tree import node_of
from model.recognition import find_version_documents
from model.recognition.field_names import AUTHORS, bare, is_version_name
from model.recognition.find_archives import is_past_of
from model.recognition.keys_in_ids import opened, paths_in_id
from model.recognition.sampling import ID_TYPES, Document, Sample, matching, take
from model.server.retry import Port
from model.storage.row_paths import value_at
from model.text import json_reader
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
SOME = 0.3  # the share of rows that must have a state or a change: others may say that a document was deleted
MOST = 0.8  # the share of rows that must have a field or a state
DEEPEST = 3  # names in a path
KEYS = 3  # fields beside the id by which rows may name a document
TRIED = 60  # readings of one pair of collections
ROWS = 400  # rows of one document at most
REASONS = frozenset(["reason", "message", "comment", "note", "description", "why"])
"""Usual names of fields that say why a change was made."""
REMOVALS = frozenset(["delete", "deleted", "remove", "removed", "destroy", "destroyed", "deleteone"])
"""Usual words for the deletion of a document."""
KINDS = 12  # different words of a field that says what was done
LOCKS = frozenset(["__v"])
"""Fields that a program moves with each save, behind the row that it writes about it."""


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
            if (made := _of_duplicated(self._server, documents) or _of_keys(self._server, documents)) is not None:
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


def _of_keys(server: Port, documents: Sample) -> Offer | None:
    """Versions by the two parts of ``_id``, whatever these are called."""
    if (inside := opened(server, documents)) is None:
        return None
    if (found := find_version_documents.keyed_in_id(server, documents)) is None:
        return None
    profile = found[0].profile
    layout = bind(inside[0], profile)
    right = looked = 0
    for id in dict.fromkeys(id for each in inside[1].documents if (id := each.get(profile.id)) is not None):
        versions = list(islice(layout.history(id, contents=True), ROWS))
        if len(versions) < 2:
            continue
        looked += 1
        right += all(_same(newer, older) for newer, older in pairwise(versions))
        if looked == LOOKED_AT:
            break
    if right < FEWEST or right < looked:
        return None
    said = (
        f"The documents of {documents.name} are versions by {profile.id} and {profile.version} ({right} of {looked} "
        "look-ups fit)."
    )
    return Offer(profile, right, looked, 0, said)


def of_keyed_rows(server: Port, documents: Sample, rows: Sample) -> Offer | None:
    """The reading of documents whose rows have id and version in ``_id``, if the version is named like one.

    Rows are small evidence by their numbers alone: at least :data:`FEWEST` documents must go on from theirs.
    """
    version = next((path for path in paths_in_id(rows) if is_version_name(path)), "")
    if not version or len({*documents.shapes} & {*rows.shapes} - {"_id"}) < 1:
        return None
    made = _of_pair(server, documents, rows)
    if made is None or made.profile.version != version or not made.profile.archive_id.startswith("_id."):
        return None
    own = version.removeprefix("_id.")
    numbered = [each.place(own) for each in documents.documents]
    # The document has its own number under the same name, and that is no content.
    if made.profile.kept == "earlier" and all(place is not None for place in numbered):
        return replace(made, profile=replace(made.profile, ignored=(*made.profile.ignored, own)))
    return made


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
    def names(self) -> set[str]:
        """The fields that most documents have."""
        names = {name for name, shape in self.documents.shapes.items() if shape.share() >= MOST}
        return names - {"_id", *self.ignored, *LOCKS}

    @cached_property
    def known(self) -> set[str]:
        """The fields that any document has."""
        return {name for each in self.documents.documents for name in each.fields}

    @cached_property
    def held(self) -> dict[str, Sequence[Value]]:
        """The objects and arrays in rows by their path, also those in JSON text; "" for the rows themselves."""
        found: dict[str, Sequence[Value]] = {"": [Value.document(row.raw) for row in self.rows]}
        for path in _paths(self.rows, (c.OBJECT, c.ARRAY, c.STRING), least=SOME):
            values = [value for row in self.rows if (value := _told(row.raw, path)) is not None]
            if len(values) >= SOME * len(self.rows):
                found[path] = values
        return found

    @cached_property
    def states(self) -> list[str]:
        """The paths at which rows hold states of these documents; "" for their root."""
        return [path for path, values in self.held.items() if self._are_states(values)]

    def _are_states(self, values: Sequence[Value]) -> bool:
        """Whether nearly all of these values have most fields of a document."""
        held = 0
        for value in values:
            there = {name for name, _ in c.fields(value.data)} if value.type == c.OBJECT else set()
            held += len(there & self.names) >= LIKE * len(self.names) > 0
        return held >= MOST * len(values) > 0

    @cached_property
    def patches(self) -> list[tuple[str, str]]:
        """The paths of what looks like changes, with their form."""
        found = []
        for path, values in self.held.items():
            trees = [tree for value in values if (tree := _tree(value)) is not None]
            told = [each for each in trees if each]
            for form in FORMS if len(told) >= MOST * len(values) or not path else ():
                if told and all(_is_change(form, each, path) for each in told):
                    found.append((path, form))
        return found

    def in_other_types(self, path: str) -> bool:
        """Whether values at a path are JSON text, or have dates, ids or decimals as text."""
        if any((value := value_at(row.raw, path)) is not None and value.type == c.STRING for row in self.rows if path):
            return True
        types = {name: {*shape.types} for name, shape in self.documents.shapes.items()}
        for value in self.held[path]:
            for name, inner in c.fields(value.data) if value.type == c.OBJECT else ():
                if inner.type == c.STRING and types.get(name, set()) & _RICH and c.STRING not in types[name]:
                    return True
        return False

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

    @cached_property
    def operation(self) -> Operation | None:
        """The field that says what was done, if some rows say that a document was deleted."""
        for path in self.paths(c.STRING):
            said = {str(value.python()) for row in self.rows if (value := value_at(row.raw, path)) is not None}
            removed = tuple(sorted(word for word in said if word.casefold() in REMOVALS))
            if removed and len(said) <= KINDS:
                return Operation(path, remove=removed)
        return None


_RICH = {c.DATE, c.OBJECT_ID, c.DECIMAL128, c.BINARY}
"""Types that JSON has as text."""


def _told(raw: bytes, path: str) -> Value | None:
    """The object or array at a path, also if it is written as JSON text."""
    value = value_at(raw, path)
    if value is not None and value.type == c.STRING:
        text = str(value.python())
        if not text.lstrip().startswith(("{", "[")):
            return None
        with contextlib.suppress(Unreadable):
            value = json_reader.read(text)
    return value if value is not None and value.is_container else None


def _tree(value: Value) -> Node | None:
    with contextlib.suppress(DoesNotApply):
        return node_of(value)
    return None


def _is_change(form: str, change: Node, path: str) -> bool:
    """Whether a tree is a change in some form."""
    if form == "rfc6902":
        return isinstance(change, list) and all(isinstance(x, dict) and {"op", "path"} <= x.keys() for x in change)
    if form == "json0":
        return isinstance(change, list) and all(isinstance(x, dict) and len(x) > 1 and "p" in x for x in change)
    if form == "fields" and isinstance(change, dict):
        if field_lists.is_in_letters(change):
            return True  # also one that changes nothing
        if not path:
            return field_lists.is_of_one_field(change) or any({*pair} <= change.keys() for pair in field_lists.PAIRS)
    if not path:
        return False
    with contextlib.suppress(DoesNotApply):
        return bool(FORMS[form].names(change)) and (form != "jsondiffpatch" or _is_delta(change))
    return False


def _is_delta(node: Node) -> bool:
    if isinstance(node, list):
        return 1 <= len(node) <= 3
    inner = [each for name, each in node.items() if name != "_t"] if isinstance(node, dict) else []
    return bool(inner) and all(map(_is_delta, inner))


def _readings(server: Port, documents: Sample, rows: Sample) -> Iterator[tuple[CollectionProfile, list[Value]]]:
    """Profiles that may read these rows, and the ids of documents to try each with."""
    locks = tuple(name for name in LOCKS if name in documents.shapes)
    bare_profile = CollectionProfile(
        documents.ns, "shadow", archive=rows.ns, version="", token="", hash="", at="", archive_id="_id", ignored=locks
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
            made = replace(bare_profile, elements=path, ignored=(path.partition(".")[0], *locks))
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

    One query for each field. A field that is content too is the second choice. Rows may have an id as text.
    """
    asked = _asked(rows)
    everything = list(dict.fromkeys(id for values in asked.values() for value in values for id in ids_of(value)))
    found: list[tuple[str, str, list[Value]]] = []
    for key in _keys(documents) if everything else ():
        met, _ = matching(server, documents.ns, {key: {"$in": everything}}, limit=len(everything), projection={key: 1})
        ids = {id for each in met if (id := each.get(key)) is not None}
        for path, values_there in asked.items():
            named = [id for value in values_there for id in ids_of(value) if id in ids]
            least = len(values_there) // 2 if key == "_id" else MOST * len(values_there)  # a name may change, too
            if len(named) >= max(FEWEST, least):
                found.append((key, path, named))
    own = documents.shapes.keys() - {"_id"}
    yield from sorted(found, key=lambda each: (each[1].partition(".")[0] in own, each[0] != "_id", -len(each[2])))


def _asked(rows: _Rows) -> dict[str, list[Value]]:
    """The paths at which rows may name documents, each with the values to look for."""
    asked: dict[str, list[Value]] = {}
    for path in _paths(rows.rows, ID_TYPES, least=SOME):  # a row without an id is about no document
        values = Counter(v for row in rows.rows if (v := value_at(row.raw, path)) is not None and v.type in ID_TYPES)
        if path != "_id" and len(values) >= FEWEST:
            asked[path] = [value for value, _ in values.most_common(ASKED)]
    return asked


def _keys(documents: Sample) -> list[str]:
    """The id, and a few fields of documents that have as many values as there are documents."""
    shapes = documents.shapes.items()
    likely = (name for name, shape in shapes if name != "_id" and shape.share(c.STRING, c.OBJECT_ID) == 1)
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


def _of_rows(made: CollectionProfile, rows: _Rows) -> Iterator[CollectionProfile]:
    """Profiles for rows that hold states or changes, by where these are and by what orders the rows."""
    made = replace(made, operation=rows.operation)
    for content, kept in product(rows.states, ("all", "earlier")):
        inside = {content.partition(".")[0]} if content else {*rows.documents.shapes}
        there = {name for value in rows.held[content] for name, _ in _fields(value)} if content else set()
        held = replace(made, notation=_notation(made, rows, content), ignored=_with_unknown(made, rows, there))
        for order in _orders(made, rows, inside):
            yield _with_told(replace(held, content=content, kept=kept, **order), rows, inside)
    for path, form in rows.patches:
        inside = {path.partition(".")[0]} if path else {*field_lists.NAMES}
        there = _changed(form, rows.held[path])
        patched = replace(made, layout="patches", patch=form, changes=path, notation=_notation(made, rows, path))
        for order, way in product(_orders(made, rows, inside), ("forward", "backward", "onward")):
            if way == "onward" and form != "fields":
                continue
            left_out = _with_unknown(made, rows, there) if way != "onward" else made.ignored
            if way == "forward":
                left_out = (*left_out, *(x for x in sorted(rows.known) if x not in {"_id", *left_out} | there))
            yield _with_told(replace(patched, direction=way, ignored=left_out, **order), rows, inside)


def _notation(made: CollectionProfile, rows: _Rows, path: str) -> str:
    """ "json" if rows hold values or the ids of documents in the types of JSON."""
    ids = {value.type for row in rows.rows if (value := value_at(row.raw, made.archive_id)) is not None}
    there = {value.type for each in rows.documents.documents if (value := each.get(made.id)) is not None}
    is_text = not made.elements and ids == {c.STRING} and c.STRING not in there
    return "json" if is_text or rows.in_other_types(path) else ""


def _with_unknown(made: CollectionProfile, rows: _Rows, names: Set[str]) -> tuple[str, ...]:
    """What is no content: also names in rows that no document has, where all documents are known."""
    unknown = (name for name in sorted(names) if name not in rows.known and name != "_id")
    return (*made.ignored, *unknown) if made.id == "_id" else made.ignored


def _changed(form: str, values: Sequence[Value]) -> set[str]:
    """The fields that changes are about."""
    found: set[str] = set()
    for value in values:
        with contextlib.suppress(DoesNotApply):
            found.update(FORMS[form].names(node_of(value)))
    return found


def _fields(value: Value) -> Sequence[tuple[str, Value]]:
    return c.fields(value.data) if value.type == c.OBJECT else ()


def _orders(made: CollectionProfile, rows: _Rows, inside: Set[str]) -> list[dict[str, str]]:
    """What may order the rows: a number, a time, the order in which they lie; fields ``inside`` of states are none."""
    dates = [path for path in rows.dates if path.partition(".")[0] not in inside]
    at = next(iter(dates), "")
    if made.elements:
        return [{"at": at, "order": order} for order in ("", NEWEST_FIRST)]
    numbers = (path for path in rows.numbers if _tells_apart(made, rows.rows, path))
    found: list[dict[str, str]] = []
    for path in islice(numbers, 2):
        is_whole = all(value_at(row.raw, path) is not None for row in rows.rows)  # else a first row may have none
        order = "" if is_whole and made.operation is None else path
        found.append({"version": path if is_whole else "", "order": order, "at": at})
    return [*found, *({"order": path, "at": path} for path in dates[:2]), {"order": ""}]


def _tells_apart(made: CollectionProfile, rows: Sequence[Document], path: str) -> bool:
    """Whether the rows of one document have different numbers there."""
    seen: dict[Value | None, list[Value | None]] = {}
    for row in rows:
        seen.setdefault(value_at(row.raw, made.archive_id), []).append(value_at(row.raw, path))
    return all(len(set(each)) == len(each) for each in seen.values())


def _with_told(made: CollectionProfile, rows: _Rows, inside: Set[str]) -> CollectionProfile:
    """The profile with the fields that tell who made a change, and why; others beside a state are no content."""
    told = [path for path in rows.texts if path.partition(".")[0] not in inside and path != made.archive_id]
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
