"""The MongoDB privileges that commands need, by the names in its manual, and those that a user has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

UNAUTHORIZED = 13
Privileges: TypeAlias = Sequence[Mapping[str, Any]]
"""The reply to ``connectionStatus``: resources, each with its allowed actions."""

_ACTIONS: Mapping[str, tuple[str, ...]] = {
    "aggregate": ("find",),
    "count": ("find",),
    "update": ("update",),
    "replace": ("update",),
    "upsert": ("insert", "update"),
    "delete": ("remove",),
    "createIndexes": ("createIndex",),
    "changes": ("find", "changeStream"),
}
"""The actions that a command or kind of write needs, if they differ from its name."""


def asked_for(command: Mapping[str, Any]) -> str:
    """The name under which a command's privileges are listed here: its own, or that of a special stage."""
    stages = [each for each in command.get("pipeline", ()) if isinstance(each, Mapping)]
    special = (name for stage in stages for name in ("$indexStats", "$changeStream") if name in stage)
    return {"$indexStats": "indexStats", "$changeStream": "changes"}.get(next(special, ""), next(iter(command)))


def missing(command: str, place: str) -> str:
    """The privilege missing for a refused command: ``find on shop.orders``."""
    actions = " and ".join(_ACTIONS.get(command, (command,)))
    return f"{actions} on {place}"


def lacks(command: str, place: str) -> str:
    """The sentence for somebody whose command was refused."""
    return f"This user lacks the privilege {missing(command, place)}; ask for it, or use another user."


def may_write(privileges: Privileges) -> bool:
    """Whether any document may be written; True if the privileges are not known."""
    writing = {"insert", "update", "remove", "anyAction"}
    return not privileges or any(writing & {*map(str, each.get("actions") or ())} for each in privileges)


def may_read(ns: str, privileges: Privileges) -> bool:
    """Whether documents of a collection may be read; True if the privileges are not known, or say nothing of it."""
    db, _, collection = ns.partition(".")
    if not privileges or collection.startswith("system."):
        return True
    reading = [each for each in privileges if {"find", "anyAction"} & {*map(str, each.get("actions") or ())}]
    return any(_covers(each.get("resource"), db, collection) for each in reading)


def _covers(resource: Any, db: str, collection: str) -> bool:
    """Whether a resource is, or may be, one with this collection."""
    if not isinstance(resource, Mapping) or not {"db", "collection"} <= resource.keys():
        return not (isinstance(resource, Mapping) and "cluster" in resource)
    return resource["db"] in ("", db) and resource["collection"] in ("", collection)


def read_by(ns: str, command: Mapping[str, Any]) -> list[str]:
    """The collections whose documents a query reads, as far as it names them at its top level."""
    stages = [stage for stage in command.get("pipeline", ()) if isinstance(stage, Mapping)]
    named = [
        said.get("coll") or said.get("from") if isinstance(said, Mapping) else said
        for stage in stages
        for name, said in stage.items()
        if name in ("$unionWith", "$lookup")
    ]
    db = ns.partition(".")[0]
    return [ns, *(f"{db}.{each}" for each in named if isinstance(each, str))]


def databases_in(privileges: Privileges) -> list[str]:
    """The databases that privileges name, sorted."""
    return sorted({str(each.get("db") or "") for each in _resources(privileges)} - {""})


def collections_in(db: str, privileges: Privileges) -> list[str]:
    """The collections of a database that privileges name, sorted."""
    named = (each for each in _resources(privileges) if each.get("db") in ("", db))
    return sorted({str(each.get("collection") or "") for each in named} - {""})


def _resources(privileges: Privileges) -> Iterable[Mapping[str, Any]]:
    return (each["resource"] for each in privileges if isinstance(each.get("resource"), Mapping))
