"""Two orders that two people changed over five days, one with a gap, and a profile for them."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pymongo.database
from bson import ObjectId

from gui.views.activity.activity_panel import ActivityPanel

DAY = [dt.datetime(2026, 3, day, 12, tzinfo=dt.UTC) for day in range(1, 10)]
ROWS: tuple[tuple[str, int, int, str, dict[str, Any]], ...] = (
    ("A", 1, 0, "ann", {"total": 1, "to": {"city": "Bonn", "zip": "5"}}),
    ("A", 2, 1, "ben", {"total": 2, "to": {"city": "Bonn", "zip": "5"}}),
    ("A", 3, 2, "ann", {"total": 2, "to": {"city": "Ulm", "zip": "5"}, "tags": [1]}),
    ("A", 4, 4, "ben", {"total": 1, "to": {"city": "Bonn", "zip": "5"}}),
    ("B", 1, 1, "ann", {"total": 7}),
    ("B", 2, 2, "ann", {"total": 8}),
    ("B", 4, 3, "ben", {"total": 9}),
)
PROFILE = """
[[collection]]
ns = "{ns}"
layout = "versions"
id = "docId"
at = "changedAt"
author = "changedBy"
reason = "why"
"""


def orders(database: pymongo.database.Database[dict[str, Any]], folder: Path) -> tuple[str, Path]:
    """Put the orders into a database; their collection, and the file of its profile."""
    database["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
    database["orders"].create_index("changedAt")
    for id, v, day, who, content in ROWS:
        row = {"docId": id, "v": v, "_w": ObjectId(), "changedAt": DAY[day], "changedBy": who, **content}
        database["orders"].insert_one(row)
    ns, file = f"{database.name}.orders", folder / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, file


PEOPLE: dict[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "A": (("ann", {"total": 1, "city": "Bonn"}), ("import", {"total": 9}), ("ben", {"city": "Ulm"})),
    "B": (("ann", {"total": 2, "city": "Bonn"}), ("import", {"total": 8}), ("ben", {"total": 3})),
    "C": (("ann", {"total": 4, "city": "Köln"}), ("import", {"total": 5}), ("ann", {"total": 4})),
    "D": (("ann", {"total": 7}), ("import", {"city": "Jena"})),
}
"""Four orders that an import changed: what it did to B was changed later, to C undone, and D gained a field by it."""


def imported(database: pymongo.database.Database[dict[str, Any]], folder: Path) -> tuple[str, Path]:
    """Put orders that an import changed into a database; their collection, and the file of its profile."""
    database["orders"].create_index([("docId", 1), ("v", 1)], unique=True)
    for id, versions in PEOPLE.items():
        content: dict[str, Any] = {}
        for v, (by, changes) in enumerate(versions, 1):
            content = {**content, **changes}
            row = {"docId": id, "v": v, "_w": ObjectId(), "changedAt": DAY[v], "changedBy": by, **content}
            database["orders"].insert_one(row)
    ns, file = f"{database.name}.orders", folder / "profile.toml"
    file.write_text(PROFILE.format(ns=ns))
    return ns, file


def newest(database: pymongo.database.Database[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each order as it is now, looked up by PyMongo."""
    found: dict[str, dict[str, Any]] = {}
    for row in database["orders"].find(sort=[("v", 1)]):
        kept = {name: row[name] for name in row if name not in ("_id", "docId", "_w", "changedAt", "changedBy", "why")}
        found[row["docId"]] = kept
    return found


def widen(panel: ActivityPanel) -> None:
    """Ask for all changes by the button for more: a server is asked for those of the last day first."""
    while panel.filter.wider.isVisible():
        panel.filter.wider.click()
