"""What can be copied out of a comparison: a path, a value, one operation, and the whole diff in three forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QWidget

from gui import messages, tasks
from gui.compare.difftree import Node
from gui.look import preferences, wording
from gui.values import valuetext
from model import text
from model.diff import Diff, Operation
from model.errors import Refused
from model.session import Comparison

FORMS = (
    ("text", "Copy the diff as text"),
    ("rows", "Copy the diff as JSON rows"),
    ("patch", "Copy the diff as JSON Patch"),
    ("deepdiff", "Copy the diff as DeepDiff has it"),
)
MOST_DEEPDIFF = 1 << 20  # bytes of both documents; DeepDiff takes seconds for one, and cannot be stopped


def written(form: str, comparison: Comparison, shown: Sequence[Operation]) -> str:
    """The diff in one of the ``FORMS``; what is hidden is left out, but of those two that must apply as a whole."""
    from model.export import to_deepdiff, to_json_patch, to_lines  # it brings DeepDiff, which no window waits for

    found = Diff(tuple(shown), comparison.diff.coarse)
    a, b = comparison.a.content or b"", comparison.b.content or b""
    if form == "rows":
        return "\n".join(found.row_texts())
    if form == "patch":
        return to_json_patch(comparison.diff, a, b)
    if form == "deepdiff":
        if len(a) + len(b) > MOST_DEEPDIFF:
            raise Refused(
                "DeepDiff would take too long for documents of this size; palimpsest diff --format deepdiff writes it."
            )
        return to_deepdiff(a, b)
    return to_lines(found, preferences.zone())


class Copies:
    """Copies for one panel; the whole diff is written in a task."""

    def __init__(self, owner: QWidget, compared: Callable[[], tuple[Comparison, Sequence[Operation]] | None]) -> None:
        self._owner, self._compared = owner, compared

    def fill(self, menu: QMenu) -> None:
        """Add the forms of the whole diff to a menu."""
        for form, words in FORMS:
            menu.addAction(words).triggered.connect(lambda _=False, form=form: self.whole(form))

    def row(self, menu: QMenu, node: Node) -> None:
        """Add what can be copied of a row to a menu."""

        def add(words: str, said: Callable[[], str], enabled: bool = True) -> None:
            action = menu.addAction(words)
            action.triggered.connect(lambda: put(said()))
            action.setEnabled(enabled)

        op = node.op
        add("Copy path", lambda: text.path_text(node.path))
        add("Copy value of A", lambda: valuetext.safe(node.value("a")), node.a is not None)
        add("Copy value of B", lambda: valuetext.safe(node.value("b")), node.b is not None)
        also = node.place.also if node.place is not None else None
        own = tuple(one for one in (op, also) if one is not None)
        add("Copy this change", lambda: "\n".join(Diff(own).row_texts()), bool(own))

    def cell(self, node: Node, side: str) -> None:
        """Put a value of a row on the clipboard, whole; without a ``side`` (a or b) the row's path."""
        if side and getattr(node, side) is not None:
            put(valuetext.safe(node.value(side)))
        elif not side:
            put(text.path_text(node.path))

    def whole(self, form: str) -> None:
        """Put the whole diff on the clipboard."""
        compared = self._compared()
        if compared is None:
            return
        comparison, shown = compared
        tasks.run(
            lambda _: written(form, comparison, shown),
            done=self._copied,
            failed=self._failed,
            owner=self._owner,
            key="copy",
            title="Copying the changes",
        )

    def _copied(self, words: str) -> None:
        put(words)
        messages.copied(self._owner, f"The diff is copied, {wording.size(len(words.encode('utf-8', 'replace')))}")

    def _failed(self, error: BaseException) -> None:
        messages.fail(self._owner, error)


def put(words: str) -> None:
    """Put words on the clipboard."""
    QGuiApplication.clipboard().setText(words)
