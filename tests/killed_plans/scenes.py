"""Two documents with some versions in each layout, the plan over them, and what is stored: by versions, and raw."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bson
import pymongo

from model.layouts.registry import WRITABLE
from model.localserver import LocalServer
from model.session import Session
from model.storage.newest_query import PageQuery
from model.values import canonical as c
from model.values.canonical import Value
from model.writing import writer

DB = "killed"
NS, OTHER = f"{DB}.things", f"{DB}.others"
OWN = ("versions", "flagged", "deltas")
UNNUMBERED = ("hashed", "plain")
RETAINING = ("embedded", "nested", "versions", "flagged", "archive", "stream")
KINDS: dict[str, tuple[str, ...]] = {
    "change": tuple(WRITABLE),
    "retain": RETAINING,
    "erase": tuple(WRITABLE),
    "copy": tuple(WRITABLE),
}
"""What is killed, and in which layouts."""
SECRET = "Versicherung 22763"
IDS = "K-1", "K-2"
NAMES = {"K-1": SECRET, "K-2": "somebody else"}
Kept = dict[str, list[bytes]]


def profile(layout: str) -> str:
    """The profile of both collections, as a team would state it."""
    lines = []
    for ns in (NS, OTHER):
        lines += ["[[collection]]", f'ns = "{ns}"', f'layout = "{layout}"']
        lines += ['id = "docId"'] if layout in OWN else []
        lines += [f'archive = "{ns}_past"'] if layout in ("archive", "stream") else []
        lines += ['removed = "gone"'] if layout == "deltas" else []
    return "\n".join(lines) + "\n"


@dataclass
class Scene:
    """One kind of plan in one layout on a server of its own."""

    kind: str
    layout: str
    uri: str
    folder: Path
    eyes: pymongo.MongoClient[dict[str, Any]]
    erased: str = ""  # the id of the document of which fields are erased

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def profile(self) -> Path:
        return self.folder / "profile.toml"

    @property
    def target(self) -> str:
        """The collection that is written."""
        return OTHER if self.kind == "copy" else NS

    def words(self, carried: bool) -> list[str]:
        """The command that makes the plan, or that carries it out."""
        plan = ["--plan", str(self.home / "plan.json")]
        begun = {
            "change": ["change", self.uri, NS],
            "retain": ["retain", self.uri, NS],
            "erase": ["erase", self.uri, NS, self.erased, "--path", "who.name"],
            "copy": ["compare", self.uri, NS, self.uri, OTHER],
        }[self.kind]
        update = '{$inc: {count: 1}, $push: {log: "changed"}}'
        made = {"change": ["{}", "--update", update], "retain": ["--keep", "2"]}.get(self.kind, [])
        words = begun + ([] if carried else made) + ([] if self.kind == "erase" else plan)
        return [*words, *(["--apply"] if carried else []), "--profile", str(self.profile)]

    def feed(self) -> None:
        """What the feeder of a stream does: it stores the current version in the archive."""
        for name in ("things", "others") if self.layout == "stream" else ():
            for row in self.eyes[DB][name].find():
                kept, past = {"docId": row.pop("_id"), **row}, self.eyes[DB][f"{name}_past"]
                if past.find_one({"docId": kept["docId"], "v": kept["v"]}) is None:
                    past.insert_one(kept)  # its fields in the order in which they are

    def raw(self) -> Kept:
        """Every stored document."""
        database = self.eyes.get_database(DB, bson.CodecOptions(bson.raw_bson.RawBSONDocument))
        found = {name: sorted(row.raw for row in database[name].find()) for name in database.list_collection_names()}
        return {name: rows for name, rows in sorted(found.items()) if rows}

    def restore(self, kept: Kept) -> None:
        """Store these documents, and no others; indexes stay."""
        for name in {*self.eyes[DB].list_collection_names(), *kept}:
            self.eyes[DB][name].delete_many({})
            if kept.get(name):
                self.eyes[DB][name].insert_many(map(bson.raw_bson.RawBSONDocument, kept[name]))

    def versions(self) -> dict[str, list[tuple[object, bytes]]]:
        """The versions of each document of the collection that is written, newest first, and what is in quarantine."""
        found: dict[str, list[tuple[object, bytes]]] = {}
        with self.session() as session:
            layout = session.catalogue.layout(self.target)
            for row in layout.page(PageQuery(limit=100)):
                with_content = layout.history(row.id, contents="all")
                name = "hashed" if self.layout == "hashed" else str(row.id.python())
                rows = [(str(v.v) if layout.numbered else "", v.content or c.EMPTY) for v in with_content]
                found[name] = sorted(found.get(name, []) + rows) if name == "hashed" else rows
        rows = self.eyes[DB]["quarantine"].find()
        found["quarantine"] = sorted((row["from"], bson.encode(row["doc"])) for row in rows)
        return found

    def newest(self) -> list[bytes]:
        """The newest content of each document of the collection that is written."""
        with self.session() as session:
            rows = session.catalogue.layout(self.target).page(PageQuery(limit=100))
            return sorted(session.history.version(self.target, row.id).content or c.EMPTY for row in rows)

    def session(self) -> Session:
        return Session.open(self.uri, self.profile, home=self.folder / "reader", read_only=True)

    def secrets(self) -> list[str]:
        """Where the erased text still is: collections, and files of the program as they are on the disk."""
        found = [name for name, rows in self.raw().items() if any(SECRET.encode() in row for row in rows)]
        files = [path for path in self.home.rglob("*") if path.is_file()]
        return found + [path.name for path in files if SECRET.encode() in path.read_bytes()]


def _made(scene: Scene) -> None:
    """Both collections with their documents; the other one has the first half of one, if that is copied."""
    with Session.open(scene.uri, scene.profile, home=scene.home) as session:
        for ns in (NS, OTHER):
            if session.catalogue.layout(ns).missing_index():
                session.catalogue.layout(ns).create_index()
        for id in IDS:
            first = {"who": {"name": f"{NAMES[id]} 1", "town": "Ulm"}, "count": 1, "log": ["made"]}
            _document(scene, session, NS, id, first, 3)
            if scene.kind == "copy" and id == IDS[0]:
                _document(scene, session, OTHER, id, first, 1)


def _document(scene: Scene, session: Session, ns: str, id: str, first: dict[str, Any], edits: int) -> None:
    chosen = None if scene.layout == "hashed" and scene.kind != "copy" else Value.of(id)
    done = session.writing.create(ns, c.encode(first), chosen)
    assert done.id is not None, done
    scene.erased = scene.erased or _text(done.id)
    scene.feed()
    for n in range(2, 2 + edits):
        assert session.edit(ns, done.id, set={"count": n, "who.name": f"{NAMES[id]} {n}"}).kind == "applied"
        scene.feed()


def _text(id: Value) -> str:
    return str(id.python())


@contextmanager
def scene(kind: str, layout: str, folder: Path) -> Iterator[Scene]:
    """One scene, with its plan made."""
    from tests.killed_plans.process import command, run

    folder.mkdir(parents=True)
    with LocalServer() as server, pymongo.MongoClient[dict[str, Any]](server.uri) as eyes:
        made = Scene(kind, layout, server.uri, folder, eyes)
        made.profile.write_text(profile(layout), "utf-8")
        made.home.mkdir()
        _made(made)
        if kind != "erase":
            _, status, said = run(command, made.words(carried=False), made.home)
            assert status in (0, 1), said
        if kind == "copy":
            plan = made.home / "plan.json"
            plan.write_text(plan.read_text("utf-8").replace('"copy": false', '"copy": true'), "utf-8")
        shutil.copytree(made.home, folder / "kept")
        yield made


@contextmanager
def settled() -> Iterator[None]:
    """Nothing that a dead process has sent is on its way any more: the journal need not wait for it."""
    before, writer.SETTLED_AFTER = writer.SETTLED_AFTER, dt.timedelta(0)
    try:
        yield
    finally:
        writer.SETTLED_AFTER = before


def command_at_once(words: list[str]) -> int:
    """The program, started so late that nothing of the killed one is on its way any more."""
    from tests.killed_plans.process import command

    with settled():
        return command(words)
