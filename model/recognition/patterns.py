"""Recognises the three patterns: ``sequence``, ``pending`` and ``processed``.

Arrays of ObjectIds or strings are common and mostly mean something else. So each pattern needs a telling name, or two
arrays between which tokens move.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from msgspec import Struct, field

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Counting
from model.recognition.evidence import Sign, fixed, unless, weighed, where
from model.recognition.field_names import (
    AMOUNTS,
    APPLIED,
    COUNTED,
    COUNTS,
    LAST,
    LAST_BESIDE,
    NAMED_COUNTERS,
    PENDING,
    PROCESSED,
    bare,
    can_play_a_role,
    words,
)
from model.recognition.sampling import ID_TYPES, Document, Proposal, Sample, Shape, listed, of, on_grounds
from model.server.retry import Port
from model.storage.reserved_fields import WHOLE_NUMBERS
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

FEW = 2000  # counters in a database
DEEPEST = 2  # levels of sub-documents around the parts of a two-step counter
_DAY = re.compile(r"\d{4}-(\d\d|W\d\d)(-\d\d)?([T ].*)?\Z|\d{8}\Z", re.ASCII)


class Pattern(Struct, frozen=True):
    """A pattern, declared like a layout; its collections are browsed as plain."""

    name: str
    about: str  # a few words for people
    roles: tuple[str, ...]  # keys of a profile
    judge: Callable[[Sample, bool], Proposal | None]  # True: a person has picked it
    lacks: str  # the missing sign if a collection cannot be read like this, one sentence
    counts: Counting
    further_keys: frozenset[str]  # further keys of a profile, besides its roles
    defaults: Mapping[str, str] = field(default_factory=dict)

    where: ClassVar[str] = ""
    inside: ClassVar[tuple[str, ...]] = ()
    within: ClassVar[str] = ""
    overflows: ClassVar[bool] = False
    unversioned: ClassVar[bool] = False
    about_others: ClassVar[bool] = False
    flags_newest: ClassVar[bool] = False
    own_documents: ClassVar[bool] = False
    keyed_in_id: ClassVar[bool] = False
    newest_alone: ClassVar[bool] = False
    holds_current: ClassVar[bool] = False
    numbered: ClassVar[bool] = False
    fed: ClassVar[bool] = False
    written_by_others: ClassVar[bool] = False
    read_only: ClassVar[str] = ""

    def proposed(self, server: Port, sample: Sample) -> Proposal | None:
        """The proposal of this pattern for a single collection; None if nothing suggests it."""
        return self.judge(sample, False)

    def picked(self, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The fields to use if a person picks this pattern; None if they cannot be found."""
        return self.judge(sample, True)


# --- sequence


class Numbered(Struct, frozen=True, eq=False, dict=True):
    """A collection whose documents may hand out numbers."""

    sample: Sample
    wanted: bool  # a person says that they do

    @property
    def has_names(self) -> bool:
        """Whether documents have names as their ``_id``."""
        id = self.sample.shapes.get("_id")
        return id is not None and id.share(c.STRING) >= 0.8

    @cached_property
    def numbers(self) -> list[str]:
        """The fields with whole numbers."""
        shapes = self.sample.shapes
        return [n for n in shapes if n != "_id" and shapes[n].share(*WHOLE_NUMBERS, c.DOUBLE) >= 0.8]

    @property
    def holds_more(self) -> bool:
        """Whether documents hold several numbers, or many other fields."""
        return len(self.numbers) != 1 or len(self.sample.shapes.keys() - {"_id"}) > 3

    @property
    def named(self) -> bool:
        """Whether the collection is named like one of counters."""
        name = self.sample.name
        return not NAMED_COUNTERS.isdisjoint(words(name)) or bare(name) in NAMED_COUNTERS

    @cached_property
    def counter(self) -> str:
        """The counter's field; "" if there is none."""
        hints = LAST_BESIDE if self.named or self.wanted else LAST
        counter = next((name for name in self.numbers if bare(name) in hints), "")
        return counter or (self.numbers[0] if (self.wanted or self.named) and self.numbers else "")

    @property
    def known(self) -> bool:
        """Whether the field is named as the last number handed out."""
        return bare(self.counter) in LAST

    @property
    def found(self) -> str:
        """What the documents hold, as a clause."""
        total = len(self.sample.documents)
        share, have = of(total, total, "document").capitalize(), "have" if total > 1 else "has"
        said = f"{share} sampled {have} a name as _id and one whole number, {self.counter}"
        return said + (f", in a collection called {self.sample.name}" if self.named else "")


SEQUENCE: tuple[Sign[Numbered], ...] = (
    Sign("names", "the _id", leaves=unless(lambda it: not it.has_names)),
    Sign("much beside", "the other fields", leaves=unless(lambda it: not it.wanted and it.holds_more)),
    Sign(
        "number",
        "the one whole number, by its name",
        weighs=fixed(0.75),
        leaves=unless(lambda it: not it.counter),
        says=lambda it: it.found,
    ),
    Sign("many", "the number of documents", leaves=unless(lambda it: (it.sample.count or 0) > FEW)),
    Sign(
        "events",
        "days among the names, and tokens that wait",
        leaves=unless(lambda it: not it.wanted and _counts_events(it.sample, it.counter)),
    ),
    Sign("collection's name", "names of counters", weighs=where(lambda it: it.named, 0.1)),
    Sign("number's name", "names of last numbers", weighs=where(lambda it: it.named and it.known, 0.1)),
)
"""Signs for and against numbers that are handed out."""


def sequence(sample: Sample, wanted: bool = False) -> Proposal | None:
    """Documents ``{_id: name, seq: number}``, few of them."""
    it = Numbered(sample, wanted)
    grounds = weighed(SEQUENCE, it)
    if not grounds.stands:
        return None
    return on_grounds(CollectionProfile(sample.ns, "sequence", counter=it.counter), grounds)


def _counts_events(sample: Sample, counter: str) -> bool:
    """Whether the numbers count events instead of being handed out: by day, or with waiting tokens."""
    if any(waiting_list(document.raw) for document in sample.documents):
        return True
    days = sum(bool(_DAY.match(str(v.python()))) for v in sample.shapes["_id"].values if v.type == c.STRING)
    return bare(counter) in COUNTS and days >= 0.5 * len(sample.documents)


# --- pending


class TwoStep(Struct, frozen=True, eq=False, dict=True):
    """A list in which tokens may wait to be counted, and the fields around it."""

    sample: Sample
    wanted: bool  # a person says that they do
    waiting: Shape
    applied: Shape | None  # the list of counted tokens
    counters: Sequence[str]

    @property
    def counter(self) -> str:
        """The number that counts; "" if there is none."""
        return self.counters[0] if self.counters else ""

    @property
    def is_amount(self) -> bool:
        """Whether the number is named as an amount, and there is no list of counted tokens."""
        return self.applied is None and bare(_last(self.counter)) in AMOUNTS

    @cached_property
    def items(self) -> list[Value]:
        """The entries of both lists."""
        both = (self.waiting, *([self.applied] if self.applied else []))
        return [item for shape in both for value in shape.values for item in _items(value)]

    @cached_property
    def holds_tokens(self) -> bool:
        """Whether some entries are tokens."""
        return any(map(_is_token, self.items))

    @property
    def tells_nothing(self) -> bool:
        """Whether no list holds a token, in documents that are more than a name, a number and lists."""
        if self.holds_tokens or (self.applied is not None and not self.items):
            return False
        return not _nothing_else(self.sample, [self.waiting.name, self.counter, *self.done])

    @property
    def done(self) -> list[str]:
        """The name of the list of counted tokens, if there is one."""
        return [self.applied.name] if self.applied else []

    @property
    def found(self) -> str:
        """The lists and the number, as clauses."""
        why = f"Tokens wait in the list {self.waiting.name}"
        why += f" and stay in {self.done[0]} once they are counted" if self.done else ""
        return why + (f"; {self.counter} is the number beside them" if self.counter else "")


PENDING_TOKENS: tuple[Sign[TwoStep], ...] = (
    Sign(
        "several numbers",
        "the numbers beside the list: a person has to say which of them a token is for",
        leaves=unless(lambda it: len(it.counters) > 1 and not it.wanted),
    ),
    Sign(
        "number",
        "the number beside the list",
        leaves=unless(lambda it: not it.wanted and (not it.counter or it.is_amount)),
    ),
    Sign(
        "list",
        "a list by its name, or mostly empty beside one that never is",
        weighs=fixed(0.6),
        leaves=unless(lambda it: not it.wanted and it.tells_nothing),
        says=lambda it: it.found,
    ),
    Sign("tokens", "what is in the lists", weighs=where(lambda it: it.holds_tokens, 0.2)),
    Sign(
        "both lists",
        "a list of those that were counted",
        weighs=where(lambda it: bool(it.done) and it.holds_tokens, 0.15),
    ),
    Sign(
        "references",
        "tokens in several documents: these refer to something",
        leaves=unless(lambda it: not _moves(it.sample.documents, it.waiting.name, "".join(it.done))),
    ),
)
"""Signs for and against tokens that wait to be counted."""


def pending(sample: Sample, wanted: bool = False) -> Proposal | None:
    """Arrays of tokens that wait to be counted, and the number that counts them."""
    shapes = _with_inner(sample)
    waiting, applied = _waiting_lists(shapes, wanted)
    if not waiting:
        return _idle_counters(sample, _counters(shapes, "")) if wanted else None
    first = max(waiting, key=lambda s: len(s.values))
    done = next((s for s in applied if s is not first), None)
    it = TwoStep(sample, wanted, first, done, _counters(shapes, _parent(first.name)))
    grounds = weighed(PENDING_TOKENS, it)
    if not grounds.stands:
        return None
    profile = CollectionProfile(
        sample.ns,
        "pending",
        pending=first.name,
        applied=done.name if done else "applied",
        counter=it.counter or "count",
    )
    return on_grounds(profile, grounds, () if it.holds_tokens else ("plain",))


def _waiting_lists(shapes: Sequence[Shape], wanted: bool) -> tuple[list[Shape], list[Shape]]:
    """The lists in which tokens may wait, and those in which counted ones may stay."""
    lists = [s for s in shapes if s.types.get(c.ARRAY) and _elements_fit(s, _is_token_or_key)]
    arrays = [s for s in lists if _elements_fit(s, _is_token)]
    # A nightly cleanup may remove the list from every day but the last, so a list with a telling name may be rare.
    waiting = [s for s in arrays if _names_waiting(s.name)]
    if waiting:  # an event may be counted by its own key, such as an order number
        return waiting, [s for s in lists if _names_applied(s.name)]
    applied = [s for s in arrays if s.share(c.ARRAY) >= 0.3 and _names_applied(s.name)]
    others = [s for s in arrays if s not in applied]
    if applied:  # tokens wait only briefly, but counted ones stay
        waiting = list(filter(_is_mostly_empty, others))
    return waiting or (others if wanted else []), applied


def _is_mostly_empty(shape: Shape) -> bool:
    return shape.share(c.ARRAY) >= 0.8 and _empty(shape) >= 0.5


def _idle_counters(sample: Sample, counters: Sequence[str]) -> Proposal | None:
    """Counters that a person has picked, while no token is waiting."""
    if not counters:
        return None
    profile = CollectionProfile(sample.ns, "pending", counter=counters[0])
    return Proposal(profile, 0.5, f"{counters[0]} is the number; no token waits at the moment.")


def tokens_in(sample: Sample, profile: CollectionProfile) -> list[Value]:
    """The tokens in a sample, if its documents are two-step counters."""
    lists = [
        c.get(d.raw, tuple(path.split("."))) for d in sample.documents for path in (profile.pending, profile.applied)
    ]
    return list(dict.fromkeys(item for each in lists if each is not None for item in _items(each)))


def waiting_list(raw: bytes) -> str:
    """The name of the list in which a stored document keeps waiting tokens; "" if it has none."""
    for name, value in Document(raw).fields.items():
        inner = [(f"{name}.{each}", v) for each, v in _fields(value)] if value.type == c.OBJECT else []
        for path, each in ((name, value), *inner):
            if each.type == c.ARRAY and _names_waiting(path) and all(map(_is_token, _items(each))):
                return path
    return ""


def _names_waiting(path: str) -> bool:
    return bare(_last(path)) in PENDING


def _names_applied(path: str) -> bool:
    return bare(_last(path)) in APPLIED


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _with_inner(sample: Sample) -> list[Shape]:
    """The top-level fields, and those of sub-documents named like parts of a two-step counter."""
    inner: dict[str, list[Value]] = {}

    def look(path: str, value: Value, depth: int) -> None:
        for name, each in _fields(value) if value.type == c.OBJECT else ():
            if not can_play_a_role(name):
                continue
            if bare(name) in PENDING | APPLIED or not COUNTS.isdisjoint((bare(name), *words(name))):
                inner.setdefault(f"{path}.{name}", []).append(each)
            if depth < DEEPEST:
                look(f"{path}.{name}", each, depth + 1)

    for document in sample.documents if c.OBJECT in sample.kinds else ():
        for name, value in document.fields.items():
            if can_play_a_role(name):
                look(name, value, 1)
    total = len(sample.documents)
    return [*sample.shapes.values(), *(Shape(path, tuple(found), total) for path, found in inner.items())]


def _nothing_else(sample: Sample, paths: Sequence[str]) -> bool:
    """Whether documents consist of a name, a number and a list; then even empty lists are evidence enough."""
    return set(sample.shapes) <= {"_id", *(path.partition(".")[0] for path in paths)}


def _is_token(value: Value) -> bool:
    if value.type == c.OBJECT:
        return any(v.type == c.OBJECT_ID for _, v in _fields(value))
    return value.type in (c.OBJECT_ID, c.BINARY)


def _is_key(value: Value) -> bool:
    return value.type in ID_TYPES


def _is_token_or_key(value: Value) -> bool:
    return _is_key(value) or _is_token(value)


def _fields(value: Value) -> list[tuple[str, Value]]:
    try:
        return c.fields(value.data)
    except Unreadable:
        return []


def _items(value: Value) -> list[Value]:
    if value.type != c.ARRAY:
        return []
    try:
        return c.items(value)
    except Unreadable:
        return []


def _elements_fit(shape: Shape, fits: Callable[[Value], bool]) -> bool:
    """Whether the arrays' elements are of one sort; empty arrays match any."""
    items = [item for value in shape.values for item in _items(value)]
    return sum(map(fits, items)) >= 0.9 * len(items)


def _empty(shape: Shape) -> float:
    return sum(not _items(value) for value in shape.values) / len(shape.values)


def _moves(documents: Sequence[Document], pending: str, applied: str) -> bool:
    """Whether each token is in one document only: otherwise it is a reference."""
    seen: list[Value] = []
    for document in documents:
        both = [c.get(document.raw, tuple(path.split("."))) for path in (pending, applied) if path]
        seen += dict.fromkeys(t for value in both if value is not None for t in _items(value) if _is_token(t))
    return len(set(seen)) >= 0.9 * len(seen)


def _counters(shapes: Sequence[Shape], beside: str) -> list[str]:
    """The fields that may be the counter: best names first, those next to the list before others."""
    numbers = [s for s in shapes if s.name != "_id" and s.share(*NUMBERS) >= 0.3]
    if not numbers:  # a day whose first event was never completed has no number yet
        numbers = [s for s in shapes if s.types.keys() & set(NUMBERS) and bare(_last(s.name)) in COUNTS]
    ranked: dict[tuple[bool, int], list[str]] = {}
    for shape in numbers:
        name = _last(shape.name)
        named = 0 if bare(name) in COUNTED else 1 if bare(name) in COUNTS else 2 if COUNTS & {*words(name)} else 3
        ranked.setdefault((_parent(shape.name) != beside, named), []).append(shape.name)
    return ranked[min(ranked, key=lambda rank: (rank[1] == 3, rank))] if ranked else []


# --- processed


class DealtWith(Struct, frozen=True, eq=False, dict=True):
    """A list that may record what was processed, and the numbers beside it."""

    sample: Sample
    wanted: bool  # a person says that it does
    entries: Shape

    @cached_property
    def totals(self) -> list[str]:
        """The numbers beside it."""
        shapes = self.sample.shapes.values()
        return [s.name for s in shapes if s.name != "_id" and s.share(*NUMBERS) >= 0.5]

    @cached_property
    def items(self) -> list[list[Value]]:
        """The entries of each document."""
        return [_items(value) for value in self.entries.values]

    @cached_property
    def alone(self) -> int:
        """The documents without repeats."""
        return sum(len(set(each)) == len(each) for each in self.items)

    @property
    def found(self) -> str:
        """The list, as a clause."""
        where = of(self.alone, len(self.items), "document")
        why = f"The list {self.entries.name} says what was dealt with, without repeats in {where}"
        return why + (f", beside {listed(self.totals[:3])}" if self.totals else "")


PROCESSED_ENTRIES: tuple[Sign[DealtWith], ...] = (
    Sign(
        "totals",
        "the numbers beside the list",
        weighs=where(lambda it: bool(it.totals), 0.25),
        leaves=unless(lambda it: not it.wanted and not it.totals),
    ),
    Sign("empty", "the entries of all documents", leaves=unless(lambda it: not it.wanted and not any(it.items))),
    Sign(
        "list",
        "a list by its name, without repeats",
        weighs=fixed(0.6),
        leaves=unless(lambda it: not it.wanted and it.alone < 0.7 * len(it.items)),
        says=lambda it: it.found,
    ),
)
"""Signs for and against a list of processed entries."""


def processed(sample: Sample, wanted: bool = False) -> Proposal | None:
    """``processed``: a list of processed entries, beside totals."""
    lists = [s for s in sample.shapes.values() if s.share(c.ARRAY) >= 0.5 and _elements_fit(s, _is_key)]
    named = [s for s in lists if bare(s.name) in PROCESSED] or (lists if wanted else [])
    if not named:
        return None
    grounds = weighed(PROCESSED_ENTRIES, DealtWith(sample, wanted, named[0]))
    if not grounds.stands:
        return None
    profile = CollectionProfile(sample.ns, "processed", processed=named[0].name, id=_key_field(sample), counter="count")
    return on_grounds(profile, grounds)


def _key_field(sample: Sample) -> str:
    """The field that identifies a document: ``_id``, unless it is generated and another field is a key."""
    id = sample.shapes.get("_id")
    if id is None or id.share(c.OBJECT_ID) < 0.8:
        return "_id"
    for name, shape in sample.shapes.items():
        named = bare(name) in ("id", "key", "name", "slug") or words(name)[-1:] == ("id",)
        if name != "_id" and shape.share(c.STRING, *WHOLE_NUMBERS) >= 0.9 and (named or sample.is_unique(name)):
            return name
    return "_id"


PATTERNS: dict[str, Pattern] = {
    each.name: each
    for each in (
        Pattern(
            "pending",
            "counters changed in two steps, by tokens",
            ("id", "pending", "applied", "counter"),
            pending,
            "no list of tokens was found in it.",
            "tokens",
            frozenset({"grace"}),
            {"counter": "count"},
        ),
        Pattern(
            "sequence",
            "numbers handed out one by one",
            ("id", "counter"),
            sequence,
            "its documents are not names with one whole number each.",
            "numbers",
            frozenset({"targets"}),
            {"counter": "seq"},
        ),
        Pattern(
            "processed",
            "operations applied once, by a list of tokens",
            ("id", "processed"),
            processed,
            "no list of keys was found in it.",
            "entries",
            frozenset({"counter"}),
            {"counter": "count"},
        ),
    )
}
"""The patterns, in the order in which they are tried."""
