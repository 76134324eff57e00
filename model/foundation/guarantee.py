"""A promise of a server, with what was measured of it."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["safe", "unsafe", "limited", "unknown"]
"""unsafe: data can be lost or changed silently; limited: something is missing and is met; unknown: not measured."""


WriteKind: TypeAlias = Literal["change", "version", "hash", "dated"]
"""change: of a stored document, if it is still the one that was read; version: a document or a row of its own; hash:
with a hash of the content; dated: numbered by time."""
EVERY: frozenset[WriteKind] = frozenset(("change", "version", "hash", "dated"))


class Need(Struct, frozen=True):
    """The writes that rely on a promise, and how people call them."""

    writes: frozenset[WriteKind]
    called: str


NEEDS: Mapping[str, Need] = {
    "swaps": Need(frozenset(("change",)), "edits, deletes and counts that change a stored document"),
    "unique": Need(frozenset(("version",)), "new versions that are documents or rows of their own"),
    "types": Need(EVERY, "every write"),
    "order": Need(frozenset(("hash",)), "writes that store a hash of the content"),
    "clock": Need(frozenset(("dated",)), "versions that are numbered by time"),
}
"""By the check that measures it. Where it is unsafe, these writes are refused and no others; a check that is not here
is never unsafe: every write from here survives without it."""


def relies(check: str, writes: Set[WriteKind]) -> bool:
    """Whether writes of these kinds rely on the promise that a check measures; each relies on an unknown one."""
    return check not in NEEDS or bool(NEEDS[check].writes & writes)


class Guarantee(Struct, frozen=True):
    """One promise of a server, with its measurement and the advice."""

    check: str  # a fixed short name: swaps, unique, types, order, exact, names, retries, streams, clock
    title: str  # for people
    verdict: Verdict
    detail: str  # the measurement, one sentence
    advice: str = ""  # what to do, one sentence; "" if there is nothing to do
