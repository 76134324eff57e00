"""Nine published mistakes in three languages, each convicted by the pipe within 200 faults."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.localserver import LocalServer
from model.pipe import Audit, Drawn, Pipe
from model.pipe.proxy import PASSED
from model.profile import Profile
from model.session import Session
from tests.piping.mistakes_table import KEEPS
from tests.piping.programs import HERE, modules_for

MOST_FAULTS = 200
EDITS, ROUNDS = 10, 20  # of each of three writers at one document, and how many documents there are
PROFILES = {
    "versions": 'layout = "versions"\nid = "docId"',
    "flagged": 'layout = "flagged"\nid = "docId"',
    "embedded": 'layout = "embedded"',
    "archive": 'layout = "archive"\narchive = "shop.docs_past"',
    "pending": 'layout = "pending"',
    "plain": 'layout = "plain"',
}


@pytest.fixture
def local() -> Iterator[LocalServer]:
    with LocalServer() as made:
        yield made


def prepare(uri: str, keeps: str) -> None:
    """Documents of one version each, with the index that the layout needs."""
    with pymongo.MongoClient[dict[str, Any]](uri) as client:
        docs = client.shop.docs
        ids = [f"K-{number}" for number in range(ROUNDS)]
        if keeps in ("versions", "flagged"):
            docs.create_index([("docId", 1), ("v", 1)], unique=True)
            docs.insert_many([{"docId": id, "v": 1, **({"current": True} if keeps == "flagged" else {})} for id in ids])
        elif keeps == "embedded":
            docs.insert_many([{"_id": id, "current": {"v": 1}, "prev": []} for id in ids])
        else:
            client.shop.docs_past.create_index([("docId", 1), ("v", 1)], unique=True)
            docs.insert_many([{"_id": id, **({"v": 1} if keeps == "archive" else {})} for id in ids])


def command(language: str) -> list[str]:
    """How a program of a language is started; skips where it cannot be."""
    modules = modules_for(language)
    if language == "python":
        return [sys.executable, str(HERE / "mistakes.py")]
    if language == "node":
        return ["node", str(HERE / "node" / "mistakes.mjs"), str(modules / "node_modules")]
    return ["java", "-cp", str(modules / "*"), str(HERE / "java" / "Mistakes.java")]


@pytest.mark.parametrize(
    ("language", "mistake"),
    [
        pytest.param(language, mistake, marks=[pytest.mark.deep, *([pytest.mark.slice] if in_slice else [])])
        for language in ("python", "node", "java")
        for mistake in KEEPS
        for in_slice in [language == "python" or mistake == "embedded"]
    ],
)
def test_a_published_mistake_is_convicted(
    local: LocalServer, tmp_path: Path, language: str, mistake: str, seed: int
) -> None:
    program, keeps = command(language), KEEPS[mistake]
    prepare(local.uri, keeps)
    (tmp_path / "layouts.toml").write_text(f'[[collection]]\nns = "shop.docs"\n{PROFILES[keeps]}\n')
    profile = Profile.load(tmp_path / "layouts.toml")
    with Session.open(local.uri, profile=profile) as session:
        audit = Audit(session, profile)
        with Pipe(session.dial, Drawn(seed), witness=audit) as pipe:
            environment = os.environ | {"PALIMPSEST_PIPE": pipe.uri}
            for number in range(ROUNDS):
                words = [*program, mistake, str(EDITS), f"K-{number}"]
                done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=120)
                assert done.returncode == 0, done.stderr[-2000:]
                pipe.settle()
                if audit.wrong() or faults(pipe) > MOST_FAULTS:
                    break
            assert audit.wrong(), (mistake, pipe.did)
            assert faults(pipe) <= MOST_FAULTS


def faults(pipe: Pipe) -> int:
    """How many messages met one."""
    return sum(n for what, n in pipe.did.items() if what != PASSED)
