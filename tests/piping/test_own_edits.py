"""What is saved from here through the pipe is there once: the audit that convicts others has nothing to say."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.errors import Refused
from model.localserver import LocalServer
from model.pipe import Audit, Drawn, Pipe
from model.pipe.proxy import PASSED
from model.profile import Profile
from model.session import Session
from model.values.canonical import Value, decode

NS, ID, WRITERS = "shop.docs", "K-1", 3
STATED = {
    "versions": 'id = "docId"',
    "embedded": "",
    "archive": 'archive = "shop.docs_past"',
    "plain": "",
}


def begin(client: pymongo.MongoClient[dict[str, Any]], layout: str) -> None:
    """A document of one version."""
    if layout == "versions":
        client.shop.docs.create_index([("docId", 1), ("v", 1)], unique=True)
        client.shop.docs.insert_one({"docId": ID, "v": 1})
    elif layout == "embedded":
        client.shop.docs.insert_one({"_id": ID, "current": {"v": 1}, "prev": []})
    else:
        client.shop.docs_past.create_index([("docId", 1), ("v", 1)], unique=True)
        client.shop.docs.insert_one({"_id": ID, **({"v": 1} if layout == "archive" else {"title": "one"})})


def edit(pipe: Pipe, profile: Path, home: Path, mark: str, edits: int) -> None:
    """Raise one field, edit by edit, and tell the pipe what a person is told."""
    with Session.open(pipe.uri, profile=profile, home=home) as session, pymongo.MongoClient(pipe.uri) as client:
        for _ in range(edits):
            try:
                base = session.history.version(NS, Value.of(ID))
                raised = decode(base.content or b"").get(mark, 0) + 1
                kind = session.edit(NS, ID, {mark: raised}, base=base.v).kind
            except Refused:
                kind = "refused"  # it could not be read
            told = kind if kind in ("applied", "unknown") else "refused"
            client.shop.command({"ping": 1, "comment": {"told": told, "ns": NS, "id": ID, "inc": {mark: 1}}})


@pytest.mark.deep
@pytest.mark.parametrize("layout", [pytest.param("archive", marks=pytest.mark.slice), "versions", "embedded", "plain"])
def test_edits_from_here_are_not_convicted(layout: str, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "layouts.toml"
    path.write_text(f'[[collection]]\nns = "{NS}"\nlayout = "{layout}"\n{STATED[layout]}\n')
    profile = Profile.load(path)
    with LocalServer() as local, pymongo.MongoClient[dict[str, Any]](local.uri) as client:
        begin(client, layout)
        with Session.open(local.uri, profile=profile, home=tmp_path / "audit") as session:
            audit = Audit(session, profile)
            with Pipe(session.dial, Drawn(seed), witness=audit) as pipe:
                threads = [
                    threading.Thread(target=edit, args=(pipe, path, tmp_path / f"home{n}", f"w{n}", 40))
                    for n in range(WRITERS)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            wrong = audit.wrong()
            assert not wrong, (seed, wrong)
    told = [each.told for claims in audit.seen.claims.values() for each in claims]
    assert len(told) == WRITERS * 40
    assert told.count("applied") > 20
    assert sum(n for what, n in pipe.did.items() if what != PASSED) > 20
