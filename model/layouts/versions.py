"""``versions``: a document for every version; the one with the highest number is current.

Stored: ``{_id: <own>, docId, v, …}`` for each version. Index: a unique one on id and version, without which nothing is
written: it is what lets one writer have a number.

The swap, step by step:

1. The newest version is read again; another one than the base, or the base changed in place, is a conflict.
2. The new version is inserted with the next number, and with the write token as its ``_id`` and beside the version.
3. A duplicate key says that another writer has that number. In doubt the token is looked for; it is not there: the same
   insert is sent once more, which the index turns away if the first one has arrived, or arrives later.

Crash points: before the insert nothing has happened, after it everything has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from model.layouts.inserted import Inserted
from model.layouts.outlines import outlines
from model.layouts.recognition import find_version_documents
from model.layouts.recognition.sampling import Proposal, Sample
from model.layouts.reserved_fields import Own, own_of
from model.names import version_name
from model.records import Outline, Version
from model.server.retry import Port
from model.values.canonical import Value


class Versions(Inserted):
    """Documents whose versions stand beside one another."""

    name = "versions"
    about = "a document for every version"
    roles = ("id", "version", "token")
    defaults: ClassVar[Mapping[str, str]] = {"id": "docId"}
    lacks = "no field with a whole number and one with an id were found in it."

    @classmethod
    def proposed(cls, server: Port, sample: Sample) -> Proposal | None:
        """Documents that share an id and follow one another; the judge tells ``flagged`` and ``deltas`` apart too."""
        return find_version_documents.own_documents(server, sample)

    @classmethod
    def picked(cls, server: Port, sample: Sample, others: Sequence[str]) -> Proposal | None:
        """The likeliest id and version."""
        return find_version_documents.wanted(server, sample, cls.name)

    @property
    def own(self) -> Own:
        """Id, version, token, hash and time."""
        return own_of(self.profile, self.claim)

    def outline(self, ids: Sequence[Value]) -> Iterator[Outline]:
        """The numbers of each document's versions."""
        return outlines(self.server, self.profile, self.own, ids, self.stored, claim=self.claim)

    def explain(self, base: Version) -> str:
        """What the insert rests on."""
        p = self.profile
        return (
            f"The new version is inserted beside {version_name(base.v)}. The unique index on {p.id} and {p.version} "
            "lets one writer have its number."
        )
