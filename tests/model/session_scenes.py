"""The data for session and command tests: a few documents in each layout, written by plain PyMongo."""

from __future__ import annotations

from typing import Any

import pymongo.database
from bson import Decimal128, Int64, ObjectId

OLD, OLDER = ObjectId("5f0000000000000000000001"), ObjectId("5e0000000000000000000002")
"""Tokens of 2020 and 2019."""


def contract(v: int, **fields: Any) -> dict[str, Any]:
    """One version of contract K-1 as people see it."""
    return {
        "status": "active",
        "premium": {"net": Decimal128("412.80"), "gross": Decimal128("491.23")},
        "tags": ["household"],
        "steps": v,
        **fields,
    }


def archive(database: pymongo.database.Database) -> None:
    """Contract K-1: v1 and v2 in the archive, v3 missing, v4 current; and K-2 with one version."""
    history = database["contracts_history"]
    history.create_index([("docId", 1), ("v", 1)], unique=True)
    history.insert_one({"docId": "K-1", **contract(1, status="draft"), "v": 1, "_w": ObjectId()})
    history.insert_one({"docId": "K-1", **contract(2, notes="call ahead"), "v": 2, "_w": ObjectId()})
    current = database["contracts"]
    current.insert_one({"_id": "K-1", **contract(4), "v": 4, "_w": ObjectId()})
    current.insert_one({"_id": "K-2", **contract(1), "v": 1, "_w": ObjectId()})


def versions(database: pymongo.database.Database, index: bool = True) -> None:
    """Claims: every version a document; C-1 has three, C-2 one."""
    claims = database["claims"]
    if index:
        claims.create_index([("docId", 1), ("v", 1)], unique=True)
    for v in (1, 2, 3):
        claims.insert_one({"docId": "C-1", "v": v, "_w": ObjectId(), "amount": Int64(100 * v), "open": v < 3})
    claims.insert_one({"docId": "C-2", "v": 1, "_w": ObjectId(), "amount": Int64(5), "open": True})


def plain(database: pymongo.database.Database) -> None:
    """Agents without versions, with ids of several types."""
    database["agents"].insert_many(
        [
            {"_id": 7, "name": "Eva", "visits": 1},
            {"_id": "7", "name": "Jonas", "visits": 2},
            {"_id": "eva@example.com", "name": "Eva", "visits": Int64(3)},
            {"_id": ObjectId("64f0a1c29b1e8a0012c4d7aa"), "name": "Marta", "visits": 4.0},
        ]
    )


def pending(database: pymongo.database.Database) -> None:
    """Counters in two steps: two stale tokens on one day, a fresh one on another."""
    database["stats"].insert_many(
        [
            {"_id": "2020-07-04", "count": 41, "pending": [OLD, OLDER], "applied": []},
            {"_id": "2020-07-05", "count": 9, "pending": [], "applied": [ObjectId("5f0000000000000000000009")]},
            {"_id": "today", "count": 3, "pending": [ObjectId()], "applied": []},
        ]
    )
