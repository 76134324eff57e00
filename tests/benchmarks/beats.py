"""``python -m tests.benchmarks.beats``: the longest time for which the window does not answer, with 15 MB documents.

A timer beats in the window's thread while two documents are compared, their rows shown and scrolled through, first
with only the changes, then with everything. It prints the longest gap between two beats, the shortest of several
runs, because other work on the machine lengthens gaps too. In brackets follows the longest work of the window's
thread in one gap, which other work does not affect. The first run, which loads fonts and code, is left out.

``--read`` stores both in the in-process server and reads them by a session, whose thread shares the interpreter.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import bson
from PySide6.QtCore import QEventLoop, Qt, QTimer, qInstallMessageHandler
from PySide6.QtWidgets import QApplication

from gui import app, tasks
from gui.views.compare.diff_panel import DiffPanel
from model.foundation.records import Version
from model.session import Session
from model.values.canonical import Value
from tests.gui.fake_session import ID, Told, number, told

BEAT = 50.0  # milliseconds
TICK = 2  # milliseconds between two beats
NS = "insurance.contracts"


class Heart:
    """Beats in the window's thread and keeps the largest gap."""

    def __init__(self) -> None:
        self.largest = self.worked = 0.0
        self.steps: Iterator[None] | None = None
        self._loop = QEventLoop()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.setInterval(TICK)
        self._timer.timeout.connect(self._beat)
        self._last = self._last_worked = 0.0
        self._quiet = 0

    def watch(self, begin: Callable[[], Iterator[None] | None]) -> tuple[float, float]:
        """Do something, or step after step a beat, until nothing is being done: milliseconds of the largest gap.

        The second figure is the most that this thread worked in one.
        """
        self.largest, self.worked, self._quiet = 0.0, 0.0, 0
        self._last, self._last_worked = time.perf_counter(), time.thread_time()
        self._timer.start()
        self.steps = begin()
        self._loop.exec()
        self._timer.stop()
        return self.largest, self.worked

    def _beat(self) -> None:
        now, worked = time.perf_counter(), time.thread_time()
        self.largest = max(self.largest, (now - self._last) * 1000 - TICK)
        self.worked = max(self.worked, (worked - self._last_worked) * 1000)
        self._last, self._last_worked = now, worked
        if self.steps is not None:
            if next(self.steps, self) is self:
                self.steps = None
            return
        self._quiet = 0 if tasks.tasks.running else self._quiet + 1
        if self._quiet > 50:
            self._loop.quit()


def items(count: int, changed: Callable[[int], bool], wide: int = 12) -> tuple[dict[str, object], dict[str, object]]:
    """Two documents with an array of sub-documents, of which some differ."""
    before = [{"_id": n, "name": f"{n:08d}" * wide, "deep": {"a": n, "b": "x" * 40}} for n in range(count)]
    after = [{**one, "name": "other"} if changed(n) else one for n, one in enumerate(before)]
    return {"items": before}, {"items": after}


WORKLOADS: dict[str, Callable[[], tuple[dict[str, object], dict[str, object]]]] = {
    "one of 80,000 elements changed": lambda: items(80_000, lambda n: n == 60_000),
    "2,000 of 80,000 elements changed": lambda: items(80_000, lambda n: n % 40 == 0),
    "all of 80,000 elements changed": lambda: items(80_000, lambda n: True),
    "an element inserted in front": lambda: (lambda a, b: (a, {"items": [{"_id": -1}, *b["items"]]}))(  # type: ignore[misc]
        *items(80_000, lambda n: False)
    ),
    "100,000 fields, 1,000 changed": lambda: (
        {f"field{n}": "x" * 130 for n in range(100_000)},
        {f"field{n}": ("y" if n % 100 == 0 else "x") * 130 for n in range(100_000)},
    ),
    "a text of 15 MB changed in 3 places": lambda: (
        {"text": "word and word\n" * 1_070_000},
        {"text": ("word and word\n" * 356_000 + "other\n") * 3},
    ),
    "15 MB of text in one line, a word changed": lambda: (
        {"text": "word and word, " * 1_000_000},
        {"text": "word and word, " * 700_000 + "other, " + "word and word, " * 300_000},
    ),
    "15 MB of bytes, one differs": lambda: ({"data": bytes(15_000_000)}, {"data": bytes(14_999_999) + b"x"}),
}


def _stored(folder: Path, a: bytes, b: bytes) -> tuple[Session, str, Value, list[Version]]:
    """A session over a dump with both as two versions of one document."""
    head = bson.encode({"_id": 1, "docId": 1, "v": 1})[4:-1], bson.encode({"_id": 2, "docId": 1, "v": 2})[4:-1]
    stored = folder / "db"
    stored.mkdir()
    with open(stored / "things.bson", "wb") as file:
        for front, raw in zip(head, (a, b), strict=True):
            body = front + raw[4:]
            file.write((len(body) + 4).to_bytes(4, "little") + body)
    session = Session.open(str(folder))
    session.catalogue.set_layout("db.things", "versions")
    id = session.documents.find_id("db.things", "1")
    return session, "db.things", id, list(session.history.versions("db.things", id))


def run(name: str, runs: int, read: bool) -> list[tuple[float, float]]:
    """The gaps while opening, while scrolling changes, and while scrolling everything."""
    a, b = (bson.encode(one) for one in WORKLOADS[name]())
    with tempfile.TemporaryDirectory() as folder:
        if read:
            session, ns, id, versions = _stored(Path(folder), a, b)
        else:
            source = Told({ID: [told(2, current=True), told(1)]})
            source.contents = {number(1): a, number(2): b}
            session, ns, id, versions = source.as_session(), NS, ID, source.histories[ID]
        found = [_once(session, ns, id, versions) for _ in range(runs + 1)][1:]
        if read:
            session.close()
    return [(min(gap for gap, _ in column), min(own for _, own in column)) for column in zip(*found, strict=True)]


def _once(session: Session, ns: str, id: Value, versions: list[Version]) -> list[tuple[float, float]]:
    heart, panel = Heart(), DiffPanel(session, ns)
    panel.resize(1167, 600)
    panel.show()
    panel.set_ab_choices(versions)
    gaps = [heart.watch(lambda: panel.compare(id, versions[1], versions[0]))]
    assert panel.comparison is not None, panel._stack.state.help
    gaps.append(heart.watch(lambda: _scrolled(panel)))
    gaps.append(heart.watch(lambda: panel.only.setChecked(False)))
    gaps.append(heart.watch(lambda: _scrolled(panel)))
    gaps.append(heart.watch(panel.toggle_value))
    panel.hide()
    panel.deleteLater()
    return gaps


def _scrolled(panel: DiffPanel) -> Iterator[None]:
    """A wheel's turns down, a jump to the end and back, and some changes by key."""
    bar = panel.table.verticalScrollBar()
    for _ in range(60):
        bar.setValue(bar.value() + 72)
        yield
    for place in (bar.maximum(), 0, bar.maximum() // 2):
        bar.setValue(place)
        yield
    for _ in range(10):
        panel.do_next_change()
        yield


def main() -> int:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.beats", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--read", action="store_true", help="read the documents by a session over a dump")
    parser.add_argument("numbers", nargs="*", type=int, help=f"workloads, 0 to {len(WORKLOADS) - 1}; all by default")
    wanted = parser.parse_args()
    qInstallMessageHandler(lambda *_: None)  # the offscreen platform warns about every window
    app.application()
    print(f"the largest gap in ms, the least of {wanted.runs} runs; to reach: below {BEAT:g}")
    print(f"{'':<38}{'open':>13}{'scroll':>13}{'all':>13}{'scroll':>13}{'value':>13}")
    missed = False
    for at in wanted.numbers or range(len(WORKLOADS)):
        name = list(WORKLOADS)[at]
        gaps = run(name, wanted.runs, wanted.read)
        missed |= max(gaps)[0] >= BEAT
        print(f"{name:<38}" + "".join(f"{gap:>7.0f} ({own:>3.0f})" for gap, own in gaps), flush=True)
    QApplication.sendPostedEvents()
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
