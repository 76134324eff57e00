"""The status line's text about a collection: where its versions are, and how writes are guarded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.language import tr, translated

if TYPE_CHECKING:
    from model.foundation.records import CollectionInfo


def layout_sentence(info: CollectionInfo) -> str:
    """A sentence on where a collection's versions are kept."""
    if info.belongs_to is not None:
        return translated(info.why).rstrip(".")
    if info.unversioned:
        return tr("No versions recognised")
    by = tr(", written by {writer}", writer=info.writer) if info.writer else ""
    return tr("{layout} layout: {where}{by}", layout=info.layout.capitalize(), where=translated(info.where), by=by)


def guard_sentence(info: CollectionInfo, read_only: bool) -> str:
    """A sentence on how each write to a collection is guarded."""
    if read_only:
        return tr("Read-only: nothing is written")
    if info.belongs_to is not None:
        return (
            tr("Written by {writer}", writer=info.writer)
            if info.writer
            else tr("Written by saving the current document only")
        )
    if info.read_only:
        return tr("Written by {writer}: read-only here", writer=info.writer or tr("an application"))
    if info.writer:
        return tr("Every write is guarded by the whole content and has its row for {writer}", writer=info.writer)
    version, token, digest = (info.fields.get(role, "") for role in ("version", "token", "hash"))
    if not version and not digest:
        return tr("Every write is guarded by the whole content")
    guards = [version or digest, token or tr("the content")]
    return tr("Every write is guarded by {guards}", guards=tr(" and ").join(guards))
