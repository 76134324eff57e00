"""The fields that a save writes beside the edited ones are named before it is sent, and no other field is written."""

from __future__ import annotations

from typing import Any

import pymongo.database
import pytest

from model.profile import Profile
from model.session import Session
from model.values import canonical
from model.values.canonical import Value

Db = pymongo.database.Database[dict[str, Any]]
ID = Value.of("K-1")


@pytest.mark.parametrize(
    "layout", ["versions", "flagged", "deltas", "archive", "embedded", "nested", "hashed", "plain"]
)
@pytest.mark.parametrize("token", ["", "_w"], ids=["no token", "token"])
def test_the_preview_names_what_the_save_writes(layout: str, token: str, database: Db, server_uri: str) -> None:
    ns = f"{database.name}.things"
    stated: dict[str, Any] = {"ns": ns, "layout": layout}
    if layout not in ("hashed", "plain"):
        stated |= {"at": "changedAt", "author": "changedBy", "token": token}
    if layout == "archive":
        stated |= {"archive": f"{ns}_past", "guard": {"field": "__v", "how": "inc"}}
    with Session.open(server_uri, Profile.read({"collection": [stated]}, "here")) as session:
        if session.indexes.missing(ns):
            session.indexes.create(ns)
        assert session.writing.create(ns, canonical.encode({"n": 1, "m": 1}), ID).kind == "applied"
        if layout == "archive":
            database["things"].update_one({}, {"$set": {"__v": 4}})
        base = session.history.version(ns, ID)
        content = canonical.encode({"n": 2, "m": 1})
        said = session.writing.preview(ns, ID, base, content).explanation.partition(
            "Beside the edited fields it writes "
        )
        named = set(said[2].rstrip(".").replace(" and ", ", ").split(", ")) - {""}
        assert session.writing.save(ns, ID, base, content).kind == "applied"
        now = session.history.version(ns, ID)
    assert base.raw is not None
    assert now.raw is not None
    before, after = (dict(_fields(raw)) for raw in (base.raw, now.raw))
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    own = {"_id", "prev", "versions", "n", "m", "current.n"}  # a document of its own, the history, the edit
    assert changed - own <= named
    assert named - changed <= {"changedBy", "current.changedBy"}, "the same person wrote before"
    assert bool(named) == (layout != "plain")


def _fields(raw: bytes) -> list[tuple[str, Value]]:
    """The fields at the top, and those of the current version in a sub-document."""
    found = []
    for name, value in canonical.fields(raw):
        if name == "current" and value.is_container:
            found += [(f"current.{inner}", each) for inner, each in canonical.fields(value.data)]
        else:
            found.append((name, value))
    return found
