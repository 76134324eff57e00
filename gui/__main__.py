"""The program ``palimpsest``: a command is handed on before Qt is imported; anything else opens the window."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Sequence

_WITHOUT_DISPLAY = (
    "without one work `palimpsest tour DIR`, which renders every view as a picture, the text commands "
    "(`palimpsest --help`), and QT_QPA_PLATFORM=vnc, which serves the window to a VNC viewer"
)
_COLLECTED_AFTER = 100_000
"""Objects made and not freed until a command collects garbage: loading modules makes about as many."""

_LIBRARIES = "`palimpsest help troubleshooting` names the libraries of a system"


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, the tour or the window; returns the exit status.

    Without ``argv``, the words are those of this process, and the process ends with the status: Ctrl-C does nothing
    by then.
    """
    try:
        if argv is None:
            from model.commands import passwords

            passwords.hide(sys.argv)
        status = _run(list(sys.argv[1:] if argv is None else argv))
    except KeyboardInterrupt:  # imports take their time, and Ctrl-C can come during them
        print("Stopped.", file=sys.stderr)
        status = 130
    if argv is None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # else Ctrl-C while Python ends its threads prints a traceback
        if "PySide6.QtCore" not in sys.modules:
            _end(status)
    return status


def _end(status: int) -> None:
    """End this process at once; only where everything that the command opened is closed.

    Python would wait for PyMongo's threads, which sleep half a second before they see that they are to end, and would
    take all modules to pieces.
    """
    with contextlib.suppress(OSError, ValueError):  # such errors are reported by Python, with a status of its own
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
        if all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread()):
            os._exit(status)


def _run(words: list[str]) -> int:
    if words == ["--version"] and _told_version():
        return 0
    if words == ["--serve-a-source"]:  # only :mod:`model.local_process` passes this
        from model import local_process

        return local_process.serve()
    if words[:1] == ["tour"]:
        if trouble := _missing_for("offscreen"):
            return _say(trouble)
        _choose_language()
        from gui.tour import tour

        return tour.main(words[1:])
    from model.commands import command_line, grammar

    if is_command(words):
        gc.set_threshold(_COLLECTED_AFTER)
        return command_line.main(words)
    try:
        asked, others = grammar.window().parse_known_intermixed_args(words)
    except SystemExit as said:
        return said.code if isinstance(said.code, int) else 2
    if trouble := trouble_with(asked.words, others, asked.profile):
        return _say(trouble)
    gc.disable()  # loading modules makes no garbage, and the window has a sweeper of its own
    if trouble := why_no_window():
        return _say(trouble)
    from gui.starting import footprint

    footprint.import_plainly()
    footprint.keep_little()
    _choose_language()
    from gui.starting import running_instance  # the least that is needed to hand over to a running program

    request = {
        "source": _from_anywhere(asked.words[0]) if asked.words else None,
        "read_only": asked.read_only,
        "into_memory": asked.into_memory,
        "profile": os.path.abspath(asked.profile) if asked.profile else "",
    }
    if not asked.new_window and running_instance.hand_over(request):
        print("It is in the window that is open already; --new-window opens another one.")
        return 0
    from model.userdata.given_password import kept_from_children

    with kept_from_children():
        if request["source"]:
            from model.session import sources

            # Its process gets ready beside this one, which has much to load.
            sources.start_early(str(request["source"]), asked.into_memory)
        from gui.window import open_windows

        return open_windows.run(request, asked.new_window)


def _told_version() -> bool:
    """Print the version, without the grammar of all commands; False if that failed, which the command itself tells."""
    from model import __version__

    try:
        print(f"palimpsest {__version__}", flush=True)
    except (OSError, ValueError):
        return False
    return True


def _from_anywhere(source: str) -> str:
    """A source as another process finds it: a path is made absolute."""
    path = os.path.expanduser(source)
    return os.path.abspath(path) if "://" not in source and os.path.exists(path) else source


def is_command(words: Sequence[str]) -> bool:
    """Whether words are for the command line: they begin with a command, or with an option that the window lacks."""
    from model.commands import grammar

    if words and words[0].startswith("-"):
        return words[0].partition("=")[0] not in grammar.WINDOW_OPTIONS
    return bool(words) and words[0].isalpha() and words[0] in grammar.names()


def trouble_with(words: Sequence[str], options: Sequence[str], profile: str | None) -> str:
    """Why words do not open the window, in one sentence; "" if they do."""
    from model.commands import grammar

    if words:
        from model.session import sources

        if not sources.is_source(words[0]):
            return grammar.unknown(words[0])
    if len(words) > 1:
        goes_first = f"; a command goes first, as in `palimpsest {words[1]} {sources.shown(words[0])}`"
        hint = goes_first if words[1] in grammar.names() else ""
        return f"The window opens one SOURCE, so {sources.shown(words[1])} is one word too many{hint}."
    if options:
        return f"{options[0].partition('=')[0]} is not an option of the window; see `palimpsest --help`."
    if profile is None:
        return ""
    if not words:
        return "--profile FILE says how a SOURCE is read; name that too, as in `palimpsest sample: --profile FILE`."
    from model.errors import Refused
    from model.profile import Profile

    try:
        Profile.load(profile)
    except Refused as refusal:
        return str(refusal)
    return ""


def _choose_language() -> None:
    """Choose the language, before any module with texts is loaded."""
    from gui import language
    from gui.style import preferences

    language.choose(str(preferences.get("language")))


def _say(trouble: str) -> int:
    print(trouble, file=sys.stderr)
    return 2


def why_no_window() -> str:
    """Why no window can be opened here, in one sentence; "" if one can. Qt itself would end the process."""
    platform = os.environ.get("QT_QPA_PLATFORM", "").partition(":")[0].partition(";")[0]
    if platform not in ("", "xcb") or not sys.platform.startswith("linux"):
        return _missing_for(platform or "native")
    if not platform and os.environ.get("WAYLAND_DISPLAY"):
        return _missing_for("wayland")
    if not os.environ.get("DISPLAY"):
        return f"There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set); {_WITHOUT_DISPLAY}."
    if trouble := _missing_for("xcb"):
        return trouble
    if not _x_answers():
        return f"The display {os.environ['DISPLAY']} cannot be opened; {_WITHOUT_DISPLAY}."
    return ""


def _missing_for(platform: str) -> str:
    """The library that Qt or its platform plugin lacks on this system, as a sentence; "" if nothing is missing."""
    try:
        from PySide6 import QtWidgets
    except ImportError as error:
        return f"Qt cannot be loaded ({error}); install what is missing: {_LIBRARIES}."
    if not sys.platform.startswith("linux") or platform == "native":
        return ""
    plugin = os.path.join(os.path.dirname(QtWidgets.__file__), "Qt", "plugins", "platforms", f"libq{platform}.so")
    if not os.path.exists(plugin):
        return ""  # it may have another name or place here: let Qt look for it
    import ctypes

    try:
        ctypes.CDLL(plugin)
    except OSError as error:
        return (
            f"Qt's {platform} display lacks a library of this system ({error}); install it ({_LIBRARIES}), "
            f"{_WITHOUT_DISPLAY}."
        )
    return ""


def _x_answers() -> bool:
    """Whether the X server accepts us, asked the way that Qt asks it."""
    import ctypes

    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # Qt's plugin may bring its own; let it try
    xcb.xcb_connect.restype = ctypes.c_void_p
    xcb.xcb_connection_has_error.argtypes = xcb.xcb_disconnect.argtypes = [ctypes.c_void_p]
    connection = xcb.xcb_connect(None, None)
    try:
        return not xcb.xcb_connection_has_error(connection)
    finally:
        xcb.xcb_disconnect(connection)


if __name__ == "__main__":
    sys.exit(main())
