"""Evidence for and against a layout, as rows that add up.

Each kind of candidate has a table. A row has a name, a test, a weight, an upper limit for the confidence, and a
clause for "Why". To add a sign, add a row; nothing else determines a proposal's confidence and words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")

RULED_OUT = 0.0
"""The limit of a row that no other row can outweigh."""


def no_weight(candidate: Any) -> float:
    """The weight of a row that only limits, or only adds words."""
    return 0.0


def no_limit(candidate: Any) -> float:
    """The limit of a row that only weighs, or only adds words."""
    return 1.0


def no_words(candidate: Any) -> str:
    """The clause of a row that adds none to "Why"."""
    return ""


class Sign(Struct, Generic[T], frozen=True):
    """One row of a table: a sign to look for in each candidate of a kind."""

    name: str
    looks_at: str
    weighs: Callable[[T], float] = no_weight
    leaves: Callable[[T], float] = no_limit
    says: Callable[[T], str] = no_words


class Ground(Struct, frozen=True):
    """A sign as found in one candidate."""

    name: str
    looks_at: str
    weight: float = 0.0
    most: float = 1.0  # upper limit for the confidence
    sentence: str = ""

    @property
    def against(self) -> bool:
        """Whether it speaks against the candidate."""
        return self.weight < 0 or self.most < 1


class Grounds(Struct, frozen=True):
    """The rows found for one candidate, and their result."""

    rows: tuple[Ground, ...] = ()

    @property
    def confidence(self) -> float:
        """The sum of the weights, up to the lowest limit of a row."""
        return min(sum(row.weight for row in self.rows), *(row.most for row in self.rows), 1.0)

    def and_then(self, further: Grounds) -> Grounds:
        """These rows, followed by further ones."""
        return Grounds(self.rows + further.rows)

    @property
    def stands(self) -> bool:
        """Whether no row rules the candidate out."""
        return all(row.most > RULED_OUT for row in self.rows)

    @property
    def ruled_out_by(self) -> str:
        """The name of the row that rules the candidate out; "" if none does."""
        return "" if self.stands else self.rows[-1].name

    @property
    def clauses(self) -> str:
        """The clauses of the rows, as the beginning of a sentence."""
        return "; ".join(row.sentence for row in self.rows if row.sentence)

    def weakest(self, below: float) -> str:
        """The clauses of the rows that leave the confidence below a value, joined; "" if none has a clause."""
        return " and ".join(row.sentence for row in self.rows if row.most < below and row.sentence)

    @property
    def why(self) -> str:
        """The clauses of the rows as a sentence."""
        said = self.clauses
        return f"{said[:1].upper()}{said[1:]}." if said else ""


def weighed(table: Iterable[Sign[T]], candidate: T) -> Grounds:
    """The rows of a table as found in a candidate, up to the first that rules it out."""
    found: list[Ground] = []
    for row in table:
        most = row.leaves(candidate)
        weight = row.weighs(candidate) if most > RULED_OUT else 0.0
        found.append(Ground(row.name, row.looks_at, weight, most, row.says(candidate)))
        if most == RULED_OUT:
            break
    return Grounds(tuple(found))


def fixed(weight: float) -> Callable[[Any], float]:
    """A weight that does not depend on the candidate."""
    return lambda candidate: weight


def where(condition: Callable[[T], bool], weight: float, otherwise: float = 0.0) -> Callable[[T], float]:
    """The weight of a sign that is present or absent."""
    return lambda candidate: weight if condition(candidate) else otherwise


def unless(condition: Callable[[T], bool], most: float = RULED_OUT) -> Callable[[T], float]:
    """The limit of a row: none, or ``most`` if the condition holds."""
    return lambda candidate: most if condition(candidate) else 1.0
