"""The program without what makes its plans resumable, to be convicted."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tests.killed_plans.scenes import command_at_once


def forgetting_what_is_done(words: list[str]) -> int:
    """Changes documents without what their plan saw and did."""
    from model.operations.changing import Changing

    real: Any = Changing.load
    Changing.load = lambda *asked: replace(real(*asked), kept=False)  # type: ignore[method-assign]
    return command_at_once(words)


def forgetting_the_journal(words: list[str]) -> int:
    """Erases fields, and not from the journal."""
    from model.userdata.journal import Journal

    Journal.erase = lambda *_: 0  # type: ignore[method-assign]
    return command_at_once(words)


def forgetting_the_copies(words: list[str]) -> int:
    """Removes versions, and keeps no copy of what goes."""
    from model.repair.steps import RepairContext

    real: Any = RepairContext.removed
    RepairContext.removed = lambda *asked, **more: replace(real(*asked, **more), keep=None)  # type: ignore[method-assign]
    return command_at_once(words)


SUBJECTS = {
    "change": forgetting_what_is_done,
    "erase": forgetting_the_journal,
    "retain": forgetting_the_copies,
}
"""By the kind of plan."""
