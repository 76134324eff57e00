"""Typed values: a value converted to another type, and text that needs several lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from PySide6.QtCore import SignalInstance
from PySide6.QtWidgets import QMenu

from gui.language import tr
from gui.style import wording
from model import text
from model.errors import Refused
from model.values.canonical import DOUBLE, INT32, NULL, OBJECT_ID, STRING, UNDEFINED, Value
from model.values.kinds import BY_NAME, NUMBERS

if TYPE_CHECKING:
    from model.values.canonical import Path, Value


LONG_TEXT = 120  # characters; longer strings are edited in several lines


def converted(value: Value, kind: str, zone: str) -> Value:
    """A value as another type; raises ``Refused`` if that would change the value."""
    if value.type in (NULL, UNDEFINED) and not BY_NAME[kind].word:
        raise Refused(tr("Type the {kind}.", kind=kind))
    shown = text.editable(value, zone)
    if value.type == OBJECT_ID and kind == "String":
        shown = value.data.hex()
    made = text.parsed(shown, kind, zone)
    if are_numbers(value, kind) and _number(shown) != _number(text.editable(made, zone)):
        raise Refused(
            tr(
                "Not exact as {kind}: it would be {made}. Type the value you mean.",
                kind=kind,
                made=text.shown(made, zone),
            )
        )
    return made


def are_numbers(value: Value, kind: str) -> bool:
    """Whether a value is a number, and the other type a type of numbers."""
    return value.type in NUMBERS and BY_NAME[kind].is_number


def _number(shown: str) -> Decimal | str:
    try:
        number = Decimal(shown)
    except InvalidOperation:
        return shown
    return number if number == number else "NaN"


def as_lines(value: Value) -> str | None:
    """A String's text if several lines are better for editing it; None if one line shows it exactly."""
    if value.type != STRING:
        return None
    try:
        whole = str(value.python())
        whole.encode()
    except (Refused, UnicodeEncodeError):
        return None
    # A text document changes these characters; the quoted form in one line keeps them.
    if re.search("[\r\0\u2028\u2029\ufdd0\ufdd1\ufffc]", whole):
        return None
    return whole if "\n" in whole or len(whole) > LONG_TEXT else None


def condition_on(steps: Sequence[object], value: Value | None) -> str:
    """A filter for the field at a path or of a key; positions and identities in arrays are left out, as in filters."""
    name = text.value_text(Value.of(".".join(step for step in steps if isinstance(step, str))))
    if value is None or value.is_container:
        return f'{{ {name}: {{ "$exists": true }} }}'
    plainly = value.type in (INT32, DOUBLE)  # types that reading makes of such a number anyway
    return f"{{ {name}: {text.shown(value) if plainly else text.value_text(value)} }}"


def add_ways(
    menu: QMenu, path: Path, value: Value | None, v: Value | None, field: SignalInstance, find: SignalInstance
) -> None:
    """Add both actions to a menu; ``field`` gets the path and its version, ``find`` a filter to start with."""
    name = wording.item(text.path_text(path))
    history = menu.addAction(tr("History of {name}", name=name))
    history.setToolTip(wording.tip(history.text()))
    history.triggered.connect(lambda: field.emit(path, v))
    filter = condition_on(path, value)
    menu.addAction(tr("Find when this became true…")).triggered.connect(lambda: find.emit(filter))
