"""``nested``: the current version is the document itself, which holds complete earlier ones in an array field.

Mongoid::Versioning stores versions like this; its names are the defaults.

Stored: ``{_id, version, …, versions: [{version, …}, …]}``, oldest first; an element is the whole document as it was,
without the array and its ``_id`` (Mongoid leaves a null there, which is ignored). Index: the one on ``_id``. Lists
never read the array. If an application keeps only the latest few, there is a gap below them.

The swap, one write: filter ``_id``, version and token, by type, and the values that the edit replaces; ``$push`` of
the version that was read onto the array, and operators that name only the changes. A change that operators cannot
express replaces the document with its array; the filter then holds the whole document as it was read.

Crash points: before the write nothing has happened, after it everything has. In doubt the token is searched in the
document and in the array; if it is nowhere and the next version has another one: not applied. The server refuses a
document that would exceed 16 MB.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec.structs import replace

from model.checks.embedded_chain import embedded_chain
from model.checks.facts import FactReader
from model.checks.rules import CheckContext, DamageDraft
from model.checks.single_documents import SingleDocuments
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.server import guards
from model.server.retry import Port, Write
from model.storage import numbering, update_operators
from model.storage.current_documents import CurrentDocuments
from model.storage.current_writer import CurrentWriter, Landing, VersionGuard, guarded_besides
from model.storage.embedded_history import EmbeddedHistory
from model.storage.reserved_fields import Own, compose, legible_field, own_of
from model.storage.swap_steps import Stamp, SwapSteps
from model.storage.update_operators import Whole, check_size
from model.text.names import version_name
from model.values import canonical as c
from model.values.canonical import Path, Value

if TYPE_CHECKING:
    from model.recognition.sampling import Proposal, Sample


class Nested(Layout):
    """Documents that contain their earlier states."""

    name = "nested"
    about = "the current version at the top of a document, earlier ones in an array inside it"
    where = "earlier versions in {prev}"
    roles = ("id", "version", "token", "prev")
    defaults: ClassVar[Mapping[str, str]] = {"version": "version", "prev": "versions"}
    lacks = "no version, and no array of earlier states of the same document, were found in it."

    def __init__(self, server: Port, profile: CollectionProfile) -> None:
        super().__init__(server, profile)
        self.own = own_of(profile, profile.prev)
        current = CurrentDocuments(server, profile, self.own)
        self.reader = self._history = EmbeddedHistory(current)
        self._guard = VersionGuard(current)
        landing = Landing(self._history.landed_before, self._history.follows, self._history.history)
        self.writer = self._writer = CurrentWriter(server, current, self._guard, landing)

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """Proposes an array whose elements are similar to the document, with lower versions."""
        from model.recognition import find_nested

        return find_nested.nested(sample)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The proposed fields, else the likeliest version with an array named as a history."""
        from model.recognition import find_nested

        return find_nested.picked(sample, cls.defaults["prev"])

    # --- reading

    def document(self, raw: bytes) -> bytes:
        """The document without the array."""
        return c.without(raw, [self.profile.prev])

    def hashed_parts(self, ns: str, raw: bytes, id: Value | None) -> list[tuple[Path, bytes]]:
        """The hash of the document, then that of each version in its array."""
        name, prev = self.profile.hash, c.get(raw, (self.profile.prev,))
        past = c.items(prev) if prev is not None and prev.type == c.ARRAY else []
        inner = [((self.profile.prev, at), each) for at, each in enumerate(past) if each.type == c.OBJECT]
        return [((name,), self.content(raw)), *(((*path, name), self.own.content(v.data)) for path, v in inner)]

    @property
    def check(self) -> SingleDocuments:
        """Checks each document by itself, as if its current version were a sub-document next to the array."""
        reader = FactReader(replace(self.own, others=self.profile.lock_names), self.profile, "")
        return SingleDocuments(
            self.server, self.profile, FactReader(Own(self.profile.id), self.profile, self.profile.id), _judge(reader)
        )

    # --- writing

    def steps(self, id: Value, base: Version, content: bytes, stamp: Stamp, v: Value | None = None) -> SwapSteps:
        """A single guarded update of the document and its array."""
        raw, old = self._check(base)
        p, physical = self.profile, guards.physical_id(raw)
        values = self._writer.own_values(raw, content, stamp, v or numbering.following(base.v, p, stamp.at))
        self.foreign.refuse_inside()
        values |= self.foreign.moved(raw)
        self._writer.refuse_dots(raw, content)
        past = c.get(raw, (p.prev,))
        if past is not None and past.type != c.ARRAY:
            raise Refused(f"{p.prev} is a {past.kind}, not a list of earlier versions; mend that before editing.")
        # Without the array: each version would otherwise hold all earlier ones again, and the document would double.
        was = Value.document(c.without(raw, ["_id", p.id, p.prev]))
        where = guards.by_id(physical)
        # Rather too much than too little: what the edit replaces is counted too.
        check_size(raw + was.data + content)

        def made() -> bytes:
            after = c.appended(past if past is not None else c.array(()), was)
            return compose(raw, self.own.names, content, {**values, p.prev: after})

        edit = update_operators.operators(old, content)
        if edit is not None:
            body: dict[str, Any] = {"$push": {p.prev: was}} | edit.body(values)
            where |= self._guard.clauses(base) | edit.guard()
            return SwapSteps(Write(self.ns, "update", where, body, "the swap", returns=True), made)
        # Replacing the document includes its array, so the guard has to hold all of it: somebody may have added to it.
        whole = Whole(made())
        where |= self._writer.whole_guard(base, len(whole.raw))
        return SwapSteps(Write(self.ns, whole.kind, where, whole.body, "the swap", returns=True), lambda: whole.raw)

    def follows(self, id: Value, base: Version) -> Version | None:
        """The base if it was read with its array: that left with the document."""
        return base if base.raw is not None and base.content is not None else None

    def explain(self, base: Version) -> str:
        """What the update does, and its guard."""
        p = self.profile
        also = guarded_besides(p)
        return (
            f"One update copies {version_name(base.v)} to the end of {p.prev} and changes the document. It applies "
            f"only if {p.version} is still {version_name(base.v).removeprefix('v')}{also}."
        )

    def as_stored(self, id: Value, versions: Sequence[Version]) -> tuple[tuple[str, bytes], ...]:
        """One document with all versions."""
        ids, current, past = self._history.whole(id, versions)
        behind = [(self.profile.prev, past)] if past.data != c.EMPTY else []
        raw = c.document([*ids, *c.fields(current), *behind])
        check_size(raw)
        return ((self.ns, raw),)


def _judge(reader: FactReader) -> Any:
    def judged(raw: bytes, id: Value, ground: CheckContext, sound: bool) -> list[DamageDraft]:
        p = ground.profile
        past = legible_field(raw, p.prev)
        parts = [(p.current, Value.document(c.without(raw, [p.prev])))] + ([(p.prev, past)] if past is not None else [])
        drafts = embedded_chain(reader, c.document(parts), id, ground, sound)
        return [replace(each, repair=None) for each in drafts]  # that repair is for an array of another layout

    return judged
