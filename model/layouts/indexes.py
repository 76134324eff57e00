"""The unique indexes that layouts rest on: whether they are there, and how they come to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from model import text
from model.errors import Refused
from model.server.retry import Port
from model.values import canonical as c


def is_unique(server: Port, ns: str, names: Sequence[str]) -> bool:
    """Whether an index, or ``_id`` itself, keeps two documents from having the same values in these fields."""
    for index in server.indexes(ns):
        keys = set(index.get("key") or ())
        whole = not index.get("partialFilterExpression") and not index.get("hidden")
        if keys and keys <= set(names) and (index.get("unique") or keys == {"_id"}) and whole:
            return True
    return False


def create_unique(server: Port, ns: str, names: Sequence[str]) -> None:
    """Create a unique index over these fields; raises ``Refused`` naming duplicates that stand in its way."""
    group = {name.replace("$", "_"): f"${name}" for name in names}
    pipeline: list[dict[str, Any]] = [
        {"$group": {"_id": group, "n": {"$sum": 1}}},
        {"$match": {"n": {"$gt": 1}}},
        {"$limit": 4},
    ]
    found = []
    for raw in server.aggregate(ns, pipeline):
        key = c.get(raw, ("_id",))
        if key is not None:
            found.append(" ".join(text.shown(value) for value in c.items(key)))
    if found:
        more = " and others" if len(found) > 3 else ""
        raise Refused(
            f"{ns} holds several documents with the same {' and '.join(names)}: {', '.join(found[:3])}{more}. "
            "Settle these duplicates first, then create the index."
        )
    server.create_index(ns, dict.fromkeys(names, 1), unique=True)
