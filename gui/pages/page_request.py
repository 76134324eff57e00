"""Requests for pages: frozen values that pages and the window hand to the tabs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from gui.views.browse.query import EVERYTHING, Query

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gui.parts.document_side import DocumentSide
    from gui.views.repair.plan_kind import PlanKind
    from model.foundation.records import Draft
    from model.session import Session
    from model.session.batch_writing import Chosen
    from model.session.guarded_writing import Conflict
    from model.values.canonical import Path, Value


class CollectionStart(Struct, frozen=True):
    """How a collection's page starts: a query, two versions of the document, the pane or sheet in front."""

    query: Query = EVERYTHING
    a: Value | None = None
    b: Value | None = None
    pane: Literal["", "history", "compare", "export", "import", "indexes"] = ""


class TimesStart(Struct, frozen=True):
    """Two times of a collection to compare: the first of them, if it is known."""

    first: dt.datetime | None = None


class CollectionsStart(Struct, frozen=True):
    """The open connections with their collections, of which one is compared with the page's."""

    places: Mapping[Session, Sequence[str]]


class FieldStart(Struct, frozen=True):
    """The field whose history is shown: its path in version ``v``, or in the current one if that is None."""

    path: Path
    v: Value | None = None


class ConditionStart(Struct, frozen=True):
    """The condition whose turns are looked for."""

    filter: str


class PairStart(Struct, frozen=True):
    """Two documents to compare."""

    left: DocumentSide
    right: DocumentSide


class TakenStart(Struct, frozen=True):
    """A field that the document's draft takes over: the content it comes from, its place, and whose it is, in words."""

    source: bytes
    path: Path
    name: str


class TakingBackStart(Struct, frozen=True):
    """The documents of a plan, and what it does to them; without a kind, their versions are taken back."""

    chosen: tuple[Chosen, ...]
    kind: PlanKind | None = None


class PageRequest(Struct, frozen=True):
    """A request for a page: its kind in the registry, its place, and its start.

    ``way`` says what to do if such a page is already open: ``show`` it, open another one ``beside`` it, or open one
    ``instead``.
    """

    kind: str
    ns: str = ""
    id: Value | None = None
    start: (
        CollectionStart
        | TimesStart
        | CollectionsStart
        | FieldStart
        | ConditionStart
        | TakenStart
        | PairStart
        | TakingBackStart
        | Conflict
        | Draft
        | None
    ) = None
    way: Literal["show", "beside", "instead"] = "show"
    session: Session | None = None  # the connection it is about, if not the one of the page that asks

    @property
    def document(self) -> Value:
        """The id of the document that the page is about; raises ``ValueError`` if none is named."""
        if self.id is None:
            raise ValueError(f"A page of the kind {self.kind} is about a document, and none was named.")
        return self.id
