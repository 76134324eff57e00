"""The audit of deleted and purged documents: each version is in the database, or whole in its remover's journal.

What was removed is gone, unless somebody or a late write brought it back; what was brought back is there, unless
somebody removed it again. Here each edit leaves its mark in a further field, `LAST`, so that a content identifies its
edit, and so, beside its number, its version where no token does.
"""

from __future__ import annotations

import itertools
import math
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import bson

from model.foundation.collection_profile import CollectionProfile
from tests.simulation.histories import Entry, stored, versions_in
from tests.soak import ground
from tests.soak.auditing import VERSIONS, told_and_there
from tests.soak.ledger import Attempt
from tests.soak.makers import NOT_THERE, PERHAPS, SOUGHT, Makers, Row, are_marked, document_of, sha1

LAST = "last"
DOUBTED = ("It arrived.", "It is there again.", "could not be looked at again")
"""Parts of what is noted of inserts that were in doubt, or whose writer could not look at the archive behind them."""
Item: TypeAlias = tuple[str, str]
"""A namespace, and what a version that is stored there is known by: its token, else its mark with number and content.

Of a document without versions, one of its marks.
"""
Late: TypeAlias = Sequence[tuple[float, bytes]]
"""Messages that arrived after their sender had given them up, each with the time."""


@dataclass(frozen=True)
class Move:
    """A removal or its way back: the documents that it is about, and when it was tried, as far as that is known."""

    who: str
    id: str
    kind: str  # as the journal has it
    book: ground.Book
    items: frozenset[Item]
    began: float
    ended: float


@dataclass
class Passage:
    """A document's removals and their ways back."""

    removals: list[Move] = field(default_factory=list)
    returns: list[Move] = field(default_factory=list)
    repeated: set[str] = field(default_factory=set)
    """What those versions are known by that restores and undos may have made more than once."""

    @property
    def taken(self) -> list[ground.Book]:
        """The documents that removals took away, or may have."""
        return [each.book for each in self.removals if each.kind not in NOT_THERE]


def faults(
    database: ground.Db, stated: ground.Profiles, tried: Sequence[Attempt], journals: Sequence[Row], late: Late
) -> Iterator[str]:
    """What is wrong in the collections out of which documents are deleted and purged, a sentence each."""
    for place in ground.LEFT:
        p = stated[place]
        rows: dict[str, list[Row]] = defaultdict(list)
        for row in journals:
            if row["ns"] == p.ns:
                rows[document_of(row)].append(row)
        ours: dict[str, list[Attempt]] = defaultdict(list)
        for each in tried:
            if each.said.get("place") == place:
                ours[each.said["id"]].append(each)
        shelf = ground.Shelf(database, p)
        for id in sorted({*shelf.ids, *rows, *ours}):
            found = _document(p, id, shelf.of(id), ours[id], rows[id], late)
            yield from (f"{place} {id}: {fault}" for fault in found)


def _document(
    p: CollectionProfile, id: str, book: ground.Book, tried: Sequence[Attempt], rows: Sequence[Row], late: Late
) -> Iterator[str]:
    passage = _passage(p, tried, rows)
    there = _items(p, book)
    if p.layout == "plain":
        yield from _marks({name for _, name in there.union(*(_items(p, each) for each in passage.taken))}, tried)
    else:
        books, makers = [book, *passage.taken], Makers(p, _making(rows))
        yield from _edits(p, id, books, tried, makers)
        yield from _noted(p, id, books, rows, makers)
        entries = itertools.chain.from_iterable(stored(each, p, id) for each in passage.taken)
        passage.repeated = {_known_by(p, entry) for entry in entries if makers.has_several(id, entry)}
    yield from _gone(p, there, passage, tried, late)
    yield from _there_again(there, passage, late)


# --- what each version is


def _marks(known: set[str], tried: Sequence[Attempt]) -> Iterator[str]:
    """Whether each mark of a document without versions is there, or was taken away with it."""
    edits = {each.said["mark"]: each for each in tried if each.what == "edit"}
    for mark, each in edits.items():
        yield from told_and_there(f"edit {mark}", each, int(mark in known))
    if strange := known - edits.keys():
        yield f"nobody made {sorted(strange)[:3]}"


def _edits(
    p: CollectionProfile, id: str, books: Sequence[ground.Book], tried: Sequence[Attempt], makers: Makers
) -> Iterator[str]:
    """Whether each edit made one content of another one, which is there or was taken away.

    Where no token tells, a version that has two contents shows as an edit that is there twice.
    """
    contents: dict[str, bytes] = {}
    for entry in itertools.chain.from_iterable(stored(book, p, id) for book in books):
        if contents.setdefault(makers.name(id, entry), entry.content) != entry.content:
            yield f"version {entry.v} has two contents"
    states = [bson.decode(content) for content in set(contents.values())]
    made: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for state in states:
        if p.deleted not in state:
            made[state[LAST]].append(state)
    for each in tried:
        if each.what == "edit":
            mine = made.pop(each.said["mark"], [])
            yield from told_and_there(f"edit {each.said['mark']}", each, len(mine))
            if any(not _follows(state, states) for state in mine):
                yield f"edit {each.said['mark']} followed nothing that was there"
    if made:
        yield f"nobody made {sorted(made)[:3]}"


def _follows(state: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> bool:
    """Whether one edit makes this content of another one, or of nothing."""
    touched = (state[LAST].partition("x")[0], LAST, "total")

    def rest(of: Mapping[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in of.items() if name not in touched}

    befores = [other for other in ({}, *others) if rest(other) == rest(state)]
    return any(state.get("total", 0) - before.get("total", 0) in (0, 1) for before in befores)


def _making(rows: Sequence[Row]) -> list[Row]:
    """The entries that make a version; those are left out that put back what has makers of its own."""
    removals = {(row["home"], row["id"]) for row in rows if _removes(row)}
    return [
        row
        for row in rows
        if row["action"] in (*VERSIONS, "delete") and not _removes(row) and (row["home"], row["undoes"]) not in removals
    ]


def _noted(
    p: CollectionProfile, id: str, books: Sequence[ground.Book], rows: Sequence[Row], makers: Makers
) -> Iterator[str]:
    """Whether each version has its entry and follows the one that this names, and each applied entry its version.

    Where no token tells, several entries can be of one version: number and content may come back in another life of a
    document by a restore or an undo, so one of them has to fit. An edit's content only comes back by these.
    """
    histories = [stored(book, p, id) for book in books]
    taken = {makers.name(id, entry) for entries in histories[1:] for entry in entries}
    known = {makers.name(id, entry) for entry in histories[0]} | taken
    for place, entries in enumerate(histories):
        numbers = [entry.v for entry in entries]
        if not place and numbers != sorted(set(numbers)) and not _is_put_below(p, entries, rows):
            yield f"the versions are {numbers}"
        before = {entry.v: sha1(entry.content) for entry in entries}
        for entry in entries:
            found = makers.of(id, entry)
            hash = before.get(entry.v - 1)
            if not found:
                yield f"version {entry.v} has no entry in the journals"
            elif hash is not None and all(row["hash_before"] not in (None, hash) for row in found):
                yield f"version {entry.v} of {_who(found[0])} does not follow the version that it began from"
            # When somebody looked, it was gone already.
            sought = makers.name(id, entry) in taken and any(SOUGHT in row["detail"] for row in found)
            if found and not sought and all(row["kind"] not in PERHAPS for row in found):
                yield f"{_who(found[0])} ({found[0]['detail']}), and its version {entry.v} is there"
    removed = any(_removes(row) for row in rows)
    for row in _making(rows):
        if row["kind"] == "applied" and makers.made(row) not in known:
            yield f"{_who(row)} says applied, and its version is neither there nor kept by a removal"
        if row["kind"] in ("begun", "unknown") and not removed:  # another life of a document may say nothing
            yield f"{_who(row)} was never settled: {row['detail']}"


def _is_put_below(p: CollectionProfile, entries: Sequence[Entry], rows: Sequence[Row]) -> bool:
    """Whether the current document alone stands below archived versions, and its insert was in doubt.

    Another life of it began and ended in the archive meanwhile, and whoever inserted it could not look there again:
    a phantom, which a scan tells and a person settles. The simulation allows the same.
    """
    *archived, current = entries
    numbers = [entry.v for entry in archived]
    brought = [row for row in rows if row["version_before"] is None and row["hash_after"] == sha1(current.content)]
    return (
        p.layout == "archive"
        and numbers == sorted(set(numbers))
        and any(
            row["kind"] in ("begun", "unknown") or any(each in row["detail"] for each in DOUBTED) for row in brought
        )
    )


# --- what was removed, and brought back


def _passage(p: CollectionProfile, tried: Sequence[Attempt], rows: Sequence[Row]) -> Passage:
    spans: dict[tuple[str, str, str], list[tuple[float, float]]] = defaultdict(list)
    for each in tried:
        home, span = each.said["home"], (each.said["at"], each.told.get("at", math.inf))
        spans["made", home, str(each.told.get("entry"))].append(span)
        spans["undone", home, str(each.said.get("entry"))].append(span)
    books = {(row["home"], row["id"]): _kept(row) for row in rows if _removes(row)}
    found = Passage()
    for row in rows:
        home, undoes = row["home"], row["undoes"]
        book, undone = books.get((home, row["id"])), books.get((home, undoes))
        if (about := book or undone) is None:
            continue
        when = spans["undone", home, str(undoes)] if undoes else spans["made", home, str(row["id"])]
        # A process that was killed in mid-work told nobody of its entry.
        began, ended = min((a for a, _ in when), default=-math.inf), max((b for _, b in when), default=math.inf)
        move = Move(_who(row), document_of(row), row["kind"], about, frozenset(_items(p, about)), began, ended)
        if book is not None:
            found.removals.append(move)
        if undone is not None or (row["action"] == "purge" and row["kind"] != "applied"):
            found.returns.append(move)  # a purge that fails half-way puts back what it had removed
    return found


def _removes(row: Row) -> bool:
    return bool(row["stored"]) and row["after"] is None


def _kept(row: Row) -> ground.Book:
    """The documents that an entry of a journal keeps, byte for byte."""
    packed = row["stored"][1:] if not row["stored"][0] else zlib.decompress(row["stored"][1:])
    found: dict[str, list[bytes]] = defaultdict(list)
    for part in bson.decode(packed, bson.CodecOptions(document_class=bson.raw_bson.RawBSONDocument)).values():
        found[part["ns"]].append(part["document"].raw)
    return ground.Book(found)


def _items(p: CollectionProfile, book: ground.Book) -> set[Item]:
    found: set[Item] = set()
    for ns in filter(None, (p.ns, p.archive)):
        for raw in book.documents(ns):
            if p.layout == "plain":
                found |= {(ns, mark) for mark in bson.decode(raw)["marks"]}
            else:
                found |= {(ns, _known_by(p, entry)) for entry in versions_in(raw, p, ns)}
    return found


def _known_by(p: CollectionProfile, entry: Entry) -> str:
    """What tells a version from others: its token, else its number and content, behind the mark that it holds."""
    if are_marked(p):
        return str(entry.token)
    return f"{bson.decode(entry.content)[LAST]} v{entry.v} {sha1(entry.content)}"


def _gone(
    p: CollectionProfile, there: set[Item], passage: Passage, tried: Sequence[Attempt], late: Late
) -> Iterator[str]:
    """Whether what was removed is gone."""
    for each in passage.removals:
        if each.kind != "applied":
            continue
        # Where no token tells, a restore or an undo may have made once more what was removed; no edit does.
        left = {item for item in each.items & there if item[1] not in passage.repeated}
        for back in passage.returns:
            if (back.kind not in ("conflict", "refused") or back in passage.removals) and back.ended > each.began:
                names = {name for _, name in back.items}  # the next edit brings a current document into the archive
                left = {item for item in left if item[1] not in names}
        others = [a for a in tried if a.said["at"] < each.ended and a.told.get("at", math.inf) > each.began]
        if len(others) > 1:  # a writer who had read the document may bring a copy of it into the archive
            left = {item for item in left if item[0] == p.ns}
        left = {item for item in left if not any(at > each.began and _speaks(of, item) for at, of in late)}
        if left:
            yield f"{each.who} removed it, and of its {len(each.items)} versions {len(left)} are there"


def _there_again(there: set[Item], passage: Passage, late: Late) -> Iterator[str]:
    """Whether what was brought back is there."""
    names = {name for _, name in there}
    for each in passage.returns:
        if each.kind != "applied":
            continue
        lost = {name for _, name in each.items} - names
        for other in passage.removals:
            if other.kind not in NOT_THERE and other.ended > each.began:
                lost -= {name for _, name in other.items}
        if lost and not any(at > each.began and each.id.encode() in of for at, of in late):
            yield f"{each.who} brought it back, and of its {len(each.items)} versions {len(lost)} are not there"


def _speaks(of: bytes, item: Item) -> bool:
    """Whether a message that arrived late holds an item."""
    ns, name = item
    name, _, _ = name.partition(" ")
    token = bson.ObjectId(name).binary if bson.ObjectId.is_valid(name) else name.encode()
    return ns.partition(".")[2].encode() in of and token in of


def _who(row: Row) -> str:
    return f"entry {row['id']} of {row['home']} ({row['action']}, {row['kind']})"
