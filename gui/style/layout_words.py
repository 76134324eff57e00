"""The status line's words about a collection: where its versions are, and what guards a write."""

from __future__ import annotations

from model.records import CollectionInfo


def layout_sentence(info: CollectionInfo) -> str:
    """A sentence on the place of the versions of a collection's documents."""
    if info.belongs_to is not None:
        return info.why.rstrip(".")
    if info.layout == "plain":
        return "No versions recognised"
    by = f", written by {info.writer}" if info.writer else ""
    return f"{info.layout.capitalize()} layout: {info.where}{by}"


def guard_sentence(info: CollectionInfo, read_only: bool) -> str:
    """A sentence on the condition of every write to a collection."""
    if read_only:
        return "Read-only: nothing is written"
    if info.belongs_to is not None:
        return f"Written by {info.writer}" if info.writer else "Written by saving the current document only"
    if info.read_only:
        return f"Written by {info.writer or 'an application'}: read-only here"
    if info.writer:
        return f"Every write is guarded by the whole content and has its row for {info.writer}"
    version, token, digest = (info.fields.get(role, "") for role in ("version", "token", "hash"))
    if not version and not digest:
        return "Every write is guarded by the whole content"
    guards = [name for name in (version or digest, token) if name]
    return f"Every write is guarded by {' and '.join(guards)}"
