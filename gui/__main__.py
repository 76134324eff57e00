"""``palimpsest``: a command is handed on before Qt is imported; anything else opens the window."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from collections.abc import Sequence

_WITHOUT_DISPLAY = (
    "without one work `palimpsest tour DIR`, which renders every view as a picture, the text commands "
    "(`palimpsest --help`), and QT_QPA_PLATFORM=vnc, which serves the window to a VNC viewer"
)
_WINDOW_OPTIONS = ("--read-only", "--into-memory")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, the tour or the window; returns the exit status."""
    try:
        return _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # imports take their time, and Ctrl-C comes at any
        print("Stopped.", file=sys.stderr)
        return 130


def _run(words: list[str]) -> int:
    if words[:1] == ["tour"]:
        if trouble := _missing_for("offscreen"):
            return _say(trouble)
        from gui.tour import tour

        return tour.main(words[1:])
    if is_command(words):
        from model.commands import command_line

        return command_line.main(words)
    source = next((word for word in words if word not in _WINDOW_OPTIONS), None)
    if trouble := why_no_window():
        return _say(trouble)
    from gui.window import window

    return window.run(source, "--read-only" in words, "--into-memory" in words)


def is_command(words: Sequence[str]) -> bool:
    """Whether the words are for the command line: a command, an option that is not the window's, or too many words."""
    from model.commands import grammar

    plain = [word for word in words if word not in _WINDOW_OPTIONS]
    return bool(plain) and (plain[0] in grammar.names() or plain[0].startswith("-") or len(plain) > 1)


def _say(trouble: str) -> int:
    print(trouble, file=sys.stderr)
    return 2


def why_no_window() -> str:
    """Why no window can be opened here, one sentence; "" where one can. Qt itself would end the process."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if platform or not sys.platform.startswith("linux"):
        return _missing_for(platform or "native")
    if os.environ.get("WAYLAND_DISPLAY"):
        return _missing_for("wayland")
    if not os.environ.get("DISPLAY"):
        return f"There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set); {_WITHOUT_DISPLAY}."
    if trouble := _missing_for("xcb"):
        return trouble
    if not _x_answers():
        return f"The display {os.environ['DISPLAY']} cannot be opened; {_WITHOUT_DISPLAY}."
    return ""


def _missing_for(platform: str) -> str:
    """The library that Qt or its platform plugin lacks on this system, as a sentence; "" where nothing is missing."""
    try:
        from PySide6 import QtWidgets
    except ImportError as error:
        return f"Qt cannot be loaded ({error}); install what is missing, the README names the system's libraries."
    if not sys.platform.startswith("linux") or platform == "native":
        return ""
    plugin = os.path.join(os.path.dirname(QtWidgets.__file__), "Qt", "plugins", "platforms", f"libq{platform}.so")
    if not os.path.exists(plugin):
        return ""  # another name or place than ours: let Qt look for it
    try:
        ctypes.CDLL(plugin)
    except OSError as error:
        return (
            f"Qt's {platform} display lacks a library of this system ({error}); install it (the README names "
            f"them), {_WITHOUT_DISPLAY}."
        )
    return ""


def _x_answers() -> bool:
    """Whether the X server lets us in, asked the way that Qt asks it."""
    name = ctypes.util.find_library("xcb") or "libxcb.so.1"
    try:
        xcb = ctypes.CDLL(name)
    except OSError:
        return True  # Qt's plugin brought its own; let it try
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    try:
        return not xcb.xcb_connection_has_error(connection)
    finally:
        xcb.xcb_disconnect(connection)


if __name__ == "__main__":
    sys.exit(main())
