"""Documents and values as text, for programs and for people, and back in without loss.

:func:`to_text` is canonical Extended JSON, exact both ways for every document whose bytes can be walked. Three
escape forms of its own write documents that Extended JSON cannot:

``{"$fields": [["name", value], …]}``
    a document that would be read as a typed value (a plain field called ``$oid``, or ``$ref`` and ``$id`` out of
    their order), or that has several fields of one name;
``{"$elements": [["position", value], …]}``
    an array whose stored positions are not 0, 1, 2 …;
``{"$raw": {"type": "01", "hex": "010000000000f87f"}}``
    a payload without a notation: NaN with a payload, a Decimal128 not in normal form, a boolean of 2, regex flags
    out of order. The type is BSON's element type.

Bytes of a string or name that are no UTF-8 are half characters, ``\\udc80`` to ``\\udcff``, one for each byte.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from model.foundation.hidden_characters import plain, visible

if TYPE_CHECKING:
    from model.text.display import shown
    from model.text.extended_json import (
        any_document,
        any_notation,
        from_text,
        json_object,
        loose,
        loose_value,
        readable,
        relaxed,
        relaxed_value,
        to_text,
        to_utf8,
        value_from_text,
        value_text,
    )
    from model.text.json_writer import Style
    from model.text.paths import fitted, name_text, path_from_text, path_text
    from model.text.value_editing import KINDS, blank, editable, parsed

__all__ = [
    "KINDS",
    "Style",
    "any_document",
    "any_notation",
    "blank",
    "editable",
    "fitted",
    "from_text",
    "json_object",
    "loose",
    "loose_value",
    "name_text",
    "parsed",
    "path_from_text",
    "path_text",
    "plain",
    "readable",
    "relaxed",
    "relaxed_value",
    "shown",
    "to_text",
    "to_utf8",
    "value_from_text",
    "value_text",
    "visible",
]

_PARTS = {
    "display": ("shown",),
    "extended_json": (
        *("any_document", "any_notation", "from_text", "json_object", "loose", "loose_value", "readable", "relaxed"),
        *("relaxed_value", "to_text", "to_utf8", "value_from_text", "value_text"),
    ),
    "json_writer": ("Style",),
    "paths": ("fitted", "name_text", "path_from_text", "path_text"),
    "value_editing": ("KINDS", "blank", "editable", "parsed"),
}
"""The names that this package offers, by file; each is imported on first use, because a window starts without them."""


def __getattr__(name: str) -> object:
    """Import an offered name, and keep it here."""
    for part, names in _PARTS.items():
        if name in names:
            found: object = getattr(importlib.import_module(f"{__name__}.{part}"), name)
            return globals().setdefault(name, found)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
