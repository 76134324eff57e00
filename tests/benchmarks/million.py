"""``python -m tests.benchmarks.million DIR``: a real window over a million documents, timed, with a picture per step.

A process of its own serves the documents. Each step prints how long it took until all work was done, and in brackets
the longest uninterrupted work of the window's thread; the target while scrolling is 16 ms, one frame. It needs a
display; ``xvfb-run`` gives one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bson

from gui import app, tasks
from gui.pages.collection_page import CollectionPage
from gui.pages.document_pages import DocumentPage
from gui.pages.page_request import PageRequest
from gui.window.opening import Opening
from gui.window.window import Window
from model.values.canonical import Value
from tests.benchmarks.beats import Heart

FRAME = 16.0  # milliseconds
NS = "shop.orders"
EDITED = 10_000  # one in so many documents


def written(folder: Path, count: int, edited: bool = False) -> Path:
    """A dump of so many documents, each with its current version and one before it; or with some of them edited."""
    path = folder / "shop" / "orders.bson"
    path.parent.mkdir()
    with path.open("wb") as file:
        for n in range(count):
            content = {"name": f"order {n}", "amount": n % 997, "city": ("Kiel", "Jena", "Ulm")[n % 3]}
            versions = [{"v": 1, **content, "amount": 0}, {"v": 2, **content}]
            if edited and not n % EDITED:
                versions.append({"v": 3, **content, "amount": -1})
            file.write(bson.encode({"_id": n, "current": versions[-1], "prev": versions[:-1]}))
    return path.parent


class Walk:
    """The steps through one window."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._window = Window()
        self._window.show()
        self._heart = Heart()
        self._number = 0
        self.missed: list[str] = []

    def step(self, name: str, begin: Callable[[], object]) -> None:
        """Do something, or what it yields a beat each, wait until nothing is being done, and keep a picture."""

        def begun() -> Iterator[None] | None:
            made = begin()
            return made if isinstance(made, Iterator) else None

        started = time.perf_counter()
        _, worked = self._heart.watch(begun)
        self._number += 1
        self._window.grab().save(str(self._folder / f"{self._number:02}-{name.replace(' ', '-')}.png"))
        print(f"{name:<34}{(time.perf_counter() - started) * 1000:>8.0f} ms  ({worked:.0f})", flush=True)
        if worked > FRAME and name.endswith("scrolled"):
            self.missed.append(name)

    @property
    def page(self) -> CollectionPage:
        """The page of the list."""
        page = self._window.workspace.page
        assert isinstance(page, CollectionPage)
        return page

    def scrolled(self) -> Iterator[None]:
        """A wheel's turns from the first row of the page to its last one."""
        bar = self.page.browser.list.verticalScrollBar()
        bar.setValue(0)
        while bar.value() < bar.maximum():
            bar.setValue(bar.value() + 3 * bar.singleStep())
            yield

    def to_page(self, number: int) -> Callable[[], None]:
        """Ask for a page of the list."""
        return lambda: self.page.browser.pager.page_asked.emit(number)

    def go(self, source: Path, count: int) -> None:
        """All steps."""
        window = self._window
        self.step("open", lambda: window.open(Opening(str(source), into_memory=True)))
        request = PageRequest("collection", NS)
        self.step("first page", lambda: window.workspace.open(window.sessions[0], request))
        size = self.page.browser.pager.size
        for name, number in (("a page in the middle", count // size // 2), ("the last page", count // size - 1)):
            self.step(name, self.to_page(number))
            self.step(f"{name} scrolled", self.scrolled)
        self.step("back to the first page", self.to_page(0))
        self.step("scrolled", self.scrolled)
        rows = self.page.browser
        self.step("a document chosen", lambda: rows.list.setCurrentIndex(rows.model.index(3, 0)))
        row = self.page.browser.model.rows[3]
        self.step("opened", lambda: window.workspace.open(window.sessions[0], PageRequest("document", NS, row.id)))
        document = window.workspace.page
        assert isinstance(document, DocumentPage)
        editor = document.editor
        fields = (editor.model.node(editor.model.index(row, 0)) for row in range(editor.model.rowCount()))
        name = next(node for node in fields if node is not None and editor.model.path(node)[-1] == "name")
        self.step("edited", lambda: editor.menus.set_value(name, Value.of("another name")))
        self.step("saved", document.do_save)
        window.close_quietly()


def main() -> int:
    """Walk through a window over as many documents as the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.million", description=__doc__)
    parser.add_argument("dir", type=Path, help="the folder for the pictures")
    parser.add_argument("--documents", type=int, default=1_000_000)
    wanted = parser.parse_args()
    wanted.dir.mkdir(parents=True, exist_ok=True)
    app.application()
    with tempfile.TemporaryDirectory() as folder:
        walk = Walk(wanted.dir)
        walk.go(written(Path(folder), wanted.documents), wanted.documents)
        tasks.tasks.stop_all()
    if walk.missed:
        print(f"more than {FRAME:g} ms at once: {', '.join(walk.missed)}")
    return 1 if walk.missed else 0


if __name__ == "__main__":
    sys.exit(main())
