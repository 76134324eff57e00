"""The audit of a soak, by plain PyMongo and plain SQLite: compares the database with the ledgers and the journals.

Every version must be what one writer made from the one before it. What was acknowledged is there once; what was
refused is not; what nobody was told of is there at most once. Each version has its entry in a journal, and each
applied entry its version; :mod:`tests.soak.makers` says what tells versions apart.
"""

from __future__ import annotations

import itertools
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import bson

from model.foundation.collection_profile import CollectionProfile
from tests.simulation.histories import Entry, stored
from tests.soak import ground
from tests.soak.ledger import Attempt
from tests.soak.makers import (
    NOT_THERE,
    PERHAPS,
    Makers,
    Row,
    are_marked,
    are_one,
    document_of,
    number_of,
    sha1,
    stays_in_doubt,
    value,
)

VERSIONS = ("edit", "restore", "undo", "create")  # entries of these make a version
FORGOTTEN = "forgotten"
"""The table of a journal in which the soak keeps the entries that were pruned."""


def rows(homes: Iterable[Path]) -> list[Row]:
    """All entries of some journals, oldest first, and those that were pruned from them."""
    found: list[Row] = []
    for home in homes:
        path = home / "journal.sqlite3"
        if path.exists():
            db = sqlite3.connect(path)
            db.row_factory = sqlite3.Row
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for table in {"entries", FORGOTTEN}.intersection(tables):
                of = {"home": home.name, "forgotten": table == FORGOTTEN}
                found += [{**row, **of} for row in db.execute(f"SELECT * FROM {table}")]
            db.close()
    return sorted(found, key=lambda row: (row["home"], row["id"]))


def faults(
    database: ground.Db, stated: ground.Profiles, tried: Sequence[Attempt], journals: Sequence[Row]
) -> Iterator[str]:
    """What is wrong, a sentence each."""
    made = [each for each in tried if each.what in ("edit", "restore", "undo")]
    noted = [row for row in journals if row["action"] in VERSIONS and not of_repair(row)]
    for place, layout in ground.PLACES.items():
        ours = [each for each in made if each.said["place"] == place]
        entries = [row for row in noted if row["ns"] == f"{database.name}.{place}"]
        if layout in ("hashed", "plain"):
            yield from marked(database, place, ours, entries)
            continue
        shelf = ground.Shelf(database, stated[place])
        histories = {id: stored(shelf.of(id), stated[place], id) for id in shelf.ids}
        makers = Makers(stated[place], entries)
        yield from as_told(place, histories, ours, makers)
        yield from as_noted(place, histories, entries, makers)
    for place, (target, _) in ground.MOVES.items():
        yield from moved(database, stated[place], stated[target])
    yield from counted(database, [each for each in tried if each.what in ("count", "leave token")])
    yield from unsettled(database, stated, journals)


def unsettled(database: ground.Db, stated: ground.Profiles, journals: Sequence[Row]) -> Iterator[str]:
    """What is in doubt although it could be told; documents that are deleted are left to their own audit."""
    for row in journals:
        place = row["ns"].partition(".")[2]
        if row["kind"] not in ("begun", "unknown"):
            continue
        if row["forgotten"]:
            yield f"entry {row['id']} of {row['home']} ({row['action']} in {row['ns']}) was pruned, and is not settled"
        elif row["layout"] in ("hashed", "plain") or place in ground.LEFT:
            continue
        elif place not in stated or not _may_stay(database, stated[place], place, row):
            who = f"entry {row['id']} of {row['home']} ({row['action']} in {row['ns']}, document {row['document']})"
            yield f"{who} was never settled: {row['detail']} {_stand(database, stated.get(place), row)}"


def _stand(database: ground.Db, p: CollectionProfile | None, row: Row) -> str:
    """What there is of a document whose write is in doubt, for whoever looks into it."""
    if p is None:
        return ""
    id = document_of(row)
    there = {entry.v: bson.decode(entry.content) for entry in stored(ground.Shelf(database, p).of(id), p, id)}
    after = number_of(row)
    return f"Versions {min(there, default=None)} to {max(there, default=None)}, v{after} is {there.get(after)}."


def _may_stay(database: ground.Db, p: CollectionProfile, place: str, row: Row) -> bool:
    """Whether nothing in its collection can tell how a write ended.

    Of a document that was moved and removed nothing is left there; where its version is, is audited by itself.
    """
    id = document_of(row)
    versions = stored(ground.Shelf(database, p).of(id), p, id)
    if not versions:
        return row["kind"] == "unknown" and place in ground.VACATED
    return not are_marked(p) and stays_in_doubt(row, versions)


# --- beside the ledgers


def as_told(
    place: str, histories: Mapping[str, Sequence[Entry]], tried: Sequence[Attempt], makers: Makers
) -> Iterator[str]:
    """Whether the versions of a collection are what their writers were told."""
    by_document: dict[str, list[Attempt]] = defaultdict(list)
    for each in tried:
        by_document[each.said["id"]].append(each)
    for id, ours in by_document.items():
        entries = histories.get(id, ())
        made = sum(max(1, _applied(makers.of(id, entry))) for entry in entries)
        yield from (f"{place} {id}: {fault}" for fault in _document_as_told(entries, ours, made - len(entries)))
    for id in histories.keys() - by_document.keys():
        yield f"{place} {id}: nobody made it"


def _applied(rows: Sequence[Row]) -> int:
    """How many writers were told that they made a version: one, or several where all of them repeat a content."""
    return sum(row["kind"] == "applied" for row in rows) if are_one(rows) else 1


def _document_as_told(entries: Sequence[Entry], tried: Sequence[Attempt], shared: int) -> Iterator[str]:
    """The same for one document, of which so many writers were told of versions that others were told of as well."""
    numbers = [entry.v for entry in entries]
    if numbers != list(range(1, len(numbers) + 1)):
        yield f"the versions are {numbers}"
    acknowledged = sum(each.outcome == "applied" and not each.told.get("skipped") for each in tried)
    doubt = sum(each.outcome in ("", "unknown") for each in tried)
    if not acknowledged - shared <= len(entries) <= acknowledged + doubt:
        yield f"{acknowledged} writes were acknowledged and {doubt} are in doubt, and there are {len(entries)} versions"
    docs = [bson.decode(entry.content) for entry in entries]
    marks = {each.said["mark"]: each for each in tried if each.what == "edit"}
    began: Counter[str] = Counter()
    seen: set[bytes] = set()
    for before, doc, entry in zip([{}, *docs], docs, entries, strict=False):
        fresh = [name for name, value in doc.items() if before.get(name) != value and name != "total"]
        if entry.content not in seen:  # else it was restored, or taken back
            one = fresh[0] if len(fresh) == 1 else ""
            rest = {name: value for name, value in before.items() if name not in (one, "total")}
            kept = {name: value for name, value in doc.items() if name not in (one, "total")}
            steps = doc.get("total", 0) - before.get("total", 0)
            if doc.get(one) not in marks or rest != kept or steps not in (0, 1):
                yield f"no single edit made version {entry.v}: {fresh}"
            began.update([doc[one]] if one else [])
        seen.add(entry.content)
    for mark, each in marks.items():
        yield from told_and_there(f"edit {mark}", each, began[mark])
    contents = {entry.v: entry.content for entry in entries}
    for each in tried:
        v, of = each.told.get("v"), each.said.get("v")
        told = each.what == "restore" and each.outcome == "applied" and v is not None
        if told and (v not in contents or contents[v] != contents.get(of)):
            yield f"version {v} was told to be version {of} restored, and is not"


def told_and_there(what: str, each: Attempt, times: int) -> Iterator[str]:
    if each.outcome == "applied" and times != 1:
        yield f"{what} was acknowledged and is there {times} times ({each.told.get('said')})"
    elif each.outcome in NOT_THERE and times:
        yield f"{what} ended {each.outcome} and is there ({each.told.get('said')})"
    elif times > 1:
        yield f"{what} is there {times} times"


def marked(database: ground.Db, place: str, tried: Sequence[Attempt], entries: Sequence[Row]) -> Iterator[str]:
    """Whether documents without versions hold the marks of all edits that were acknowledged."""
    there: dict[str, list[str]] = {doc["_id"]: list(doc.get("marks", ())) for doc in database[place].find()}
    known = {each.said["mark"] for each in tried}
    for each in tried:
        times = there.get(each.said["id"], []).count(each.said["mark"])
        yield from (f"{place} {each.said['id']}: {fault}" for fault in told_and_there(each.said["mark"], each, times))
    for id, marks in there.items():
        if strange := set(marks) - known:
            yield f"{place} {id}: nobody made {sorted(strange)[:3]}"
        ours = Counter(row["kind"] for row in entries if document_of(row) == id)
        if not ours["applied"] <= len(marks) <= ours["applied"] + ours["unknown"] + ours["begun"]:
            yield f"{place} {id}: {len(marks)} edits are in it, and the journals tell of {dict(ours)}"


def counted(database: ground.Db, tried: Sequence[Attempt]) -> Iterator[str]:
    """Whether each token counts once."""
    by_counter: dict[str, list[Attempt]] = defaultdict(list)
    for each in tried:
        by_counter[each.said["counter"]].append(each)
    for doc in database[ground.COUNTS].find():
        name, times = doc["_id"], Counter(map(str, doc["applied"]))
        if doc["count"] != len(doc["applied"]) or doc["pending"]:
            yield f"counter {name} is {doc['count']} with {len(times)} tokens applied and {len(doc['pending'])} pending"
        for each in by_counter[name]:
            yield from told_and_there(f"counter {name}: token {each.said['token']}", each, times[each.said["token"]])
        if strange := times.keys() - {each.said["token"] for each in by_counter[name]}:
            yield f"counter {name}: nobody counted {sorted(strange)[:3]}"


def moved(database: ground.Db, place: CollectionProfile, target: CollectionProfile) -> Iterator[str]:
    """Whether a collection that was moved holds every version of the old one."""
    old, new = ground.Shelf(database, place), ground.Shelf(database, target)
    if set(old.ids) != set(new.ids):
        yield f"{place.ns} has the documents {sorted(old.ids)}, and {target.ns} has {sorted(new.ids)}"
    for id in set(old.ids) & set(new.ids):
        a = [(entry.v, entry.content) for entry in stored(old.of(id), place, id)]
        b = [(entry.v, entry.content) for entry in stored(new.of(id), target, id)]
        if a != b:
            yield f"{id} has {len(a)} versions in {place.ns} and {len(b)} in {target.ns}, or others"


# --- beside the journals


def as_noted(
    place: str, histories: Mapping[str, Sequence[Entry]], journals: Sequence[Row], makers: Makers
) -> Iterator[str]:
    """Whether each version has its entry, and each entry that was applied its version."""
    there: Counter[str] = Counter()
    for id, entries in histories.items():
        for before, entry in itertools.pairwise([None, *entries]):
            assert entry is not None
            there[makers.name(id, entry)] += 1
            noted = makers.of(id, entry)
            who = f"{place} {id}: version {entry.v}"
            if not are_one(noted):
                yield f"{who} has {len(noted)} entries in the journals"
                continue
            yield from (f"{who} {fault}" for row in noted for fault in _entry(row, id, before, entry))
    for row in journals:
        if row["kind"] == "applied" and (times := there[makers.made(row)]) != 1:
            yield f"{place}: {_who(row)} says applied, and its version is there {times} times"


def _entry(row: Row, id: str, before: Entry | None, entry: Entry) -> Iterator[str]:
    """How a version differs from its entry."""
    what = f"of {_who(row)}"
    if row["kind"] == "applied":
        if value(row["version_after"]) != entry.v:
            yield f"{what} is told there as version {value(row['version_after'])}"
        if row["hash_after"] != sha1(entry.content):
            yield f"{what} has another content there"
    if row["kind"] not in PERHAPS:
        yield f"{what} is there, and it says {row['kind']} ({row['detail']})"
    if document_of(row) != id:
        yield f"{what} is told there of {row['document']}"
    if row["hash_before"] != (None if before is None else sha1(before.content)):
        yield f"{what} does not follow the version that it began from"


def _who(row: Row) -> str:
    return f"entry {row['id']} of {row['home']} ({row['action']}, document {row['document']})"


def of_repair(row: Row) -> bool:
    """Whether an entry is about a write of a repair or of a cleanup, or takes one back."""
    return "run" in json.loads(row["extra"])
