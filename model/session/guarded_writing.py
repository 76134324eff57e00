"""Writes to one document."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from bson import ObjectId
from msgspec import Struct
from msgspec.structs import replace

from model import text
from model.errors import NotFound, Refused
from model.foundation.records import Opened, Outcome, Sending, Version
from model.server.code_preview import sending
from model.session.connection import Connection, value_of
from model.storage import document_ids
from model.storage.composite_ids import as_sent
from model.storage.swap_steps import Stamp
from model.text.names import id_name, version_name
from model.text.paths import fitted
from model.values import canonical
from model.values.canonical import Path, Value
from model.writing import edit
from model.writing.edit import Conflict, taken_over
from model.writing.remains import Remains

__all__ = ["Conflict", "GuardedWriting", "Remains", "Restored", "taken_over"]


class Restored(Struct, frozen=True):
    """What :meth:`GuardedWriting.restore` would save."""

    content: bytes
    barred: str = ""  # why nothing is ever written to this collection
    values: str = ""  # in that case, the values to enter elsewhere


class GuardedWriting:
    """Writes; each is journalled, guarded by what was read, and may end unknown."""

    def __init__(self, connection: Connection) -> None:
        """Created by a session; ``connection`` holds what the parts share."""
        self._connection = connection
        self._catalogue, self._port, self._trust = connection.catalogue, connection.port, connection.trust

    def open(self, ns: str, id: Value) -> Opened:
        """The current version for editing, and whether it may be written; raises ``NotFound``."""
        layout = self._catalogue.layout(ns)
        base, profile = layout.version(id), layout.profile
        doubt = self._catalogue.doubt(ns)
        reason = self._trust.why_read_only(ns) or doubt or layout.writable(base)
        asks = profile.guard.field if profile.guard is not None and profile.guard.can_be_asked else ""
        document = self._connection.shown(layout, base)
        opened = Opened(ns, id, base, layout.locked, not reason, reason, document, asks, doubt)
        return replace(
            opened,
            takes_reason=layout.takes_reason,
            asks_author=profile.asks_author,
            kept_by_delete=layout.kept_by_delete,
        )

    def preview(self, ns: str, id: Value, base: Version, content: bytes, reason: str = "") -> Sending:
        """The exact write that :meth:`save` would send; nothing is written."""
        layout = self._catalogue.layout(ns)
        stamp = Stamp(ObjectId(), self._connection.writer.author_of(layout), reason=reason or None)
        writes = layout.foreseen(id, base, layout.signed(content, stamp.author, stamp.reason), stamp)
        return sending(as_sent(self._port, writes), layout.explained(base, stamp))

    def written_beside(self, ns: str) -> tuple[str, ...]:
        """The fields that a write over any document changes beside those that are edited."""
        layout, writer = self._catalogue.layout(ns), self._connection.writer
        stamp = Stamp(author=writer.author_of(layout), reason=writer.reason)
        return tuple(dict.fromkeys((*layout.written_beside(canonical.EMPTY, stamp), *layout.profile.lock_names)))

    def save(
        self, ns: str, id: Value, base: Version, content: bytes, action: str = "edit", reason: str = ""
    ) -> Outcome:
        """Swap the current version ``base`` for a new one with this content and reason.

        ``conflict``: the document is no longer the base, and nothing was written; :meth:`conflict` says more.
        """
        self._trust.check_server(ns)
        return self._connection.because(reason).save(ns, id, base, content, action)

    def conflict(self, ns: str, id: Value, base: Version, mine: bytes, known: Version | None = None) -> Conflict:
        """The changes of a document since ``base``, merged with an edit that started there.

        ``known`` is a later version that was read since, if there is one: the last one of a deleted document.
        """
        return edit.conflict(self._catalogue.layout(ns), id, base, mine, known)

    def edit(
        self,
        ns: str,
        id: Value | object,
        set: Mapping[str | Path, Value | object] | None = None,
        unset: str | Sequence[str | Path] = (),
        base: Value | object | None = None,
        tries: int = 20,
        create: bool = False,
        reason: str = "",
        current: Version | None = None,
        read_at: float = 0.0,
    ) -> Outcome:
        """Change some fields of the current version in one guarded write.

        An ``id`` is text for :meth:`.DocumentLists.find_id`, a ``Value`` or a Python object; so are values. Paths are
        text (``premium.gross``, ``riders[2]``) or tuples.

        With ``base``, a version number or hash, it is a ``conflict`` if another version is current. An edit without
        effect is ``skipped`` and writes nothing. Without ``base`` the document is read, and the edit is repeated up
        to ``tries`` times if somebody was faster but left its fields alone (with the numbering ``loop``: in any
        case). ``create`` makes a missing document from the fields in ``set``; it is a ``conflict`` if somebody else
        creates it at the same time. ``current`` is the current version, where the
        caller has read it at ``read_at`` of the monotonic clock.
        """
        if not self._checked(ns, current is not None):
            current, read_at = None, 0.0
        if create and (base is not None or not set):
            raise Refused("A new document has no base, only fields to set; say which.")
        layout, writer = self._catalogue.layout(ns), self._connection.because(reason)
        try:
            stored_id = layout.find_id(id) if isinstance(id, str) else value_of(id)
            now = time.monotonic()
            current = current or self._catalogue.reading.version(ns, stored_id)
        except NotFound:
            if not create:
                raise
            content, _ = _edited(None, set, unset, layout.locked)
            made = document_ids.meant(id) if isinstance(id, str) else value_of(id)
            return writer.create(ns, content, made, unless_there=True)
        if base is not None and not self._is_at(ns, stored_id, current, base):
            detail = (
                f"{id_name(stored_id)} is at {version_name(current.v)}, not at the base of this edit; "
                "nothing was written."
            )
            return Outcome("conflict", ns, stored_id, detail)
        content, paths = _edited(current.content, set, unset, layout.locked)
        outcome, tried = writer.save(ns, stored_id, current, content, read_at=read_at or now), 1
        while outcome.kind == "conflict" and base is None and tried < tries:
            try:
                now = time.monotonic()
                newer = self._catalogue.reading.version(ns, stored_id)
                if layout.profile.numbering != "loop" and not _left_alone(paths, current, newer):
                    break
                content, paths = _edited(newer.content, set, unset, layout.locked)
            except Refused:  # it is deleted, or has no place for these fields any more
                break
            current, tried = newer, tried + 1
            outcome = writer.save(ns, stored_id, current, content, read_at=now)
        if tried == 1:
            return outcome
        said = f"Others wrote {id_name(stored_id)} meanwhile, so this was tried {tried} times."
        return replace(outcome, detail=f"{outcome.detail} {said}")

    def _checked(self, ns: str, read: bool) -> bool:
        """Check that the server may be written, and whether what was ``read`` was read as it is read now."""
        layout = self._catalogue.layout(ns) if read else None
        self._trust.check_server(ns)
        # A profile's statement may have been held against a sample only now, and completed by it.
        return layout is None or self._catalogue.layout(ns) is layout

    def _is_at(self, ns: str, id: Value, current: Version, base: Value | object) -> bool:
        """Whether ``base`` means the current version; False for a version that is not stored."""
        if current.v is None:
            raise Refused(f"Documents of {ns} have no versions, so an edit cannot name its base; leave it out.")
        try:
            return current.v == self._catalogue.reading.find_version(ns, id, base)
        except NotFound:
            return False

    def create(
        self, ns: str, content: bytes, id: Value | None = None, reason: str = "", known: Version | None = None
    ) -> Outcome:
        """Insert a document as version 1; refused if the id exists. Without ``id`` it gets an ObjectId.

        ``known`` is the last version that was read of a deleted document: its history continues, as far as it is
        stored or was read.
        """
        self._trust.check_server(ns)
        return self._connection.because(reason).create(ns, content, id, known=known)

    def delete(self, ns: str, id: Value, base: Version, reason: str = "") -> Outcome:
        """Delete a document if ``base`` is still its current version.

        Versions stored as documents of their own, or as archive rows, stay, and :meth:`restore` brings the document
        back. The journal keeps what is removed.
        """
        self._trust.check_server(ns, writes={"change"})
        return self._connection.because(reason).delete(ns, id, base)

    def purge(self, ns: str, id: Value, base: Version) -> Outcome:
        """Remove a document and all its versions if ``base`` is still the newest, as :meth:`.HistoryReading.last`
        returns it.

        The journal keeps what is removed, and can put it back.
        """
        self._trust.check_server(ns, writes={"change"})
        return self._connection.writer.purge(ns, id, base)

    def restore(
        self,
        ns: str,
        id: Value,
        v: Value,
        fields: Sequence[Path] | None = None,
        base: Version | None = None,
        reason: str = "",
    ) -> Outcome:
        """Make an earlier state, or some of its fields, the content of a new version.

        This brings back a deleted document, also if ``base`` is given but is not a current version.
        """
        self._trust.check_server(ns)
        if base is None:
            base = self._catalogue.layout(ns).last(id)
        if not base.current:
            if fields is not None:
                raise Refused(f"{id_name(id)} is deleted; restore a whole version of it first, then single fields.")
            return self._connection.because(reason).create(ns, self._restored(ns, id, v, None, base), id, "restore")
        return self._connection.because(reason).save(ns, id, base, self._restored(ns, id, v, fields, base), "restore")

    def restored(self, ns: str, id: Value, v: Value, fields: Sequence[Path] | None, base: Version) -> Restored:
        """What :meth:`restore` would save over ``base``, for a preview."""
        content, barred = self._restored(ns, id, v, fields, base), self._catalogue.layout(ns).read_only
        return Restored(content, barred, edit.spelled(_now(base), content) if barred else "")

    def _restored(self, ns: str, id: Value, v: Value, fields: Sequence[Path] | None, base: Version) -> bytes:
        old = self._catalogue.layout(ns).version(id, v)
        if old.content is None:
            raise Refused(f"{version_name(v)} cannot be restored: {old.detail or old.state}.")
        if old.deleted:
            raise Refused(f"{version_name(v)} says that {id_name(id)} is deleted; restore a version before it.")
        now = base.content or canonical.EMPTY
        return edit.taken_over(self._catalogue.layout(ns).retyped(old.content, now), now, fields)


def _now(base: Version) -> bytes:
    """The content of the current version; a deleted document has none."""
    return (base.content if base.current else None) or canonical.EMPTY


def _edited(
    content: bytes | None,
    set: Mapping[str | Path, Value | object] | None,
    unset: str | Sequence[str | Path],
    locked: Sequence[str],
) -> tuple[bytes, list[Path]]:
    """A content with some fields set and others removed, and the paths of all of them."""
    before = content or canonical.EMPTY
    changes = [(_path(before, path), value_of(value)) for path, value in (set or {}).items()]
    gone = [_path(before, path) for path in ((unset,) if isinstance(unset, str) else unset)]
    paths = [*(path for path, _ in changes), *gone]
    edit.check_paths(paths, locked)
    return edit.changed(before, changes, gone), paths


def _left_alone(paths: Sequence[Path], a: Version, b: Version) -> bool:
    """Whether two versions agree at some paths."""
    if a.content is None or b.content is None:
        return False
    return all(canonical.get(a.content, path) == canonical.get(b.content, path) for path in paths)


def _path(raw: bytes, path: str | Path) -> Path:
    return fitted(raw, text.path_from_text(path)) if isinstance(path, str) else tuple(path)
