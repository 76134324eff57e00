"""One side of a comparison: a version of any document of any connection. Also the one remembered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from PySide6.QtCore import QObject, Signal

from gui.language import tr
from gui.style import wording

if TYPE_CHECKING:
    from model.session import Session
    from model.values.canonical import Value


class DocumentSide(Struct, frozen=True, eq=False):
    """A version of a document; the current one if ``v`` is None."""

    session: Session
    ns: str
    id: Value
    v: Value | None = None

    @property
    def name(self) -> str:
        """``K-204117 v11``."""
        return f"{wording.plain(self.id)} {wording.version(self.v)}".rstrip()

    @property
    def place(self) -> str:
        """``insurance.contracts on sample:``."""
        return tr("{ns} on {name}", ns=self.ns, name=wording.source(self.session.name))


class RememberedSide(QObject):
    """The version that a person remembered for a comparison."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.side: DocumentSide | None = None

    def put(self, side: DocumentSide | None) -> None:
        """Remember a version, or none."""
        self.side = side
        self.changed.emit()

    def forget(self, session: Session) -> None:
        """Forget a version that belongs to a closed connection."""
        if self.side is not None and self.side.session is session:
            self.put(None)


remembered = RememberedSide()
