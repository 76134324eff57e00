"""The types that a server's filters may name: a server may refuse the number of a type that it cannot store.

The server is asked; its version or product name proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from model.errors import OF_CIRCUMSTANCE, Refused
from model.server.port import Port, Terms
from model.values import canonical as c


def takes_types(server: Port, ns: str, kinds: Sequence[int]) -> bool:
    """Whether filters may name some types, tested by a query for one document; raises its other errors."""
    named = [-1 if kind == c.MIN_KEY else kind for kind in kinds]
    try:
        next(server.find(ns, {"_id": {"$type": named}}, projection={"_id": 1}, limit=1), None)
    except OF_CIRCUMSTANCE:
        raise
    except Refused:
        return False
    return True


def names_decimals(filter: Terms) -> bool:
    """Whether a list of types in a filter contains decimals."""
    return bool(without_decimals(filter) != filter)


def without_decimals(filter: Terms) -> Terms:
    """A filter without decimals in its lists of types: it means the same on a server that stores none."""
    made: Terms = _without(filter)
    return made


def _without(part: Any) -> Any:
    if isinstance(part, list):
        return [_without(each) for each in part]
    if not isinstance(part, Mapping):
        return part
    made = {name: _without(each) for name, each in part.items()}
    types = made.get("$type")
    if isinstance(types, list):
        made["$type"] = [kind for kind in types if kind != c.DECIMAL128] or types
    return made
