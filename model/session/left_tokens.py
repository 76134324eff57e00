"""Tokens that two-step counters left between the steps."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from model.counting import pending_tokens
from model.counting.pending import in_turn
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.records import Outcome, PendingToken, Sending
from model.session.connection import Connection
from model.values.canonical import Value


class LeftTokens:
    """Tokens of two-step counters whose second step is missing."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._server, self._trust = connection.catalogue, connection.server, connection.trust

    def pending(
        self, ns: str | None = None, older_than: dt.timedelta | None = None, checkpoint: Checkpoint = no_checkpoint
    ) -> Iterator[PendingToken]:
        """Tokens left between step one and step two, of one collection or all, optionally only old ones."""
        return pending_tokens.listed(self._server, self._catalogue, ns, older_than, checkpoint)

    @staticmethod
    def is_older(token: PendingToken, age: dt.timedelta) -> bool:
        """Whether a token has at least this age; an unknown age counts as young."""
        return pending_tokens.is_older(token, age)

    @staticmethod
    def in_turn(tokens: Sequence[PendingToken]) -> list[tuple[Value | None, Value | None]]:
        """The counter before and after each of some tokens, if they are finished one after another.

        None before: there is no counter yet. None after: the counter has no room for the sum, or the token cannot be
        finished.
        """
        return in_turn(tokens)

    def preview(self, token: PendingToken, drop: bool = False) -> Sending:
        """The exact write that finishes this token, or drops it."""
        return pending_tokens.preview(self._server, self._catalogue, token, drop)

    def finish(
        self,
        tokens: Sequence[PendingToken],
        checkpoint: Checkpoint = no_checkpoint,
        confirmed: bool = False,
        run: str = "",
        reason: str = "",
    ) -> Iterator[Outcome]:
        """Send step two for each token, with one guarded write and one outcome per token.

        Tokens within the grace period are skipped unless a person has ``confirmed``; ``run`` names them all.
        """
        self._trust.check_server(writes={"change"})
        return replace(self._connection.because(reason), run=run).tokens(tokens, "finish", confirmed, checkpoint)

    def drop(
        self, tokens: Sequence[PendingToken], checkpoint: Checkpoint = no_checkpoint, confirmed: bool = False
    ) -> Iterator[Outcome]:
        """Remove tokens without counting them, one guarded write each; a token already counted is only removed.

        Tokens within the grace period are skipped unless a person has ``confirmed``.
        """
        self._trust.check_server(writes={"change"})
        return self._connection.writer.tokens(tokens, "drop", confirmed, checkpoint)
