"""One life of a worker: it writes in all ways, by commands and like the window, until somebody ends it.

Before and after each action it writes to its ledger. There are other kinds of life: the first begins the feed; later,
one per home looks again for every write in doubt and completes what others left; the last one edits every document
once more, and migrates what must be migrated.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import itertools
import json
import multiprocessing
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import bson
import pymongo
import pymongo.common
from bson import ObjectId

from model import repair
from model.errors import NotFound, Refused
from model.foundation.records import Entry, Outcome
from model.session import Session
from model.values import canonical
from model.values.canonical import Value
from model.writing import writer
from tests.processes.editor import APPLIED, CONFLICT, TROUBLE, UNKNOWN, palimpsest
from tests.soak import careless, clearances, departures, ground
from tests.soak.jumping_clock import JumpingClock, follow
from tests.soak.ledger import Ledger, LedgerFull

TOLD = {APPLIED: "applied", CONFLICT: "conflict", TROUBLE: "refused", UNKNOWN: "unknown"}
GENERATION = 90.0  # seconds until new documents are edited: they grow with their histories
SESSION = 25  # things done in one session
LONG_AGO = b"\x01\x02\x03\x04\x05"  # the random part of the tokens of writers that died


@dataclass(frozen=True)
class Assignment:
    """What one life of a worker is about."""

    home: str
    complaints: str  # the file for whatever it says
    uri: str
    database: str
    profile: str
    name: str
    life: int
    ledger: str
    clock: str
    seed: int
    began: float  # when the soak did, by `time.monotonic`, which all processes of a computer share
    documents: int
    careless: str = ""
    tokens: bool = False
    kind: Literal["beginning", "working", "settling", "going on"] = "working"


class Worker:
    """A process at work."""

    def __init__(self, given: Assignment) -> None:
        self.given, self.rng = given, random.Random(given.seed)
        self.ledger = Ledger(Path(given.ledger), Path(given.home).name)
        self.done = 0
        self._line = 0  # of the ledger, of what is being done
        self._session: Session | None = None

    def work(self) -> None:
        """Do the next thing."""
        jobs: dict[Callable[[], None], int] = {
            self.edit: 100,
            self.restore: 16,
            self.undo: 16,
            self.edit_left: 50,
            self.delete: 16,
            self.purge: 8,
            self.bring_back: 16,
            self.revive: 4,
            self.look_again: 6,
            self.count: 12,
            self.leave_token: 3,
            self.clean_up: 2,
            self.feed: 3,
            self.migrate: 2,
            self.damage: 2,
            self.repair: 2,
            self.take_repair_back: 2,
            self.clear_quarantine: 2,
            self.edit_vacated: 30,
            self.vacate: 3,
            self.prune: 1,
        }
        if self.done % SESSION == 0 and self._session is not None:
            self._session.close()
            self._session = None
        self.done += 1
        for name in careless.OFTEN.get(self.given.careless, ()):
            jobs[getattr(self, name)] = 100
        (job,) = self.rng.choices(list(jobs), list(jobs.values()))
        job()

    # --- documents

    def place(self, *without: str) -> tuple[str, str]:
        """A collection that is edited, and one of its documents, which need not be there."""
        place = self.rng.choice([name for name in ground.PLACES if name not in without])
        age = int((time.monotonic() - self.given.began) / GENERATION)
        return place, f"{age}-{self.rng.randrange(self.given.documents)}"

    def ns(self, place: str) -> str:
        """The namespace of a collection."""
        return f"{self.given.database}.{place}"

    def edit(self) -> None:
        """Give a document a mark of this edit's own, or make one that has it."""
        self._edit(*self.place())

    def _edit(self, place: str, id: str) -> None:
        mark = f"{self.given.name}x{self.given.life}x{self.done}"
        number = self.ledger.begin("edit", place=place, id=id, mark=mark)
        told = self._edited(place, id, mark)
        while told["outcome"] == "unknown" and self.given.careless == "retrying":
            told = self._edited(place, id, mark)
        self.ledger.end(number, **told)

    def _edited(self, place: str, id: str, mark: str) -> dict[str, Any]:
        if self.rng.random() < 0.3:
            sets = [f'{".".join(path)}="{mark}"' for path in self._paths(place, mark)]
            return self.command("edit", self.ns(place), id, "--create", "--set", *sets)
        return self.by_session(lambda session: self._counted(session, place, id, mark))

    def _paths(self, place: str, mark: str) -> list[tuple[str, ...]]:
        """The fields that get an edit's mark."""
        path = (
            ("marks", mark) if (ground.PLACES | ground.LEFT).get(place) in ("hashed", "plain") else (self.given.name,)
        )
        return [path, (departures.LAST,)] if place in ground.LEFT else [path]

    def _counted(self, session: Session, place: str, id: str, mark: str, new: bool | None = None) -> Outcome:
        """One more in the total, as a window's edit has it: what is counted twice shows.

        The document is made where it is not there, or where it is ``new``.
        """
        ns, key, base = self.ns(place), Value.of(id), None
        with contextlib.suppress(NotFound) if new is None else contextlib.nullcontext():
            base = None if new else session.writing.open(ns, key).base
        content = base.content or canonical.EMPTY if base is not None else canonical.EMPTY
        total = canonical.get(content, ("total",))
        content = canonical.put(content, ("total",), Value.of(1 + int(total.python() if total is not None else 0)))
        for path in self._paths(place, mark):
            content = canonical.put(content, path, Value.of(mark))
        return (
            session.writing.save(ns, key, base, content)
            if base is not None
            else session.writing.create(ns, content, key)
        )

    def restore(self) -> None:
        """Make an earlier version the newest."""
        place, id = self.place("hashed", "plain")

        def do(session: Session) -> Outcome:
            current = session.history.version(self.ns(place), Value.of(id))
            assert current.v is not None
            v = self.rng.randint(1, int(current.v.python()))
            self._line = self.ledger.begin("restore", place=place, id=id, v=v)
            return session.writing.restore(self.ns(place), Value.of(id), Value.of(v))

        self._noted(do)

    def undo(self) -> None:
        """Take one of the last edits from here back, whoever of this home made it."""
        self._undo(self._is_undone)

    def _undo(self, meant: Callable[[Entry], bool]) -> None:
        def do(session: Session) -> Outcome | None:
            entries = [each for each in session.journal.entries(limit=30) if each.undoable and meant(each)]
            if not entries:
                return None
            entry = self.rng.choice(entries)
            place, id = entry.ns.partition(".")[2], json.loads(entry.document)
            self._line = self.ledger.begin("undo", place=place, id=id, entry=entry.id)
            if self.rng.random() < 0.3:
                told = self.command("undo", entry.id, source=False)
                self.ledger.end(self._line, **told)
                return None
            return session.way_back.undo(entry.id)

        self._noted(do)

    @staticmethod
    def _is_undone(entry: Entry) -> bool:
        place = entry.ns.partition(".")[2]
        numbered = ground.PLACES.get(place, "plain") not in ("hashed", "plain")
        return numbered and entry.action in ("edit", "restore", "undo") and not entry.run

    # --- documents that leave, and come back

    def edit_left(self) -> None:
        """Edit a document that is deleted and brought back."""
        self._edit(*self.left())

    def left(self) -> tuple[str, str]:
        """One of the documents that are deleted and purged; it need not be there."""
        _, id = self.place()
        return self.rng.choice(list(ground.LEFT)), id

    def delete(self) -> None:
        """Delete a document."""
        place, id = self.left()

        def do(session: Session) -> Outcome:
            base = session.history.version(self.ns(place), Value.of(id))
            self._meanwhile(place, id)
            self._line = self.ledger.begin("delete", place=place, id=id)
            return session.writing.delete(self.ns(place), Value.of(id), base)

        self._noted(do)

    def purge(self) -> None:
        """Remove a document with all its versions, whether it is deleted or not."""
        place, id = self.left()

        def do(session: Session) -> Outcome:
            base = session.history.last(self.ns(place), Value.of(id))
            self._meanwhile(place, id)
            self._line = self.ledger.begin("purge", place=place, id=id)
            return session.writing.purge(self.ns(place), Value.of(id), base)

        self._noted(do)

    def _meanwhile(self, place: str, id: str) -> None:
        """Perhaps edit a document that is about to be removed as it was before: that is a conflict then."""
        if self.rng.random() < 0.5:
            self._edit(place, id)

    def revive(self) -> None:
        """Restore a version of a document that is deleted."""
        place, id = self.left()

        def do(session: Session) -> Outcome | None:
            last = session.history.last(self.ns(place), Value.of(id))
            if last.current or last.v is None:
                return None
            v = self.rng.randint(1, int(last.v.python()))
            self._line = self.ledger.begin("restore", place=place, id=id, v=v)
            return session.writing.restore(self.ns(place), Value.of(id), Value.of(v), base=last)

        self._noted(do)

    def bring_back(self) -> None:
        """Undo one of the last deletes, purges or new documents from here, whoever of this home made it."""
        self._undo(lambda each: each.ns.partition(".")[2] in ground.LEFT and each.had_before != each.has_after)

    def _noted(self, do: Callable[[Session], Outcome | None]) -> None:
        """Do something that begins its own line in the ledger, and end that line."""
        self._line = 0
        told = self.by_session(do)
        if self._line and told["outcome"] != "noted":
            self.ledger.end(self._line, **told)

    # --- what is left in doubt

    def look_again(self) -> None:
        """Look for the writes of which nobody knows, as the window does when it starts."""

        def do(session: Session) -> None:
            for entry in session.journal.unsettled()[:20]:
                session.way_back.look_again(entry.id)

        self.by_session(do)

    # --- counters, feeds, migrations, repairs

    def count(self) -> None:
        """Raise a counter once."""
        counter, token = self.rng.choice(ground.COUNTERS), str(ObjectId())
        number = self.ledger.begin("count", counter=counter, token=token)
        self.ledger.end(number, **self.command("count", self.ns(ground.COUNTS), counter, token))

    def leave_token(self) -> None:
        """Take the first of two steps, as a writer does that dies behind it."""
        counter = self.rng.choice(ground.COUNTERS)
        token = ObjectId(b"\x66" + self.rng.randbytes(3) + LONG_AGO + self.rng.randbytes(3))
        number = self.ledger.begin("leave token", counter=counter, token=str(token))
        with self.plainly() as database:
            database[ground.COUNTS].update_one({"_id": counter}, {"$push": {"pending": token}})
            self.ledger.end(number, "applied")

    def clean_up(self) -> None:
        """Finish what dead writers left."""
        self.command("cleanup", self.ns(ground.COUNTS), "--older-than", "1h", "--apply")

    def feed(self) -> None:
        """Bring the archive of a stream up to date."""
        self.command("feed", self.ns("stream"), "--once")

    def migrate(self) -> None:
        """Move a collection, or go on with it."""
        place = self.rng.choice(list(ground.MOVES))
        self._migrate(place)

    def _migrate(self, place: str) -> dict[str, Any]:
        return self._moved(place, *ground.MOVES[place])

    def _moved(self, place: str, target: str, layout: str, *how: str) -> dict[str, Any]:
        return self.command("migrate", self.ns(place), "--to", layout, "--target", self.ns(target), *how, "--apply")

    def edit_vacated(self) -> None:
        """Edit a document of a collection that is moved and removed meanwhile, or make one there."""
        place = self.rng.choice(list(ground.VACATED))

        def do(session: Session) -> Outcome | None:
            rows = session.documents.page(self.ns(place), limit=20).rows
            mark = f"{self.given.name}x{self.given.life}x{self.done}"
            here = bool(rows) and self.rng.random() < 0.8
            id = str(self.rng.choice(rows).id.python()) if here else mark  # nobody makes a document that was moved
            self._line = self.ledger.begin("edit", place=place, id=id, mark=mark)
            return self._counted(session, place, id, mark, new=not here)

        self._noted(do)

    def vacate(self) -> None:
        """Move a collection, and remove what has arrived."""
        self._vacate(self.rng.choice(list(ground.VACATED)))

    def _vacate(self, place: str) -> None:
        _, target, layout = ground.VACATED[place]
        self._moved(place, target, layout)
        self._moved(place, target, layout, "--remove-old")

    def damage(self) -> None:
        """Leave a row far above the current version in an archive, which blocks every edit of the document."""
        _, id = self.place()
        with self.plainly() as database:
            found = database["damaged"].find_one({"_id": id})
            if found is None:
                self._edit("damaged", id)
                return
            token = ObjectId(b"\x66" + self.rng.randbytes(3) + LONG_AGO + self.rng.randbytes(3))
            v = found["v"] + 1000 + self.rng.randrange(1000)
            marked = {"_w": token} if self.given.tokens else {}
            row = {"_id": token, "docId": id, "v": v, **marked, "phantom": True}
            number = self.ledger.begin("plant", token=str(token), hash=clearances.sha1(bson.encode(row)))
            database["damaged_history"].insert_one(row)
            self.ledger.end(number, "applied")

    def repair(self) -> None:
        """Scan a collection and do what the plan says."""
        place = self.rng.choice(["damaged", "damaged", "archive", "flagged"])
        self._repair(place)

    def _repair(self, place: str) -> None:
        plan = Path(os.environ["PALIMPSEST_HOME"]) / f"{self.given.name}.json"
        self.command("scan", self.ns(place), "--plan", str(plan))
        if plan.exists():
            self.command("repair", "--plan", str(plan), "--apply")
            plan.unlink(missing_ok=True)

    def take_repair_back(self) -> None:
        """Undo one of the last repairs of this home: what it removed is there again, and its copy is cleared."""
        runs: list[str] = []

        def do(session: Session) -> None:
            entries = session.journal.entries(limit=100)
            runs.extend(each.run for each in entries if each.run and each.action == "repair" and each.undoable)

        self.by_session(do)
        if runs:
            self.command("undo", self.rng.choice(runs), source=False)

    def clear_quarantine(self) -> None:
        """Delete some of the copies that repairs keep, as people do who need the room.

        Those of planted rows: an edit that came in between may have counted on others, which a second run puts back.
        """
        with self.plainly() as database:
            strange = (copy for copy in ground.copies(database) if b"phantom" in copy[2])
            for id, ns, raw in itertools.islice(strange, self.rng.randint(1, 4)):
                number = self.ledger.begin("clear copy", ns=ns, hash=clearances.sha1(raw))
                database[ground.QUARANTINE].delete_one({"_id": id})
                self.ledger.end(number, "applied")

    def prune(self) -> None:
        """Forget old entries of the journal; which ones, the soak keeps."""
        with clearances.watched():
            age = self.rng.choice(["0s", "10s", "2m"])
            self.command("journal", "--prune", age, "--apply", source=False)

    # --- the ways to the product

    def command(self, name: str, *arguments: str, source: bool = True) -> dict[str, Any]:
        """What a command said, run as a shell would."""
        words = [name, *([self.given.uri] if source else []), *arguments, "--profile", self.given.profile, "--json"]
        status, said = palimpsest(words)
        if "This is a defect" in said or "Traceback" in said:
            raise AssertionError(f"palimpsest {' '.join(words)}: {said}")
        if status > UNKNOWN:  # ended by the signal that ends this process
            raise SystemExit(0)
        skipped = {"skipped": True} if '"outcome": "skipped"' in said else {}
        return {"outcome": TOLD[status], "said": said[-500:], **skipped}

    def by_session(self, do: Callable[[Session], Outcome | None]) -> dict[str, Any]:
        """How something ended that a session did, as in a window."""
        try:
            if self._session is None:
                self._session = Session.open(self.given.uri, profile=self.given.profile)
            outcome = do(self._session)
        except Refused as error:
            return {"outcome": "refused", "said": str(error)}
        if outcome is None:
            return {"outcome": "noted"}
        kind = "applied" if outcome.kind == "skipped" else outcome.kind
        v = None if outcome.version is None else outcome.version.python()
        skipped = {"skipped": True} if outcome.kind == "skipped" else {}
        told = {"said": outcome.detail, "v": v if isinstance(v, int) else None, "entry": outcome.entry}
        return {"outcome": kind, **told, **skipped}

    @contextlib.contextmanager
    def plainly(self) -> Iterator[ground.Db]:
        """The database by plain PyMongo, for what other programs do; its errors are theirs."""
        with contextlib.suppress(pymongo.errors.PyMongoError), pymongo.MongoClient[Any](self.given.uri) as client:
            yield client[self.given.database]

    # --- the end

    def settle(self) -> None:
        """Do all that is left to do, so that nothing is in doubt any more."""
        writer.SETTLED_AFTER = repair.SETTLED_AFTER = dt.timedelta(0)  # nothing is on its way any more
        self.clean_up()
        self.feed()
        for place in ("damaged", "archive", "flagged"):
            self._repair(place)
        with Session.open(self.given.uri, profile=self.given.profile) as session:
            for entry in session.journal.unsettled():
                if session.way_back.look_again(entry.id).kind == "unknown":
                    self._finish(session, entry)

    def _finish(self, session: Session, entry: Entry) -> None:
        """Go on with a purge that ended half-way, or with its undo."""
        undoes = session.journal.record(entry.id).undoes
        with contextlib.suppress(Refused):
            if undoes is not None:
                session.way_back.undo(undoes)
            elif entry.action == "purge":
                id = Value.of(json.loads(entry.document))
                session.writing.purge(entry.ns, id, session.history.last(entry.ns, id))
            session.way_back.look_again(entry.id)

    def _edited_once_more(self, session: Session, place: str, id: str, which: str) -> Outcome:
        mark = f"{self.given.name}x{self.given.life}x{place}x{id}{which}"
        number = self.ledger.begin("edit", place=place, id=id, mark=mark)
        outcome = self._counted(session, place, id, mark)
        self.ledger.end(number, outcome.kind, said=outcome.detail)
        return outcome

    def goes_on(self) -> None:
        """Edit every document once more: nothing may block it."""
        with Session.open(self.given.uri, profile=self.given.profile) as session:
            for place in ground.PLACES:
                for row in session.documents.page(self.ns(place), limit=100_000).rows:
                    id = str(row.id.python())
                    outcome = self._edited_once_more(session, place, id, "")
                    if outcome.kind == "unknown":  # on a busy machine a connection may break by itself
                        outcome = self._edited_once_more(session, place, id, "again")
                    if outcome.kind != "applied":
                        print(f"{place} {id} cannot be edited: {outcome.kind}, {outcome.detail}", flush=True)
        self.feed()
        for place in ground.MOVES:
            told = self._migrate(place)
            if told["outcome"] != "applied":
                print(f"moving {place} ended {told['outcome']}: {told['said']}", flush=True)
        for place in ground.VACATED:
            self._vacate(place)


def live(given: Assignment) -> None:
    """Be that process, until somebody ends it."""
    with open(given.complaints, "wb") as file:
        for number in (1, 2):
            os.dup2(file.fileno(), number)
    os.environ |= {"PALIMPSEST_HOME": given.home, "PALIMPSEST_DEBUG": "1"}
    threading.Thread(target=_end_with_the_conductor, daemon=True).start()
    pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02
    follow(JumpingClock(Path(given.clock)))
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    careless.make(given.careless)
    try:
        worker = Worker(given)
        match given.kind:
            case "beginning":
                worker.feed()  # what was written before the first feed has no past
            case "settling":
                worker.settle()
            case "going on":
                worker.goes_on()
            case _:
                while not ended.is_set():
                    worker.work()
    except LedgerFull:
        pass  # nothing was sent, or what was is in doubt


def _end_with_the_conductor() -> None:
    conductor = multiprocessing.parent_process()
    assert conductor is not None
    conductor.join()
    os._exit(1)
