"""Filters to begin from: that a field has a value, or that it is there."""

from __future__ import annotations

from collections.abc import Sequence

from model import text
from model.values.canonical import DOUBLE, INT32, Value


def condition_on(steps: Sequence[object], value: Value | None) -> str:
    """A filter on the field at a path, or of a key: positions and identities in arrays are left out, as filters do."""
    name = text.value_text(Value.of(".".join(step for step in steps if isinstance(step, str))))
    if value is None or value.is_container:
        return f'{{ {name}: {{ "$exists": true }} }}'
    plainly = value.type in (INT32, DOUBLE)  # which reading takes for the same type again
    return f"{{ {name}: {text.shown(value) if plainly else text.value_text(value)} }}"
