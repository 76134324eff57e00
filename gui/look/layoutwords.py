"""What the status line says of a collection: where its versions are, and what guards a write."""

from __future__ import annotations

from model.records import CollectionInfo


def _name(ns: str) -> str:
    return ns.partition(".")[2] or ns


def layout_sentence(info: CollectionInfo) -> str:
    """Where the versions of a collection's documents are kept."""
    if info.belongs_to is not None:
        return f"Earlier versions of {_name(info.belongs_to)}"
    fields = info.fields
    said = {
        "archive": f"earlier versions in {_name(fields.get('archive', 'an archive'))}",
        "stream": f"every version is copied to {_name(fields.get('archive', 'an archive'))}",
        "versions": "a document for every version",
        "flagged": f"a document for every version, the newest carries {fields.get('current', 'a flag')}",
        "embedded": f"earlier versions in {fields.get('prev', 'an array')}",
        "deltas": "each version holds only what changed",
        "hashed": f"the version is the hash in {fields.get('hash', 'a field')}",
        "sequence": "numbers handed out one by one",
        "processed": "each operation is applied once",
        "pending": "counters change in two steps",
    }.get(info.layout)
    return f"{info.layout.capitalize()} layout: {said}" if said else "No versions recognised"


def guard_sentence(info: CollectionInfo, read_only: bool) -> str:
    """What every write to a collection depends on."""
    if read_only:
        return "Read-only: nothing is written"
    if info.belongs_to is not None:
        return "Written by saving the current document only"
    version, token, digest = (info.fields.get(role, "") for role in ("version", "token", "hash"))
    if info.layout == "hashed":
        guards = [name for name in (digest, token) if name]
    elif info.layout == "plain" or not version:
        return "Every write is guarded by the whole content"
    else:
        guards = [name for name in (version, token) if name]
    return f"Every write is guarded by {' and '.join(guards)}" if guards else "Every write is guarded by its content"
