"""Repairs of documents that another program locks: each write raises the lock, and so does the undo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests import support
from tests.repairing.planting import CASES, Case
from tests.repairing.proving import place

LOCKED = 3


def documents(things: Any) -> dict[Any, dict[str, Any]]:
    return {repr(each["_id"]): each for each in things.find()}


@pytest.mark.parametrize("case", support.every(6, CASES), ids=lambda case: case.name)
def test_what_a_repair_changes_in_place_it_raises_there_and_back(case: Case, server_uri: str, tmp_path: Path) -> None:
    with place(case, server_uri, "default", 1, tmp_path) as here:
        things = here.database["things"]
        things.update_many({}, {"$set": {"__v": LOCKED}})
        before = documents(things)
        plan = here.plan()
        assert plan.items, "the lock hides nothing of what is wrong"
        running = here.session.repairs.apply(plan)
        assert {outcome.kind for _, outcome in running} <= {"applied", "skipped"}
        after = documents(things)
        for key, document in after.items():
            was = before.get(key)
            if was is not None and document != was:
                assert document["__v"] > LOCKED, document
            elif was is None:
                assert "__v" not in document or document["__v"] >= 0
        assert [o.kind for o in here.session.repairs.undo(running.id) if o.kind not in ("applied", "skipped")] == []
        for key, document in documents(things).items():
            now = after.get(key)
            if now is not None and document != now:
                assert document["__v"] > now["__v"], document
            assert {**document, "__v": 0} == {**before.get(key, document), "__v": 0}
