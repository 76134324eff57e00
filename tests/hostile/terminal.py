"""The attack on a terminal: every command over the hostile database, for people and with ``--json``."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pymongo

from model import text
from model.commands import command_line
from model.localserver import LocalServer
from model.values.canonical import Value
from tests.hostile.planted import (
    CURRENT,
    DATABASE,
    ID,
    MARK,
    OTHER_ID,
    STATS,
    VERSIONS,
    WORDS,
    plant,
    profile,
    raw_in,
)
from tests.hostile.sockets import watched


def commands(uri: str, folder: Path) -> list[list[str]]:
    """What is run, in this order: what reads, what would write, what writes, and what fails."""
    id, other = (text.value_text(Value.of(each)) for each in (ID, OTHER_ID))
    plan, bad = folder / f"plan{MARK}\u202e\x1b[2J.json", folder / f"bad\x1b[2J{MARK}.toml"
    bad.write_text(f'[[collection]]\nns = "{MARK}"\n"{WORDS.encode("unicode_escape").decode()}" = 1\n')
    read = [
        ["collections", uri],
        ["history", uri, CURRENT, id],
        ["history", uri, VERSIONS, id],
        ["show", uri, CURRENT, id],
        ["show", uri, CURRENT, id, "--stored"],
        ["find", uri, CURRENT],
        ["compare", uri, CURRENT, uri, VERSIONS],
        *(["diff", uri, CURRENT, id, "1", "3", "--format", form] for form in ("text", "words", "json-patch", "delta")),
        ["blame", uri, CURRENT, id],
        ["bisect", uri, CURRENT, id, "{premium: {$gt: 150}}"],
        ["activity", uri, DATABASE],
        ["asof", uri, CURRENT, "2026-03-02T12:00Z"],
        ["report", uri, CURRENT, id],
        ["scan", uri, DATABASE, "--plan", str(plan)],
        ["repair", uri, "--plan", str(plan)],
        ["cleanup", uri, STATS],
        ["revert", uri, CURRENT, "--id", id, "--version", "2"],
    ]
    write = [
        ["edit", uri, CURRENT, id, "--set", f"note={text.value_text(Value.of(WORDS))}"],
        ["restore", uri, CURRENT, other, "1"],
        ["repair", uri, "--plan", str(plan), "--apply"],
        ["cleanup", uri, STATS, "--apply"],
        ["journal"],
        ["scan", uri, DATABASE],
    ]
    fail = [
        ["show", uri, CURRENT, f"nobody {WORDS}"],
        ["history", uri, f"{DATABASE}.none{WORDS}", "x"],
        ["bisect", uri, CURRENT, id, f"{{{WORDS}"],
        ["collections", uri, "--profile", str(bad)],
        ["collections", str(folder / f"gone{WORDS.replace('/', '')}")],
        ["repair", uri, "--plan", str(bad)],
        ["collections", f"mongodb://{MARK}\x1b[2J\u202e:1/?serverSelectionTimeoutMS=50"],
        ["undo", WORDS],
        [WORDS],
    ]
    return [*read, *write, *fail]


def spoken(uri: str, folder: Path) -> Iterator[tuple[Sequence[str], int, str]]:
    """Each command with its status and all that it printed."""
    stated = str(profile(folder))
    for argv in commands(uri, folder):
        for more in ([], ["--json"]):
            takes_profile = uri in argv and "--profile" not in argv
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                status = command_line.main([*argv, *(["--profile", stated] if takes_profile else []), *more])
            yield [*argv, *more], status, said.getvalue()


def attack(folder: Path) -> list[str]:
    """What reached the terminal and should not have."""
    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        plant(client)
        found: list[str] = []
        with watched(server.uri, found):
            for argv, _, said in spoken(server.uri, folder):
                if raw := raw_in(said):
                    found.append(f"{argv[0]}: {raw}")
    return found
