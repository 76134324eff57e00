"""The application object: name, language, fonts, theme, focus ring, and the hook for uncaught errors."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable, Sequence
from types import TracebackType

from PySide6.QtGui import QFont, QFontDatabase, QGuiApplication
from PySide6.QtWidgets import QApplication

from gui import language, rest
from gui.starting.sweeper import Sweeper
from gui.style import focus_ring, motion, preferences, theme, zooming

_log = logging.getLogger(__name__)
_listening = False
_shown_by: Callable[[BaseException], None] | None = None

# Without a desktop's settings the system names a generic family, which is whatever font was installed first.
GENERIC = frozenset(("Sans Serif", "Sans", "sans-serif", ""))
FAMILIES = ("Inter", "Noto Sans", "Cantarell", "Segoe UI", "Helvetica Neue", "DejaVu Sans", "Liberation Sans")
FIXED = ("JetBrains Mono", "Noto Sans Mono", "DejaVu Sans Mono", "Liberation Mono", "Consolas", "Menlo")


def application(argv: Sequence[str] = ()) -> QApplication:
    """The one application, made at the first call, with theme and fonts set."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        app = QApplication([*(argv or ["palimpsest"])])
    if not app.findChildren(Sweeper):
        Sweeper(app)
    answer_at_once()
    app.setApplicationName("palimpsest")
    app.setApplicationDisplayName("Palimpsest")
    app.setDesktopFileName("palimpsest")
    language.install()
    choose_fonts(app)
    theme.apply(str(preferences.get("theme")), str(preferences.get("contrast")))
    if theme.zoom() != int(preferences.get("zoom")):
        zooming.apply(int(preferences.get("zoom")))
    focus_ring.install(app)
    motion.install(app)
    global _listening
    if not _listening:
        _listening = True
        preferences.signals.changed.connect(_preference_changed)
    return app


def answer_at_once() -> None:
    """Take the interpreter from a worker thread after 0.1 ms, as a window needs that draws 60 times a second."""
    sys.setswitchinterval(0.0001)


def start_undisturbed() -> None:
    """Leave it to each thread for 5 ms until the window rests: nothing is drawn before its first page is there."""
    sys.setswitchinterval(0.005)
    rest.later(rest.rest, answer_at_once)


def choose_fonts(app: QApplication) -> None:
    """If no desktop names a font for its windows, take the first family that reads well, at 13 px."""
    if QGuiApplication.font().family() not in GENERIC:
        return
    family = next(filter(QFontDatabase.hasFamily, FAMILIES), "")
    if not family:
        return
    font = QFont(family)
    font.setPixelSize(13)
    app.setFont(font)
    theme.use_mono(next(filter(QFontDatabase.hasFamily, FIXED), ""))


def has_fonts() -> bool:
    """Whether there is any font to draw with; without one every picture is a row of boxes."""
    return bool(QFontDatabase.families())


def _preference_changed(name: str) -> None:
    if name in ("theme", "contrast"):
        theme.apply(str(preferences.get("theme")), str(preferences.get("contrast")))
    elif name == "zoom":
        zooming.apply(int(preferences.get("zoom")))


def catch(shown_by: Callable[[BaseException], None]) -> None:
    """Show uncaught errors through ``shown_by``, and log their kind and place."""
    global _shown_by
    _shown_by = shown_by
    sys.excepthook = _uncaught


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
        return
    # The message is not logged: it may quote a document.
    _log.critical("An error that nobody caught: %s\n%s", kind.__name__, "".join(traceback.format_tb(trace)))
    if _shown_by is not None:
        try:
            _shown_by(error)
        except Exception:
            _log.critical("The error could not be shown.")
