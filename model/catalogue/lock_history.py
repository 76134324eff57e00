"""Whether a lock field moves in the history of its documents as its name or a profile says."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice, pairwise

from model import text
from model.errors import OF_CIRCUMSTANCE, Refused
from model.foundation.collection_profile import MOVED, CollectionProfile
from model.layouts.registry import bind, declared, versions_told
from model.recognition.sampling import Sample
from model.server.retry import Port
from model.storage.reserved_fields import number_of, time_of
from model.text.names import id_name
from model.values import canonical as c
from model.values.canonical import Value

DOCUMENTS, VERSIONS = 8, 12  # whose histories are read, and how much of each
FEWEST = 2  # steps; one may be damage


def strays(server: Port, profile: CollectionProfile, sample: Sample) -> str:
    """How a lock moves otherwise than stated, as a clause with an example; "" if it does not, or nothing tells.

    Only histories that keep whole stored documents tell it.
    """
    lock, kind = profile.guard, declared(profile.layout)
    told = versions_told(profile.layout) and not kind.within and not kind.written_by_others and "prev" not in kind.roles
    if lock is None or lock.how not in MOVED or not told:
        return ""
    path, steps, wrong, example = tuple(lock.field.split(".")), 0, 0, ""
    for id, before, after in _steps(server, profile, sample, path):
        steps += 1
        if not _moves(before, after, lock.how, lock.field):
            wrong += 1
            example = (
                example or f"from {text.shown(before, limit=40)} to {text.shown(after, limit=40)} in {id_name(id)}"
            )
    if wrong < FEWEST or 2 * wrong < steps:
        return ""
    return f"{lock.field} goes {example}, which is not how a lock of its kind moves"


def _steps(
    server: Port, profile: CollectionProfile, sample: Sample, path: tuple[str, ...]
) -> Iterator[tuple[Value, Value, Value]]:
    """The lock in a version and in the next one, of some documents."""
    ids = dict.fromkeys(id for each in sample.documents if (id := each.get(profile.id)) is not None)
    layout = bind(server, profile)
    for id in list(ids)[:DOCUMENTS]:
        try:
            found = list(islice(layout.history(id, contents=True), VERSIONS))
        except OF_CIRCUMSTANCE:
            raise
        except Refused:
            continue
        for newer, older in pairwise(found):
            with suppress(Refused):  # damaged bytes
                before, after = (c.get(each.raw or c.EMPTY, path) for each in (older, newer))
                if before is not None and after is not None:
                    yield id, before, after


def _moves(before: Value, after: Value, how: str, name: str) -> bool:
    """Whether a lock moves like this from one version to the next; mongoose raises ``__v`` with few of its saves."""
    if how == "uuid":
        return before != after
    if how == "time":
        was, now = time_of(before), time_of(after)
        return was is not None and now is not None and was < now
    low, high = number_of(before), number_of(after)
    return low is not None and high is not None and (low <= high if name == "__v" else low < high)
