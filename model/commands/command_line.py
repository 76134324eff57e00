"""The command line, without Qt and without a display: ``palimpsest COMMAND …``.

Exit status 0 is success, 1 a difference, a conflict or something skipped, 2 trouble (one sentence on standard error),
3 an unknown outcome. Nothing is written without ``--apply``, except by commands named after a write: ``edit``,
``restore``, ``undo``, ``next``, ``insert``, ``count`` and ``process``.
"""

from __future__ import annotations

import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from model.commands import grammar
from model.commands.standard_streams import drop_output, fill_closed, say
from model.errors import Cancelled, Refused

_STOPPED, _READER_GONE, _ENDED = 130, 141, 143  # the exit statuses of shells for SIGINT, SIGPIPE and SIGTERM


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; always returns its exit status."""
    fill_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print half characters of a damaged string as escapes instead of ending with an error.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with _ended_tidily():
            words = sys.argv[1:] if argv is None else argv
            args = grammar.parser(*grammar.named(words)).parse_args(words)
            from model.commands import passwords  # printing the version needs none of this

            module, _, function = args.run.partition(":")
            with passwords.given(args):
                status: int = getattr(importlib.import_module(f"model.commands.{module}"), function)(args)
            sys.stdout.flush()
            return status
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 2
    except Refused as error:
        return _trouble(str(error))
    except (Cancelled, KeyboardInterrupt):
        _trouble("Stopped.")
        return _STOPPED
    except BrokenPipeError:
        drop_output()  # the reader closed the pipe
        return _READER_GONE
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # errors of files and servers arrive as Refused
            drop_output()
            return _trouble(f"The output cannot be written ({error.strerror or error}); send it elsewhere.")
        if os.environ.get("PALIMPSEST_DEBUG"):
            import traceback

            traceback.print_exc()
        kind = type(error).__name__
        return _trouble(f"This is a defect of palimpsest ({kind}): set PALIMPSEST_DEBUG=1 for details to report.")


@contextmanager
def _ended_tidily() -> Iterator[None]:
    """Let SIGTERM end the process like an error: connections are closed, private folders removed."""

    def end(*_: object) -> None:
        sys.exit(_ENDED)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _trouble(sentence: str) -> int:
    from model.userdata import connections

    say(connections.hidden(sentence), file=sys.stderr)
    return 2
