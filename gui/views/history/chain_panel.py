"""Base of panels that follow a document through its versions: reads the versions in a task."""

from __future__ import annotations

from functools import cached_property

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.parts.reading import Reading
from gui.style import boxes, wording
from gui.style.states import StateStack
from model.session import Session
from model.session.history_reading import Chain, ChainReading
from model.values.canonical import Value


class ChainPanel(QWidget):
    """Base of the panels; ``compare_asked`` carries two versions, older first.

    It calls ``_has_chain`` and ``_put``, and ``_keep`` after reading was stopped.
    """

    compare_asked = Signal(object, object)
    loaded = Signal()
    stack: StateStack
    key = ""
    in_parts = False
    """Whether, if nothing is shown yet, partial results are shown while older versions arrive."""

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns, self.id = session, ns, id
        self._begun: ChainReading | None = None
        boxes.ground(self, "surface")

    @cached_property
    def reading(self) -> Reading:
        """The reading of the versions, shown in the panel's own states."""
        title = tr("The versions of {id} could not be followed", id=wording.plain(self.id))
        return Reading(
            self,
            self.stack,
            has=lambda: self._has_chain,
            again=self.refresh,
            keep=self._keep,
            stopped=self._stopped,
            title=title,
            key=self.key,
        )

    def refresh(self) -> None:
        """Read the versions again; the shown ones stay until then."""
        self._begun = None
        self._read(self.in_parts and not self._has_chain)

    def read_on(self) -> None:
        """Continue a stopped reading."""
        self._read(self.in_parts)

    def _read(self, in_parts: bool) -> None:
        begun = self._begun
        if begun is None:
            begun = self._begun = self._session.history.chain_reading(self.ns, self.id)
        name = wording.plain(self.id)
        self.reading.ask(
            lambda progress: begun.read(progress, progress.put if in_parts else None),
            self._done,
            tr("Reading the versions of {id}", id=name),
            title=tr("Following {id}", id=name),
            partial=self._put,
        )

    @property
    def _has_chain(self) -> bool:
        """Whether the versions, or the newer ones, are shown."""
        raise NotImplementedError

    def _put(self, chain: Chain) -> None:
        """Show the versions: all, or the newer part."""
        raise NotImplementedError

    def _keep(self) -> None:
        """Show the part of the versions that was read."""
        self.stack.show_content()

    def compare(self) -> None:
        """Ask to compare the chosen setting with the value before it."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop reading, because the tab closes."""
        self.reading.stop()

    def _done(self, chain: Chain) -> None:
        self._put(chain)
        self.loaded.emit()

    def _stopped(self) -> None:
        self.reading.show_stopped(again=tr("Read on"), call=self.read_on)
