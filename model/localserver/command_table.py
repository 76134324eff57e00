"""The table of commands, and the commands on the server, its databases and its indexes."""

from __future__ import annotations

import datetime as dt
import os
import platform
import time
import uuid
from collections.abc import Callable
from typing import Any

from bson.binary import Binary
from bson.int64 import Int64

from model.errors import Unreadable
from model.localserver import wire
from model.localserver.change_streams import ChangeStreams
from model.localserver.read_commands import Cursors, ReadCommands
from model.localserver.retryable_writes import Retries
from model.localserver.store import SYSTEM, Collection, Index, Store
from model.localserver.wire import Command
from model.localserver.write_commands import WriteCommands
from model.mql import functions, order
from model.mql.command_error import CommandError
from model.mql.filters import compile_filter
from model.values import canonical as c
from model.values.canonical import Value

VERSION = "7.0.0"
WIRE_VERSION = 21  # MongoDB 7.0's
_IMAGES = "changeStreamPreAndPostImages"
_OPTIONS = (_IMAGES, "validator", "validationLevel", "validationAction")
_WRITES = {
    "insert", "update", "delete", "findAndModify", "findandmodify", "create", "drop", "dropDatabase",
    "createIndexes", "dropIndexes", "deleteIndexes", "renameCollection", "collMod",
}  # fmt: skip


class CommandTable:
    """Answers commands over one store; several threads can use it.

    With a replica set's name, it is that set's only member, the primary; the store must then have a log of changes.
    """

    def __init__(self, store: Store, read_only: bool, replica_set: str = "", sharded: bool = False) -> None:
        self.sharded = sharded
        self.members: list[CommandTable] = [self]  # of the set, primary first
        self.last_write: dt.datetime | None = None  # on a secondary
        self.hides_metadata = False
        self.store = store
        self.read_only = read_only
        self.took_writes = False
        self.replica_set = replica_set
        self.address = "localhost:27017"  # the name of a replica set's member for itself
        self._began = time.monotonic()
        self._retries = Retries()
        reads = ChangeStreams(store, Cursors(), store.log) if store.log is not None else ReadCommands(store, Cursors())
        writes = WriteCommands(store, self._retries)
        self._table: dict[str, Callable[[Command], bytes]] = {
            "find": reads.find,
            "getMore": reads.get_more,
            "killCursors": reads.kill_cursors,
            "aggregate": reads.aggregate,
            "count": reads.count,
            "distinct": reads.distinct,
            "explain": reads.explain,
            "insert": writes.insert,
            "update": writes.update,
            "delete": writes.delete,
            "findAndModify": writes.find_and_modify,
            "findandmodify": writes.find_and_modify,
            "hello": self._hello,
            "isMaster": self._hello,
            "ismaster": self._hello,
            "ping": _do_nothing,
            "endSessions": self._end_sessions,
            "startSession": self._start_session,
            "replSetGetStatus": self._set_status,
            "logout": _do_nothing,
            "buildInfo": self._build_info,
            "buildinfo": self._build_info,
            "hostInfo": _host_info,
            "serverStatus": self._server_status,
            "getParameter": _get_parameter,
            "getCmdLineOpts": lambda _: wire.pack(argv=[], parsed={}, ok=1.0),
            "getLog": lambda _: wire.pack(totalLinesWritten=0, log=[], ok=1.0),
            "connectionStatus": _connection_status,
            "whatsmyuri": lambda _: wire.pack(you="local", ok=1.0),
            "listCommands": lambda _: wire.pack(commands={name: {} for name in self._table}, ok=1.0),
            "listDatabases": self._list_databases,
            "listCollections": self._list_collections,
            "listIndexes": self._list_indexes,
            "createIndexes": self._create_indexes,
            "dropIndexes": self._drop_indexes,
            "deleteIndexes": self._drop_indexes,
            "create": self._create,
            "collMod": self._change_collection,
            "drop": self._drop,
            "dropDatabase": self._drop_database,
            "collStats": self._collection_stats,
            "collstats": self._collection_stats,
            "dbStats": self._database_stats,
            "dbstats": self._database_stats,
        }

    def add(self, name: str, handler: Callable[[Command], bytes]) -> None:
        """Add a command."""
        self._table[name] = handler

    def answer(self, command: Command) -> bytes:
        """The reply to a command; an error becomes a reply, too."""
        reply = self._reply(command)
        if self.store.log is None:
            return reply
        now = self.store.log.now()
        signature = {"hash": bytes(20), "keyId": Int64(0)}
        times = wire.pack(operationTime=now, **{"$clusterTime": {"clusterTime": now, "signature": signature}})
        return c.document([*c.fields(reply), *c.fields(times)])

    def _reply(self, command: Command) -> bytes:
        try:
            return self._answer(command)
        except CommandError as error:
            fields = {"ok": 0.0, "errmsg": error.message, "code": error.code, "codeName": error.name}
            return wire.pack(**fields, **error.extra)
        except Unreadable as error:
            return wire.pack(ok=0.0, errmsg=f"Invalid BSON: {error}", code=22, codeName="InvalidBSON")
        except RecursionError:
            return wire.pack(ok=0.0, errmsg="nested too deeply", code=15, codeName="Overflow")
        except Exception as error:  # a bug here must not look like a lost connection
            text = f"internal error: {type(error).__name__}: {error}"
            return wire.pack(ok=0.0, errmsg=text, code=1, codeName="InternalError")

    def _answer(self, command: Command) -> bytes:
        handler = self._table.get(command.name)
        if command.legacy and handler != self._hello:
            raise CommandError(352, f"Unsupported OP_QUERY command: {command.name}. The client driver may be too old.")
        if handler is None:
            raise CommandError(59, f"no such command: '{command.name}'")
        if self.is_secondary and command.name in _WRITES:
            raise CommandError(10107, "not primary")
        if self.hides_metadata and (command.database == "config" or command.name in ("collStats", "collstats")):
            raise CommandError(13, f"not authorized on {command.database} to execute command {command.name}")
        if (
            not self.replica_set
            and not self.sharded
            and ("txnNumber" in command.fields or "startTransaction" in command.fields)
        ):
            raise CommandError(20, "Transaction numbers are only allowed on a replica set member or mongos")
        if self.read_only and command.name in _WRITES:
            raise CommandError(13, f"not authorized: this source is opened read-only, so '{command.name}' is refused")
        if command.name in _WRITES:
            self._spare_system(command)
            self.took_writes = True
        return handler(command)

    def _spare_system(self, command: Command) -> None:
        """Raise ``CommandError`` 13 for a write to a collection that the dumped server kept for itself."""
        named = command.fields.get(command.name)
        name = str(named.python()) if named is not None and named.type == c.STRING else ""
        found = self.store.get(command.database, name)
        if found is not None and found.kind == SYSTEM:
            raise CommandError(13, f"not authorized: {found.ns} belongs to the server, and is only read")

    # --- about the server

    @property
    def is_secondary(self) -> bool:
        """Whether this member follows another one, and accepts no writes."""
        return self.members[0] is not self

    def join(self, primary: CommandTable) -> None:
        """Become a secondary in the set of a primary."""
        primary.members.append(self)
        self.members = primary.members
        self.last_write = dt.datetime.now(dt.UTC)

    def _hello(self, command: Command) -> bytes:
        primary = "isWritablePrimary" if command.name == "hello" else "ismaster"
        fields: dict[str, Any] = {
            "helloOk": True,
            primary: True,
            "maxBsonObjectSize": 16 * 1024 * 1024,
            "maxMessageSizeBytes": wire.MESSAGE_LIMIT,
            "maxWriteBatchSize": 100_000,
            "localTime": dt.datetime.now(dt.UTC),
            "minWireVersion": 0,
            "maxWireVersion": WIRE_VERSION,
            "readOnly": self.read_only,
        }
        # Without logicalSessionTimeoutMinutes, drivers use no sessions; without topologyVersion, they poll.
        if self.replica_set:
            fields |= {
                "setName": self.replica_set,
                "setVersion": 1,
                primary: not self.is_secondary,
                "secondary": self.is_secondary,
                "hosts": [each.address for each in self.members],
                "primary": self.members[0].address,
                "me": self.address,
                "logicalSessionTimeoutMinutes": 30,
                "lastWrite": {"lastWriteDate": self.last_write or dt.datetime.now(dt.UTC)},
            }
        if self.sharded:
            fields |= {"msg": "isdbgrid", "logicalSessionTimeoutMinutes": 30}
        return wire.pack(**fields, ok=1.0)

    def _end_sessions(self, command: Command) -> bytes:
        self._retries.end(command)
        return _do_nothing(command)

    def _start_session(self, command: Command) -> bytes:
        self._of_a_set(command)
        return wire.pack(id={"id": Binary(uuid.uuid4().bytes, 4)}, timeoutMinutes=30, ok=1.0)

    def _set_status(self, command: Command) -> bytes:
        self._of_a_set(command)
        member = {"_id": 0, "name": self.address, "health": 1.0, "state": 1, "stateStr": "PRIMARY", "self": True}
        return wire.pack(set=self.replica_set, date=dt.datetime.now(dt.UTC), myState=1, members=[member], ok=1.0)

    def _of_a_set(self, command: Command) -> None:
        if not self.replica_set:
            raise CommandError(76, f"not running with --replSet, so there is no '{command.name}'")

    def _build_info(self, _: Command) -> bytes:
        return wire.pack(
            version=VERSION,
            versionArray=[*map(int, VERSION.split(".")), 0],
            gitVersion="palimpsest",
            modules=[],
            storageEngines=["memory"],
            bits=64,
            debug=False,
            maxBsonObjectSize=16 * 1024 * 1024,
            ok=1.0,
        )

    def _server_status(self, _: Command) -> bytes:
        up = time.monotonic() - self._began
        return wire.pack(
            host=platform.node(),
            version=VERSION,
            process="palimpsest",
            pid=os.getpid(),
            uptime=up,
            uptimeMillis=int(up * 1000),
            localTime=dt.datetime.now(dt.UTC),
            storageEngine={"name": "memory", "persistent": False, "readOnly": self.read_only},
            ok=1.0,
        )

    # --- about databases and collections

    def _list_databases(self, command: Command) -> bytes:
        matches = compile_filter(command.document("filter")).matches
        rows = []
        for name in self.store.databases():
            size = sum(coll.size for coll in self.store.collections(name))
            row = wire.pack(name=name, sizeOnDisk=size, empty=False, palimpsestDump=self.store.is_dump)
            if matches(row):
                rows.append(c.only(row, ["name", "palimpsestDump"]) if command.flag("nameOnly") else row)
        return wire.pack(databases=c.array(map(Value.document, rows)), ok=1.0)

    def _list_collections(self, command: Command) -> bytes:
        matches = compile_filter(command.document("filter")).matches
        rows = []
        for coll in self.store.collections(command.database):
            name = coll.ns.partition(".")[2]
            identity = {"v": 2, "key": {"_id": 1}, "name": "_id_"}
            row = wire.pack(
                name=name,
                type=coll.kind,
                options=Value.document(coll.options),
                info={"readOnly": self.read_only, "uuid": Binary(coll.uuid.bytes, 4)},
                idIndex=identity,
            )
            if matches(row):
                rows.append(c.only(row, ["name", "type"]) if command.flag("nameOnly") else row)
        return wire.cursor_reply(f"{command.database}.$cmd.listCollections", 0, rows, first=True)

    def _needed(self, command: Command) -> Collection:
        found = self.store.get(command.database, command.text(command.name))
        if found is None:
            raise CommandError(26, f"ns does not exist: {command.database}.{command.text(command.name)}")
        return found

    def _list_indexes(self, command: Command) -> bytes:
        coll = self._needed(command)
        rows = [c.encode(index.spec()) for index in coll.indexes.values()]
        return wire.cursor_reply(coll.ns, 0, rows, first=True)

    def _create(self, command: Command) -> bytes:
        name = command.text("create")
        if command.get("viewOn") or command.get("timeseries"):
            raise CommandError(238, "Views and time series are not supported here")
        if self.store.get(command.database, name) is not None:
            raise CommandError(48, f"Collection {command.database}.{name} already exists.")
        options = c.only(c.document(command.fields.items()), _OPTIONS)
        if rules := command.document("validator"):
            compile_filter(rules)  # an error, before there is a collection, for rules that are not understood
        self.store.make(command.database, name).validate(options)
        return _do_nothing(command)

    def _change_collection(self, command: Command) -> bytes:
        coll = self._needed(command)
        changed = {name: value for name in _OPTIONS if (value := command.fields.get(name)) is not None}
        if not changed:
            raise CommandError(72, f"collMod changes nothing here but {', '.join(_OPTIONS)}")
        with coll.lock:
            options = coll.options
            for name, value in changed.items():
                options = c.put(options, (name,), value)
            coll.validate(options)
        return _do_nothing(command)

    def _drop(self, command: Command) -> bytes:
        coll = self._needed(command)
        self.store.drop(command.database, command.text("drop"))
        return wire.pack(nIndexesWas=len(coll.indexes), ns=coll.ns, ok=1.0)

    def _drop_database(self, command: Command) -> bytes:
        self.store.drop(command.database)
        return wire.pack(dropped=command.database, ok=1.0)

    def _create_indexes(self, command: Command) -> bytes:
        name = command.text("createIndexes")
        specs = [parse_index(raw) for raw in command.documents("indexes")]
        created = self.store.get(command.database, name) is None
        coll = self.store.make(command.database, name)
        before = len(coll.indexes)
        with coll.lock:
            for index in specs:
                if index.unique and [path for path, _ in index.keys][: len(coll.shard_key)] != list(coll.shard_key):
                    raise CommandError(67, f"cannot create unique index over {index.name} with the shard key")
                same = coll.indexes.get(index.name)
                if same is None:
                    other = next((i for i in coll.indexes.values() if i.keys == index.keys), None)
                    if other is not None and other.name != "_id_":
                        raise CommandError(85, f"Index already exists with a different name: {other.name}")
                    if other is None:
                        coll.add_index(index)
                elif same.keys != index.keys or same.unique != index.unique:
                    raise CommandError(86, f"An existing index has the same name as the requested index: {index.name}")
        return wire.pack(
            numIndexesBefore=before, numIndexesAfter=len(coll.indexes), createdCollectionAutomatically=created, ok=1.0
        )

    def _drop_indexes(self, command: Command) -> bytes:
        coll = self._needed(command)
        wanted = command.get("index")
        if wanted is None:
            raise CommandError(40414, "BSON field 'dropIndexes.index' is missing but a required field")
        was = len(coll.indexes)
        with coll.lock:
            for name in _index_names(coll, wanted):
                if name == "_id_":
                    raise CommandError(72, "cannot drop _id index")
                if coll.indexes.pop(name, None) is None:
                    raise CommandError(27, f"index not found with name [{name}]")
        return wire.pack(nIndexesWas=was, ok=1.0)

    def _collection_stats(self, command: Command) -> bytes:
        coll = self.store.get(command.database, command.text(command.name))
        count, size = (coll.count, coll.size) if coll else (0, 0)
        return wire.pack(
            ns=f"{command.database}.{command.text(command.name)}",
            size=size,
            count=count,
            avgObjSize=size // count if count else 0,
            storageSize=size,
            nindexes=len(coll.indexes) if coll else 0,
            totalIndexSize=0,
            indexSizes=dict.fromkeys(coll.indexes, 0) if coll else {},
            capped=False,
            **({"sharded": bool(coll and coll.shard_key)} if self.sharded else {}),
            ok=1.0,
        )

    def _database_stats(self, command: Command) -> bytes:
        colls = self.store.collections(command.database)
        size, count = sum(coll.size for coll in colls), sum(coll.count for coll in colls)
        return wire.pack(
            db=command.database,
            collections=len(colls),
            views=0,
            objects=count,
            avgObjSize=size / count if count else 0.0,
            dataSize=size,
            storageSize=size,
            indexes=sum(len(coll.indexes) for coll in colls),
            indexSize=0,
            ok=1.0,
        )


def _do_nothing(_: Command) -> bytes:
    return wire.pack(ok=1.0)


def _host_info(_: Command) -> bytes:
    system = {"hostname": platform.node(), "cpuArch": platform.machine(), "numCores": os.cpu_count() or 1}
    return wire.pack(system=system, os={"type": platform.system(), "name": platform.platform()}, ok=1.0)


def _get_parameter(command: Command) -> bytes:
    if "featureCompatibilityVersion" in command.fields:
        return wire.pack(featureCompatibilityVersion={"version": VERSION.rpartition(".")[0]}, ok=1.0)
    raise CommandError(72, "no option found to get")


def _connection_status(_: Command) -> bytes:
    return wire.pack(authInfo={"authenticatedUsers": [], "authenticatedUserRoles": []}, ok=1.0)


def _index_names(coll: Collection, wanted: order.Element) -> list[str]:
    kind, data = wanted
    if kind == c.STRING:
        name = data[4:-1].decode("utf-8", "surrogateescape")
        return [n for n in coll.indexes if n != "_id_"] if name == "*" else [name]
    if kind == c.ARRAY:
        return [name for e in order.items(data) for name in _index_names(coll, e)]
    keys = [(name, value.python()) for name, value in c.fields(data)]
    found = [index.name for index in coll.indexes.values() if index.keys == keys]
    if not found:
        raise CommandError(27, f"can't find index with key: {dict(keys)}")
    return found


def parse_index(raw: bytes) -> Index:
    """An index from its specification in ``createIndexes`` or a dump's metadata."""
    given = dict(c.fields(raw))
    key = given.pop("key", None)
    if key is None or key.type != c.OBJECT or key.data == c.EMPTY:
        raise CommandError(67, "Index keys cannot be empty.")
    keys = []
    for path, value in c.fields(key.data):
        direction = value.python()
        number = value.type in order.NUMBERS
        if (number and (direction == 0 or direction != direction)) or (not number and value.type != c.STRING):
            raise CommandError(67, f"Values in v:2 index key pattern must be numbers other than 0, or text: {path}")
        keys.append((path, int(direction) if number and direction in (1, -1) else direction))
    named = given.pop("name", None)
    name = named.python() if named is not None else "_".join(f"{path}_{direction}" for path, direction in keys)
    flags = {name: functions.truth((v.type, v.data)) for name, v in given.items() if name in ("unique", "sparse")}
    partial = given.pop("partialFilterExpression", None)
    known = ("v", "ns", "background", "unique", "sparse")
    options = {option: value.python() for option, value in given.items() if option not in known}
    return Index(
        keys,
        str(name),
        unique=flags.get("unique", False),
        sparse=flags.get("sparse", False),
        partial=None if partial is None else partial.data,
        options=options,
    )
