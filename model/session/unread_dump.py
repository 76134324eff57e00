"""A large dump that was opened before it was read to its end."""

from __future__ import annotations

from model.catalogue.catalogue import Catalogue
from model.errors import Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.session.sources import SAMPLE, Source


class UnreadDump:
    """The part of a dump that is not read yet, and the reading of it; of other sources all is there."""

    unread: tuple[str, ...] = ()
    """The collections of which only the first documents are there; see :meth:`read_on`."""
    troubles: tuple[str, ...] = ()
    """Why some files could not be read to their ends, a sentence each; what comes before is there."""

    def __init__(self, opened: Source, catalogue: Catalogue) -> None:
        """Look at what is there; nothing more is read yet."""
        self._opened, self._catalogue = opened, catalogue
        self._look()

    def _look(self) -> None:
        if self._opened.is_local and self._opened.text != SAMPLE:
            state = self._opened.server.dump("look")
            self.unread, self.troubles = tuple(state["unread"]), tuple(state["troubles"])

    def read_on(self, checkpoint: Checkpoint = no_checkpoint) -> None:
        """Read a large dump to its end, and recognise its collections anew; where it was stopped, it goes on there.

        The checkpoint is told bytes done and of how many.
        """
        if not self.unread:
            return
        # The first documents mostly tell the layout, and with it the fields by which versions are looked up.
        for ns, paths in self._catalogue.lookups():
            if ns in self.unread:
                self._opened.server.dump("learn", ns=ns, paths=list(paths))
        try:
            self._opened.read_on(checkpoint)
        finally:
            self._look()
        self._catalogue.look_anew()

    def need(self, *places: str) -> None:
        """Raise ``Refused`` where not all documents of these places are there yet, of all where none is named."""
        wanted = [ns for ns in self.unread if not places or ns in places or ns.partition(".")[0] in places]
        if wanted:
            raise Refused(_part_read(wanted[0]))

    def unread_beside(self, ns: str) -> str | None:
        """A collection of the same database that is not read to its end, where versions may be; None for none."""
        db = ns.partition(".")[0]
        return next((each for each in self.unread if each.partition(".")[0] == db), None)

    def need_histories(self, ns: str) -> None:
        """Raise ``Refused`` where versions may not be read yet: they would be told as missing."""
        if (unread := self.unread_beside(ns)) is not None:
            raise Refused(_part_read(unread))


def _part_read(ns: str) -> str:
    return f"Only the first documents of {ns} have been read; this has to wait for the others."
