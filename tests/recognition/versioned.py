"""Versioned collections under random names: every layout, with and without stamps, whole or lightly damaged.

Names are plausible, or meaningless words: then only the data can tell. Damage is of the usual kinds, in at most one
document of eight: a number that two writers took, a lost version, a number of another type.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bson
from bson import Decimal128, Int64, ObjectId

from tests.recognition.ordinary import CITIES, WORDS, Dice

Row = dict[str, Any]
SYLLABLES = ["ba", "de", "fi", "go", "lu", "ma", "ne", "pi", "ro", "su", "ta", "ve", "wi", "xo", "zu", "ka", "lo", "mi"]
PLAUSIBLE = {
    "id": ("docId", "contractId", "entity", "ref", "policy", "of", "doc_id", "objectKey", "itemNo", "customer"),
    "version": ("v", "version", "revision", "rev", "ver", "versionNo", "edition", "docVersion", "generation"),
    "token": ("_w", "token", "opId", "writeId", "nonce", "txId"),
    "at": ("changedAt", "modified", "at", "savedAt", "updatedOn", "timestamp"),
    "author": ("changedBy", "editor", "user", "author", "who"),
    "flag": ("current", "isLatest", "latest", "active", "head"),
    "now": ("current", "head", "now", "latest", "state"),
    "past": ("prev", "history", "past", "versions", "older"),
    "hash": ("_versioned_id", "digest", "hash", "sha", "contentHash"),
}  # fmt: skip
LAYOUTS = ("versions", "flagged", "deltas", "embedded", "nested", "archive", "stream", "shadow", "hashed")


@dataclass
class Collection:
    """One versioned collection: its layout and names, all rows, and the unique index."""

    seed: int
    layout: str
    names: dict[str, str]
    fields: dict[str, str]  # role -> field name, as it must be recognised
    rows: dict[str, list[Row]] = field(default_factory=dict)
    index: tuple[str, tuple[str, ...]] | None = None
    about: str = ""


def versioned(seed: int) -> Collection:
    """The collection of a seed."""
    dice = Dice(f"versioned {seed}")
    layout = LAYOUTS[seed % len(LAYOUTS)]
    made = Collection(seed, layout, _names(dice), {})
    indexed = dice.chance(0.8)
    stamped = {name for name in ("token", "at", "author") if dice.chance(0.6)}
    damaged = dice.chance(0.4)
    if layout == "stream":
        stamped.add("token")
        indexed = True
    elif layout == "shadow":
        stamped.discard("token")
    made.about = f"{'with' if indexed else 'without'} an index, {sorted(stamped)}{', damaged' if damaged else ''}"
    lives = [_life(dice, made, f"{dice.choice('KPQ')}-{n:04d}", stamped) for n in range(dice.randrange(8, 40))]
    _MAKERS[layout](dice, made, lives)
    if layout in ("versions", "flagged", "deltas", "archive", "stream", "shadow") and damaged:
        _damage(dice, made, lives, indexed)
    if not indexed:
        made.index = None
    return made


KINDS = (("versions", "flagged", "deltas"), ("embedded", "nested"), ("archive", "stream", "shadow"), ("hashed",))
"""Layouts of one kind may be told apart by no more than a flag."""


def two(seed: int) -> tuple[Collection, Collection]:
    """Two collections with enough documents, of layouts that are nothing alike, each under names of its own."""
    dice = Dice(f"two {seed}")
    kinds = dice.sample(range(len(KINDS)), 2)
    layouts = [LAYOUTS.index(dice.choice(KINDS[kind])) for kind in kinds]
    first, second = (versioned(len(LAYOUTS) * (2 * seed + n) + layout) for n, layout in enumerate(layouts))
    taken = set(first.names.values())
    if taken & {second.names[role] for role in ("id", "version", "past", "now", "hash")}:
        return two(seed + 2**32)
    for row in (row for rows in second.rows.values() for row in rows):
        for name in {"_id", second.names["id"]} & row.keys():
            row[name] = f"second {row[name]}" if isinstance(row[name], str) else row[name]
    return first, second


def _names(dice: Dice) -> dict[str, str]:
    """A name for each role; in one of three collections they mean nothing."""
    odd = dice.chance(0.33)
    names: dict[str, str] = {}
    for role, several in PLAUSIBLE.items():
        name = _word(dice) if odd else dice.choice(several)
        names[role] = name if name not in names.values() else _word(dice)
    names["things"] = dice.choice(("contracts", "policies", "recipes", "articles", _word(dice)))
    past = ("{}_history", "{}_archive", "archive.{}", "{}Versions", _word(dice))
    names["second"] = dice.choice(past).format(names["things"])
    return names


def _word(dice: Dice) -> str:
    return "".join(dice.choice(SYLLABLES) for _ in range(dice.randrange(2, 5)))


# --- what one document was


@dataclass
class Life:
    """One document: its id, and its versions, oldest first, with number, stamps and content apart."""

    id: Any
    versions: list[tuple[int, Row, Row]]


def _life(dice: Dice, made: Collection, id: str, stamped: set[str]) -> Life:
    names = made.names
    state: Row = {
        "name": dice.text(),
        "city": dice.choice(CITIES),
        "holder": f"{dice.choice(WORDS)} {dice.choice(WORDS)}",
        "net": Decimal128(f"{dice.randrange(90_000) / 100:.2f}"),
        "pieces": dice.randrange(50),
        "tags": dice.sample(WORDS, dice.randrange(3)),
        "since": dice.now,
        "parts": [{"_id": dice.choice(WORDS), "rate": dice.random()} for _ in range(dice.randrange(3))],
        "open": dice.chance(0.5),
    }
    told = []
    for v in range(1, dice.choice((1, 2, 3, 3, 4, 5, 8, 14)) + 1):
        moment = dice.later()
        if v > 1:
            _edit(dice, state)
        stamps: Row = {}
        if "token" in stamped:
            stamps[names["token"]] = dice.oid()
        if "at" in stamped:
            stamps[names["at"]] = moment
        if "author" in stamped:
            stamps[names["author"]] = dice.choice(("Marta", "Jonas", "Eva"))
        told.append((v, stamps, dict(state)))
    return Life(id, told)


def _edit(dice: Dice, state: Row) -> None:
    """One or two fields change; seldom one comes or goes."""
    changes: dict[str, Callable[[], Any]] = {
        "name": dice.text,
        "city": lambda: dice.choice(CITIES),
        "net": lambda: Decimal128(f"{dice.randrange(90_000) / 100:.2f}"),
        "pieces": lambda: dice.randrange(50),
        "open": lambda: dice.chance(0.5),
        "note": dice.text,
    }
    for name in dice.sample(list(changes), dice.randrange(1, 3)):
        state[name] = changes[name]()
    if dice.chance(0.05):
        state.pop("note", None)


# --- layouts


def _own(dice: Dice, made: Collection, lives: list[Life]) -> None:
    n = made.names
    made.fields |= {"id": n["id"], "version": n["version"]}
    rows = made.rows.setdefault(n["things"], [])
    for life in lives:
        before: Row = {}
        for v, stamps, content in life.versions:
            kept = content
            if made.layout == "deltas" and v > 1:
                kept = {name: value for name, value in content.items() if before.get(name) != value} or {"open": True}
            row = {"_id": dice.oid(), n["id"]: life.id, n["version"]: v, **stamps, **kept}
            if made.layout == "flagged" and v == life.versions[-1][0]:
                row[n["flag"]] = True
            rows.append(row)
            before = content
    if made.layout == "flagged":
        made.fields["current"] = n["flag"]
    made.index = (n["things"], (n["id"], n["version"]))
    if dice.chance(0.5):
        rows.sort(key=lambda row: row["_id"])


def _beside(dice: Dice, made: Collection, lives: list[Life]) -> None:
    n = made.names
    made.fields |= {"id": "_id", "version": n["version"], "archive_id": n["id"]}
    things, past = made.rows.setdefault(n["things"], []), made.rows.setdefault(n["second"], [])
    for life in lives:
        for v, stamps, content in life.versions:
            last = v == life.versions[-1][0]
            if last:
                things.append({"_id": life.id, n["version"]: v, **stamps, **content})
            if not last or made.layout != "archive":
                past.append({"_id": dice.oid(), n["id"]: life.id, n["version"]: v, **stamps, **content})
    made.index = (n["second"], (n["id"], n["version"]))


def _inside(dice: Dice, made: Collection, lives: list[Life]) -> None:
    n = made.names
    made.fields |= {"id": "_id", "version": n["version"], "prev": n["past"]}
    rows = made.rows.setdefault(n["things"], [])
    for life in lives:
        told = [{n["version"]: v, **stamps, **content} for v, stamps, content in life.versions]
        if made.layout == "embedded":
            rows.append({"_id": life.id, n["now"]: told[-1], n["past"]: told[:-1]})
        else:
            rows.append({"_id": life.id, **told[-1], **({n["past"]: told[:-1]} if told[:-1] else {})})
    if made.layout == "embedded":
        made.fields["current"] = n["now"]


def _hashed(dice: Dice, made: Collection, lives: list[Life]) -> None:
    n = made.names
    made.fields |= {"hash": n["hash"]}
    for life in lives:
        content = life.versions[-1][2]
        digest = hashlib.sha1(bson.encode(content)).hexdigest()
        made.rows.setdefault(n["things"], []).append({"_id": life.id, **content, n["hash"]: digest})


_MAKERS: dict[str, Callable[[Dice, Collection, list[Life]], None]] = {
    "versions": _own,
    "flagged": _own,
    "deltas": _own,
    "archive": _beside,
    "stream": _beside,
    "shadow": _beside,
    "embedded": _inside,
    "nested": _inside,
    "hashed": _hashed,
}


# --- damage


def _damage(dice: Dice, made: Collection, lives: list[Life], indexed: bool) -> None:
    """Something that is known to happen, in at most one document of eight."""
    n = made.names
    several = [life for life in lives if len(life.versions) > 2]
    name = n["second"] if made.layout in ("archive", "stream", "shadow") else n["things"]
    rows = made.rows[name]
    for life in dice.sample(several, min(len(several), max(1, len(lives) // 8))):
        own = [row for row in rows if row.get(n["id"]) == life.id]
        row = dice.choice(own[:-1] if made.layout != "archive" else own)
        kind = dice.choice(("lost", "type", "twice", "long"))
        if kind == "lost":
            rows.remove(row)
        elif kind == "type":
            row[n["version"]] = dice.choice((float(row[n["version"]]), str(row[n["version"]])))
        elif kind == "long":
            row[n["version"]] = Int64(row[n["version"]])
        elif not indexed:
            rows.append({**row, "_id": ObjectId(), "city": "elsewhere"})
