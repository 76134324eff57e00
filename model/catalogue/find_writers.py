"""Recognises histories written by known programs, by the fields of their rows and what these rows say.

A program is named only if all sampled rows have its fields, the rows name documents of a collection, and each
examined document is what its rows lead to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from typing import NamedTuple

from msgspec.structs import replace

from model.catalogue.left_out_fields import left_out
from model.checks.written_histories import DIFFERS
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.registry import bind
from model.patches.meaning import ids_of
from model.recognition.sampling import WITHIN_MS, Document, Proposal, Sample, gently, is_hash, matching
from model.server.retry import Port
from model.storage.row_paths import value_at
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.row_keys import profile_of
from model.writers.row_writer import HASH
from model.writers.writers import WriterPreset, presets
from model.writers.written_rows import PLACE, WrittenRows
from model.writers.written_states import begun_before

LOOKED_AT = 6  # documents whose history is read
LONGEST = 400  # rows of an examined document, unless all have more
ASKED = 24  # ids in rows to look for among documents
SURE = 5  # documents that rows name, before rows alone are believed
WRONG = 5  # 1 in WRONG of the documents examined may be damaged


def written(server: Port, samples: Sequence[Sample]) -> Iterator[Proposal]:
    """A proposal for each collection whose history a known program writes."""
    taken: set[str] = set()
    named, sharing = _writers()
    for known in named:
        for sample in samples:
            if (apart := _apart(server, known, sample, samples)) is not None:
                taken |= {apart.profile.ns, *apart.rows}
                yield apart
    for rows in samples:
        for known in sharing:
            if rows.ns in taken or not signed(rows, known):
                continue
            for where, documents in _groups(rows, known):
                others = [each for each in samples if each.ns != rows.ns and each.ns not in taken]
                made = _proposal(server, known, rows, where, documents, others)
                if made is not None:
                    taken.add(made.profile.ns)
                    yield made


@cache
def _writers() -> tuple[Sequence[WriterPreset], Sequence[WriterPreset]]:
    """The programs that write a collection of rows for each document, and the others."""
    every = presets().values()
    return [each for each in every if _field_in(each)], [each for each in every if not _field_in(each)]


def _field_in(known: WriterPreset) -> str:
    """The field of a document that names the collection of its rows; "" if all share one collection."""
    found = PLACE.search(known.archive)
    return "" if found is None or found[1] == "name" else found[1]


def _apart(server: Port, known: WriterPreset, documents: Sample, samples: Sequence[Sample]) -> Proposal | None:
    """The proposal for documents that each have their rows in a collection of their own."""
    field, db = _field_in(known), documents.ns.partition(".")[0]
    if field not in documents.shapes:
        return None
    names = {d.get("_id"): v.python() for d in documents.documents if (v := d.get(field)) and v.type == c.STRING}
    rows = {each.ns: each for each in samples}
    there = {id: ns for id, name in names.items() if id and (ns := f"{db}.{PLACE.sub(name, known.archive)}") in rows}
    if not there or not all(signed(rows[ns], known) for ns in there.values()):
        return None
    profile = profile_of(known.name, documents.ns, f"{db}.{known.archive}")
    tried = _tried(server, profile, list(there))
    if tried.wrong or tried.right < tried.looked:
        return None
    why = (
        f"{known.title} writes {_listed([ns.partition('.')[2] for ns in there.values()])}: every row sampled has "
        f"{_listed(known.fields)}, and each document is what the rows say in the collection called after its {field}."
    )
    return Proposal(profile, 0.95, why, rows=tuple(there.values()))


def signed(rows: Sample, known: WriterPreset) -> bool:
    """Whether every sampled row has the fields of the program's rows."""
    # Most rows lack the first names already, which are at hand.
    return (
        bool(rows.documents)
        and rows.documents[0].fields.keys() >= _tops(known.fields)
        and all(value_at(row.raw, path) is not None for row in rows.documents for path in known.fields)
    )


@cache
def _tops(paths: tuple[str, ...]) -> frozenset[str]:
    """The names with which some paths begin."""
    return frozenset(path.partition(".")[0] for path in paths if path)


def _groups(rows: Sample, known: WriterPreset) -> Iterator[tuple[Mapping[str, str], Sequence[Document]]]:
    """The rows grouped by their collection, if one collection has the rows of several."""
    path = next((path for path, wanted in known.keys.get("where", {}).items() if wanted == "*"), "")
    if not path:
        yield {}, rows.documents
        return
    groups: dict[str, list[Document]] = {}
    for row in rows.documents:
        value = value_at(row.raw, path)
        if value is not None and value.type == c.STRING:
            groups.setdefault(str(value.python()), []).append(row)
    for name, documents in groups.items():
        yield {path: name}, documents


def _proposal(
    server: Port,
    known: WriterPreset,
    rows: Sample,
    where: Mapping[str, str],
    documents: Sequence[Document],
    others: Sequence[Sample],
) -> Proposal | None:
    profile = profile_of(known.name, "", rows.ns, where)
    named = Counter(id for row in documents if (id := value_at(row.raw, profile.archive_id)) is not None)
    ids = sorted(list(named)[:ASKED], key=lambda id: named[id])  # short histories prove as much as long ones
    if (met := _met(server, known, rows, [each for id in ids for each in _may_be(id, profile)], others)) is None:
        return None
    other, there = met
    profile = _editable(profile_of(known.name, other.ns, rows.ns, where), other)
    profile, without, (right, looked, wrong, _, unread) = _fullest(server, profile, there, other, documents)
    what = "each is" if right == looked else f"{right} {'is' if right == 1 else 'are'}"
    why = (
        f"{known.title} writes {rows.name}: every row sampled has {_listed(known.fields)}, and of {looked} document"
        f"{'s' if looked > 1 else ''} looked at {what} what the rows say"
    )
    if without:
        why += f"; they leave out {_listed(without)}"
    if right and right >= looked - max(1, looked // WRONG):
        return Proposal(profile, 0.95 if not wrong else 0.85, f"{why}{f', but {wrong}' if wrong else ''}.")
    if 2 * unread > looked or not _is_signature(known, rows, other) or len(there) < min(SURE, len(ids)):
        return None
    return Proposal(replace(profile, edit="no"), 0.8, f"{why}, but {wrong}.")


def _fullest(
    server: Port, profile: CollectionProfile, ids: Sequence[Value], documents: Sample, rows: Sequence[Document]
) -> tuple[CollectionProfile, tuple[str, ...], _Tried]:
    """The profile, with the fields that rows leave out if that explains more; these fields; and what is right then."""
    tried = _tried(server, profile, ids)
    asks = tried.wrong == DIFFERS or tried.cut
    without = left_out(server, profile, ids[:LOOKED_AT], documents, rows) if asks else ()
    if without:
        fuller = replace(profile, ignored=(*profile.ignored, *without))
        again = _tried(server, fuller, ids)
        if again.right > tried.right or not tried.wrong:
            return fuller, without, again
    return profile, (), tried


def _may_be(id: Value, profile: CollectionProfile) -> Sequence[Value]:
    """The ids of documents that an id in rows may stand for."""
    return ids_of(id) if profile.parts else [id]


def _met(
    server: Port, known: WriterPreset, rows: Sample, ids: Sequence[Value], others: Sequence[Sample]
) -> tuple[Sample, list[Value]] | None:
    """The collection that has most of these documents, and which; None if none has any."""
    best: tuple[int, Sample, list[Value]] | None = None
    for other in others:
        key = known.keys.get("id", "_id")
        if key not in ("_id", *other.shapes):
            continue
        found, _ = matching(server, other.ns, {key: {"$in": list(ids)}}, limit=ASKED, projection={key: 1})
        met = {id for each in found if (id := each.get(key)) is not None}
        there = [id for id in ids if id in met]
        rank = len(there) * 2 + _is_signature(known, rows, other)
        if there and (best is None or rank > best[0]):
            best = (rank, other, there)
    return None if best is None else best[1:]


def _is_signature(known: WriterPreset, rows: Sample, documents: Sample) -> bool:
    """Whether the collection of rows is called as the program calls it, so that its rows alone tell the history."""
    return known.archive.replace("{name}", documents.name) == rows.name


def _editable(profile: CollectionProfile, documents: Sample) -> CollectionProfile:
    """The profile, read-only if the program stores a document's hash in an unknown field."""
    hashed = [name for name, how in profile.renewed.items() if how == HASH]
    fields = [each for document in documents.documents for each in document.fields.items()]
    elsewhere = any(is_hash(value) for _, value in fields) and not any(name in hashed for name, _ in fields)
    return replace(profile, edit="no") if hashed and elsewhere else profile


class _Tried(NamedTuple):
    """How many documents are what their rows lead to, and how many were examined."""

    right: int
    looked: int
    wrong: str  # what contradicts, in the words of a version's detail
    cut: bool  # whether the oldest rows of a document are gone
    unread: int  # of these, the documents with a version that the rows do not tell


def _tried(server: Port, profile: CollectionProfile, ids: Sequence[Value]) -> _Tried:
    layout, rows = bind(server, profile), WrittenRows(server, profile)
    right = looked = unread = 0
    wrong, cut = "", False
    asked = ids[:LOOKED_AT]
    lengths = [
        (gently(partial(server.count, rows.place(id), rows.where(id), WITHIN_MS), None) or 0, id) for id in asked
    ]
    for length, id in sorted(lengths, key=lambda each: each[0]):
        if looked and length > LONGEST:
            break
        looked += 1
        try:
            versions = list(layout.history(id, contents=True))
            against = next((v.detail for v in sorted(versions, key=_may_differ) if _speaks_against(v)), "")
            if profile.direction == "backward" and len(versions) > 1 and versions[-1].content == c.EMPTY:
                against = "its first row begins with nothing"  # this program does not record how documents begin
            cut = cut or (bool(profile.patch and profile.content) and begun_before(rows.of(id), profile) > 0)
        except Refused as error:
            against = str(error)
        right += not against
        unread += against not in ("", DIFFERS)
        wrong = against or wrong
    return _Tried(right, looked, wrong, cut, unread)


def _may_differ(version: Version) -> bool:
    return version.detail == DIFFERS


def _speaks_against(version: Version) -> bool:
    return version.state in ("unproven", "damaged") or (version.current and version.detail == DIFFERS)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
