"""The indexes of a collection, with how often the server has used each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from model import text
from model.errors import Refused
from model.server.port import Port, bson_of
from model.values import canonical
from model.values.canonical import Value

NOT_COUNTED = "This server does not count how often its indexes are used ($indexStats)."


class IndexUse(Struct, frozen=True):
    """One index; ``uses`` is None if the server does not tell."""

    name: str
    keys: str  # as typed: { status: 1, at: -1 }
    traits: tuple[str, ...]  # unique, sparse, "only where …", "expires after 1 h"
    uses: int | None
    since: dt.datetime | None  # from when on they are counted


class Indexes(Struct, frozen=True):
    """All indexes of a collection; ``note`` says why their use is not known, one sentence, else ""."""

    rows: tuple[IndexUse, ...]
    note: str = ""


def indexes_in_use(port: Port, ns: str) -> Indexes:
    """The indexes as the server lists them, and their use if it counts that."""
    listed = port.indexes(ns)
    note, use = "", {}
    try:
        for raw in port.aggregate(ns, [{"$indexStats": {}}]):
            row = canonical.decode(raw)
            use[str(row.get("name"))] = _use(row.get("accesses"))
    except Refused:
        note = NOT_COUNTED
    rows = [_row(spec, *use.get(str(spec.get("name")), (None, None))) for spec in listed]
    if not note and listed and not any(name in use for name in (row.name for row in rows)):
        note = NOT_COUNTED
    return Indexes(tuple(rows), note)


def keys_text(keys: Mapping[str, Any]) -> str:
    """The fields of an index as a person types them: ``{ status: 1, "holder.name": -1 }``."""
    plain = {name: int(way) if isinstance(way, float) and way == int(way) else way for name, way in keys.items()}
    return text.shown(Value.document(bson_of(plain)), limit=400)


def _use(accesses: object) -> tuple[int | None, dt.datetime | None]:
    if not isinstance(accesses, Mapping):
        return None, None
    since = accesses.get("since")
    if isinstance(since, dt.datetime) and since.tzinfo is None:
        since = since.replace(tzinfo=dt.UTC)
    return int(accesses.get("ops", 0)), since if isinstance(since, dt.datetime) else None


def _row(spec: Mapping[str, Any], uses: int | None, since: dt.datetime | None) -> IndexUse:
    traits = [name for name in ("unique", "sparse", "hidden") if spec.get(name)]
    if spec.get("name") == "_id_" and "unique" not in traits:
        traits.insert(0, "unique")
    if (partial := spec.get("partialFilterExpression")) is not None:
        traits.append(f"only where {text.shown(Value.document(bson_of(partial)), limit=200)}")
    if (seconds := spec.get("expireAfterSeconds")) is not None:
        traits.append(f"documents expire after {int(seconds):,} s")
    return IndexUse(str(spec.get("name", "")), keys_text(spec.get("key", {})), tuple(traits), uses, since)
