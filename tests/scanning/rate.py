"""How many documents a scan reads per second, and how much memory it takes."""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Iterator
from typing import Any

import bson

from model.localserver import LocalServer
from tests.scanning import scenes
from tests.scanning.support import SEEDS, Dice, Scene, scanned

VERSIONS = 4  # of each document
NS = "rate.things"


def measured(documents: int, indexed: bool = True) -> int:
    """Print the figures; the server is in a process of its own, so that only the scan's memory is counted."""
    with multiprocessing.get_context("spawn").Manager() as manager:
        said, ended = manager.Queue(), manager.Event()
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(documents, indexed, said, ended))
        server.start()
        try:
            uri = said.get()
            it = Scene("rate", "rate", SEEDS, Dice(1), "archive", dict(scenes._FIELDS["archive"]("rate", SEEDS)))
            before, cpu = _used()
            begun = time.monotonic()
            found = scanned(uri, it)
            took = time.monotonic() - begun
            peak, now = _used()
            print(
                f"{documents:,} documents of 500 bytes in {took:.1f} s, {now - cpu:.1f} s of them of this process; "
                f"{documents / took:,.0f} a second; {len(found)} told; {peak:.0f} MB at most, {before:.0f} MB before",
                flush=True,
            )
        finally:
            ended.set()
            server.join()
    return 0


def _used() -> tuple[float, float]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_maxrss / 1024, used.ru_utime + used.ru_stime


def _serve(documents: int, indexed: bool, said: Any, ended: Any) -> None:
    with LocalServer() as server:
        server.load(
            NS, (_document(number, VERSIONS, {"_id": f"K-{number}"}) for number in range(documents // VERSIONS))
        )
        server.load(f"{NS}_past", _rows(documents // VERSIONS))
        if indexed:
            server.index(f"{NS}_past", [("docId", 1), ("v", 1)])
        said.put(server.uri)
        ended.wait()


def _rows(documents: int) -> Iterator[bytes]:
    dice = Dice(1)
    for number in range(documents):
        for v in range(1, VERSIONS):
            yield _document(number, v, {"_id": dice.oid(), "docId": f"K-{number}"})


def _document(number: int, v: int, ids: dict[str, Any]) -> bytes:
    made = {**ids, "v": v, "status": "active", "number": number, "net": v * 1.5, "tags": ["paperless", "loyal"]}
    return bson.encode(made | {"holder": {"name": "Edda Voss", "city": "Hamburg"}, "notes": "x" * 300})
