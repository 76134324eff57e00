"""The topics of the manual under their groups; during a search only topics with hits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping

from msgspec import Struct
from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtWidgets import QWidget

from gui.language import tr
from gui.paging import RowsModel
from gui.style import wording
from gui.style.cells import Badge, Cell, CellTree, Index, Span
from resources import manual


class _Line(Struct, frozen=True):
    """A topic with its number of hits, or a group's heading."""

    group: str
    topic: manual.Topic | None = None
    hits: int = 0


class _Model(RowsModel[_Line]):
    headers = ("",)

    def key(self, row: _Line) -> Hashable:
        return row.topic.name if row.topic is not None else row.group

    def cell(self, index: Index) -> Cell:
        line = self.rows[index.row()]
        if line.topic is None:
            return Cell(spans=(Span(line.group, "text3", weight=600),), size=11, indent=8)
        said = f", {wording.many(line.hits, 'hit')}" if line.hits else ""
        return Cell(
            spans=(Span(line.topic.title),),
            badges=(Badge(wording.count(line.hits)),) if line.hits else (),
            badges_right=True,
            indent=8,
            tip=line.topic.about,
            accessible=f"{line.topic.title}{said}",
        )

    def flags(self, index: Index) -> Qt.ItemFlag:
        line = self.at(index)
        return Qt.ItemFlag.NoItemFlags if line is None or line.topic is None else super().flags(index)


class TopicList(CellTree):
    """``chosen`` carries the name of a topic that a person has chosen."""

    chosen = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_height=24)
        self.setObjectName("sidebartree")
        self._lines = _Model()
        self.as_list(self._lines, tr("Topics"))
        self.setHeaderHidden(True)
        self._silent = False
        self.selectionModel().currentRowChanged.connect(self._moved)

    def put(self, hits: Mapping[str, int] | None = None) -> None:
        """List all topics, or those with hits."""
        shown = [topic for topic in manual.topics() if hits is None or hits.get(topic.name)]
        lines: list[_Line] = []
        for topic in shown:
            if topic.group and (not lines or lines[-1].group != topic.group):
                lines.append(_Line(topic.group))
            lines.append(_Line(topic.group, topic, 0 if hits is None else hits[topic.name]))
        self._silent = True
        self._lines.fill(lines)
        self._silent = False

    def choose(self, name: str) -> None:
        """Mark the topic that is shown, without emitting ``chosen``."""
        self._silent = True
        at = self._lines.row_of(name)
        if at >= 0:
            self.setCurrentIndex(self._lines.index(at, 0))
        else:
            self.setCurrentIndex(QModelIndex())
            self.clearSelection()
        self._silent = False

    @property
    def names(self) -> list[str]:
        """The topics that are listed."""
        return [line.topic.name for line in self._lines.rows if line.topic is not None]

    def _moved(self, now: QModelIndex, _: QModelIndex) -> None:
        line = self._lines.at(now)
        if not self._silent and line is not None and line.topic is not None:
            self.chosen.emit(line.topic.name)
