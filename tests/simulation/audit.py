"""What must hold after a schedule, whatever happened in it; returns a list of what does not."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Sequence, Set
from typing import Any

import bson
from bson import ObjectId

from model.errors import Refused
from model.foundation.findings import Finding
from model.layouts.base import Layout
from model.layouts.flagged import Flagged
from model.repair import steps, version_repairs
from model.repair.items import Item
from model.repair.steps import RepairContext
from model.storage import update_operators
from model.values.canonical import Value
from tests.simulation.histories import Entry, flagged, history, still
from tests.simulation.machine import Machine
from tests.simulation.writers import BESIDE_ONE_ANOTHER, ID, Attempt, Edit, Stranger, Variant, changed, stamp


def faults(
    machine: Machine,
    sound: Layout,
    of: Variant,
    edits: Sequence[Edit],
    stranger: Stranger | None = None,
    came_late: Set[ObjectId] = frozenset(),
) -> tuple[list[str], bool]:
    """What is wrong, and whether the repair of flags was needed; a ``stranger`` bumped a number in place.

    Without tokens an edit that is equal to somebody else's, of the same version, comes to the same. Of a document
    without versions (``plain``, ``hashed``) what was told is held against the states that it went through, as
    :func:`_as_told` says; ``came_late`` are the attempts of which a write arrived late.
    """
    entries = history(machine, of.profile)
    said = bumped(entries, stranger) if stranger is not None else []
    if stranger is not None and not sound.numbered:  # each bump is a state of its own here
        entries = [last for _, (*_, last) in itertools.groupby(entries, key=lambda entry: entry.token)]
    said += [*chain(entries, edits, of), *outcomes(entries, edits, of, came_late), *settled(entries, edits, sound, of)]
    repaired = False
    if isinstance(sound, Flagged):
        repaired = flagged(machine, of.profile) != [entries[-1].v]
        if repaired:
            mended(sound)
            if flagged(machine, of.profile) != [entries[-1].v]:
                said.append(f"after the repair {flagged(machine, of.profile)} are flagged, not {entries[-1].v}")
            if history(machine, of.profile) != entries:
                said.append("the repair changed more than flags")
    return said + as_read(sound, entries, of, stranger, edits=edits) + blocked(sound, stranger), repaired


def mended(sound: Flagged) -> None:
    """Carry out the repair of class C1, as a plan of one item does."""
    ground = RepairContext(sound.server, lambda _: sound, lambda: dt.datetime.now(dt.UTC), "")
    seen = tuple(steps.seen(sound.ns, raw) for raw in ground.having(sound.ns, sound.profile.id, ID))
    item = Item(1, Finding("C1", sound.ns, ID, (), ""), "set-flag", "yes", seen)
    for step in version_repairs.set_current_flag(ground, item).steps:
        sound.server.send(step.write)


def bumped(entries: Sequence[Entry], stranger: Stranger) -> list[str]:
    """No edit takes back what a stranger bumps; nor, where the next version may hide it, is it taken from the one."""
    if stranger.profile.layout not in BESIDE_ONE_ANOTHER:
        found = bson.decode(entries[-1].content).get("views", 0)
        return [] if found == stranger.bumps else [f"{stranger.bumps} bumps were made in place, and {found} are there"]
    views = {entry.token: bson.decode(entry.content).get("views", 0) for entry in entries}
    return [
        f"{count} views were left in the version of {token}, and {views.get(token)} are there"
        for token, count in stranger.left.items()
        if views.get(token) != count
    ]


def chain(entries: Sequence[Entry], edits: Sequence[Edit], of: Variant) -> list[str]:
    """Each version is just what one attempt made of the one before it, and no number is missing or there twice."""
    said = []
    attempts = {attempt.token: attempt for edit in edits for attempt in edit.attempts}
    numbers = [entry.v for entry in entries]
    if of.layout not in ("hashed", "plain"):
        if len(set(numbers)) != len(numbers) or sorted(numbers) != numbers:
            said.append(f"versions are doubled or out of order: {numbers}")
        if of.dense and numbers != list(range(1, len(numbers) + 1)):
            said.append(f"versions are missing: {numbers}")
    for before, entry in itertools.pairwise(entries):
        attempt = attempts.get(entry.token) if entry.token is not None else None
        if attempt is None:
            if entry.token != stamp(2).token:
                said.append(f"version {entry.v} is nobody's: {entry.token}")
        elif (
            of.layout == "plain"
            and not of.tokens
            and _merged(still(before.content), attempt) == bson.decode(still(entry.content))
        ):
            continue
        elif still(entry.content) != still(attempt.content):
            said.append(f"version {entry.v} is not what its writer sent")
        elif still(before.content) != still(attempt.base.content or b"") or (
            of.layout not in ("hashed", "plain") and before.v != _plain(attempt)
        ):
            said.append(f"version {entry.v} follows {before.v}, and its writer began from {_plain(attempt)}")
    return said


def _merged(before: bytes, attempt: Attempt) -> dict[str, Any] | None:
    """What an edit by operators makes of a document to which somebody else has added a field, which no guard sees."""
    edit = update_operators.operators(attempt.base.content or b"", attempt.content, retypes=True)
    made = bson.decode(before)
    for path, value in ({**edit.sets, **dict.fromkeys(edit.unsets)} if edit is not None else {}).items():
        *parents, name = path.split(".")
        place = made
        for parent in parents:
            place = place[parent]
        if value is None:
            place.pop(name, None)
        else:
            place[name] = value.python()
    return made if edit is not None else None


def _as_told(kind: str, attempt: Attempt, entries: Sequence[Entry], of: Variant, came_late: Set[ObjectId]) -> bool:
    """Whether what a writer without tokens was told is so, though its own write is not, or is, among the states.

    Applied: an equal version followed the same base, or in ``plain`` all that was set stood in a state behind it.
    Conflict: in ``plain`` nothing of it stands any more in a later state, or it arrived late, as the content had come
    back to its base, to the byte, in between: nobody can tell a writer that.
    """
    if of.tokens:
        return False
    base, after = attempt.base.content or b"", [entry for entry in entries if entry.token != stamp(1).token]
    if of.layout not in ("plain", "hashed"):
        pairs = itertools.pairwise(entries)
        alike = any(
            before.v == _plain(attempt) and still(entry.content) == still(attempt.content) for before, entry in pairs
        )
        return kind == "applied" and alike
    if kind == "applied":
        return any(update_operators.stands(base, attempt.content, entry.content) for entry in after)
    overwritten = any(update_operators.stands(base, attempt.content, entry.content) is False for entry in after)
    return kind == "conflict" and (attempt.token in came_late or overwritten)


def outcomes(
    entries: Sequence[Entry], edits: Sequence[Edit], of: Variant, came_late: Set[ObjectId] = frozenset()
) -> list[str]:
    """Applied is there once, conflict and refused is not there, an edit is never there twice."""
    said = []
    there = Counter(entry.token for entry in entries)
    for edit in edits:
        counted = [
            attempt
            for attempt in edit.attempts
            if attempt.outcome is None or not _as_told(attempt.outcome.kind, attempt, entries, of, came_late)
        ]
        if sum(there[attempt.token] for attempt in counted) > 1:
            said.append(f"{edit.mark} was applied twice")
        for attempt in edit.attempts:
            held, kind = there[attempt.token], attempt.outcome.kind if attempt.outcome is not None else "died"
            if held != (kind == "applied") and _as_told(kind, attempt, entries, of, came_late):
                continue
            if kind == "applied" and held != 1:
                said.append(f"{edit.mark} was acknowledged and is there {held} times")
            if kind in ("conflict", "refused") and held:
                said.append(f"{edit.mark} was told {kind} and is there")
    return said


def settled(entries: Sequence[Entry], edits: Sequence[Edit], sound: Layout, of: Variant) -> list[str]:
    """Looking again for a write in doubt finds what is true, or that nobody can tell."""
    said = []
    there = {entry.token for entry in entries}
    for edit in edits:
        for attempt in edit.attempts:
            if attempt.outcome is None or attempt.outcome.kind == "unknown":
                found = sound.landed(ID, attempt.token, attempt.base, attempt.content)
                told = "applied" if found else "conflict"
                if found is not None and found != (attempt.token in there):
                    if _as_told(told, attempt, entries, of, frozenset()):
                        continue
                    said.append(f"{edit.mark} is said to have landed: {found}, and that is not so")
    return said


def _unseen(entry: Entry, edits: Sequence[Edit]) -> bool:
    """Whether the version's writer began from a content without the field that is bumped, and the version has it."""
    bases = [attempt.base for edit in edits for attempt in edit.attempts if attempt.token == entry.token]
    return "views" in bson.decode(entry.content) and any(
        base.content is not None and "views" not in bson.decode(base.content) for base in bases
    )


def as_read(
    sound: Layout,
    entries: Sequence[Entry],
    of: Variant,
    stranger: Stranger | None = None,
    id: Value = ID,
    edits: Sequence[Edit] = (),
) -> list[str]:
    """The layout's own history is the one stored, and numbers that nobody used are no gaps where it can tell."""
    read = list(sound.history(id, contents=True)) if entries else []
    if not of.dense and of.layout not in BESIDE_ONE_ANOTHER:
        read = [each for each in read if each.state != "missing"]
    if not sound.numbered:
        entries = entries[-1:]
    fine = ["present"]
    bumped = stranger is not None and (entries[-1].token in stranger.left or _unseen(entries[-1], edits))
    if of.layout == "hashed" and bumped and not of.excludes:
        fine.append("damaged")  # it shows until the next edit; a first bump until one that has seen the new field
    if any(each.state not in fine for each in read):
        return [f"the history is damaged: {[(each.v, each.state, each.detail) for each in read]}"]
    over = bson.encode({of.profile.deleted: True})
    if [over if each.deleted else each.content for each in reversed(read)] != [entry.content for entry in entries]:
        return ["the history that the layout reads is another than the one stored"]
    return []


def blocked(sound: Layout, stranger: Stranger | None = None) -> list[str]:
    """Whatever was left behind, the next edit goes through; or a scan tells that a person has to settle something."""
    try:
        base = sound.version(ID)
        assert base.content is not None
        outcome = sound.swap(ID, base, changed(base.content, "end", "last"), stamp(10**9))
    except Refused as error:
        return [f"the next edit is stopped: {error}"]
    if outcome.kind == "refused" and sound.name == "archive" and stranger is not None:
        # Bumped between a dying writer's two writes: which content is the version's nobody but a person can say.
        found = [each for each in sound.findings([ID]) if isinstance(each, Finding)]
        told = {(each.code, each.repair) for each in found}
        if ("A2", "save-as-version") in told and told <= {("A2", "save-as-version"), ("A4", None)}:
            return []
    return [] if outcome.kind == "applied" else [f"the next edit ends as {outcome.kind}: {outcome.detail}"]


def _plain(attempt: Attempt) -> object:
    v = attempt.base.v
    if v is None:
        return None
    found = v.python()
    return found.replace(tzinfo=None) if hasattr(found, "tzinfo") else found
