"""A query to a collection, and its parts in words."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

from gui.language import tr
from gui.style import wording
from model import text
from model.errors import Refused

if TYPE_CHECKING:
    from model.session import Session
    from model.session.through_time import HistoryList


class Query(Struct, frozen=True):
    """A query as it was typed. ``skip`` documents are skipped; of the others ``limit`` are listed, 0 means all."""

    filter: str = ""
    sort: str = ""
    fields: str = ""
    any_version: bool = False
    limit: int = 0
    skip: int = 0
    moment: str = ""  # the past time to show, as ISO 8601; "" is now
    deleted: bool = False  # whether deleted documents are listed

    @property
    def at(self) -> dt.datetime | None:
        """The time that is shown; None is now."""
        return dt.datetime.fromisoformat(self.moment) if self.moment else None

    @property
    def is_of_now(self) -> bool:
        """Whether it asks for present documents."""
        return not (self.moment or self.deleted)

    @property
    def words(self) -> str:
        """The query on one line, for a menu."""
        parts = [self.filter or tr("all documents")]
        if self.sort:
            parts.append(sort_words(self.sort))
        if self.fields:
            parts.append(tr("with {field_names}", field_names=", ".join(field_names(self.fields))))
        if self.any_version:
            parts.append(tr("any version"))
        if self.moment:
            parts.append(tr("as of {moment}", moment=wording.moment(self.at, exact=True)))
        if self.deleted:
            parts.append(tr("deleted documents"))
        if bounds := self.bounds:
            parts.append(bounds)
        return ", ".join(parts)

    @property
    def bounds(self) -> str:
        """Limit and skip in words; "" if there are none."""
        skipped = tr("skip {skip}", skip=wording.count(self.skip)) if self.skip else ""
        limited = tr("limit {limit}", limit=wording.count(self.limit)) if self.limit else ""
        return ", ".join(filter(None, (skipped, limited)))

    def kept(self) -> dict[str, object]:
        """The query as it is stored."""
        return asdict(self)

    @classmethod
    def remembered(cls, kept: object) -> Query | None:
        """The query that :meth:`kept` stored; older programs stored only the text of a filter."""
        if isinstance(kept, str):
            return cls(kept)
        if not isinstance(kept, dict):
            return None
        plain, fine = asdict(cls()), {}
        for name, value in kept.items():
            if name in plain and type(value) is type(plain[name]):
                fine[name] = value
        try:
            moment = dt.datetime.fromisoformat(fine["moment"]) if fine.get("moment") else None
        except ValueError:
            moment = None
        return cls(**{**fine, "moment": moment.isoformat() if moment is not None and moment.tzinfo else ""})


EVERYTHING = Query()
"""The query of a list when nothing was asked."""


def listed(session: Session, ns: str, query: Query) -> HistoryList:
    """The list of a query for the past or for deleted documents."""
    if query.at is not None:
        return session.time.past(ns, query.at, query.filter, query.sort)
    return session.time.deleted(ns, query.filter, query.sort)


def sort_words(sort: str, unsorted: str = "_id") -> str:
    """``price ascending`` for a sort by one field, otherwise the text; ``unsorted`` is the field if none is named."""
    pairs = sort_pairs(sort) or ([] if sort.strip() else [(unsorted, False)])
    if not pairs:
        return sort.strip()
    name, descending = pairs[0]
    said = f"{name} {tr('descending') if descending else tr('ascending')}"
    return said if len(pairs) == 1 else tr("{said}, {pairs} more", said=said, pairs=len(pairs) - 1)


def sort_pairs(sort: str) -> list[tuple[str, bool]]:
    """The fields of a typed order, each with whether it descends; [] if it cannot be read."""
    if sort.lstrip().startswith("{"):
        try:
            from model.values import canonical

            return [(name, text.shown(way).startswith("-")) for name, way in canonical.fields(text.loose(sort))]
        except Refused:
            return []
    parts = [part.split() for part in sort.split(",") if part.strip()]
    return [(part[0].removeprefix("-"), part[0].startswith("-") or part[-1].startswith("desc")) for part in parts]


def field_names(fields: str) -> list[str]:
    """The fields of a typed projection: ``a, b.c`` or ``{ a: 1, "b.c": 1 }``."""
    if fields.lstrip().startswith("{"):
        try:
            from model.values import canonical

            return [
                name
                for name, way in canonical.fields(text.loose(fields))
                if text.shown(way) not in ("0", "false", "0.0")
            ]
        except Refused:
            return []
    return [name.strip() for name in fields.split(",") if name.strip()]
