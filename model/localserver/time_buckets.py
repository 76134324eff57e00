"""The buckets in which a server stores a time series, turned back into its measurements."""

from __future__ import annotations

from model.errors import Unreadable
from model.values import canonical as c
from model.values.canonical import Value


class Compressed(Exception):
    """A bucket's columns are compressed."""


def measurements(bucket: bytes, time_field: str, meta_field: str) -> list[bytes]:
    """The measurements of a bucket, in order: first the time, then the common metadata, then the other fields.

    A measurement without a field has no entry in that field's column. Raises ``Compressed``, and ``Unreadable`` if it
    is not a bucket.
    """
    fields = dict(c.fields(bucket))
    data, meta = fields.get("data"), fields.get("meta")
    if data is None or data.type != c.OBJECT:
        raise Unreadable("A bucket has its columns under data.")
    columns = dict(c.fields(data.data))
    if any(column.type != c.OBJECT for column in columns.values()):
        raise Compressed
    names = sorted(columns, key=lambda name: name != time_field)  # all others keep their order
    shared = [(meta_field, meta)] if meta is not None and meta_field else []
    rows: dict[int, list[tuple[str, Value]]] = {}
    for name in names:
        for position, value in c.fields(columns[name].data):
            if not position.isdecimal() or len(position) > 9:
                raise Unreadable(f"{position} is not a position in a column.")
            row = rows.setdefault(int(position), [])
            row.append((name, value))
            if name == time_field:
                row += shared
    return [c.document(row) for _, row in sorted(rows.items())]
