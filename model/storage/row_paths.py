"""Paths into rows of other programs: names separated by dots; a number selects an array element."""

from __future__ import annotations

from model.values import canonical as c
from model.values.canonical import Value


def value_at(raw: bytes, path: str) -> Value | None:
    """The value at a path, None if missing; "" is the whole document."""
    here: Value | None = Value.document(raw)
    for step in path.split(".") if path else ():
        if here is None:
            return None
        if here.type == c.ARRAY and step.isdigit():
            items = c.items(here)
            here = items[int(step)] if int(step) < len(items) else None
        elif here.type == c.OBJECT:
            here = c.get(here.data, (step,))
        else:
            return None
    return here
