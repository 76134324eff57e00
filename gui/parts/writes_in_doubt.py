"""Writes whose outcome is unknown: a message tells how many, with a button that looks for each of them again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QWidget

from gui import messages, tasks
from gui.language import tr
from model.foundation.records import Outcome
from model.session import Session

if TYPE_CHECKING:
    from model.foundation.records import Doubt


class WritesInDoubt:
    """Looks for a panel's writes whenever a person asks, until the outcome of each is known.

    ``said`` is the sentence about a number of them; ``found`` gets the outcomes.
    """

    def __init__(
        self, panel: QWidget, session: Session, said: Callable[[int], str], found: Callable[[Sequence[Outcome]], object]
    ) -> None:
        self._panel, self._session = panel, session
        self._said, self._found = said, found

    def tell(self, ends: Sequence[Outcome], error: BaseException | None = None) -> None:
        """Say how many of these writes have an unknown outcome, and which error interrupted the work on them."""
        unknown = [end for end in ends if end.kind == "unknown"]
        if unknown:
            messages.doubt(self._panel, self._said(len(unknown)), partial(self._look, unknown), error=error)
        elif error is not None:
            messages.fail(self._panel, error)

    def _look(self, unknown: Sequence[Outcome]) -> None:
        session = self._session
        tasks.run(
            lambda _: [session.way_back.settle(end) if end.entry is not None else end for end in unknown],
            done=self._looked,
            failed=partial(self.tell, unknown),
            owner=self._panel,
            key="check",
            title=tr("Checking"),
        )

    def _looked(self, ends: list[Outcome]) -> None:
        self._found(ends)
        self.tell(ends)


DOUBTS: Mapping[Doubt, str] = {
    "gap": tr("A version is missing"),
    "undated": tr("No time was kept"),
    "clock": tr("A clock ran backwards"),
    "content": tr("Content not proven"),
    "above": tr("Above the current version"),
    "deleted": tr("Deleted, time unknown"),
}
