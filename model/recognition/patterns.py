"""The recognition of the three patterns beside the layouts: ``sequence``, ``pending`` and ``processed``.

Arrays of ObjectIds and of strings are common and mostly something else, so each of these needs a name that says so, or
two arrays between which tokens move.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from model.errors import Unreadable
from model.foundation.collection_profile import CollectionProfile
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
from model.recognition.sampling import ID_TYPES, Document, Proposal, Sample, Shape, listed, of
from model.storage.reserved_fields import WHOLE_NUMBERS
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

FEW = 2000  # counters of a database
DEEPEST = 2  # sub-documents above the parts of a two-step counter
_DAY = re.compile(r"\d{4}-(\d\d|W\d\d)(-\d\d)?([T ].*)?\Z|\d{8}\Z", re.ASCII)


class Pattern(Struct, frozen=True):
    """The declaration of a pattern, like a layout's; its collections are browsed as plain."""

    name: str
    about: str  # in a few words, for people
    roles: tuple[str, ...]  # keys of a profile
    judge: Callable[[Sample, bool], Proposal | None]  # with True: a person has picked it
    lacks: str  # a sentence on the sign that is missing where a collection cannot be read so
    defaults: Mapping[str, str] = field(default_factory=dict)
    where: str = ""
    inside: tuple[str, ...] = ()


# --- sequence


def sequence(sample: Sample, wanted: bool = False) -> Proposal | None:
    """Documents ``{_id: name, seq: number}``, few of them."""
    id = sample.shapes.get("_id")
    if id is None or id.share(c.STRING) < 0.8:
        return None
    fields = [name for name in sample.shapes if name != "_id"]
    numbers = [name for name in fields if sample.shapes[name].share(*WHOLE_NUMBERS, c.DOUBLE) >= 0.8]
    if not wanted and (len(numbers) != 1 or len(fields) > 3):
        return None
    named = not NAMED_COUNTERS.isdisjoint(words(sample.name)) or bare(sample.name) in NAMED_COUNTERS
    hints = LAST_BESIDE if named or wanted else LAST
    counter = next((name for name in numbers if bare(name) in hints), "")
    if not counter and (wanted or named) and numbers:
        counter = numbers[0]
    if not counter or (sample.count or 0) > FEW or (not wanted and _counts_events(sample, counter)):
        return None
    share, have = (
        of(len(sample.documents), len(sample.documents), "document"),
        "have" if len(sample.documents) > 1 else "has",
    )
    why = f"{share.capitalize()} sampled {have} a name as _id and one whole number, {counter}"
    known = bare(counter) in LAST
    if named:
        why += f", in a collection called {sample.name}"
    confidence = 0.95 if named and known else 0.85 if named else 0.75
    return Proposal(CollectionProfile(sample.ns, "sequence", counter=counter), confidence, f"{why}.")


def _counts_events(sample: Sample, counter: str) -> bool:
    """Whether the numbers count events, and are not handed out: by day, or with tokens that wait."""
    if any(waiting_list(document.raw) for document in sample.documents):
        return True
    days = sum(bool(_DAY.match(str(v.python()))) for v in sample.shapes["_id"].values if v.type == c.STRING)
    return bare(counter) in COUNTS and days >= 0.5 * len(sample.documents)


# --- pending


def pending(sample: Sample, wanted: bool = False) -> Proposal | None:
    """Arrays of tokens that wait to be counted, and a number that they are counted into."""
    shapes = _with_inner(sample)
    lists = [s for s in shapes if s.types[c.ARRAY] and _holds(s, _is_token_or_key)]
    arrays = [s for s in lists if _holds(s, _is_token)]
    # A nightly cleanup takes the list away from every day but the last, so a list with such a name need not be common.
    waiting = [s for s in arrays if _waits(s.name)]
    if waiting:  # an event may be counted by a key of its own, such as an order's number
        applied = [s for s in lists if bare(_last(s.name)) in APPLIED]
    else:
        applied = [s for s in arrays if s.share(c.ARRAY) >= 0.3 and bare(_last(s.name)) in APPLIED]
    if not waiting and applied:
        # Tokens wait for moments, and those that were counted stay: mostly empty beside never empty.
        waiting = [s for s in arrays if s not in applied and s.share(c.ARRAY) >= 0.8 and _empty(s) >= 0.5]
    if not waiting and wanted:
        waiting = [s for s in arrays if s not in applied]
    if not waiting:
        return _calm(sample, _counters(shapes, "")) if wanted else None
    first = max(waiting, key=lambda s: len(s.values))
    done = next((s for s in applied if s is not first), None)
    counters = _counters(shapes, _parent(first.name))
    if len(counters) > 1 and not wanted:  # a person has to say which of them a token is for
        return None
    counter = counters[0] if counters else ""
    if not (counter or wanted) or (done is None and bare(_last(counter)) in AMOUNTS and not wanted):
        return None
    items = [item for s in (first, *([done] if done else [])) for v in s.values for item in _items(v)]
    some = any(map(_is_token, items))
    names = (first.name, counter, *([done.name] if done else []))
    if not some and (done is None or items) and not wanted and not _nothing_else(sample, names):
        return None
    if not _moves(sample.documents, first.name, done.name if done else ""):
        return None
    why = f"Tokens wait in the list {first.name}"
    why += f" and stay in {done.name} once they are counted" if done else ""
    why += f"; {counter} is the number beside them" if counter else ""
    confidence = 0.95 if done and some else 0.8 if some else 0.6
    profile = CollectionProfile(
        sample.ns, "pending", pending=first.name, applied=done.name if done else "applied", counter=counter or "count"
    )
    return Proposal(profile, confidence, f"{why}.", ("plain",) if confidence < 0.8 else ())


def _calm(sample: Sample, counters: Sequence[str]) -> Proposal | None:
    """Counters that a person names as such while no token waits anywhere."""
    if not counters:
        return None
    profile = CollectionProfile(sample.ns, "pending", counter=counters[0])
    return Proposal(profile, 0.5, f"{counters[0]} is the number; no token waits at the moment.")


def tokens_in(sample: Sample, profile: CollectionProfile) -> list[Value]:
    """The tokens that a sample holds if its documents are two-step counters."""
    lists = [
        c.get(d.raw, tuple(path.split("."))) for d in sample.documents for path in (profile.pending, profile.applied)
    ]
    return list(dict.fromkeys(item for each in lists if each is not None for item in _items(each)))


def waiting_list(raw: bytes) -> str:
    """The list in which a stored document keeps tokens that wait to be counted, by its name; "" where it has none."""
    for name, value in Document(raw).fields.items():
        inner = [(f"{name}.{each}", v) for each, v in _fields(value)] if value.type == c.OBJECT else []
        for path, each in ((name, value), *inner):
            if each.type == c.ARRAY and _waits(path) and all(map(_is_token, _items(each))):
                return path
    return ""


def _waits(path: str) -> bool:
    return bare(_last(path)) in PENDING


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _parent(path: str) -> str:
    return path.rpartition(".")[0]


def _with_inner(sample: Sample) -> list[Shape]:
    """The fields at the top, and those of sub-documents whose names say that they are part of a two-step counter."""
    inner: dict[str, list[Value]] = {}

    def look(path: str, value: Value, depth: int) -> None:
        for name, each in _fields(value) if value.type == c.OBJECT else ():
            if not can_play_a_role(name):
                continue
            if bare(name) in PENDING | APPLIED or not COUNTS.isdisjoint((bare(name), *words(name))):
                inner.setdefault(f"{path}.{name}", []).append(each)
            if depth < DEEPEST:
                look(f"{path}.{name}", each, depth + 1)

    for document in sample.documents:
        for name, value in document.fields.items():
            if can_play_a_role(name):
                look(name, value, 1)
    total = len(sample.documents)
    return [*sample.shapes.values(), *(Shape(path, tuple(found), total) for path, found in inner.items())]


def _nothing_else(sample: Sample, paths: Sequence[str]) -> bool:
    """Whether documents are a name, a number and a list alone; then even lists that are all empty tell enough."""
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


def _holds(shape: Shape, fits: object) -> bool:
    """Whether all elements of the arrays are of one sort; empty arrays are of any."""
    assert callable(fits)
    items = [item for value in shape.values for item in _items(value)]
    return sum(bool(fits(item)) for item in items) >= 0.9 * len(items)


def _empty(shape: Shape) -> float:
    return sum(not _items(value) for value in shape.values) / len(shape.values)


def _moves(documents: Sequence[Document], pending: str, applied: str) -> bool:
    """Whether the tokens are each their own: one that stands in several documents refers to something."""
    seen: list[Value] = []
    for document in documents:
        both = [c.get(document.raw, tuple(path.split("."))) for path in (pending, applied) if path]
        seen += dict.fromkeys(t for value in both if value is not None for t in _items(value) if _is_token(t))
    return len(set(seen)) >= 0.9 * len(seen)


def _counters(shapes: Sequence[Shape], beside: str) -> list[str]:
    """The numbers that may be the one that is counted: those named best, the ones beside the list before others."""
    numbers = [s for s in shapes if s.name != "_id" and s.share(*NUMBERS) >= 0.3]
    if not numbers:  # a day whose first event never came to its end has no number yet
        numbers = [s for s in shapes if s.types.keys() & set(NUMBERS) and bare(_last(s.name)) in COUNTS]
    ranked: dict[tuple[bool, int], list[str]] = {}
    for shape in numbers:
        name = _last(shape.name)
        named = 0 if bare(name) in COUNTED else 1 if bare(name) in COUNTS else 2 if COUNTS & {*words(name)} else 3
        ranked.setdefault((_parent(shape.name) != beside, named), []).append(shape.name)
    return ranked[min(ranked, key=lambda rank: (rank[1] == 3, rank))] if ranked else []


# --- processed


def processed(sample: Sample, wanted: bool = False) -> Proposal | None:
    """``processed``: a list of entries dealt with already, beside totals."""
    lists = [s for s in sample.shapes.values() if s.share(c.ARRAY) >= 0.5 and _holds(s, _is_key)]
    named = [s for s in lists if bare(s.name) in PROCESSED]
    totals = [s.name for s in sample.shapes.values() if s.name != "_id" and s.share(*NUMBERS) >= 0.5]
    if wanted and not named:
        named = lists
    if not named or not (totals or wanted):
        return None
    first = named[0]
    if all(not _items(value) for value in first.values) and not wanted:
        return None
    items = [_items(value) for value in first.values]
    alone = sum(len(set(each)) == len(each) for each in items)
    if alone < 0.7 * len(items) and not wanted:
        return None
    why = f"The list {first.name} says what was dealt with, without repeats in {of(alone, len(items), 'document')}"
    why += f", beside {listed(totals[:3])}" if totals else ""
    profile = CollectionProfile(sample.ns, "processed", processed=first.name, id=_key_field(sample), counter="count")
    return Proposal(profile, 0.85 if totals else 0.6, f"{why}.")


def _key_field(sample: Sample) -> str:
    """The field that a document is found by: ``_id``, unless that was made up and another one is a key."""
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
            {"counter": "count"},
        ),
        Pattern(
            "sequence",
            "numbers handed out one by one",
            ("id", "counter"),
            sequence,
            "its documents are no names with one whole number each.",
            {"counter": "seq"},
        ),
        Pattern(
            "processed",
            "operations applied once, by a list of tokens",
            ("id", "processed"),
            processed,
            "no list of keys was found in it.",
            {"counter": "count"},
        ),
    )
}
"""Asked for in this order."""
