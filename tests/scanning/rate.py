"""How many documents a scan reads in a second, and how much memory it takes."""

from __future__ import annotations

import multiprocessing
import resource
import time
import uuid
from typing import Any

import pymongo

from model.local import LocalServer
from tests.scanning import clean
from tests.scanning.ground import SEEDS, Scene, scanned

PART = 20_000
LAYOUTS = ("archive",)


def measured(documents: int) -> int:
    """Print the figures; the server is in a process of its own, so that only the scan's memory is counted."""
    with multiprocessing.get_context("spawn").Manager() as manager:
        said, ended = manager.Queue(), manager.Event()
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(documents, said, ended))
        server.start()
        try:
            for layout in LAYOUTS:
                uri, db = said.get()
                it = Scene("rate", db, SEEDS, None, layout)  # type: ignore[arg-type] - nothing is thrown any more
                it.fields = dict(clean.plants._FIELDS[layout](db, SEEDS))
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                begun = time.monotonic()
                found = scanned(uri, it)
                took = time.monotonic() - begun
                peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                print(
                    f"{layout}: {documents:,} documents in {took:.1f} s, {documents / took:,.0f} a second, "
                    f"{len(found)} told; peak {peak / 1024:.0f} MB, {before / 1024:.0f} MB before",
                    flush=True,
                )
        finally:
            ended.set()
            server.join()
    return 0


def _serve(documents: int, said: Any, ended: Any) -> None:
    with LocalServer() as server, pymongo.MongoClient(server.uri) as client:
        for layout in LAYOUTS:
            db = f"rate_{uuid.uuid4().hex[:8]}"
            for seed in range(0, documents, PART):
                it = clean.clean(layout, db, SEEDS, 2 * seed + 1, min(PART, documents - seed), seed)
                it.fill(client)
            said.put((server.uri, db))
        ended.wait()
