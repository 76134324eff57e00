"""Values as they are typed: a value as another type, and text that needs several lines."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

from gui.language import tr
from model import text
from model.errors import Refused
from model.values.canonical import NULL, OBJECT_ID, STRING, UNDEFINED, Value

NUMBERS = frozenset(("Int32", "Int64", "Double", "Decimal128"))
LONG_TEXT = 120  # characters: longer strings are typed into several lines


def converted(value: Value, kind: str, zone: str) -> Value:
    """A value as another type; raises ``Refused`` where it would be another value."""
    if value.type in (NULL, UNDEFINED) and kind not in ("Null", "MinKey", "MaxKey"):
        raise Refused(tr("Type the {kind}.", kind=kind))
    shown = text.editable(value, zone)
    if value.type == OBJECT_ID and kind == "String":
        shown = value.data.hex()
    made = text.parsed(shown, kind, zone)
    if value.kind in NUMBERS and kind in NUMBERS and _number(shown) != _number(text.editable(made, zone)):
        raise Refused(
            tr(
                "Not exact as {kind}: it would be {made}. Type the value you mean.",
                kind=kind,
                made=text.shown(made, zone),
            )
        )
    return made


def _number(shown: str) -> Decimal | str:
    try:
        number = Decimal(shown)
    except InvalidOperation:
        return shown
    return number if number == number else "NaN"


def as_lines(value: Value) -> str | None:
    """A String's own text where it is better typed into several lines; None where one line shows it exactly."""
    if value.type != STRING:
        return None
    try:
        whole = str(value.python())
        whole.encode()
    except (Refused, UnicodeEncodeError):
        return None
    # A text document keeps these as something else; the quoted form in one line keeps them as they are.
    if re.search("[\r\0\u2028\u2029\ufdd0\ufdd1\ufffc]", whole):
        return None
    return whole if "\n" in whole or len(whole) > LONG_TEXT else None
