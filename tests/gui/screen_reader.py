"""A window as a screen reader sees it: names, roles and actions, but nothing drawn."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QWidget

Role = QAccessible.Role
FEW = 400  # children of a list that are looked at


class ScreenReader:
    """What can be heard and pressed in one window; a test makes ``QAccessible`` active before."""

    def __init__(self, window: QWidget) -> None:
        self._window = window

    def parts(self) -> Iterator[QAccessibleInterface]:
        """Everything that is there to be heard."""
        top = QAccessible.queryAccessibleInterface(self._window)
        waiting = [top] if top is not None else []
        while waiting:
            here = waiting.pop()
            if not here.isValid() or here.state().invisible:
                continue
            yield here
            inside = [here.child(at) for at in range(min(here.childCount(), FEW))]
            waiting.extend(each for each in reversed(inside) if each is not None)

    def find(self, words: str, role: Role | None = None) -> QAccessibleInterface:
        """The first part whose name holds the words."""
        heard = []
        for part in self.parts():
            said = name(part)
            if words in said and (role is None or part.role() == role):
                return part
            heard.append(said)
        raise AssertionError(f"{words!r} is nowhere to be heard among {[said for said in heard if said][:80]}")

    def hears(self, words: str) -> bool:
        """Whether any part's name, or its description, holds the words."""
        return any(words in name(part) or words in part.text(QAccessible.Text.Description) for part in self.parts())

    def press(self, words: str, role: Role = Role.Button) -> None:
        """Press what is called so."""
        found = self.find(words, role)
        state = found.state()
        assert not state.disabled, f"{words} is disabled"
        act = found.actionInterface()
        assert act is not None, words
        act.doAction("Press")

    def set(self, words: str, column: str, said: str) -> None:
        """Set the first cell that says these words below the header of that name, as voice control does."""
        for part in self.parts():
            if part.role() == Role.TreeItem and words in name(part):
                cell = part.tableCellInterface()
                if cell is not None and [name(head) for head in cell.columnHeaderCells()] == [column]:
                    part.setText(QAccessible.Text.Value, said)
                    return
        raise AssertionError(f"There is no cell {words!r} below {column!r}.")

    def nameless(self) -> list[str]:
        """What can have the focus and says neither what it is called nor what it is."""
        found = []
        for part in self.parts():
            if part.state().focusable and not part.state().disabled and part.role() not in (Role.TreeItem, Role.Cell):
                silent = not name(part) and not part.text(QAccessible.Text.Value)
                if silent or part.role() == Role.NoRole:
                    found.append(f"{part.object()} {part.role()} {name(part)!r}")
        return found


def name(part: QAccessibleInterface) -> str:
    """What is said first about a part."""
    return part.text(QAccessible.Text.Name)
