"""The command line, without Qt and without a display: ``palimpsest COMMAND …``.

Exit 0 is success, 1 a difference, a conflict or something skipped, 2 trouble (one sentence on standard error), 3 an
outcome that is not known. Nothing is written without ``--apply``, save by the commands that are named after a write:
``edit``, ``restore``, ``undo``, ``next``, ``insert``, ``count`` and ``process``.
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

_STOPPED, _READER_GONE, _ENDED = 130, 141, 143  # a shell's exit statuses for SIGINT, SIGPIPE and SIGTERM


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status, whatever happens."""
    fill_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Half characters of a damaged string are shown as their escapes instead of ending the output.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        with _ended_tidily():
            words = sys.argv[1:] if argv is None else argv
            args = grammar.parser(*grammar.named(words)).parse_args(words)
            from model.commands import passwords  # what only says the version needs none of this

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
        drop_output()  # the reader has seen enough
        return _READER_GONE
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None:  # files and servers are spoken of as Refused
            drop_output()
            return _trouble(f"The output cannot be written ({error.strerror or error}); send it elsewhere.")
        if os.environ.get("PALIMPSEST_DEBUG"):
            import traceback

            traceback.print_exc()
        kind = type(error).__name__
        return _trouble(f"This is a defect of palimpsest ({kind}): set PALIMPSEST_DEBUG=1 for details to report.")


@contextmanager
def _ended_tidily() -> Iterator[None]:
    """Let SIGTERM end the process as an error does: connections are closed, private folders removed."""

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
