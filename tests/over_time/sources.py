"""What the oracle edits: the product's own layouts, and collections written as other programs' libraries do."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from bson import CodecOptions, ObjectId
from bson.json_util import dumps

from model.layouts.base import Layout
from model.layouts.registry import LAYOUTS, bind, has_archive
from model.profile import stated
from model.server.retry import Server
from model.storage.swap_steps import Stamp
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.row_keys import profile_of

DECODED = CodecOptions[dict[str, Any]](tz_aware=True)
Doc: TypeAlias = dict[str, Any]
Fate: TypeAlias = Literal["told", "silent", "whole", "none"]
"""What a delete leaves: a version that says when, only the history, nothing at all; "none": there is no delete."""

OWN = tuple(
    name
    for name, kind in LAYOUTS.items()
    if not kind.written_by_others and not kind.read_only and "version" in kind.roles
)


class Source:
    """A collection under edits. A time and an author are those of the edit, where the source keeps them."""

    fate: Fate = "none"
    keeps_time = True
    keeps_author = False
    lines_up_by_time = False
    """Whether the times are what puts the versions in order, so that a clock that jumps shuffles them."""
    builds_up = False
    """Whether a version is what changed, so that those behind a lost one cannot be proven."""
    unit = dt.timedelta(milliseconds=1)
    layout: Layout

    def key(self, number: int) -> Any:
        """The id of a document."""
        return ObjectId(b"\x66" + number.to_bytes(11, "big"))

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        """Make a document."""
        raise NotImplementedError

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        """Make the next version of a document."""
        raise NotImplementedError

    def delete(self, id: Any, before: Doc, at: dt.datetime, author: str) -> None:
        """Delete a document."""
        raise NotImplementedError

    def lose(self, id: Any, v: int) -> bool:
        """Take an earlier version out of the store, as a loss would; False where this source cannot lose one."""
        return False


class Own(Source):
    """A layout of the product, written through its own swap."""

    keeps_author = True

    def __init__(self, server: Server, database: str, name: str) -> None:
        fields: dict[str, Any] = {"at": "changedAt", "author": "changedBy", "token": "_w"}
        if has_archive(name) and name not in ("embedded",):
            fields["archive"] = f"{database}.things_past"
        if name == "deltas":
            fields["removed"] = "gone"
        self.server = server
        self.layout = bind(server, stated(f"{database}.things", name, **fields))
        if self.layout.missing_index():
            self.layout.create_index()
        self.builds_up = name == "deltas"
        inside = name in ("embedded", "nested")
        self.fate = "told" if self.layout.own_documents else "whole" if inside else "silent"

    def key(self, number: int) -> Any:
        return f"K-{number}"

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        self._applied(self.layout.create(c.encode(content), Value.of(id), Stamp(author=author, at=at)))
        self._feed(id)

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        base = self.layout.version(Value.of(id))
        self._applied(self.layout.swap(Value.of(id), base, c.encode(content), Stamp(author=author, at=at)))
        self._feed(id)

    def delete(self, id: Any, before: Doc, at: dt.datetime, author: str) -> None:
        base = self.layout.version(Value.of(id))
        self._applied(self.layout.delete(Value.of(id), base, Stamp(author=author, at=at)))

    def _applied(self, outcome: Any) -> None:
        assert outcome.kind == "applied", outcome

    def _feed(self, id: Any) -> None:
        """Copy the newest state to the archive of a stream, as its feeder would."""
        p = self.layout.profile
        if p.layout != "stream":
            return
        (found,) = self._collection(p.ns).find({"_id": id})
        self._collection(p.archive).insert_one({"_id": ObjectId(), p.archive_id: found.pop("_id"), **found})

    def _collection(self, ns: str) -> Any:
        db, _, name = ns.partition(".")
        return self.server._client.get_database(db, DECODED)[name]

    def lose(self, id: Any, v: int) -> bool:
        p = self.layout.profile
        if p.layout in ("embedded", "nested"):
            parts = {p.prev: {p.version: v}}
            return bool(self._collection(p.ns).update_one({"_id": id}, {"$pull": parts}).modified_count)
        ns, key = (p.ns, p.id) if self.layout.own_documents else (p.archive, p.archive_id)
        return bool(self._collection(ns).delete_one({key: id, p.version: v}).deleted_count)


class Foreign(Source):
    """A program with a preset of its own; it loads a document, changes it and saves."""

    writer: str

    def __init__(self, server: Server, database: str) -> None:
        db = server._client.get_database(database, DECODED)
        self.things, self.rows = db["items"], db["rows"]
        self.layout = bind(server, profile_of(self.writer, f"{database}.items", f"{database}.rows"))


class MongooseHistory(Foreign):
    """mongoose-history: a row with the whole state, of a delete too; then the document."""

    writer, fate, lines_up_by_time = "mongoose-history", "told", True

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        self._row("i", id, content, at)
        self.things.insert_one({"_id": id, **content, "__v": 0})

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        self._row("u", id, content, at)
        self.things.replace_one({"_id": id}, {**content, "__v": 0})

    def delete(self, id: Any, before: Doc, at: dt.datetime, author: str) -> None:
        self._row("r", id, before, at)
        self.things.delete_one({"_id": id})

    def _row(self, did: str, id: Any, content: Doc, at: dt.datetime) -> None:
        self.rows.insert_one({"t": at, "o": did, "d": {"_id": id, **content}})


class PatchHistory(Foreign):
    """mongoose-patch-history: a JSON Patch from the first save on, gone with its document."""

    writer, fate, lines_up_by_time = "mongoose-patch-history", "whole", True

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        self._patch(id, {}, content, at)
        self.things.insert_one({"_id": id, **content, "__v": 0})

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        self._patch(id, before, content, at)
        self.things.replace_one({"_id": id}, {**content, "__v": 0})

    def delete(self, id: Any, before: Doc, at: dt.datetime, author: str) -> None:
        self.rows.delete_many({"ref": id})
        self.things.delete_one({"_id": id})

    def _patch(self, id: Any, before: Doc, after: Doc, at: dt.datetime) -> None:
        ops: list[Doc] = [{"op": "remove", "path": f"/{name}"} for name in before if name not in after]
        for name, value in after.items():
            if name not in before or before[name] != value:
                ops.append({"op": "replace" if name in before else "add", "path": f"/{name}", "value": value})
        self.rows.insert_one({"ops": ops, "ref": id, "date": at, "__v": 0})


class Eve(Foreign):
    """Eve: the document with an etag over it, then the whole state under its number; times are in seconds."""

    writer, fate, unit = "eve", "whole", dt.timedelta(seconds=1)

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        self._put(id, content, {"_created": at, "_updated": at, "_version": 1}, new=True)

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        found = self.things.find_one({"_id": id})
        kept = {"_created": found["_created"], "_updated": at, "_version": found["_version"] + 1}
        self._put(id, content, kept)

    def delete(self, id: Any, before: Doc, at: dt.datetime, author: str) -> None:
        self.things.delete_one({"_id": id})
        self.rows.delete_many({"_id_document": id})

    def lose(self, id: Any, v: int) -> bool:
        return bool(self.rows.delete_one({"_id_document": id, "_version": v}).deleted_count)

    def _put(self, id: Any, content: Doc, kept: Mapping[str, Any], new: bool = False) -> None:
        whole = {"_id": id, **content, **kept}
        whole["_etag"] = hashlib.sha1(dumps(whole, sort_keys=True).encode()).hexdigest()
        if new:
            self.things.insert_one(whole)
        else:
            self.things.replace_one({"_id": id}, whole)
        row = {name: each for name, each in whole.items() if name not in ("_id", "_created")}
        self.rows.insert_one({**row, "_id_document": id})


class Vermongo(Foreign):
    """Vermongo: the state before under its id and number, then the document; no time is kept."""

    writer, keeps_time = "vermongo", False

    def create(self, id: Any, content: Doc, at: dt.datetime, author: str) -> None:
        self.things.insert_one({"_id": id, **content, "_version": 1})

    def save(self, id: Any, before: Doc, content: Doc, at: dt.datetime, author: str) -> None:
        found = self.things.find_one({"_id": id})
        self.rows.insert_one(found | {"_id": {"_id": id, "_version": found["_version"]}})
        self.things.replace_one({"_id": id}, {**content, "_version": found["_version"] + 1})

    def lose(self, id: Any, v: int) -> bool:
        return bool(self.rows.delete_one({"_id": {"_id": id, "_version": v}}).deleted_count)


FOREIGN: dict[str, type[Foreign]] = {kind.writer: kind for kind in (Eve, MongooseHistory, PatchHistory, Vermongo)}
NAMES = (*OWN, *FOREIGN)


def source(server: Server, database: str, name: str) -> Source:
    """A source by its name, in a database of its own."""
    return FOREIGN[name](server, database) if name in FOREIGN else Own(server, database, name)
