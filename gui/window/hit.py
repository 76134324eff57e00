"""Hits of the palette."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct


class Hit(Struct, frozen=True):
    """A command or collection that was found: ``call`` runs or opens it, unless ``why`` says why that is impossible."""

    text: str
    call: Callable[[], object]
    icon: str = ""
    remark: str = ""
    badge: str = ""
    why: str = ""  # why it cannot be done now
    command: str = ""  # of the command line, by which it is found as well
