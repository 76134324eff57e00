"""The five things that the welcome page leads a newcomer to, each at its place in the sample."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Action: TypeAlias = Literal["compare", "map", "race", "restore", "repair"]


class Thing(Struct, frozen=True):
    """A thing to try: the place where it opens, and the instructions."""

    title: str
    subtitle: str
    ns: str
    id: str  # as text; "" if the whole collection is meant
    action: Action
    versions: tuple[int, ...] = ()  # compare: A and B; restore: the one to restore from
    key: str = ""  # its shortcut


THINGS = (
    Thing(
        "Compare two versions",
        "K-204117: pick v11 and v14 on the timeline",
        "insurance.contracts",
        "K-204117",
        "compare",
        (11, 14),
        "Ctrl+D",
    ),
    Thing(
        "See who changed what",
        "Change map of K-118240: 30 fields, 60 versions",
        "insurance.contracts",
        "K-118240",
        "map",
        (),
        "Ctrl+Shift+B",
    ),
    Thing(
        "Lose a race, and keep your edit",
        "Save a document that someone else has just changed",
        "insurance.contracts",
        "K-204117",
        "race",
        (),
        "Ctrl+S",
    ),
    Thing(
        "Bring back an old value",
        "Restore one field from v3, then undo it",
        "insurance.contracts",
        "K-204117",
        "restore",
        (3,),
    ),
    Thing(
        "Repair 31 findings",
        "See what would be written before anything is",
        "insurance",
        "",
        "repair",
    ),
)
