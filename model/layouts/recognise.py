"""Which layout a collection follows: a proposal from samples and indexes, with its grounds; a person decides."""
# LAYOUT helper: the lead has handed recognise()/profile_for() to a RECOGNISE helper (files recognise.py, evidence.py) and writes model/sending.py himself. Go on with flagged, deltas, tests; only keep LAYOUTS and bind() current here.

from __future__ import annotations

from collections.abc import Iterator

from model.layouts.archive import Archive
from model.layouts.base import Layout
from model.layouts.deltas import Deltas
from model.layouts.embedded import Embedded
from model.layouts.flagged import Flagged
from model.layouts.hashed import Hashed
from model.layouts.plain import Plain
from model.layouts.stream import Stream
from model.layouts.versions import Versions
from model.profile import CollectionProfile, Profile
from model.records import Checkpoint, CollectionInfo, no_checkpoint
from model.resilient import Port

LAYOUTS: dict[str, type[Layout]] = {
    each.name: each for each in (Versions, Flagged, Embedded, Archive, Deltas, Stream, Hashed, Plain)
}


def recognise(
    server: Port, db: str, profile: Profile | None = None, checkpoint: Checkpoint = no_checkpoint
) -> Iterator[tuple[CollectionInfo, CollectionProfile]]:
    """Each collection of a database with its layout; what the profile states is taken as it is.

    An archive is listed with ``belongs_to``.
    """
    raise NotImplementedError


def profile_for(server: Port, info: CollectionInfo, layout: str) -> CollectionProfile:
    """The field names to use where a person picks another layout; raises ``Refused`` where it cannot be."""
    raise NotImplementedError


def bind(server: Port, profile: CollectionProfile) -> Layout:
    """The layout object for a profile; the patterns (sequence, pending, processed) are browsed as plain."""
    return LAYOUTS.get(profile.layout, Plain)(server, profile)
