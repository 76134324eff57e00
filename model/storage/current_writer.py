"""Writes to the one document that holds a current version, each guarded by the state that was read.

Update operators name only the changes. A change that operators cannot express replaces the whole document, and the
guard then compares the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from bson import ObjectId
from msgspec import Struct

from model.errors import NotFound, Refused, Unreachable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Outcome, Version
from model.server import guards
from model.server.retry import Port, Write, bson_of, run
from model.storage import document_ids, numbering, stored_form, update_operators
from model.storage.content_hashes import content_hash, next_hash
from model.storage.current_documents import CurrentDocuments
from model.storage.outcomes import Outcomes
from model.storage.reserved_fields import compose, number_of, place_of, same_version
from model.storage.swap_steps import Made, Stamp, SwapSteps
from model.storage.update_operators import Whole, check_size, is_surely_taken
from model.values import canonical as c
from model.values.canonical import Value
from model.values.leaves import addressable

# --- guards


class Guarding(Protocol):
    """The guard that makes a write fail if the document is no longer the version that was read."""

    def clauses(self, base: Version, beside: int = 0) -> dict[str, Any]:
        """The clauses of the filter, without ``_id``.

        ``beside`` is the size of the write in bytes; guard and write have to fit into one command.
        """


class VersionGuard:
    """The guard that version, token, a stored hash and another program's lock field are as they were read, by type.

    Without a token, the content takes its place: a document that was deleted and created again may have reached the
    number of the version that was read.
    """

    def __init__(self, current: CurrentDocuments) -> None:
        self._current = current

    def clauses(self, base: Version, beside: int = 0) -> dict[str, Any]:
        """The clauses of :meth:`narrow`, and without a token those of the content, as far as a filter can say it."""
        clauses = self.narrow(base)
        if self._current.own.token:
            return clauses
        try:
            return self._content(base, beside) | clauses
        except Unreachable:
            raise
        except Refused:
            return clauses

    def narrow(self, base: Version) -> dict[str, Any]:
        """A clause for version, token and a stored hash each, and one that a sub-document with the current version is
        one.

        Whoever changes a version in place and renews its hash changed what the hash of the next version is made of.
        """
        assert base.raw is not None
        here, part = self._current, self._current.part(base.raw)
        # `$type` also fits an array with an object in it, whose inner fields the other clauses would find.
        clauses: dict[str, Any] = {here.inside: {"$type": c.OBJECT, "$not": {"$type": c.ARRAY}}} if here.inside else {}
        for name in filter(None, (here.own.version, here.own.token)):
            clauses |= guards.exact(here.path(name), c.get(part, (name,)))
        if here.own.hash and (stored := c.get(part, (here.own.hash,))) is not None:
            clauses |= guards.exact(here.path(here.own.hash), stored)
        return clauses | here.foreign.clauses(base.raw)

    def _content(self, base: Version, beside: int) -> dict[str, Any]:
        """The clauses that each field of the content is as it was read."""
        assert base.raw is not None
        here = self._current
        content = here.content(base.raw)
        if not here.inside:
            return guards.whole(content, partial(here.abilities_over, base.raw), beside=beside).filter
        fields = c.fields(content)
        # No path leads to a name with a dot or a dollar, so the sub-document is compared as a whole.
        if not all(addressable(name) for name, _ in fields):
            return guards.exact(here.inside, Value.document(here.part(base.raw)))
        clauses: dict[str, Any] = {}
        for name, value in fields:
            clauses |= guards.nested(here.path(name), value)
        if len(bson_of(clauses)) + beside > guards.LARGEST:
            raise Refused("The version is too large to be compared whole in one write.")
        return clauses


def guarded_besides(profile: CollectionProfile) -> str:
    """The part of a :class:`VersionGuard` besides the version, as the end of a sentence."""
    return f" and {profile.token} is unchanged" if profile.token else " and the content is as it was read"


class HashGuard:
    """The guard that hash, token and every field covered by the hash are as they were read."""

    def __init__(self, current: CurrentDocuments) -> None:
        self._current, self._version = current, VersionGuard(current)

    def clauses(self, base: Version, beside: int = 0) -> dict[str, Any]:
        """The clauses; only hash and token for a content that no filter can express."""
        raw, profile = base.raw, self._current.profile
        assert raw is not None
        clauses = self._version.narrow(base)
        hashed = self._current.content(raw)
        if profile.hash_include:
            hashed = c.only(hashed, [path.split(".")[0] for path in profile.hash_include])
        elif profile.hash_exclude:
            hashed, parts = _without_parts(hashed, profile.hash_exclude)
            clauses |= parts
        able = partial(self._current.abilities_over, raw)
        odd = [name for name, _ in c.fields(hashed) if not addressable(name)]
        if odd and not able().fields:
            hashed = raw  # only a comparison of the whole document covers such names
        try:
            return guards.whole(hashed, able, beside=beside).filter | clauses
        except Unreachable:
            raise
        except Refused:
            return clauses


def _without_parts(content: bytes, excluded: Sequence[str]) -> tuple[bytes, dict[str, Any]]:
    """A content without excluded fields, and clauses for the rest of fields that are excluded only in part."""
    cut = c.without(content, [path.split(".")[0] for path in excluded] + list(excluded))
    clauses: dict[str, Any] = {}
    for name, value in c.fields(content):
        if name not in excluded and any(path.startswith(f"{name}.") for path in excluded):
            clauses |= _part(name, value, excluded)
    return cut, clauses


def _part(path: str, value: Value, excluded: Sequence[str]) -> dict[str, Any]:
    inner = c.fields(value.data) if value.type == c.OBJECT else []
    within = any(each.startswith(f"{path}.") for each in excluded)
    if not (within and inner and all(addressable(name) for name, _ in inner)):
        return guards.nested(path, value)  # an element of a partly excluded array has no path of its own
    clauses: dict[str, Any] = {}
    for name, part in inner:
        if f"{path}.{name}" not in excluded:
            clauses |= _part(f"{path}.{name}", part, excluded)
    return clauses


class WholeGuard:
    """The guard that every field is as it was read."""

    def __init__(self, current: CurrentDocuments) -> None:
        self._current = current

    def clauses(self, base: Version, beside: int = 0) -> dict[str, Any]:
        """The filter of :meth:`whole`, and the clauses for another program's lock."""
        return self.whole(base, beside).filter | self._current.foreign.clauses(base.raw or c.EMPTY)

    def whole(self, base: Version, beside: int) -> guards.Guard:
        """The guard, with notes on differences that this server cannot detect."""
        assert base.raw is not None
        return guards.whole(base.raw, partial(self._current.abilities_over, base.raw), beside=beside)


# --- writes


class Landing(Struct, frozen=True):
    """Asks a history whether a write landed, if the current document cannot tell; None: unknown."""

    before: Callable[[Value, ObjectId, Version | None, bytes | None], bool | None] = lambda *_: None
    """By id, token, base, and the current document as it is now (None: deleted)."""
    follows: Callable[[bytes, Version], bool] = lambda *_: False
    """Whether a stored document surely is a later version of the base, and no other document under its id."""
    history: Callable[[Value, bool], Iterator[Version]] = lambda *_: iter(())
    """The versions of a document, newest first, with their contents."""
    lags: bool = False
    """Whether the history may lack versions below the current one for a while."""


def _is_as_read(now: Version, base: Version) -> bool:
    """Whether a document is as it was read, to the byte where its bytes are known."""
    if base.raw is not None:
        return now.raw == base.raw
    return _is_same_number(now.v, base.v) and now.content == base.content


def _is_same_number(a: Value | None, b: Value | None) -> bool:
    return a is not None and same_version(a, b)


def _is_sent(version: Version, base: Version | None, content: bytes) -> bool | None:
    """Whether a stored version is the one that was sent, in whatever order the server keeps its fields.

    None if all of the edit's values are there in another content, or some of them, and none is as it was before: it
    may be ours, changed in place since. Other edits may have set some of them to the same, as one more in a counter.
    """
    stored = version.content
    if stored is None:
        return None
    if stored == content or update_operators.reordered(content, stored):
        return True
    before = base.content if base is not None else None
    if before is not None and update_operators.is_left_alone(before, content, stored):
        return False
    return False if update_operators.stands(before, content, stored) is False else None


def _composed(
    raw: bytes,
    names: Collection[str],
    content: bytes,
    values: Mapping[str, Value | None],
    inside: Mapping[str, Value],
) -> bytes:
    """The document with a new content, and values in sub-documents by their dotted paths."""
    made = compose(raw, names, content, values)
    for path, value in inside.items():
        made = c.put(made, tuple(path.split(".")), value)
    return made


class CurrentWriter:
    """The writes of one collection of current versions, and the check whether a write landed."""

    def __init__(
        self, server: Port, current: CurrentDocuments, guard: Guarding, landing: Landing | None = None
    ) -> None:
        self._server, self.current, self._guard, self._landing = server, current, guard, landing or Landing()
        self._profile, self._ns = current.profile, current.ns
        self.outcomes = Outcomes(self._ns, current.version, current.bears, current.made)
        self.unique = (self._profile.id,)

    # --- numbers

    def missing_index(self, remembered: bool = False) -> str | None:
        """None: the index on ``_id`` always exists."""
        return None

    def create_index(self) -> None:
        """Raise ``Refused``, as there is nothing to create."""
        raise Refused(f"{self._ns} needs no further index.")

    def written_since(self, removed: Sequence[tuple[str, bytes]]) -> Outcome | None:
        """None: the document's ``_id`` shows whether its place is taken."""
        return None

    def hindrance(self, base: Version) -> str:
        """ "": the next version takes the document's own place, so nothing can be in its way."""
        return ""

    def number(self, id: Value, base: Version, stamp: Stamp) -> Value | None:
        """The number of the version that follows ``base``, drawn from the profile's counter, if any; None without
        numbers.
        """
        if not self.current.numbered:
            return None
        proposed = numbering.following(base.v, self._profile, stamp.at)
        return numbering.draw(self._server, self._profile, id, proposed)

    def foreseen_number(self, id: Value, base: Version, stamp: Stamp) -> tuple[Value | None, list[Write]]:
        """The number that the next version would get now, and the write that draws it from a counter."""
        if not self.current.numbered:
            return None, []
        v, write = numbering.drawing(
            self._server, self._profile, id, numbering.following(base.v, self._profile, stamp.at)
        )
        return v, [write] if write is not None else []

    def first_number(self, id: Value, stamp: Stamp) -> Value | None:
        """The number of a new document; None without numbers."""
        if not self.current.numbered:
            return None
        return numbering.draw(self._server, self._profile, id, numbering.first(self._profile, stamp.at))

    # --- a version to come

    def prepared(self, id: Value, base: Version) -> Outcome | None:
        """None: the write's own filter detects whether the base is still current."""
        return None

    def own_values(self, base: bytes | None, content: bytes, stamp: Stamp, v: Value | None) -> dict[str, Value | None]:
        """The values of the layout's own fields for writing ``content`` over the current version ``base``."""
        own = self.current.own
        values: dict[str, Value | None] = {}
        if own.version and v is not None:
            values[own.version] = v
        # Where the hash is the version, it was computed already.
        stored = c.get(base or c.EMPTY, (own.hash,)) if own.hash and own.hash != own.version else None
        if stored is not None and base is not None:
            values[own.hash] = next_hash(content, self._profile, own.content(base), stored)
        return values | own.stamped(stamp)

    def swap(
        self, base: Version, content: bytes, values: Mapping[str, Value | None], replaced: bool = True
    ) -> SwapSteps:
        """The single write that makes ``content`` current, with these own values.

        ``replaced``: the filter also compares the values that operators replace, in case somebody changes them in
        place. Raises ``Refused`` if no write can express or guard the edit.
        """
        assert base.raw is not None
        assert base.content is not None
        physical = guards.physical_id(base.raw)
        foreign = self.current.foreign
        values, inside = {**values, **foreign.moved(base.raw)}, foreign.moved_inside(base.raw)
        content = foreign.kept(base.content, content) if inside else content
        self.refuse_dots(base.raw, content)
        made = partial(_composed, base.raw, self.current.own.names, content, values, inside)
        if not is_surely_taken(base.raw, content):
            # Composed only if it may be too large, which few documents are.
            check_size(made())
        where = guards.by_id(physical)
        edit = update_operators.operators(base.content, content)
        if edit is not None:
            foreign.refuse_over((*edit.sets, *edit.unsets) if inside else ())
            body = edit.body({**values, **inside})
            # The size of paths and clauses grows at most quadratically, so small documents cannot exceed the limit.
            beside = len(bson_of(body)) if len(base.raw) + len(content) > guards.SMALL else 0
            where |= guards.both(self._guard.clauses(base, beside), edit.guard() if replaced else {})
            return SwapSteps(Write(self._ns, "update", where, body, "the swap", returns=True), made)
        whole = Whole(made())
        where |= self.whole_guard(base, len(whole.raw))
        return SwapSteps(Write(self._ns, whole.kind, where, whole.body, "the swap", returns=True), lambda: whole.raw)

    def whole_guard(self, base: Version, beside: int) -> dict[str, Any]:
        """The guard of a write that replaces or deletes the document: every field is as it was read, and none was
        added.

        If no filter can express that, version and token alone; raises ``Refused`` if there are none.
        """
        assert base.raw is not None
        able = self.current.abilities_over(base.raw)
        versioned = bool(self.current.own.version)
        try:
            clauses = guards.whole(base.raw, lambda: able, True, beside).filter
        except Refused:
            if not versioned:
                raise
            clauses = {}
        return clauses | (self._guard.clauses(base) if versioned else {})

    def guards_any(self, size: int) -> bool:
        """Whether this server can guard the replacement and the removal of every document of this size."""
        able = self.current.known_abilities
        return able is not None and able.counts and able.fields and size <= guards.SMALL

    def refuse_dots(self, raw: bytes, content: bytes) -> None:
        """Raise ``Refused`` for names with a dot, on servers that may damage such documents."""
        if b"." not in raw and b"." not in content:
            return
        # A dot in a value gets here too, and only costs this walk over the names.
        dotted = next((name for each in (raw, content) for name, _ in c.fields(each) if "." in name), None)
        if dotted is not None and not self.current.abilities_over(raw).fields:
            raise update_operators.dotted(dotted)

    def new_document(self, id: Value, content: bytes, stamp: Stamp, v: Value | None) -> bytes:
        """The stored document of a first version at the root."""
        own = self.current.own
        values = self.own_values(None, content, stamp, v) | self.current.foreign.first(self._server)
        pairs = self.new_ids(id, stamp)
        leads = own.version and v is not None and own.version != own.hash
        if leads and v is not None:
            pairs.append((own.version, v))
        rest = [(name, value) for name, value in values.items() if value is not None]
        behind = [(name, value) for name, value in rest if not leads or name != own.version]
        raw = c.document([*pairs, *c.fields(content), *behind])
        check_size(raw)
        return raw

    def new_ids(self, id: Value, stamp: Stamp) -> list[tuple[str, Value]]:
        """``_id``, and the document's id if that is another field."""
        name = self._profile.id
        return [("_id", id)] if name == "_id" else [("_id", Value.of(stamp.token)), (name, id)]

    def stored_alone(self, id: Value, version: Version) -> bytes:
        """The stored document of a version moved here from another layout; the bytes are equal each time."""
        own = self.current.own
        content = stored_form.content_of(version, own.names)
        pairs = [("_id", id)] if own.id == "_id" else [("_id", stored_form.lasting_key(id)), (own.id, id)]
        stamps = stored_form.stamps(self._profile, id, version, stored_form.FIRST, numbered=False)
        if own.hash:
            stamps.insert(0, (own.hash, content_hash(content, self._profile, id=pairs[0][1])))
        raw = c.document([*pairs, *c.fields(content), *stamps])
        check_size(raw)
        return raw

    def occupied(self, id: Value) -> bool:
        """Whether there is a current document with this id."""
        return self.current.exists(id)

    def ended(self, id: Value) -> Version | None:
        """None: a deleted document leaves no version here."""
        return None

    def undeletable(self, base: Version) -> str:
        """Why this server cannot guard the delete of a document without versions, one sentence; "" if it can."""
        if self.current.numbered or base.raw is None:
            return ""
        try:
            self.whole_guard(base, 0)
        except Unreachable:
            return ""
        except Refused as error:
            return str(error)
        return ""

    # --- did mine land?

    def asks(
        self, id: Value, stamp: Stamp, made: Made, base: Version | None = None
    ) -> Callable[[], bool | None] | None:
        """The question of a write in doubt, whether it landed: by the token, and without one by the stored state."""
        # A base that is as it was read proves that the first try has not landed. If the second try did not match it
        # either, the document was deleted and put back byte for byte in between, as by an undone delete: then the
        # first may still arrive.
        answers = iter((False,))
        if self._profile.token:
            return lambda: self._landed(id, stamp.token, base, next(answers, None))

        def arrived() -> bool | None:
            sent = self.current.made(made())
            return self._arrived(id, base, sent.content or c.EMPTY, sent.v, lambda: next(answers, None))

        return arrived

    def landed(
        self, id: Value, token: ObjectId, base: Version | None = None, content: bytes | None = None
    ) -> bool | None:
        """Whether a write landed: the current document carries its token, or the history knows of it.

        Without tokens it is told by the ``content`` that the write was to make of ``base``. None if nobody can tell.
        """
        if self._profile.token:
            return self._landed(id, token, base, False)
        return self._arrived(id, base, content, None, lambda: False) if content is not None else None

    def _landed(self, id: Value, token: ObjectId, base: Version | None, unchanged: bool | None) -> bool | None:
        """The answer of :meth:`landed`; ``unchanged`` is returned if the base is as it was read."""
        try:
            raw = self.current.raw(id)
        except NotFound:
            return self._landing.before(id, token, base, None)
        if self.current.bears(raw, token):
            return True
        if base is not None and base.raw is not None and raw == base.raw:
            return unchanged
        return self._landing.before(id, token, base, raw)

    def _arrived(
        self,
        id: Value,
        base: Version | None,
        content: bytes,
        v: Value | None,
        unchanged: Callable[[], bool | None],
    ) -> bool | None:
        """Whether the stored state says that ``content`` became the version ``v``, the one that followed ``base``.

        ``v`` is None if its number is not known. An equal version that somebody else made comes to the same.
        """
        try:
            now = self.current.made(self.current.raw(id))
        except NotFound:
            now = None
        if now is not None and base is not None and _is_as_read(now, base):
            return unchanged()
        if not self.current.numbered:
            stored = now.content if now is not None else None
            return update_operators.stands(base.content if base else None, content, stored) if stored else None
        if now is not None and base is not None and _is_same_number(now.v, base.v):
            return False  # changed in place: the write would have moved the version
        if now is not None and v is not None and _is_same_number(now.v, v):
            return _is_sent(now, base, content)
        return self._arrived_before(id, base, content, v)

    def _arrived_before(self, id: Value, base: Version | None, content: bytes, v: Value | None) -> bool | None:
        """The answer of :meth:`_arrived` by the history, once the current document does not tell."""
        versions = [each for each in self._versions(id) if each.state != "missing"]
        if v is not None and (there := next((each for each in versions if _is_same_number(each.v, v)), None)):
            return _is_sent(there, base, content)
        if base is None:
            return self._began_with(versions, content)
        follower = self._next_version(versions, base)
        return _is_sent(follower, base, content) if follower is not None else None

    def _began_with(self, versions: Sequence[Version], content: bytes) -> bool | None:
        """Whether a document began with a content, according to its first version; None if versions are missing."""
        numbers = sorted(number for each in versions if (number := number_of(each.v)) is not None)
        if not numbers or self._profile.numbering != "next" or numbers != list(range(1, len(versions) + 1)):
            return None
        first = next(each for each in versions if number_of(each.v) == 1)
        return first.content == content

    def _versions(self, id: Value) -> Iterator[Version]:
        try:
            yield from self._landing.history(id, True)
        except NotFound:
            return

    def _next_version(self, versions: Sequence[Version], base: Version | None) -> Version | None:
        """The version that followed the base; None if it is missing, or may be."""
        at = place_of(base.v) if base is not None else None
        if base is None or at is None:
            return None
        above = [(place, each) for each in versions if (place := place_of(each.v)) is not None and place > at]
        if not above:
            return None
        place, nearest = min(above, key=lambda found: found[0])
        if self._profile.numbering == "next":
            return nearest if place == at + 1 else None
        seen = not self._landing.lags and any(_is_same_number(each.v, base.v) for each in versions)
        return nearest if seen else None

    # --- deleting

    def deletion(self, base: Version) -> Write:
        """The one guarded delete of the document."""
        assert base.raw is not None
        where = guards.by_id(guards.physical_id(base.raw)) | self._guard.clauses(base)
        if not self.current.numbered:
            where |= self.whole_guard(base, 0)
        return Write(self._ns, "delete", where, None, "the document")

    def delete(self, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """One guarded delete of the current document."""
        return self.send_deletion(self.deletion(base), id, base, stamp)

    def purge(self, id: Value, base: Version, stamp: Stamp, kept: Sequence[tuple[str, bytes]] | None = None) -> Outcome:
        """The delete: one document holds all versions, so ``kept`` cannot list others."""
        return self.delete(id, base, stamp)

    def send_deletion(self, deletion: Write, id: Value, base: Version, stamp: Stamp) -> Outcome:
        """Send :meth:`deletion` and return its outcome."""
        end = run(self._server, deletion, lambda: self.gone(id, base))
        return self.outcomes.deleted(end, id, base, stamp)

    def removal(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """The (ns, stored document) that a delete removes: the current document."""
        assert base.raw is not None
        return ((self._ns, base.raw),)

    def all_stored(self, id: Value, base: Version) -> tuple[tuple[str, bytes], ...]:
        """The (ns, stored document) that a purge removes: the current document."""
        return self.removal(id, base)

    def stands(self, raw: bytes) -> bool | None:
        """Whether a document, or a later state of it, exists; None if its id may belong to another one."""
        id = document_ids.id_of(raw, self._profile.id) or guards.physical_id(raw)
        gone = self.gone(id, self.current.made(raw))
        return None if gone is None else not gone

    def gone(self, id: Value, base: Version) -> bool | None:
        """Whether a delete in doubt has removed the base; None if another document has its id and nobody can tell.

        A delete has succeeded if the document is gone, whoever removed it. A document with its id may be a new one.
        """
        here = self.current
        try:
            raw = here.raw(id)
        except NotFound:
            return True
        if here.identity(here.made(raw)) == here.identity(base) or self._landing.follows(raw, base):
            return False
        return None
