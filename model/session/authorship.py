"""Who writes from here, and why."""

from __future__ import annotations

from msgspec.structs import replace

from model.errors import Refused
from model.session.connection import Connection


class Authorship:
    """The name and the reason that new versions get, where their layout has fields for them."""

    def __init__(self, connection: Connection) -> None:
        """Reached from a session; ``connection`` is what its parts share."""
        self._connection, self._catalogue = connection, connection.catalogue

    @property
    def author(self) -> str:
        """The name that a person gave for collections that ask for one; "" if none; settable."""
        return self._connection.writer.named or ""

    @author.setter
    def author(self, name: str) -> None:
        self._connection.writer = replace(self._connection.writer, named=name.strip() or None)

    def asks_author(self, ns: str) -> bool:
        """Whether a person must give a name, kept in :attr:`author`, before anything is written there."""
        return self._catalogue.layout(ns).profile.asks_author and not self.author

    def takes_reason(self, ns: str) -> bool:
        """Whether a version written from here can record why, in a field of its profile or writer."""
        return self._catalogue.layout(ns).takes_reason

    def because(self, ns: str, reason: str) -> None:
        """Give the reason for all further writes; raises ``Refused`` if no field is named for it.

        With ``ns`` "", for runs over several collections, those without such a field record it only in the journal.
        """
        if ns and not self.takes_reason(ns):
            raise Refused(f'No field of {ns} is stated to hold a reason; name it in a profile, as in reason = "why".')
        self._connection.writer = self._connection.because(reason)
