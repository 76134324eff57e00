"""Which layout a collection follows, from samples and indexes: a proposal with its grounds, which a person may overrule."""

from __future__ import annotations

from collections.abc import Iterator

from model.layouts.base import Layout
from model.profile import CollectionProfile, Profile
from model.records import Checkpoint, CollectionInfo, no_checkpoint
from model.resilient import Port


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
    raise NotImplementedError
