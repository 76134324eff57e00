"""The grounds on which a recognised layout is too unsure to write by; a stated one is a person's decision.

They are those of recognition and of a scan: a low confidence, and the same damage in many documents. Every write asks
:meth:`.Catalogue.objection`, which knows no others.
"""

from __future__ import annotations

import datetime as dt
import time

from model.checks.base import Check
from model.checks.damage_tally import ClassOf, DamageTally
from model.checks.ordered_reading import OrderedReading
from model.errors import OF_CIRCUMSTANCE, Refused
from model.foundation.findings import Finding
from model.foundation.records import CollectionInfo
from model.layouts.registry import versions_told
from model.server.retry import Port
from model.storage.reserved_fields import legible_field

SURE = 0.8
"""The confidence from which on versions are written by a layout that was recognised."""
PROBED, PROBE_MS = 60, 2000  # documents that represent a collection
FIRST, LONG = 12, 0.5  # the number checked first; no others if these take as many seconds


def is_judged(info: CollectionInfo) -> bool:
    """Whether a write would make a version by the rules of a recognised layout, among versions that it may harm."""
    return bool(info.documents != 0 and not info.belongs_to and not info.read_only and versions_told(info.layout))


def unsure(info: CollectionInfo) -> str:
    """Why a recognised layout is too unsure to write by, one sentence; "" if it is not."""
    if info.confidence >= SURE or not is_judged(info):
        return ""
    if info.against:
        return f"{info.ns} looks like {info.layout}, but {info.against}."
    return (
        f"{info.ns} looks like {info.layout}, but with a confidence of {info.confidence:.0%} only, and {SURE:.0%} are "
        "needed to write."
    )


def damage_in_some(port: Port, info: CollectionInfo, check: Check, id: str, now: dt.datetime, class_of: ClassOf) -> str:
    """Why a scan would probably doubt the layout, judged by some documents, one sentence; "" if it would not.

    ``id`` is the field with the documents' ids. Raises ``Unreachable``, and ``Refused`` if it takes too long to tell.
    """
    tally, begun, done = DamageTally(info.ns, class_of), time.monotonic(), 0
    some = list(dict.fromkeys(v for raw in _some(port, info.ns, id) if (v := legible_field(raw, id)) is not None))
    for ids in (some[:FIRST], some[FIRST:]):
        if not ids or (done and time.monotonic() - begun > LONG):
            break
        for each in check.findings(ids, now, OrderedReading(port)):
            if isinstance(each, Finding):
                tally.note(each)
        done += len(ids)
    return tally.speaks_against(info.layout, done)


def _some(port: Port, ns: str, field: str) -> list[bytes]:
    """A field of some documents: a random sample, or the first ones if the server cannot sample."""
    stages = [{"$sample": {"size": PROBED}}, {"$project": {field: 1}}]
    try:
        return list(port.aggregate(ns, stages, max_ms=PROBE_MS))
    except OF_CIRCUMSTANCE:
        raise
    except Refused:
        return list(port.find(ns, projection={field: 1}, limit=PROBED, max_ms=PROBE_MS))
