"""The findings of a scan: each describes one broken state and holds its evidence.

The classes are a closed set with fixed codes (V1 … B1). A finding names its document by the value of the profile's id
field. Its evidence is the stored documents as they were read, so that a repair can check that they have not changed.
"""

from __future__ import annotations

import datetime as dt

from msgspec import Struct

from model.foundation.records import Raw
from model.values.canonical import Value


class Evidence(Struct, frozen=True):
    """A stored document on which a finding is based, as it was read."""

    ns: str  # the collection that stores it: the archive's namespace for an archive's row
    name: str  # for people: "in the document", "in the archive", "v9"
    raw: Raw
    v: Value | None = None  # its version, if it has one
    sha256: str = ""  # of the whole document, if ``raw`` is only its `_id`


class Finding(Struct, frozen=True):
    """One broken state of a document (or key, number, hash) that somebody should look at."""

    code: str  # a key of :data:`model.repair.damage_classes.CLASSES`
    ns: str  # the profile's, never the archive's; for S1 the counters', for S2 the target's
    id: (
        Value | None
    )  # the profile's id; B1: the physical one if no other can be read; S1: the counter's name, S2: the number
    versions: tuple[Value, ...]  # the missing numbers of a gap, else the versions concerned
    detail: str  # the damage, a clause or a sentence
    repair: str | None = None  # the name of the safe repair; None if there is none (yet)
    evidence: tuple[Evidence, ...] = ()
    at: dt.datetime | None = None  # when the damage was written; None if unknown
    young: bool = False  # within the grace period, or of unknown age where age matters
    doubt: str = ""  # why the layout is doubted rather than the data, one sentence; then there is no repair


class Unchecked(Struct, frozen=True):
    """A document or collection that a scan did not look at, and why."""

    ns: str
    why: str  # one sentence
    id: Value | None = None  # None: the whole collection
    left_out: tuple[int, str] | None = None  # the number of documents, and what they have or lack, if it counts several
