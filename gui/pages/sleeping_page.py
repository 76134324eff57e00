"""The page of a restored tab that nobody has looked at yet: it becomes the page itself when it is first shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.pages.base import Page

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

    from gui.pages.page_request import PageRequest
    from model.session import Session


class SleepingPage(Page):
    """Stands for a page of the request's kind, and reads nothing."""

    def __init__(self, session: Session, request: PageRequest, title: str, icon: str, parent: QWidget) -> None:
        super().__init__(session, request.ns, request.id, parent)
        self.kind, self.icon = request.kind, icon
        self.request, self._title = request, title

    @property
    def title(self) -> str:
        return self._title or super().title

    def memory(self) -> PageRequest:
        return self.request
