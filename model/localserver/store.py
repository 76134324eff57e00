"""Databases, collections and their indexes: every document as the bytes that arrived.

A collection has one lock. Documents are immutable bytes, so a reader takes a snapshot under the lock and filters
outside it; a write finds, checks and replaces under the lock, which makes it atomic. Indexes are built when first
needed: loading 20,000 documents takes no longer than counting them.

A collection is in memory, or it is one large file of a dump. Then its documents and indexes stay on disk, nothing
writes to it, and it is read without the lock.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import threading
import uuid
import weakref
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from itertools import chain, pairwise, product
from typing import Any

import bson
from bson.binary import Binary
from msgspec import Struct, field

from model.errors import Unreadable
from model.localserver import chunks
from model.localserver.change_log import ChangeLog
from model.localserver.disk_order import Entry, sorted_on_disk
from model.localserver.documents_on_disk import AscendingIds, DocumentsOnDisk
from model.localserver.kept_documents import KeptOrder, Order
from model.localserver.large_file import LargeFile, Step
from model.localserver.time_limit import UNLIMITED, TimeLimit
from model.mql import order
from model.mql.command_error import CommandError
from model.mql.filters import Matcher, Predicate, compile_filter
from model.mql.order import ABOVE_ALL, NULL_KEY, Key
from model.values import canonical as c

_WORTH_AN_INDEX = 1000  # documents
_MOST_OWN_INDEXES = 6
_STRETCH = 256  # entries of an index taken at once

SYSTEM = "system"
"""The kind of collections that a dumped server kept for itself; only dumps have it, and nobody writes to them."""

Sort = Sequence[tuple[str, bool]]
"""Field paths, each with whether it is descending."""


class Index(Struct, dict=True):
    """One index: its keys as ``[(path, direction)]`` and, once needed, its entries in order."""

    keys: list[tuple[str, Any]]
    name: str
    unique: bool = False
    sparse: bool = False
    partial: bytes | None = None
    options: dict[str, Any] = field(default_factory=dict)
    entries: Sequence[Entry] | None = None
    multikey: bool = False
    uses: int = 0  # queries that it served
    since: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC))  # start of that count

    def __post_init__(self) -> None:
        self.paths = [order.path_of(path) for path, _ in self.keys]
        self.covers = None if self.partial is None else compile_filter(self.partial).matches

    @property
    def usable(self) -> bool:
        """Whether it contains every document, in the order of plain values."""
        return not self.sparse and self.covers is None and all(direction in (1, -1) for _, direction in self.keys)

    def keys_of(self, raw: bytes) -> list[tuple[Key, ...]]:
        """A document's entries: one, or several if a field is an array."""
        if self.covers is not None and not self.covers(raw):
            return []
        columns: list[list[Key]] = []
        there = False
        for path in self.paths:
            try:
                found = order.reach(raw, path)
                there = there or any(e is not None for e in found)
                self.multikey = self.multikey or any(e is not None and e[0] == c.ARRAY for e in found)
                flat = order.expanded(found)
                columns.append([order.key_of(flat[0])] if len(flat) == 1 else list({order.key_of(e) for e in flat}))
            except (Unreadable, RecursionError):
                columns.append([NULL_KEY])
        if self.sparse and not there:
            return []
        if all(len(column) == 1 for column in columns):
            return [tuple(column[0] for column in columns)]
        self.multikey = True
        return list(product(*(column or [NULL_KEY] for column in columns)))

    @property
    def definition(self) -> str:
        """All that its entries depend on."""
        return json.dumps([self.keys, self.sparse, (self.partial or b"").hex()], default=str)

    def span(self, prefix: tuple[Key, ...], low: Key | None = None, high: Key | None = None) -> tuple[int, int]:
        """The range of entries that begin with ``prefix`` and whose next key is between low and high, inclusive."""
        entries = self.entries or []
        start = bisect_left(entries, ((*prefix, low) if low is not None else prefix,))
        end = (*prefix, *((high,) if high is not None else ()), ABOVE_ALL)
        return start, bisect_left(entries, (end,))

    def spec(self) -> dict[str, Any]:
        """The index as ``listIndexes`` shows it."""
        out: dict[str, Any] = {"v": 2, "key": dict(self.keys), "name": self.name}
        if self.unique and self.name != "_id_":
            out["unique"] = True
        if self.sparse:
            out["sparse"] = True
        if self.partial is not None:
            out["partialFilterExpression"] = c.decode(self.partial)
        return out | self.options


_OFF = ("off", "warn")  # as level or action of a validator that rejects nothing


class Collection:
    """The documents of one namespace in the order of arrival, each under a number that it keeps."""

    def __init__(self, ns: str, options: bytes = c.EMPTY, log: ChangeLog | None = None, generation: int = 0) -> None:
        """``generation`` counts earlier collections of this name; the id differs from theirs, but not from run to
        run.
        """
        self.ns = ns
        self.uuid = uuid.uuid5(uuid.NAMESPACE_URL, f"{ns} {generation}")
        self.options = options
        self.kind = "collection"
        self.log = log
        self.shard_key: tuple[str, ...] = ()
        self.lock = threading.RLock()
        self._docs: dict[int, bytes] = {}
        self._coming: Mapping[int, bytes] | None = None  # the documents expected, until something is written
        self._orders: Mapping[str, Callable[[], Order]] = {}
        self.file: LargeFile | None = None  # the large file with its documents
        self.large: DocumentsOnDisk | None = None  # its documents, once the file was read to the end
        self.indexes: dict[str, Index] = {"_id_": Index([("_id", 1)], "_id_", unique=True)}
        self._next = 0
        self._size = 0
        self._readers = weakref.WeakSet[Iterator[tuple[int, bytes]]]()  # those who read all documents
        self._rules: Predicate | None = None  # what documents have to meet
        self._asked: Counter[tuple[str, ...]] = Counter()
        self._own: dict[tuple[str, ...], Index] = {}

    def validate(self, options: bytes) -> None:
        """Take options, and from now on reject documents that do not meet their validator.

        Raises ``CommandError`` for one that is not understood.
        """
        rules = c.get(options, ("validator",))
        matches = compile_filter(rules.data).matches if rules is not None else None
        off = {c.get(options, (name,)) for name in ("validationLevel", "validationAction")} & {*map(c.Value.of, _OFF)}
        with self.lock:
            self.options, self._rules = options, None if off else matches

    @property
    def docs(self) -> Mapping[int, bytes]:
        """The documents by number."""
        if self.large is not None:
            return self.large
        coming = self._coming
        return self._docs if coming is None else coming

    @property
    def unread(self) -> bool:
        """Whether its large file has more documents than are here."""
        return self.file is not None and self.large is None

    @property
    def _held(self) -> dict[int, bytes]:
        """The documents in memory, all of them; from here on they can be written."""
        if self._coming is not None:
            with self.lock:
                if self._coming is not None:
                    self._docs.update(self._coming)
                    self._coming = None
        return self._docs

    @property
    def count(self) -> int:
        """The number of documents."""
        return len(self.docs)

    @property
    def size(self) -> int:
        """The bytes of all documents."""
        return self._size

    def expect(self, documents: Mapping[int, bytes], size: int, orders: Mapping[str, Callable[[], Order]]) -> None:
        """Take documents by position, of ``size`` bytes in all, which fit all indexes; each is fetched when needed.

        ``orders`` maps names of indexes with exactly one key per document to the positions in their order.
        """
        with self.lock:
            self._coming, self._next, self._size, self._orders = documents, len(documents), size, orders

    def load(self, raws: Iterable[bytes]) -> None:
        """Load documents exactly as they are, without examining them."""
        with self.lock:
            for raw in raws:
                self._held[self._next] = raw
                self._next += 1
                self._size += len(raw)
            for index in self._all():
                index.entries = None

    def begin(self, file: LargeFile) -> None:
        """Load the first documents of a large file, until that is read to the end."""
        self.load(file.head())
        self.file = file

    def learn(self, paths: Sequence[str]) -> None:
        """Add an index over these paths, unless one begins with them."""
        with self.lock:
            key = tuple(paths)
            if not any(_leads(key, index) for index in self._all()):
                self._own[key] = Index([(path, 1) for path in key], "(made on demand)")

    def read_on(self, step: Step) -> None:
        """Read its large file to the end, and use it from then on; ``step`` may stop this, to be continued later.

        It includes its unique indexes and learned ones.
        """
        file = self.file
        if file is None or not self.unread:
            return
        documents = file.go_on(step)
        wanted = [index for index in self._all() if index.unique or index in self._own.values()]
        built = [(index, self._on_disk(file, documents, index, UNLIMITED, step)) for index in wanted]
        with self.lock:
            for index in self._all():
                index.entries = None
            for index, entries in built:
                index.entries = entries
            self.large, self._size = documents, documents.size
            self._docs = {}

    def _on_disk(
        self, file: LargeFile, documents: DocumentsOnDisk, index: Index, allowed: TimeLimit, step: Step | None = None
    ) -> Sequence[Entry]:
        """The entries of an index over its large file."""
        if index.name == "_id_" and file.ascending:
            return AscendingIds(documents)
        kept = file.index(index.definition, Index(index.keys, "", False, index.sparse, index.partial), allowed, step)
        index.multikey = kept.multikey
        index.unique = index.unique and (kept.unique or index.name == "_id_")
        if index.name == "_id_" and not kept.unique:
            pairs = pairwise(kept.entries)
            repeated = next((second for (one, _), (other, second) in pairs if one == other != (NULL_KEY,)), None)
            if repeated is not None:
                file.note_repeated(repeated)
        return kept.entries

    def insert(self, raw: bytes) -> None:
        """Add a document; raises ``CommandError`` 11000 if a unique index has its key."""
        with self.lock:
            entries = self._checked(raw, None)
            position = self._next
            self._next += 1
            self._held[position] = raw
            self._size += len(raw)
            for index, keys in entries:
                for key in keys:
                    insort(self._changeable(index), (key, position))
            if self.log is not None:
                self.log.note("insert", self.ns, None, raw)

    def replace(self, position: int, raw: bytes, whole: bool = False) -> None:
        """Replace a document; with ``whole``, the log calls it a replacement, not an update."""
        with self.lock:
            old = self.docs[position]
            for index, keys in self._checked(raw, position):
                before = index.keys_of(old)
                if before != keys:
                    self._forget(index, before, position)
                    for key in keys:
                        insort(self._changeable(index), (key, position))
            self._to_write[position] = raw
            self._size += len(raw) - len(old)
            if self.log is not None:
                self.log.note("replace" if whole else "update", self.ns, old, raw)

    def remove(self, positions: Iterable[int]) -> None:
        """Delete documents."""
        wanted = list(positions)
        with self.lock:
            for index in self._all():
                if len(wanted) > 1000:
                    index.entries = None  # rebuilt when needed: slower than a few deletions, faster than many
                elif index.entries is not None:
                    for position in wanted:
                        self._forget(index, index.keys_of(self.docs[position]), position)
            held = self._to_write
            for position in wanted:
                old = held.pop(position)
                self._size -= len(old)
                if self.log is not None:
                    self.log.note("delete", self.ns, old, None)

    def _forget(self, index: Index, keys: Iterable[tuple[Key, ...]], position: int) -> None:
        entries = self._changeable(index)
        for key in keys:
            at = bisect_left(entries, (key, position))
            if at < len(entries) and entries[at] == (key, position):
                del entries[at]

    def _checked(self, raw: bytes, position: int | None) -> list[tuple[Index, list[tuple[Key, ...]]]]:
        """The entries that a document will have; raises an error if the validator or a unique index forbids it."""
        self._meet_rules(raw, position)
        out = []
        for index in self._all():
            if not index.unique and index.entries is None:
                continue
            keys = index.keys_of(raw)
            out.append((index, keys))
            if not index.unique:
                continue
            entries = self._built(index)
            for key in keys:
                at = bisect_left(entries, (key,))
                if at < len(entries) and entries[at][0] == key and entries[at][1] != position:
                    raise self._duplicate(index, raw)
        return out

    def _meet_rules(self, raw: bytes, position: int | None) -> None:
        if self._rules is None or self._rules(raw):
            return
        is_moderate = c.get(self.options, ("validationLevel",)) == c.Value.of("moderate")
        if not is_moderate or position is None or self._rules(self.docs[position]):
            raise CommandError(121, "Document failed validation")

    def _duplicate(self, index: Index, raw: bytes) -> CommandError:
        shown = {path: _shown(raw, path) for path, _ in index.keys}
        text = ", ".join(f"{path}: {_readable(value)}" for path, value in shown.items())
        return CommandError(
            11000,
            f"E11000 duplicate key error collection: {self.ns} index: {index.name} dup key: {{ {text} }}",
            keyPattern=dict(index.keys),
            keyValue=shown,
        )

    def _built(self, index: Index, allowed: TimeLimit = UNLIMITED) -> Sequence[Entry]:
        if index.entries is None and self.large is not None and self.file is not None:
            index.entries = self._on_disk(self.file, self.large, index, allowed)
        if index.entries is None and self._coming is not None and index.name in self._orders:
            index.entries = KeptOrder(self._orders[index.name](), partial(self._key, index))
        if index.entries is None:
            index.multikey = False
            index.entries = sorted((key, pos) for pos, raw in self._held.items() for key in index.keys_of(raw))
        return index.entries

    def keys(self, index: Index) -> dict[int, tuple[Key, ...]] | None:
        """The key of each document by position, in the order of an index; None if a document has several or none."""
        entries = self._built(index)
        return None if index.multikey or len(entries) != self.count else {at: key for key, at in entries}

    def _key(self, index: Index, position: int) -> tuple[Key, ...]:
        return index.keys_of(self.docs[position])[0]

    def _changeable(self, index: Index) -> list[Entry]:
        """The entries in memory, where they can be written; large files are never written."""
        entries = self._built(index)
        if not isinstance(entries, list):
            index.entries = entries = list(entries)
        return entries

    def add_index(self, index: Index) -> None:
        """Add an index; raises ``CommandError`` 11000 for a unique one if documents share a key."""
        with self.lock:
            if self._coming is not None:  # the expected documents fit it
                self.indexes[index.name] = index
                return
            entries = self._built(index)
            if index.unique:
                for (key, position), (other, another) in pairwise(entries):
                    if key == other and position != another:
                        raise self._duplicate(index, self.docs[another])
            self.indexes[index.name] = index

    # --- choosing the documents to look at

    def find(
        self, matcher: Matcher, sort: Sort = (), own: bool = True, allowed: TimeLimit = UNLIMITED
    ) -> tuple[Iterator[tuple[int, bytes]], bool, str]:
        """The documents that may match, whether they are in the requested order, and the index used or ''.

        They may be too many: the caller must still filter. Without ``own``, only indexes that somebody created are
        considered, because another server would have no others.
        """
        with self._reading:
            if self.large is not None:
                self.large.check()
            index, fixed = self._choose(matcher, sort, own)
            if own and fixed == 0 and self._learn(matcher, sort, index):
                index, fixed = self._choose(matcher, sort, own)
            if not fixed and not sort and (branches := self._branches(matcher, own, allowed)):
                positions = sorted({each for index, part in branches for each in part})  # natural order
                return self._still_there(positions), True, branches[0][0].name
            if index is None:
                return self._natural(), not sort, ""
            self._built(index, allowed)
            return self._found_by(index, fixed, matcher, sort)

    def _found_by(
        self, index: Index, fixed: int, matcher: Matcher, sort: Sort
    ) -> tuple[Iterator[tuple[int, bytes]], bool, str]:
        """What :meth:`find` returns, by an index of which the filter fixes so many fields."""
        single = all(len(set(matcher.equal[path])) == 1 for path, _ in index.keys[:fixed])
        ordered = single and not index.multikey and _serves(index, fixed, sort)
        # The index narrows nothing and does not sort, so reading in natural order is cheaper.
        if sort and not ordered and not fixed:
            return self._natural(), False, ""
        index.uses += 1
        backwards = bool(sort) and ordered and sort[-1][1]
        if sort and ordered:
            return self._walk(index, fixed, matcher, backwards), True, index.name
        positions = self._stretches(index, fixed, matcher)
        if index.multikey:
            # A document with an array has several entries.
            positions = list(dict.fromkeys(positions))
        if not sort and len(positions) > 1:
            positions = sorted(positions)  # natural order
        return self._still_there(positions), ordered or not sort, index.name

    @property
    def _reading(self) -> AbstractContextManager[object]:
        """The lock, unless no other thread can write."""
        return nullcontext() if self.large is not None else self.lock

    def _natural(self) -> Iterator[tuple[int, bytes]]:
        return self.large.stream() if self.large is not None else self._as_now(range(self._next))

    def backwards(self) -> Iterator[tuple[int, bytes]]:
        """All documents, last one first."""
        return self.large.backwards() if self.large is not None else self._as_now(range(self._next)[::-1])

    def _as_now(self, positions: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """The documents in memory at these positions as they are now, which costs no copy unless one is written."""
        with self.lock:
            held = self._held
            made = ((at, raw) for at in positions if (raw := held.get(at)) is not None)
            self._readers.add(made)
        return made

    @property
    def _to_write(self) -> dict[int, bytes]:
        """The documents in memory, to replace or remove some: whoever reads them all goes on in what was there."""
        held = self._held
        if self._readers:
            self._docs = held = dict(held)
            self._readers.clear()
        return held

    def sample(self, count: int) -> list[bytes]:
        """A random sample of documents."""
        with self._reading:
            chosen = range(len(self.docs)) if self.large is not None else list(self.docs)
            return [self.docs[position] for position in random.sample(chosen, min(count, len(chosen)))]

    def in_order(self, found: Iterable[tuple[int, bytes]], sort: Sort) -> Iterator[bytes]:
        """Documents of a large file in an order that no index has, sorted on disk."""
        paths = [(order.path_of(path), descends) for path, descends in sort]
        keys = ((tuple(order.sort_key(raw, *path) for path in paths), position) for position, raw in found)
        for _, position in sorted_on_disk(keys, [descends for _, descends in sort]):
            yield self.docs[position]

    def _walk(self, index: Index, fixed: int, matcher: Matcher, backwards: bool) -> Iterator[tuple[int, bytes]]:
        """The documents in the order of an index, a few at a time, so that the first page does not wait for all."""
        prefix = tuple(matcher.equal[path][0] for path, _ in index.keys[:fixed])
        low, high = _bounds(index, fixed, matcher)
        if isinstance(index.entries, AscendingIds) and self.large is not None and not backwards:
            return self.large.stream(*index.span(prefix, low, high))
        return self._still_there(self._positions(index, prefix, low, high, backwards))

    def _positions(
        self, index: Index, prefix: tuple[Key, ...], low: Key | None, high: Key | None, backwards: bool
    ) -> Iterator[int]:
        last: Entry | None = None
        while True:
            with self._reading:
                entries = self._built(index)
                start, stop = index.span(prefix, low, high)
                # Others may have written since the last part: continue at the last entry, not at a count.
                if last is not None and backwards:
                    stop = bisect_left(entries, last)
                elif last is not None:
                    start = bisect_right(entries, last)
                near = (
                    slice(max(start, stop - _STRETCH), stop) if backwards else slice(start, min(stop, start + _STRETCH))
                )
                part = entries[near][::-1] if backwards else entries[near]
            if not part:
                return
            last = part[-1]
            yield from (position for _, position in part)

    def _still_there(self, positions: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        for position in positions:
            raw = self.docs.get(position)  # the reader holds no lock, so skip documents deleted since
            if raw is not None:
                yield position, raw

    def _choose(self, matcher: Matcher, sort: Sort, own: bool) -> tuple[Index | None, int]:
        """The index with the most leading fields fixed by the filter, else one that sorts, else one that bounds."""
        best: tuple[int, bool, bool] = (0, False, False)
        chosen: Index | None = None
        for index in self._all() if own else self.indexes.values():
            if not index.usable:
                continue
            fixed = 0
            for path, _ in index.keys:
                if path not in matcher.equal:
                    break
                fixed += 1
            serves = bool(sort) and _serves(index, fixed, sort)
            bounded = fixed < len(index.keys) and index.keys[fixed][0] in matcher.bounds
            if (fixed, serves, bounded) > best:
                best, chosen = (fixed, serves, bounded), index
        return chosen, best[0]

    def _all(self) -> Iterator[Index]:
        return chain(self.indexes.values(), self._own.values())

    def _learn(self, matcher: Matcher, sort: Sort, chosen: Index | None) -> bool:
        """Add an index for a query that is repeated and has none; returns whether one was added.

        A dump may lack the index on the document's id, but a page must not cost a scan. For a large file, an order
        without index gets one at once.
        """
        wanted = list(matcher.equal)[:1]
        if len({descends for _, descends in sort}) == 1:
            wanted += [path for path, _ in sort if path not in wanted]
        key = tuple(wanted)
        if not key or len(self.docs) < _WORTH_AN_INDEX or any(_leads(key, index) for index in self._all()):
            return False
        self._asked[key] += 1
        # A query that comes once does not pay for an index.
        if self._asked[key] < 2 and not (self.large is not None and sort and chosen is None):
            return False
        while len(self._own) >= _MOST_OWN_INDEXES:
            del self._own[next(iter(self._own))]
        self._asked.clear()
        self._own[key] = Index([(path, 1) for path in key], "(made on demand)")
        return True

    def _branches(self, matcher: Matcher, own: bool, allowed: TimeLimit) -> list[tuple[Index, list[int]]]:
        """For each branch of a ``$or``, its index and the positions there; none if a branch has no index."""
        found = []
        for branch in matcher.either:
            index, fixed = self._choose(branch, (), own)
            if index is None:
                return []
            self._built(index, allowed)
            index.uses += 1
            found.append((index, self._stretches(index, fixed, branch)))
        return found

    def _stretches(self, index: Index, fixed: int, matcher: Matcher) -> list[int]:
        entries = self._built(index)
        choices = [sorted(set(matcher.equal[path])) for path, _ in index.keys[:fixed]]
        low, high = _bounds(index, fixed, matcher)
        out: list[int] = []
        for prefix in product(*choices):
            start, stop = index.span(prefix, low, high)
            out.extend(position for _, position in entries[start:stop])
        return out


def _bounds(index: Index, fixed: int, matcher: Matcher) -> tuple[Key | None, Key | None]:
    """The lowest and highest key of the field after those that the filter fixes."""
    low: Key | None = None
    high: Key | None = None
    # In an array, one element may meet the lower bound and another the upper one.
    if fixed < len(index.keys) and not index.multikey:
        for operator, key in matcher.bounds.get(index.keys[fixed][0], ()):
            if operator in ("$gt", "$gte"):
                low = key if low is None else max(low, key)
            else:
                high = key if high is None else min(high, key)
    return low, high


def _leads(key: tuple[str, ...], index: Index) -> bool:
    return index.usable and [path for path, _ in index.keys[: len(key)]] == list(key)


def _serves(index: Index, fixed: int, sort: Sort) -> bool:
    """Whether the index gives the order, forwards or backwards, once its first fields are fixed."""
    free = [(path, descends) for path, descends in sort if path not in {p for p, _ in index.keys[:fixed]}]
    following = [path for path, _ in index.keys[fixed : fixed + len(free)]]
    return [path for path, _ in free] == following and len({d for _, d in free}) <= 1


def _shown(raw: bytes, path: str) -> c.Value:
    return c.get(raw, tuple(path.split("."))) or c.Value(c.NULL, b"")


def _readable(value: c.Value) -> str:
    try:
        return repr(value.python())[:200]
    except Unreadable:
        return value.kind


def refuse_damaged(raw: bytes) -> None:
    """Raise ``CommandError`` 22 for a document that decoding and encoding would change.

    Such a document is shown but never rewritten: whoever wrote it has already lost something.
    """
    problem = damage(raw)
    if problem:
        raise CommandError(22, f"The stored document is damaged ({problem}), so it is left alone: it is read-only here")


def damage(raw: bytes) -> str:
    """The damage of a document in a few words, or ''."""
    try:
        same = len(bson.encode(c.decode(raw))) == len(raw)
    except Exception:  # dates beyond datetime and legacy types are no damage; the walk below decides
        same = False
    if same:
        return ""
    try:
        _walk(raw)
    except (Unreadable, UnicodeDecodeError) as error:
        return str(error)
    except RecursionError:
        return "it is nested too deeply"
    return ""


def _walk(raw: bytes) -> None:
    seen = set()
    for name, kind, x, y in c.elements(raw):
        text = name.decode()
        if name in seen:
            raise Unreadable(f"the name {text!r} occurs twice")
        seen.add(name)
        if kind in (c.OBJECT, c.ARRAY):
            _walk(raw[x:y])
        elif kind in (c.STRING, c.CODE, c.SYMBOL):
            raw[x + 4 : y - 1].decode()


class Store:
    """All databases of one server; if it has a log, each change is noted there."""

    def __init__(self, log: ChangeLog | None = None) -> None:
        self.log = log
        self.lock = threading.RLock()
        self.shard_keys: Mapping[str, Sequence[str]] = {}
        self.is_dump = False  # if so, all databases are shown, including a server's own
        self._collections: dict[str, dict[str, Collection]] = {}
        self._dropped: Counter[str] = Counter()  # how often each namespace was dropped

    def databases(self) -> list[str]:
        """The names of the databases that have collections."""
        with self.lock:
            return sorted(db for db, collections in self._collections.items() if collections)

    def collections(self, db: str) -> list[Collection]:
        """The collections of a database, by name."""
        with self.lock:
            return [coll for _, coll in sorted(self._collections.get(db, {}).items())]

    def clear(self) -> None:
        """Remove everything."""
        with self.lock:
            self._collections.clear()

    def get(self, db: str, name: str) -> Collection | None:
        """A collection, or None."""
        with self.lock:
            return self._collections.get(db, {}).get(name)

    def make(self, db: str, name: str, strict: bool = True) -> Collection:
        """A collection, created if missing; with ``strict``, raises an error for names that servers refuse."""
        with self.lock:
            found = self.get(db, name)
            if found is None:
                if strict:
                    _check_names(db, name)
                found = Collection(f"{db}.{name}", log=self.log, generation=self._dropped[f"{db}.{name}"])
                self._collections.setdefault(db, {})[name] = found
                if fields := self.shard_keys.get(found.ns, self.shard_keys.get(name)):
                    self.shard(found, fields)
            return found

    def shard(
        self, collection: Collection, fields: Sequence[str], edges: Sequence[tuple[Sequence[object], str]] = ()
    ) -> None:
        """Shard a collection by some fields, with chunks that begin at ``edges``, and show that in ``config``."""
        collection.shard_key = tuple(fields)
        key = c.document([(field, c.Value.of(1)) for field in fields])
        row = [("_id", c.Value.of(collection.ns)), ("uuid", c.Value.of(Binary.from_uuid(collection.uuid)))]
        row += [("key", c.Value.document(key)), ("unique", c.Value.of(False))]
        self.make("config", "collections", strict=False).load([c.document(row)])
        self.make("config", "chunks", strict=False).load(chunks.rows(fields, edges, collection.uuid))

    def drop(self, db: str, name: str | None = None) -> bool:
        """Remove a collection or a whole database; returns whether it existed."""
        with self.lock:
            gone = self._collections.get(db, {})
            dropped = [each for each in gone.values() if name is None or each.ns == f"{db}.{name}"]
            for each in dropped:
                with each.lock:
                    del gone[each.ns.partition(".")[2]]
                    self._dropped[each.ns] += 1
                    if self.log is not None:
                        self.log.note("drop", each.ns)
            if name is None:
                there = self._collections.pop(db, None) is not None
                if self.log is not None and there:
                    self.log.note("dropDatabase", db)
                return there
            return bool(dropped)


def _check_names(db: str, name: str) -> None:
    if not db or len(db.encode("utf-8", "surrogateescape")) > 63 or any(ch in '/\\. "$\0' for ch in db):
        raise CommandError(73, f"Invalid namespace specified '{db}.{name}'")
    if not name or name.startswith(".") or "\0" in name or "$" in name:
        raise CommandError(73, f"Invalid namespace specified '{db}.{name}'")
