"""The shards that a router asks for what matches a filter, told by the rows of ``config.chunks``.

Source: "Targeted Operations vs. Broadcast Operations" in the MongoDB manual.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import bson
import pymongo

from model.mql.filters import Matcher, compile_filter
from model.mql.order import ABOVE_ALL, Key, key
from model.server.port import bson_of
from model.values import canonical as c
from model.values.canonical import Value


def shards_of(filter: Mapping[str, Any] | None, uri: str) -> set[str]:
    """The shards of the one sharded collection that a filter concerns: all if it does not use the first key field."""
    matcher = compile_filter(bson_of(filter or {}))
    with pymongo.MongoClient[Any](uri) as client:
        rows = [bytes(row.raw) for row in client.config.get_collection("chunks", RAW).find()]
    return {str(each["shard"]) for row in rows if _has(row, matcher) for each in (bson.decode(row),)}


RAW: Any = bson.CodecOptions(document_class=bson.raw_bson.RawBSONDocument)


def _has(chunk: bytes, matcher: Matcher) -> bool:
    (field, low), *others = c.fields(_bound(chunk, "min"))
    since, before = _key(low), _key(dict(c.fields(_bound(chunk, "max")))[field])

    def begins(value: Key) -> bool:
        return value <= before if others else value < before  # one value of the first field may be in several chunks

    equal = matcher.equal.get(field)
    if equal is not None and not any(since <= each and begins(each) for each in equal):
        return False
    for operator, end in matcher.bounds.get(field, ()):
        bracket = (end[:1], (end[0] + 1,))  # operators compare values of one type
        if operator in ("$gt", "$gte"):
            reached = begins(end) and since < bracket[1]
        else:
            reached = (since < end or (operator == "$lte" and since == end)) and bracket[0] < before
        if not reached:
            return False
    return True


def _bound(chunk: bytes, name: str) -> bytes:
    found = c.get(chunk, (name,))
    assert found is not None
    return found.data


def _key(value: Value) -> Key:
    return ABOVE_ALL if value.type == c.MAX_KEY else key(value.type, value.data)
