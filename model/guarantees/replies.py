"""Abilities of a server besides storing: remembering retried writes, change streams, keeping time."""

from __future__ import annotations

import datetime as dt
from typing import Any

from bson import Int64, ObjectId

from model.errors import NotAllowed, Refused, Unreachable
from model.guarantees.scratch import Scratch
from model.server.driver import next_number
from model.values.canonical import Value

_WAIT_MS = 1000
_TRIES = 5
_END_OF_TIME = 253_402_300_800_000


def times_counted(scratch: Scratch) -> int:
    """Send one numbered ``$inc`` twice, like a driver that never saw the first answer; how often it took effect.

    0 if it was refused.
    """
    id = Value.of(ObjectId())
    scratch.command({"insert": "retries", "documents": [{"_id": id, "n": 0}]})
    session = scratch.server.session()
    command = {
        "update": "retries",
        "updates": [{"q": {"_id": id}, "u": {"$inc": {"n": 1}}}],
        # Both times with one number in one session: by these a server knows a repetition.
        "txnNumber": Int64(1 if session is None else next_number(session)),
    }
    try:
        for _ in range(2):
            scratch.command(command, session)
    except (NotAllowed, Unreachable):
        raise  # if this user has no right, or the server is silent, nothing is known
    except Refused:
        return 0
    found = scratch.command({"find": "retries", "filter": {"_id": id}})
    return int(found["cursor"]["firstBatch"][0]["n"])


def tells_of_changes(scratch: Scratch) -> str:
    """Why there is no change stream; "" if one reported an insert."""
    scratch.command({"insert": "changes", "documents": [{"_id": 0}]})
    session = scratch.server.session()
    try:
        opened = scratch.command({"aggregate": "changes", "pipeline": [{"$changeStream": {}}], "cursor": {}}, session)
        scratch.command({"insert": "changes", "documents": [{"_id": 1}]})
        cursor: Any = opened["cursor"]["id"]
        events = list(opened["cursor"]["firstBatch"])
        for _ in range(_TRIES):
            if any(event.get("operationType") == "insert" for event in events):
                return ""
            if not cursor:
                break
            more = {"getMore": Int64(cursor), "collection": "changes", "maxTimeMS": _WAIT_MS}
            events = list(scratch.command(more, session)["cursor"]["nextBatch"])
    except (NotAllowed, Unreachable):
        raise
    except Refused as error:
        return str(error)
    return "The server opens one and reports nothing."


def clock(scratch: Scratch) -> dt.timedelta | None:
    """How far the server's clock is ahead of this computer's, within half a reply's time; None if unknown."""
    before = dt.datetime.now(dt.UTC)
    try:
        said = scratch.command({"hello": 1}).get("localTime")
    except Unreachable:
        raise
    except Refused:
        try:
            said = scratch.command({"isMaster": 1}).get("localTime")
        except Unreachable:
            raise
        except Refused:
            return None
    after = dt.datetime.now(dt.UTC)
    if isinstance(said, int) and not isinstance(said, bool):  # milliseconds, from servers that are not MongoDB
        said = dt.datetime.fromtimestamp(said / 1000, dt.UTC) if 0 <= said < _END_OF_TIME else None
    if not isinstance(said, dt.datetime):
        return None
    at = said if said.tzinfo is not None else said.replace(tzinfo=dt.UTC)
    middle = before + (after - before) / 2
    # The server has read its clock at any moment between both; a difference within that is none.
    spare = (after - before) / 2 + dt.timedelta(milliseconds=2)
    off = at - middle
    return dt.timedelta(0) if abs(off) <= spare else off
