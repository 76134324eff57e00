"""Finds how a collection's documents contradict a profile that a person states, each with an example.

Only a sample is read, so it can run while somebody types; no contradiction proves nothing. A document or two without
a field may be damaged; a field that no document has refutes the profile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from model.errors import Unreadable
from model.foundation.collection_profile import MOVED, CollectionProfile
from model.layouts.registry import declared, fields_of, has_archive, within
from model.recognition.find_embedded import inner
from model.recognition.row_ties import tie
from model.recognition.sampling import ID_TYPES, Document, Sample, matching, of, read, read_chains, take
from model.server.retry import Port
from model.storage.foreign_guard import moves
from model.storage.reserved_fields import time_of, version_damage
from model.text.names import id_name, version_name
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS
from model.writers.written_rows import PLACE

ESSENTIAL = ("id", "version", "current", "counter", "archive_id", "guard", "token")
"""Roles that writing depends on: if no document plays them, the profile is about something else.

Contradictions of hashes are found together with their recipe.
"""
NEEDED = ("id", "version", "current", "prev", "hash", "counter", "pending", "processed", "archive_id")
"""Roles that every document has to play; documents may lack others."""
TOLD = ("at", "author", "reason", "guard")
"""Roles that some document has to play, if the profile names them."""
_KINDS = {
    "current": ((c.OBJECT,), "sub-document"),
    "prev": ((c.ARRAY,), "array"),
    "pending": ((c.ARRAY,), "array"),
    "applied": ((c.ARRAY,), "array"),
    "processed": ((c.ARRAY,), "array"),
    "counter": (NUMBERS, "number"),
    "hash": ((c.STRING, c.BINARY), "text of a hash"),
}
_SEVERAL = 8  # the most sentences: more would add nothing
_SURE = 3  # documents: fewer may be damaged, or of another kind
_LOOKED_UP = 12  # documents whose versions are read
_ROWS_SURE = 5  # archive rows that belong to no document: fewer may be left over


class Contradiction(Struct, frozen=True):
    """One contradiction of a profile."""

    sentence: str
    throughout: bool = False
    """Whether all documents contradict, in something that writing depends on."""


def contradictions(server: Port, profile: CollectionProfile) -> tuple[str, ...]:
    """One sentence for each contradiction of the profile; empty if none was found."""
    return tuple(islice(dict.fromkeys(each.sentence for each in _all(server, profile)), _SEVERAL))


def refuted(server: Port, profile: CollectionProfile, sample: Sample, rows: Callable[[], Sample] | None = None) -> str:
    """Why nothing should be written by a profile, one sentence with an example; "" if nothing forbids it.

    ``rows`` takes a sample of the second collection.
    """
    # One odd document is damage that a scan reports; only what all of them say refutes a profile.
    return next((each.sentence for each in _all(server, profile, sample, rows) if each.throughout), "")


def fits_roles(profile: CollectionProfile, sample: Sample) -> bool:
    """Whether the documents of a sample play their roles in a profile; asks nothing."""
    left_out = ("archive_id", "at", "author", "reason")  # in rows, or not in every document
    roles = {role: field for role, field in _stated_roles(profile).items() if role not in left_out}
    return next(_roles(sample, profile, roles), None) is None


def _all(
    server: Port,
    profile: CollectionProfile,
    sample: Sample | None = None,
    rows: Callable[[], Sample] | None = None,
) -> Iterator[Contradiction]:
    db, _, name = profile.ns.partition(".")
    there = {each for each, _, _ in server.collections(db)}
    if name not in there:
        yield Contradiction(f"There is no collection {profile.ns}.")
        return
    sample = sample or take(server, profile.ns)
    roles = _stated_roles(profile)
    kind = declared(profile.layout)
    beside = kind.written_by_others
    elsewhere = ("archive_id", "version", *TOLD) if beside else ("archive_id",)
    yield from _roles(sample, profile, {role: field for role, field in roles.items() if role not in elsewhere})
    if kind.flags_newest and len(sample.documents) >= _SURE and not _is_flagged(server, profile):
        yield Contradiction(f"No document of {profile.ns} has {profile.current}, which is stated as current.", True)
    if kind.own_documents:
        yield from _twice(sample.documents, profile, (profile.id, profile.version), "documents")
    elif not (kind.about_others or kind.counts):
        yield from _twice(sample.documents, profile, (profile.id,), "documents")
    if has_archive(profile.layout):
        rows = rows or partial(take, server, profile.archive)
        yield from _archived(server, profile, sample, roles, there, beside, rows)
    if sample.documents and (said := _tied(server, profile, sample)):
        where = profile.archive if kind.written_by_others else profile.ns
        yield Contradiction(f"In {where} {said}, which a write by the layout {profile.layout} would not do.", True)


def _stated_roles(profile: CollectionProfile) -> dict[str, str]:
    """The fields by their roles, with a lock in a sub-document too."""
    roles = {role: field for role, field in fields_of(profile).items() if role != "archive"}
    if profile.guard is not None and profile.guard.how in MOVED:
        roles["guard"] = profile.guard.field
    return roles


def _tied(server: Port, profile: CollectionProfile, sample: Sample) -> str:
    """How versions depend on one another in a field that a write by the profile leaves alone, as a clause; or ""."""
    kind, p = declared(profile.layout), profile
    own = {"_id", p.id, p.version, p.token, p.hash, p.at, p.author, p.reason, p.order}
    if kind.written_by_others:
        return _tied_rows(server, p, own)
    if kind.own_documents:
        own |= {p.current} if kind.flags_newest else set()
        return tie(_chains(server, p.ns, p.id, p.version, sample), own, "removed" in kind.roles)
    if "prev" not in kind.roles:
        return ""
    chains = []
    for document in sample.documents:
        current = read(_raw(document, within(p))) if kind.within else document
        past = inner(_get(document, p.prev))
        chains += [[*past, current]] if past and current is not None else []
    return tie(chains, own | {p.prev})


def _tied_rows(server: Port, p: CollectionProfile, own: set[str]) -> str:
    """How the rows of another program's history depend on one another in a field without a template; or ""."""
    order = p.order or p.version
    shared = p.elements or p.parts or p.where or "." in p.archive_id or PLACE.search(p.archive)
    if p.edit != "both" or shared or not order:
        return ""
    told = {name for name, said in p.row.items() if name != "*" and str(said).startswith("$")}
    kind = {p.operation.field} if p.operation is not None else set()
    own = {*own, *told, *kind, p.archive_id, p.content.partition(".")[0]}
    return tie(_chains(server, p.archive, p.archive_id, order, take(server, p.archive)), own, bool(p.patch))


def _chains(server: Port, ns: str, id: str, version: str, sample: Sample) -> list[tuple[Document, ...]]:
    """The rows of some documents, oldest first."""
    ids = list(dict.fromkeys(value for each in sample.documents if (value := each.get(id)) is not None))[:_LOOKED_UP]
    found = read_chains(server, ns, id, version, ids, _SURE)
    return [chain.documents for _, chain in found if chain.newest and not chain.holes]


def _raw(document: Document, path: str) -> bytes:
    value = _get(document, path)
    return value.data if value is not None and value.type == c.OBJECT else c.EMPTY


def _archived(
    server: Port,
    profile: CollectionProfile,
    sample: Sample,
    roles: dict[str, str],
    there: set[str],
    beside: bool,
    rows: Callable[[], Sample],
) -> Iterator[Contradiction]:
    """How the second collection contradicts the profile."""
    db, _, name = profile.archive.partition(".")
    if PLACE.search(name):
        return  # each document has its own collection for its rows
    if db == profile.ns.partition(".")[0] and name not in there:
        yield Contradiction(f"There is no collection {profile.archive}.")
        return
    archive = rows()
    if not archive.documents or profile.where or profile.parts or profile.elements:
        return  # rows of other collections say nothing about this one
    wanted = ("archive_id",) if beside else ("archive_id", "version")
    yield from _roles(archive, profile, {role: roles[role] for role in wanted if role in roles})
    if not beside:
        yield from _twice(archive.documents, profile, (profile.archive_id, profile.version), "rows")
    named = [value for row in archive.documents if (value := _get(row, profile.archive_id)) is not None]
    # Any one is enough: documents may have been deleted, and their rows stay.
    if named and not any(_is_there(server, profile, value) for value in dict.fromkeys(named[:20])):
        yield Contradiction(
            f"None of the rows sampled in {profile.archive} names a document of {profile.ns} in {profile.archive_id}, "
            f"{id_name(named[0])} for one.",
            bool(sample.documents) and len(named) >= _ROWS_SURE,
        )


def _is_there(server: Port, profile: CollectionProfile, id: Value) -> bool:
    return bool(matching(server, profile.ns, {profile.id: {"$eq": id}}, 1, {"_id": 1})[0])


def _roles(sample: Sample, profile: CollectionProfile, roles: dict[str, str]) -> Iterator[Contradiction]:
    """Fields that documents lack, or whose values do not fit their role."""
    documents, kind = sample.documents, declared(profile.layout)
    if not documents:
        return
    for role, field in roles.items():
        if role == "current" and kind.flags_newest:
            continue  # a sample need not contain a newest version
        inside = within(profile) if role in kind.inside else ""
        path = f"{inside}.{field}" if inside else field
        found = [(document, _get(document, path)) for document in documents]
        lacking = [document for document, value in found if value is None]
        yield from _lacked(sample, role, path, lacking)
        there = [(document, value) for document, value in found if value is not None]
        wrong = [(document, said) for document, value in there if (said := _misfit(role, value, profile))]
        if wrong:
            # Every document that has the field, and several of them, or a single damaged one would forbid all writing.
            sure = len(wrong) == len(there) >= _enough(role)
            said = f"In {_called(wrong[0][0])} of {sample.ns}, {path} is {wrong[0][1]}."
            yield Contradiction(said, sure and role in ESSENTIAL)


def _enough(role: str) -> int:
    """How many documents must lack a role before it counts."""
    return 1 if role == "guard" else _SURE


def _lacked(sample: Sample, role: str, path: str, lacking: Sequence[Document]) -> Iterator[Contradiction]:
    """A field that all documents, or some of them, lack although its role needs it."""
    documents = sample.documents
    if role in (*NEEDED, *TOLD) and len(lacking) == len(documents):
        said = f"No document sampled in {sample.ns} has {path}, which is stated as {role}."
        yield Contradiction(said, role in ESSENTIAL and len(documents) >= _enough(role))
    elif role in NEEDED and lacking:
        some = of(len(lacking), len(documents), "document").capitalize()
        lack = "lacks" if len(lacking) == 1 else "lack"
        yield Contradiction(f"{some} sampled in {sample.ns} {lack} {path}, {_called(lacking[0])} for one.")


def _misfit(role: str, value: Value, profile: CollectionProfile) -> str:
    """What a value is instead of what its role needs; "" if it fits."""
    if role == "version" and version_damage(value):
        return f"of the type {value.kind}, not a whole number or a date"
    if role in ("id", "archive_id") and value.type not in (*ID_TYPES, c.DATE, c.OBJECT):
        return f"of the type {value.kind}, not an id"
    if role == "token" and value.type != c.OBJECT_ID:
        return f"of the type {value.kind} and not an ObjectId"
    if role == "at" and time_of(value) is None and value.type != c.STRING:
        return f"of the type {value.kind}, not a time"
    if role == "guard" and profile.guard is not None and not moves(value, profile.guard.how):
        how = "cannot go up by one" if profile.guard.how == "inc" else "is not a UUID, ObjectId or hash"
        return f"of the type {value.kind} and {how}"
    if role in _KINDS:
        types, said = _KINDS[role]
        return "" if value.type in types else f"of the type {value.kind} and no {said}"
    return ""


def _twice(
    documents: Iterable[Document], profile: CollectionProfile, fields: Sequence[str], what: str
) -> Iterator[Contradiction]:
    """Documents that the profile cannot distinguish."""
    keys = Counter(tuple(_get(document, field) for field in fields) for document in documents)
    for key, times in keys.items():
        if times > 1 and all(value is not None for value in key):
            id, v = key[0], key[1] if len(key) > 1 else None
            assert id is not None
            same = f"the {profile.id} {id_name(id)}" if v is None else f"{version_name(v)} of {id_name(id)}"
            yield Contradiction(f"{times} {what} sampled are {same}.")
            return


def _is_flagged(server: Port, profile: CollectionProfile) -> bool:
    return bool(matching(server, profile.ns, {profile.current: {"$exists": True}}, 1, {"_id": 1})[0])


def _get(document: Document, path: str) -> Value | None:
    try:
        return c.get(document.raw, tuple(path.split(".")))
    except Unreadable:
        return None


def _called(document: Document) -> str:
    id = document.get("_id")
    return "one without an _id" if id is None else id_name(id)
