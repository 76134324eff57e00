"""``versions``: a document for every version; the one with the highest number is current.

Stored: ``{_id: <own>, docId, v, …}`` for each version. Index: a unique one on id and version, without which nothing is
written: it is what lets one writer have a number.

The swap, step by step:

1. The newest version is read again; another one than the base, or the base changed in place, is a conflict.
2. The new version is inserted with the next number, and with the write token as its ``_id`` and beside the version.
3. A duplicate key says that another writer has that number. In doubt the token is looked for; it is not there: the same
   insert is sent once more, which the index turns away if the first one has arrived, or arrives later.

Crash points: before the insert nothing has happened, after it everything has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from model import canonical as c
from model.canonical import Value
from model.errors import Refused
from model.layouts import numbering
from model.layouts.base import Stamp
from model.layouts.edits import check_size
from model.layouts.fields import Own, compose, content_hash, own_of
from model.layouts.inminiature import outlines
from model.layouts.newest import OwnDocuments
from model.names import version_name
from model.records import Outcome, Outline, Version
from model.resilient import Write, run


class Versions(OwnDocuments):
    """Documents whose versions stand beside one another."""

    name = "versions"

    @property
    def own(self) -> Own:
        """Id, version, token, hash and time."""
        return own_of(self.profile)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers of each document's versions."""
        return outlines(self.server, self.profile, self.own, ids, self.stored)

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one insert."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        values = self._own_values(stamp, v)
        if self.profile.hash and (stored := c.get(raw, (self.profile.hash,))) is not None:
            values[self.profile.hash] = Value.of(content_hash(content, self.profile, stored))
        new = compose(raw, self.own.names, content, values)
        check_size(new)
        return [Write(self.ns, "insert", {}, new, f"{version_name(v)} is inserted")]

    def explain(self, base: Version) -> str:
        """What the insert rests on."""
        p = self.profile
        return (
            f"The new version is inserted beside {version_name(base.v)}. The unique index on {p.id} and {p.version} "
            "lets one writer have its number."
        )

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Insert the next version if the base is still the newest."""
        stamp = stamp or Stamp()
        if stamp.author and self.profile.author:
            content = c.put(content, (self.profile.author,), Value.of(stamp.author))
        try:
            if reason := self.writable(base):
                raise Refused(reason)
            v = self._next(id, base, stamp)
            (write,) = self.steps(id, base, content, stamp, v)
            if self._overtaken(id, base):
                return self._conflict(id, base)
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        end = run(self.server, write, lambda: self.landed(id, stamp.token))
        return self._ended(end, id, base, content, stamp, v)
