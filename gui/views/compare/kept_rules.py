"""The rules by which a collection's documents are compared in the window, stored per collection."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec.structs import replace
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu

from gui.language import tr
from gui.style import preferences, wording
from model.diff.comparison_rules import EXACT, ComparisonRules, Names, written

TOLERANCES = (
    (0, tr("Dates exactly")),
    (1_000, tr("Dates within 1 second")),
    (60_000, tr("Dates within 1 minute")),
    (86_400_000, tr("Dates within 1 day")),
)
"""The tolerances that the menu offers, in milliseconds."""


def kept(source: str, ns: str) -> ComparisonRules:
    """The rules of a collection; what is stored damaged does not count."""
    found = preferences.remembered(_key(source, ns), {})
    if not isinstance(found, dict):
        return EXACT
    paths = found.get("unordered", [])
    unordered = [tuple(path) for path in paths if isinstance(path, list)] if isinstance(paths, list) else []
    dates = found.get("dates", 0)
    return ComparisonRules(
        unordered=tuple(path for path in unordered if all(isinstance(name, str) for name in path)),
        numbers=found.get("numbers") is True,
        dates=dates if type(dates) is int and dates > 0 else 0,
        by_words=found.get("words") is True,
    )


def keep(source: str, ns: str, rules: ComparisonRules) -> None:
    """Store the rules of a collection."""
    said = {"numbers": rules.numbers, "dates": rules.dates, "words": rules.by_words}
    preferences.remember(_key(source, ns), {**said, "unordered": [list(path) for path in rules.unordered]})


def fill(menu: QMenu, rules: ComparisonRules, chosen: Callable[[ComparisonRules], None]) -> None:
    """The menu that changes rules; ``chosen`` gets the new ones."""
    menu.clear()

    def add(words: str, on: bool, other: ComparisonRules) -> None:
        action = menu.addAction(wording.item(words))
        action.setCheckable(True)
        action.setChecked(on)
        action.triggered.connect(partial(_chosen, chosen, other))

    add(tr("Numbers by value"), rules.numbers, replace(rules, numbers=not rules.numbers))
    add(tr("Text by words"), rules.by_words, replace(rules, by_words=not rules.by_words))
    menu.addSeparator()
    group = QActionGroup(menu)
    for milliseconds, words in TOLERANCES:
        add(words, rules.dates == milliseconds, replace(rules, dates=milliseconds))
        group.addAction(menu.actions()[-1])
    if rules.unordered:
        menu.addSeparator()
    for path in rules.unordered:
        add(tr("{named} in any order", named=written(path)), True, without(rules, path))


def _chosen(chosen: Callable[[ComparisonRules], None], rules: ComparisonRules, _: bool = False) -> None:
    chosen(rules)


def without(rules: ComparisonRules, path: Names) -> ComparisonRules:
    """The rules by which the order of this array counts again."""
    return replace(rules, unordered=tuple(each for each in rules.unordered if each != path))


def _key(source: str, ns: str) -> str:
    return f"rules/{source}/{ns}"
