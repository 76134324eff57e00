"""The number of events asked for at once: fewer while one is too large for an answer, and that one without documents.

An update's event holds the change and the document beside it, which together may be more than the 16 MB of a server's
answer; then the answer fails, with all other events that would be in it.
"""

from __future__ import annotations

from msgspec import Struct

from model.server.change_stream import Take

FIRST, MOST = 4, 200


class BatchSize(Struct):
    """The size asked for now, and for how many events still."""

    take: Take = "many"
    left: int = 0
    stretch: int = FIRST  # events that are taken one by one the next time that one is too large

    def narrower(self) -> bool:
        """Ask for less, as an answer was too large; False where there is no less."""
        if self.take == "bare":
            return False
        if self.take == "one":
            self.take, self.left = "bare", 1
        else:
            self.take, self.left, self.stretch = "one", self.stretch, min(2 * self.stretch, MOST)
        return True

    def taken(self) -> bool:
        """Count an event that is dealt with; returns whether to ask for more from here on."""
        if self.take == "many":
            self.stretch = FIRST
            return False
        self.left -= 1
        if self.left:
            return False
        self.take, self.left = ("one", self.stretch) if self.take == "bare" else ("many", 0)
        return True
