"""The rows of ``python -m tests.benchmarks`` on large data: a document of 15 MB, a gigabyte, many collections, a
million documents beside another million.

The dump and the millions are read in processes of their own, to measure their peak memory. A scan in two parts counts
the processor time of the longer part, which two machines would take.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import bson
from bson import ObjectId

from model import text
from model.foundation.records import Outcome
from model.local_process import Served, ServerProcess
from model.localserver import LocalServer
from model.profile import Profile
from model.session import Session
from model.userdata.journal import Intent, Journal
from model.values import canonical
from model.values.canonical import Value
from tests.benchmarks import million
from tests.benchmarks.scale import NS, load_many, profile, rows
from tests.benchmarks.timing import best, by_turns
from tests.support import ROOT

GIGABYTE = 1_000_000_000
MILLION, FLAT = 1_000_000, 16  # documents of a comparison, and the megabytes that their number may cost
LISTED = 200  # collections in twenty databases
SCANNED = 60_000  # documents of a scan in two parts
MOST = """
if sys.platform == "linux":  # since this program began: elsewhere what the one before it held counts, too
    status = dict(line.split(":") for line in open("/proc/self/status"))
    most = int(status["VmHWM"].split()[0]) / 1024
else:
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
"""
READING = """
import json, resource, sys, time
from pathlib import Path
from model.session import Session
file, home = map(Path, sys.argv[1:])
began = time.perf_counter()
with Session.open(file, home=home, at_once=True) as session:
    (info,) = session.catalogue.collections()
    page = session.documents.page(info.ns, limit=50)
    shown = time.perf_counter() - began
    began = time.perf_counter()
    session.dump.read_on()
    index = time.perf_counter() - began
    assert len(page.rows) == 50 and not session.dump.unread
read = file.stat().st_size / 1e6 / index
"""
COMPARING = """
import json, resource, sys
from pathlib import Path
from model.session import Session
here, there, ns, home = sys.argv[1:]
with Session.open(here, home=Path(home)) as one, Session.open(there, home=Path(home)) as other:
    found = sum(1 for _ in one.beside(ns, other, ns).compare())
"""


@dataclass(frozen=True)
class Volume:
    """A figure with what is to be reached: at most that, or with ``least`` at least."""

    name: str
    figure: float
    unit: str
    target: float
    least: bool = False

    @property
    def missed(self) -> list[str]:
        """What it does not reach, a sentence."""
        met = self.figure >= self.target if self.least else self.figure <= self.target
        return [] if met else [f"{self.name}: {self.figure:,.3g} {self.unit}, target {self.target:g}"]


def measured(clock: str) -> Iterator[Volume]:
    """Measure all, and print each."""
    print("\nwhat is large")
    for work in (_document, _dump, _parts, _list, _comparison):
        for found in work(clock):
            said = f"{found.name}: {found.figure:,.3g} {found.unit}"
            print(f"    {said} ({'at least' if found.least else 'at most'} {found.target:g})", flush=True)
            yield found


def _document(clock: str) -> Iterator[Volume]:
    """One of 15 MB: noted in the journal before and after an edit, and written out to be copied."""
    page = {"number": 1, "title": "a title of some words", "text": "lorem ipsum dolor sit amet " * 6, "price": 12.5}
    content = bson.encode({f"page{at:05}": {**page, "number": at} for at in range(15_000_000 // 260)})
    changed = canonical.put(content, ("page00007", "price"), Value.of(2))
    ns, id = "shop.books", Value.of(1)
    intent = Intent("mongodb://host", ns, id, "edit", "plain", content, changed, token=str(ObjectId()))
    outcome = Outcome("applied", ns, id, "Saved as version 2.", Value.of(2))
    with tempfile.TemporaryDirectory() as home:
        journal = Journal(Path(home))
        journalled = best(lambda: journal.end(journal.begin(intent), outcome), clock)
        journal.close()
    size = f"{len(content) / 1e6:.1f} MB"
    yield Volume(f"a swap of {size} in the journal", journalled, "ms", 200)
    yield Volume(f"{size} as JSON", best(lambda: text.to_text(content), clock), "ms", 200)


def _dump(clock: str) -> Iterator[Volume]:
    """A ``.bson`` of a gigabyte: the first page, the reading to its end, and the memory of its process."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "shop" / "things.bson"
        file.parent.mkdir()
        blank = {"name": "n", "price": 1, "city": "Kiel", "text": "lorem ipsum " * 80}
        with file.open("wb") as out:
            written = 0
            while written < GIGABYTE:
                some = b"".join(bson.encode({"_id": ObjectId(), **blank}) for _ in range(5000))
                written += out.write(some)
        shown, rate, most = _told(READING, "[shown, read, most]", file, Path(folder) / "home")
    yield Volume("1 GB of BSON, its first page", shown, "s", 1)
    yield Volume("1 GB of BSON, read to its end", rate, "MB/s", 200, least=True)
    yield Volume("1 GB of BSON, memory at most", most, "MB", 150)


def _parts(clock: str) -> Iterator[Volume]:
    """A scan in two parts beside the whole."""
    with LocalServer() as server, tempfile.TemporaryDirectory() as home:
        server.load(NS, rows("versions", SCANNED, 4)[NS])
        server.index(NS, [("docId", 1), ("v", 1)], unique=True)
        with Session.open(server.uri, Profile((profile("versions"),)), home=Path(home)) as session:
            works = [lambda: list(session.scans.scan([NS])), *(partial(_part, session, number) for number in (1, 2))]
            whole, *parts = by_turns(works, "thread", runs=5)
    yield Volume("a scan in two parts, times as fast", whole / max(parts), "times", 1.8, least=True)


def _list(clock: str) -> Iterator[Volume]:
    """The first of many collections, as a list shows it while the others are recognised."""
    with LocalServer() as server:
        load_many(server, LISTED)
        with Session.open(server.uri) as session:
            first = best(lambda: next(iter(session.catalogue.collections())), clock)
    yield Volume(f"the first of {LISTED} collections", first, "ms", 100)


def _comparison(clock: str) -> Iterator[Volume]:
    """A million documents beside a million, of which a few differ: how much more memory than those of a tenth."""
    few, many = (_memory_compared(count) for count in (MILLION // 10, MILLION))
    yield Volume("a million documents beside a million, memory beyond that of a tenth", many - few, "MB", FLAT)


def _memory_compared(count: int) -> float:
    with tempfile.TemporaryDirectory() as name, ExitStack() as open_ones:
        folder, uris = Path(name), []
        for side in ("here", "there"):
            (folder / side).mkdir()
            dump = million.written(folder / side, count, edited=side == "there")
            server = open_ones.enter_context(
                closing(ServerProcess(Served(str(dump), True, str(folder / "kept" / side))))
            )
            server.wait()
            uris.append(server.uri)
        found, most = _told(COMPARING, "[found, most]", *uris, million.NS, folder / "home")
        assert found == -(-count // million.EDITED), found
        return float(most)


def _told(program: str, said: str, *words: object) -> list[float]:
    """What a program of its own says at its end."""
    command = [sys.executable, "-c", f"{program}{MOST}print(json.dumps({said}))", *map(str, words)]
    told: list[float] = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    return told


def _part(session: Session, number: int) -> list[object]:
    return list(session.scans.scan([NS]).in_part(number, 2))
