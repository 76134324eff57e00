"""The theme: every colour and size of the window, light and dark, and how they reach the widgets.

Colours are tokens: nothing else in the program contains a hex value. Sizes are in device-independent pixels at a 13
px font and scale with the system font through :func:`px`. A change of theme sets the palette and the style sheet
again and then tells :data:`signals`, so that painted views repaint.
"""

from __future__ import annotations

import re
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

from model.foundation import kept_files
from model.foundation.whole_files import whole_file
from model.userdata import folders

if TYPE_CHECKING:
    from gui.style.restyling import Restyling


class Tokens(Struct, frozen=True):
    """One colour per token, as ``#RRGGBB``."""

    canvas: str
    surface: str
    sunken: str
    hover: str
    border: str
    btn: str
    hatch: str
    ctl: str
    text: str
    text2: str
    text3: str
    acc: str
    accText: str
    sel: str
    selOff: str
    accTint: str
    warn: str
    warnT: str
    err: str
    errT: str
    add: str
    addT: str
    rem: str
    remT: str
    chg: str
    chgT: str
    typ: str
    typT: str
    addS: str
    remS: str
    chgS: str
    typS: str
    addM: str
    remM: str
    chgM: str
    typM: str


LIGHT = Tokens(
    canvas="#F5F3EF", surface="#FFFFFF", sunken="#FAF9F6",
    hover="#F0EDE7", border="#E2DED6", btn="#CDC7BC", hatch="#CFC9BE",
    ctl="#867F73", text="#1F1D1A", text2="#5A554D", text3="#6E685E",
    acc="#0B6E69", accText="#FFFFFF", sel="#DCEDEB", selOff="#ECE8E1", accTint="#DCEDEB",
    warn="#7A5400", warnT="#FBF3DD", err="#B42318", errT="#FCE7E4",
    add="#0B65C9", addT="#EAF3FD", rem="#B04405", remT="#FDF0E6",
    chg="#7C1D63", chgT="#FAF0F7", typ="#57534C", typT="#F1EEE9",
    addS="#C3DEF9", remS="#F8D3B8", chgS="#EFCDE4", typS="#D8D3CA",
    addM="#5E97D6", remM="#D08252", chgM="#B0709F", typM="#958F84",
)  # fmt: skip

DARK = Tokens(
    canvas="#151412", surface="#1C1B18", sunken="#211F1C",
    hover="#292722", border="#353129", btn="#4B463D", hatch="#4A453D",
    ctl="#8A8377", text="#ECE8E1", text2="#B7B0A5", text3="#A69F93",
    acc="#56C7BA", accText="#0A1E1C", sel="#1B3B39", selOff="#2D2A25", accTint="#17393A",
    warn="#E8C15E", warnT="#372C12", err="#FF9486", errT="#43201B",
    add="#6CB2FF", addT="#172638", rem="#FFA25F", remT="#352414",
    chg="#F29FD2", chgT="#33202E", typ="#BDB7AC", typT="#2B2925",
    addS="#1F4C7C", remS="#653B17", chgS="#633052", typS="#4A463E",
    addM="#4A82BD", remM="#B57440", chgM="#A9688F", typM="#857F75",
)  # fmt: skip


class ThemeSignals(QObject):
    """Tells painted views that the colours changed, and before that, whether the sizes did."""

    scaled = Signal()
    changed = Signal()


signals = ThemeSignals()
_tokens = LIGHT
_dark = False
_strong = False
_scale = 1.0
_zoom = 1.0
_own_font: QFont | None = None  # the application's font without zoom, while there is a zoom
_mono = ""
_asked = ("light", "normal")
_follower: _Follower | None = None
_restyling: Restyling | None = None
_LARGEST_IMAGE = 1 << 20  # bytes
_images: tempfile.TemporaryDirectory[str] | None = None


def tokens() -> Tokens:
    """The present colours."""
    return _tokens


def colour(name: str) -> QColor:
    """A token as a colour to paint with."""
    return QColor(getattr(_tokens, name))


def is_dark() -> bool:
    """Whether the dark colours are used."""
    return _dark


def is_strong() -> bool:
    """Whether high contrast is on: there are no tints, and every box has a border in ``ctl``."""
    return _strong


def strengthened(t: Tokens) -> Tokens:
    """The colours for high contrast: no tints behind text, and borders that are always visible."""
    gone = dict.fromkeys(("warnT", "errT", "addT", "remT", "chgT", "typT"), t.surface)
    return replace(t, **gone, border=t.ctl, btn=t.ctl, hatch=t.ctl, text2=t.text, text3=t.text2)


def scale() -> float:
    """Pixels per pixel of the design: from the system's font size and the zoom."""
    return _scale


def zoom() -> int:
    """The zoom in percent."""
    return round(_zoom * 100)


@cache
def px(size: float) -> int:
    """A size of the design, scaled to the system font and the zoom."""
    return max(1, round(size * _scale)) if size else 0


def font(size: float = 13, weight: int = 400) -> QFont:
    """The system font at a size of the design; weight 400, 500 or 600."""
    made = QFont(QGuiApplication.font())
    made.setPixelSize(px(size))
    made.setWeight(QFont.Weight(weight))
    return made


def mono(size: float = 12, weight: int = 400) -> QFont:
    """The system's fixed-width font for values; without ligatures, so that ``->`` keeps its form."""
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    if _mono:
        made.setFamily(_mono)
    made.setPixelSize(px(size))
    made.setWeight(QFont.Weight(weight))
    made.setStyleHint(QFont.StyleHint.Monospace)
    for feature in ("liga", "calt", "clig"):
        made.setFeature(QFont.Tag(feature), 0)
    return made


def use_mono(family: str) -> None:
    """Use a fixed-width family by name, if the system has no good one (a platform without a desktop)."""
    global _mono
    _mono = family


def apply(scheme: str = "system", contrast: str = "system") -> None:
    """Apply ``light``, ``dark`` or the system's colours to the whole application, at once.

    ``contrast`` is ``normal``, ``high`` or the system's; a choice of the system's follows it from then on.
    """
    global _tokens, _dark, _strong, _scale, _asked, _follower, _restyling
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    hints = QGuiApplication.styleHints()
    _asked = ("", "")  # Qt tells the follower of the change made here, which must not start another one
    if scheme == "system":
        hints.unsetColorScheme()
        dark = _system_is_dark()
    else:
        dark = scheme == "dark"
        hints.setColorScheme(Qt.ColorScheme.Dark if dark else Qt.ColorScheme.Light)
    _asked = (scheme, contrast)
    _dark, _strong = dark, contrast == "high" or (contrast == "system" and _system_wants_contrast())
    _tokens = DARK if dark else LIGHT
    if _strong:
        _tokens = strengthened(_tokens)
    if not app.styleSheet():  # a sheet hides the style's own name, and setting the style again restyles everything
        app.setStyle(QStyleFactory.create("Fusion"))
    before = _scale
    _scale = max(0.8, min(3.0, _pixels(_own_font or QGuiApplication.font()) / 13)) * _zoom
    px.cache_clear()
    if _follower is None:
        _follower = _Follower()
    sheet = _sheet(_tokens)
    if sheet == app.styleSheet():
        return  # styling every widget again stops the window for a moment
    app.setPalette(_palette(_tokens))
    if not app.styleSheet():
        app.setStyleSheet(sheet)
    else:
        if _restyling is None:
            from gui.style.restyling import Restyling  # not needed for the first sheet

            _restyling = Restyling(app)
        (_restyling.put if _scale != before else _restyling.put_colours)(sheet)
    if _scale != before:
        signals.scaled.emit()
    signals.changed.emit()


def zoom_to(zoom: float) -> None:
    """Draw at this multiple of the system's size; ``gui.style.zooming`` adapts the existing widgets."""
    global _zoom, _own_font
    own = _own_font or QGuiApplication.font()
    drawn = QFont(own)
    if zoom != 1:
        drawn.setPixelSize(round(_pixels(own) * zoom))
    QApplication.setFont(drawn)
    _zoom, _own_font = zoom, own if zoom != 1 else None
    apply(*_asked)


def _pixels(font: QFont) -> float:
    """The pixel size of a font, which may be given in points."""
    if font.pixelSize() > 0:
        return font.pixelSize()
    return font.pointSizeF() * QGuiApplication.primaryScreen().logicalDotsPerInch() / 72


def _system_is_dark() -> bool:
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


def _system_wants_contrast() -> bool:
    # Known since Qt 6.10; before, it cannot be asked.
    hints = getattr(QGuiApplication.styleHints(), "accessibility", None)
    return hints is not None and "HighContrast" in str(hints().contrastPreference())


class _Follower(QObject):
    """Applies the theme again when the system changes its colours or contrast."""

    def __init__(self) -> None:
        super().__init__()
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._again)
        accessibility = getattr(hints, "accessibility", None)
        if accessibility is not None:
            accessibility().contrastPreferenceChanged.connect(self._again)

    def _again(self) -> None:
        if "system" in _asked:
            apply(*_asked)


def _palette(t: Tokens) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    for which, name in (
        (role.Window, t.canvas), (role.WindowText, t.text), (role.Base, t.surface), (role.AlternateBase, t.surface),
        (role.Text, t.text), (role.Button, t.surface), (role.ButtonText, t.text), (role.BrightText, t.err),
        (role.Highlight, t.sel), (role.HighlightedText, t.text), (role.Link, t.acc), (role.LinkVisited, t.acc),
        (role.ToolTipBase, t.text), (role.ToolTipText, t.surface), (role.PlaceholderText, t.text3),
        (role.Mid, t.border), (role.Dark, t.btn), (role.Light, t.surface), (role.Midlight, t.hover),
        (role.Shadow, t.border), (role.Accent, t.acc),
    ):  # fmt: skip
        palette.setColor(which, QColor(name))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, QColor(t.text3))
    return palette


def _sheet(t: Tokens) -> str:
    """The style sheet with tokens (``@acc``), sizes (``8u``) and images (``image(check)``) filled in."""
    text = resources.files("resources").joinpath("style.qss").read_text("utf-8")

    def image(found: re.Match[str]) -> str:
        name, token = found.group(1), found.group(2)
        svg = resources.files("resources").joinpath("icons", f"{name}.svg").read_text("utf-8")
        colour = getattr(t, token)
        path = _image(f"{name}-{colour[1:]}.svg", svg.replace("currentColor", colour).encode())
        return f'url("{path.as_posix()}")'

    text = re.sub(r"image\(([a-z-]+),\s*(\w+)\)", image, text)
    for name in sorted(t.__struct_fields__, key=len, reverse=True):
        text = text.replace(f"@{name}", getattr(t, name))
    text = text.replace("@fixed", f'"{mono().family()}"')
    return re.sub(r"\b(\d+(?:\.\d+)?)u\b", lambda m: f"{px(float(m.group(1)))}px", text)


@cache
def _image(name: str, data: bytes) -> Path:
    """A file with an image, since a style sheet takes none in another way: in the cache, where the next start finds
    it, or else in a temporary folder.
    """
    global _images
    path = folders.kept_again() / "style" / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if kept_files.bytes_of(path, _LARGEST_IMAGE) != data:
            with whole_file(path, lasting=False) as file:
                file.write(data)
    except OSError:
        _images = _images or tempfile.TemporaryDirectory(prefix="palimpsest-style-")
        path = Path(_images.name, name)
        path.write_bytes(data)
    return path
