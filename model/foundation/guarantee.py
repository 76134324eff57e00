"""A promise of a server, with what was measured of it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Verdict: TypeAlias = Literal["safe", "unsafe", "limited", "unknown"]
"""unsafe: data can be lost or changed silently; limited: something is missing and is met; unknown: not measured."""


class Guarantee(Struct, frozen=True):
    """One promise of a server, with its measurement and the advice."""

    check: str  # a fixed short name: swaps, unique, types, order, exact, names, retries, streams, clock
    title: str  # for people
    verdict: Verdict
    detail: str  # the measurement, one sentence
    advice: str = ""  # what to do, one sentence; "" if there is nothing to do
