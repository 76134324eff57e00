"""``python -m tests.scanning``: every class planted by the hundred, and clean documents by the hundred thousand.

    python -m tests.scanning --plants 100 --clean 100000     both servers, both sets of field names
    python -m tests.scanning --scene "A3 archive"            one scene
    python -m tests.scanning --rate 1000000                  how fast, and in how much memory, a scan reads

Prints its seed; with ``--seed`` the same documents come again. Exit status: 0 where a scan told just what is so.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pymongo

from model.localserver import LocalServer
from tests import servers
from tests.scanning import clean, rate
from tests.scanning import scenes as plants
from tests.scanning.support import SETS, Scene, scanned
from tests.scanning.troubles import SCENES

LARGE = ("E2",)  # classes whose documents are 15 MiB each: planted four at a time


def judged(uri: str, client: pymongo.MongoClient[Any], it: Scene) -> tuple[int, list[str]]:
    """How many findings were expected, and what was wrong; the database is gone afterwards."""
    try:
        it.fill(client)
        return sum(it.expected.values()), it.wrong(scanned(uri, it))
    finally:
        client.drop_database(it.db)


def scenes(count: int, documents: int, seed: int, only: str) -> Iterator[tuple[str, Scene]]:
    """Every scene under each set of names."""
    for which, names in SETS.items():
        for name in SCENES:
            if only in name:
                for part in range(count // 4 if name.startswith(LARGE) else 1):
                    many = min(count, 4) if name.startswith(LARGE) else count
                    yield which, plants.made(name, _db(), names, seed + part, many)
        for layout in clean.LAYOUTS:
            if only in f"clean {layout}" and documents:
                share = documents // (len(clean.LAYOUTS) * len(SETS)) + 1
                yield which, clean.clean(layout, _db(), names, seed + len(which), share)
        for state in clean.LEGAL:
            if only in state:
                yield which, clean.legal(state, _db(), names, seed, count)


def _db() -> str:
    return f"scene_{uuid.uuid4().hex[:10]}"


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.scanning", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--plants", type=int, default=100, help="documents planted for each class")
    parser.add_argument("--clean", type=int, default=100_000, help="clean documents over all layouts")
    parser.add_argument("--scene", default="", help="only scenes with this in their name")
    parser.add_argument("--server", choices=servers.NAMES, action="append", help="else all")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    parser.add_argument("--without-index", action="store_true", help="with --rate: sorted here instead of joined")
    parser.add_argument("--rate", type=int, default=0, help="only measure, over so many documents")
    asked = parser.parse_args()
    if asked.rate:
        return rate.measured(asked.rate, not asked.without_index)
    print(f"seed {asked.seed}", flush=True)
    bad = 0
    with ExitStack() as stack:
        for server in asked.server or servers.NAMES:
            uri = _started(stack, server)
            client = stack.enter_context(pymongo.MongoClient(uri))
            found = looked_at = 0
            begun = time.monotonic()
            # What the other server shows about large numbers is shown on one.
            documents = asked.clean if server == "local" else asked.clean // 10
            for which, it in scenes(asked.plants, documents, asked.seed, asked.scene):
                told, wrong = judged(uri, client, it)
                found += told
                looked_at += sum(map(len, it.stored.values()))
                if wrong:
                    bad += len(wrong)
                    print(f"{server}, {which} names, {it.name}: {len(wrong)} wrong", *wrong[:5], sep="\n  ", flush=True)
            took = time.monotonic() - begun
            print(
                f"{server}: {found:,} of {found:,} plants told among {looked_at:,} documents, {took:.0f} s"
                if not bad
                else f"{server}: {bad} wrong",
                flush=True,
            )
    return 1 if bad else 0


def _started(stack: ExitStack, server: str) -> str:
    if server == "local":
        return stack.enter_context(LocalServer()).uri
    if server == "java":
        return stack.enter_context(servers.java_server())
    return servers.GIVEN_URI


if __name__ == "__main__":
    sys.exit(main())
