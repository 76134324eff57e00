"""The code that ``palimpsest adopt`` writes loses and doubles nothing behind the pipe, in every layout and language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pymongo
import pytest

from model.commands import command_line
from model.layouts.layout_names import ADOPTED_LAYOUTS
from model.localserver import LocalServer
from model.operations.adoption import LANGUAGES
from model.pipe import Audit, Drawn, Pipe
from model.profile import Profile
from model.session import Session
from tests.piping.programs import HERE, modules_for

WITHIN = 1500.0


def adopted(uri: str, folder: Path, layout: str) -> str:
    """Write profile and code for a plain collection; returns the collection with the versions."""
    with pymongo.MongoClient[dict[str, Any]](uri) as client:
        client.shop.orders.insert_many([{"_id": n, "total": n, "status": "open"} for n in range(5)])
    argv = ["adopt", uri, "shop.orders", "--to", layout, "--folder", str(folder)]
    assert command_line.main(argv) == 0
    return f"shop.orders_{layout}"


def program(language: str, folder: Path, ns: str, edits: int) -> list[str]:
    """How the edits of a language are run."""
    modules = modules_for(language)
    if language == "python":
        return [sys.executable, str(HERE / "editing.py"), str(folder), ns, str(edits)]
    if language == "node":
        script = HERE / "node" / "editing.mjs"
        return ["node", str(script), str(modules / "node_modules"), str(folder), ns, str(edits)]
    sources = [str(HERE / "java" / "Editing.java"), str(folder / LANGUAGES["java"])]
    subprocess.run(["javac", "-cp", str(modules / "*"), "-d", str(folder), *sources], check=True, timeout=WITHIN)
    return ["java", "-cp", os.pathsep.join((str(modules / "*"), str(folder))), "Editing", ns, str(edits)]


def edited(uri: str, folder: Path, language: str, layout: str, edits: int, seed: int) -> Audit:
    """Let three writers save through the pipe; asserts that nothing is wrong."""
    ns = adopted(uri, folder, layout)
    words = program(language, folder, ns, edits)
    profile = Profile.load(folder / "layouts.toml")
    with Session.open(uri, profile=profile) as session:
        audit = Audit(session, profile)
        with Pipe(session.dial, Drawn(seed), witness=audit) as pipe:
            environment = os.environ | {"PALIMPSEST_PIPE": pipe.uri}
            done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False, timeout=WITHIN)
        assert done.returncode == 0, done.stderr[-3000:]
        wrong = audit.wrong()
        assert not wrong, (seed, wrong[:5])
    return audit


@pytest.mark.parametrize(
    ("language", "layout"),
    [
        pytest.param(language, layout, marks=[pytest.mark.deep, *([pytest.mark.slice] if layout == "archive" else [])])
        for language in LANGUAGES
        for layout in ADOPTED_LAYOUTS
    ],
)
def test_adopted_code_saves_everything_once(tmp_path: Path, language: str, layout: str, seed: int) -> None:
    with LocalServer() as local:
        audit = edited(local.uri, tmp_path / "code", language, layout, 40, seed)
    told = [each.told for claims in audit.seen.claims.values() for each in claims]
    assert len(told) == 3 * 40
    assert told.count("applied") > 100


@pytest.mark.deep
@pytest.mark.long
@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_thousand_edits_of_adopted_code_are_saved_once(tmp_path: Path, language: str, seed: int) -> None:
    with LocalServer() as local:
        audit = edited(local.uri, tmp_path / "code", language, "archive", 3_334, seed)
    assert sum(map(len, audit.seen.claims.values())) == 3 * 3_334
