"""A server behind PyMongo: reads in batches by size, and the only place where writes are sent.

:meth:`Server.send` sends a write once, never raises, and returns its outcome: applied, not applied, or unknown.
:mod:`model.server.driver_errors` interprets the driver's errors; :mod:`model.server.retry` tries again.
"""

from __future__ import annotations

import copy
import math
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, TypeGuard

import pymongo
from bson.codec_options import CodecOptions
from bson.errors import BSONError
from bson.raw_bson import RawBSONDocument
from bson.son import SON
from msgspec.structs import replace
from pymongo.collection import Collection, ReturnDocument
from pymongo.command_cursor import CommandCursor
from pymongo.database import Database
from pymongo.errors import (
    AutoReconnect,
    ConnectionFailure,
    ExecutionTimeout,
    InvalidOperation,
    NetworkTimeout,
    OperationFailure,
    ProtocolError,
    PyMongoError,
    ServerSelectionTimeoutError,
)
from pymongo.read_preferences import ReadPreference, make_read_preference
from pymongo.topology_description import TopologyDescription
from pymongo.write_concern import WriteConcern

from model.errors import InDoubt, NotAllowed, Refused, Unreachable
from model.foundation.address import Address
from model.foundation.records import ServerFacts
from model.server import change_stream, driver
from model.server.answers import ROWS, RawAnswer, first_batch
from model.server.driver_errors import (
    cannot_connect,
    cannot_read,
    cannot_write,
    index_for,
    is_denied,
    meaning,
    refuses_for_good,
    without_password,
)
from model.server.duplicate_key import DuplicateKey, shown
from model.server.engines import engine_of, kinds_in
from model.server.known_types import names_decimals, takes_types, without_decimals
from model.server.port import Reply, Terms, Write, bson_of
from model.server.privileges import (
    Privileges,
    asked_for,
    collections_in,
    databases_in,
    lacks,
    may_read,
    may_write,
    missing,
    read_by,
)
from model.server.shard_keys import ShardKeys
from model.server.tunnel import Tunnel
from model.server.tunnel import trouble_with as tunnel_trouble
from model.values.canonical import DECIMAL128, decode
from model.values.kinds import BY_CODE

RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
LONGEST_VERSION = 100  # characters
LONGEST_NAME = 1000  # characters of a name; servers allow 255 bytes
OWN_DATABASES = ("admin", "config", "local")
READS = ("find", "aggregate")
RIGHTS_LAST = 5.0
"""For this many seconds after refused reads, the privileges of this user are taken for what they were then."""
MANY = 3
"""After so many collections that may not be read, others are not tried; a document and its archive are fewer."""

SYSTEM = "system"
"""The kind of collections in a dump that its server kept for itself."""

SCRATCH = "palimpsest_check_"
"""The prefix of databases in which :meth:`Server.in_scratch` may do anything."""

STALE = 90
"""Seconds by which a secondary may lag behind for long reads: the smallest value that drivers accept."""

FIRST_BATCH = 2  # two documents of 16 MB fit into a message of 48 MB
BATCH_BYTES = 4 << 20
BATCH_MOST = 2000
GENTLE_MOST = 200

_NEXT_LOOK = 0.001
"""Seconds; the driver still waits for the next answer of some host, at most half a second."""

FAREWELL = 1.0
"""Seconds for the driver to tell the server that its sessions and cursors have ended."""

MOST_LISTED, MOST_SECONDS = 200_000, 30.0
"""Collections of a database or indexes of a collection, and seconds in which they are listed."""

MOST_EMPTY = 100
"""Answers without a row, one after the other, of a cursor that says that there are more."""

MOST_SHORT, SHORT_BYTES = 1_000, 4096
"""Answers, one after the other, with less than a tenth of the rows that were asked for, and no more bytes than that:
servers that end an answer early do so because their rows are large.
"""

LONGEST_MS = 600_000
"""The default time limit for a query: none continues after its reader has gone."""

NAMESPACE_NOT_FOUND = 26
UNKNOWN_STAGE = (40324, 304, 238)  # of MongoDB, Amazon DocumentDB and FerretDB
STAGE = re.compile(r"""stage( name:| not supported:)? ['"](\$\w+)['"]""")
"""How these say which stage of a pipeline they do not know."""
COMMAND_NOT_FOUND = 59
NOT_UNDERSTOOD = (2, 9, 14, 115, 238)  # BadValue, FailedToParse, TypeMismatch, and what others say of an unknown type
NO_SHARD_KEY = (61, 72)  # ShardKeyNotFound, and InvalidOptions of older versions

LOST_BEFORE = Reply(
    "unknown",
    retry=True,
    sentence="The connection was lost while the write was on its way.",
    error=Unreachable("The connection was lost while the write was on its way."),
)
"""The driver tried twice, and only the second attempt's outcome is known."""


def _parts(command: Terms) -> dict[str, Any]:
    """The parts of a command for the driver, documents as raw BSON."""
    whole: RawBSONDocument = _raw(command)
    return dict(whole.items())


def _raw(terms: Terms) -> RawBSONDocument:
    return RawAnswer(bson_of(terms))


def _operators(body: Terms) -> dict[str, RawBSONDocument]:
    """An update for the driver, which checks the operators' names but not their contents."""
    return {operator: _raw(fields) for operator, fields in body.items()}


_PLAIN = (str, int)
_WAYS = frozenset((int,))


def _sent(part: Any) -> Any:
    """A part of a command for the driver; sort orders and projections are passed as they are."""
    if isinstance(part, _PLAIN) or (type(part) is dict and _WAYS.issuperset(map(type, part.values()))):
        return part
    return [_raw(stage) for stage in part] if isinstance(part, list) else _raw(part)


def host_name(uri: str) -> str:
    """The first host of an address without its port, as its certificate names it."""
    address = Address.parse(uri)
    first = "" if address is None else address.hosts.partition(",")[0]
    return re.sub(r":\d*$", "", first).strip("[]")


def _end(tunnel: Tunnel | None) -> None:
    if tunnel is not None:
        tunnel.close()


class Server:
    """A connection through PyMongo; thread-safe. Created by :meth:`connect`."""

    def __init__(
        self,
        client: pymongo.MongoClient[RawBSONDocument],
        uri: str,
        read_only: bool,
        name: str,
        attempts: driver.Attempts,
        patience: float,
    ) -> None:
        self._client = client
        self._attempts = attempts
        self.patience = patience
        self._uri = uri
        self._name = name
        self._facts: ServerFacts | None = None
        self.unseen: dict[str, str] = {}
        """What this user could not see when collections were last listed: a sentence for each database, or for ""
        about the databases themselves.
        """
        self._largest: dict[tuple[str, bool], int] = {}
        self._databases: dict[str, Database[RawBSONDocument]] = {}
        self._collections: dict[str, Collection[RawBSONDocument]] = {}
        self._aside: Any = None  # the read preference of long reads
        self._wrote = [-math.inf]  # when this connection or a copy last sent a write
        self._tunnel: Tunnel | None = None
        self._shard_keys = ShardKeys(self)
        self._most = BATCH_MOST
        self._decimals = True  # whether its filters may name decimals
        self._reached: TopologyDescription | None = None  # the topology when a server last accepted writes
        self._rights: tuple[float, Privileges] = (-math.inf, ())  # and when they were asked for, after refused reads
        self._refused: set[str] = set()  # the collections of reads that were refused until then
        self._unknown_stages: dict[str, str] = {}  # stages of pipelines that this server does not know, with its words
        self._brings = True  # whether the server has the command that returns the written document
        self.read_only = read_only

    @classmethod
    def connect(
        cls, uri: str, read_only: bool = False, connect_ms: int = 8000, socket_ms: int = 30000, name: str = ""
    ) -> Server:
        """Connect and ask for the server's facts; raises ``Unreachable`` or ``Refused`` in one sentence without a
        password.

        Time-outs in the URI override the arguments, except those that would wait for ever.
        """
        cls.check_address(uri)
        attempts = driver.Attempts()
        address = Address.parse(uri)
        tunnel = Tunnel.open(address) if address is not None and address.option("ssh") else None
        try:
            near, certified = (uri, "") if tunnel is None else (str(tunnel.near), host_name(uri))
            client, patience = driver.client(near, connect_ms, socket_ms, attempts, certified)
        except Refused:
            _end(tunnel)
            raise
        except Exception as error:
            _end(tunnel)
            raise cannot_connect(error, uri) from None
        server = cls(client, uri, read_only, name, attempts, patience)
        server._tunnel = tunnel
        try:
            server.facts(refresh=True)
        except Refused as refusal:
            said = "" if tunnel is None else tunnel.said
            server.close()
            raise type(refusal)(f"{refusal} ssh says: {said}.") if said else refusal from None
        except BaseException:
            server.close()
            raise
        return server

    @staticmethod
    def check_address(uri: str) -> None:
        """Raise ``Unreachable``, one sentence, if an address cannot be used as written; uses no network."""
        address = Address.parse(uri)
        if address is None or address.scheme not in ("mongodb://", "mongodb+srv://"):
            raise cannot_connect(ValueError("no scheme"), uri)
        if trouble := address.trouble() or tunnel_trouble(address):
            raise Unreachable(trouble)
        driver.check_files(address)  # the driver opens them to see whether it may, and would wait for a pipe
        try:
            driver.read_options(address.without_ssh())
        except Exception as error:
            raise cannot_connect(error, uri) from None

    def gentle(self) -> Server:
        """A copy for long reads that spares production: small batches, from a secondary if there is one."""
        other = self._from(ReadPreference.SECONDARY_PREFERRED)
        other._most = GENTLE_MOST
        return other

    def aside(self) -> Server:
        """A copy for long reads: from secondaries, if the address asks for them."""
        wanted = self._client.read_preference
        return self if wanted.mode == ReadPreference.PRIMARY.mode else self._from(wanted)

    def _from(self, wanted: Any) -> Server:
        """A copy that reads from other members that lag behind by at most ``STALE`` seconds."""
        # A standalone server answers any read preference itself, and the driver refuses a limit for its lag.
        if wanted.max_staleness < 0 and self._is_set():
            heartbeat = self._client.options.heartbeat_frequency  # seconds; the driver accepts no lower limit
            wanted = make_read_preference(wanted.mode, wanted.tag_sets, max(STALE, math.ceil(heartbeat) + 10))
        # A shallow copy: both share the driver's client with its connections, and `_wrote`, so that each knows of the
        # other's writes.
        other = copy.copy(self)
        other._aside = wanted
        return other

    def _is_set(self) -> bool:
        return self.facts().topology != "standalone"

    @property
    def reads_aside(self) -> bool:
        """Whether reads may come from a member that lags behind; False for a while after this connection wrote."""
        # A secondary that is allowed to lag may not have our own write yet, and the window would show the state before
        # it.
        rested = time.monotonic() - self._wrote[0] > STALE
        return self._aside is not None and self._is_set() and rested

    def close(self) -> None:
        """Close the connection; a second call does nothing. A silent server is notified only briefly."""
        # Without a limit, closing waits for a silent server as long as a query would.
        with pymongo.timeout(min(FAREWELL, self.patience)):
            self._client.close()
        _end(self._tunnel)

    def dial(self) -> socket.socket:
        """A new connection to the member that takes writes, for messages of others: encrypted as the address says.

        Nobody is logged in on it. Raises ``OSError`` if the server does not answer.
        """
        chosen = self._client.options.pool_options
        try:
            host, port = self._client.address or next(iter(self._client.nodes))
        except InvalidOperation:  # several routers of a cluster, which are all alike
            host, port = next(iter(self._client.nodes))
        except PyMongoError as error:
            raise ConnectionRefusedError(str(cannot_connect(error, self._uri))) from None
        if port is None:
            found = socket.socket(socket.AF_UNIX)
            try:
                found.connect(host)
            except BaseException:
                found.close()
                raise
            return found
        found = socket.create_connection((host, port), chosen.connect_timeout)
        found.settimeout(None)
        if chosen._ssl_context is None:
            return found
        secured: socket.socket = chosen._ssl_context.wrap_socket(found, server_hostname=host)
        return secured

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def facts(self, refresh: bool = False) -> ServerFacts:
        """The server's facts about itself, asked once; ``refresh`` asks again.

        Topology and wire version are known to the driver's own monitor; ``hello`` may also tell the program.
        """
        if self._facts is not None and not refresh:
            return self._facts
        admin = self._client.get_database("admin", codec_options=CodecOptions())
        started = time.perf_counter()
        try:
            self._reach()
            greeting: Mapping[str, Any] = _greeted(admin)
        except PyMongoError as error:
            raise cannot_connect(error, self._uri) from None
        except Exception as error:  # from a malformed answer
            raise cannot_connect(ProtocolError(type(error).__name__), self._uri) from None
        milliseconds = round((time.perf_counter() - started) * 1000)
        build = _built(admin)
        seen = self._client.topology_description
        nodes = [d for d in seen.server_descriptions().values() if d.is_server_type_known]
        kinds = {d.server_type_name for d in nodes}
        topology = next((d.replica_set_name for d in nodes if d.replica_set_name), None) or (
            "sharded" if "Mongos" in kinds else "standalone"
        )
        engine = engine_of(build, greeting, (str(d.address[0]) for d in nodes))
        self._facts = ServerFacts(
            name=self._name or ", ".join(sorted({f"{d.address[0]}:{d.address[1]}" for d in nodes})) or "server",
            version=_version(build.get("version")),
            topology=topology,
            milliseconds=milliseconds,
            wire=max((d.max_wire_version for d in nodes), default=0),
            sessions=any(d.logical_session_timeout_minutes is not None for d in nodes),
            engine=engine.name,
            engine_version=engine.version,
            lacks=engine.lacks,
            called="" if topology == "sharded" and engine.is_called_a_router else topology,
        )
        return self._facts

    def logged_in(self) -> Mapping[str, Any]:
        """The logged-in users with their privileges, as the server reports them; empty if it does not."""
        admin = self._client.get_database("admin", codec_options=CodecOptions())
        try:
            told = dict(admin.command("connectionStatus", showPrivileges=True).get("authInfo") or {})
            return {name: [each for each in rows if _is_told(name, each)] for name, rows in told.items()}
        except Exception:  # refused or malformed: nothing depends on it
            return {}

    def may_write(self) -> bool:
        """Whether this user may write any document; True if nobody is logged in, or if the server does not tell."""
        return not self._names_a_user or may_write(self._privileges())

    def dump(self, do: str, **given: Any) -> Mapping[str, Any]:
        """A local server's answer about the large files of its dump, as ``model.localserver.dump_reading`` gives it."""
        try:
            return dict(
                self._client.get_database("admin", codec_options=CodecOptions()).command(
                    SON({"palimpsestDump": 1, "do": do, **given})
                )
            )
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, "palimpsestDump", "the dump") from None

    def loaded(self) -> str:
        """The name of what a local server was loaded with; "" if there is none, or somebody has written since."""
        try:
            return str(self._client.get_database("admin").command("palimpsestLoaded")["name"])
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, "palimpsestLoaded", "the sample") from None

    # --- reading

    def databases(self) -> list[str]:
        """The databases this user may see, without ``admin``, ``config`` and ``local`` save in a dump.

        If they may not be listed: those named by the user's privileges and the address, with a note in
        :attr:`unseen`.
        """
        try:
            rows = list(self._client.list_databases(nameOnly=True))
            names: list[str] = [name for row in rows if self._is_database(name := row.get("name"))]
            if any(row.get("palimpsestDump") for row in rows):
                return sorted(names)
            self.unseen.pop("", None)
            if left_out := len(rows) - len(names):
                self.unseen[""] = f"Left out are names that no database can have: the server lists {left_out:,}."
            if not names and self._names_a_user:
                self.unseen[""] = "No database can be seen: there is none, or this user has no privilege on any."
        except Exception as error:
            if not is_denied(error):
                raise self._trouble(error, "listDatabases", "the cluster") from None
            given = self._client.get_default_database(default="").name if _names_a_database(self._uri) else ""
            # The database in the address also counts: a user may read it without any privilege that lists databases.
            names = list({*databases_in(self._privileges()), given} - {""})
            if not names:
                refusal = self._trouble(error, "listDatabases", "the cluster")
                raise type(refusal)(f"{refusal} Or name a database in the address.") from None
            lacked = missing("listDatabases", "the cluster")
            self.unseen[""] = f"There may be other databases: this user lacks the privilege {lacked}."
        return sorted(name for name in names if name not in OWN_DATABASES)

    def _is_database(self, name: object) -> TypeGuard[str]:
        """Whether a database can have a name."""
        try:
            return isinstance(name, str) and len(name) <= LONGEST_NAME and self._client.get_database(name) is not None
        except PyMongoError:
            return False

    def collections(self, db: str) -> list[tuple[str, str, dict[str, Any]]]:
        """Name, type ("collection", "view", …) and options of each collection of a database, sorted by name.

        If they may not be listed: those on which the user has a privilege, with a note in :attr:`unseen`.
        """
        return [each[:3] for each in self.listing(db)]

    def listing(self, db: str) -> list[tuple[str, str, dict[str, Any], str]]:
        """What :meth:`collections` returns, each with its UUID in hex; "" if the server reports none."""
        try:
            found = [decode(raw) for raw in self._rows(f"{db}.$cmd", {"listCollections": 1}, few=True)]
            self.unseen.pop(db, None)
        except NotAllowed as refusal:
            found = self._own_collections(db)
            if not found:
                raise refusal from None
            lacked = missing("listCollections", db)
            self.unseen[db] = f"There may be other collections in {db}: this user lacks the privilege {lacked}."
        named = [row for row in found if _is_name(row.get("name"))]
        if left_out := len(found) - len(named):
            self.unseen[db] = f"Left out of {db} are names that no collection can have: the server lists {left_out:,}."
        try:
            shown = [row for row in named if not row["name"].startswith("system.") or row.get("type") == SYSTEM]
            return sorted((_described(row) for row in shown), key=lambda each: each[:2])
        except (TypeError, ValueError) as error:
            raise self._trouble(error, "listCollections", db) from None

    def collection_ids(self, db: str) -> dict[str, str]:
        """The ids that the server gave a database's collections when they were created, by name.

        {} if it reports none (servers other than MongoDB's), or if this user may not list them.
        """
        try:
            rows = [decode(raw) for raw in self._rows(f"{db}.$cmd", {"listCollections": 1}, few=True)]
        except NotAllowed:
            return {}
        return {str(row.get("name")): uuid for row in rows if (uuid := _uuid_in(row))}

    def _own_collections(self, db: str) -> list[dict[str, Any]]:
        """The collections on which the user has a privilege, from the server's list or from the privileges."""
        command = {"listCollections": 1, "nameOnly": True, "authorizedCollections": True}
        with suppress(Refused):
            # `authorizedCollections` needs no privilege of its own, but not every server knows it.
            return [decode(raw) for raw in self._rows(f"{db}.$cmd", command, few=True)]
        return [{"name": name} for name in collections_in(db, self._privileges())]

    @property
    def _names_a_user(self) -> bool:
        address = Address.parse(self._uri)
        return address is not None and bool(address.user or address.mechanism)

    def _privileges(self) -> Privileges:
        told = self.logged_in().get("authenticatedUserPrivileges") or ()
        return [each for each in told if isinstance(each, Mapping)]

    def indexes(self, ns: str) -> list[dict[str, Any]]:
        """The index descriptions; ``key`` is an ordered dict; [] if there is no such collection."""
        try:
            found = [decode(raw) for raw in self._rows(ns, {"listIndexes": ns.partition(".")[2]}, few=True)]
        except _NoSuchNamespace:
            return []
        if not all(map(_is_index, found)):
            raise self._trouble(ProtocolError("index"), "listIndexes", ns)
        return found

    def find(
        self,
        ns: str,
        filter: Terms | None = None,
        sort: Terms | None = None,
        projection: Terms | None = None,
        skip: int = 0,
        limit: int = 0,
        max_ms: int | None = None,
        batch: int = 0,
    ) -> Iterator[bytes]:
        """The matching documents as stored, as :meth:`.Port.find` says.

        Raises ``Unreachable``, ``NotAllowed`` and ``Refused``.
        """
        command: dict[str, Any] = {"find": ns.partition(".")[2]}
        command["filter"] = filter or {}
        if sort:
            command["sort"] = sort
        if projection:
            command["projection"] = projection
        if skip:
            command["skip"] = skip
        if limit:
            command["limit"] = limit
        command["maxTimeMS"] = LONGEST_MS if max_ms is None else max_ms
        at_once = batch if batch >= limit > 0 else 0
        return self._rows(
            ns, command, few=False, projected=bool(projection), most=limit or batch, at_once=min(at_once, limit)
        )

    def aggregate(
        self, ns: str, pipeline: Sequence[Terms], max_ms: int | None = None, batch: int = 0
    ) -> Iterator[bytes]:
        """The results of a pipeline, in batches by size; raises the errors of :meth:`find`."""
        # `allowDiskUse`, because a stage that sorts or groups more than 100 MB would fail otherwise.
        command: dict[str, Any] = {"aggregate": ns.partition(".")[2], "pipeline": list(pipeline), "allowDiskUse": True}
        command["maxTimeMS"] = LONGEST_MS if max_ms is None else max_ms
        return self._rows(ns, command, few=False, projected=True, at_once=batch)

    def count(self, ns: str, filter: Terms | None = None, max_ms: int | None = 2000) -> int | None:
        """The number of matching documents; None if counting takes longer than ``max_ms``."""
        self._check_kinds(filter)
        # The old command on purpose: without a filter it takes the number from the metadata, and counts nothing.
        command: dict[str, Any] = {"count": ns.partition(".")[2], "query": _raw(filter or {})}
        if max_ms is not None:
            command["maxTimeMS"] = max_ms
        try:
            number = int(self._database(ns).command(SON(command))["n"])
            if not 0 <= number < 2**63:
                raise ProtocolError("count")
            return number
        except ExecutionTimeout:
            return None
        except OperationFailure as error:
            if error.code == NAMESPACE_NOT_FOUND:
                return 0
            raise self._trouble(error, "count", ns) from None
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, "count", ns) from None

    def explain(self, ns: str, command: Terms, max_ms: int) -> dict[str, Any]:
        """The server's explanation of a ``find`` or ``aggregate``, which it executes for that.

        Raises ``Refused`` if the server has no explain or needs longer than ``max_ms``.
        """
        self._check_kinds(command)
        body: dict[str, Any] = {}
        body |= {part: _raw(value) if isinstance(value, Mapping) else value for part, value in command.items()}
        if "pipeline" in body:
            body |= {"pipeline": [_raw(stage) for stage in body["pipeline"]], "cursor": {}}
        whole = SON({"explain": SON(body), "verbosity": "executionStats", "maxTimeMS": max_ms})
        plain: CodecOptions[dict[str, Any]] = CodecOptions()
        try:
            return dict(self._database(ns).command(whole, codec_options=plain))
        except OperationFailure as error:
            if error.code == COMMAND_NOT_FOUND:
                raise Refused("This server does not explain queries.") from None
            raise self._trouble(error, "find", ns, index_for(command)) from None
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, "find", ns, index_for(command)) from None

    def changes(
        self,
        ns: str,
        after: bytes | None = None,
        wait_ms: int = 1000,
        images: bool = False,
        take: change_stream.Take = "many",
        stages: Sequence[Terms] | None = None,
    ) -> change_stream.Changes:
        """The changes of a collection, a database or (for "") everything, from now on or after a resume token.

        An update includes the document as it is when the event is read; with ``images``, if the collection keeps
        them, as the update left it. With ``stages``, through which each event passes, none is looked up. Raises
        ``NoChanges``, ``HistoryLost`` and ``TooLarge`` of ``model.server.change_stream``, or the errors of
        :meth:`find`.
        """
        place = None if after is None else RawBSONDocument(after, RAW)
        bare = take == "bare" or stages is not None
        # A looked-up document is the one of now, not of the event; only images of the collection are of the event.
        looked = "default" if bare else "whenAvailable" if images else "updateLookup"
        passed = [{"$project": {"fullDocument": 0}}] if take == "bare" else [*map(_sent, stages or ())]

        def trouble(error: Exception) -> Refused:
            return self._trouble(error, "changes", ns)

        try:
            watched: Any = self._collection(ns) if "." in ns else self._database(ns) if ns else self._client
            stream = watched.watch(
                passed,
                full_document=looked,
                start_after=place,
                max_await_time_ms=wait_ms,
                batch_size=None if take == "many" else 1,
            )
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise change_stream.said(error, trouble, self.facts().topology == "standalone") from None
        return change_stream.Changes(stream, trouble)

    def _rows(
        self, ns: str, command: dict[str, Any], few: bool, projected: bool = False, most: int = 0, at_once: int = 0
    ) -> Iterator[bytes]:
        self._check_kinds(command)
        stages = {name for stage in command.get("pipeline", ()) for name in stage}
        if unknown := stages & self._unknown_stages.keys():
            raise Refused(self._unknown_stages[unknown.pop()])
        self._refuse_as_before(ns, command)
        try:
            yield from self._asked_again(lambda: self._batches(ns, command, few, projected, most, at_once))
        except OperationFailure as error:
            if error.code == NAMESPACE_NOT_FOUND:
                raise _NoSuchNamespace(f"There is no collection {ns}.") from None
            refused = self._trouble(error, asked_for(command), ns.removesuffix(".$cmd"), index_for(command))
            if error.code in UNKNOWN_STAGE and (told := STAGE.search(str(error))) is not None:
                self._unknown_stages[told[2]] = str(refused)
            if isinstance(refused, NotAllowed):
                self._learn_rights(ns, command)
            raise refused from None
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, asked_for(command), ns.removesuffix(".$cmd"), index_for(command)) from None

    def _refuse_as_before(self, ns: str, command: Mapping[str, Any]) -> None:
        """Raise ``NotAllowed`` for a read that this user lacked the privilege for a moment ago, without asking."""
        at, known = self._rights
        if not known or asked_for(command) not in READS:
            return
        if time.monotonic() - at > RIGHTS_LAST:
            self._rights = (-math.inf, ())
            return
        for each in read_by(ns, command):
            if not may_read(each, known):
                raise NotAllowed(lacks(asked_for(command), each))

    def _learn_rights(self, ns: str, command: Mapping[str, Any]) -> None:
        """After refused reads of several collections, ask which others are refused: there may be hundreds.

        What the server tells has to explain the refusal, or it says nothing of others.
        """
        if asked_for(command) not in READS or time.monotonic() - self._rights[0] <= RIGHTS_LAST:
            return
        self._refused |= {*read_by(ns, command)}
        if len(self._refused) >= MANY:
            told = self._privileges()
            explained = any(not may_read(each, told) for each in read_by(ns, command))
            self._rights, self._refused = (time.monotonic(), told if explained else ()), set()

    def _asked_again(self, ask: Callable[[], Iterator[bytes]]) -> Iterator[bytes]:
        """The rows of a query, which is sent once more if its connection was lost before the first row.

        The driver does so only on servers with sessions; others close connections as well, idle ones above all.
        """
        rows = ask()
        try:
            first = next(rows, None)
        except AutoReconnect as error:
            alone = self._facts is not None and not self._facts.sessions and self._client.options.retry_reads
            if not alone or isinstance(error, NetworkTimeout | ServerSelectionTimeoutError):
                raise
            yield from ask()
            return
        if first is not None:
            yield first
            yield from rows

    def _batches(
        self, ns: str, command: dict[str, Any], few: bool, projected: bool, most: int, at_once: int
    ) -> Iterator[bytes]:
        """The rows of a query as the driver gives them, in batches that grow with the size of what was seen."""
        key = (ns, projected)
        largest = self._largest.get(key, 0)
        first = 200 if few else min(self._most, _batch(largest, 20 if projected else FIRST_BATCH))
        if most:
            first = min(first, most)
        first = at_once or first
        body: dict[str, Any] = {part: _sent(value) for part, value in command.items()}
        body |= {"batchSize": first} if "find" in command else {"cursor": {"batchSize": first}}
        reads = self._reads_from()
        database = self._database(ns)
        limit = command.get("limit")
        if limit == 1 or (not at_once and first == limit):  # all fits into one answer, so that no cursor is needed
            # A server that is told so keeps no cursor, not even for the moment until it is killed.
            if limit == 1:
                body["singleBatch"] = True
            found, left = first_batch(database.command(body, read_preference=reads, codec_options=ROWS))
            if not left:
                self._largest[key] = max(largest, *map(len, found)) if found else largest
                yield from found[: limit or None]
                return
            self._forget(database, ns, left, reads)  # documents are larger than all before
        cursor: CommandCursor[RawBSONDocument] = database.cursor_command(
            body, read_preference=reads, codec_options=ROWS
        )
        bounds = self._bounds(command, few)
        with _closing(cursor):
            size = first
            # Some servers refuse a getMore without a size, and answer a find without one in a single reply.
            cursor.batch_size(size)
            while rows := bounds.next(cursor, size):
                found = [bytes(row.raw) for row in rows]
                largest = max(largest, *map(len, found))
                # Remembered for the next query on the collection, whose first batch has to be chosen before
                # anything is seen.
                if largest > self._largest.get(key, 0):
                    self._largest[key] = largest
                # Grow with what was seen: one small document does not prove that the next ones are small.
                wanted = min(_batch(largest, FIRST_BATCH), size * 8 ** min(len(found), 4), self._most)
                if wanted != size:
                    cursor.batch_size(wanted)
                    size = wanted
                yield from found

    def _bounds(self, command: Mapping[str, Any], few: bool) -> _Bounds:
        """What a query may bring; one without a limit of its own may read all there is."""
        if few:
            return _Bounds(MOST_LISTED, MOST_SECONDS, True, False)
        most, lasts = command.get("limit") or math.inf, command["maxTimeMS"]
        seconds = math.inf if lasts == LONGEST_MS else lasts / 1000 + self.patience
        return _Bounds(most, seconds, False, "find" in command and command.get("projection", {}).get("_id", 1) != 0)

    def _reads_from(self) -> Any:
        """The member to read from: the one that accepts writes, after finding it, or another one for long reads."""
        if self._aside is not None and (self.reads_aside or not self._is_set()):
            return self._aside
        self._reach()
        return ReadPreference.PRIMARY

    def _forget(self, database: Database[RawBSONDocument], ns: str, cursor: int, reads: Any) -> None:
        """Tell the server that a cursor is no longer needed; without that, the cursor times out by itself."""
        with suppress(PyMongoError):
            database.command("killCursors", ns.partition(".")[2], cursors=[cursor], read_preference=reads)

    def _database(self, ns: str) -> Database[RawBSONDocument]:
        name = ns.partition(".")[0]
        known = self._databases.get(name)
        if known is None:
            try:
                known = self._databases[name] = self._client.get_database(name, codec_options=ROWS)
            except PyMongoError as error:
                raise Refused(f"{name!r} is not a name for a database: {error}.") from None
        return known

    def _reach(self) -> None:
        """Find the server that accepts writes; give up a missing one after the connection time-out.

        The driver would search until that time is over even if every host refuses for good, and within a time limit
        that covers several operations until that limit is over.
        """
        seen = self._client.topology_description
        if seen is self._reached:  # the driver replaces it after every change
            return
        until = time.monotonic() + self._client.options.server_selection_timeout
        while not (seen := self._client.topology_description).has_writable_server():
            try:
                with pymongo.timeout(_NEXT_LOOK):
                    _ = self._client.is_primary
            except (ServerSelectionTimeoutError, TypeError) as error:  # it cannot sort sockets and ports together
                # Wrong credentials or a refused certificate will not mend themselves, so nothing is gained by the rest
                # of the time.
                hosts = self._client.topology_description.server_descriptions().values()
                if hosts and all(refuses_for_good(host.error) for host in hosts):
                    raise next((h.error for h in hosts if isinstance(h.error, OperationFailure)), error) from None
                if time.monotonic() > until:
                    raise
            else:
                return
        self._reached = seen

    def _trouble(self, error: Exception, command: str, place: str, index: str = "") -> Refused:
        return cannot_read(error, self._uri, command, place, index)

    def _check_kinds(self, part: Any) -> None:
        """Raise ``Refused`` for a value that this server cannot take: it would close the connection."""
        lacks = self._facts.lacks if self._facts is not None else ()
        if lacks and (kind := next((kind for kind in kinds_in(part) if kind in lacks), None)) is not None:
            raise Refused(f"This server takes no values of the type {BY_CODE[kind].name}.")

    # --- measuring

    @property
    def resends(self) -> bool:
        """Whether the driver repeats a write by itself after a lost answer, an option of the address."""
        return bool(self._client.options.retry_writes)

    def session(self) -> Any:
        """A driver session for related commands of :meth:`in_scratch`; None without sessions."""
        if not self.facts().sessions:
            return None
        try:
            return self._client.start_session()
        except PyMongoError as error:
            raise self._trouble(error, "startSession", "the cluster") from None

    def in_scratch(self, db: str, command: Terms, session: Any = None) -> Mapping[str, Any]:
        """Run any command, in a scratch database only; raises ``Refused`` with the server's own words."""
        # The only door through which any command can be sent, so it does not lead to anybody's data.
        if not db.startswith(SCRATCH) or self.read_only:
            raise NotAllowed(READ_ONLY)
        self._check_kinds(command)
        try:
            plain: CodecOptions[dict[str, Any]] = CodecOptions()
            return self._client.get_database(db).command(SON(_parts(command)), session=session, codec_options=plain)
        except Exception as error:  # a malformed answer makes the driver raise anything
            target = command[next(iter(command))]
            place = f"{db}.{target}" if isinstance(target, str) else db
            raise self._trouble(error, asked_for(command), place) from None

    # --- writing

    def create_index(self, ns: str, keys: Terms, unique: bool = False) -> None:
        """Create an index; raises ``Refused`` if duplicates prevent it, ``InDoubt`` if the outcome is unknown."""
        if self.read_only:
            raise NotAllowed(READ_ONLY)
        try:
            self._collection(ns).create_index(list(keys.items()), unique=unique)
        except Exception as error:
            said = meaning(error)
            if said.duplicate or (unique and _tells_of_duplicates(error)):
                raise Refused(
                    f"{ns} holds duplicates, so the unique index cannot be created; settle them first."
                ) from None
            if said.applied == "no":
                raise self._trouble(error, "createIndexes", ns) from None
            raise InDoubt(without_password(said.sentence, self._uri)) from None

    def send(self, write: Write) -> Reply:
        """Send a write once; never raises, because the reply holds the outcome.

        On a replica set the driver may repeat it once, and the server recognises the repetition.
        """
        if self.read_only:
            return Reply("no", sentence=READ_ONLY, error=NotAllowed(READ_ONLY))
        # Before the write is sent, not after: a read may start while it is on its way.
        self._wrote[0] = time.monotonic()
        with driver.Sent(self._attempts) as sent, self._in_time():
            try:
                self._check_kinds((write.filter, write.body))
                self._reach()
                reply = self._send_routed(write, sent)
            except Exception as error:  # whatever the driver raises during a write leaves the outcome in doubt
                return self._failed(error, sent, write)
        # The driver has repeated it, and this answer is about the second try alone: the first may have been applied.
        if reply.applied == "no" and sent.attempts > 1:
            return LOST_BEFORE
        return reply

    # --- on a sharded cluster

    def as_sent(self, write: Write) -> Write:
        """A write as it is sent, for a preview: on a sharded cluster its filter contains the shard key."""
        return self._routed(write) or write

    def _send_routed(self, write: Write, sent: driver.Sent) -> Reply:
        """Send a write with its shard key, and repeat it if the collection was sharded since the key was read.

        Also repeats it without the command that returns the document, or without decimals, if the server does not
        know them.
        """
        routed = self._routed(write)
        try:
            return Reply("no") if routed is None else self._send(routed)
        except OperationFailure as error:  # refused before anything was done
            if error.code == COMMAND_NOT_FOUND and write.returns and self._brings:
                self._brings = False
                sent.attempts = 0
                return self._send_routed(write, sent)
            if error.code in NOT_UNDERSTOOD and self._decimals and self._names_unknown(write):
                self._decimals = False
                sent.attempts = 0
                return self._send_routed(write, sent)
            if error.code not in NO_SHARD_KEY or self.facts().topology != "sharded":
                raise
            # Somebody has sharded the collection, or refined its key, since it was read.
            self._shard_keys.forget(write.ns)
            again = self._routed(write)
            if again == routed:
                raise
            sent.attempts = 0
            return Reply("no") if again is None else self._send(again)

    def _names_unknown(self, write: Write) -> bool:
        return names_decimals(write.filter) and not takes_types(self, write.ns, [DECIMAL128])

    def _routed(self, write: Write) -> Write | None:
        sharded = self.facts().topology == "sharded"
        if write.returns and (sharded or not self._brings):
            write = replace(write, returns=False)  # older clusters would need the whole shard key for that
        if not self._decimals:
            write = replace(write, filter=without_decimals(write.filter))
        return self._shard_keys.routed(write) if sharded else write

    def look(self, ns: str, filter: Terms, projection: Terms | None = None) -> Iterator[bytes]:
        """The matching documents from the primaries, wherever else this connection reads."""
        # A secondary may lack a write that is looked for, and would answer that it never landed.
        there = self if self._aside is None else copy.copy(self)
        there._aside = None
        return there.find(ns, filter, projection=projection)

    def is_sharded(self, ns: str) -> bool | None:
        """Whether a collection is sharded, by its statistics; None if they may not be read."""
        db, _, name = ns.partition(".")
        try:
            plain: CodecOptions[dict[str, Any]] = CodecOptions()
            return bool(self._client.get_database(db).command("collStats", name, codec_options=plain).get("sharded"))
        except OperationFailure:
            return None
        except Exception as error:  # a malformed answer makes the driver raise anything
            raise self._trouble(error, "collStats", ns) from None

    def _in_time(self) -> AbstractContextManager[None]:
        """A time limit: if the driver repeats writes by itself, both attempts share the time of one."""
        together = self._facts is not None and self._facts.sessions
        return pymongo.timeout(self.patience) if together else nullcontext()

    def _failed(self, error: Exception, sent: driver.Sent, write: Write) -> Reply:
        if isinstance(error, Refused):  # caused by a value that cannot be sent
            return Reply("no", sentence=str(error), error=error)
        said = meaning(error)
        if said.applied == "yes" and sent.matched == 0:
            return Reply("no")  # nothing matched, only that is unconfirmed
        lasting = ""
        # Only the reply to findAndModify has no count, so whether it matched anything must still be looked for.
        if said.applied == "yes" and sent.matched is None:
            lasting, said = said.sentence, replace(said, applied="unknown", retry=True)
        elif sent.attempts == 0 and said.applied == "unknown":
            said = replace(said, applied="no", sentence="There was no connection to send the write over; try again.")
        elif said.applied == "no" and (sent.attempts > 1 or sent.lost) and not isinstance(error, BSONError):
            return LOST_BEFORE  # this error is not about the first attempt, or came before the second
        if said.duplicate is not None and not said.duplicate.fields:
            key = self._identified(said.duplicate, write)
            said = replace(said, sentence=key.sentence, duplicate=key)
        denied = cannot_write(error, write.kind, write.ns)
        sentence = without_password(denied or said.sentence, self._uri)
        trouble: Refused = Refused(sentence)
        if denied:
            trouble = NotAllowed(sentence)
        elif said.retry or isinstance(error, ConnectionFailure):
            trouble = Unreachable(sentence)
        sure = 1 if said.applied == "yes" else 0
        return Reply(said.applied, sure, sure, False, said.duplicate, said.retry, sentence, trouble, lasting=lasting)

    def _identified(self, key: DuplicateKey, write: Write) -> DuplicateKey:
        """A duplicate key with its fields, if the server did not report them: by the index's name, else by asking.

        An insert asks whether its ``_id`` or its deciding fields are there; if neither is, the fields stay unknown.
        """
        if key.index:
            with suppress(Refused):
                key = key.among(self.indexes(write.ns))
        deciding = (("_id",), write.unique or ()) if write.kind == "insert" and not key.fields else ()
        for fields in filter(None, deciding):
            with suppress(Refused):
                there = {name: {"$eq": write.value(name)} for name in fields}
                if next(self.look(write.ns, there, {"_id": 1}), None) is not None:
                    key = replace(key, fields=fields)
                    break
        with suppress(Refused):
            values = tuple(map(write.value, key.fields))
            if key.fields and (None not in values or write.kind == "insert"):
                return replace(key, values=tuple(map(shown, values)))
        return key

    def _send(self, write: Write) -> Reply:
        collection = self._collection(write.ns)
        if write.kind == "insert":
            assert isinstance(write.body, bytes)
            collection.insert_one(RawBSONDocument(write.body, RAW))
            return Reply("yes", 1, 1)
        where = _raw(write.filter)
        if write.kind == "delete":
            gone = collection.delete_one(where).deleted_count
            return Reply("yes" if gone else "no", gone, gone)
        if write.kind == "replace":
            assert isinstance(write.body, bytes)
            how: Any = RawBSONDocument(write.body, RAW)
        else:
            assert write.body is not None
            assert not isinstance(write.body, bytes)
            how = _operators(write.body) if isinstance(write.body, Mapping) else [_raw(stage) for stage in write.body]
        if write.returns:
            change = collection.find_one_and_replace if write.kind == "replace" else collection.find_one_and_update
            found = change(where, how, return_document=ReturnDocument.AFTER)
            return Reply("no") if found is None else Reply("yes", 1, 1, stored=bytes(found.raw))
        if write.kind == "replace":
            result = collection.replace_one(where, how)
        else:
            result = collection.update_one(where, how, upsert=write.kind == "upsert")
        upserted = result.upserted_id is not None
        done = bool(result.matched_count) or upserted
        return Reply("yes" if done else "no", result.matched_count, result.modified_count, upserted)

    def _collection(self, ns: str) -> Collection[RawBSONDocument]:
        known = self._collections.get(ns)
        if known is None:
            known = self._database(ns).get_collection(ns.partition(".")[2], codec_options=ROWS)
            if not known.write_concern.acknowledged:
                # A URI may request w=0; then nobody could tell how a write ended.
                known = known.with_options(write_concern=WriteConcern(w=1))
            self._collections[ns] = known
        return known


READ_ONLY = "This session is read-only; allow writes to save changes."


class _Bounds:
    """What one query may bring: rows, and seconds that are waited for them."""

    def __init__(self, rows: float, seconds: float, whole: bool, distinct: bool) -> None:
        """``whole``: more rows than that are an error; else they are not wanted. ``distinct``: no two rows are equal,
        because each has its ``_id``.
        """
        self._rows, self._seconds, self._whole, self._distinct = rows, seconds, whole, distinct
        self._before: tuple[int, bytes, bytes] | None = None  # of the answer before: rows, the first, the last
        self._waited = 0.0
        self._short = 0  # answers in a row that were short

    def next(self, cursor: CommandCursor[RawBSONDocument], size: int) -> list[RawBSONDocument]:
        """The next rows of a cursor, at most ``size``; none at the end. Raises the driver's errors without an end."""
        for _ in range(MOST_EMPTY):
            if self._rows <= 0:
                if self._whole and cursor.alive:
                    raise ProtocolError("endless")
                return []
            began = time.monotonic()
            rows = _next_answer(cursor, size)
            self._waited += time.monotonic() - began
            if self._waited > self._seconds:
                raise ExecutionTimeout("endless", 50)
            is_short = cursor.alive and len(rows) < size / 10 and sum(len(row.raw) for row in rows) <= SHORT_BYTES
            self._short = self._short + 1 if is_short else 0
            if self._short > MOST_SHORT or (self._distinct and self._is_repeated(rows)):
                raise ProtocolError("endless")
            if rows or not cursor.alive:
                found = rows if len(rows) <= self._rows else rows[: int(self._rows)]
                self._rows -= len(rows)
                return found
        raise ProtocolError("endless")

    def _is_repeated(self, rows: list[RawBSONDocument]) -> bool:
        """Whether an answer is the one before again; one row alone may be twice on a cluster that moves it."""
        before = self._before
        self._before = (len(rows), bytes(rows[0].raw), bytes(rows[-1].raw)) if len(rows) > 1 else None
        return before is not None and before == self._before


def _next_answer(cursor: CommandCursor[RawBSONDocument], size: int) -> list[RawBSONDocument]:
    """The rows of one more answer, for which ``size`` were asked; none at the end, or if the answer has none.

    The driver has no public way to that: ``to_list`` asks until it has ``size`` rows, however often that is.
    """
    take = getattr(cursor, "_next_batch", None)
    if take is None:  # another version of the driver: only time limits a server that answers row by row
        return cursor.to_list(size)
    rows: list[RawBSONDocument] = []
    if cursor.alive:
        take(rows)
    return rows


@contextmanager
def _closing(cursor: CommandCursor[RawBSONDocument]) -> Iterator[None]:
    """Close a cursor at the end, and leave one that cannot be closed to its server: nothing depends on it."""
    try:
        yield
    finally:
        with suppress(Exception):
            cursor.close()


class _NoSuchNamespace(Refused):
    """The collection does not exist (yet)."""


def _batch(largest: int, unknown: int) -> int:
    return max(1, min(BATCH_MOST, BATCH_BYTES // largest)) if largest else unknown


def _tells_of_duplicates(error: Exception) -> bool:
    """Whether an index failed because of duplicates: some servers report that with the code for any error."""
    return isinstance(error, OperationFailure) and error.code == 1 and "duplicate" in str(error).lower()


def _greeted(admin: Database[Any]) -> Mapping[str, Any]:
    """The server's greeting; {} if it only knows the older one."""
    try:
        return dict(admin.command("hello"))
    except OperationFailure as error:
        if error.code != COMMAND_NOT_FOUND:
            raise
        admin.command("ping")
        return {}


def _built(admin: Database[Any]) -> Mapping[str, Any]:
    """What a server says of its build; {} if it refuses, or if its answer is malformed: nothing depends on it."""
    try:
        return dict(admin.command("buildInfo"))
    except Exception:
        return {}


def _version(said: object) -> str:
    return said if isinstance(said, str) and len(said) <= LONGEST_VERSION else "unknown version"


def _is_told(name: str, row: object) -> bool:
    """Whether a row says something of who is logged in; a privilege has a place and a list of actions."""
    if not isinstance(row, Mapping) or name != "authenticatedUserPrivileges":
        return isinstance(row, Mapping)
    actions = row.get("actions")
    return isinstance(row.get("resource"), Mapping) and isinstance(actions, list) and all(map(_is_name, actions))


def _is_index(row: Mapping[str, Any]) -> bool:
    """Whether a row describes an index: it has a name, and a key of names with directions or kinds."""
    key = row.get("key")
    return (
        isinstance(row.get("name", ""), str)
        and isinstance(key, Mapping)
        and all(isinstance(way, int | float | str) for way in key.values())
    )


def _described(row: Mapping[str, Any]) -> tuple[str, str, dict[str, Any], str]:
    """A collection in the answer to ``listCollections``: name, type, options and UUID."""
    return row["name"], str(row.get("type", "collection"))[:LONGEST_NAME], dict(row.get("options") or {}), _uuid_in(row)


def _uuid_in(row: Mapping[str, Any]) -> str:
    """The UUID of a collection in hex; "" if the server reports none."""
    info = row.get("info")
    uuid = info.get("uuid") if isinstance(info, Mapping) else None
    return bytes(uuid).hex() if isinstance(uuid, bytes) else ""


def _is_name(name: object) -> bool:
    """Whether a collection can have a name."""
    return isinstance(name, str) and bool(name) and "\0" not in name and len(name) <= LONGEST_NAME


def _names_a_database(uri: str) -> bool:
    path = uri.partition("://")[2].partition("?")[0].partition("/")[2]
    return bool(path)
