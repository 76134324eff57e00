"""Whether a document survives being decoded and encoded by a driver, and if not, why (class B1)."""

from __future__ import annotations

import bson
from bson.codec_options import CodecOptions

from model.errors import Unreadable
from model.storage.reserved_fields import unreadable
from model.values import canonical as c
from model.values.canonical import Value

# The default options of a program: a loss with these is damage, although nothing is lost here.
USUAL: CodecOptions[dict[str, object]] = CodecOptions(document_class=dict)
FLAGS = b"ilmsux"  # the flags of a regular expression, in stored order
FIRST_DATE, LAST_DATE = -62_135_596_800_000, 253_402_300_799_999  # milliseconds of the years 1 to 9999
_TYPES = {
    c.SYMBOL: "a symbol, which comes back as text",
    c.DB_POINTER: "a DBPointer, which comes back as a reference",
    c.UNDEFINED: "undefined, which comes back as null",
}


def damage_of(raw: bytes) -> str:
    """Why a document cannot be decoded, or comes back as other bytes, in a few words; "" if it survives."""
    if c.walker is not None and c.walker.survives(raw):
        return ""
    try:
        decoded = c.decode(raw, USUAL)
        if bson.encode(decoded, codec_options=USUAL) == raw:
            return ""
        # The driver moves an `_id` to the front only at the top of a document.
        if bson.encode({"": decoded}, codec_options=USUAL)[6:-1] == raw:
            return ""
    except (Unreadable, bson.errors.BSONError, ValueError, OverflowError, RecursionError, TypeError):
        pass
    try:
        return unreadable(raw) or _damage_inside(raw) or "comes back as other bytes once it is written again"
    except (Unreadable, RecursionError):
        return "does not decode"


def _damage_inside(raw: bytes) -> str:
    for name, value in c.fields(raw):
        if value.type in _TYPES:
            return f"holds {_TYPES[value.type]}"
        if value.type == c.REGEX and not _usual_flags(value.data.split(b"\0")[1]):
            return "holds a regular expression with odd flags"
        if value.type == c.DATE and not FIRST_DATE <= int.from_bytes(value.data, "little", signed=True) <= LAST_DATE:
            return "holds a date outside of the years 1 to 9999"
        if value.is_container and (inner := _damage_inside(value.data)):
            return inner
        if not _is_text(name, value):
            return "holds text that is not UTF-8"
    return ""


def _usual_flags(flags: bytes) -> bool:
    return flags == bytes(flag for flag in FLAGS if flag in flags)


def _is_text(name: str, value: Value) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeError:
        return False
    return value.type != c.REGEX or b"\xff" not in value.data
