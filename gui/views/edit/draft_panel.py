"""The draft in the window: typing, as fields or as JSON, becomes steps on one content, which every part shows."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui import messages, tasks
from gui.language import tr
from gui.parts.fields.edit_changes import Change, EditChanges, path_text
from gui.parts.fields.edit_steps import Edit, Spot
from gui.parts.fields.field_nodes import FieldNode
from gui.style import focus_keeper
from gui.style.wording import many
from gui.views.edit.editor_parts import JSON, TREE
from gui.views.edit.editor_view import EditorView
from gui.views.edit.field_finder import replaced
from gui.views.edit.preview_pane import PreviewPane
from model.values import canonical
from model.values.canonical import Path

LARGE = 1024 * 1024  # bytes; in larger documents a task looks for differences


class DraftPanel(EditorView):
    """Holds the edit; knows nothing of the database. ``edited`` follows each change, ``shown`` its display."""

    edited = Signal()
    shown = Signal()
    whole_asked = Signal(object, object)  # Value, path: Space was pressed on a field

    def __init__(self, parent: QWidget | None = None) -> None:
        self._edit = Edit(canonical.EMPTY)
        super().__init__(lambda: self._edit, parent)
        self._changes: EditChanges | None = None
        self._in_json: Edit | None = None  # the edit that the JSON was last written from
        self._writable = False
        self.menus.edited.connect(self._spot_edited)
        self.menus.told.connect(self.tell)
        self.menus.revert_asked.connect(self._revert_node)
        self.tree.revert_asked.connect(self._revert_node)
        self.tree.whole_asked.connect(self._show_whole)
        self.tree.typing_changed.connect(self.shown)
        self.json.edited.connect(self._json_edited)
        self.json.error_changed.connect(self._json_error)
        self.json.typing_changed.connect(self.shown)
        self.head.view_chosen.connect(self.show_view)
        self.head.add.clicked.connect(self.add_field)
        self.foot.undo.clicked.connect(self.undo)
        self.replacing.one_asked.connect(self.replace_one)
        self.replacing.all_asked.connect(self.replace_all)
        self.keys(("Ctrl+Z", self.undo), ("Ctrl+Shift+Z", self.redo))

    def _make_side(self, parent: QWidget) -> PreviewPane:
        made = super()._make_side(parent)
        made.revert_all_asked.connect(self.revert_all)
        made.revert_asked.connect(self.revert)
        made.change_opened.connect(self.show_change)
        return made

    @property
    def content(self) -> bytes:
        """The draft, as it would be saved."""
        return self._edit.content

    @property
    def is_dirty(self) -> bool:
        """Whether anything is unsaved, including a value or text being typed."""
        return self._edit.is_dirty or self.tree.is_typing or self.json.is_typing or bool(self.json.error)

    @property
    def can_redo(self) -> bool:
        """Whether an undone step can be redone."""
        return self._edit.can_redo

    @property
    def changed_count(self) -> int:
        """How many fields are changed, as far as known."""
        known = len(self._changes) if self._changes is not None else 0
        return max(known, 1 if self.is_dirty else 0)

    def tell(self, said: str) -> None:
        """Say in a message what was done."""
        messages.tell(self, said)

    def set_writable(self, may: bool) -> None:
        """Set whether anything can be typed."""
        self._writable = may
        self.tree.may_edit = may and not self.json.error
        self.json.set_editable(may)
        self.head.add.setEnabled(may)
        self.replacing.one.setEnabled(may)
        self.replacing.all.setEnabled(may)

    def begin(self, edit: Edit) -> None:
        """Show another edit."""
        self._edit = edit
        self.show_draft()

    # --- showing

    def _spot_edited(self, spot: Spot | None) -> None:
        self.show_draft()
        self.menus.show_spot(spot)
        self.edited.emit()

    def show_draft(self) -> None:
        """Make every part show the draft."""
        base, content = self._edit.base, self._edit.content
        if len(content) + len(base) <= 2 * LARGE or base == content:
            self._show_changes(EditChanges(base, content))
            return
        # The fields are right at once; their marks follow.
        known = self._changes if self._changes is not None and self._changes.base is base else None
        self.model.set_content(content, known)
        tasks.run(
            lambda _: EditChanges(base, content),
            done=self._show_changes,
            failed=partial(messages.fail, self),
            owner=self,
            key="changes",
        )

    def _show_changes(self, changes: EditChanges) -> None:
        self._changes = changes
        self.model.set_content(self._edit.content, changes)
        self.side.show_changes(changes)
        if not self.json.isHidden():
            self._write_json()
        self.shown.emit()

    def _write_json(self) -> None:
        """Write the JSON anew; its undo goes back as far as the edit does, not into an older version."""
        self.json.show_content(self._edit.content, afresh=self._in_json is not self._edit)
        self._in_json = self._edit

    def show_change(self, change: Change) -> None:
        """Go to a change's field."""
        self.show_tree()
        self.reveal(change.path)
        self.tree.setFocus()

    def _show_whole(self, node: FieldNode) -> None:
        self.whole_asked.emit(node.value, self.model.path(node))

    # --- JSON

    def _json_edited(self, content: bytes) -> None:
        if self._edit.apply(content, tr("change the JSON")):
            self._spot_edited(None)

    def _json_error(self) -> None:
        wrong = bool(self.json.error)
        self.tree.may_edit = self._writable and not wrong
        if wrong:
            said = tr("The JSON text is not a document yet, so the fields cannot be changed.")
            self.notices.put(
                "json", "note", said, [(tr("Show it"), self._go_to_json), (tr("Drop the text"), self.drop_text)]
            )
            self.notices.hide_one("json", self.tree.isHidden())
        else:
            self.notices.clear("json")
        self.shown.emit()

    def _go_to_json(self) -> None:
        self.show_json(True)
        self.json.go_to_error()

    def drop_text(self) -> None:
        """Discard JSON text that is not a document; the draft remains the document read last."""
        self.json.forget_text()

    def show_json(self, as_json: bool) -> None:
        """Show the draft as JSON, or as fields."""
        self.show_view(JSON if as_json else TREE)

    def show_tree(self) -> None:
        """Go to the fields, which may already be visible beside the JSON."""
        if self.tree.isHidden():
            self.show_view(TREE)
        self.json.flush()
        focus_keeper.give(self.tree)

    def show_view(self, which: int) -> None:
        """Show the draft as fields, as JSON, or as both in step."""
        if which != TREE and not self.tree.commit():
            which = TREE
        if which == TREE:
            self.json.flush()
        else:
            self._write_json()
        self.put_views(which)
        self.focus_document()
        self.head.views.button(which).setChecked(True)
        self.notices.hide_one("json", which == JSON)

    # --- steps

    def undo(self) -> None:
        """Undo the last step; in JSON, the last typing."""
        if self.is_json and self.json.text.document().isUndoAvailable():
            self.json.text.undo()
        elif not self.json.error:
            self._step(back=True)

    def redo(self) -> None:
        """Redo the step undone last."""
        if self.is_json and self.json.text.document().isRedoAvailable():
            self.json.text.redo()
        elif not self.json.error:
            self._step(back=False)

    def _step(self, back: bool) -> None:
        if self.tree.has_editor:
            self.tree.give_up()
        step = self._edit.undo() if back else self._edit.redo()
        if step is not None:
            self._spot_edited(step.spot)

    def _revert_node(self, node: FieldNode) -> None:
        change = self.model.change_of(node)
        if change is not None:
            self.revert(change)

    def revert(self, change: Change) -> None:
        """Revert one change, as a step."""
        if self._changes is None or not self.tree.may_edit or not self.tree.commit():
            return
        made = self._changes.reverted(self._edit.content, change)
        if self._edit.apply(made, tr("revert {change}", change=path_text(change))):
            self._spot_edited(None)

    def revert_all(self) -> None:
        """Return to the version that the draft began from, as one step that can be undone."""
        self.tree.give_up()
        if self.tree.may_edit and self._edit.apply(self._edit.base, tr("revert everything")):
            self._spot_edited(None)

    def replace_one(self) -> None:
        """Replace the words in the chosen field, and go to the next field with them."""
        node = self.model.node(self.tree.currentIndex())
        self._replace(self.model.path(node) if node is not None else ())
        self.finder.next()

    def replace_all(self) -> None:
        """Replace the words in every value, as one step that can be undone."""
        self._replace(None)

    def _replace(self, only: Path | None) -> None:
        said, by = self.head.finder.text(), self.replacing.field.text()
        if not said:
            self.replacing.say(tr("Type above what to replace"))
            self.head.finder.setFocus()
            return
        self.json.flush(wait=True)
        if not self.tree.may_edit or not self.tree.commit():
            return
        made, count = replaced(self._edit.content, said, by, self.zone, only)
        if self._edit.apply(made, tr("replace {said} by {by}", said=said, by=by)):
            self._spot_edited(None)
        self.replacing.say(
            tr("Replaced in {fields}", fields=many(count, "field")) if count else tr("Nothing to replace here")
        )

    def add_field(self) -> None:
        """Add a field beside the chosen one, and type its name."""
        self.show_tree()
        if self.tree.may_edit and self.tree.commit():
            self.menus.add(self.model.node(self.tree.currentIndex()))
