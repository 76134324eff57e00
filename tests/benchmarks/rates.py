"""The rows of ``python -m tests.benchmarks`` on reading everything: scan, blame and comparison, with and without the
walker.

The peer is the driver reading the rows into dictionaries, as usual.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pymongo

from model.localserver import LocalServer
from model.profile import Profile
from model.session import Session
from model.values import canonical
from tests.benchmarks.scale import ID, NS, PAST, profile, rows
from tests.benchmarks.timing import beside
from tests.walker.building import using

ROWS = 16_000  # that are scanned in each layout: of a few thousand, one run would differ from the next
VERSIONS = 10_000  # of one document that are blamed
SHARES = {"in Python": 0.18, "with the walker": 0.7}  # of the driver's rate, that a scan has to reach
ARCHIVED = 0.8  # that of an archive with the walker
COMPARED = {"in Python": 0.18, "with the walker": 0.6}  # that a comparison has to reach
EDITED = {"_id": {"$regex": "00$"}}  # the documents of one side that have another content there
TIMES = {"in Python": 7.0, "with the walker": 2.6}  # the driver's time, that blame may take


@dataclass(frozen=True)
class Rate:
    """A reading of all there is: the milliseconds that it takes, and those of the driver."""

    work: str
    layout: str
    way: str
    milliseconds: float
    bare: float
    spread: tuple[float, float]
    """The least and the largest of the ratios of several runs."""

    @property
    def times(self) -> float:
        """Its time in times of the driver's."""
        return self.milliseconds / self.bare

    @property
    def said(self) -> str:
        """How it stands to the driver, as people compare the two."""
        least, most = self.spread
        if self.work != "blame":
            return f"{1 / self.times:.0%} ({1 / most:.0%} to {1 / least:.0%}) of the driver's rate"
        return f"{self.times:.1f} ({least:.1f} to {most:.1f}) times the driver's time"

    @property
    def missed(self) -> list[str]:
        """What it does not reach, a sentence."""
        share = (COMPARED if self.work == "a comparison" else SHARES)[self.way]
        if (self.work, self.layout, self.way) == ("a scan", "archive", "with the walker"):
            share = ARCHIVED
        met = self.times <= TIMES[self.way] if self.work == "blame" else 1 / self.times >= share
        return [] if met else [f"{self.work}, {self.layout}, {self.way}: {self.said}"]


def measured(clock: str) -> Iterator[Rate]:
    """Measure all over their layouts, and print each.

    Each has a process of its own: one that has held millions of rows before has memory at hand, and the driver, which
    else waits for the system to give it some, is a third faster there.
    """
    works = [("a scan", layout, ROWS // 4, 4) for layout in ("versions", "archive", "embedded")]
    works += [("blame", layout, 1, VERSIONS) for layout in ("versions", "archive")]
    works += [("a comparison", layout, ROWS, 1) for layout in ("plain", "archive")]
    with ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1) as processes:
        for work in [("a scan", "plain", ROWS, 1), *works]:
            yield from processes.submit(_all, *work, clock).result()


def _all(work: str, layout: str, documents: int, versions: int, clock: str) -> list[Rate]:
    return list(_measured(work, layout, documents, versions, clock))


def _measured(work: str, layout: str, documents: int, versions: int, clock: str) -> Iterator[Rate]:
    print(f"\n{work}, {layout}")
    with LocalServer() as server, LocalServer() as other, tempfile.TemporaryDirectory() as home:
        sides = (server, other) if work == "a comparison" else (server,)
        made = rows(layout, documents, versions)
        for each in sides:
            _load(each, layout, made)
        with (
            pymongo.MongoClient[dict[str, Any]](server.uri) as client,
            pymongo.MongoClient[dict[str, Any]](other.uri) as others,
            _session(server, layout, home) as session,
            _session(other, layout, home) as there,
        ):
            others["shop"][NS.partition(".")[2]].update_many(EDITED, {"$set": {"edited": True}})
            clients = (client, others)[: len(sides)]
            collections = [each["shop"][ns.partition(".")[2]] for each in clients for ns in (NS, PAST)]
            walkers = {"in Python": None, "with the walker": canonical.walker}
            ways = [name for name in SHARES if name == "in Python" or walkers[name] is not None]

            def bare() -> object:
                return [sum(1 for _ in each.find()) for each in collections]

            def ours(way: str) -> object:
                with using(walkers[way]):
                    if work == "a scan":
                        return list(session.scans.scan([NS]))
                    if work == "blame":
                        return session.history.blame(NS, ID)
                    return list(session.beside(NS, there, NS).compare())

            for way, times in zip(ways, beside(bare, [partial(ours, way) for way in ways], clock), strict=True):
                found = Rate(work, layout, way, *times)
                print(f"    {way:<16} {found.said}", flush=True)
                yield found


def _load(server: LocalServer, layout: str, made: dict[str, list[bytes]]) -> None:
    for ns, each in made.items():
        server.load(ns, each)
    server.index(NS if layout == "versions" else PAST, [("docId", 1), ("v", 1)], unique=True)


def _session(server: LocalServer, layout: str, home: str) -> Session:
    return Session.open(server.uri, Profile((profile(layout),)), home=Path(home))
