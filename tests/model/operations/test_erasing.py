"""Fields of one person erased for good, in every layout: from versions, quarantine, journal, draft and files."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Iterator
from functools import partialmethod
from pathlib import Path
from typing import Any

import pytest

from model.errors import Refused
from model.foundation.findings import Finding
from model.foundation.records import Draft
from model.layouts.registry import WRITABLE
from model.operations import erasing
from model.operations.cleaned_documents import taken_out
from model.operations.retaining import Rule
from model.server.retry import Reply, Server, Write
from model.session import Session
from model.text.paths import path_from_text
from model.userdata.drafts import Drafts
from model.values import canonical as c
from model.values.canonical import Value

PROFILE = '[[collection]]\nns = "{ns}"\nlayout = "{layout}"\n'
OWN = ("versions", "flagged", "deltas")  # a version is a document of its own
QUICK = ("archive",)
WHOLE = ("archive", "embedded", "flagged", "nested", "stream", "versions")
SECRETS = ("0151-1111", "0151-2222", "0151-3333", "0151-4444")
PATHS = tuple(map(path_from_text, ("holder.phone", "lines.phone")))
ID, OTHER = Value.of("P-1"), Value.of("P-2")
Scene = tuple[Session, str, Path]


@pytest.fixture(params=[pytest.param(each, marks=() if each in QUICK else pytest.mark.deep) for each in WRITABLE])
def people(request: pytest.FixtureRequest, server_uri: str, database: Any, tmp_path: Path) -> Iterator[Scene]:
    """Two people with three versions each, a copy in the quarantine, entries in the journal, and a draft."""
    layout, ns, file = str(request.param), f"{database.name}.people", tmp_path / "profile.toml"
    said = PROFILE.format(ns=ns, layout=layout) + ('id = "docId"\n' if layout in OWN else "")
    said += 'removed = "gone"\n' if layout == "deltas" else ""
    said += 'hash = "seal"\n' if layout in ("archive", "embedded", "deltas") else ""
    file.write_text(said + (f'archive = "{ns}_past"\n' if layout in ("archive", "stream") else ""))
    home = tmp_path / "home"
    with Session.open(server_uri, file, home=home) as session:
        if session.catalogue.layout(ns).missing_index():
            session.catalogue.layout(ns).create_index()
        ids = {}
        for id, phones in ((ID, SECRETS), (OTHER, ("0151-9999",) * 4)):
            first = {"holder": {"name": "Ann", "phone": phones[0]}, "lines": [{"n": 1, "phone": phones[1]}], "n": 1}
            made = session.writing.create(ns, c.encode(first), None if layout == "hashed" else id)
            assert made.id is not None
            ids[id] = made.id
            feed(database, layout)
            for n, changes in ((2, {"holder.phone": phones[2]}), (3, {"n": 3}), (4, {"holder.phone": phones[3]})):
                assert session.edit(ns, made.id, set={"m": n, **changes}).kind == "applied"
                feed(database, layout)
        if layout in WHOLE:
            v = session.catalogue.reading.find_version(ns, ID, "2")
            assert [e.kind for e in session.retaining.apply(session.retaining.listed(ns, Rule(only=v), ID))] == [
                "applied"
            ]
        raw = session.history.version(ns, ids[ID]).content or c.EMPTY
        now = dt.datetime.now(dt.UTC)
        Drafts(home).keep(Draft(session.source, ns, ids[ID], None, raw, c.put(raw, ("n",), Value.of(9)), now))
        yield session, ns, home


def feed(database: Any, layout: str) -> None:
    if layout == "stream":
        for row in database["people"].find():
            row["docId"] = row.pop("_id")
            database["people_past"].update_one({"docId": row["docId"], "v": row["v"]}, {"$set": row}, True)


def id_of(session: Session, ns: str) -> Value:
    """The person's id; hashed documents choose their own."""
    for row in session.documents.page(ns).rows:
        if row.id == ID or SECRETS[3].encode() in row.raw:
            return row.id
    raise AssertionError("gone")


def everything(database: Any, home: Path, session: Session) -> bytes:
    """The bytes of all documents, of all files here, and of the contents in the journal."""
    rows = [str(row).encode() for name in database.list_collection_names() for row in database[name].find()]
    files = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    kept = []
    for entry in session.journal.entries():
        record = session.journal.record(entry.id)
        kept += [each for each in (record.before, record.after, record.stored) if each is not None]
    return b"\0".join([*rows, *files, *kept])


def shapes(session: Session, ns: str, id: Value) -> list[tuple[object, str, object]]:
    """Each version with its state and what is not erased."""
    found = []
    for each in session.catalogue.layout(ns).history(id, contents="all"):
        content = each.content or c.EMPTY
        left = c.decode(taken_out(taken_out(content, PATHS[0]), PATHS[1]))
        found.append((each.v if session.catalogue.layout(ns).numbered else None, each.state, left))
    return found


def test_nothing_of_the_fields_is_found_again_and_the_rest_stands(people: Scene, database: Any) -> None:
    session, ns, home = people
    id, before = id_of(session, ns), everything(database, home, session)
    assert all(each.encode() in before for each in SECRETS)
    shape, other = shapes(session, ns, id), b"0151-9999"
    traces = session.erasing.traces(ns, id, PATHS)
    assert {"journal", "draft"} < {each.place for each in traces}
    done = session.erasing.apply(ns, id, PATHS, reason="asked by letter")
    assert (done.found, done.files) == ((), ())
    assert {each.place: each.count for each in done.erased} == {each.place: each.count for each in traces}
    after = everything(database, home, session)
    assert [each for each in SECRETS if each.encode() in after] == []
    assert other in after, "another person's stay"
    assert shapes(session, ns, id) == shape, "versions, numbers and other fields are as they were"
    assert [each for each in session.scans.scan([ns]) if isinstance(each, Finding) and each.code == "H1"] == []
    assert session.erasing.apply(ns, id, PATHS).erased == (), "once more it finds nothing"
    undoable = [entry for entry in session.journal.entries() if entry.undoable and entry.document == "P-1"]
    assert undoable == [], "there is no way back"
    assert session.edit(ns, id, set={"n": 5}).kind == "applied"


@pytest.mark.deep
def test_somebody_who_writes_it_back_is_told(people: Scene) -> None:
    session, ns, _ = people
    if session.catalogue.layout(ns).name == "hashed":
        pytest.skip("its version is the hash of the content")
    times = iter(range(2))

    def writer(done: int, total: int | None) -> None:
        if (n := next(times, None)) is not None:
            assert session.edit(ns, "P-1", set={"holder.phone": f"0151-777{n}"}).kind == "applied"

    assert session.erasing.apply(ns, ID, PATHS, writer).found == (), "it is looked for until it is gone"
    numbers = itertools.count()

    def always(done: int, total: int | None) -> None:
        session.edit(ns, "P-1", set={"holder.phone": f"0151-8{next(numbers)}"})

    always(0, None)
    assert session.erasing.apply(ns, ID, PATHS, always).found != ()


class Killed(BaseException):
    """The end of a process."""


@pytest.mark.deep
@pytest.mark.parametrize("behind", [False, True])
def test_killed_at_every_write_it_is_run_again(
    people: Scene, behind: bool, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns, home = people
    id, real = id_of(session, ns), Server.send

    def send(server: Server, left: list[int], write: Write) -> Reply:
        left[0] -= 1
        if left[0] >= 0:
            return real(server, write)
        if behind:
            real(server, write)
        raise Killed

    for at in range(40):
        with monkeypatch.context() as patch:
            patch.setattr(Server, "send", partialmethod(send, [at % 5]))
            try:
                session.erasing.apply(ns, id, PATHS)
                break
            except Killed:
                continue
    after = everything(database, home, session)
    assert [each for each in SECRETS if each.encode() in after] == []


def test_stopped_between_the_clean_copy_and_the_other_one_it_is_run_again(
    people: Scene, database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, ns, _ = people
    real, id = Server.send, id_of(session, ns)

    def send(server: Server, write: Write) -> Reply:
        if write.kind == "delete" and write.ns.endswith(".quarantine"):
            raise Killed
        return real(server, write)

    if session.catalogue.layout(ns).name not in WHOLE or session.catalogue.layout(ns).name in ("embedded", "nested"):
        return  # nothing of these lies in the quarantine
    with monkeypatch.context() as patch:
        patch.setattr(Server, "send", send)
        with pytest.raises(Killed):
            session.erasing.apply(ns, id, PATHS)
    assert database["quarantine"].count_documents({}) == 2
    done = session.erasing.apply(ns, id, PATHS)
    assert done.found == ()
    assert [each for each in SECRETS if each in str(list(database["quarantine"].find()))] == []


def test_many_versions_are_erased_with_few_questions(people: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    session, ns, _ = people
    asked: list[str] = []
    real = Server.find

    def find(server: Server, ns: str, *args: Any, **more: Any) -> Any:
        asked.append(ns)
        return real(server, ns, *args, **more)

    monkeypatch.setattr(Server, "find", find)
    session.erasing.apply(ns, id_of(session, ns), PATHS)
    assert len(asked) < 90, "what the server can compare is asked once for each collection"


def test_what_cannot_be_erased_is_one_sentence(people: Scene) -> None:
    session, ns, _ = people
    for path, why in (("lines[0].phone", "names a position"), ("_id", "kept by the layout")):
        with pytest.raises(Refused, match=why):
            session.erasing.traces(ns, ID, [path_from_text(path)])


@pytest.mark.parametrize(
    ("content", "path", "left"),
    [
        ({"a": {"b": 1, "c": 2}}, "a.b", {"a": {"c": 2}}),
        ({"a": [{"b": 1}, {"c": 2}, 3, [{"b": 4}]]}, "a.b", {"a": [{}, {"c": 2}, 3, [{}]]}),
        ({"a": 1}, "a.b", {"a": 1}),
        ({"a": 1}, "a", {}),
    ],
)
def test_a_field_is_taken_out_below_arrays_too(content: Any, path: str, left: Any) -> None:
    assert c.decode(taken_out(c.encode(content), path_from_text(path))) == left


def test_every_field_of_one_name_goes() -> None:
    twice = c.document([("a", Value.of("first text")), ("a", Value.of("second text"))])
    seen: set[bytes] = set()
    assert (taken_out(twice, ("a",), seen), seen) == (c.EMPTY, {b"first text", b"second text"})


def test_a_file_that_gets_its_name_while_files_are_looked_through_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, made = tmp_path / "kept", tmp_path / "made"
    kept.write_bytes(b"nothing")
    made.write_bytes(b"Jane Doe")
    read = Path.read_bytes

    def named_meanwhile(path: Path) -> bytes:
        if path == made:
            made.replace(kept)
        return read(path)

    monkeypatch.setattr(Path, "read_bytes", named_meanwhile)
    found, looked = erasing._files_with({b"Jane Doe"}, tmp_path)
    assert [each for each in found if each.startswith(str(tmp_path))] == [str(kept)]
    assert looked >= 1
