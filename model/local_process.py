"""A local server in a process of its own, so that its work and documents cost the program neither time nor memory.

The process reads from its standard input what to open, answers on its standard output with its address, and serves
until that input ends. So it ends with the process that started it, even if that is killed. If it hangs, it is killed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import asdict

import model
from model import errors
from model.errors import Refused
from model.foundation.child_environment import PYTHON, child_environment

if TYPE_CHECKING:
    from model.localserver import LocalServer

WORD = "--serve-a-source"
"""The argument with which a compiled program starts itself as a server."""

_PATIENCE = 5.0  # seconds for the server to end by itself
_COLLECTED_AFTER = 100_000
"""How many objects may be created before garbage is collected, until it serves: importing modules creates as many."""


class Served(Struct, frozen=True):
    """The source to serve: a dump's path, or "" for the sample; ``kept`` is the folder for its cache."""

    dump: str
    writable: bool
    kept: str


class ServerProcess:
    """A process that serves one source."""

    def __init__(self, served: Served) -> None:
        """Start it, without waiting for it; raises ``OSError``."""
        words, environment = _program()
        self._process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # so that Ctrl-C only reaches the program in the foreground
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        self._lock = threading.Lock()
        self._answer: dict[str, str] | None = None
        self._say(json.dumps(asdict(served)).encode() + b"\n")

    def _say(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # it has ended, which the missing answer will show
            self._process.stdin.write(line)
            self._process.stdin.flush()

    @property
    def uri(self) -> str:
        """The address, after :meth:`wait`."""
        return self.wait()

    def wait(self) -> str:
        """Wait for its address and return it; raises ``Refused`` as opening does, ``OSError`` if it has ended."""
        with self._lock:
            if self._answer is None:
                assert self._process.stdout is not None
                line = self._process.stdout.readline()
                self._answer = json.loads(line) if line else {}
        if "uri" in self._answer:
            return self._answer["uri"]
        if not self._answer:
            raise OSError("the server has ended")
        kind = getattr(errors, self._answer["error"], Refused)
        raise kind(self._answer["said"])

    def close(self) -> None:
        """End it; it is killed after a few seconds."""
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        threading.Thread(target=self._ended, name="palimpsest-server-ends", daemon=True).start()

    def _ended(self) -> None:
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with self._lock:
            assert self._process.stdout is not None
            self._process.stdout.close()

    @property
    def ended(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid


def _program() -> tuple[list[str], dict[str, str]]:
    """The command line and the environment of a process that serves."""
    environment = child_environment(*PYTHON)
    if "__compiled__" in globals() or getattr(sys, "frozen", False):
        return [os.path.abspath(sys.argv[0]) if os.path.isfile(sys.argv[0]) else sys.executable, WORD], environment
    # -P: a folder called model in the current directory is not ours.
    paths = [str(Path(model.__path__[0]).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    words = [sys.executable, "-P", "-m", "model.local_process"]
    return words, environment | {"PYTHONPATH": os.pathsep.join(paths)}


def serve() -> int:
    """Run as that process; returns the exit status."""
    before = gc.get_threshold()
    gc.set_threshold(_COLLECTED_AFTER)
    with contextlib.suppress(ValueError):  # only the main thread may
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    served = Served(**json.loads(sys.stdin.buffer.readline()))
    try:
        server = opened(served)
        answer = {"uri": server.uri}
    except Refused as refusal:
        _tell({"error": type(refusal).__name__, "said": str(refusal)})
        return 0
    with server:
        _tell(answer)
        gc.freeze()
        gc.set_threshold(*before)
        while sys.stdin.buffer.read(1):
            pass
    return 0


def opened(served: Served) -> LocalServer:
    """A server in this process; the parts for dumps are only imported for a dump."""
    kept = Path(served.kept)
    if served.dump:
        from model.localserver import open_dump

        return open_dump(served.dump, served.writable, kept / "dumps")
    from model.localserver import open_sample

    return open_sample(kept)


def _tell(answer: dict[str, str]) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(serve())
