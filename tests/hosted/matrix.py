"""Each action on each server, compared with MongoDB: it works, it says why not, or it is wrong."""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import pymongo.common
import pytest

from tests.hosted.actions import Action
from tests.hosted.bench import SHOP, Bench, Told, fill, told
from tests.servers.hosted_server import PROFILES, HostedServer, Refusal, ServerProfile

Verdict: TypeAlias = Literal["works", "part", "says", "wrong"]
"""``part``: of several things some were done, and the others say why not; or all was, and it says why there is no way
back. ``says``: nothing was written."""
MODEL = PROFILES["mongodb"]
_NO_WAY_BACK = re.compile(r"This cannot be undone\. This server .*\.")
_CURRENT = re.compile(r"docId:String=K-\d v:Int32=3 .*price:Double=3.0 ")


@dataclass(frozen=True)
class Cell:
    """The end of one action on one server, and what was said where it is not the same as on a MongoDB."""

    verdict: Verdict
    said: str = ""


@contextlib.contextmanager
def _driver_for(profile: ServerProfile) -> Iterator[None]:
    """A driver as old as a server, where the one that is installed does not speak to it any more."""
    with pytest.MonkeyPatch.context() as patch:
        oldest = pymongo.common.MIN_SUPPORTED_WIRE_VERSION
        patch.setattr(pymongo.common, "MIN_SUPPORTED_WIRE_VERSION", min(profile.wire, oldest))
        yield


def done(action: Action, profile: ServerProfile, stock: ServerProfile | None = None) -> tuple[Told, Told]:
    """What was on a server before an action, and what the action came to.

    ``stock`` is the profile whose documents are there; else its own.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
        _driver_for(profile),
        HostedServer(profile) as server,
    ):
        patch.setenv("PALIMPSEST_HOME", str(Path(folder) / "home"))
        fill(server, stock or profile)
        bench = Bench(server.address, Path(folder))
        before = told(bench, server)
        action.work(bench)
        return before, told(bench, server)


def judged(action: Action, before: Told, here: Told, there: Told) -> Cell:
    """The verdict on what an action came to ``here``, as compared with ``there``."""
    said = here.sentences
    if "Traceback" in said or "defect of palimpsest" in said:
        return Cell("wrong", said)
    if here.hung_up_at:
        return Cell("wrong", f"sent what closes the connection in {', '.join(here.hung_up_at)}")
    if action.tells and here.documents == before.documents and here.status in (0, 1):
        return Cell("works")
    if (here.status, here.documents) == (there.status, there.documents):
        if here.out == there.out:
            return Cell("works")
        other = " ".join(line for line in here.lines if line not in there.lines)
        return Cell("works" if action.many else "part" if _NO_WAY_BACK.search(other) else "wrong", other)
    if here.status == 2 and said.endswith(".") and _untouched(before, here):
        return Cell("says", said)
    if action.many and here.status == 1 and said and _in_part(before, here, there):
        return Cell("part", " ".join(line for line in here.lines if line not in there.lines))
    return Cell("wrong", f"exit status {here.status} instead of {there.status}: {said or 'not a word'}")


def _untouched(before: Told, here: Told) -> bool:
    """Whether nothing was written but the copy of a current version, which waits in its archive for the next edit."""
    for ns in {**before.documents, **here.documents}:
        was, now = Counter(before.documents.get(ns, ())), Counter(here.documents.get(ns, ()))
        waits = ns == f"{SHOP['archive']}_history"
        if was - now or any(not (waits and _CURRENT.search(row)) for row in now - was):
            return False
    return True


def _in_part(before: Told, here: Told, there: Told) -> bool:
    """Whether each document is as it was, or as it is meant to be."""
    return all(
        set(rows) <= {*before.documents.get(ns, ()), *there.documents.get(ns, ())}
        for ns, rows in here.documents.items()
    )


def cells(actions: Sequence[Action], names: Sequence[str]) -> Iterator[tuple[Action, str, Cell]]:
    """The verdict on each action on each server of these profiles."""
    for action in actions:
        models: dict[tuple[Refusal, ...], Told] = {}
        for name in names:
            profile = PROFILES[name]
            if profile.stores not in models:
                _, models[profile.stores] = done(action, MODEL, profile)
            before, here = done(action, profile)
            yield action, name, judged(action, before, here, models[profile.stores])
