"""Blame for a session: a history followed far enough; and a filter as a test of contents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from model import text
from model.errors import Unreadable
from model.foundation.records import Checkpoint, Condition, Matches, Version
from model.history.chain import Blame, Follower, Pause
from model.mql.filters import looked_at, predicate
from model.text.names import version_name
from model.values.canonical import Value


class RepeatedCheckpoint:
    """A checkpoint that can be called again between two steps, because a step may take seconds."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        self._last: tuple[int, int | None] = (0, None)

    def __call__(self, done: int, total: int | None) -> None:
        """Call the checkpoint itself."""
        self._last = done, total
        self._checkpoint(done, total)

    def again(self) -> None:
        """Call the checkpoint again with the last step."""
        self._checkpoint(*self._last)


def blamed(
    versions: Iterable[Version],
    keys: Sequence[str],
    pause: Pause = lambda: None,
    inside: bool = True,
    left_out: list[Version] | None = None,
) -> tuple[Blame, ...]:
    """Each field of the current version with the version that last set it.

    ``left_out`` gets the versions that never landed.
    Raises ``Unreadable`` if that version cannot be taken apart: an earlier one would be no answer.
    """
    follower = Follower(keys, pause, inside)
    for version in versions:
        if left_out is not None and not version.landed:
            left_out.append(version.without_content())
        follower.take(version)
        if follower.settled:
            break
    chain = follower.chain()
    if (current := chain.unread) is not None:
        raise Unreadable(
            f"The current version, {version_name(current.v)}, has no fields that can be followed "
            f"({current.detail or current.state}); compare earlier versions with `palimpsest diff`."
        )
    return chain.blame()


def condition(written: str) -> Condition:
    """A typed filter as a test of contents, with the meaning that it has on a server.

    Raises ``Unreadable`` if it is not a document, ``Refused`` if it is invalid; the test also raises ``Refused``.
    """
    filter = text.loose(written)
    return Condition(predicate(filter, "The condition is not understood"), looked_at(filter))


def matches(id: Value, judged: Sequence[tuple[Version, bool]]) -> Matches:
    """The versions of one document, newest first, that a filter matches."""
    found: list[Version] = []
    runs: list[tuple[Version, Version]] = []
    follows = False
    for version, holds in judged:
        if holds:
            slim = version.without_content()
            found.append(slim)
            runs = [*runs[:-1], (slim, runs[-1][1])] if follows else [*runs, (slim, slim)]
        follows = holds
    return Matches(id, tuple(found), tuple(runs), sum(one.content is not None for one, _ in judged))
