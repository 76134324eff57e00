"""The questions that some repairs ask a person before."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from model import text
from model.foundation.findings import Finding
from model.text.names import id_name, version_name
from model.values import canonical
from model.values.canonical import Value

LEAVE = "leave"
"""The answer that changes nothing."""


class Choice(Struct, frozen=True):
    """One answer to an item's question."""

    name: str  # as written in the plan
    label: str  # as people read it


class Ask(Struct, frozen=True):
    """A question with its answers."""

    question: str
    choices: tuple[Choice, ...]
    wants: Literal["", "number", "whole number"] = ""  # the answers allowed besides the choices


def convert(finding: Finding) -> Ask:
    """Asks which whole number a version of another type stands for."""
    number = _as_number(finding.versions[0]) if len(finding.versions) == 1 else None
    shown = ", ".join(f"{text.shown(v)} ({v.kind})" for v in finding.versions) or "The version"
    leave = Choice(LEAVE, "Leave it as it is")
    if len(finding.versions) > 1 and all(_as_number(v) is not None for v in finding.versions):
        return Ask(
            f"{shown} are not whole numbers. Store them as the whole numbers they stand for?",
            (Choice("convert", "Store them as whole numbers"), leave),
        )
    if number is None:
        wants: Literal["", "whole number"] = "whole number" if len(finding.versions) == 1 else ""
        return Ask(f"{shown} does not stand for a whole number. Which number is this version?", (leave,), wants)
    question = f"{shown} is not a whole number. Store it as the number {number}?"
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


def rebuild(finding: Finding) -> Ask:
    """Asks whether the content is right, so that its hash may be stored."""
    return Ask(
        f"{finding.detail.rstrip('.')}. Is the content right, so that its hash may be stored beside it?",
        (
            Choice("rebuild", "The content is right: store its hash"),
            Choice(LEAVE, "Leave both as they are"),
        ),
    )


def restore(finding: Finding) -> Ask:
    """Asks whether a document was deleted by mistake."""
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


def move(finding: Finding) -> Ask:
    """Asks whether earlier versions may move out of the document."""
    return Ask(
        f"The document is close to the largest that can be stored. Move its earlier versions into {finding.ns}_history "
        "(or the archive that a profile names)? The newest few stay; programs that read the array themselves will find "
        "the older ones there.",
        (Choice("move", "Move them into that collection"), Choice(LEAVE, "Leave it as it is")),
    )


def count(finding: Finding) -> Ask:
    """Asks which number a counter should have."""
    return Ask(
        f"{finding.detail.rstrip('.')}. What is the count?", (Choice(LEAVE, "Leave it as it is"),), wants="number"
    )
