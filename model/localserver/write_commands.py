"""The commands that write documents: insert, update, delete, findAndModify.

Each write finds, checks and replaces under its collection's lock. A failed write does not stop later ones, unless the
command is ordered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, TypeVar

from model.errors import Unreadable
from model.localserver import pipelines, wire
from model.localserver.physical_ids import with_id
from model.localserver.projections import compile_projection
from model.localserver.retryable_writes import Retries, Statements
from model.localserver.store import Collection, Sort, Store, refuse_damaged
from model.localserver.updates import Update, checked, compile_update, new_id, seeded
from model.localserver.wire import Command
from model.mql import functions, order
from model.mql.command_error import CommandError
from model.mql.filters import Matcher, compile_filter
from model.mql.order import Element
from model.values import canonical as c
from model.values.canonical import Value

T = TypeVar("T")


class WriteCommands:
    """The handlers of the writing commands, by name."""

    def __init__(self, store: Store, retries: Retries | None = None) -> None:
        self.store = store
        self.retries = retries or Retries()

    def insert(self, command: Command) -> bytes:
        """``insert``."""
        collection = self.store.make(command.database, command.text("insert"))

        def one(raw: bytes) -> int:
            collection.insert(prepared(raw))
            return 1

        with self.retries.of(command) as kept:
            done, errors = _each(command, command.documents("documents"), one, kept)
        return _reply(errors, n=len(done))

    def update(self, command: Command) -> bytes:
        """``update``."""
        name = command.text("update")
        with self.retries.of(command) as kept:
            numbered = kept is not None
            done, errors = _each(
                command, command.documents("updates"), lambda raw: self._update(command, name, raw, numbered), kept
            )
        fields: dict[str, Any] = {
            "n": sum(matched for matched, _, _ in done.values()),
            "nModified": sum(modified for _, modified, _ in done.values()),
        }
        made = [(at, Value(*identity)) for at, (_, _, identity) in done.items() if identity is not None]
        if made:
            rows = (c.document([("index", Value.of(at)), ("_id", id)]) for at, id in made)
            fields["upserted"] = c.array(Value.document(row) for row in rows)
        return _reply(errors, **fields)

    def _update(
        self, command: Command, name: str, raw: bytes, numbered: bool = False
    ) -> tuple[int, int, Element | None]:
        statement = Command(0, False, False, "update", command.database, dict(c.fields(raw)))
        matcher = compile_filter(statement.document("q"))
        change = statement.get("u")
        if change is None:
            raise CommandError(40414, "BSON field 'update.updates.u' is missing but a required field")
        filters = statement.documents("arrayFilters") if statement.get("arrayFilters") else None
        update = compile_update(*change, filters)
        multi, upsert = statement.flag("multi"), statement.flag("upsert")
        whole = _whole(change)
        if multi and whole:
            raise CommandError(9, "multi update is not supported for replacement-style update")
        if multi and numbered:
            raise _not_repeatable()
        collection = self.store.make(command.database, name) if upsert else self.store.get(command.database, name)
        if collection is None:
            return 0, 0, None
        if not multi or upsert:
            _targeted(collection, matcher)
        with collection.lock:
            matched = modified = 0
            for position, old in _matches(collection, matcher, ()):
                matched += 1
                modified += _rewrite(collection, position, old, update, matcher, whole)
                if not multi:
                    break
            if matched or not upsert:
                return matched, modified, None
            new = _upsert(collection, matcher, update)
            return 1, 0, order.field(new, b"_id\x00")

    def delete(self, command: Command) -> bytes:
        """``delete``."""
        collection = self.store.get(command.database, command.text("delete"))

        def one(raw: bytes) -> int:
            statement = Command(0, False, False, "delete", command.database, dict(c.fields(raw)))
            matcher, limit = compile_filter(statement.document("q")), statement.integer("limit")
            if kept is not None and not limit:
                raise _not_repeatable()
            if collection is None:
                return 0
            if limit:
                _targeted(collection, matcher)
            with collection.lock:
                found = []
                for position, old in _matches(collection, matcher, ()):
                    refuse_damaged(old)
                    found.append(position)
                    if limit:
                        break
                collection.remove(found)
            return len(found)

        with self.retries.of(command) as kept:
            done, errors = _each(command, command.documents("deletes"), one, kept)
        return _reply(errors, n=sum(done.values()))

    def find_and_modify(self, command: Command) -> bytes:
        """``findAndModify``."""
        with self.retries.of(command) as kept:
            if kept is None:
                return self._find_and_modify(command)
            return kept.once(0, lambda: self._find_and_modify(command))

    def _find_and_modify(self, command: Command) -> bytes:
        name = command.text(command.name)
        matcher = compile_filter(command.document("query"))
        sort = pipelines.parse_sort(command.document("sort"))
        projection = compile_projection(command.document("fields"))
        remove, upsert, new = command.flag("remove"), command.flag("upsert"), command.flag("new")
        change = command.get("update")
        if (change is None) != remove:
            raise CommandError(9, "Either an update or remove=true must be specified")
        filters = command.documents("arrayFilters") if command.get("arrayFilters") else None
        update = compile_update(*change, filters) if change is not None else None
        make = upsert and not remove
        collection = self.store.make(command.database, name) if make else self.store.get(command.database, name)
        if collection is None:
            last = {"n": 0} if remove else {"n": 0, "updatedExisting": False}
            return wire.pack(lastErrorObject=last, value=None, ok=1.0)
        _targeted(collection, matcher)
        shown: bytes | None = None
        identity: Element | None = None
        with collection.lock:
            position, old = next(_matches(collection, matcher, sort), (0, None))
            if old is not None:
                shown = old
                if update is None:
                    refuse_damaged(old)
                    collection.remove([position])
                else:
                    _rewrite(collection, position, old, update, matcher, change is not None and _whole(change))
                    shown = collection.docs[position] if new else old
            elif make and update is not None:
                made = _upsert(collection, matcher, update)
                identity = order.field(made, b"_id\x00")
                shown = made if new else None
        if shown is not None and projection is not None:
            shown = projection(shown)
        return _modified(shown, old is not None, identity, remove)


def _modified(shown: bytes | None, found: bool, upserted: Element | None, remove: bool) -> bytes:
    """The reply to a ``findAndModify``."""
    fields: list[tuple[str, Value]] = [("n", Value.of(int(found or upserted is not None)))]
    if not remove:
        fields.append(("updatedExisting", Value.of(found)))
    if upserted is not None:
        fields.append(("upserted", Value(*upserted)))
    value = Value(c.NULL, b"") if shown is None else Value.document(shown)
    return wire.pack(lastErrorObject=Value.document(c.document(fields)), value=value, ok=1.0)


def prepared(raw: bytes) -> bytes:
    """A document as a server stores it on insert: with its ``_id`` in front; raises an error if it is refused."""
    try:
        _sound(raw)
    except Unreadable as error:
        raise CommandError(22, f"The document is not BSON: {error}") from None
    except RecursionError:
        raise CommandError(15, "BSONObj exceeded maximum nested object depth: 200") from None
    own = order.field(raw, b"_id\x00") or new_id()
    if own[0] in (c.ARRAY, c.REGEX, c.UNDEFINED):
        kind = functions.type_name(own)
        raise CommandError(53, f"The '_id' value cannot be of type {kind}")
    return checked(with_id(raw, own))


def _sound(raw: bytes) -> None:
    """Raise an error if lengths inside a document are wrong; its texts are not checked."""
    for _, kind, a, b in c.elements(raw):
        if kind in (c.OBJECT, c.ARRAY):
            _sound(raw[a:b])


def _matches(collection: Collection, matcher: Matcher, sort: Sort) -> Iterator[tuple[int, bytes]]:
    found, ordered, _ = collection.find(matcher, sort)
    hits = ((position, raw) for position, raw in found if matcher.matches(raw))
    if ordered:
        return hits
    rows = list(hits)
    # Sorting is stable, so the last key comes first.
    for name, descending in reversed(sort):
        path = order.path_of(name)
        rows.sort(key=lambda row: order.sort_key(row[1], path, descending), reverse=descending)
    return iter(rows)


def _targeted(collection: Collection, matcher: Matcher) -> None:
    """Raise an error if the filter for a write of one document lacks the shard key."""
    named = {path for path, _ in matcher.seeds}
    if lacking := [field for field in collection.shard_key if field not in named]:
        raise CommandError(61, f"Query for sharded {collection.ns} must contain the shard key; it lacks {lacking[0]}")


def _whole(change: Element) -> bool:
    """Whether an update is a replacement."""
    # The first name follows four bytes of length and one of type.
    return change[0] == c.OBJECT and not change[1].startswith(b"$", 5)


def _not_repeatable() -> CommandError:
    return CommandError(72, "A write of many documents cannot be retryable: leave out its txnNumber")


def _rewrite(collection: Collection, position: int, old: bytes, update: Update, matcher: Matcher, whole: bool) -> int:
    """Replace a document by its updated state; returns 1 if that changed anything."""
    refuse_damaged(old)
    new = checked(update(old, False, matcher))
    if new == old:
        return 0
    for field in collection.shard_key:
        path = tuple(field.split("."))
        if c.get(old, path) != c.get(new, path):
            raise CommandError(66, f"Performing an update on the path '{field}' would modify the immutable field")
    collection.replace(position, new, whole)
    return 1


def _upsert(collection: Collection, matcher: Matcher, update: Update) -> bytes:
    base = seeded(matcher)
    new = prepared(update(base, True, None))
    collection.insert(new)
    return new


def _each(
    command: Command, statements: list[bytes], work: Callable[[bytes], T], kept: Statements | None
) -> tuple[dict[int, T], list[dict[str, Any]]]:
    """The answers by statement number, and the errors of failed statements."""
    ordered = command.flag("ordered", default=True)
    errors: list[dict[str, Any]] = []
    done: dict[int, T] = {}
    if not 1 <= len(statements) <= 100_000:
        raise CommandError(16, f"Write batch sizes must be between 1 and 100000. Got {len(statements)} operations.")
    for i, statement in enumerate(statements):
        try:
            done[i] = work(statement) if kept is None else kept.once(i, partial(work, statement))
        except CommandError as error:
            errors.append({"index": i, "code": error.code, "errmsg": error.message, **error.extra})
            if ordered:
                break
    return done, errors


def _reply(errors: list[dict[str, Any]], **fields: Any) -> bytes:
    if errors:
        fields["writeErrors"] = errors
    return wire.pack(**fields, ok=1.0)
