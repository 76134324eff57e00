"""The command that starts, watches and stops the reading of a dump's large files.

The command is ``palimpsestDump``; its field ``do`` is "look", "begin", "stop", or "learn" with ``ns`` and ``paths``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from model.errors import Cancelled, Refused
from model.localserver import wire
from model.localserver.dump_cache import DumpCache
from model.localserver.large_file import LargeFile
from model.localserver.physical_ids import repeated_id
from model.localserver.store import Collection, Store
from model.localserver.wire import Command
from model.mql import order
from model.mql.command_error import CommandError

COMMAND = "palimpsestDump"


class DumpReading:
    """The large files of one server, and the thread that reads them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._collections: list[Collection] = []
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._done = self._total = 0
        self._error = ""
        self.caches: list[DumpCache] = []
        self.left_out: list[str] = []
        """A sentence for each part of a dump that could not be shown, or is shown otherwise than dumped."""

    def add(self, collection: Collection, file: LargeFile) -> None:
        """Load the first documents of a large file; raises ``Unreadable`` if there is none."""
        collection.begin(file)
        self._collections.append(collection)

    @property
    def _files(self) -> list[LargeFile]:
        return [collection.file for collection in self._collections if collection.file is not None]

    def answer(self, command: Command) -> bytes:
        """The reply to the command."""
        wanted = command.text("do")
        if wanted == "begin":
            self._begin()
        elif wanted == "stop":
            self._stop.set()
        elif wanted == "learn":
            self._learn(command)
        elif wanted != "look":
            raise CommandError(9, f"{COMMAND} cannot {wanted}")
        thread = self._thread
        return wire.pack(
            unread=[collection.ns for collection in self._collections if collection.unread],
            troubles=[*self.left_out, *(file.trouble for file in self._files if file.trouble), *self._repeated()],
            reading=thread is not None and thread.is_alive(),
            done=self._done,
            total=self._total,
            error=self._error,
            ok=1.0,
        )

    def _repeated(self) -> Iterator[str]:
        """A sentence for each large file with an ``_id`` that several documents have."""
        for collection in self._collections:
            if collection.file is not None and (found := collection.file.repeated) is not None:
                id, count = found
                yield repeated_id(collection.ns, id, max(0, count - 1))

    def _learn(self, command: Command) -> None:
        database, _, name = command.text("ns").partition(".")
        collection = self._store.get(database, name)
        found = command.get("paths")
        if collection is not None and found is not None:
            collection.learn([data[4:-1].decode() for _, data in order.items(found[1])])

    def _begin(self) -> None:
        with self._lock:
            if self._thread is not None and self._thread.is_alive():
                return
            self._stop.clear()
            self._error = ""
            self._thread = threading.Thread(target=self._read_on, name="palimpsest-reading", daemon=True)
            self._thread.start()

    def _read_on(self) -> None:
        sizes = [file.size for file in self._files]

        def step(done: int, _: int) -> None:
            self._done, self._total = before + done, sum(sizes)
            if self._stop.is_set():
                raise Cancelled

        try:
            for at, collection in enumerate(self._collections):
                before = sum(sizes[:at])
                collection.read_on(step)
        except Cancelled:
            pass
        except (Refused, CommandError) as refusal:
            self._error = str(refusal)
        except Exception as error:  # a bug here must not look like a reading that continues
            self._error = f"The dump cannot be read ({type(error).__name__}: {error}); report this."

    def close(self) -> None:
        """Stop, and close the files."""
        self._stop.set()
        for file in self._files:
            file.stop()
        if self._thread is not None:
            self._thread.join()
        for file in self._files:
            file.close()
        for cache in self.caches:
            cache.leave()
        self._collections, self.caches = [], []
