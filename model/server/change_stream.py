"""The changes of a collection, or of several, as the server tells them, and the errors of a server that does not.

A change stream is read through here one event at a time; the place behind the last event is a resume token. Both are
raw BSON. Only the driver resumes a stream by itself: the reader knows which events are dealt with.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal, Protocol, TypeAlias

from bson.raw_bson import RawBSONDocument

from model.errors import NotAllowed, Refused

_UNKNOWN_STAGE = (40573, 40324, 59, 115, 238, 303)
_DENIED = (13, 18, 391, 8000)
_LOST = (286, 280, 136, 260, 222, 50811)
_TOO_LARGE = 10334
_WORDS = ("$changestream", "change stream")
_SWITCHED_OFF = "modifychangestreams has not been run"


class NoChanges(Refused):
    """The server has no change streams, or none for this user: ``denied`` to whom others may still be allowed."""

    def __init__(self, said: str, denied: bool = False) -> None:
        super().__init__(said)
        self.denied = denied


class HistoryLost(Refused):
    """The place to go on from is not in the server's history any more."""


class TooLarge(Refused):
    """The next events are too large for one answer: take a single one, without its document if that is too large."""


Take: TypeAlias = Literal["many", "one", "bare"]
"""How events come: many in one answer; one in each, so that a large one is in nobody's way; one without documents."""


class _ServerStream(Protocol):
    """The part of the driver's change stream that is used."""

    @property
    def resume_token(self) -> Any: ...
    @property
    def alive(self) -> bool: ...
    def try_next(self) -> Any: ...
    def close(self) -> None: ...


class Changes:
    """A change stream that is open; :meth:`close` it."""

    def __init__(self, stream: _ServerStream, trouble: Callable[[Exception], Refused]) -> None:
        self._stream, self._trouble = stream, trouble

    def next(self) -> bytes | None:
        """The next event, or None where none came in the time to wait.

        Raises ``HistoryLost``, ``TooLarge``, or ``Refused`` as reading does; the stream is to be opened anew then.
        """
        try:
            event = self._stream.try_next()
        except Exception as error:
            raise said(error, self._trouble) from None
        return None if event is None else bytes(event.raw)

    @property
    def ended(self) -> bool:
        """Whether no event can come any more: the collection was dropped or renamed."""
        return not self._stream.alive

    @property
    def token(self) -> bytes | None:
        """The place behind the events read; None where the server does not tell one before the first event."""
        token = self._stream.resume_token
        return None if token is None else bytes(token.raw) if isinstance(token, RawBSONDocument) else None

    def close(self) -> None:
        """Let go of the stream; never raises."""
        with suppress(Exception):  # where the connection is gone, so is the stream
            self._stream.close()


def said(error: Exception, trouble: Callable[[Exception], Refused], alone: bool = False) -> Refused:
    """The meaning of an error of a change stream; ``trouble`` knows those of any read.

    ``alone``: the server is no member of a set, so that any refusal in its own words means that it has no streams.
    """
    code = getattr(error, "code", None)
    text = str(error).lower()
    if isinstance(known := trouble(error), NotAllowed):
        return NoChanges(str(known), denied=True)
    if alone and hasattr(error, "details") and code not in _DENIED:
        return NoChanges("This server has no change streams.")
    if _SWITCHED_OFF in text:  # under a code that elsewhere means a lost history
        return NoChanges(
            "Change streams are switched off for this collection; the command modifyChangeStreams switches them on."
        )
    if code == _TOO_LARGE:
        return TooLarge("The server cannot tell of a change in one answer, which holds 16 MB at most.")
    if code in _LOST or ("resume" in text and "oplog" in text):
        return HistoryLost("The server's history does not go back to where the feed stood.")
    if code in _UNKNOWN_STAGE or (code is not None and code not in _DENIED and any(word in text for word in _WORDS)):
        return NoChanges("This server has no change streams.")
    return known
