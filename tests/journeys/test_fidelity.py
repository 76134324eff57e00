"""Every BSON type and MongoDB's published corpus: insert, show, edit another field, swap; every other byte stays.

Plain PyMongo writes and reads the documents as raw bytes; in between, only the product touches them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pymongo
import pytest
from bson import ObjectId
from bson.codec_options import CodecOptions
from bson.raw_bson import RawBSONDocument

from model import text
from model.session import Session
from model.values import canonical as c
from model.values.canonical import Value
from tests import support

FOLDER = support.CASES / "bson-corpus"
LAYOUTS = ("versions", "embedded", "archive", "hashed", "plain")
RAW: CodecOptions[RawBSONDocument] = CodecOptions(document_class=RawBSONDocument)
Client = pymongo.MongoClient[dict[str, Any]]


def corpus() -> Iterator[tuple[str, list[bytes]]]:
    """The valid documents of each file of the corpus."""
    for file in sorted(FOLDER.glob("*.json")):
        cases = json.loads(file.read_text("utf-8")).get("valid", [])
        if cases:
            yield file.stem, [bytes.fromhex(case["canonical_bson"]) for case in cases]


CORPUS = dict(corpus())


def stored(layout: str, id: str, content: bytes) -> bytes:
    """A document that holds this content in the way of a layout, written by hand."""
    own = [("v", Value.of(1)), ("_w", Value.of(ObjectId()))]
    fields = c.fields(content)
    key = [("_id", Value.of(id))]
    if layout == "versions":
        return c.document([("_id", Value.of(ObjectId())), ("docId", Value.of(id)), *own, *fields])
    if layout == "embedded":
        current = Value.document(c.document([*own, *fields]))
        return c.document([*key, ("current", current), ("prev", c.array([]))])
    if layout == "archive":
        return c.document([*key, *own, *fields])
    if layout == "hashed":
        return c.document([*key, *fields, ("_versioned_id", Value.of(c.hash_of(content))), own[1]])
    return c.document([*key, *fields])


def content_of(layout: str, raw: bytes) -> bytes:
    """The inverse of :func:`stored`."""
    if layout == "embedded":
        current = c.get(raw, ("current",))
        assert current is not None
        raw = current.data
    return c.without(raw, {"_id", "docId", "v", "_w", "_versioned_id"})


@pytest.fixture
def profile(tmp_path: Path, database_name: str) -> Path:
    lines = []
    for layout in LAYOUTS:
        id = "docId" if layout == "versions" else "_id"
        lines += ["[[collection]]", f'ns = "{database_name}.{layout}"', f'layout = "{layout}"', f'id = "{id}"']
        lines += [f'archive = "{database_name}.archive_history"'] if layout == "archive" else []
    path = tmp_path / "profile.toml"
    path.write_text("\n".join(lines), "utf-8")
    return path


@pytest.fixture
def session(server_uri: str, profile: Path) -> Iterator[Session]:
    with Session.open(server_uri, profile=profile) as made:
        yield made


def can_hold(client: Client, database_name: str, document: bytes) -> bool:
    """Whether this server keeps such a document at all, as a plain client finds out."""
    there = client.get_database(database_name, codec_options=RAW).probe
    try:
        there.insert_one(RawBSONDocument(c.document([("_id", Value.of("probe")), ("value", Value.document(document))])))
        found = there.find_one({"_id": "probe"})
        return found is not None and c.get(bytes(found.raw), ("value",)) == Value.document(document)
    except pymongo.errors.PyMongoError:
        return False
    finally:
        there.drop()


@pytest.mark.parametrize("layout", support.every(len(LAYOUTS), LAYOUTS))
def test_what_an_edit_does_not_name_keeps_every_byte(
    layout: str, session: Session, client: Client, database_name: str, server_name: str
) -> None:
    ns = f"{database_name}.{layout}"
    raws = client.get_database(database_name, codec_options=RAW)
    if layout == "versions":
        raws[layout].create_index([("docId", 1), ("v", 1)], unique=True)
    if layout == "archive":
        raws.archive_history.create_index([("docId", 1), ("v", 1)], unique=True)
    kept = 0
    refused: list[str] = []
    for name, documents in CORPUS.items():
        held = [document for document in documents if can_hold(client, database_name, document)]
        assert held == documents or server_name != "local", f"{name} cannot be stored in the in-process server"
        values = Value.document(c.document((f"case{i}", Value.document(d)) for i, d in enumerate(held)))
        content = c.document([("before", Value.of(1)), ("values", values), ("edited", Value.of("old"))])
        raws[layout].insert_one(RawBSONDocument(stored(layout, name, content)))

        shown = session.history.version(ns, Value.of(name))
        assert shown.content == content
        assert text.from_text(text.to_text(content)) == content

        outcome = session.edit(ns, name, set={"edited": "new"})
        if outcome.kind == "refused" and server_name == "java" and layout in ("hashed", "plain"):
            # This server has no expressions, and compares no regular expressions: what cannot be guarded is refused.
            assert "nothing was written" in outcome.detail
            assert session.history.version(ns, Value.of(name)).content == content
            refused.append(name)
            continue
        assert outcome.kind == "applied", (name, outcome)
        key = {"docId": name, "v": 2} if layout == "versions" else {"_id": name}
        raw = raws[layout].find_one(key)
        assert raw is not None
        assert content_of(layout, bytes(raw.raw)) == c.put(content, ("edited",), Value.of("new")), name
        if layout in ("versions", "embedded", "archive"):
            first = session.history.version(ns, Value.of(name), Value.of(1))
            assert first.content == content, name
        kept += len(held)
    assert len(refused) <= 5, refused
    everything = sum(len(documents) for documents in CORPUS.values())
    assert kept == everything or server_name != "local"
    assert kept > everything * 0.8, f"this server does not take {everything - kept} of {everything} documents"
