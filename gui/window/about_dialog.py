"""About: the versions of the program and of everything it uses, ready to copy into a report."""

from __future__ import annotations

import platform
import sys
from importlib import metadata
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal, qVersion
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFormLayout, QHBoxLayout, QVBoxLayout, QWidget

from gui import copying, messages
from gui.language import tr
from gui.style import theme
from gui.style.logo import Logo
from gui.style.sheet import Sheet
from gui.style.states import button, hair, words

if TYPE_CHECKING:
    from model.session import Session

PACKAGES = ("pymongo", "deepdiff", "RapidFuzz", "keyring")


def details(session: Session | None) -> list[tuple[str, str]]:
    """Names and versions, including the server's of a connection; no address and no path."""
    found = [
        ("Palimpsest", _version("palimpsest-inspector")),
        (tr("Python"), f"{platform.python_version()} ({platform.python_implementation()})"),
        (
            tr("Qt"),
            tr(
                "{qVersion}, PySide6 {version}, {platformName}",
                qVersion=qVersion(),
                version=_version("PySide6_Essentials"),
                platformName=QGuiApplication.platformName(),
            ),
        ),
        *((name, _version(name)) for name in PACKAGES),
        (tr("System"), f"{platform.system()} {platform.release()}, {platform.machine()}"),
    ]
    if getattr(sys, "frozen", False):
        found.insert(1, (tr("Build"), "self-contained"))
    if session is not None:
        found.append(
            (
                tr("Server"),
                ", ".join(filter(None, (session.facts.program, session.facts.called))),
            )
        )
    return found


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return tr("not installed as a package")


class AboutDialog(Sheet):
    """Versions, notices, and a button that copies the details. ``notices_asked`` opens the manual."""

    notices_asked = Signal()

    def __init__(self, parent: QWidget, session: Session | None) -> None:
        super().__init__(parent, 520)
        self.setAccessibleName(tr("About Palimpsest"))
        self._owner = parent
        self.details = details(session)
        head = QHBoxLayout()
        head.setSpacing(theme.px(16))
        head.addWidget(Logo(40))
        named = QVBoxLayout()
        named.addWidget(words("Palimpsest", "title"))
        named.addWidget(words(self.details[0][1], "second"))
        head.addLayout(named, 1)
        form = QFormLayout()
        form.setHorizontalSpacing(theme.px(16))
        form.setVerticalSpacing(theme.px(4))
        for name, said in self.details[1:]:
            value = words(said, "second", wrap=True)
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            form.addRow(words(name, "strong"), value)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(self.inset,) * 4)
        column.setSpacing(theme.px(16))
        column.addLayout(head)
        column.addWidget(
            words(
                tr(
                    "Reads, compares and mends every version of a MongoDB document. Every write is guarded, "
                    "journalled and "
                    "can be undone."
                ),
                wrap=True,
            )
        )
        column.addLayout(form)
        column.addWidget(hair())
        row = QHBoxLayout()
        row.setSpacing(theme.px(8))
        row.addWidget(button(tr("Copy details"), self.copy, icon="copy"))
        row.addWidget(button(tr("Licences and notices"), self._notices))
        row.addStretch(1)
        self.close_button = button(tr("Close"), self.accept, "main")
        row.addWidget(self.close_button)
        column.addLayout(row)

    def first(self) -> QWidget | None:
        return self.close_button

    def copy(self) -> None:
        """Copy the details as lines."""
        copying.put("\n".join(f"{name}: {said}" for name, said in self.details))
        messages.tell(self._owner, tr("The details are copied"))

    def _notices(self) -> None:
        self.accept()
        self.notices_asked.emit()
