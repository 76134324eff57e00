"""Install the libraries whose locks are known, edit between their reading and saving, and judge the result.

``python -m tests.writers.guards [--only mongoose] [--server java] [--seed N] [--interleavings 200]``

Neither the product nor the library may lose an update; a careless editor, which treats the lock as an ordinary field,
must be convicted. 1 if one of that fails.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymongo

from model.localserver import LocalServer
from model.session import Session
from tests import servers
from tests.servers.door import Door
from tests.writers.guards.interleaving import Told, judged
from tests.writers.guards.lockers import NAMES, started

SERVERS = ("local", "java")


@contextmanager
def _served(name: str) -> Iterator[str]:
    """The address of an empty server on a port."""
    if name == "java":
        with servers.java_server() as uri:
            yield uri
        return
    with LocalServer() as server, Door(server.uri) as door:
        yield f"mongodb://{door.host}/?directConnection=true"


def told(name: str, server: str, seed: int, interleavings: int, careless: bool) -> Told:
    """What comes of a library and an editor on an empty server."""
    with (
        _served(server) as uri,
        started(name, uri) as locker,
        pymongo.MongoClient[dict[str, Any]](uri) as client,
        tempfile.TemporaryDirectory() as home,
        Session.open(uri, home=Path(home)) as session,
    ):
        return judged(name, locker, session, client["shop"]["items"], seed, interleavings, careless)


def main() -> int:
    """Print a line for each library, server and editor; 1 where one of them ended otherwise than it must."""
    asked = argparse.ArgumentParser(prog="python -m tests.writers.guards")
    asked.add_argument("--only", action="append", choices=NAMES)
    asked.add_argument("--server", action="append", choices=SERVERS)
    asked.add_argument("--seed", type=int, default=random.randrange(2**31))
    asked.add_argument("--interleavings", type=int, default=200)
    args = asked.parse_args()
    print(f"seed {args.seed}")
    failed = 0
    for name in args.only or NAMES:
        for server in args.server or SERVERS:
            for careless in (False, True):
                found = told(name, server, args.seed, args.interleavings, careless)
                who = "careless" if careless else "product"
                print(
                    f"{name:9} {server:6} {who:9} {found.turns:4} interleavings, {found.between:4} edits between a "
                    f"read and its save, {found.turned_away:4} saves turned away, {found.conflicts:4} edits too late, "
                    f"{len(found.wrong):4} wrong{', as it must be' if careless and found.wrong else ''}",
                    flush=True,
                )
                for each in found.wrong[: 1 if careless else 5]:
                    print(f"    {each}")
                failed += bool(found.wrong) != careless
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
