"""MongoDB's access control: the privileges that each command needs, and whether a user has them.

Source: "Privilege Actions", "Resource Document" and "Built-In Roles" in the MongoDB manual.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.localserver.wire import Command
from model.values import canonical as c
from model.values.canonical import decode

Privilege = Mapping[str, Any]

FREE = frozenset(
    (
        *("hello", "isMaster", "ismaster", "ping", "buildInfo", "buildinfo", "connectionStatus", "logout"),
        *("endSessions", "startSession", "saslStart", "saslContinue", "authenticate", "whatsmyuri"),
    )
)
"""Commands that everybody may send."""
OWN = frozenset(("getMore", "killCursors", "listDatabases"))
"""Commands that everybody may send who is logged in: they reach one's own cursors, and what one may see."""
_CLUSTER = {
    "serverStatus": "serverStatus",
    "hostInfo": "hostInfo",
    "getParameter": "getParameter",
    "getCmdLineOpts": "getCmdLineOpts",
    "getLog": "getLog",
    "replSetGetStatus": "replSetGetStatus",
}
_MANAGING = ("createRole", "updateRole", "dropRole", "createUser", "dropUser")
_DATABASE = {name: name for name in _MANAGING} | {
    "dbStats": "dbStats",
    "dbstats": "dbStats",
    "dropDatabase": "dropDatabase",
}
_COLLECTION = {
    **dict.fromkeys(("find", "count", "distinct"), ("find",)),
    "insert": ("insert",),
    "delete": ("remove",),
    "create": ("createCollection",),
    "createIndexes": ("createIndex",),
    "dropIndexes": ("dropIndex",),
    "deleteIndexes": ("dropIndex",),
    "drop": ("dropCollection",),
    "collMod": ("collMod",),
    "listIndexes": ("listIndexes",),
    "collStats": ("collStats",),
    "collstats": ("collStats",),
}
_READ = ("changeStream", "collStats", "dbHash", "dbStats", "find", "killCursors", "listCollections", "listIndexes")
_WRITE = (
    *("convertToCapped", "createCollection", "createIndex", "dropCollection", "dropIndex", "insert", "remove"),
    *("renameCollectionSameDB", "update"),
)
BUILT_IN = {"read": _READ, "readWrite": (*_READ, *_WRITE)}
"""The actions of roles that every server has, on a whole database."""
ANYTHING: Privilege = {
    "resource": {"anyResource": True},
    "actions": [*_READ, *_WRITE, "listDatabases", "dropDatabase", "collMod", "indexStats", *_CLUSTER, *_MANAGING],
}


@dataclass(frozen=True)
class Need:
    """An action on a collection, on a database where ``collection`` is "", or on the cluster where both are."""

    action: str
    db: str = ""
    collection: str = ""

    def met_by(self, privileges: Iterable[Privilege]) -> bool:
        """Whether one of these privileges covers it."""
        return any(self.action in each["actions"] and self._covered(each["resource"]) for each in privileges)

    def _covered(self, resource: Mapping[str, Any]) -> bool:
        if resource.get("anyResource"):
            return True
        if not self.db:
            return bool(resource.get("cluster"))
        if "db" not in resource or resource["db"] not in ("", self.db):
            return False
        named = resource["collection"]
        return bool(named == self.collection or (not named and not self.collection.startswith("system.")))


def may(db: str, *actions: str, collection: str = "") -> Privilege:
    """A privilege on a database, or on one collection of it."""
    return {"resource": {"db": db, "collection": collection}, "actions": list(actions)}


def of_role(role: Mapping[str, Any]) -> list[Privilege]:
    """The privileges of a role: those of its ``createRole`` document, and those of the built-in roles that it has."""
    inherited = [may(each["db"], *BUILT_IN[each["role"]]) for each in role.get("roles", ())]
    return [*role["privileges"], *inherited]


def needs(command: Command) -> list[Need]:
    """Everything that a command needs."""
    return list(_needs(command.name, command.database, _plain(command)))


def _needs(name: str, db: str, fields: Mapping[str, Any]) -> Iterator[Need]:
    target = fields.get(name)
    collection = target if isinstance(target, str) else ""
    if name in FREE or name in OWN:
        return
    if name == "explain":
        inner = fields["explain"]
        yield from _needs(next(iter(inner)), db, inner)
    elif name == "aggregate":
        yield from _of_stages(db, collection, fields["pipeline"])
    elif name == "update":
        yield Need("update", db, collection)
        if any(each.get("upsert") for each in fields.get("updates", ())):
            yield Need("insert", db, collection)
    elif name in ("findAndModify", "findandmodify"):
        yield Need("find", db, collection)
        yield Need("remove" if fields.get("remove") else "update", db, collection)
        if fields.get("upsert"):
            yield Need("insert", db, collection)
    elif name == "listCollections":
        yield Need("listCollections", db)
    elif name in _CLUSTER:
        yield Need(_CLUSTER[name])
    elif name in _DATABASE:
        yield Need(_DATABASE[name], db)
    else:
        yield from (Need(action, db, collection) for action in _COLLECTION.get(name, (name,)))


def _of_stages(db: str, collection: str, pipeline: Sequence[Mapping[str, Any]]) -> Iterator[Need]:
    stages = [next(iter(each.items())) for each in pipeline]
    first = stages[0][0] if stages else ""
    if first == "$collStats":
        yield Need("collStats", db, collection)
    elif first == "$indexStats":
        yield Need("indexStats", db, collection)
    else:
        yield Need("find", db, collection)
        if first == "$changeStream":
            yield Need("changeStream", db, collection)
    for name, said in stages:
        if name in ("$lookup", "$graphLookup", "$unionWith"):
            other = said if isinstance(said, str) else said.get("from") or said.get("coll") or collection
            yield Need("find", db, other)


def permitted(command: Command, privileges: Sequence[Privilege]) -> bool:
    """Whether these privileges are enough for a command."""
    fields = _plain(command)
    if command.name == "listCollections" and fields.get("nameOnly") and fields.get("authorizedCollections"):
        return sees_database(command.database, privileges)
    return all(need.met_by(privileges) for need in needs(command))


def sees_database(db: str, privileges: Iterable[Privilege]) -> bool:
    """Whether one of the privileges is on something of a database."""
    return any(
        each["resource"].get("anyResource") or each["resource"].get("db", "-") in ("", db) for each in privileges
    )


def sees_collection(db: str, collection: str, privileges: Sequence[Privilege]) -> bool:
    """Whether one of the privileges is on a collection."""
    return any(Need(action, db, collection).met_by([each]) for each in privileges for action in each["actions"][:1])


def refusal(command: Command) -> str:
    """The words with which a server refuses a command, of which it leaves out nothing but the session."""
    fields = {name: value for name, value in _plain(command).items() if name not in ("lsid", "$clusterTime")}
    return f"not authorized on {command.database} to execute command {_shell(fields)}"


def _shell(value: object) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{name}: {_shell(each)}' for name, each in value.items())} }}" if value else "{}"
    if isinstance(value, list):
        return f"[ {', '.join(map(_shell, value))} ]" if value else "[]"
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).lower() if isinstance(value, bool) else str(value)


def _plain(command: Command) -> Mapping[str, Any]:
    fields: dict[str, Any] = decode(c.document(command.fields.items()))
    return fields | {name: [decode(raw) for raw in raws] for name, raws in command.sequences.items()}
