"""The audit of clearances: data removed by repairs, migrated collections, and old entries of journals.

What a repair removes is kept in the quarantine until somebody clears that or undoes the repair. Each version of a
collection that is removed after its migration is in the old place, in the new one, or equal in both. The soak itself
keeps entries that are pruned from the journals.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from model.userdata import kept_tables
from tests.simulation.histories import Entry, stored
from tests.soak import ground
from tests.soak.auditing import FORGOTTEN, VERSIONS, as_told, of_repair
from tests.soak.ledger import Attempt
from tests.soak.makers import NOT_THERE, SOUGHT, Makers, Row, document_of, sha1


@contextmanager
def watched() -> Iterator[None]:
    """Keep in the journal's file whatever this process deletes from it meanwhile.

    The trigger is one of each connection: a file that has one is another program's, and would be set aside.
    """
    connected = kept_tables.connected

    def connected_and_watched(*where: Any) -> sqlite3.Connection:
        db = connected(*where)
        names = ", ".join(name for _, name, *_ in db.execute("PRAGMA table_info(entries)"))
        old = ", ".join(f"old.{name}" for name in names.split(", "))
        db.execute(f"CREATE TABLE IF NOT EXISTS {FORGOTTEN} AS SELECT * FROM entries WHERE 0")
        db.execute(
            f"CREATE TEMP TRIGGER forgetting BEFORE DELETE ON main.entries BEGIN"
            f" INSERT INTO {FORGOTTEN} ({names}) VALUES ({old}); END"
        )
        db.commit()
        return db

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_tables, "connected", connected_and_watched)
        yield


def faults(
    database: ground.Db, stated: ground.Profiles, tried: Sequence[Attempt], journals: Sequence[Row]
) -> Iterator[str]:
    """What is wrong, a sentence each."""
    yield from repaired(database, stated, tried, journals)
    for place, (_, target, _) in ground.VACATED.items():
        ours = [each for each in tried if each.said.get("place") == place]
        entries = [row for row in journals if row["ns"] == stated[place].ns and row["action"] in VERSIONS]
        old, new = (
            {id: stored(shelf.of(id), stated[name], id) for id in shelf.ids}
            for name, shelf in ((name, ground.Shelf(database, stated[name])) for name in (place, target))
        )
        yield from vacated(place, old, new, ours, entries, Makers(stated[place], entries))


# --- what repairs remove


def repaired(
    database: ground.Db, stated: ground.Profiles, tried: Sequence[Attempt], journals: Sequence[Row]
) -> Iterator[str]:
    """Whether all that repairs removed is in the quarantine, was cleared away there, or is back in its place."""
    kept: set[tuple[str, str]] = set()
    for id, ns, raw in ground.copies(database):
        kept.add((ns, sha1(raw)))
        if id != hashlib.sha256(ns.encode() + b"\x00" + raw).hexdigest():
            yield f"the copy {id} in the quarantine is not the document that was removed from {ns}"
    removed: dict[tuple[str, str], list[Row]] = defaultdict(list)
    returned: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in filter(of_repair, journals):
        target = json.loads(row["extra"]).get("target", "")
        if row["hash_after"] is None and row["hash_before"] is not None:
            removed[target, row["hash_before"]].append(row)
        elif row["hash_before"] is None and row["hash_after"] is not None:
            returned[target, row["hash_after"]].append(row)
    cleared = {(each.said["ns"], each.said["hash"]) for each in tried if each.what == "clear copy"}
    for one, found in removed.items():
        for row in found:
            if row["kind"] == "applied" and one not in kept | cleared | returned.keys():
                yield f"{_who(row)} removed a document from {one[0]}, and no copy of it is in the quarantine"
    p = stated["damaged"]
    shelf = ground.Shelf(database, p)
    there = {sha1(raw) for id in shelf.ids for raw in shelf.of(id).documents(p.archive)}
    for each in tried:
        if each.what == "plant":
            hash = each.said["hash"]
            moves = [row for rows in (removed, returned) for row in rows.get((p.archive, hash), ())]
            ends = [row["kind"] for row in moves if row["kind"] not in NOT_THERE]
            if each.outcome == "applied" and hash not in there and not ends:
                yield f"row {each.said['token']} was planted in {p.archive}, and is gone without an entry"
            back = any(row["kind"] not in NOT_THERE for row in returned.get((p.archive, hash), ()))
            if hash in there and "applied" in ends and not back:
                yield f"row {each.said['token']} was removed from {p.archive}, and is there"


# --- collections that are removed behind their moves


def vacated(
    place: str,
    old: dict[str, list[Entry]],
    new: dict[str, list[Entry]],
    tried: Sequence[Attempt],
    journals: Sequence[Row],
    makers: Makers,
) -> Iterator[str]:
    """Whether every version is in the old place or in the new one, once, and each applied entry has its version."""
    both: dict[str, list[Entry]] = {}
    for id in old.keys() | new.keys():
        merged = {entry.v: entry for entry in new.get(id, ())}
        for entry in old.get(id, ()):
            if merged.setdefault(entry.v, entry).content != entry.content:
                yield f"{place} {id}: version {entry.v} has one content there and another one in the new place"
        both[id] = [merged[v] for v in sorted(merged)]
        if id in new and id in old and {_plain(each) for each in old[id]} <= {_plain(each) for each in new[id]}:
            yield f"{place} {id}: all of it is in the new place, and it was not removed from the old one"
    yield from as_told(place, both, tried, makers)
    there = {(id, sha1(entry.content)) for id, entries in both.items() for entry in entries}
    # A write in doubt that is looked for once its document was moved and removed is not where it is looked for.
    sought = [row for row in journals if SOUGHT in row["detail"] and document_of(row) not in old]
    known = [*(row for row in journals if row["kind"] not in NOT_THERE), *sought]
    noted = {(document_of(row), row["hash_after"]) for row in known}
    for row in journals:
        if row["kind"] == "applied" and (document_of(row), row["hash_after"]) not in there:
            yield f"{place}: {_who(row)} says applied, and its version is in neither place"
    for id, hash in there - noted:
        yield f"{place} {id}: a version ({hash}) has no entry in the journals"


def _plain(entry: Entry) -> tuple[object, bytes]:
    return entry.v, entry.content


def _who(row: Row) -> str:
    return f"entry {row['id']} of {row['home']} ({row['action']}, document {row['document']})"
