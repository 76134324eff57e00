"""Random applications beside a feeder that dies at random: the archive always tells the truth.

``python -m tests.model.feed.feed_scenes [STORIES] [SEED]`` runs many; a seed alone runs one again.
"""

from __future__ import annotations

import random
import sys
from contextlib import suppress
from typing import Any

from tests.model.feed.feed_support import Ground, Killed, ground
from tests.model.server.faulty_server import Dead

OPERATIONS = 40


class Application:
    """Edits documents as applications do, and remembers every state that each version ever had."""

    def __init__(self, here: Ground, chance: random.Random, careless: bool) -> None:
        self.here, self.chance, self.careless = here, chance, careless
        self.states: dict[tuple[str, int], list[dict[str, Any]]] = {}
        self.touched: set[str] = set()  # documents that were changed without a new version
        self.alive: list[str] = []
        self.deleted: list[str] = []
        self.made = 0

    def act(self) -> None:
        """One write."""
        if not self.alive or self.chance.random() < 0.15:
            self._insert()
            return
        id = self.chance.choice(self.alive)
        what = self.chance.choices(("edit", "replace", "delete", "in place"), (12, 2, 1, 1 if self.careless else 0))[0]
        if what == "delete":
            self.here.orders.delete_one({"_id": id})
            self.alive.remove(id)
            self.deleted.append(id)
            return
        if what == "replace":
            now = self.here.orders.find_one({"_id": id})
            assert now is not None
            self.here.orders.replace_one({"_id": id}, {"v": now["v"] + 1, **self._content()})
        else:
            update = self._update()
            if what == "in place":
                self.touched.add(id)
            else:
                update["$inc"] = {"v": 1}
            self.here.orders.update_one({"_id": id}, update)
        self._note(id)

    def _insert(self) -> None:
        id, self.made = f"D{self.made}", self.made + 1
        self.here.orders.insert_one({"_id": id, "v": 1, **self._content()})
        self.alive.append(id)
        self._note(id)

    def _content(self) -> dict[str, Any]:
        number = self.chance.randrange
        return {"a": number(9), "in": {"x": number(9), "y": {"z": number(9)}}, "list": [number(9) for _ in range(3)]}

    def _update(self) -> dict[str, Any]:
        number = self.chance.randrange
        return self.chance.choice(
            [
                {"$set": {"a": number(99), "in.x": number(99)}},
                {"$set": {f"new{number(3)}": {"k": number(99)}, "b": number(99)}},
                {"$set": {"in.y.z": number(99)}, "$unset": {f"new{number(3)}": 1}},
                {"$push": {"list": number(99)}},
                {"$pop": {"list": self.chance.choice((1, -1))}},
                {"$set": {"list.0": number(99)}},
                {"$unset": {"in.x": 1}, "$set": {"c": None}},
            ]
        )

    def _note(self, id: str) -> None:
        now = self.here.orders.find_one({"_id": id})
        assert now is not None
        self.states.setdefault((id, now.pop("v")), []).append({k: v for k, v in now.items() if k != "_id"})


def story(seed: int) -> None:
    """One story, told to its end and looked at; raises ``AssertionError``."""
    chance = random.Random(seed)
    with ground() as here:
        if chance.random() < 0.3:
            here.client.shop.create_collection("orders", changeStreamPreAndPostImages={"enabled": True})
        here.feed()
        application = Application(here, chance, careless=chance.random() < 0.5)
        rows: dict[Any, dict[str, Any]] = {}
        feeder = None
        for _ in range(OPERATIONS):
            application.act()
            if chance.random() < 0.5:
                continue
            try:
                if feeder is None:
                    feeder = here.feeding(Killed(here.server, chance.randrange(1, 12), chance.random() < 0.5))
                for _ in range(chance.randrange(6)):
                    if next(feeder, None) is None:
                        feeder = None
                        break
            except Dead:
                feeder = None
            now = {row["_id"]: row for row in here.archive.find()}
            assert rows.items() <= now.items(), "history was rewritten"
            rows = now
        if feeder is not None:
            with suppress(Dead):
                feeder.close()
        here.feed()
        here.feed()
        look(here, application)


def look(here: Ground, application: Application) -> None:
    """The archive against what the application did."""
    archived = {(id, v): content for id, v, content in here.archived()}
    assert len(archived) == here.archive.count_documents({})
    noted = {(note["_id"]["id"], note["_id"]["v"]) for note in here.ledger.find({"_id.what": "lost"})}
    ended = [note["_id"]["id"] for note in here.ledger.find({"_id.what": "deleted"})]
    known = {id for id, _ in archived}
    assert sorted(ended) == sorted(id for id in application.deleted if id in known), "deletes are noted once each"
    for key, content in archived.items():
        assert content in application.states[key], f"{key} never was {content}"
        assert list(content) in [list(state) for state in application.states[key]], f"{key} is in another order"
    for key in application.states:
        # What one run could not prove, and noted, the next may: it begins earlier and has seen more.
        assert key in archived or key in noted, f"{key} is neither in the archive nor noted"
        assert key in archived or key[0] in application.touched, f"{key} was lost without a reason"


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    for number in range(first, first + int(sys.argv[1] if len(sys.argv) > 1 else 1000)):
        try:
            story(number)
        except BaseException:
            print(f"seed {number}: python -m tests.model.feed.feed_scenes 1 {number}", flush=True)
            raise
    print(f"{number - first + 1:,} stories from seed {first}: every version archived once as it was, or noted.")
