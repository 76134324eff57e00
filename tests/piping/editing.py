"""Edits through the code that `palimpsest adopt` writes, told to the pipe: ``editing.py FOLDER NS EDITS``."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import pymongo
import pymongo.common
from pymongo.errors import AutoReconnect

pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02  # else each fault costs half a second
WRITERS, OF_ONE = 3, 20
folder, ns, edits = sys.argv[1], sys.argv[2], int(sys.argv[3])
sys.path.insert(0, folder)

from versioned_documents import NotSaved, Unknown, VersionedDocuments  # type: ignore[import-not-found]  # noqa: E402

client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(os.environ["PALIMPSEST_PIPE"], retryWrites=False)
docs = VersionedDocuments(client)


def tell(told: str, id: str, mark: str) -> None:
    """As it is told to a user."""
    while True:
        try:
            client.shop.command({"ping": 1, "comment": {"told": told, "ns": ns, "id": id, "inc": {mark: 1}}})
            return
        except AutoReconnect:
            continue


def outcome(save: Any) -> str:
    """What the code says of a save."""
    try:
        save()
    except NotSaved:
        return "refused"
    except Unknown:
        return "unknown"
    return "applied"


def write(mark: str) -> None:
    """Edit one document after another; whoever comes first creates it."""
    for number in range(edits):
        id = f"K-{number // OF_ONE}"
        if docs.read(id) is None:
            tell(outcome(lambda: docs.create(id, {mark: 1})), id, mark)  # noqa: B023
        else:
            tell(outcome(lambda: docs.edit(id, lambda doc: doc | {mark: doc.get(mark, 0) + 1})), id, mark)  # noqa: B023


threads = [threading.Thread(target=write, args=(f"w{n}",)) for n in range(WRITERS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
