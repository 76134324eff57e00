"""Hits: what the palette can find."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Hit(Struct, frozen=True):
    """A command or a collection that can be found: ``call`` does or opens it, unless ``why`` says why not."""

    text: str
    call: Callable[[], object]
    icon: str = ""
    remark: str = ""
    badge: str = ""
    why: str = ""  # it cannot be done now
