"""Somebody else at work on the sample, so that conflicts can be tried."""

from __future__ import annotations

from bson import ObjectId
from msgspec.structs import replace

from model.errors import NotAllowed
from model.foundation.news import News, tell
from model.foundation.records import Outcome, Version
from model.localserver import sample
from model.session.connection import Connection
from model.storage.swap_steps import Stamp
from model.values import canonical
from model.values.canonical import Value


class SampleColleague:
    """A colleague who changes documents of the sample."""

    def __init__(self, connection: Connection) -> None:
        """Reached from a session; ``connection`` is what its parts share."""
        self._connection = connection
        self._catalogue, self._trust = connection.catalogue, connection.trust

    def change(self, ns: str, id: Value) -> Outcome:
        """Change a document of the sample as somebody else would; refused for other sources."""
        if not self._connection.is_sample:
            raise NotAllowed("Only documents of the sample are changed as a colleague would.")
        self._trust.check_server(ns)
        layout = self._catalogue.layout(ns)
        base = layout.version(id)
        content = self.content(ns, id, base)
        # Not journalled: for the user it is somebody else's write.
        outcome = layout.swap(id, base, content, Stamp(ObjectId(), sample.COLLEAGUE))
        tell(News(self._connection.data, outcome))
        if owner := self._catalogue.info(ns).belongs_to:  # an archive row: some document's history has changed
            tell(News(self._connection.data, replace(outcome, ns=owner, id=None)))
        return outcome

    def content(self, ns: str, id: Value, base: Version | None = None) -> bytes:
        """The content that :meth:`change` would make of a document, or of one version of it."""
        base = base or self._catalogue.layout(ns).version(id)
        return sample.colleague_change(ns, id, base.content or canonical.EMPTY)
