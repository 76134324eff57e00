"""Deleted documents inserted again, each under its own ``_id`` and with its own bytes."""

from __future__ import annotations

from collections.abc import Sequence

from model.collection_profile import CollectionProfile
from model.errors import Refused
from model.layouts import document_ids
from model.records import Outcome
from model.server import guards
from model.server.retry import End, Port, Write, run
from model.values.canonical import Value


def put_back(
    server: Port, profile: CollectionProfile, removed: Sequence[tuple[str, bytes]], unique: tuple[str, ...]
) -> Outcome:
    """Insert again every (ns, stored document) that a delete removed; ``conflict`` where the id is taken by now.

    In doubt a document that is there with just these bytes counts as ours. Documents that are there are left alone.
    Where only some of several documents could be put back, that is ``unknown``, and another try goes on. ``unique``
    names the fields of the index by which, beside ``_id``, a place is taken.
    """
    key: Value | None = None
    for done, (ns, raw) in enumerate(removed):
        physical = guards.physical_id(raw)
        key = key or document_ids.id_of(raw, profile.id if ns == profile.ns else profile.archive_id) or physical

        places = unique if ns == profile.ns else (profile.archive_id, profile.version)

        def there(ns: str = ns, raw: bytes = raw, physical: Value = physical) -> bool:
            return next(iter(server.find(ns, guards.by_id(physical), limit=1)), None) == raw

        try:
            if there():
                continue
            end = run(server, Write(ns, "insert", {}, raw, "put back what was deleted", places), there)
        except Refused as error:
            end = End("refused", str(error))
        if end.kind == "applied":
            continue
        sentence = end.sentence
        if end.kind == "conflict":
            sentence = "Its place is taken by another document; nothing was put back."
        if not done or end.kind == "unknown":
            return Outcome(end.kind, profile.ns, key, sentence)
        said = f"{done} of {len(removed)} documents are there again, the next one is not."
        return Outcome("unknown", profile.ns, key, said)
    return Outcome("applied", profile.ns, key, "What was deleted is there again.")
