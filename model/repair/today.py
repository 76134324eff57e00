"""The findings of a scan today for the documents of a plan, because a plan file may be old, or anybody's."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from model.foundation.findings import Finding, Unchecked
from model.values.canonical import Value


class Today(Struct, frozen=True):
    """Today's findings by collection, document and class, and what could not be checked."""

    doubts: dict[str, str] = field(default_factory=dict)  # collections whose layout is in doubt, and why
    found: dict[tuple[str, Value | None, str], Finding] = field(default_factory=dict)
    unchecked: dict[tuple[str, Value | None], str] = field(default_factory=dict)  # None: the whole collection

    def note(self, results: Iterable[Finding | Unchecked]) -> None:
        """Add the results of a scan."""
        for each in results:
            if isinstance(each, Unchecked):
                self.unchecked[each.ns, each.id] = each.why
                continue
            self.found[each.ns, each.id, each.code] = each
            if each.doubt:
                self.doubts.setdefault(each.ns, each.doubt)

    def now(self, finding: Finding) -> Finding | None:
        """Today's version of a plan's finding; None if there is none."""
        return self.found.get((finding.ns, finding.id, finding.code))

    def why_not(self, finding: Finding) -> str:
        """Why its document could not be checked today; "" if it was checked."""
        return self.unchecked.get((finding.ns, finding.id)) or self.unchecked.get((finding.ns, None), "")
