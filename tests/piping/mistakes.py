"""Nine ways of saving that articles recommend, as a program that connects to the pipe: ``mistakes.py NAME EDITS ID``.

Each edit adds one to a field of its writer. The program tells the pipe what it would tell its user: ``applied`` for
what it takes for saved, ``unknown`` where it gave up.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from typing import Any

import pymongo
import pymongo.common
from pymongo.errors import AutoReconnect, DuplicateKeyError

pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02  # else each fault costs half a second
Doc = dict[str, Any]
WRITERS, TRIES = 3, 6
client: pymongo.MongoClient[Doc] = pymongo.MongoClient(os.environ["PALIMPSEST_PIPE"], retryWrites=False)
docs, past = client.shop.docs, client.shop.docs_past


def twice(send: Callable[[], Any]) -> Any:
    """Once more after a lost connection, as everybody does."""
    try:
        return send()
    except AutoReconnect:
        return send()


def read(ask: Callable[[], Any]) -> Any:
    """A read may be repeated."""
    for _ in range(20):
        try:
            return ask()
        except AutoReconnect:
            continue
    raise SystemExit("the pipe does not answer")


def newest(id: str) -> Doc:
    """The newest of the documents that are versions."""
    return read(lambda: docs.find_one({"docId": id}, sort=[("v", -1)]))


def marked(doc: Doc, mark: str) -> Doc:
    """The next version."""
    return {k: v for k, v in doc.items() if k != "_id"} | {"v": doc["v"] + 1, mark: doc.get(mark, 0) + 1}


def insert(into: Any, doc: Doc) -> bool:
    """Insert a document, under a new id each time; False for a duplicate."""
    try:
        into.insert_one({k: v for k, v in doc.items() if k != "_id"})
    except DuplicateKeyError:
        return False
    return True


def duplicate_is_success(id: str, mark: str) -> bool:
    doc = marked(newest(id), mark)
    try:
        return insert(docs, doc)
    except AutoReconnect:
        insert(docs, doc)
        return True  # "a duplicate: it must have been mine"


def flagged(id: str, mark: str) -> bool:
    base = newest(id)
    if not twice(lambda: insert(docs, marked(base, mark) | {"current": True})):
        return False
    twice(lambda: docs.update_one({"docId": id, "v": base["v"]}, {"$unset": {"current": ""}}))
    return True


def embedded(id: str, mark: str) -> bool:
    base = read(lambda: docs.find_one({"_id": id}))["current"]
    change = {"$set": {"current": marked(base, mark)}, "$push": {"prev": base}}
    return bool(twice(lambda: docs.update_one({"_id": id, "current.v": base["v"]}, change)).matched_count)


def swap(id: str, base: Doc, mark: str) -> bool:
    return bool(twice(lambda: docs.replace_one({"_id": id, "v": base["v"]}, marked(base, mark))).matched_count)


def current_first(id: str, mark: str) -> bool:
    base = read(lambda: docs.find_one({"_id": id}))
    if not swap(id, base, mark):
        return False
    twice(lambda: insert(past, base | {"docId": id}))
    return True


def archive_inserted(id: str, mark: str) -> bool:
    base = read(lambda: docs.find_one({"_id": id}))
    # A duplicate: "somebody else is about to update this document".
    return bool(twice(lambda: insert(past, base | {"docId": id}))) and swap(id, base, mark)


def archive_set(id: str, mark: str) -> bool:
    base = read(lambda: docs.find_one({"_id": id}))
    body = {name: value for name, value in base.items() if name not in ("_id", "v")}
    twice(lambda: past.update_one({"docId": id, "v": base["v"]}, {"$set": body}, upsert=True))
    return swap(id, base, mark)


def raised_twice(id: str, mark: str) -> bool:
    return bool(twice(lambda: docs.update_one({"_id": id}, {"$inc": {mark: 1}}, upsert=True)))


def two_steps(id: str, mark: str) -> bool:
    from bson import ObjectId

    token = ObjectId()
    twice(lambda: docs.update_one({"_id": id}, {"$addToSet": {"pending": token}}, upsert=True))
    change = {"$pull": {"pending": token}, "$inc": {mark: 1}}
    twice(lambda: docs.update_one({"_id": id, "pending": token}, change))
    return True


def replaced(id: str, mark: str) -> bool:
    doc = read(lambda: docs.find_one({"_id": id}))
    twice(lambda: docs.replace_one({"_id": id}, doc | {mark: doc.get(mark, 0) + 1}))
    return True


MISTAKES = {
    "duplicate-is-success": duplicate_is_success,
    "flagged": flagged,
    "embedded": embedded,
    "current-first": current_first,
    "archive-inserted": archive_inserted,
    "archive-set": archive_set,
    "raised-twice": raised_twice,
    "two-steps": two_steps,
    "replaced": replaced,
}


def tell(told: str, id: str, mark: str) -> None:
    comment = {"told": told, "ns": "shop.docs", "id": id, "inc": {mark: 1}}
    read(lambda: client.shop.command({"ping": 1, "comment": comment}))


def write(edit: Callable[[str, str], bool], mark: str, edits: int) -> None:
    for _ in range(edits):
        id, told = sys.argv[3], "unknown"
        try:
            if any(edit(id, mark) for _ in range(TRIES)):
                told = "applied"
        except AutoReconnect:
            pass
        tell(told, id, mark)


if __name__ == "__main__":
    name, edits = sys.argv[1], int(sys.argv[2])
    threads = [threading.Thread(target=write, args=(MISTAKES[name], f"w{n}", edits)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
