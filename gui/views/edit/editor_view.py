"""The editor's parts and their layout: fields or JSON, a foldable pane beside them, head, foot, lines above it."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QModelIndex, Qt
from PySide6.QtGui import QKeySequence, QResizeEvent, QShortcut
from PySide6.QtWidgets import QWidget

from gui.parts.fields.edit_steps import Edit
from gui.parts.fields.field_model import ACTION, FIELD, TYPE, FieldModel
from gui.parts.fields.field_tree import FieldTree
from gui.parts.later_part import LaterPart
from gui.parts.notices import Notices
from gui.style import boxes, focus_keeper, preferences, theme
from gui.style.states import StateStack, hair
from gui.views.edit.editor_parts import JSON, TREE, EditorFoot, EditorHead, ReplaceRow
from gui.views.edit.field_actions import FieldActions
from gui.views.edit.field_finder import FieldFinder
from gui.views.edit.json_view import JsonView
from gui.views.edit.preview_pane import PreviewPane
from model.values.canonical import Path

FOLD_BELOW = 1040  # in a narrower panel the side pane folds by itself
WIDE = 1400  # with one more column, the limit is this
BESIDE, BELOW = 640, 130  # in a narrower panel the JSON is below the fields, each at least this high
ICONS_BELOW = 1000  # in a narrower one the buttons above show only icons
SIDE = 368
AMPLE = 1600  # a third of the width beyond this goes to the side pane: commands wrap less there
COLUMNS = "editor columns"


class EditorView(QWidget):
    """The look of the editor; :class:`~gui.views.edit.editor_panel.EditorPanel` is its behaviour."""

    def __init__(self, edit: Callable[[], Edit], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.zone = preferences.zone()
        self._folded: bool | None = None  # None: decided by the width
        self.head, self.states = EditorHead(), StateStack()
        self.replacing = ReplaceRow(self.head.finder)
        whole = boxes.column(self)
        whole.addWidget(self.head)
        whole.addWidget(self.replacing)
        whole.addWidget(hair())
        whole.addWidget(self.states, 1)
        body = QWidget(self.states.place)
        column = boxes.column(body)
        self._split = boxes.split(across=True)
        column.addWidget(self._split, 1)
        self._views = boxes.split(across=True)
        self._views.setHandleWidth(1)
        self._split.addWidget(self._views)
        self.model = FieldModel(self, self.zone)
        self.tree = FieldTree(self.model)
        self.menus = FieldActions(self.tree, edit)
        self.json = JsonView()
        self._views.addWidget(self.tree)
        self._views.addWidget(self.json)
        self.json.hide()
        self._side_part = LaterPart(self._make_side, self._split)
        self._split.setStretchFactor(0, 1)
        self._split.setHandleWidth(1)
        self.notices, self.foot = Notices(), EditorFoot()
        column.addWidget(self.notices)
        column.addWidget(hair())
        column.addWidget(self.foot)
        self.states.put(body)
        self.states.foot = self.foot
        self.setFocusProxy(self.tree)
        self._recall_columns()
        self.finder = FieldFinder(self.head.finder, lambda: (edit().content, self.zone), self.reveal, self)
        self.head.finder.left.connect(self.focus_document)
        self.replacing.left.connect(self._leave_replacing)
        self.head.unfold.clicked.connect(lambda: self.fold(False))
        self.head.last_set.toggled.connect(self._fit)
        self.tree.selectionModel().currentChanged.connect(self._tree_moved)
        self.json.text.moved.connect(self._json_moved)
        self.keys(
            ("Ctrl+F", self.focus_find),
            ("Ctrl+H", self.focus_replace),
            ("F3", self.finder.next),
            ("Shift+F3", self.finder.previous),
            ("Ctrl+B", self.toggle_fold),
        )

    @property
    def side(self) -> PreviewPane:
        """The pane of the changes, and of what would be sent."""
        return self._side_part.get()

    def _make_side(self, parent: QWidget) -> PreviewPane:
        made = PreviewPane(parent)
        made.fold_asked.connect(lambda: self.fold(True))
        return made

    def _recall_columns(self) -> None:
        """Give the columns the widths that a person set last."""
        widths = preferences.remembered_dict(COLUMNS)
        for column in (FIELD, TYPE, ACTION):
            wide = widths.get(str(column))
            if isinstance(wide, int) and theme.px(40) <= wide <= theme.px(900):
                self.tree.setColumnWidth(column, wide)
                self.tree.keep_columns()
        self.tree.column_sized.connect(self._keep_columns)

    def _keep_columns(self, column: int) -> None:
        if column in (FIELD, TYPE, ACTION):
            widths = preferences.remembered_dict(COLUMNS)
            widths |= {str(at): wide for at in (FIELD, TYPE, ACTION) if (wide := self.tree.columnWidth(at))}
            preferences.remember(COLUMNS, widths)  # a hidden column keeps its width

    def keys(self, *pairs: tuple[str, Callable[[], object]]) -> None:
        """Define keys that work while the focus is anywhere in the panel."""
        for key, call in pairs:
            made = QShortcut(QKeySequence(key), self)
            made.setContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
            made.activated.connect(call)

    @property
    def is_json(self) -> bool:
        """Whether the JSON side is in front: it is alone, or has the focus."""
        if self.json.isHidden():
            return False
        return self.tree.isHidden() or self.json.isAncestorOf(self.window().focusWidget() or self.window())

    def put_views(self, which: int) -> None:
        """Show the tree, the JSON or both in step; each appears at the field where the other is."""
        had_tree, had_json = not self.tree.isHidden(), not self.json.isHidden()
        self.tree.setVisible(which != JSON)
        self.json.setVisible(which != TREE)
        self._fit()
        self._halve()
        if not had_json:
            self._tree_moved(self.tree.currentIndex())
        elif not had_tree:
            self._json_moved(self.json.text.path)

    def _halve(self) -> None:
        """Give fields and JSON half of the room each."""
        down = self._views.orientation() == Qt.Orientation.Vertical
        half = (self._views.height() if down else self._views.width()) // 2
        self._views.setSizes([half, half])

    def _tree_moved(self, now: QModelIndex) -> None:
        node = self.model.node(now)
        if not self.json.isHidden() and node is not None and not self.json.text.hasFocus():
            self.json.text.go_to(self.model.path(node))

    def _json_moved(self, path: Path) -> None:
        if not self.tree.isHidden() and path and not self.tree.has_editor:
            self.reveal(path)

    def set_zone(self, zone: str) -> None:
        """Show dates in another zone."""
        self.zone = self.model.zone = zone
        self.model.refresh()

    # --- folding

    def fold(self, away: bool) -> None:
        """Fold or unfold the side pane, until the width decides otherwise."""
        self._folded = away
        self._fit()

    def toggle_fold(self) -> None:
        """Fold or unfold the side pane."""
        self.fold(self._side_part.isVisibleTo(self._split))

    def _fit(self, *_: object) -> None:
        both = not self.tree.isHidden() and not self.json.isHidden()
        low = both and self.width() < theme.px(BESIDE)
        if low != (self._views.orientation() == Qt.Orientation.Vertical):
            self._views.setOrientation(Qt.Orientation.Vertical if low else Qt.Orientation.Horizontal)
            self._halve()
        for part in (self.tree, self.json):
            part.setMinimumHeight(theme.px(BELOW) if low else 0)
        limit = theme.px(WIDE if self.head.last_set.isChecked() or both else FOLD_BELOW)
        folded = self.width() < limit if self._folded is None else self._folded
        self._side_part.setVisible(not folded)
        self.head.unfold.setVisible(folded)
        self.head.narrow(self.width() < theme.px(ICONS_BELOW))
        if not folded:
            spare = max(0, self.width() - theme.px(AMPLE)) // 3
            side = max(theme.px(280), min(theme.px(SIDE) + spare, self.width() // 3))
            self._split.setSizes([self.width() - side, side])

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        limit = theme.px(FOLD_BELOW)
        if (event.oldSize().width() < limit) != (event.size().width() < limit):
            self._folded = None
        self._fit()

    # --- finding

    def find(self, said: str) -> None:  # type: ignore[override]  # QWidget.find looks up windows by number
        """Put words into the find field, which then finds them."""
        self.head.finder.setText(said)

    def focus_find(self) -> None:
        """Go to the find field."""
        self.head.finder.setFocus()
        self.head.finder.selectAll()

    def focus_replace(self) -> None:
        """Go to the words to replace, or to their replacement."""
        self.replacing.say("")
        self.replacing.show()
        field = self.replacing.field if self.head.finder.text() else self.head.finder
        field.setFocus()
        field.selectAll()

    def _leave_replacing(self) -> None:
        self.focus_document()
        self.replacing.hide()

    def focus_document(self) -> None:
        """Focus the fields or, if they are hidden, the JSON."""
        focus_keeper.give(self.json.text if self.tree.isHidden() else self.tree)

    def find_next(self) -> None:
        """Go to the next field with the words."""
        self.finder.next()

    def find_previous(self) -> None:
        """Go to the previous field with the words."""
        self.finder.previous()

    def reveal(self, path: Path) -> None:
        """Choose the field at a path and scroll to it."""
        index = self.model.find(path)
        if index.isValid():
            self.menus.reveal(index)
