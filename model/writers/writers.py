"""The programs whose histories are known: one preset each, a file in ``resources/writers``.

A preset holds profile keys, a title, the reason why its documents are not edited from here, and a signature: the name
of the collection with the rows (``{name}`` is the documents' collection), and the fields that every row has.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from msgspec import Struct

from model.errors import Refused

OWN_KEYS = ("title", "why_no_edit", "signature")


class WriterPreset(Struct, frozen=True):
    """One program that writes histories."""

    name: str  # its name in profiles
    title: str  # its usual name
    why_no_edit: str  # continues the title in a sentence: the reason, and what to do instead
    archive: str  # the name of the collection with the rows, with {name} for the documents'
    fields: tuple[str, ...]  # paths that every row has
    keys: Mapping[str, Any]  # profile keys, as in TOML


@cache
def presets() -> Mapping[str, WriterPreset]:
    """All presets by name."""
    found = {}
    for file in sorted(files("resources").joinpath("writers").iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            data = tomllib.loads(file.read_text(encoding="utf-8"))
            name, signature = file.name.removesuffix(".toml"), data["signature"]
            keys = {key: value for key, value in data.items() if key not in OWN_KEYS}
            found[name] = WriterPreset(
                name, data["title"], data.get("why_no_edit", ""), signature["archive"], tuple(signature["fields"]), keys
            )
    return found


def preset(name: str) -> WriterPreset:
    """One preset; raises ``Refused`` for an unknown program."""
    found = presets().get(name)
    if found is None:
        raise Refused(f"There is no writer {name!r}; the writers are {', '.join(presets())}.")
    return found


def why_no_edit(writer: str) -> str:
    """Why documents of a known program are not edited from here, one sentence; "" if they are."""
    known = presets().get(writer)
    return f"{known.title} {known.why_no_edit}." if known is not None and known.why_no_edit else ""


def title(writer: str) -> str:
    """A program's usual name; its name in profiles if there is no preset."""
    known = presets().get(writer)
    return known.title if known is not None else writer
