"""The doubt in a layout if a scan's findings contradict it rather than the data.

Damage is rare. If one class of damage occurs in more than a fifth of a collection's documents, and in at least five,
the collection is probably written by other rules than those it is read by, and an edit or a repair would harm valid
rows. Then nothing is written there until a person states the layout. Some classes may occur more often.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from msgspec import Struct, field

from model.checks.rules import ORDER_ONLY
from model.foundation.findings import Finding
from model.storage.gaps import LOSS
from model.storage.reserved_fields import number_of
from model.text.names import id_name
from model.values.canonical import Value

FEWEST = 5  # documents with one class of damage
UNTIL_STATED = "So nothing is written there until a profile states its layout."


class KnownClass(Protocol):
    """What a scan has to know of a class of damage."""

    @property
    def in_any_layout(self) -> bool:
        """Whether it means the same in every layout, so that it says nothing about one."""

    @property
    def tolerable(self) -> float:
        """The share of documents up to which it is damage, and does not speak against the layout."""

    @property
    def may_be_lag(self) -> bool:
        """Whether it may only look so on a secondary that lags behind."""


ClassOf: TypeAlias = Callable[[str], KnownClass]
"""The class of damage that has a code."""


class DamageTally(Struct):
    """Counts the documents of one collection with each class of damage, in little memory."""

    ns: str
    class_of: ClassOf
    _found: dict[str, _Class] = field(default_factory=dict)

    def note(self, each: Finding) -> None:
        """Count a finding, if it says something about the layout."""
        if each.ns != self.ns or each.id is None or _is_cut_off(each):
            return
        if each.code != "H1" or "hash differs" in each.detail.replace(ORDER_ONLY, ""):  # servers reorder fields
            known = self._found.setdefault(each.code, _Class(each.id, each.detail))
            # Asked for its class only when that decides: the table of classes brings all repairs with it.
            if len(known.ids) < FEWEST or not self.class_of(each.code).in_any_layout:
                known.ids.add(hash(each.id))

    def __bool__(self) -> bool:
        return any(not self.class_of(code).in_any_layout for code in self._found)

    def speaks_against(self, layout: str, documents: int) -> str:
        """Why the layout is in doubt, one sentence; "" if it is not. ``documents``: how many were checked."""
        found = sorted(self._found.items(), key=lambda pair: -len(pair[1].ids))
        code, worst = next((pair for pair in found if self._is_too_often(*pair, documents)), ("", None))
        if worst is None:
            return ""
        return (
            f"{self.ns} is taken for {layout}, which is in doubt: {len(worst.ids):,} of its {documents:,} documents "
            f"have the same trouble, {code} (as {id_name(worst.first)}: {worst.detail})."
        )

    def _is_too_often(self, code: str, found: _Class, documents: int) -> bool:
        if len(found.ids) < FEWEST:
            return False
        known = self.class_of(code)
        return not known.in_any_layout and len(found.ids) > known.tolerable * documents


def _is_cut_off(each: Finding) -> bool:
    """Whether a document lacks its first versions and no other: who keeps only the newest leaves just this."""
    missing = [number_of(v) for v in each.versions]
    return f"missing: {LOSS}" in each.detail and ";" not in each.detail and missing == [*range(1, len(missing) + 1)]


class _Class(Struct):
    """The documents with one class of damage: the first with its finding, all others by hashes of their ids."""

    first: Value
    detail: str
    ids: set[int] = field(default_factory=set)
