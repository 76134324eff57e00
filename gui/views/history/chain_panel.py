"""The base of panels that follow a document through its versions: it reads the chain in a task."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui import tasks
from gui.language import tr
from gui.style import boxes, wording
from gui.style.states import StateStack
from model.history.chain import Chain
from model.history.chain_reading import ChainReading
from model.session import Session
from model.values.canonical import Value


class ChainPanel(QWidget):
    """Base of the panels; ``compare_asked`` carries two versions, older first."""

    compare_asked = Signal(object, object)
    loaded = Signal()
    stack: StateStack
    key = ""
    in_parts = False
    """Whether what is known so far is shown while older versions arrive, where nothing is shown yet."""

    def __init__(self, session: Session, ns: str, id: Value, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session, self.ns, self.id = session, ns, id
        self._task: tasks.Task | None = None
        self._reading: ChainReading | None = None
        boxes.ground(self, "surface")

    def refresh(self) -> None:
        """Read the chain again; the one on show stays until then."""
        self._reading = None
        self._read(self.in_parts and not self._has_chain)

    def read_on(self) -> None:
        """Go on with a reading that was stopped."""
        self._read(self.in_parts)

    def _read(self, in_parts: bool) -> None:
        id, begun = self.id, self._reading
        if begun is None:
            begun = self._reading = self._session.chain_reading(self.ns, id)

        def work(progress: tasks.Progress) -> Chain:
            return begun.read(progress, progress.put if in_parts else None)

        self._task = tasks.run(
            work,
            done=self._done,
            failed=self._failed,
            cancelled=self._cancelled,
            partial=self._put,
            owner=self,
            title=tr("Following {id}", id=wording.plain(id)),
            key=self.key,
        )
        self._task.progressed.connect(self.stack.progress)
        self._say_reading()

    @property
    def _has_chain(self) -> bool:
        """Whether a chain, or the newer part of it, is shown."""
        raise NotImplementedError

    def _put(self, chain: Chain) -> None:
        """Show a chain, whole or the newer part of it."""
        raise NotImplementedError

    def _say_reading(self) -> None:
        self.stack.show_loading(tr("Reading the versions of {id}", id=wording.plain(self.id)), self._stop)

    def compare(self) -> None:
        """Ask to compare the chosen setting with what was before it."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop reading; the tab closes."""
        self._stop()

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _done(self, chain: Chain) -> None:
        self._task = None
        self._put(chain)
        self.loaded.emit()

    def _failed(self, error: BaseException) -> None:
        self._task = None
        self.stack.show_failed(
            error, self.refresh, tr("The versions of {id} could not be followed", id=wording.plain(self.id))
        )

    def _cancelled(self) -> None:
        self._task = None
        if self._has_chain:
            self.stack.show_content()
        else:
            self.stack.show_empty(tr("Reading was stopped"), "", [(tr("Read on"), self.read_on)], "hourglass")
