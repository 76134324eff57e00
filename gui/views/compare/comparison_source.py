"""Where a panel's comparisons come from: two versions of one document, or of two documents anywhere."""

from __future__ import annotations

from typing import Protocol

from gui.language import tr, translated
from gui.parts.document_side import DocumentSide
from model.diff.comparison_rules import EXACT, ComparisonRules
from model.errors import Unreadable
from model.foundation.records import Opened, Version
from model.session import Session
from model.session.history_reading import Comparison
from model.values.canonical import Value


class ComparisonSource(Protocol):
    """Two versions and their differences; every method may wait for the server."""

    @property
    def source(self) -> str:
        """The name under which hidden fields are stored."""

    @property
    def read_only(self) -> bool:
        """Whether nothing may be restored."""

    def compare(
        self, ns: str, id: Value, v: Value | None, w: Value | None, rules: ComparisonRules = EXACT
    ) -> Comparison:
        """Two versions and the difference from the first to the second, by rules besides the profile's."""

    def open(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """One version for reading."""


class VersionSource:
    """Compares versions of one document."""

    def __init__(self, session: Session) -> None:
        self.session, self.source = session, session.source

    @property
    def read_only(self) -> bool:
        """Whether the session writes nothing."""
        return self.session.trust.read_only

    def compare(
        self, ns: str, id: Value, v: Value | None, w: Value | None, rules: ComparisonRules = EXACT
    ) -> Comparison:
        """Two versions of the document, with their difference."""
        reading = self.session.history
        return reading.compare(ns, id, v, w, rules.with_unordered(reading.rules(ns).unordered))

    def open(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """A version of the document."""
        return self.session.history.open(ns, id, v)


class PairSource:
    """Compares versions of the left document with versions of the right one."""

    def __init__(self, left: DocumentSide, right: DocumentSide) -> None:
        self.left, self.right = left, right
        self.source = left.session.source
        self.read_only = False

    def compare(
        self, ns: str, id: Value, v: Value | None, w: Value | None, rules: ComparisonRules = EXACT
    ) -> Comparison:
        """Version ``v`` of the left document and ``w`` of the right one, with their difference."""
        sides = ((self.left, v), (self.right, w))
        a, b = (side.session.history.version(side.ns, side.id, number) for side, number in sides)
        one, other = (Value.document(_content(each, side)) for each, (side, _) in zip((a, b), sides, strict=True))
        whole = rules.with_unordered(self.left.session.history.rules(self.left.ns).unordered)
        return Comparison(a, b, whole.compare(one, other), whole)

    def open(self, ns: str, id: Value, v: Value | None = None) -> Opened:
        """A version of the right document."""
        return self.right.session.history.open(self.right.ns, self.right.id, v)


def _content(version: Version, side: DocumentSide) -> bytes:
    if version.content is None:
        raise Unreadable(
            tr(
                "{name} has no content to compare ({detail}).",
                name=side.name,
                detail=translated(version.detail) or translated(version.state),
            )
        )
    return version.content
