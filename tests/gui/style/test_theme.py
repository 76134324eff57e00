"""Colours are measured, not judged: contrast by WCAG 2, and the change colours as colour-blind people see them."""

from __future__ import annotations

import itertools
import math
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from msgspec.structs import fields
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QGuiApplication, QPaintEvent, QPalette
from PySide6.QtWidgets import QApplication, QLineEdit, QListView, QStyleFactory, QWidget
from pytestqt.qtbot import QtBot

from gui.style import preferences, restyling, theme
from tests import support

BOTH = pytest.mark.parametrize("tokens", [theme.LIGHT, theme.DARK], ids=["light", "dark"])
EVERY = pytest.mark.parametrize(
    "tokens",
    [theme.LIGHT, theme.DARK, theme.strengthened(theme.LIGHT), theme.strengthened(theme.DARK)],
    ids=["light", "dark", "strong light", "strong dark"],
)
# Parts that are drawn without words.
WORDLESS = re.compile(r"#rule|#hair|separator|indicator|QScrollBar|QSplitter|QProgressBar|\[line=")
GROUNDS = ("canvas", "surface", "sunken", "hover", "sel", "selOff", "accTint")
TEXTS = ("text", "text2", "text3", "acc")
MARKS = ("ctl",)
ON_TINT = ("warn", "err", "add", "rem", "chg", "typ")


def _rgb(colour: str) -> tuple[float, float, float]:
    return tuple(int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))  # type: ignore[return-value]


def _linear(channel: float) -> float:
    return channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4


def _luminance(colour: str) -> float:
    red, green, blue = (_linear(part) for part in _rgb(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The ratio of WCAG 2.2, 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


# Machado, Oliveira, Fernandes 2009: full deficiency, on the stored sRGB values as common simulators apply it.
SIGHTS = {
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def _seen(colour: str, sight: str) -> tuple[float, float, float]:
    seen = (sum(a * b for a, b in zip(row, _rgb(colour), strict=True)) for row in SIGHTS[sight])
    return tuple(_linear(min(1.0, max(0.0, part))) for part in seen)  # type: ignore[return-value]


def _lab(linear: tuple[float, float, float]) -> tuple[float, float, float]:
    red, green, blue = linear
    x = (0.4124564 * red + 0.3575761 * green + 0.1804375 * blue) / 0.95047
    y = 0.2126729 * red + 0.7151522 * green + 0.0721750 * blue
    z = (0.0193339 * red + 0.1191920 * green + 0.9503041 * blue) / 1.08883

    def curve(t: float) -> float:
        return t ** (1 / 3) if t > (6 / 29) ** 3 else t / (3 * (6 / 29) ** 2) + 4 / 29

    return 116 * curve(y) - 16, 500 * (curve(x) - curve(y)), 200 * (curve(y) - curve(z))


def unreadable(tokens: theme.Tokens, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """The pairs of ink and ground whose contrast is below 4.5."""
    found = {pair: contrast(*(getattr(tokens, name) for name in pair)) for pair in pairs}
    return {pair: round(ratio, 2) for pair, ratio in found.items() if ratio < 4.5}


@EVERY
def test_every_ink_has_contrast_4_5_on_every_ground_and_tint(tokens: theme.Tokens) -> None:
    tints = (f"{change}T" for change in ON_TINT)
    assert not unreadable(tokens, itertools.product((*TEXTS, *ON_TINT), (*GROUNDS, *tints)))


@EVERY
def test_words_that_the_style_sheet_dresses_have_contrast_4_5(tokens: theme.Tokens) -> None:
    named = {getattr(tokens, field.name): field.name for field in fields(tokens)}
    pairs = set()
    for selectors, rule in re.findall(r"([^{}]+)\{([^}]*)\}", theme._sheet(tokens)):
        said = dict(re.findall(r"(?<![\w-])(color|background):\s*(#\w{6})", rule))
        shown = [one for one in selectors.split(",") if ":disabled" not in one and not WORDLESS.search(one)]
        if shown and "background" in said:
            pairs.add((named[said.get("color", tokens.text)], named[said["background"]]))
    assert len(pairs) > 6
    assert not unreadable(tokens, pairs)


def test_whatever_a_cell_or_badge_is_painted_with_is_measured() -> None:
    source = "".join(path.read_text("utf-8") for path in (support.ROOT / "gui").rglob("*.py"))
    badges = set(re.findall(r'"([a-z]+[23]?)", "([a-z]+T|accTint)"', source))
    grounds = set(re.findall(r'\bground="(\w+)"', source))
    marks = set(re.findall(r'\bmark="(\w+)"', source))
    assert ("warn", "warnT") in badges
    assert {ink for ink, _ in badges} <= {*TEXTS, *ON_TINT}
    assert grounds | {ground for _, ground in badges} <= {*GROUNDS, *(f"{change}T" for change in ON_TINT)}
    assert marks <= {"addS", "remS", "chgS", "typS"}
    assert set(re.findall(r'Span\([^()]*, "(\w+)", (?:mark=)?"\w+S"', source)) <= {"text"}


@BOTH
def test_edges_of_inputs_and_history_marks_have_contrast_3_on_every_ground(tokens: theme.Tokens) -> None:
    for ink, ground in itertools.product(MARKS, GROUNDS):
        assert contrast(getattr(tokens, ink), getattr(tokens, ground)) >= 3, (ink, ground)


@BOTH
def test_words_in_a_change_colour_have_contrast_4_5_on_their_tint_and_on_the_surface(tokens: theme.Tokens) -> None:
    for ink in ON_TINT:
        assert contrast(getattr(tokens, ink), getattr(tokens, f"{ink}T")) >= 4.5, ink
        assert contrast(getattr(tokens, ink), tokens.surface) >= 4.5, ink


@BOTH
def test_values_keep_contrast_4_5_on_the_stronger_tint_of_differing_characters(tokens: theme.Tokens) -> None:
    for change in ("add", "rem", "chg", "typ"):
        assert contrast(tokens.text, getattr(tokens, f"{change}S")) >= 4.5, change


@BOTH
def test_words_on_the_main_button_and_on_danger_have_contrast_4_5(tokens: theme.Tokens) -> None:
    assert contrast(tokens.accText, tokens.acc) >= 4.5
    assert contrast(tokens.surface, tokens.err) >= 4.5


@BOTH
def test_edges_of_overwritten_cells_have_contrast_3(tokens: theme.Tokens) -> None:
    for change in ("add", "rem", "chg", "typ"):
        assert contrast(getattr(tokens, f"{change}M"), tokens.surface) >= 3, change


@BOTH
@pytest.mark.parametrize("sight", SIGHTS)
def test_change_colours_stay_apart_for_colour_blind_people(tokens: theme.Tokens, sight: str) -> None:
    seen = {name: _lab(_seen(getattr(tokens, name), sight)) for name in ("add", "rem", "chg", "typ")}
    near = {
        (one, other): math.dist(seen[one], seen[other])
        for one, other in itertools.combinations(seen, 2)
        if round(math.dist(seen[one], seen[other]), 1) < 14
    }
    assert not near


def test_every_placeholder_of_the_style_sheet_is_filled() -> None:
    for tokens in (theme.LIGHT, theme.DARK):
        sheet = re.sub(r"/\*.*?\*/", "", theme._sheet(tokens), flags=re.DOTALL)
        assert "@" not in sheet
        assert "image(" not in sheet
        assert not re.search(r"\b\d+u\b", sheet)


def test_the_theme_changes_at_once_and_is_told() -> None:
    told: list[bool] = []
    theme.signals.changed.connect(lambda: told.append(theme.is_dark()))
    preferences.put("theme", "dark")
    assert theme.colour("surface").name().upper() == theme.DARK.surface
    preferences.put("theme", "light")
    assert theme.colour("surface").name().upper() == theme.LIGHT.surface
    assert told == [True, False]


def test_a_choice_that_looks_the_same_styles_nothing_anew() -> None:
    told: list[bool] = []
    theme.apply("light")
    theme.signals.changed.connect(lambda: told.append(theme.is_dark()))
    for scheme, contrast in (("system", "system"), ("light", "normal"), ("light", "normal")):
        theme.apply(scheme, contrast)
    assert told == []
    theme.apply("light", "high")
    assert told == [False]
    theme.apply("light")


def ink(line: QLineEdit) -> str:
    """The colour of a line's text."""
    return line.palette().color(QPalette.ColorRole.Text).name().upper()


class _Styled(QWidget):
    times = 0

    def changeEvent(self, event: QEvent) -> None:
        self.times += event.type() == QEvent.Type.StyleChange


def test_a_widget_far_inside_others_is_styled_as_often_as_one_that_is_in_none(qtbot: QtBot) -> None:
    outer = inner = _Styled()
    qtbot.addWidget(outer)
    for _ in range(12):
        inner = _Styled(inner)
    outer.show()
    preferences.put("zoom", 110)
    outer.times = inner.times = 0
    preferences.put("zoom", 100)
    assert inner.times == outer.times > 0


@pytest.mark.parametrize("way", ["waiting", "showing it at once"])
def test_other_colours_lay_nothing_out_and_reach_hidden_widgets_too(way: str, qtbot: QtBot) -> None:
    window = _Styled()
    qtbot.addWidget(window)
    seen, hidden = QLineEdit(window), QLineEdit(window)
    window.show()
    hidden.hide()
    window.times = 0
    for name, tokens in (("dark", theme.DARK), ("light", theme.LIGHT)):
        preferences.put("theme", name)
        assert ink(seen) != tokens.text  # styling all at once would stop the window
        qtbot.waitUntil(lambda wanted=tokens.text: ink(seen) == wanted)
        assert ink(hidden) != tokens.text
        if way == "waiting":
            qtbot.waitUntil(lambda wanted=tokens.text: ink(hidden) == wanted)
        else:
            hidden.show()
            assert ink(hidden) == tokens.text
            hidden.hide()
    assert window.times == 0


class _Inked(QLineEdit):
    """Keeps the colour of its text as often as it is drawn."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.drawn: list[str] = []

    def paintEvent(self, event: QPaintEvent) -> None:
        self.drawn.append(ink(self))
        super().paintEvent(event)


def test_a_window_draws_only_once_and_in_the_new_colours(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    lines = [_Inked(window) for _ in range(20)]
    own = QLineEdit(window)
    own.setStyle(QStyleFactory.create("Windows"))
    for at, line in enumerate(lines):
        line.setGeometry(0, at * 10, 100, 10)
    window.show()
    qtbot.waitUntil(lambda: all(line.drawn for line in lines))
    monkeypatch.setattr(restyling, "SHARE", 0)  # each line has a turn
    for name, tokens in (("dark", theme.DARK), ("light", theme.LIGHT)):
        for line in lines:
            line.drawn.clear()
        preferences.put("theme", name)
        window.update()
        lines[0].update()
        qtbot.waitUntil(lambda: all(line.drawn for line in lines))
        assert {each for line in lines for each in line.drawn} == {tokens.text}
        assert window.updatesEnabled()
    assert own.testAttribute(Qt.WidgetAttribute.WA_SetStyle)
    assert not window.testAttribute(Qt.WidgetAttribute.WA_SetStyle)


def test_a_change_of_sizes_while_colours_are_still_coming_leaves_no_window_that_draws_nothing(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    line = QLineEdit(window)
    window.show()
    preferences.put("theme", "dark")
    preferences.put("theme", "light")
    preferences.put("theme", "dark")
    assert not window.updatesEnabled()
    preferences.put("zoom", 110)
    qtbot.waitUntil(window.updatesEnabled)
    assert ink(line) == theme.DARK.text
    preferences.put("zoom", 100)
    preferences.put("theme", "light")


def test_hidden_widgets_that_go_before_their_colours_come_are_passed_over(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    window.show()
    last = QLineEdit(window)
    gone = [QListView(window) for _ in range(50)]  # each with bars that only Qt knows
    for each in (last, *gone):
        each.show()
        each.hide()
    preferences.put("theme", "dark")
    for each in gone:
        each.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    qtbot.waitUntil(lambda: ink(last) == theme.DARK.text)
    preferences.put("theme", "light")


def test_the_systems_colours_are_followed_while_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    hints = QGuiApplication.styleHints()
    theme.apply("system")
    assert not theme.is_dark()
    monkeypatch.setattr(theme, "_system_is_dark", lambda: True)
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.is_dark()
    theme.apply("light")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert not theme.is_dark()


def test_high_contrast_takes_tints_away_and_gives_every_box_an_edge() -> None:
    for tokens in (theme.LIGHT, theme.DARK):
        strong = theme.strengthened(tokens)
        assert {getattr(strong, f"{name}T") for name in ON_TINT} == {tokens.surface}
        assert {strong.border, strong.btn, strong.hatch} == {tokens.ctl}
        assert [f.name for f in fields(strong)] == [f.name for f in fields(tokens)]
    preferences.put("contrast", "high")
    assert theme.is_strong()
    preferences.put("contrast", "system")
    assert not theme.is_strong()


def test_sizes_scale_with_the_system_font() -> None:
    assert theme.px(32) == 32
    assert theme.px(0) == 0
    assert theme.font(13).pixelSize() == 13


def test_values_are_drawn_without_ligatures() -> None:
    mono = theme.mono(12)
    assert {bytes(tag.toString()).decode() for tag in mono.featureTags()} == {"liga", "calt", "clig"}
    assert all(mono.featureValue(tag) == 0 for tag in mono.featureTags())


@BOTH
def test_a_button_without_an_edge_that_is_disabled_is_told_from_one_that_is_not(tokens: theme.Tokens) -> None:
    sheet = theme._sheet(tokens)
    disabled = re.search(r'QPushButton\[quiet="true"\]:disabled \{ color: (#\w+)', sheet)
    assert disabled is not None
    assert contrast(tokens.text2, disabled[1]) > 1.6


def test_images_of_the_style_are_in_the_cache_and_leave_no_folder_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache, temporary = tmp_path / "cache", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("PALIMPSEST_CACHE", str(cache))
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    monkeypatch.setattr(theme, "_images", None)
    data = b"<svg/>"
    for damage in (None, b"", b"<svg>other</svg>"):
        theme._image.cache_clear()
        if damage is not None:
            (cache / "style" / "check.svg").write_bytes(damage)
        with monkeypatch.context() as patch:
            patch.delattr(os, "fsync")  # the window waits for no disk
            path = theme._image("check.svg", data)
        assert (path, path.read_bytes()) == (cache / "style" / "check.svg", data)
    assert list(temporary.iterdir()) == []
    monkeypatch.setenv("PALIMPSEST_CACHE", str(tmp_path / "file"))
    (tmp_path / "file").write_bytes(b"")
    theme._image.cache_clear()
    assert theme._image("check.svg", data).read_bytes() == data, "a cache that cannot be written costs no image"
    theme._image.cache_clear()
    assert theme._images is not None
    theme._images.cleanup()
