"""Where a version is a whole document that is inserted: the swap that ``versions`` and ``flagged`` have in common."""

from __future__ import annotations

from model.errors import Refused
from model.layouts import numbering
from model.layouts.base import Stamp
from model.layouts.newest import OwnDocuments
from model.layouts.reserved_fields import compose, content_hash
from model.layouts.update_operators import check_size
from model.names import version_name
from model.records import Outcome, Version
from model.server.retry import Write, run
from model.values import canonical as c
from model.values.canonical import Value


class Inserted(OwnDocuments):
    """A layout whose swap inserts the whole new version."""

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> list[Write]:
        """The one insert."""
        raw, _ = self._check(base)
        v = v or numbering.following(base.v, self.profile, stamp.at)
        values = self._values(stamp, v, raw)
        if self.profile.hash and (stored := c.get(raw, (self.profile.hash,))) is not None:
            values[self.profile.hash] = Value.of(content_hash(content, self.profile, stored))
        new = compose(raw, self.own.names, content, values)
        check_size(new)
        return [Write(self.ns, "insert", {}, new, f"{version_name(v)} is inserted")]

    def _values(self, stamp: Stamp, v: Value, raw: bytes) -> dict[str, Value | None]:
        """What the layout sets in its own fields of a version that follows the stored ``raw``."""
        return self._own_values(stamp, v)

    def swap(self, id: Value, base: Version, content: bytes, stamp: Stamp | None = None) -> Outcome:
        """Insert the next version if the base is still the newest."""
        stamp = stamp or Stamp()
        if stamp.author and self.profile.author:
            content = c.put(content, (self.profile.author,), Value.of(stamp.author))
        try:
            if reason := self.writable(base):
                raise Refused(reason)
            v = self._next(id, base, stamp)
            write = self.steps(id, base, content, stamp, v)[0]
            if self._overtaken(id, base):
                return self._conflict(id, base)
        except Refused as error:
            return Outcome("refused", self.ns, id, str(error))
        end = run(self.server, write, lambda: self.landed(id, stamp.token))
        return self._ended(end, id, base, content, stamp, v)
