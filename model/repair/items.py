"""The items of a plan: findings with their repairs."""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

from msgspec import Struct

from model.foundation.findings import Finding
from model.repair.questions import Choice
from model.values.canonical import Value

Do: TypeAlias = Literal["yes", "no", "when answered"]


class Seen(Struct, frozen=True):
    """A stored document as the scan saw it."""

    ns: str
    id: Value  # its `_id`
    sha256: str  # of its bytes


class Item(Struct, frozen=True):
    """One finding with its repair or advice."""

    no: int  # from 1, in order of execution
    finding: Finding  # without evidence if the plan was read from a file
    repair: str | None  # a name in REPAIRS; None if a person must act as `advice` says
    do: Do  # "when answered": done once `answer` says how
    seen: tuple[Seen, ...] = ()
    question: str = ""  # the question to ask before, else ""
    choices: tuple[Choice, ...] = ()
    wants: Literal["", "number", "whole number"] = ""  # the answers allowed besides the choices
    answer: str | None = None  # the name of a choice, or a value as Extended JSON
    advice: str = ""  # what a person can do if there is no repair; one sentence

    @property
    def ticked(self) -> bool:
        """Whether the item will be done."""
        return self.repair is not None and (self.do == "yes" or (self.do == "when answered" and not self.asks))

    @property
    def asks(self) -> bool:
        """Whether the item still needs an answer."""
        return bool(self.question) and self.answer is None


def digest(raw: bytes) -> str:
    """The SHA-256 of a stored document's bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()
