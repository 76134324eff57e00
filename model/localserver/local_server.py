"""The in-process server: a private socket, a thread for each connection, and documents in memory.

Samples and dumps are opened in it, so that all other code speaks to every source in one way, through PyMongo. The
socket is in a folder that only this user may enter; without Unix sockets it is a port of the loopback interface,
chosen by the system.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import select
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from urllib.parse import quote

from msgspec.structs import replace

from model.errors import Refused, Unreadable
from model.localserver import wire
from model.localserver.change_log import MOST, ChangeLog
from model.localserver.command_table import CommandTable
from model.localserver.dump_cache import DumpCache
from model.localserver.dump_reading import COMMAND, DumpReading
from model.localserver.kept_documents import Order
from model.localserver.large_file import LargeFile
from model.localserver.physical_ids import identified
from model.localserver.store import Collection, Index, Store
from model.mql.command_error import CommandError

_UNIX: int | None = getattr(socket, "AF_UNIX", None)
_SOCKET = "s.sock"  # drivers recognise a socket by this ending
_LONGEST_PATH = 100  # macOS allows 103 bytes, Linux 107


class LocalServer:
    """A server in this process; use it as a context manager, or call :meth:`close`.

    It listens from the first use of :attr:`uri`.

    - ``replica_set``: it is the primary of a set of that name, with sessions, retryable writes and change streams,
      which reach back by ``history`` changes.
    - ``shard_keys``, by namespace or by collection name: it acts as the router of a sharded cluster. It refuses a
      write of one document without the shard key in its filter, and any change of that key.
    - ``follows``: it is a secondary in that primary's set, which lags behind until :meth:`catch_up` is called.
    """

    def __init__(
        self,
        read_only: bool = False,
        replica_set: str = "",
        history: int = MOST,
        shard_keys: Mapping[str, Sequence[str]] | None = None,
        follows: LocalServer | None = None,
    ) -> None:
        self.store = Store(ChangeLog(history) if replica_set else None)
        self._dump = DumpReading(self.store)
        self._commands = CommandTable(self.store, read_only, replica_set, sharded=shard_keys is not None)
        self._commands.add(COMMAND, self._dump.answer)
        self._commands.add("palimpsestLoaded", lambda _: wire.pack(name=self.loaded, ok=1.0))
        self._loaded_as = ""
        self.store.shard_keys = shard_keys or {}
        self._follows = follows
        if follows is not None:
            self._commands.join(follows._commands)
        self._lock = threading.Lock()
        self._listener: socket.socket | None = None
        self._folder: str | None = None
        self._uri = ""
        self._waker: tuple[socket.socket, socket.socket] | None = None
        self._accepting: threading.Thread | None = None
        self._connections: dict[socket.socket, threading.Thread] = {}
        self._closed = False

    def __enter__(self) -> LocalServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def read_only(self) -> bool:
        """Whether commands that write are refused (code 13); loading is not a command."""
        return self._commands.read_only

    @read_only.setter
    def read_only(self, value: bool) -> None:
        self._commands.read_only = value

    # --- the documents

    def load(self, ns: str, raws: Iterable[bytes]) -> None:
        """Load documents byte for byte, even damaged ones; one without ``_id`` gets it at the front.

        Raises ``Unreadable`` for bytes with a wrong outer length.
        """
        collection = self._collection(ns)
        collection.load(_identified(raw, ns, i) for i, raw in enumerate(raws, len(collection.docs)))

    def expect(
        self, ns: str, documents: Mapping[int, bytes], size: int, orders: Mapping[str, Callable[[], Order]]
    ) -> None:
        """Load documents as :meth:`.Collection.expect` does; each must have an ``_id`` and fit all later indexes."""
        self._collection(ns).expect(documents, size, orders)

    @property
    def loaded(self) -> str:
        """A name for everything loaded, equal for equal documents; "" after the first command that writes."""
        return "" if self._commands.took_writes else self._loaded_as

    @loaded.setter
    def loaded(self, name: str) -> None:
        self._loaded_as = name

    def forget(self, ns: str) -> None:
        """Drop a collection whose file turned out to be empty."""
        database, _, name = ns.partition(".")
        self.store.drop(database, name)

    def stored(self, ns: str) -> Sequence[bytes]:
        """The documents of a collection as stored, in the order of arrival."""
        return list(self._collection(ns).docs.values())

    def tell(self, sentence: str) -> None:
        """Note that a part of a dump could not be shown, or is shown otherwise than dumped."""
        if sentence not in self._dump.left_out:
            self._dump.left_out.append(sentence)

    def begin(self, ns: str, file: LargeFile) -> None:
        """Load the first documents of a large file; the others follow once a client asks for them."""
        self._dump.add(self._collection(ns), file)

    def leave_at_end(self, cache: DumpCache) -> None:
        """Leave a cache folder once the server is closed, behind the files in it."""
        self._dump.caches.append(cache)

    def index(self, ns: str, keys: Sequence[tuple[str, int]] | str, unique: bool = False, **options: object) -> None:
        """Add an index over a field, or over fields with directions; raises ``Refused`` if ``unique`` is violated."""
        pairs = [(keys, 1)] if isinstance(keys, str) else list(keys)
        title = "_".join(f"{path}_{direction}" for path, direction in pairs)
        try:
            self._collection(ns).add_index(Index(pairs, title, unique=unique, options=dict(options)))
        except CommandError as error:
            raise Refused(f"{ns} cannot have this unique index: {error.message}.") from None

    def adopt(self, ns: str, options: bytes, kind: str = "collection") -> None:
        """Create a collection of a dump, under any name."""
        collection = self._collection(ns)
        collection.options, collection.kind = options, kind
        self.store.is_dump = True

    def add_index(self, ns: str, index: Index) -> None:
        """Add an index of a dump; it is not unique here if the documents violate that."""
        collection = self._collection(ns)
        try:
            collection.add_index(index)
        except CommandError:
            index.unique = False
            collection.add_index(index)

    def shard(self, ns: str, fields: Sequence[str], edges: Sequence[tuple[Sequence[object], str]] = ()) -> None:
        """Shard a collection by some fields, and show that in ``config``.

        ``edges`` are the values of these fields at which each chunk but the first begins, with its shard.
        """
        self.store.shard(self._collection(ns), fields, edges)

    def catch_up(self) -> None:
        """Copy everything that the primary has now."""
        assert self._follows is not None
        self.store.clear()
        for db in self._follows.store.databases():
            for each in self._follows.store.collections(db):
                own = self.store.make(db, each.ns.partition(".")[2], strict=False)
                with each.lock:
                    own.load(list(each.docs.values()))
                    own.options, own.shard_key = each.options, each.shard_key
                    for index in list(each.indexes.values()):
                        if index.name not in own.indexes:
                            own.add_index(replace(index, entries=None))
        self.lag(0.0)

    def lag(self, seconds: float) -> None:
        """Pretend that the last write to arrive here was made this many seconds ago."""
        self._commands.last_write = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=seconds)

    @property
    def hides_metadata(self) -> bool:
        """Whether the user may read neither ``config`` nor the statistics of collections (code 13)."""
        return self._commands.hides_metadata

    @hides_metadata.setter
    def hides_metadata(self, value: bool) -> None:
        self._commands.hides_metadata = value

    def _collection(self, ns: str) -> Collection:
        db, dot, name = ns.partition(".")
        if not dot or not db or not name:
            raise Refused(f"{ns!r} is not a namespace: give it as database.collection.")
        return self.store.make(db, name, strict=False)

    # --- the socket

    @property
    def uri(self) -> str:
        """The address to connect to."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the server is closed")
            if not self._uri:
                self._listen()
            return self._uri

    def _listen(self) -> None:
        with contextlib.ExitStack() as undo:
            if _UNIX is not None:
                self._folder = _private_folder()
                undo.callback(shutil.rmtree, self._folder, ignore_errors=True)
                path = os.path.join(self._folder, _SOCKET)
                listener = undo.enter_context(socket.socket(_UNIX, socket.SOCK_STREAM))
                listener.bind(path)
                self._commands.address = path
                uri = f"mongodb://{quote(path, safe='')}/?directConnection=true"
            else:
                listener = undo.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
                listener.bind(("127.0.0.1", 0))
                self._commands.address = f"127.0.0.1:{listener.getsockname()[1]}"
                uri = f"mongodb://{self._commands.address}/?directConnection=true"
            listener.listen(64)
            self._listener, self._waker = listener, socket.socketpair()
            self._accepting = threading.Thread(
                target=self._accept, args=(listener, self._waker[0]), name="palimpsest-server", daemon=True
            )
            self._accepting.start()
            self._uri = uri
            undo.pop_all()

    def _accept(self, listener: socket.socket, wakes: socket.socket) -> None:
        while True:
            ready, _, _ = select.select([listener, wakes], [], [])
            if wakes in ready:
                return
            try:
                connection, _ = listener.accept()
            except OSError:
                continue  # the client left before it was accepted
            thread = threading.Thread(target=self._serve, args=(connection,), name="palimpsest-connection", daemon=True)
            with self._lock:
                self._connections[connection] = thread
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError, wire.Garbled):
                while (command := wire.receive(connection)) is not None:
                    self._reply(connection, command)
        finally:
            with self._lock:
                self._connections.pop(connection, None)
            connection.close()

    def _reply(self, connection: socket.socket, command: wire.Command) -> None:
        answer = self._commands.answer(command)
        if not command.silent:
            connection.sendall(wire.reply(command, answer))

    def close(self) -> None:
        """Stop listening, close all connections and forget everything; may be called twice."""
        with self._lock:
            self._closed = True
            waker, self._waker = self._waker, None
        if waker is not None:
            self._hang_up(waker)
        self._dump.close()

    def _hang_up(self, waker: tuple[socket.socket, socket.socket]) -> None:
        waker[1].send(b"x")
        assert self._accepting is not None
        assert self._listener is not None
        self._accepting.join()
        self._listener.close()
        if self.store.log is not None:
            self.store.log.stop()
        with self._lock:
            open_connections = dict(self._connections)
        for connection in open_connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in open_connections.values():
            thread.join()
        for end in waker:
            end.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self.store.clear()


def _private_folder() -> str:
    """A folder that only this user may enter: mkdtemp creates it with mode 0700."""
    folder = tempfile.mkdtemp(prefix="palimpsest-")
    if len(os.fsencode(os.path.join(folder, _SOCKET))) <= _LONGEST_PATH:
        return folder
    os.rmdir(folder)
    return tempfile.mkdtemp(prefix="palimpsest-", dir="/tmp")


def _identified(raw: bytes, ns: str, position: int) -> bytes:
    if len(raw) < 5 or int.from_bytes(raw[:4], "little") != len(raw) or raw[-1] != 0:
        raise Unreadable(f"Document {position + 1} of {ns} is not BSON: its length is wrong.")
    try:
        return identified(raw, position)
    except Unreadable:
        return raw
