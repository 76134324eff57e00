"""Planned writes that a collection's rules or unique indexes would reject, told before the first is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from model.errors import Refused, Unreachable
from model.layouts.base import Layout
from model.storage.foresight import TOGETHER, Foreseen, Foresight

Planned = TypeVar("Planned")


def foreseen(
    layout: Layout,
    planned: Iterable[Planned],
    makes: Callable[[Planned], Sequence[Foreseen]],
    refused: Callable[[Planned, str], Planned],
) -> Iterator[Planned]:
    """The planned writes in their order, those that would be rejected as ``refused``, with the reason.

    ``makes`` gives the documents that one would store, none if it writes nothing; it may raise ``Refused``.
    """
    ahead = _foresight(layout)
    if ahead is None:
        yield from planned
        return
    rest = iter(planned)
    while some := list(islice(rest, TOGETHER)):
        yield from _judged(ahead, some, makes, refused)


def can_reject(layout: Layout) -> bool:
    """Whether the collection has rules or unique indexes that could reject a document."""
    return _foresight(layout) is not None


def _foresight(layout: Layout) -> Foresight | None:
    try:
        return layout.foresight()
    except Unreachable:
        raise
    except Refused:  # who may not see the indexes of a collection meets them when writing
        return None


def _judged(
    ahead: Foresight,
    some: Sequence[Planned],
    makes: Callable[[Planned], Sequence[Foreseen]],
    refused: Callable[[Planned, str], Planned],
) -> Iterator[Planned]:
    made: list[Sequence[Foreseen]] = []
    reasons: dict[int, str] = {}
    for at, each in enumerate(some):
        try:
            made.append(makes(each))
        except Unreachable:
            raise
        except Refused as error:
            made.append(())
            reasons[at] = str(error)
    said = iter(ahead.why_not([document for documents in made for document in documents]))
    for at, each in enumerate(some):
        why = next(filter(None, [next(said) for _ in made[at]]), "") or reasons.get(at, "")
        yield refused(each, why) if why else each
