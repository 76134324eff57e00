"""The changes of one or several collections as the server reports them, and errors of servers without change streams.

A change stream is read one event at a time; the place after the last event is a resume token. Both are raw BSON. The
driver resumes a stream only on its own errors: the reader knows which events were handled.
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
    """The server has no change streams, or ``denied`` them to this user and may allow them to others."""

    def __init__(self, said: str, denied: bool = False) -> None:
        super().__init__(said)
        self.denied = denied


class HistoryLost(Refused):
    """The resume token is no longer in the server's history."""


class TooLarge(Refused):
    """The next events are too large for one answer: read a single one, without its document if necessary."""


Take: TypeAlias = Literal["many", "one", "bare"]
"""How events arrive: many per answer; one per answer, so that a large one blocks no others; one without document."""


class _ServerStream(Protocol):
    """The methods of the driver's change stream that are used."""

    @property
    def resume_token(self) -> Any: ...
    @property
    def alive(self) -> bool: ...
    def try_next(self) -> Any: ...
    def close(self) -> None: ...


class Changes:
    """An open change stream; :meth:`close` it."""

    def __init__(self, stream: _ServerStream, trouble: Callable[[Exception], Refused]) -> None:
        self._stream, self._trouble = stream, trouble

    def next(self) -> bytes | None:
        """The next event, or None if none came within the waiting time.

        Raises ``HistoryLost``, ``TooLarge``, or ``Refused`` as reading does; then the stream must be opened anew.
        """
        try:
            # Not `next`, which waits for ever and cannot be stopped.
            event = self._stream.try_next()
        except Exception as error:
            raise said(error, self._trouble) from None
        return None if event is None else bytes(event.raw)

    @property
    def ended(self) -> bool:
        """Whether no more events can come: the collection was dropped or renamed."""
        return not self._stream.alive

    @property
    def token(self) -> bytes | None:
        """The place after the events read; None if the server does not report one before the first event."""
        token = self._stream.resume_token
        return None if token is None else bytes(token.raw) if isinstance(token, RawBSONDocument) else None

    def close(self) -> None:
        """Close the stream; never raises."""
        with suppress(Exception):  # if the connection is gone, so is the stream
            self._stream.close()


def said(error: Exception, trouble: Callable[[Exception], Refused], alone: bool = False) -> Refused:
    """The meaning of a change stream's error; ``trouble`` knows the errors of any read.

    ``alone``: the server is not in a replica set, so any refusal in its own words means that it has no change
    streams.
    """
    code = getattr(error, "code", None)
    text = str(error).lower()
    if isinstance(known := trouble(error), NotAllowed):
        return NoChanges(str(known), denied=True)
    if alone and hasattr(error, "details") and code not in _DENIED:
        return NoChanges("This server has no change streams.")
    if _SWITCHED_OFF in text:  # with a code that otherwise means a lost history
        return NoChanges(
            "Change streams are switched off for this collection; the command modifyChangeStreams switches them on."
        )
    if code == _TOO_LARGE:
        return TooLarge("The server cannot tell of a change in one answer, which holds 16 MB at most.")
    # Servers differ in their codes for this, so some are known by their words alone.
    if code in _LOST or ("resume" in text and "oplog" in text):
        return HistoryLost("The server's history does not go back to where the feed stood.")
    if code in _UNKNOWN_STAGE or (code is not None and code not in _DENIED and any(word in text for word in _WORDS)):
        return NoChanges("This server has no change streams.")
    return known
