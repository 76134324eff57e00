"""The names of layouts and patterns without their classes, for the grammar of the command line.

A new layout is one name here: :mod:`model.layouts.registry` finds its class, in the module of that name.
"""

from __future__ import annotations

READ_ONLY_LAYOUTS = ("shadow", "patches", "log")
LAYOUT_NAMES = (
    *("embedded", "nested", "versions", "flagged", "deltas", "archive", "stream"),
    *("shadow", "patches", "hashed", "log", "plain"),
)
WRITABLE_LAYOUTS = tuple(name for name in LAYOUT_NAMES if name not in READ_ONLY_LAYOUTS)
ADOPTED_LAYOUTS = ("archive", "versions", "embedded")
"""The layouts that a plain collection can be moved to with code that saves into it."""
STANDING_LAYOUTS = ("stream", "hashed")
"""The layouts that tell how a collection stands (:attr:`.Layout.standing`); the others need not be loaded for it."""
PATTERN_NAMES = ("pending", "sequence", "processed")
