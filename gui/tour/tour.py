"""``palimpsest tour DIR``: a picture of every view over the sample data, without a display.

It works in a home of its own, so the person's journal and drafts are neither touched nor shown.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gui import language
from model.commands.grammar import Parser

THEMES = ("light", "dark")

# Qt chooses its platform when the application is made, so no part of the window is imported before that.


def main(argv: Sequence[str]) -> int:
    """Render the views; returns 0, or 2 after one sentence on standard error."""
    parser = Parser(prog="palimpsest tour", description="Every view, over the sample data, as a PNG.")
    parser.add_argument("dir", metavar="DIR", type=Path, help="the folder for the pictures; made where it is missing")
    parser.add_argument("--theme", choices=THEMES, help="one of the themes; both without it")
    parser.add_argument("--size", default="1440x900", type=_size, help="width and height (default: 1440x900)")
    parser.add_argument(
        "--ratio", default=1.0, type=_ratio, help="pixels of the picture per pixel of the window, 1 to 4"
    )
    parser.add_argument("--zoom", default=100, type=_zoom, help="how large the text is, in percent, 80 to 200")
    parser.add_argument("--language", choices=language.LANGUAGES, help="that of the texts; without it, one's own")
    try:
        wanted = parser.parse_args(list(argv))
    except SystemExit as end:
        return 0 if end.code in (0, None) else 2
    try:
        wanted.dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _trouble(f"The folder {wanted.dir} cannot be made ({error.strerror}); name another one.")
    if wanted.language:
        language.choose(wanted.language)  # before any module with texts is loaded
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    for theme in [wanted.theme] if wanted.theme else THEMES:
        with _own_home(), _without_noise():
            ended = _render(wanted.dir, theme, wanted.size, wanted.ratio, wanted.zoom)
        if ended:
            return ended
    return 0


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{3,5})x(\d{3,5})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is not a size; write it as 1440x900")
    return int(found.group(1)), int(found.group(2))


def _ratio(text: str) -> float:
    try:
        ratio = float(text)
    except ValueError:
        ratio = 0.0
    if not 1 <= ratio <= 4:
        raise argparse.ArgumentTypeError(f"{text} is not a ratio; write a number from 1 to 4")
    return ratio


def _zoom(text: str) -> int:
    if not text.isdigit() or not 80 <= int(text) <= 200:
        raise argparse.ArgumentTypeError(f"{text} is not a size; write percents from 80 to 200")
    return int(text)


def _trouble(sentence: str) -> int:
    print(sentence, file=sys.stderr)
    return 2


@contextmanager
def _own_home() -> Iterator[None]:
    before = os.environ.get("PALIMPSEST_HOME")
    with tempfile.TemporaryDirectory(prefix="palimpsest-tour-", ignore_cleanup_errors=True) as home:
        os.environ["PALIMPSEST_HOME"] = home
        try:
            yield
        finally:
            if before is None:
                del os.environ["PALIMPSEST_HOME"]
            else:
                os.environ["PALIMPSEST_HOME"] = before


@contextmanager
def _without_noise() -> Iterator[None]:
    """Silence the offscreen platform's warnings about what it cannot do with windows; nobody can act on them."""
    from PySide6.QtCore import QMessageLogContext, QtMsgType, qInstallMessageHandler

    def say(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        if "This plugin does not support" not in text:
            print(text, file=sys.stderr)

    before = qInstallMessageHandler(say)
    try:
        yield
    finally:
        qInstallMessageHandler(before)


def _render(folder: Path, theme: str, size: tuple[int, int], ratio: float, zoom: int) -> int:
    from gui import app, tasks
    from gui.style import preferences

    preferences.forget()  # the tour in another theme left its tabs there
    app.application(["palimpsest"])
    if not app.has_fonts():
        return _trouble("No font can be loaded, so the pictures would be boxes; install one, for example fonts-inter.")
    preferences.put("zone", "Europe/Berlin")
    preferences.put("motion", "less")
    preferences.put("theme", theme)
    preferences.put("zoom", zoom)
    from gui.tour.tour_views import TourViews

    tour = TourViews(size)
    try:
        for view, widget in tour.views():
            path = folder / f"{view}-{theme}.png"
            if not _picture(widget, ratio, path):
                return _trouble(f"{path} cannot be written; make room or allow writing there.")
            print(path)
    except Exception as error:
        return _trouble(f"The tour ended early: {tasks.describe(error)[0]}")
    finally:
        tour.close()
        preferences.forget()
    return 0


def _picture(widget: object, ratio: float, path: Path) -> bool:
    from PySide6.QtCore import QPoint
    from PySide6.QtGui import QPixmap
    from PySide6.QtWidgets import QWidget

    assert isinstance(widget, QWidget)
    made = QPixmap(widget.size() * ratio)
    made.setDevicePixelRatio(ratio)
    widget.render(made, QPoint(0, 0))
    return bool(made.save(str(path), "PNG"))
