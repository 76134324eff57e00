"""A database in which every text is hostile: field names, values, ids, authors, reasons, names of collections."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pymongo
from bson import ObjectId

from model.foundation.toml_text import to_line

MARK = "pl4nted"
SECRET = "s3cret-of-eva"
"""The password of the user who looks at it, which may come out nowhere."""
WORDS = (
    f"<b>{MARK}</b><img src='file:///{MARK}.png'>&amp;&lt;&{MARK}\x1b]0;{MARK}\x07\x1b[2J\x9b31m\r\u202e{MARK}"
    "\u2066\u200b\u2028\ufeff\U000e0041\x7f[*]"
)
"""Markup, entities, a key of a menu, commands to a terminal, writing turned round, what has no width."""
NAME = WORDS.replace(".", "")  # for names of fields and collections, which have no dots
ACTED_ON = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\U000e0041]")
DATABASE = "hostile"
CURRENT, ARCHIVE, VERSIONS = f"{DATABASE}.now{NAME}", f"{DATABASE}.then{NAME}", f"{DATABASE}.all{NAME}"
STATS = f"{DATABASE}.stats{NAME}"
ID = f"K-{WORDS}\0end"
OTHER_ID = f"L-{WORDS}"
TIMES = (dt.datetime(2026, 3, 1, tzinfo=dt.UTC), dt.datetime(2026, 3, 2, tzinfo=dt.UTC), dt.datetime(2026, 3, 3))


def content(v: int) -> dict[str, Any]:
    """A version's content: hostile names and values, one of them very long."""
    return {
        f"name{NAME}": f"value {v} {WORDS}\0",
        "same": WORDS,
        f"inside{NAME}": {f"deeper{NAME}": [WORDS, v]},
        "long": WORDS * (40 + v),
        "premium": 100 * v,
    }


def _row(v: int) -> dict[str, Any]:
    signed = {"by": f"author {v} {WORDS}", "why": f"reason {v} {WORDS}", "at": TIMES[v - 1]}
    return {**content(v), **signed, "v": v, "_w": ObjectId()}


def plant(client: pymongo.MongoClient[dict[str, Any]]) -> None:
    """Write it: documents with an archive, versions that are documents, of which one is lost, and pending tokens."""
    database = client[DATABASE]
    current, archive = (database[ns.partition(".")[2]] for ns in (CURRENT, ARCHIVE))
    archive.create_index([("docId", 1), ("v", 1)], unique=True, name=f"index{NAME}")
    for id in (ID, OTHER_ID):
        archive.insert_many([{"docId": id, **_row(v)} for v in (1, 2)])
        current.insert_one({"_id": id, **_row(3)})
    archive.insert_one({"docId": OTHER_ID, **_row(3), "v": 4})  # damage: a version above the current one
    database[VERSIONS.partition(".")[2]].insert_many([{"docId": ID, **_row(v)} for v in (1, 3)])
    old = ObjectId("5f0000000000000000000001")
    database[STATS.partition(".")[2]].insert_one({"_id": ID, "count": 1, "pending": [old], "applied": []})


def profile(folder: Path) -> Path:
    """The file that states the layouts; its name is hostile too."""
    tables: list[dict[str, object]] = [
        {"ns": CURRENT, "layout": "archive", "archive": ARCHIVE, "archive_id": "docId"},
        {"ns": VERSIONS, "layout": "versions", "id": "docId"},
    ]
    roles = {"version": "v", "token": "_w", "at": "at", "author": "by", "reason": "why"}
    lines = [
        "[[collection]]\n" + "".join(f"{k} = {to_line(v)}\n" for k, v in (each | roles).items()) for each in tables
    ]
    lines.append(f'[[collection]]\nns = {to_line(STATS)}\nlayout = "pending"\ngrace = "24h"\n')
    file = folder / f"profile<b>{MARK}&amp;\u202e.toml"
    file.write_text("\n".join(lines), "utf-8")
    return file


def raw_in(text: str) -> str:
    """The first character of a text that a terminal acts on or that nobody sees, with what is around it; "" if none."""
    found = ACTED_ON.search(text)
    return "" if found is None else ascii(text[max(0, found.start() - 30) : found.end() + 30])
