"""Histories planted in one layout, exported in every form, imported, and compared as stored."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import bson
import pymongo

from model.errors import Refused
from model.exchange.history_files import Form
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import Version
from model.layouts.base import Layout
from model.layouts.registry import WRITABLE, bind, stated
from model.over_time.span import everyone
from model.profile import Profile
from model.server.retry import Server, Write
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value

LAYOUTS = [name for name, layout in WRITABLE.items() if layout.numbered]
FORMS: tuple[Form, ...] = ("git", "folder", "jsonl")
Lives: TypeAlias = Mapping[Value, Sequence[Version]]


def lives_of(repository: Path, paths: Sequence[str], last: int) -> dict[Value, list[Version]]:
    """Each JSON file as a document with a version for each commit; what is no object there is left out."""
    found: dict[Value, list[Version]] = {}
    git = ["git", "-C", str(repository)]
    for path in paths:
        log = [*git, "log", f"--max-count={last}", "--reverse", "--format=%H%x09%at%x09%an%x09%s", "--", path]
        versions: list[Version] = []
        for line in subprocess.run(log, capture_output=True, text=True, check=True).stdout.splitlines():
            commit, at, author, subject = line.split("\t", 3)
            file = subprocess.run([*git, "show", f"{commit}:{path}"], capture_output=True, check=False).stdout
            try:
                content = bson.encode(json.loads(file))
            except (ValueError, TypeError, OverflowError, bson.errors.BSONError):
                continue
            if versions and versions[-1].content == content:
                continue
            when = dt.datetime.fromtimestamp(int(at), dt.UTC) + dt.timedelta(milliseconds=len(versions) % 1000)
            signed = Value.of(author), Value.of(subject)
            v = Value.of(len(versions) + 1)
            versions.append(
                Version(v, when, author, "document", "present", False, None, None, content=content, signed=signed)
            )
        if versions:
            found[Value.of(path)] = versions
    return found


def profile_of(ns: str, layout: str) -> CollectionProfile:
    """A layout with fields for all that a version has."""
    more = {"id": "docId"} if WRITABLE[layout].own_documents else {}
    more |= {"removed": "_gone"} if layout == "deltas" else {}
    return stated(ns, layout, at="_at", author="_by", reason="_why", version="_v", **more)


def planted(server: Server, profile: CollectionProfile, lives: Lives) -> int:
    """Store the histories as a layout keeps them; how many of them it cannot keep."""
    layout, left = bind(server, profile), 0
    if layout.missing_index():
        layout.create_index()
    for id, versions in lives.items():
        try:
            for ns, raw in layout.as_stored(id, versions):
                server.send(Write(ns, "insert", {}, raw, ""))
        except Refused:  # fields that moved, in deltas
            left += 1
    return left


def told(layout: Layout) -> dict[tuple[Value, Value | None], tuple[object, ...]]:
    """All that is known of each version of each document, gaps included."""
    return {
        (id, each.v): (each.content, each.at, each.author, each.reason, each.state, each.current, each.deleted)
        for id in everyone(layout)
        for each in layout.history(id, contents=True)
    }


def exchanged(uri: str, layout: str, lives: Lives, home: Path) -> tuple[list[str], int, bool]:
    """What is wrong after a way out and in, how many versions went it, and whether the comparison is blind."""
    db, wrong, blind = f"exchange_{uuid.uuid4().hex[:10]}", [], False
    ns = f"{db}.there"
    profiles = {form: profile_of(f"{db}.{form}", layout) for form in FORMS}
    with Server.connect(uri) as server, pymongo.MongoClient(uri) as client:
        try:
            planted(server, profile_of(ns, layout), lives)
            source = bind(server, profile_of(ns, layout))
            wanted = told(source)
            shop = Profile((source.profile, *profiles.values()))
            with Session.open(uri, shop, home=home) as session:
                for form, profile in profiles.items():
                    place = home / f"{db}-{form}"
                    list(session.exchange.export_history(ns, place, form))
                    ends = list(session.exchange.history_import(profile.ns, place).apply())
                    wrong += [f"{form}: {end.detail}" for end in ends if end.kind != "applied"]
                    found = told(bind(server, profile))
                    wrong += [f"{form}: {key}" for key in wanted | found if wanted.get(key) != found.get(key)]
                    again = session.exchange.export_history(ns, place, form)
                    list(again)
                    wrong += [f"{form}: exported again, it wrote {again.written}"] if again.written else []
                blind = _is_blind(server, profiles["git"], wanted)
            return wrong, len(wanted), blind
        finally:
            client.drop_database(db)


def _is_blind(server: Server, profile: CollectionProfile, wanted: Mapping[object, object]) -> bool:
    """Whether a changed document passes for the one that it was."""
    raw = next(iter(server.find(profile.ns, limit=1)))
    inside = (profile.current,) if profile.layout == "embedded" else ()
    key = c.get(raw, ("_id",))
    changed = c.put(raw, (*inside, "_planted"), Value.of(True))
    server.send(Write(profile.ns, "delete", {"_id": {"$eq": key}}, None, ""))
    server.send(Write(profile.ns, "insert", {}, changed, ""))
    return told(bind(server, profile)) == wanted
