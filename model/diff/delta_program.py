"""A difference as a Python program for other people: a DeepDiff Delta over documents as PyMongo decodes them.

DeepDiff's Delta ignores the order of fields, so the program reorders them afterwards. It is first run here on the
decoded document, and only returned if its result equals the other document byte for byte.
"""

from __future__ import annotations

from typing import Any

from bson import decode, encode
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.errors import BSONError

from model.diff.deepdiff_tree import text_view
from model.errors import Refused
from model.values.canonical import Value

_PROGRAM = """\
{title}# pip install deepdiff pymongo
from bson import json_util
from bson.codec_options import DatetimeConversion
from deepdiff import Delta

CHANGES = {changes}
ORDERS = {orders}


def apply(document):
    \"\"\"The document with the changes: a dict as PyMongo decodes it, before and after.\"\"\"
    options = json_util.JSONOptions(
        json_mode=json_util.JSONMode.CANONICAL, tz_aware=False, tzinfo=None,
        datetime_conversion=DatetimeConversion.DATETIME_AUTO,
    )
    changed = document + Delta(json_util.loads(CHANGES, json_options=options), raise_errors=True, log_errors=False)
    for path, names in ORDERS:
        inside = changed
        for step in path:
            inside = inside[step]
        fields = {{name: inside[name] for name in names}}
        inside.clear()
        inside.update(fields)
    return changed
"""
_OPTIONS: CodecOptions[dict[str, Any]] = CodecOptions(datetime_conversion=DatetimeConversion.DATETIME_AUTO)
_WHY_NOT = "A DeepDiff Delta cannot say this difference exactly; take another format, such as json-patch."


def program(a: bytes, b: bytes, title: str) -> str:
    """The program; raises ``Refused`` if its result would not be ``b``."""
    try:
        before, wanted = decode(a, _OPTIONS), decode(b, _OPTIONS)
    except BSONError as error:
        raise Refused(f"PyMongo cannot decode this document, so no Delta fits it ({error}).") from None
    changes = text_view(Value.document(a), Value.document(b))
    heading = "".join(f"# {line}\n" for line in title.splitlines())
    orders: list[tuple[list[str | int], list[str]]] = []
    for _ in range(2):  # first without orders, to see where the Delta changes the order
        made = _PROGRAM.format(title=heading, changes=repr(changes), orders=repr(orders))
        result = _run(made, before)
        if encode(result) == b:
            return made
        orders = _orders(result, wanted)
    raise Refused(_WHY_NOT)


def _run(made: str, before: dict[str, Any]) -> dict[str, Any]:
    there: dict[str, Any] = {}
    try:
        exec(compile(made, "delta", "exec"), there)
        found: dict[str, Any] = there["apply"](before)
    except Exception as error:
        raise Refused(_WHY_NOT) from error
    return found


def _orders(found: Any, wanted: Any) -> list[tuple[list[str | int], list[str]]]:
    """The documents whose fields have another order, outermost first, each with the order wanted."""
    made: list[tuple[list[str | int], list[str]]] = []
    stack: list[tuple[list[str | int], Any, Any]] = [([], found, wanted)]
    while stack:
        path, x, y = stack.pop()
        if isinstance(x, dict) and isinstance(y, dict) and set(x) == set(y):
            if list(x) != list(y):
                made.append((path, list(y)))
            stack += [([*path, name], x[name], y[name]) for name in y]
        elif isinstance(x, list) and isinstance(y, list) and len(x) == len(y):
            stack += [([*path, i], x[i], y[i]) for i in range(len(y))]
    return made
