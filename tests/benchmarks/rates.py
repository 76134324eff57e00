"""The rows of ``python -m tests.benchmarks`` on reading everything: scan and blame, with and without the walker.

The peer is the driver reading the rows into dictionaries, as usual. Only the time of the reading thread counts, not
the server's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pymongo

from model.localserver import LocalServer
from model.profile import Profile
from model.session import Session
from model.values import canonical
from tests.benchmarks.scale import ID, NS, PAST, profile, rows
from tests.benchmarks.timing import by_turns
from tests.walker.building import using

DOCUMENTS = 4000  # of four versions each that are scanned
VERSIONS = 10_000  # of one document that are blamed
TURNS = 5
SHARES = {"in Python": 0.15, "with the walker": 0.5}  # of the driver's rate, that a scan has to reach
ARCHIVED = 0.8  # that of an archive with the walker
TIMES = {"in Python": 10.0, "with the walker": 3.0}  # the driver's time, that blame may take


@dataclass(frozen=True)
class Rate:
    """A reading of all there is: the seconds that it takes, and those of the driver."""

    work: str
    layout: str
    way: str
    seconds: float
    bare: float

    @property
    def said(self) -> str:
        """How it stands to the driver, as people compare the two."""
        if self.work == "a scan":
            return f"{self.bare / self.seconds:.0%} of the driver's rate"
        return f"{self.seconds / self.bare:.1f} times the driver's time"

    @property
    def missed(self) -> list[str]:
        """What it does not reach, a sentence."""
        scan = self.work == "a scan"
        share = ARCHIVED if (self.layout, self.way) == ("archive", "with the walker") else SHARES[self.way]
        met = self.bare / self.seconds >= share if scan else self.seconds / self.bare <= TIMES[self.way]
        return [] if met else [f"{self.work}, {self.layout}, {self.way}: {self.said}"]


def measured() -> Iterator[Rate]:
    """Measure both over their layouts, and print each."""
    for layout in ("plain", "versions", "archive", "embedded"):
        yield from _measured("a scan", layout, DOCUMENTS, 1 if layout == "plain" else 4)
    for layout in ("versions", "archive"):
        yield from _measured("blame", layout, 1, VERSIONS)


def _measured(work: str, layout: str, documents: int, versions: int) -> Iterator[Rate]:
    print(f"\n{work}, {layout}")
    with LocalServer() as server, tempfile.TemporaryDirectory() as home:
        for ns, each in rows(layout, documents, versions).items():
            server.load(ns, each)
        server.index(NS if layout == "versions" else PAST, [("docId", 1), ("v", 1)], unique=True)
        with (
            pymongo.MongoClient[dict[str, Any]](server.uri) as client,
            Session.open(server.uri, Profile((profile(layout),)), home=Path(home)) as session,
        ):
            collections = [client["shop"][ns.partition(".")[2]] for ns in (NS, PAST)]
            walkers = {"in Python": None, "with the walker": canonical.walker}
            ways = [name for name in SHARES if name == "in Python" or walkers[name] is not None]

            def bare() -> object:
                return [sum(1 for _ in each.find()) for each in collections]

            def ours(way: str) -> object:
                with using(walkers[way]):
                    return list(session.scans.scan([NS])) if work == "a scan" else session.history.blame(NS, ID)

            driver, *took = by_turns([bare, *(partial(ours, way) for way in ways)], "thread", runs=TURNS)
            for way, milliseconds in zip(ways, took, strict=True):
                found = Rate(work, layout, way, milliseconds / 1000, driver / 1000)
                print(f"    {way:<16} {found.said}", flush=True)
                yield found
