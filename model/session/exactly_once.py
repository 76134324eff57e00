"""Writes that may be repeated and count once: the next number, a count, an entry, a hashed document.

Reached as ``session.once``. Each is journalled, guarded and ends like every write; a person's mistake gives the
outcome ``refused`` with a sentence. Repeating one with its token, entry or id is always safe: after an unknown
outcome, or in another process a day later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from bson import ObjectId
from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.counting import counters, pending, processed
from model.errors import NotFound, Refused
from model.foundation.records import Counting, Outcome, PendingToken, Version
from model.layouts.registry import pattern_of
from model.server.guards import refuse_twin
from model.server.retry import Port, run
from model.storage.content_hashes import content_hash
from model.text.names import id_name, version_name
from model.userdata.journal import Intent
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import NUMBERS

if TYPE_CHECKING:
    from model.catalogue.catalogue import Catalogue
    from model.foundation.collection_profile import CollectionProfile
    from model.layouts.base import Layout
    from model.storage.swap_steps import Stamp
    from model.writing.writer import Writer

TRIES = 20
BY_HASH = "hash"
"""The id of an insert that means the hash of its content."""


class Once(Struct, frozen=True):
    """Writes to one source that count once; ``check`` raises ``NotAllowed`` if nothing may be written."""

    writer: Writer
    check: Callable[[], None] = lambda: None

    @property
    def _port(self) -> Port:
        return self.writer.port

    @property
    def _catalogue(self) -> Catalogue:
        return self.writer.catalogue

    def _stated(self, ns: str, counts: Counting, what: str) -> CollectionProfile:
        info, profile = self._catalogue.known(ns)
        if info.counts != counts:
            raise Refused(
                f"{ns} is taken for {info.layout} and not for {what}; say --layout {pattern_of(counts)}, or state its "
                "fields in a profile."
            )
        return profile

    # --- numbers

    def next(self, ns: str, counter: Value | object, create: bool = False) -> Outcome:
        """The next number of a counter, as the outcome's ``value``; nobody else gets it.

        ``create`` makes a missing counter, starting with 1. A number whose write is in doubt is never used.
        """
        self.check()
        return self._draw(self._counter(ns, counter), create=create)

    def _counter(self, ns: str, name: Value | object) -> counters.Counter:
        profile = self._stated(ns, "numbers", "counters")
        if reason := self._catalogue.layout(ns).foreign.uncounted():
            raise Refused(reason)
        return counters.Counter(ns, _value(name), profile.counter or "seq", profile.counted_lock)

    def _draw(self, of: counters.Counter, above: int = 0, create: bool = False) -> Outcome:
        try:
            raw = counters.read(self._port, of)
            if raw is None and not create:
                raise NotFound(counters.missing(of))
            number, _ = counters.following(of, raw, above)
        except Refused as error:
            return Outcome("refused", of.ns, of.name, str(error))

        def stored(outcome: Outcome) -> bytes | None:
            drawn = outcome.value
            return None if drawn is None or drawn == number else _counter_at(of, drawn)

        after = _counter_at(of, number)
        intent = Intent(self.writer.source, of.ns, of.name, "next number", "sequence", raw, after)
        return self.writer.send(intent, lambda _: counters.draw(self._port, of, above, create), stored)

    def insert_next(
        self,
        ns: str,
        content: bytes | Mapping[str, object],
        field: str = "",
        counter: tuple[str, Value | object] | None = None,
    ) -> Outcome:
        """Insert a document with the number after the highest, which is the outcome's ``value``.

        The number becomes the id, or the value of ``field``, which needs a unique index. With ``counter``, a
        collection and a name, the number is drawn from there, so that numbers of deleted documents are not reused. A
        new collection starts with 1.
        """
        self.check()
        try:
            layout, new = self._catalogue.layout(ns), False
        except NotFound:
            layout, new = self._catalogue.begun(ns), True
        raw, key = _raw(content), layout.profile.id
        try:
            if reason := self._catalogue.objection(ns) or layout.missing_index():
                raise Refused(reason)
            if reason := self._hindrance(layout, field, raw) or layout.unfit(raw):
                raise Refused(reason)
            of = self._counter(*counter) if counter is not None else None
            first = self._number(ns, field or key, of)
        except Refused as error:
            return Outcome("refused", ns, None, str(error))
        if isinstance(first, Outcome):
            return first
        into = "" if field == key else field
        body = self.writer.signed(layout, _numbered(raw, into, first))
        place = _value(ObjectId()) if into else first
        intent = Intent(
            self.writer.source, ns, place, "insert", layout.name, None, body, extra={"numbered": into or key}
        )

        def insert(stamp: Stamp) -> Outcome:
            outcome = self._insert(layout, raw, into, place, first, of, stamp)
            if new and outcome.kind == "applied":
                return replace(outcome, detail=f"{outcome.detail} The collection {ns} is new.")
            return outcome

        def stored(outcome: Outcome) -> bytes | None:
            number = outcome.value
            if outcome.kind != "applied" or number is None or number == first:
                return None
            return self.writer.signed(layout, _numbered(raw, into, number))

        return self.writer.send(intent, insert, stored)

    def _hindrance(self, layout: Layout, field: str, raw: bytes) -> str:
        if not field or field == layout.profile.id:
            return ""
        if field in layout.locked or "." in field or field.startswith("$"):
            return f"{field} cannot hold the number; name a field of the content, without dots or dollars."
        for index in self._port.indexes(layout.ns):
            if index.get("unique") and list(index["key"]) == [field] and not index.get("partialFilterExpression"):
                return ""
        return f"{layout.ns} has no unique index on {field}, so two could get one number; create the index first."

    def _number(self, ns: str, field: str, of: counters.Counter | None) -> Value | Outcome:
        """The number to try next, or the outcome that says why there is none."""
        if of is None:
            # Documents are searched before the highest number, because the first one may be arriving just now.
            some = next(iter(self._port.find(ns, projection={"_id": 1}, limit=1)), None) is not None
            if some and counters.highest(self._port, ns, field)[1] is None:
                raise Refused(
                    f"No {field} in {ns} is a number, so there is no last number to continue from; name a counter."
                )
            return counters.after(self._port, ns, field)
        drawn = self._draw(of, counters.highest(self._port, ns, field)[0])
        return drawn.value if drawn.kind == "applied" and drawn.value is not None else drawn

    def _insert(
        self,
        layout: Layout,
        raw: bytes,
        field: str,
        place: Value,
        number: Value,
        of: counters.Counter | None,
        stamp: Stamp,
    ) -> Outcome:
        for _ in range(TRIES):
            id = place if field else number
            outcome = layout.create(_numbered(raw, field, number), id, stamp)
            if outcome.kind == "applied":
                said = f"{outcome.detail} Its number is {text.shown(number)}."
                return replace(outcome, detail=said, value=number)
            # A refusal in doubt was already reported as unknown, so here this number went to somebody else.
            try:
                if outcome.kind != "refused" or not self._taken(layout, field, number):
                    return outcome
                following = self._number(layout.ns, field or layout.profile.id, of)
            except Refused as error:
                return Outcome("refused", layout.ns, id, str(error))
            if isinstance(following, Outcome):
                return replace(following, ns=layout.ns, id=id)
            number = following
        return Outcome("refused", layout.ns, None, f"Others insert into {layout.ns} all the time; try again.")

    def _taken(self, layout: Layout, field: str, number: Value) -> bool:
        if not field:
            return layout.exists(number)
        return next(iter(self._port.find(layout.ns, {field: number}, projection={"_id": 1}, limit=1)), None) is not None

    # --- counts

    def count(
        self,
        ns: str,
        id: Value | object,
        token: Value | object | None = None,
        by: int = 1,
        owner: str | None = None,
        create: bool = False,
    ) -> Outcome:
        """Raise a two-step counter once for a token; ``skipped`` for a repeated token.

        Without ``token`` a new one is made, which tells its age and, if needed, amount and owner. ``create`` makes a
        missing document. Each of the two steps has an entry in the journal.
        """
        self.check()
        id = _value(id)
        made = pending.token_of(by, owner) if token is None else _value(token)
        try:
            if by == 0 or (token is not None and (by != 1 or owner is not None)):
                raise Refused("An amount is never 0, and is part of the token: name a token or an amount, not both.")
            profile = self._stated(ns, "tokens", "two-step counters")
            noted = len(self.writer.journal.lost)
            outcome = self._count(pending.named(profile), id, made, create)
            lost = [said for said in self.writer.journal.lost[noted:] if said not in outcome.detail]
            return replace(outcome, detail=" ".join((outcome.detail, *lost)))
        except Refused as error:
            return Outcome("refused", ns, id, str(error))

    def _count(self, of: pending.TwoStepCounters, id: Value, token: Value, create: bool) -> Outcome:
        name, added = pending.token_name(token), False
        last = Outcome("refused", of.ns, id, f"Others write {id_name(id)} all the time; try again.")
        for _ in range(TRIES):
            try:
                raw, waits, counted = pending.stand(self._port, of, id, token)
            except Refused as error:
                last = Outcome("refused", of.ns, id, str(error))
                break
            if counted:
                how = "is counted" if added else "was counted already, nothing was written"
                said = f"Token {name} of {id_name(id)} {how}."
                done: Literal["applied", "skipped"] = "applied" if added else "skipped"
                return Outcome(done, of.ns, id, said, value=_now(raw, of))
            if raw is None and not create:
                raise NotFound(f"There is no document {id_name(id)} in {of.ns}; create it, or check its id.")
            if raw is not None and (why := pending.hindrance(raw, of, token)):
                last = Outcome("refused", of.ns, id, why)
                break
            try:
                last = self._next_step(of, id, token, raw, waits)
            except Refused as error:  # for example if the journal accepts no second entry
                last = Outcome("refused", of.ns, id, str(error))
            if waits and last.kind == "applied":
                return last
            added = added or (not waits and last.kind == "applied")
            if last.kind in ("refused", "unknown"):
                break
        if added and last.kind != "unknown":
            said = (
                f"Token {name} waits in {of.pending} and is not counted yet; repeat it with this token. {last.detail}"
            )
            return replace(last, kind="unknown", detail=said, token=name)
        return last

    def _next_step(
        self, of: pending.TwoStepCounters, id: Value, token: Value, raw: bytes | None, waits: bool
    ) -> Outcome:
        """Add the token, or finish it if it is already waiting."""
        if raw is None:
            refuse_twin(self._port, of.ns, "_id", id)
            return self._new_counter(of, id, token)
        seen, here = pending.token_at(of, id, token, raw), pending.within(of, raw)
        return self.writer.step(seen, here, "finish" if waits else "add")

    def _new_counter(self, of: pending.TwoStepCounters, id: Value, token: Value) -> Outcome:
        write = pending.new_document(of, id, token)
        seen: PendingToken = pending.token_at(of, id, token)
        extra = pending.to_fields(seen, of) | {"step": "add"}
        made = write.body if isinstance(write.body, bytes) else None
        intent = Intent(self.writer.source, of.ns, id, "add token", "pending", None, made, extra=extra)

        def insert(_: Stamp) -> Outcome:
            end = run(self._port, write, lambda: any(pending.stand(self._port, of, id, token)[1:]))
            said = {"applied": f"{id_name(id)} is a new counter.", "conflict": f"{id_name(id)} was made meanwhile."}
            return Outcome(end.kind, of.ns, id, said.get(end.kind, end.sentence))

        return self.writer.send(intent, insert)

    # --- apply-once lists

    def process(
        self,
        ns: str,
        key: Value | object,
        entry: Value | object,
        by: int = 1,
        field: str = "",
        create: bool = False,
    ) -> Outcome:
        """Raise a total once for an entry; ``skipped`` if the list already contains the entry.

        ``field`` is the total, by default the profile's ``counter``. ``create`` makes a missing document.
        """
        self.check()
        key, entry = _value(key), _value(entry)
        try:
            profile = self._stated(ns, "entries", "apply-once lists")
            total = field or profile.counter or "count"
            of = processed.Tally(ns, profile.id, key, profile.processed, total, entry, by, profile.counted_lock)
            raw = processed.read(self._port, of)
            locked = self._catalogue.layout(ns).foreign.uncounted()
            if why := locked or self._missing_total(of, raw, bool(field)) or processed.hindrance(of, raw):
                raise Refused(why)
            if raw is not None and processed.has(raw, of):
                return processed.apply(self._port, of)  # nothing is written, so nothing is journalled
        except Refused as error:
            return Outcome("refused", ns, key, str(error))
        before, after = _entry_shown(of, raw, False), _entry_shown(of, raw, True)
        intent = Intent(
            self.writer.source, ns, key, "apply once", "processed", before, after, extra=processed.to_fields(of)
        )
        return self.writer.send(intent, lambda _: processed.apply(self._port, of, create))

    def _missing_total(self, of: processed.Tally, raw: bytes | None, named: bool) -> str:
        """The refusal to raise a total that does not exist and was not named: it would be a new field."""
        if raw is None or named or c.get(raw, (of.total,)) is not None:
            return ""
        numbers = totals(raw, (of.key_field, of.listed))
        there = f" ({', '.join(numbers[:5])})" if numbers else ""
        return f"{id_name(of.key)} has no field {of.total}; say which field is the total{there}."

    # --- documents whose version is their hash

    def insert(self, ns: str, content: bytes | Mapping[str, object], id: Value | object | None = None) -> Outcome:
        """Insert a document as its first version; ``skipped`` if the document with this ``id`` has exactly this
        content.

        The id "hash" means the content's own hash, so that equal contents are inserted once, by any number of
        writers. Use ``Value.of("hash")`` for a document whose id is this word.
        """
        self.check()
        layout, raw = self._catalogue.layout(ns), _raw(content)
        by_hash = isinstance(id, str) and id == BY_HASH
        place = None if id is None or by_hash else _value(id)
        try:
            if by_hash:
                place = content_hash(self.writer.signed(layout, raw), layout.sealing)
            if place is None:
                return self.writer.create(ns, raw, None)
            if (there := self._already_there(layout, place, raw, by_hash)) is not None:
                return there
        except Refused as error:
            return Outcome("refused", ns, place, str(error))
        outcome = self.writer.create(ns, raw, place)
        if outcome.kind == "refused":  # perhaps somebody else has just inserted this content
            with suppress(Refused):
                met = self._already_there(layout, place, raw, by_hash)
                return outcome if met is None or met.kind == "refused" else replace(met, entry=outcome.entry)
        return outcome

    def _already_there(self, layout: Layout, id: Value, content: bytes, by_hash: bool) -> Outcome | None:
        """The outcome of an insert if its id is taken by this content; None if it is free or holds another document."""
        try:
            current = layout.version(id)
        except NotFound:
            return None
        same = self._same(current, layout.ns, id, content)
        if same is None and by_hash:
            if current.v == id:  # they differ only in fields that the hash excludes
                said = f"{id_name(id)} has this very hash already; nothing was written."
                return Outcome("skipped", layout.ns, id, said, current.v)
            said = f"{id_name(id)} was made of this content and was changed since; nothing was written."
            return Outcome("refused", layout.ns, id, f"{said} To have it once more, insert it under another id.")
        return same

    def update(
        self, ns: str, id: Value | object, base: Version | Value | object, content: bytes | Mapping[str, object]
    ) -> Outcome:
        """Make this the whole content if ``base`` is current; the outcome's ``version`` is the new version or hash.

        ``base`` is the ``Version`` that was read, or its number or hash, which cannot distinguish a restored content
        from an unchanged one. ``skipped`` if the content is already this one, ``conflict`` if another version is
        current.
        """
        self.check()
        layout, raw, place = self._catalogue.layout(ns), _raw(content), _value(id)
        try:
            current = layout.version(place)
            if (there := self._same(current, ns, place, raw)) is not None:
                return there
            if isinstance(base, Version):
                return self.writer.save(ns, place, base, raw)
            meant = self._named_version(ns, place, base)
        except Refused as error:
            return Outcome("refused", ns, place, str(error))
        if meant is None or meant != current.v:
            said = f"{id_name(place)} is at {version_name(current.v)}, not at the base of this; nothing was written."
            return Outcome("conflict", ns, place, said)
        return self.writer.save(ns, place, current, raw)

    def _named_version(self, ns: str, id: Value, base: Value | object) -> Value | None:
        try:
            return self._catalogue.reading.find_version(ns, id, base)
        except NotFound:
            return None

    def _same(self, current: Version, ns: str, id: Value, content: bytes) -> Outcome | None:
        if current.content != self.writer.signed(self._catalogue.layout(ns), content):
            return None
        said = f"{id_name(id)} holds just this content already; nothing was written."
        return Outcome("skipped", ns, id, said, current.v)


def totals(raw: bytes, but: tuple[str, ...] = ()) -> list[str]:
    """The fields of a document that hold a number, in stored order, except those in ``but``."""
    return [name for name, value in c.fields(raw) if value.type in NUMBERS and name not in ("_id", *but)]


def _counter_at(of: counters.Counter, number: Value) -> bytes:
    """A counter as the journal shows it."""
    return c.put(c.document([("_id", of.name)]), tuple(of.field.split(".")), number)


def _entry_shown(of: processed.Tally, raw: bytes | None, after: bool) -> bytes:
    """An apply-once document as the journal shows it: its key, and the entry if it is in the list."""
    return c.document([(of.key_field, of.key), (of.listed, c.array([of.entry] if after else []))])


def _now(raw: bytes | None, of: pending.TwoStepCounters) -> Value | None:
    return c.get(raw, tuple(of.counter.split("."))) if raw is not None else None


def _numbered(raw: bytes, field: str, number: Value) -> bytes:
    return c.put(raw, (field,), number) if field else raw


def _raw(content: bytes | Mapping[str, object]) -> bytes:
    return content if isinstance(content, bytes) else Value.of(dict(content)).data


def _value(value: Value | object) -> Value:
    return value if isinstance(value, Value) else Value.of(value)
