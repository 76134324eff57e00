"""Every repair by name: which classes it is for, when it comes, and what a person must say before it is done.

And for what has no repair, or none yet, what a person can do. Nothing here reads or writes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from model import text
from model.findings import Finding
from model.names import id_name, version_name
from model.values import canonical
from model.values.canonical import Value


@dataclass(frozen=True)
class Choice:
    """One answer to an item's question."""

    name: str  # what stands in the plan
    label: str  # what people read


@dataclass(frozen=True)
class Ask:
    """What a person must say before a repair is done."""

    question: str
    choices: tuple[Choice, ...]
    wants: Literal["", "number", "whole number"] = ""  # what an answer may be beside the choices


@dataclass(frozen=True)
class Kind:
    """A repair as plans know it."""

    name: str
    codes: tuple[str, ...]
    rank: int  # a document with two troubles comes right when lower ranks are done first
    would: str  # what a dry run says of it: "Would be removed"
    ask: Callable[[Finding], Ask] | None = None


LEAVE = "leave"
GRACE = ("T1", "T3", "A1")
"""Classes that carry no repair inside the grace period: their writers may still be at work."""


def _convert(finding: Finding) -> Ask:
    number = _as_number(finding.versions[0]) if len(finding.versions) == 1 else None
    shown = ", ".join(f"{text.shown(v)} ({v.kind})" for v in finding.versions) or "The version"
    leave = Choice(LEAVE, "Leave it as it is")
    if len(finding.versions) > 1 and all(_as_number(v) is not None for v in finding.versions):
        return Ask(
            f"{shown} are no whole numbers. Store them as the whole numbers they stand for?",
            (Choice("convert", "Store them as whole numbers"), leave),
        )
    if number is None:
        wants: Literal["", "whole number"] = "whole number" if len(finding.versions) == 1 else ""
        return Ask(f"{shown} stands for no whole number. Which number is this version?", (leave,), wants)
    question = f"{shown} is no whole number. Store it as the number {number}?"
    return Ask(question, (Choice("convert", f"Store it as the whole number {number}"), leave), "whole number")


def _as_number(v: Value) -> int | None:
    if v.type not in (canonical.STRING, canonical.DOUBLE, canonical.DECIMAL128):
        return None
    try:
        number = float(str(v.python()))
        whole = int(str(v.python())) if v.type == canonical.STRING else int(number) if number == int(number) else None
    except (ValueError, OverflowError):
        return None
    return whole if whole is not None and abs(whole) < 2**63 else None


def _rebuild(finding: Finding) -> Ask:
    return Ask(
        f"{finding.detail.rstrip('.')}. Is the content right, so that its hash may be stored beside it?",
        (
            Choice("rebuild", "The content is right: store its hash"),
            Choice(LEAVE, "Leave both as they are"),
        ),
    )


def _restore(finding: Finding) -> Ask:
    highest = version_name(finding.versions[-1]) if finding.versions else "the highest version"
    who = id_name(finding.id) if finding.id is not None else "The document"
    return Ask(
        f"{who} is gone and its archive is not. Was it deleted by mistake, so that {highest} should be a document "
        "again?",
        (
            Choice("restore", f"Restore {highest} as the next version of a document"),
            Choice(LEAVE, "It was meant to go: leave the archive as it is"),
        ),
    )


def _move(finding: Finding) -> Ask:
    return Ask(
        f"The document is close to the largest that can be stored. Move its earlier versions into {finding.ns}_history "
        "(or the archive that a profile names)? The newest few stay; programs that read the array themselves will find "
        "the older ones there.",
        (Choice("move", "Move them into that collection"), Choice(LEAVE, "Leave it as it is")),
    )


def _count(finding: Finding) -> Ask:
    return Ask(
        f"{finding.detail.rstrip('.')}. What is the count?", (Choice(LEAVE, "Leave it as it is"),), wants="number"
    )


REPAIRS: dict[str, Kind] = {
    each.name: each
    for each in (
        Kind("convert-version", ("V3",), 0, "Would become a whole number", _convert),
        Kind("set-counter", ("T3",), 1, "Would be set", _count),
        Kind("remove-duplicate", ("V1",), 2, "Would be removed"),
        Kind("remove-phantom", ("A3",), 3, "Would be removed"),
        Kind("save-as-version", ("A2",), 4, "Would become a version of its own"),
        Kind("remove-residue", ("A1",), 5, "Would be removed"),
        Kind("set-current-flag", ("C1",), 6, "Would be set right"),
        Kind("rebuild-prev", ("E1",), 7, "Would be put in order"),
        Kind("rebuild-hash", ("H1",), 8, "Would be computed again", _rebuild),
        Kind("restore-document", ("A5",), 9, "Would be restored", _restore),
        Kind("archive-current", ("R1",), 10, "Would be archived"),
        Kind("raise-counter", ("S1",), 11, "Would be raised"),
        Kind("remove-repeats", ("P2",), 12, "Would be listed once"),
        Kind("take-out-token", ("T2",), 13, "Would be taken out"),
        Kind("finish-token", ("T1",), 14, "Would be finished"),
        Kind("move-to-archive", ("E2",), 15, "Would be moved", _move),
    )
}
"""Every repair by its name, in the order in which they are done."""


def asking(finding: Finding) -> Ask | None:
    """What a person must say before this finding is repaired; None where the repair is safe."""
    kind = REPAIRS.get(finding.repair or "")
    return kind.ask(finding) if kind is not None and kind.ask is not None else None


_ADVICE = {
    "V1": "The versions differ, so a person has to say which is right: compare them, and delete the other by hand.",
    "V2": "Missing versions are never invented; if no rule of retention took them, look for them in a backup.",
    "V3": "Say which whole number the version is, by an edit of your own.",
    "C1": "Look at the versions; the flag can be set once their numbers are right.",
    "E1": "Versions are missing or repeated with other contents; look for them in a backup before anything is changed.",
    "E2": "Move the earlier versions into an archive before the document can no longer be saved.",
    "A1": "The next edit of the document absorbs the copy; nothing needs to be done.",
    "A2": "Compare both, and save the one that is right as a new version.",
    "A3": "The edit that wrote it may still be at work; look again later.",
    "A4": "Missing versions are never invented; look for them in a backup.",
    "A5": "Restore the highest version as a document, or leave the archive as the record of what was deleted.",
    "D1": "Later states are shown as unproven; look for the missing delta in a backup.",
    "R1": "Look why the feed stopped, and set it going again; its resume point is not touched from here.",
    "H1": "Look at the content; if it is right, save it once more, which stores its hash.",
    "H2": "Nothing is wrong where the contents are equal; make sure that writers filter by the id too.",
    "S1": "Raise the counter by hand once it is clear which numbers are in use.",
    "S2": "Numbers are never changed from here; decide which document keeps its number.",
    "P1": "Counts are never added up from here; decide which document stands and take over what the other counted.",
    "P2": "Look at the list; its entries cannot be told apart.",
    "T1": "Its writer may still be at work; look again after the grace period.",
    "T2": "Look at both lists; the token cannot be named exactly.",
    "T3": "Say by an edit what the counter is.",
    "M1": "Times are never changed from here; check the clocks of the writers.",
    "B1": "It is shown and never written; mend it with the tools of whoever wrote it.",
}


def no_repair(finding: Finding) -> str:
    """What a person can do about a finding that has no repair, or none yet."""
    if finding.young and finding.code in GRACE:
        return "It is younger than the grace period, so its writer may still be at work; scan again later."
    return _ADVICE.get(finding.code, "")
