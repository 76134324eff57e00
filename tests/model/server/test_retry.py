"""Talking to a server: what an error means for a write, one retry, batches by size, a sentence for every failure."""

from __future__ import annotations

import copy
import socket
from typing import Any

import bson
import pymongo.errors as e
import pytest
from bson import Decimal128, Int64
from bson.raw_bson import RawBSONDocument
from msgspec.structs import replace
from pymongo.common import MIN_SUPPORTED_WIRE_VERSION

from model.errors import NotAllowed, Refused, Unreachable
from model.localserver import LocalServer
from model.server.answers import ROWS
from model.server.driver_errors import cannot_connect, cannot_read, without_password
from model.server.duplicate_key import DuplicateKey
from model.server.retry import End, Reply, Server, Write, bson_of, run
from model.values import canonical as c
from model.values.canonical import Value
from tests import support
from tests.model.command_log import listening
from tests.model.server.faulty_server import FaultyServer
from tests.servers.hosted_server import HostedServer, Refusal, ServerProfile
from tests.servers.listener import Listener

SECRET = "s3cr3t"
OLD = "Server at h:1 reports wire version 7, but this version of PyMongo requires at least 9 (MongoDB 4.4)."
NEW = "Server at h:1 requires wire version 40, but this version of PyMongo only supports up to 29."


def failure(code: int) -> e.OperationFailure:
    return e.OperationFailure("said the server", code, {"ok": 0, "errmsg": "said the server", "code": code})


# --- one retry, and "did mine land?"


def test_what_is_true_of_a_write_that_is_found_all_the_same_is_said() -> None:
    unconfirmed = replace(DOUBT, lasting="Not confirmed yet.")
    assert run(Scripted(unconfirmed), WRITE, lambda: True).sentence == "Not confirmed yet."
    answers = iter((False, True))
    assert run(Scripted(DOUBT, unconfirmed), WRITE, lambda: next(answers)).sentence == "Not confirmed yet."


class Scripted(FaultyServer):
    """A port whose replies are written down."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.sent: list[Write] = []

    def send(self, write: Write) -> Reply:
        self.sent.append(write)
        return self.replies.pop(0)


YES = Reply("yes", 1, 1)
NO_MATCH = Reply("no")
TAKEN = Reply("no", duplicate=DuplicateKey("v", ("docId", "v"), ("1", "2")), sentence="A unique index says no.")
ELSEWHERE = Reply("no", duplicate=DuplicateKey("email_1", ("email",), ('"x"',)), sentence="A unique index says no.")
UNTOLD = Reply("no", duplicate=DuplicateKey(), sentence="A unique index says no.")
REFUSED = Reply("no", sentence="Not allowed.")
DOUBT = Reply("unknown", retry=True, sentence="The connection was lost.")
WRITE = Write("d.c", "update", {"_id": 1}, {"$set": {"a": 1}})
INSERT = Write("d.c", "insert", {}, bson.encode({"_id": 1}), unique=("docId", "v"))


@support.table(
    "replies, landed, kind, attempts",
    [
        ((YES,), [], "applied", 1),
        ((NO_MATCH,), [], "conflict", 1),
        ((REFUSED,), [False], "refused", 1),
        ((REFUSED,), [True], "applied", 1),
        ((DOUBT,), [True], "applied", 1),
        ((DOUBT, YES), [False], "applied", 2),
        ((DOUBT, YES), [None], "applied", 2),
        ((DOUBT, NO_MATCH), [False, True], "applied", 2),
        ((DOUBT, NO_MATCH), [False, False], "conflict", 2),
        ((DOUBT, ELSEWHERE), [False, True], "applied", 2),
        ((DOUBT, ELSEWHERE), [False, False], "unknown", 2),
        ((DOUBT, NO_MATCH), [None, None], "unknown", 2),
        ((DOUBT, REFUSED), [False, False], "unknown", 2),
        ((DOUBT, DOUBT), [False, True], "applied", 2),
        ((DOUBT, DOUBT), [False, False], "unknown", 2),
        ((DOUBT, DOUBT), [None, None], "unknown", 2),
    ],
)
def test_a_write_ends_in_one_of_four_ways(
    replies: tuple[Reply, ...], landed: list[bool | None], kind: str, attempts: int
) -> None:
    port = Scripted(*replies)
    answers = list(landed)
    end = run(port, WRITE, lambda: answers.pop(0))
    assert end.kind == kind
    assert len(port.sent) == attempts
    assert len({id(write) for write in port.sent}) == 1, "a retry is the same write"
    assert not answers


@support.table(
    "write, replies, landed, kind",
    [
        (INSERT, (TAKEN,), [], "conflict"),
        (INSERT, (UNTOLD,), [False], "refused"),
        (INSERT, (UNTOLD,), [True], "applied"),
        (INSERT, (DOUBT, UNTOLD), [False, False], "unknown"),
        (INSERT, (ELSEWHERE,), [False], "refused"),
        (replace(INSERT, unique=None), (ELSEWHERE,), [], "conflict"),
        (INSERT, (DOUBT, TAKEN), [False, False], "conflict"),
        (INSERT, (DOUBT, TAKEN), [False, True], "applied"),
        (INSERT, (DOUBT, UNTOLD), [False, True], "applied"),
        (INSERT, (DOUBT, TAKEN), [False, None], "unknown"),
        (INSERT, (DOUBT, ELSEWHERE), [False, False], "unknown"),
        (INSERT, (DOUBT, ELSEWHERE), [False, True], "applied"),
        (WRITE, (TAKEN,), [False], "refused"),
        (WRITE, (UNTOLD,), [False], "refused"),
    ],
)
def test_a_value_in_use_elsewhere_is_no_race_that_was_lost(
    write: Write, replies: tuple[Reply, ...], landed: list[bool | None], kind: str
) -> None:
    answers = list(landed)
    assert run(Scripted(*replies), write, lambda: answers.pop(0)).kind == kind
    assert not answers


def test_without_a_token_nothing_is_tried_again() -> None:
    port = Scripted(DOUBT)
    assert run(port, WRITE, None).kind == "unknown"
    assert len(port.sent) == 1


def test_a_look_that_fails_is_no_answer() -> None:
    def unreachable() -> bool:
        raise Unreachable("gone")

    assert run(Scripted(DOUBT, DOUBT), WRITE, unreachable) == End("unknown", DOUBT.sentence, DOUBT, retried=True)


# --- against servers


def test_the_server_says_what_it_is_without_hello(server: Server) -> None:
    facts = server.facts()
    assert facts.wire >= MIN_SUPPORTED_WIRE_VERSION
    assert facts.version != "unknown version"
    assert facts.topology
    assert server.facts() is facts
    assert server.facts(refresh=True) is not facts


def test_documents_come_back_byte_for_byte_in_batches_by_size(server: Server, ns: str) -> None:
    sent = [bson.encode({"_id": i, "t": "x" * (40_000 if i % 7 == 0 else 10), "n": Int64(i)}) for i in range(150)]
    for raw in sent:
        assert (reply := server.send(Write(ns, "insert", {}, raw))).applied == "yes", reply.sentence
    assert list(server.find(ns, sort={"_id": 1})) == sent
    assert list(server.find(ns, sort={"_id": -1}, skip=2, limit=3)) == sent[-3:-6:-1]
    assert list(server.find(ns, {"_id": {"$lt": 2}}, projection={"_id": 1})) == [
        bson.encode({"_id": i}) for i in (0, 1)
    ]
    assert [c.decode(raw) for raw in server.aggregate(ns, [{"$match": {"_id": 5}}, {"$project": {"n": 1}}])]
    assert server.count(ns) == 150
    assert server.count(ns, {"_id": {"$gte": 100}}) == 50


def test_a_batch_is_never_asked_for_without_a_size(
    local_uri: str, monkeypatch: pytest.MonkeyPatch, database_name: str
) -> None:
    from pymongo.synchronous.database import Database

    asked: list[Any] = []
    original = Database.cursor_command

    def noted(self: Any, command: Any, *args: Any, **kwargs: Any) -> Any:
        asked.append(command.get("batchSize") or command.get("cursor", {}).get("batchSize"))
        return original(self, command, *args, **kwargs)

    monkeypatch.setattr(Database, "cursor_command", noted)
    with Server.connect(local_uri) as server:
        ns = f"{database_name}.things"
        for i in range(30):
            server.send(Write(ns, "insert", {}, bson.encode({"_id": i, "t": "x" * 300_000})))
        assert len(list(server.find(ns))) == 30
        assert len(list(server.find(ns))) == 30
        assert asked[0] == 2, "the size of these documents was not known"
        assert 2 <= asked[1] <= 14, "13 of them are 4 MB"
        assert all(asked)


def test_what_is_not_there_is_empty(server: Server, ns: str) -> None:
    assert list(server.find(ns)) == []
    assert server.count(ns) == 0
    assert server.indexes(ns) == []
    assert server.collections(ns.partition(".")[0]) == []


def test_indexes_and_collections_are_told(server: Server, ns: str) -> None:
    server.send(Write(ns, "insert", {}, bson.encode({"_id": 1, "docId": "a", "v": 1})))
    server.create_index(ns, {"docId": 1, "v": 1}, unique=True)
    assert [(list(index["key"].items()), bool(index.get("unique"))) for index in server.indexes(ns)][1] == (
        [("docId", 1), ("v", 1)],
        True,
    )
    assert ("things", "collection") in [each[:2] for each in server.collections(ns.partition(".")[0])]
    assert ns.partition(".")[0] in server.databases()


def test_a_unique_index_over_duplicates_is_refused_in_a_sentence(server: Server, ns: str) -> None:
    for i in range(2):
        reply = server.send(Write(ns, "insert", {}, bson.encode({"_id": i, "v": 1})))
        assert reply.applied == "yes", reply.sentence
    with pytest.raises(Refused, match="duplicates"):
        server.create_index(ns, {"v": 1}, unique=True)


def test_each_kind_of_write_says_what_it_met(server: Server, ns: str) -> None:
    raw = bson.encode({"_id": 1, "a": 1})
    first = server.send(Write(ns, "insert", {}, raw))
    assert first == Reply("yes", 1, 1), first.sentence
    again = server.send(Write(ns, "insert", {}, raw))
    assert (again.applied, again.matched) == ("no", 0)
    assert again.duplicate == DuplicateKey("_id_", ("_id",), ("1",))
    met = server.send(Write(ns, "update", {"_id": 1, "a": Value.of(1)}, {"$set": {"a": Value.of(2)}}))
    assert (met.applied, met.matched) == ("yes", 1)
    missed = server.send(Write(ns, "update", {"_id": 1, "a": 1}, {"$set": {"a": 3}}))
    assert (missed.applied, missed.matched, missed.sentence) == ("no", 0, "")
    assert server.send(Write(ns, "replace", {"_id": 1}, bson.encode({"_id": 1, "b": 1}))).applied == "yes"
    made = server.send(Write(ns, "upsert", {"_id": 2}, {"$setOnInsert": {"b": 2}}))
    assert (made.applied, made.upserted) == ("yes", True)
    assert server.send(Write(ns, "delete", {"_id": 2, "b": 2})).applied == "yes"
    assert server.send(Write(ns, "delete", {"_id": 2})).applied == "no"
    assert [c.decode(raw) for raw in server.find(ns)] == [{"_id": 1, "b": 1}]


def test_the_answer_to_a_write_brings_the_document_as_the_server_stored_it(server: Server, ns: str) -> None:
    made = server.send(Write(ns, "insert", {}, bson.encode({"_id": 1, "a": 1, "n": Int64(7)})))
    assert made.applied == "yes", made.sentence
    met = server.send(Write(ns, "update", {"_id": 1, "a": 1}, {"$set": {"a": 2}}, returns=True))
    assert (met.applied, met.matched) == ("yes", 1)
    if server.facts().topology == "sharded":
        pytest.skip("the routers of a cluster are not asked for the document, as some want the shard key for that")
    assert met.stored == bson.encode({"_id": 1, "a": 2, "n": Int64(7)})
    missed = server.send(Write(ns, "update", {"_id": 1, "a": 1}, {"$set": {"a": 3}}, returns=True))
    assert missed == Reply("no")
    whole = server.send(Write(ns, "replace", {"_id": 1, "a": 2}, bson.encode({"_id": 1, "b": 1}), returns=True))
    assert whole.stored is not None
    assert c.decode(whole.stored) == {"_id": 1, "b": 1}
    assert [c.decode(raw) for raw in server.find(ns)] == [{"_id": 1, "b": 1}]
    server.create_index(ns, {"b": 1}, unique=True)
    server.send(Write(ns, "insert", {}, bson.encode({"_id": 2})))
    held = server.send(Write(ns, "update", {"_id": 2}, {"$set": {"b": 1}}, returns=True))
    assert (held.applied, held.duplicate is not None, held.stored) == ("no", True, None)


def test_a_row_of_an_answer_is_to_the_driver_what_its_own_class_is() -> None:
    raw = bson.encode({"a": 1, "inner": {"b": [1, {"c": 2}]}, "many": [{"d": 3}]})
    ours, theirs = ROWS.document_class(raw), RawBSONDocument(raw)
    assert (list(ours), len(ours), ours["a"], ours.get("z"), "z" in ours) == (["a", "inner", "many"], 3, 1, None, False)
    assert ours == theirs
    assert ours != RawBSONDocument(bson.encode({"a": 2}))
    assert dict(ours.items()) == dict(theirs.items())
    assert isinstance(ours["many"][0], ROWS.document_class)
    assert bson.encode({"x": ours}) == bson.encode({"x": theirs})
    assert repr(raw) in repr(ours)
    assert copy.deepcopy(ours) == theirs


def test_the_rows_of_later_batches_are_made_as_cheaply_as_those_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[object] = []
    plain = RawBSONDocument.__init__

    def counted(self: RawBSONDocument, *given: Any) -> None:
        made.append(self)
        plain(self, *given)

    with LocalServer() as local:
        local.load("db.many", [bson.encode({"_id": at}) for at in range(500)])
        with Server.connect(local.uri) as server:
            monkeypatch.setattr(RawBSONDocument, "__init__", counted)
            assert len(list(server.find("db.many"))) == 500
            monkeypatch.undo()
    assert len(made) < 100


def test_a_server_without_the_command_that_brings_the_document_gets_an_update() -> None:
    lacks = Refusal("command", 59, "no such command: '{name}'", names=("findAndModify",))
    with HostedServer(ServerProfile("Other", "4.2.0", 21, "alone", refuses=(lacks,))) as hosted, listening() as log:
        hosted.load("db.things", [bson.encode({"_id": 1, "a": 1})])
        with Server.connect(hosted.uri) as server:
            log.clear()
            for at in (1, 2):
                write = Write("db.things", "update", {"_id": 1, "a": at}, {"$set": {"a": at + 1}}, returns=True)
                assert server.send(write) == Reply("yes", 1, 1)
            assert log.names == ["findAndModify", "update", "update"]


def test_a_write_that_the_server_does_not_understand_is_refused_in_a_sentence(server: Server, ns: str) -> None:
    server.send(Write(ns, "insert", {}, bson.encode({"_id": 1})))
    reply = server.send(Write(ns, "update", {"_id": 1}, {"$nonsense": {"a": 1}}))
    assert reply.applied == "no"
    assert reply.sentence.startswith("The server refuses the write: ")
    assert "full error" not in reply.sentence


def test_a_query_that_the_server_does_not_understand_is_refused_in_a_sentence(server: Server, ns: str) -> None:
    server.send(Write(ns, "insert", {}, bson.encode({"_id": 1})))
    with pytest.raises(Refused, match=r"does not accept the query: .+\.$"):
        list(server.find(ns, {"a": {"$nonsense": 1}}))


def test_a_document_beyond_16_mb_is_refused_and_nothing_is_lost(server: Server, ns: str) -> None:
    reply = server.send(Write(ns, "insert", {}, bson.encode({"_id": 1, "t": "x" * (17 << 20)})))
    assert reply.applied == "no"
    assert "16 MB" in reply.sentence or "refuses" in reply.sentence


def test_a_read_only_server_sends_nothing(server_uri: str, ns: str) -> None:
    with Server.connect(server_uri, read_only=True) as server:
        reply = server.send(Write(ns, "insert", {}, bson.encode({"_id": 1})))
        assert (reply.applied, type(reply.error)) == ("no", NotAllowed)
        assert "read-only" in reply.sentence
        with pytest.raises(NotAllowed, match="read-only"):
            server.create_index(ns, {"a": 1})
        assert list(server.find(ns)) == []


def test_a_uri_that_asks_for_no_acknowledgement_is_acknowledged_all_the_same(local_uri: str, ns: str) -> None:
    joint = "&" if "?" in local_uri else "?"
    with Server.connect(f"{local_uri}{joint}w=0") as server:
        assert server.send(Write(ns, "update", {"_id": "nobody"}, {"$set": {"a": 1}})).applied == "no"


def test_filters_keep_the_type_of_every_value() -> None:
    terms = {"a": {"$eq": Value.of(Int64(1)), "$type": 18}, "$or": [{"b": Value.of(Decimal128("1.0"))}], "c": None}
    assert bson_of(terms) == bson.encode(
        {"a": {"$eq": Int64(1), "$type": 18}, "$or": [{"b": Decimal128("1.0")}], "c": None}
    )


# --- no connection, and no password in any sentence


def refusal(uri: str) -> str:
    with pytest.raises(Refused) as raised:
        Server.connect(uri, connect_ms=400, socket_ms=400)
    said = str(raised.value)
    assert said.endswith(".")
    assert "\n" not in said
    assert SECRET not in said
    assert "Traceback" not in said
    return said


def test_a_closed_port_refuses() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    assert "refuses the connection" in refusal(f"mongodb://u:{SECRET}@127.0.0.1:{port}/")


def test_a_silent_port_does_not_answer_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "does not answer in time" in refusal(f"mongodb://u:{SECRET}@127.0.0.1:{silent.getsockname()[1]}/")


def test_a_silent_port_that_should_speak_tls_does_not_answer_over_tls() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert "over TLS" in refusal(f"mongodb://u:{SECRET}@127.0.0.1:{silent.getsockname()[1]}/?tls=true")


def test_a_port_that_closes_says_so() -> None:
    with Listener(lambda connection: None) as port:
        assert "closes the connection" in refusal(f"mongodb://{port.host}/")


def test_a_port_that_speaks_another_protocol_is_no_mongodb_server() -> None:
    with Listener(lambda connection: connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as port:
        said = refusal(f"mongodb://{port.host}/")
    assert "not a MongoDB server" in said


@support.table(
    "uri, part",
    [
        ("localhost", "not a MongoDB address"),
        ("", "not a MongoDB address"),
        ("http://localhost/", "not a MongoDB address"),
        (f"mongodb://u:{SECRET}@", "address"),
        (f"mongodb://u:{SECRET}/x@localhost/", "ercent-encode"),
        (f"mongodb://u:{SECRET}@localhost:99999/", ""),
        (f"mongodb://u:{SECRET}@localhost:port/", ""),
        (f"mongodb://u:{SECRET}@localhost/?nonsense=1", "nonsense"),
        (f"mongodb://u:{SECRET}@localhost/?socketTimeoutMS=soon", "sockettimeoutms"),
        (f"mongodb://u:{SECRET}@localhost/?tls=true&tlsCAFile=/no/such/file", "certificate"),
        (f"mongodb://u:{SECRET}@no-such-host.invalid/", "no host no-such-host.invalid"),
        (f"mongodb+srv://u:{SECRET}@no-such-host.invalid/", "no-such-host.invalid"),
        ("mongodb://%2Fno%2Fsuch.sock/", "no socket /no/such.sock"),
    ],
)
def test_an_address_that_leads_nowhere_is_one_sentence_without_the_password(uri: str, part: str) -> None:
    assert part in refusal(uri)


@support.table(
    "error, kind, part",
    [
        (failure(18), Unreachable, "user name and password"),
        (failure(8000), Unreachable, "user name and password"),
        (failure(13), Unreachable, "does not accept this user name and password"),
        (
            e.ServerSelectionTimeoutError("[SSL: CERTIFICATE_VERIFY_FAILED] self-signed"),
            Unreachable,
            "signed by an authority that is not known here",
        ),
        (e.ServerSelectionTimeoutError("h:1: SSL handshake failed"), Unreachable, "TLS failed"),
        (e.ConfigurationError(OLD), Unreachable, "too old for PyMongo"),
        (e.ConfigurationError(NEW), Unreachable, "too new for PyMongo"),
        (e.ConfigurationError("Private key doesn't match certificate: [SSL] PEM lib"), Unreachable, "key is wrong"),
        (e.ConfigurationError("PLAIN requires a username"), Unreachable, "needs a user"),
        (e.ConfigurationError("password is not supported by MONGODB-OIDC"), Unreachable, "uses no password"),
        (
            e.ConfigurationError("MONGODB-AWS authentication requires pymongo-auth-aws: install with"),
            Unreachable,
            "palimpsest-inspector[aws]",
        ),
        (
            e.ConfigurationError('The "kerberos" module must be installed to use GSSAPI authentication.'),
            Unreachable,
            "palimpsest-inspector[kerberos]",
        ),
        (
            e.ConfigurationError(
                "authentication with MONGODB-OIDC requires providing either a callback or a environment"
            ),
            Unreachable,
            "ENVIRONMENT",
        ),
        (ValueError("authentication source must be $external or None for GSSAPI"), Unreachable, "leave authSource out"),
        (e.ConfigurationError("The DNS query name does not exist: _mongodb._tcp.x."), Unreachable, "DNS"),
    ],
    ids=lambda part: str(part)[:40],
)
def test_why_there_is_no_connection_is_said(error: Exception, kind: type[Refused], part: str) -> None:
    said = cannot_connect(error, f"mongodb://u:{SECRET}@h:1/")
    assert type(said) is kind
    assert part in str(said)


def test_a_server_that_wants_a_login_says_so_to_who_gave_none() -> None:
    said = cannot_connect(failure(13), "mongodb://h:1/shop?appName=a@b")
    assert type(said) is NotAllowed
    assert "wants a user name and password" in str(said)


def test_an_error_that_quotes_the_password_loses_it() -> None:
    uri = (
        "mongodb://u:p%40ss%2Fword@h/?authMechanismProperties=AWS_SESSION_TOKEN:t0ken&tlsCertificateKeyFilePassword=k3y"
    )
    for secret in ("p@ss/word", "p%40ss%2Fword", "t0ken", "k3y"):
        said = cannot_read(e.OperationFailure(f"failed for {secret}", 2), uri, "find", "shop.orders")
        assert secret not in str(said)
        assert "…" in str(said)
    assert without_password("nothing to hide", "mongodb://h/") == "nothing to hide"
    assert without_password("an index x is missing", "mongodb://u:x@h/") == "an index … is missing"
