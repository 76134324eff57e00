"""The collection that exported versions come from, with its layout as a profile states it, as default for an import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from model.errors import Refused, Unreadable
from model.exchange.kept_version import check_proof, not_importable, with_proof
from model.layouts.base import Layout
from model.profile import Profile, as_stated, table
from model.values import canonical as c
from model.values.canonical import Value

FORMAT = "palimpsest history"
EDITION = 1
"""The edition of all file forms; a later one is refused."""


class HistoryOrigin(Struct, frozen=True):
    """Where a history comes from."""

    ns: str
    stated: Mapping[str, Any] = field(default_factory=dict)  # its table in a profile; {} if no profile can state it
    sealed: bool = False  # whether author and reason belong to the content, because hashes cover them

    @classmethod
    def of(cls, layout: Layout) -> HistoryOrigin:
        """The origin for an export of a collection."""
        said = table(layout.profile)
        try:
            again = Profile.read({"collection": [{"ns": layout.ns, **said}]}, "").collections
        except Refused:  # a recognised name inside a sub-document
            return cls(layout.ns)
        return cls(layout.ns, said if again == (as_stated(layout.profile),) else {}, layout.profile.seals_author)

    @property
    def document(self) -> bytes:
        """The origin as a document; :func:`history_origin` reads it back."""
        found = {
            "format": FORMAT,
            "edition": EDITION,
            "ns": self.ns,
            "stated": dict(self.stated),
            "sealed": self.sealed,
        }
        return with_proof([(name, Value.of(value)) for name, value in found.items()])


def history_origin(raw: bytes, where: object) -> HistoryOrigin:
    """The origin in a document of some file; raises ``Unreadable`` if it holds none, was changed or is too new."""
    try:
        return _history_origin(raw)
    except Unreadable as error:
        raise not_importable(where, error) from None


def _history_origin(raw: bytes) -> HistoryOrigin:
    found = dict(c.fields(raw))
    format, ns, stated, edition = (found.get(name) for name in ("format", "ns", "stated", "edition"))
    if format != Value.of(FORMAT) or ns is None or ns.type != c.STRING or stated is None or stated.type != c.OBJECT:
        raise Unreadable("it is not a history that `palimpsest export` wrote")
    if edition != Value.of(EDITION):
        raise Unreadable("a later edition of palimpsest wrote it; import it with that one")
    origin = HistoryOrigin(str(ns.python()), dict(stated.python()), found.get("sealed") == Value.of(True))
    check_proof(found, origin.document == raw)
    return origin
