"""Sequences of writes while two views of one document are open: after each, everything shown is compared."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from PySide6.QtWidgets import QPushButton

from gui.pages.base import Page
from gui.pages.document_pages import DocumentPage, MergePage
from gui.pages.page_request import ConditionStart, FieldStart, PageRequest, PairStart
from gui.pages.repair_pages import RepairPage
from gui.pages.tool_pages import JournalPage, PendingPage
from gui.parts.document_side import DocumentSide
from gui.parts.fields.field_values import condition_on
from gui.window.window import Window
from model.errors import Refused
from model.foundation.news import News
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from tests.walking.other_program import WAYS
from tests.walking.truths import now, stale
from tests.walking.world import PATIENCE, World, living

PLACES = ("contracts", "claims", "customers", "invoices", "tariffs", "agents", "partners", "policy_feed")
VIEWS = (
    "collection", "document", "edit", "map", "blame", "merge", "journal", "drafts", "repair", "pending", "field",
    "bisect", "pair", "activity",
)  # fmt: skip
PAIRS = [(*pair, apart) for pair in itertools.combinations_with_replacement(VIEWS, 2) for apart in (False, True)]
"""Every two views, in one window and in two."""
SMALL = {"repair": "insurance.tariffs", "pending": "insurance.stats"}
"""Where damage and tokens are looked for: both read whole collections."""
LENGTH = 4  # writes of one sequence
TRIED = 60  # ways that are tried for them


@dataclass
class Result:
    """A sequence that has run, and what was stale or wrong in it."""

    seed: int
    views: tuple[str, str, bool]
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Sequence:
    """One sequence: a document, two views of it, and some writes, all drawn from the seed."""

    def __init__(self, world: World, seed: int, cut: str = "") -> None:
        """``cut`` names a kind of page that shall hear no news."""
        self.world, self.random, self._cut = world, random.Random(seed), cut
        self._deaf: list[Page] = []
        self.session = world.session
        self.result = Result(seed, PAIRS[seed % len(PAIRS)])
        self.ns = "insurance." + self.random.choice(PLACES)
        rows = [row for row in self.session.documents.page(self.ns, limit=20).rows if row.readable]
        self.id = self.random.choice(rows).id
        self.ways: dict[str, Callable[[], bool]] = {
            "save": self._save,
            "undo": self._undo,
            "undo in the journal": self._undo_entry,
            "restore": self._restore,
            "merge": self._merge,
            "as a colleague": self._colleague,
            "elsewhere": self._elsewhere,
            "delete": self._delete,
            "repair": self._repair,
            "clean up": self._clean_up,
        }
        if world.other is not None:
            # No page asks the server for findings and tokens, which means to read whole collections.
            for way in ("as a colleague", "elsewhere", "repair", "clean up"):
                del self.ways[way]
            self.ways |= {f"{way} by another program": partial(self._other, way) for way in WAYS}

    def run(self) -> Result:
        """Open the views, write, and compare after each write."""
        first, second, apart = self.result.views
        self._open(self.world.windows[0], first)
        self._open(self.world.windows[int(apart)], second)
        self._compare("opening")
        names = list(self.ways)
        at = 0
        for _ in range(TRIED):  # a document that another program deleted may have no way left
            if at == LENGTH or self.result.wrong:
                break
            way = self.random.choice(names)
            if self.ways[way]():
                at += 1
                self.result.done.append(way)
                self._compare(way)
        self.world.clear()
        return self.result

    # --- the views

    def _open(self, window: Window, view: str) -> None:
        if self.world.other is not None and view in SMALL:
            return
        kind = {"edit": "document", "merge": "document"}.get(view, view)
        about = view not in (*SMALL, "journal", "drafts")
        ns = self.ns if about else SMALL.get(kind, "")
        id = self.id if about else None
        session = self.world.session_of(window)
        page = window.workspace.open(session, PageRequest(kind, ns, id, self._start(view, session)))
        self.world.settle()
        if view in ("edit", "merge") and isinstance(page, DocumentPage):
            self._type(page)
        if view == "merge" and isinstance(page, DocumentPage) and self._merging(window, page) is None:
            self.result.done.append("no merge")

    def _start(self, view: str, session: Session) -> FieldStart | ConditionStart | PairStart | None:
        """What a view begins with: a field, a condition, another document."""
        if view == "pair":
            others = [row.id for row in session.documents.page(self.ns, limit=20).rows if row.readable]
            sides = [DocumentSide(session, self.ns, id) for id in (self.random.choice(others), self.id)]
            self.random.shuffle(sides)
            return PairStart(*sides)
        if view not in ("field", "bisect"):
            return None
        names = [
            name for name, _ in canonical.fields(session.history.version(self.ns, self.id).content or canonical.EMPTY)
        ]
        name = self.random.choice([*names, "elsewhere"])
        return FieldStart((name,)) if view == "field" else ConditionStart(condition_on((name,), None))

    def _type(self, page: DocumentPage) -> bool:
        """Give a field of an editor another value, as a person would; False where there is none to give."""
        editor = page.editor
        if not editor.is_loaded or not editor.tree.may_edit:
            return False
        nodes = [editor.model.node(editor.model.index(row, 0)) for row in range(editor.model.rowCount())]
        own = [node for node in nodes if node is not None and node.kind == "field" and not node.value.is_container]
        if not own:
            return False
        editor.menus.set_value(self.random.choice(own), Value.of(f"typed {self.random.randrange(10**6)}"))
        return editor.is_dirty

    def _compare(self, way: str) -> None:
        wrong: list[str] = []
        for _, page in self.world.pages:
            if page.kind == self._cut and page not in self._deaf:
                self._deaf.append(page)
                page.shows = _nothing  # type: ignore[method-assign]

        def look() -> bool:
            wrong[:] = [f"window {at}, {each}" for at, page in self.world.pages for each in stale(page)]
            return not wrong and self.world.is_watched

        if not self.world.settle(look, 6.0 if self._cut else PATIENCE):
            self.result.wrong += [f"after {way}: {each}" for each in wrong or ["nothing settles"]]
        self.result.wrong += [f"after {way}: {each}" for each in self.world.troubles]
        self.world.troubles.clear()

    # --- the ways to write; each says whether it wrote

    def _window(self) -> Window:
        return self.random.choice(self.world.windows)

    def _editor(self, window: Window) -> DocumentPage | None:
        if now(self.session, self.ns, self.id) is None:
            return None
        page = window.workspace.open(self.world.session_of(window), PageRequest("document", self.ns, self.id))
        self.world.settle()
        return page if isinstance(page, DocumentPage) and page.editor.is_loaded else None

    def _save(self) -> bool:
        page = self._editor(self._window())
        if page is None or not (page.editor.is_dirty or self._type(page)):
            return False
        behind = page.editor.is_behind
        page.do_save()
        self.world.settle()
        if page.prompt is None:
            return True
        if not behind:
            self.result.wrong.append("a save of an editor that was in step met a conflict")
        page.prompt.buttons["overwrite" if "overwrite" in page.prompt.buttons else "cancel"].click()
        self.world.settle()
        self._agree(page.window())
        return True

    def _agree(self, window: object) -> bool:
        """Press the main button of the dialog that is open."""
        assert isinstance(window, Window)
        asked = self.world.sheet(window)
        if asked is None:
            return False
        buttons = [each for each in asked.findChildren(QPushButton) if each.property("main") or each.property("danger")]
        pressed = next((each for each in buttons if each.isEnabled() and each.isVisible()), None)
        if pressed is None:
            asked.reject()
            return False
        pressed.click()
        self.world.settle()
        return True

    def _undo(self) -> bool:
        lines = [(window, line) for window in self.world.windows for line in window.messages.lines]
        for _, line in reversed(lines):
            button = next(
                (each for each in line.buttons if each.text() in ("Undo this write", "Undo the whole run")), None
            )
            if button is not None:
                button.click()
                self.world.settle()
                return True
        return False

    def _undo_entry(self) -> bool:
        window = self._window()
        page = window.workspace.open(self.world.session_of(window), PageRequest("journal"))
        self.world.settle()
        assert isinstance(page, JournalPage)
        panel = page.panel
        if not panel.model.rows:
            return False
        panel.list.setCurrentIndex(panel.model.index(0, 0))
        if not panel.undo.isEnabled():
            return False
        panel.undo.click()
        self.world.settle()
        return True

    def _restore(self) -> bool:
        try:
            versions = list(self.session.history.versions(self.ns, self.id))
        except Refused:
            return False
        old = [each for each in versions if each.state == "present" and not each.current and not each.deleted]
        old = [each for each in old if each.v is not None]
        page = self._editor(self._window())
        if not old or page is None:
            return False
        version = self.random.choice(old)
        assert version.v is not None
        page.writes.restore(self.id, version.v)
        self.world.settle()
        return self._agree(page.window())

    def _merging(self, window: Window, page: DocumentPage) -> MergePage | None:
        if self.world.other is not None:
            self._other("save")
        else:
            self.session.colleague.change(self.ns, self.id)
        self.world.settle(lambda: page.editor.is_behind, 5.0)
        page.do_save()
        self.world.settle()
        if page.prompt is None:
            return None
        review = page.prompt.buttons.get("review")
        if review is None:
            page.prompt.reject()
            return None
        review.click()
        self.world.settle()
        made = window.workspace.tab_area.page
        return made if isinstance(made, MergePage) else None

    def _merge(self) -> bool:
        window = self._window()
        page = self._editor(window)
        if page is None or not (page.editor.is_dirty or self._type(page)):
            return False
        made = self._merging(window, page)
        if made is None:
            return True
        made.resolver.choose_all("mine")
        self.world.settle()
        made.do_save()
        self.world.settle()
        return True

    def _colleague(self) -> bool:
        page = self._editor(self._window())
        if page is None:
            return False
        page.do_colleague()
        self.world.settle()
        return True

    def _elsewhere(self) -> bool:
        there = now(self.session, self.ns, self.id)
        if there is None or there.content is None:
            return False
        content = canonical.put(there.content, ("elsewhere",), Value.of(self.random.randrange(10**6)))
        return self.session.writing.save(self.ns, self.id, there, content).kind == "applied"

    def _other(self, way: str) -> bool:
        assert self.world.other is not None
        return self.world.other.write(way, self.ns, self.id, self.random.randrange(10**6))

    def _delete(self) -> bool:
        page = self._editor(self._window())
        if page is None:
            return False
        page.do_delete()
        self.world.settle()
        return self._agree(page.window())

    def _repair(self) -> bool:
        page = self._window().workspace.open(self.session, PageRequest("repair", SMALL["repair"]))
        self.world.settle(lambda: isinstance(page, RepairPage) and page.panel.plan is not None)
        assert isinstance(page, RepairPage)
        codes = {item.finding.code for item in page.panel.plan.items if item.ticked} if page.panel.plan else set()
        if not codes:
            return False
        page.panel.pane.tree.choose((self.random.choice(sorted(codes)),))
        self.world.settle()
        if not page.panel.go.isEnabled():
            return False
        page.panel.go.click()
        self.world.settle()
        if self.world.sheet(page.window()) is not None:
            return self._agree(page.window())  # what removes asks first
        return True

    def _clean_up(self) -> bool:
        page = self._window().workspace.open(self.session, PageRequest("pending", SMALL["pending"]))
        self.world.settle()
        assert isinstance(page, PendingPage)
        if not page.panel.go.isEnabled():
            return False
        page.panel.go.click()
        self.world.settle()
        return self._agree(page.window())


def _nothing(_: News) -> bool:
    return False


def run_all(asked: tuple[list[int], tuple[str, bool]]) -> list[Result]:
    """Run the sequences of some seeds in one world, served or not; pages of the kind named beside hear no news."""
    seeds, (cut, served) = asked
    with living() as troubles:
        world = World(troubles, served=served)
        try:
            return [Sequence(world, seed, cut).run() for seed in seeds]
        finally:
            world.close()
