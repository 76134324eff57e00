"""Requests for pages: frozen values that pages and the window hand to the tabs."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from gui.views.browse.query import EVERYTHING, Query

if TYPE_CHECKING:
    from gui.parts.document_side import DocumentSide
    from model.foundation.records import Draft
    from model.session import Session
    from model.session.batch_writing import Chosen
    from model.session.guarded_writing import Conflict
    from model.values.canonical import Path, Value


class CollectionStart(Struct, frozen=True):
    """The start of a collection's page: a query, two versions of the document, the pane or the sheet in front."""

    query: Query = EVERYTHING
    a: Value | None = None
    b: Value | None = None
    pane: Literal["", "history", "compare", "export", "import", "indexes"] = ""


class TimesStart(Struct, frozen=True):
    """Two times of a collection that are compared: the first of them, where one is known."""

    first: dt.datetime | None = None


class FieldStart(Struct, frozen=True):
    """The field whose history is shown: its path in a version, in the current one where ``v`` is None."""

    path: Path
    v: Value | None = None


class ConditionStart(Struct, frozen=True):
    """The condition of which the turns are looked for."""

    filter: str


class PairStart(Struct, frozen=True):
    """Two documents to be compared."""

    left: DocumentSide
    right: DocumentSide


class TakenStart(Struct, frozen=True):
    """A field that the draft of the document takes over: from which content, where, and whose it is, in words."""

    source: bytes
    path: Path
    name: str


class TakingBackStart(Struct, frozen=True):
    """The changes that are to be taken back: the documents, each with its versions."""

    chosen: tuple[Chosen, ...]


class PageRequest(Struct, frozen=True):
    """A request for a page: its kind in the registry, its place, and its start.

    ``way`` decides where such a page is open already: it is shown (``show``), another one opens ``beside`` it, or one
    opens ``instead``.
    """

    kind: str
    ns: str = ""
    id: Value | None = None
    start: (
        CollectionStart
        | TimesStart
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
    session: Session | None = None  # the connection that it is about, where that is another one than the asker's

    @property
    def document(self) -> Value:
        """The id of the document that the page is about; raises ``ValueError`` where none is named."""
        if self.id is None:
            raise ValueError(f"A page of the kind {self.kind} is about a document, and none was named.")
        return self.id
