"""A large dump that was opened before it was read completely."""

from __future__ import annotations

from model.catalogue.catalogue import Catalogue
from model.errors import Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.session.sources import SAMPLE, Source


class UnreadDump:
    """The part of a dump that is not read yet, and how to read it; other sources have no such part."""

    unread: tuple[str, ...] = ()
    """The collections with only their first documents read; :meth:`read_on` reads the rest."""
    troubles: tuple[str, ...] = ()
    """Why some files could not be read completely, one sentence each; their readable beginning is there."""

    def __init__(self, opened: Source, catalogue: Catalogue) -> None:
        """Find out what has been read; reads nothing more."""
        self._opened, self._catalogue = opened, catalogue
        self._look()

    def _look(self) -> None:
        if self._opened.is_local and self._opened.text != SAMPLE:
            state = self._opened.server.dump("look")
            self.unread, self.troubles = tuple(state["unread"]), tuple(state["troubles"])

    def read_on(self, checkpoint: Checkpoint = no_checkpoint) -> None:
        """Read a large dump completely and recognise its collections anew; a stopped reading resumes.

        The checkpoint receives the bytes read and their total.
        """
        if not self.unread:
            return
        # The first documents usually tell the layout, and so the fields by which versions are looked up.
        for ns, paths in self._catalogue.lookups():
            if ns in self.unread:
                self._opened.server.dump("learn", ns=ns, paths=list(paths))
        try:
            self._opened.read_on(checkpoint)
        finally:
            self._look()
        self._catalogue.look_anew()

    def need(self, *places: str) -> None:
        """Raise ``Refused`` unless all documents of these places (default: everything) have been read."""
        wanted = [ns for ns in self.unread if not places or ns in places or ns.partition(".")[0] in places]
        if wanted:
            raise Refused(_part_read(wanted[0]))

    def unread_beside(self, ns: str) -> str | None:
        """A collection of this database that is not completely read and may hold versions; None if there is none."""
        db = ns.partition(".")[0]
        return next((each for each in self.unread if each.partition(".")[0] == db), None)

    def need_histories(self, ns: str) -> None:
        """Raise ``Refused`` if versions may be unread, because they would be reported as missing."""
        if (unread := self.unread_beside(ns)) is not None:
            raise Refused(_part_read(unread))


def _part_read(ns: str) -> str:
    return f"Only the first documents of {ns} have been read; this has to wait for the others."
