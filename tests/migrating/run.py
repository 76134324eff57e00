"""Runs of one pair of layouts: with people at work, killed at every write, changed in the new place, and careless."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Iterator
from pathlib import Path

import pymongo

from model.foundation.records import Checkpoint, Outcome, no_checkpoint
from model.operations.migration import Migration
from model.server.retry import Server
from model.storage.newest_query import PageQuery
from tests.migrating.scenes import Dying, Killed, Place, place

SHARE = 0.3  # of the steps of a migration in which somebody writes
ROUNDS_ALIVE = 3


class Careless(Migration):
    """Copies once and believes that nobody wrote meanwhile."""

    def run(self, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outcome]:
        yield from self.copy(checkpoint)


def moved(
    uri: str, pair: tuple[str, str], count: int, seed: int, home: Path, kind: type[Migration] = Migration
) -> tuple[list[str], int]:
    """What is wrong after a migration with people at work, and how many edits they made."""
    name = f"moving_{uuid.uuid4().hex[:10]}"
    with Server.connect(uri) as server, pymongo.MongoClient(uri) as client:
        try:
            here = place(server, name, pair, seed, home)
            here.plant(count)
            migration = here.migration(kind=kind)
            steps = itertools.count()

            def step(done: int, total: int | None) -> None:
                if next(steps) < count * ROUNDS_ALIVE:
                    here.live(SHARE)

            ends = list(migration.run(step))
            if kind is Migration:
                ends += migration.run()  # people have stopped, and the old place is left
            ended = here.ended()
            wrong = [each.detail for each in ends if each.kind not in ("applied", "skipped") and each.id not in ended]
            wrong += _gone(here, migration, client)
            wrong += here.wrong()
            if kind is Migration:
                wrong += [each.wrong for each in migration.verify() if each.wrong and each.id not in ended]
                again = [each for each in migration.copy() if each.kind != "skipped" and each.id not in ended]
                wrong += [f"a second run wrote: {each.detail}" for each in again]
            return wrong, here.edits
        finally:
            client.drop_database(name)


def _gone(here: Place, migration: Migration, client: pymongo.MongoClient) -> list[str]:
    """A document that was deleted in the old place after it had been copied is told by verifying; it is taken out here.

    Nothing is deleted in the new place by itself.
    """
    told = {each.id for each in migration.verify() if "and not in" in each.wrong}
    there = {row.id for row in here.target.page(PageQuery(limit=10**6))} - set(here.known)
    for id in there:
        for ns, name in migration._rows.places.items():
            client[ns.partition(".")[0]][ns.partition(".")[2]].delete_many({name: id.python()})
    return [] if told == there else [f"verifying told of {len(told)} documents that are gone, of {len(there)}"]


def killed(uri: str, pair: tuple[str, str], seed: int, home: Path, most: int = 10**6) -> list[str]:
    """What is wrong after a migration that dies at each of its writes in turn and is run again."""
    wrong: list[str] = []
    for at, behind in itertools.product(range(most), (False, True)):
        name = f"moving_{uuid.uuid4().hex[:10]}"
        with Server.connect(uri) as server, pymongo.MongoClient(uri) as client:
            try:
                here = place(server, name, pair, seed, home)
                here.plant(3)
                dying = Dying(server, at, behind)
                try:
                    list(here.migration(dying).run())
                    return wrong
                except Killed:
                    pass
                list(here.migration().run())
                wrong += [f"killed {'behind' if behind else 'at'} write {at}: {each}" for each in here.wrong()]
            finally:
                client.drop_database(name)
    return wrong
