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
from typing import Any, ClassVar

from msgspec.structs import replace

from model.checks.embedded_chain import embedded_chain
from model.checks.facts import FactReader
from model.checks.rules import CheckContext, DamageDraft
from model.checks.single_documents import SingleDocuments
from model.errors import Refused
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.recognition.field_names import BEFORE, bare
from model.recognition.find_embedded import inner
from model.recognition.key_candidates import is_version_name, names_a_part, version_fields
from model.recognition.metadata_fields import stamps
from model.recognition.sampling import Document, Proposal, Sample, chain_of, of
from model.recognition.version_order import Inside, judged_inside
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
from model.values.canonical import Value


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
        found = [
            made for prev in _arrays(sample) for name in version_fields(sample) if (made := _told(sample, name, prev))
        ]
        return max(found, key=lambda each: (each.profile.layout == cls.name, each.confidence), default=None)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The proposed fields, else the likeliest version with an array named as a history."""
        version = next(iter(version_fields(sample)), "")
        named = [name for name in _arrays(sample) if bare(name) in BEFORE]
        made = cls.proposed(server, sample)
        if (made is not None and made.profile.layout == cls.name) or not version:
            return made
        found = stamps([], sample.documents, {"_id", version})
        prev = named[0] if named else cls.defaults["prev"]
        profile = CollectionProfile(sample.ns, cls.name, version=version, prev=prev, token=found.token, at=found.at)
        return Proposal(profile, 0.3, "")

    # --- reading

    def document(self, raw: bytes) -> bytes:
        """The document without the array."""
        return c.without(raw, [self.profile.prev])

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
            raise Refused(f"{p.prev} is a {past.kind} and no list of earlier versions; mend that before editing.")
        was = Value.document(c.without(raw, ["_id", p.id, p.prev]))
        where = guards.by_id(physical)
        check_size(raw + was.data + content)

        def made() -> bytes:
            after = c.appended(past if past is not None else c.array(()), was)
            return compose(raw, self.own.names, content, {**values, p.prev: after})

        edit = update_operators.operators(old, content)
        if edit is not None:
            body: dict[str, Any] = {"$push": {p.prev: was}} | edit.body(values)
            where |= self._guard.clauses(base) | edit.guard()
            return SwapSteps(Write(self.ns, "update", where, body, "the swap", returns=True), made)
        whole = Whole(made())
        where |= self._writer.whole_guard(base, len(whole.raw))
        return SwapSteps(Write(self.ns, whole.kind, where, whole.body, "the swap", returns=True), lambda: whole.raw)

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


# --- being recognised


def _arrays(sample: Sample) -> list[str]:
    return [name for name, shape in sample.shapes.items() if shape.share(c.ARRAY) >= 0.3]


def _told(sample: Sample, version: str, prev: str) -> Proposal | None:
    """The proposal with these two fields; None if the elements are not earlier states of their document.

    If any document contradicts, proposes ``plain`` and says what contradicts.
    """
    inside = [
        Inside(d.get("_id"), [_bare(each, prev) for each in past], _bare(d, prev))
        for d in sample.documents
        if (past := inner(d.get(prev))) and d.place(version) is not None
    ]
    alike = sum(each.alike for each in inside)
    if not inside or alike < 0.6 * len(inside):
        return None
    judged = judged_inside(inside, version, prev)
    chains = [chain_of([*each.past, each.now], version) for each in inside]
    dense = sum(each.places[-1] - each.places[-2] == 1 for each in chains if len(each.places) > 1)
    dated = sample.shapes[version].share(c.DATE) > 0.5
    named = is_version_name(version)
    if not named and (dense < 0.8 * len(chains) or dated or names_a_part(version)):
        return None
    shape = f"The elements of {prev} have the shape of the document itself"
    if not judged.earned:
        but = Proposal(CollectionProfile(sample.ns), 0.7, f"{shape}, but {judged.against}.", ("nested",))
        return but if named and judged.against else None
    found = stamps(chains, [d for each in chains for d in each.documents], {"_id", version, prev})
    good = judged.good / max(1, judged.several)
    confidence = 0.7 + 0.15 * good + 0.1 * alike / len(chains) + (0.03 if bare(prev) in BEFORE else 0)
    confidence -= 0.15 if len(chains) < 2 and bare(prev) not in BEFORE else 0
    whole = "have any" if len(chains) > 1 else "has any"
    why = (
        f"{shape}, and a {version} below its own in {of(len(chains), len(chains), 'document')} that {whole}; "
        f"{judged.said}{'; ' + found.said if found.said else ''}."
    )
    profile = CollectionProfile(
        sample.ns,
        "nested",
        version=version,
        prev=prev,
        token=found.token,
        hash=found.hash,
        **found.sealing,
        at=found.at,
        author=found.author,
        numbering="time" if dated else "next",
    )
    return Proposal(profile, round(min(confidence, 0.98), 2), why)


def _bare(state: Document, prev: str) -> Document:
    """A state without its ``_id`` and the array, to compare it with others."""
    return Document(c.without(state.raw, ["_id", prev]))


def _judge(reader: FactReader) -> Any:
    def judged(raw: bytes, id: Value, ground: CheckContext, sound: bool) -> list[DamageDraft]:
        p = ground.profile
        past = legible_field(raw, p.prev)
        parts = [(p.current, Value.document(c.without(raw, [p.prev])))] + ([(p.prev, past)] if past is not None else [])
        drafts = embedded_chain(reader, c.document(parts), id, ground, sound)
        return [replace(each, repair=None) for each in drafts]  # that repair is for an array of another layout

    return judged
