"""Every kind of work by a user with just the privileges of the manual's role for it, and without each of them.

``PALIMPSEST_TEST_URI`` with an administrator of a server with access control runs this there as well: it creates the
manual's roles and a user in a database of its own, and drops them.
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import ObjectId

from resources import manual
from tests import servers
from tests.guarded_server import GuardedServer
from tests.journeys.command_support import Run
from tests.resources.manual_text import blocks, section
from tests.support import every

ADMIN, PASSWORD = "r00t-of-all", "s3cret-of-eva"
PAGE = manual.page("rights")
HEADINGS = [line for line in PAGE.splitlines() if line.startswith("## ")]
THINGS = {
    "## Looking": [
        "collections URI",
        "scan URI DB.orders",
        "history URI DB.orders 1",
        "show URI DB.orders 1@2",
        "find URI DB.orders",
        "compare URI DB.orders URI DB.orders",
        "diff URI DB.orders 1 2 3",
        "blame URI DB.orders 1",
        "activity URI DB",
        "asof URI DB.orders 2099-01-01",
        "export URI DB.orders --jsonl DIR/orders.jsonl",
    ],
    "## Editing": [
        "edit URI DB.orders 2 --set total=77",
        "restore URI DB.orders 2 1",
        "undo ENTRY --source URI",
        'insert URI DB.orders {"total":5} --id 99',
        "undo ENTRY --source URI",
    ],
    "## Repairing": [
        "scan URI DB.orders --plan DIR/plan",
        "repair URI --plan DIR/plan --apply",
        "undo ENTRY --source URI",
    ],
    "## Counting": [
        "next URI DB.counters orders --layout sequence",
        "count URI DB.hits a t0k --layout pending",
        "cleanup URI DB.hits --apply --older-than 1h",
        "process URI DB.seen a w --layout processed --field total",
    ],
    "## Moving to another layout": [
        "migrate URI DB.orders --to versions --apply",
        "migrate URI DB.orders --to versions --take-back --apply",
    ],
    "## Feeding an archive": ["feed URI DB.orders --layout stream --once"],
    "## Checking a server": ["check URI --quick"],
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[GuardedServer]:
    with GuardedServer({"root": ADMIN}, replica_set="rs") as made:
        yield made


@pytest.fixture(params=["local", *(["given"] if servers.GIVEN_PASSWORD else [])])
def admin_uri(request: pytest.FixtureRequest) -> str:
    if request.param == "given":
        return servers.GIVEN_URI
    host = request.getfixturevalue("guarded").host
    return f"mongodb://root:{ADMIN}@{host}/?directConnection=true"


class Scene:
    """A database of the test's own as its administrator sees it, and one user with one role."""

    def __init__(self, uri: str) -> None:
        self.client: pymongo.MongoClient[dict[str, Any]] = pymongo.MongoClient(uri, serverSelectionTimeoutMS=60_000)
        self.db = f"palimpsest_test_{uuid.uuid4().hex[:12]}"
        head, _, rest = uri.partition("://")
        host, _, options = rest.rpartition("@")[2].partition("/")
        kept = [each for each in options.partition("?")[2].split("&") if not each.lower().startswith("authsource=")]
        asked = "&".join(filter(None, [*kept, f"authSource={self.db}"]))
        self.uri = f"{head}://eva:{PASSWORD}@{host}/?{asked}"
        self._made: list[tuple[str, str, str]] = []  # database, command, name

    def plant(self, heading: str) -> None:
        """Documents for a kind of work; what is repaired is a phantom in the archive."""
        db = self.client[self.db]
        for name in db.list_collection_names():
            db.drop_collection(name)
        orders, rows = [], []
        for at, name in enumerate(("Ada", "Bob", "Cyd", "Dan", "Eve", "Fay")):
            for v in (1, 2, 3):
                body = {"v": v, "customer": name, "city": "Rome" if v < 2 else "Oslo", "total": at * 10 + v}
                if v < 3:
                    rows.append({"_id": ObjectId(), "docId": at, **body, "_w": ObjectId()})
                else:
                    orders.append({"_id": at, **body, "_w": ObjectId()})
        db.orders.insert_many(orders)
        db.orders_archive.insert_many(rows)
        db.orders_archive.create_index([("docId", 1), ("v", 1)], unique=True)
        if heading == "## Repairing":
            db.orders_archive.insert_one({"docId": 5, "v": 9, "customer": "Fay", "total": 1, "_w": ObjectId()})
        if heading != "## Counting":
            return
        db.counters.insert_one({"_id": "orders", "seq": 5})
        old = ObjectId("65a1b2c30000000000000003")
        db.hits.insert_many([{"_id": "a", "count": 5, "pending": []}, {"_id": "b", "count": 5, "pending": [old]}])
        db.seen.insert_many([{"_id": key, "total": 5, "processed": [key]} for key in ("a", "b")])

    def role_of(self, heading: str) -> dict[str, Any]:
        """The role below a heading of the manual, for this database and under a name of its own."""
        (written,) = blocks(section(PAGE, heading), "json")
        found: dict[str, Any] = json.loads(written.replace('"shop"', f'"{self.db}"'))
        return found | {"createRole": f"{self.db}_{found['createRole']}"}

    def admit(self, role: dict[str, Any]) -> None:
        """Make the role and its user."""
        own = all(each["resource"]["db"] == self.db for each in role["privileges"])
        place, named = self.db if own else "admin", role["createRole"]
        self.client[place].command(role)
        self._made.append((place, "dropRole", named))
        held = [{"role": named, "db": place}]
        self.client[self.db].command({"createUser": "eva", "pwd": PASSWORD, "roles": held})
        self._made.append((self.db, "dropUser", "eva"))

    def change(self, role: dict[str, Any], privileges: Sequence[dict[str, Any]]) -> None:
        """Leave the role with these privileges."""
        (place, _, named), *_ = self._made
        self.client[place].command({"updateRole": named, "privileges": list(privileges), "roles": []})

    def close(self) -> None:
        """Drop all that was made."""
        for place, command, named in reversed(self._made):
            self.client[place].command({command: named})
        self.client.drop_database(self.db)
        self.client.close()


@pytest.fixture
def scene(admin_uri: str) -> Iterator[Scene]:
    made = Scene(admin_uri)
    yield made
    made.close()


def ends(scene: Scene, run: Run, heading: str, folder: Path) -> Iterator[tuple[int, str]]:
    """How each command of a kind of work ends, and what it says."""
    for line in THINGS[heading]:
        entries = [int(json.loads(row)["entry"]) for row in run("journal", "--json")[1].splitlines()]
        given = {"URI": scene.uri, "DIR": str(folder), "DB": scene.db, "ENTRY": str(max(entries, default=0))}
        words = [re.sub("URI|DIR|DB|ENTRY", partial(_given, given), word) for word in line.split()]
        status, out, err = run(*words)
        yield status, out + err


def _given(values: dict[str, str], name: re.Match[str]) -> str:
    return values[name[0]]


def less_one(role: dict[str, Any]) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Each action of a role with its place, and the privileges without it."""
    for at, privilege in enumerate(role["privileges"]):
        for action in privilege["actions"]:
            others = [each for each in privilege["actions"] if each != action]
            left = [*role["privileges"]]
            left[at : at + 1] = [{"resource": privilege["resource"], "actions": others}] if others else []
            resource = privilege["resource"]
            yield action, f"{resource['db']}.{resource['collection']}".strip("."), left


def test_the_manual_has_a_role_for_every_kind_of_work() -> None:
    assert [heading for heading in HEADINGS if blocks(section(PAGE, heading), "json")] == list(THINGS)


@pytest.mark.deep
@pytest.mark.slice
@pytest.mark.parametrize("heading", every(len(THINGS), THINGS, in_slice=True))
def test_a_user_with_the_role_of_the_manual_does_it_all_and_with_one_privilege_less_hears_which(
    heading: str, scene: Scene, run: Run, tmp_path: Path
) -> None:
    role = scene.role_of(heading)
    scene.plant(heading)
    scene.admit(role)
    for line, (status, said) in zip(THINGS[heading], ends(scene, run, heading, tmp_path), strict=True):
        assert status in ((0, 1) if line.startswith(("scan", "diff", "asof")) else (0,)), (line, said)
        assert "lacks the privilege" not in said, line
    for action, place, left in less_one(role):
        scene.plant(heading)
        scene.change(role, left)
        told = "".join(said for _, said in ends(scene, run, heading, tmp_path))
        named = re.escape(place) if place else r"palimpsest_check_\w+(\.\w+)?"
        missing = [rf"{action}( and \w+)? on {named}"]
        if place not in {f"{each['resource']['db']}.{each['resource']['collection']}" for each in left}:
            missing.append(rf"listCollections on {scene.db}")  # the collection is not to be seen at all
        assert re.search(rf"lacks the privilege (\w+ and )?({'|'.join(missing)})[;. ]", told), (action, place, told)
