"""Copies from a comparison: a path, a value, one operation, and the whole diff in several formats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu, QWidget

from gui import copying
from gui.language import tr, translated
from gui.parts.differences.diff_model import FIELD, A, B
from gui.parts.values import value_text
from gui.parts.versions_model import name_of
from gui.style import preferences, wording
from model import text
from model.diff import Diff, Operation, diff
from model.diff.export import to_deepdiff, to_delta, to_json_patch, to_lines, to_words
from model.errors import Refused

if TYPE_CHECKING:
    from gui.parts.differences.diff_node import DiffNode
    from model.foundation.records import Version
    from model.session.history_reading import Comparison

FORMS = (
    ("text", tr("Copy the diff as text")),
    ("rows", tr("Copy the diff as JSON rows")),
    ("patch", tr("Copy the diff as JSON Patch")),
    ("deepdiff", tr("Copy the diff as DeepDiff has it")),
    ("delta", tr("Copy the diff as a DeepDiff Delta in Python")),
    ("words", tr("Copy the diff in words")),
)
MOST_DEEPDIFF = 1 << 20  # bytes of both documents; DeepDiff takes seconds for this, and cannot be stopped


def written(form: str, comparison: Comparison, shown: Sequence[Operation]) -> str:
    """The diff in one of the ``FORMS``, without hidden changes, except in two formats that must apply as a whole."""
    found = Diff(tuple(shown), comparison.diff.coarse)
    a, b = comparison.a.content or b"", comparison.b.content or b""
    if form == "rows":
        return "\n".join(found.row_texts())
    if form == "patch":  # exact, whatever the rules of the comparison are
        return to_json_patch(diff(a, b) if comparison.rules else comparison.diff, a, b)
    if form == "words":
        return "\n".join(map(translated, in_words(comparison, found).splitlines()))
    if form in ("deepdiff", "delta"):
        if len(a) + len(b) > MOST_DEEPDIFF:
            raise Refused(
                tr(
                    "DeepDiff would take too long for documents of this size; palimpsest diff --format {form} "
                    "writes it.",
                    form=form,
                )
            )
        return to_deepdiff(a, b) if form == "deepdiff" else to_delta(a, b, _heading(comparison))
    rules = translated(comparison.rules.words)
    return "\n".join(filter(None, (rules, to_lines(found, preferences.zone()))))


def in_words(comparison: Comparison, found: Diff) -> str:
    """The comparison in sentences."""
    rules = f"\n{comparison.rules.words}" if comparison.rules else ""
    return f"{_heading(comparison)}{rules}\n\n{to_words(found, preferences.zone())}"


def _heading(comparison: Comparison) -> str:
    """``From v11, 22 Aug 2025 09:12 by ab-117, to v14, current``."""
    return tr(
        "From {described}, to {described2}", described=_described(comparison.a), described2=_described(comparison.b)
    )


def _described(version: Version) -> str:
    by = tr(" by {author}", author=version.author) if version.author else ""
    return ", ".join(part for part in (name_of(version), f"{wording.moment(version.at)}{by}".strip()) if part)


class DiffCopies:
    """Copies for one panel; the whole diff is written in a task."""

    def __init__(self, owner: QWidget, compared: Callable[[], tuple[Comparison, Sequence[Operation]] | None]) -> None:
        self._owner, self._compared = owner, compared

    def fill(self, menu: QMenu) -> None:
        """Add the formats of the whole diff to a menu."""
        for form, words in FORMS:
            menu.addAction(words).triggered.connect(lambda _=False, form=form: self.whole(form))

    def row(self, menu: QMenu, node: DiffNode) -> None:
        """Add the copies of a row to a menu."""

        def add(words: str, copy: Callable[[], None], enabled: bool = True) -> None:
            action = menu.addAction(words)
            action.triggered.connect(lambda: copy())
            action.setEnabled(enabled)

        owner = self._owner
        add(tr("Copy path"), lambda: copy_path(owner, node))
        add(tr("Copy value of A"), lambda: copy_value(owner, node, "a"), node.a is not None)
        add(tr("Copy value of B"), lambda: copy_value(owner, node, "b"), node.b is not None)
        add(tr("Copy this change"), lambda: copy_change(owner, node), node.op is not None)

    def whole(self, form: str) -> None:
        """Put the whole diff on the clipboard."""
        compared = self._compared()
        if compared is None:
            return
        comparison, shown = compared
        copying.copy(self._owner, None, lambda: written(form, comparison, shown), tr("The diff is copied"))


def copy_path(owner: QWidget, node: DiffNode) -> None:
    """Put a row's path on the clipboard."""
    copying.copy(owner, 0, lambda: text.path_text(node.path))


def copy_value(owner: QWidget, node: DiffNode, side: str) -> None:
    """Put the whole value of A (``a``) or B on the clipboard, if there is one."""
    value = node.value(side)
    if value is not None:
        copying.copy(owner, len(value.data), lambda: value_text.copied(value))


def copy_change(owner: QWidget, node: DiffNode) -> None:
    """Put the change of a row on the clipboard, as JSON rows."""
    own = tuple(one for one in (node.op, node.place.also if node.place is not None else None) if one is not None)
    size = sum(slot[3] - slot[2] for slot in (node.a, node.b) if slot is not None)
    if own:
        copying.copy(owner, size, lambda: "\n".join(Diff(own).row_texts()))


def copy_cell(owner: QWidget, node: DiffNode, column: int, inline: bool) -> None:
    """Put the whole content of a cell on the clipboard: the path, a value, or the change."""
    if column == FIELD:
        copy_path(owner, node)
    elif column == B or (column == A and inline and node.b is not None):
        copy_value(owner, node, "b")
    elif column == A:
        copy_value(owner, node, "a")
    else:
        copy_change(owner, node)
