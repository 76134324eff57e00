"""``stream``: the current version in one collection; an archive that is fed by a change stream or the oplog.

Stored: as in ``archive``, but the archive holds the current version too, once the feeder has come by. Indexes: ``_id``;
the archive's belong to its feeder.

The swap, one write: filter ``_id``, version and token, by type, and what the edit replaces; operators name only what
changed. The archive is never written from here.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is looked for in the
current document and in the archive; where the feeder is behind and others have written since, the outcome is unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from model.canonical import Value
from model.layouts import numbering, paired
from model.layouts.archived import WithArchive
from model.layouts.base import Stamp
from model.layouts.evidence import Proposal, Sample
from model.names import version_name
from model.records import Version
from model.resilient import Port, Write


class Stream(WithArchive):
    """Current documents with an archive that others feed."""

    name = "stream"
    about = "an archive fed by a change stream"
    where = "every version is copied to {archive}"
    roles = ("id", "version", "token", "archive", "archive_id")
    defaults: ClassVar[Mapping[str, str]] = {"archive": "{ns}_history"}
    lacks = "no second collection with versions of its documents was found."
    holds_current = True

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest second collection."""
        return paired.picked(server, sample, others, cls.name)

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one guarded update."""
        v = v or numbering.following(base.v, self.profile, stamp.at)
        return [self._swap_write(base, content, self._own_values(base, content, stamp, v), "the swap")]

    def explain(self, base: Version) -> str:
        """What the swap is guarded by, and who archives."""
        token = f" and {self.profile.token} is unchanged" if self.profile.token else ""
        return (
            f"The swap applies only if {self.profile.version} is still {version_name(base.v).removeprefix('v')}{token}."
            f" {self.archive} follows by its own feed."
        )

    def _next(self, id: Value, base: Version, content: bytes, stamp: Stamp) -> Value | None:
        proposed = numbering.following(base.v, self.profile, stamp.at)
        return numbering.draw(self.server, self.profile, id, proposed)

    def _first(self, id: Value, content: bytes, stamp: Stamp) -> Value | None:
        return numbering.draw(self.server, self.profile, id, self.above_archive(id, stamp))
