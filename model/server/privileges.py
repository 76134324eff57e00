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


def databases_in(privileges: Privileges) -> list[str]:
    """The databases that privileges name, sorted."""
    return sorted({str(each.get("db") or "") for each in _resources(privileges)} - {""})


def collections_in(db: str, privileges: Privileges) -> list[str]:
    """The collections of a database that privileges name, sorted."""
    named = (each for each in _resources(privileges) if each.get("db") in ("", db))
    return sorted({str(each.get("collection") or "") for each in named} - {""})


def _resources(privileges: Privileges) -> Iterable[Mapping[str, Any]]:
    return (each["resource"] for each in privileges if isinstance(each.get("resource"), Mapping))
