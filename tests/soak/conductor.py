"""The conductor: starts server, proxy and workers, and kills, stops, cuts off and starves them, or sets their clock."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import multiprocessing
import os
import pkgutil
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pymongo

import model
from model.pipe import Drawn, Pipe
from model.pipe.proxy import PASSED
from model.server.retry import Server
from tests import servers, support
from tests.soak import auditing, clearances, departures, ground
from tests.soak.jumping_clock import JumpingClock
from tests.soak.ledger import attempts
from tests.soak.tiny_disk import TinyDisk
from tests.soak.worker import Assignment, live

Kind: TypeAlias = Literal["beginning", "working", "settling", "going on"]

TOO_LONG = 600.0  # seconds beyond its time for a soak that waits for so many writes
HUNG = 180.0  # seconds in which a worker that nobody stops has to note something
ENDS_WITHIN = 120.0  # seconds for the thing that a worker is at
LATER = 3 * 86_400.0  # seconds by which all clocks are on when everything is settled
JUMPS = (-86_400.0, -3600.0, -5.0, 0.0, 0.0, 7.0, 200.0, 86_400.0)


@dataclass(frozen=True)
class Soak:
    """What a soak is about."""

    seed: int
    minutes: float = 60.0
    processes: int = 8
    writes: int = 0  # so many have to be told before it ends
    pause: float = 1.0  # seconds between two things that go wrong, in the mean
    doubt: float = 0.15
    documents: int = 3  # of each collection, at any time
    careless: str = ""
    tokens: bool = False  # whether writes leave a token in documents, as a profile may state it
    mounted: bool = True  # whether the tiny disk may be a file system that is mounted for it


@dataclass
class Told:
    """How a soak went."""

    did: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Player:
    """A worker with its lives."""

    name: str
    home: int
    life: int = 0
    process: BaseProcess | None = None
    ledger: Path = Path()
    complaints: Path = Path()
    stopped: bool = False
    size: int = 0
    heard: float = 0.0


class Conductor:
    """One soak on one server."""

    def __init__(self, soak: Soak, folder: Path, uri: str, database: ground.Db) -> None:
        self.soak, self.folder, self.uri, self.database = soak, folder, uri, database
        self.rng = random.Random(soak.seed)
        self.told = Told()
        self.stated = ground.profiles(database.name, soak.tokens)
        count = (soak.processes + 1) // 2  # two share a home, as two windows of one person do
        self.homes = [folder / f"home{number}" for number in range(count)]
        self.clocks = [folder / f"clock{number}" for number in range(count)]
        self.offsets = [JumpingClock(path) for path in self.clocks]
        self.players = [Player(f"w{number}", number // 2) for number in range(soak.processes)]
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._began = time.monotonic()
        # One process imports all of the product as it is now, whatever becomes of its files meanwhile; all others begin
        # as its copies, so that a life costs next to nothing.
        self._nursery = multiprocessing.get_context("forkserver")
        parts = [each.name for each in pkgutil.walk_packages(model.__path__, "model.")]
        self._nursery.set_forkserver_preload(["tests.soak.worker", *parts])

    def run(self, said: Callable[[str], None]) -> Told:
        """Let them work for as long as is wished, then settle and audit."""
        ground.prepare(self.database, self.stated)
        ground.state(self.stated, self.folder / "layouts.toml")
        for home in self.homes:
            home.mkdir()
        with TinyDisk(self.homes[0], self.soak.mounted) as self.disk:
            dice = Drawn(self.soak.seed, 0.0, 0.0, ("lose-request", "lose-reply", "late"))
            with Server.connect(self.uri) as server, Pipe(server.dial, dice) as self.proxy:
                self._alone("first", 0, "beginning")
                dice.doubt, dice.cuts = self.soak.doubt, self.soak.doubt / 15
                try:
                    self._play(said)
                finally:
                    self._end()
                self.disk.free()
                self.proxy.calm()
                self._settle()
                self.told.did.update({name: n for name, n in self.proxy.did.items() if name != PASSED})
            tried = [each for path in sorted(self.folder.glob("*.jsonl")) for each in attempts(path)]
            journals = auditing.rows(self.homes)
        self.told.outcomes = Counter(f"{each.what} {each.outcome or 'never told'}" for each in tried)
        self.told.did["things tried"] = len(tried)
        self.told.did["entries in journals"] = len(journals)
        self.told.wrong += auditing.faults(self.database, self.stated, tried, journals)
        self.told.wrong += clearances.faults(self.database, self.stated, tried, journals)
        self.told.wrong += departures.faults(self.database, self.stated, tried, journals, self.proxy.arrived)
        return self.told

    # --- while they work

    def _play(self, said: Callable[[str], None]) -> None:
        for player in self.players:
            self._start(player)
        until, report = self._began + 60 * self.soak.minutes, self._began + 60
        wrongs: dict[Callable[[], None], int] = {self._kill: 4, self._stop: 3, self._jump: 3, self._fill: 1}
        while time.monotonic() < until or self._acknowledged() < self.soak.writes:
            pause = time.monotonic() + self.rng.expovariate(1 / self.soak.pause)
            while (now := time.monotonic()) < pause:
                while self._due and self._due[0][0] <= now:
                    heapq.heappop(self._due)[2]()
                self._look()
                time.sleep(min(0.05, pause - now))
            (go_wrong,) = self.rng.choices(list(wrongs), list(wrongs.values()))
            go_wrong()
            if now > until + TOO_LONG:
                self.told.wrong.append(f"{self._acknowledged()} writes were acknowledged, and no more come")
                return
            if now > report:
                report += 60
                said(f"{(now - self._began) / 60:.0f} min: {_words(self.told.did)}")

    def _acknowledged(self) -> int:
        """The writes that were acknowledged, counted where the soak ends behind so many."""
        if not self.soak.writes:
            return 0
        paths = self.folder.glob("*.jsonl")
        return sum(path.read_bytes().count(b'"outcome": "applied"') for path in paths)

    def _start(self, player: Player) -> None:
        player.life += 1
        player.ledger = self.folder / f"{player.name}-{player.life}.jsonl"
        player.complaints = player.ledger.with_suffix(".txt")
        player.ledger.touch()
        player.stopped, player.size, player.heard = False, 0, time.monotonic()
        player.process = self._process(player, self.rng.randrange(2**31))

    def _process(self, of: Player, seed: int, kind: Kind = "working") -> BaseProcess:
        given = Assignment(
            home=str(self.homes[of.home]),
            complaints=str(of.complaints),
            # The driver's own second try hides most of what the product has to find out for itself.
            uri=f"{self.proxy.uri_like(self.uri)}&retryWrites={'true' if of.home % 2 else 'false'}",
            database=self.database.name,
            profile=str(self.folder / "layouts.toml"),
            name=of.name,
            life=of.life,
            ledger=str(of.ledger),
            clock=str(self.clocks[of.home]),
            seed=seed,
            began=self._began,
            documents=self.soak.documents,
            careless=self.soak.careless if kind == "working" else "",
            tokens=self.soak.tokens,
            kind=kind,
        )
        process = self._nursery.Process(target=live, args=(given,))
        process.start()
        return process

    def _look(self) -> None:
        """Start those that have ended, and tell of those that nobody ended or that do nothing any more."""
        now = time.monotonic()
        for player in self.players:
            assert player.process is not None
            if (status := player.process.exitcode) is not None:
                self._gone(player, status)
                self.told.did["ledgers full"] += status == 0
                self._start(player)
            elif player.stopped or player.ledger.stat().st_size != player.size:
                player.size, player.heard = player.ledger.stat().st_size, now
            elif now - player.heard > HUNG:
                self.told.wrong.append(f"{player.name} has done nothing for {HUNG:.0f} seconds")
                player.process.kill()

    def _gone(self, player: Player, status: int) -> None:
        if status not in (0, -signal.SIGKILL):
            said = player.complaints.read_text("utf-8", "replace").strip()[-2000:]
            self.told.wrong.append(f"{player.name} ended with {status}: {said}")

    def _later(self, seconds: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._order), do))

    # --- what goes wrong

    def _kill(self) -> None:
        """Kill one that has done something in this life."""
        found = [each for each in self.players if each.size]
        if found:
            player = self.rng.choice(found)
            assert player.process is not None
            player.process.kill()
            player.process.join()
            self._start(player)
            self.told.did["kills"] += 1

    def _stop(self) -> None:
        """Stop one for a while."""
        player = self.rng.choice(self.players)
        process = player.process
        assert process is not None
        if player.stopped or not process.is_alive():
            return
        _signal(process, signal.SIGSTOP)
        player.stopped = True
        self.told.did["stops"] += 1

        def go_on() -> None:
            if player.process is process:
                _signal(process, signal.SIGCONT)
                player.stopped, player.heard = False, time.monotonic()

        self._later(self.rng.uniform(0.1, 4.0) * min(1.0, self.soak.pause), go_on)

    def _jump(self) -> None:
        """Set the clock of one home."""
        self.rng.choice(self.offsets).offset = self.rng.choice(JUMPS)
        self.told.did["clock jumps"] += 1

    def _fill(self) -> None:
        """Leave the first home without room for a while."""
        if self.told.did["full disks"] > self.told.did["disks freed"]:
            return
        on_it = [each for each in self.players if each.home == 0 and each.process is not None]
        sizes = {each.process.pid or 0: each.ledger.stat().st_size for each in on_it if each.process is not None}
        self.disk.fill(self.rng.choice((0, 0, 4096, 20_000)), sizes)
        self.told.did["full disks"] += 1

        def free() -> None:
            self.disk.free()
            self.told.did["disks freed"] += 1

        self._later(self.rng.uniform(0.2, 5.0) * min(1.0, self.soak.pause), free)

    # --- the end

    def _end(self) -> None:
        """Let each worker finish what it is at; one in the midst of a command ends by the signal itself."""
        playing = [(player, player.process) for player in self.players if player.process is not None]
        until = time.monotonic() + ENDS_WITHIN
        while time.monotonic() < until and any(process.is_alive() for _, process in playing):
            for _, process in playing:
                _signal(process, signal.SIGCONT)
                process.terminate()  # a feeder takes the first signal for the end of its own work alone
                process.join(0.5)
        for player, process in playing:
            if process.exitcode is None:
                self.told.wrong.append(f"{player.name} did not end")
                process.kill()
                process.join()
            self._gone(player, max(process.exitcode or 0, 0))

    def _settle(self) -> None:
        """Let each home look again for what it left in doubt; then let each document be edited once more."""
        for number, clock in enumerate(self.offsets):
            clock.offset = LATER
            self._alone(f"z{number}", number, "settling")
        self._alone("last", 0, "going on")

    def _alone(self, name: str, home: int, kind: Kind) -> None:
        player = Player(name, home, ledger=self.folder / f"{name}.jsonl", complaints=self.folder / f"{name}.txt")
        process = self._process(player, home, kind)
        process.join()
        said = player.complaints.read_text("utf-8", "replace").strip()
        if process.exitcode or said:
            self.told.wrong.append(f"{kind} in home {home} ended with {process.exitcode}: {said[-3000:]}")


def _signal(process: BaseProcess, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid or 0, number)


def _words(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items()))


@contextlib.contextmanager
def server() -> Iterator[str]:
    """The address of a server: the one that is given, else one in a process of its own."""
    if servers.GIVEN_URI:
        yield servers.GIVEN_URI
        return
    command = [sys.executable, "-m", "tests.soak.serving"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=support.ROOT
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def run(soak: Soak, said: Callable[[str], None] = print, kept: Path | None = None) -> Told:
    """One soak; where something is wrong, homes and ledgers are kept on request."""
    name = f"palimpsest_soak_{soak.seed}"
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    with server() as uri, pymongo.MongoClient[Any](uri) as client:
        try:
            told = Conductor(soak, folder, uri, client[name]).run(said)
            if told.wrong and kept is not None:
                shutil.copytree(folder, kept, dirs_exist_ok=True)
            return told
        finally:
            client.drop_database(name)
            shutil.rmtree(folder, ignore_errors=True)


def lines(soak: Soak, told: Told) -> Iterator[str]:
    """What came of it, for people."""
    how = "".join(f", {each}" for each in (soak.careless, "with tokens" if soak.tokens else "") if each)
    yield f"seed {soak.seed}{how}: {_words(told.did)}"
    yield f"  {_words(told.outcomes)}"
    yield from (f"  WRONG: {wrong}" for wrong in told.wrong)
