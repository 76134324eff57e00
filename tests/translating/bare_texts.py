"""Texts of views that do not go through the door.

A translator that replaces all letters by signs stands in for a language; anything still readable is data, or was
forgotten.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from PySide6.QtCore import Qt, QTranslator
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenuBar,
    QTabBar,
    QTreeView,
    QWidget,
)

from tests import support

MODEL = support.ROOT / "model"
NAMES = """Palimpsest MongoDB PyMongo mongosh JSON Extended BSON TLS Ctrl Shift Alt Esc Ins Del PgUp PgDown Tab Down
English Deutsch standalone Processed sku name title price stock Right Left Payload JaVers LDAP PLAIN
Kerberos GSSAPI AWS IAM OIDC"""
"""Names that every language leaves as they are. The keys beside menu items are Qt's to translate."""
SIGNS = str.maketrans(dict.fromkeys(map(chr, range(ord("a"), ord("z") + 1)), "ж")) | str.maketrans(
    dict.fromkeys(map(chr, range(ord("A"), ord("Z") + 1)), "Ж")
)


class Signs(QTranslator):
    """A language of signs: names in braces and mnemonics stay, all other letters go."""

    def translate(self, context: str, text: str, disambiguation: str | None = None, n: int = -1) -> str:
        parts = re.split(r"(\{\w*(?:![a-z])?(?::[^{}]*)?\}|\*\.\w+)", text)
        return "".join(part if at % 2 else part.translate(SIGNS) for at, part in enumerate(parts))


def known_words() -> set[str]:
    """The words of the sample's data and of the tour's connections, of types, of layouts and of their keys."""
    layouts = {path.stem for path in (MODEL / "layouts").glob("*.py")}
    found = set(NAMES.split()) | layouts | {layout.capitalize() for layout in layouts}
    data = [*(MODEL / "localserver" / "sample").rglob("*.py"), *(MODEL / "values").rglob("*.py")]
    for path in [*data, support.ROOT / "gui" / "tour" / "tour_views.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update(re.findall(r"[A-Za-z]+", node.value))
    for path in (MODEL / "profile").glob("*.py"):  # a key is one word there; what is said of it has several
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
                found.add(node.value)
    return found


def bare(text: str, known: set[str]) -> list[str]:
    """The words of a text that are neither signs nor data."""
    plain = re.sub(r"<[^>]*>|OpenID Connect|\b(?:ana|ben), edit \d+", " ", text)  # who and why, in the example
    plain = re.sub(r"\S*[/\\_.:@]\S*[a-z]\S*|`[^`]*`|\"[^\"]*\"|\{[^}]*\}", " ", plain)  # paths, collections, code
    return [word for word in re.findall(r"[A-Za-z]{3,}", plain) if word not in known]


def said_by(widget: QWidget) -> Iterator[str]:
    """All that a widget says by itself: its words, hints and headers; not the content of lists and editors."""
    yield from (widget.toolTip(), widget.accessibleName())
    if widget.isWindow():
        yield widget.windowTitle()
    if isinstance(widget, QLabel | QAbstractButton):
        yield widget.text()
    if isinstance(widget, QLineEdit):
        yield widget.placeholderText()
    if isinstance(widget, QComboBox):
        yield from (widget.itemText(at) for at in range(min(widget.count(), 20)))
    if isinstance(widget, QTabBar):
        yield from (widget.tabText(at) for at in range(widget.count()))
    if isinstance(widget, QMenuBar):
        for menu in widget.actions():
            inner = menu.menu()
            yield menu.text()
            yield from (action.text() for action in inner.actions()) if isinstance(inner, QWidget) else ()
    if isinstance(widget, QAbstractItemView) and (model := widget.model()) is not None:
        role, across = Qt.ItemDataRole.DisplayRole, Qt.Orientation.Horizontal
        if isinstance(widget, QTreeView) and not widget.isHeaderHidden():
            yield from (str(model.headerData(at, across, role) or "") for at in range(model.columnCount()))


def texts_in_sight() -> Iterator[tuple[QWidget, str]]:
    """The texts of all that is shown now, with their widgets."""
    for top in QApplication.topLevelWidgets():
        for widget in [top, *top.findChildren(QWidget)]:
            if widget.isVisible() and not widget.objectName().startswith("Scroll"):  # Qt's own, at a row of tabs
                yield from ((widget, text) for text in said_by(widget) if text)
