"""What each error means for a write: every class that the driver raises, and the answers of servers from 4.4 to 8."""

from __future__ import annotations

import inspect

import bson.errors
import pymongo.errors as e
import pymongo.helpers_shared
import pytest

from model.server.driver_errors import CODES, Meaning, cannot_read, meaning
from model.server.duplicate_key import DuplicateKey
from tests import support


def answered(code: int | None, text: str = "said the server", labels: tuple[str, ...] = ()) -> e.OperationFailure:
    details = {"ok": 0, "errmsg": text, "errorLabels": list(labels)} | ({} if code is None else {"code": code})
    return e.OperationFailure(text, code, details)


# The error, whether the write was applied, whether the same write may be sent once more, and a part of the sentence.
CLASSES: list[tuple[BaseException, str, bool, str]] = [
    (e.ServerSelectionTimeoutError("no servers"), "no", False, "could be reached"),
    (e.WaitQueueTimeoutError("busy"), "no", False, "connections are busy"),
    (e.AutoReconnect("reset"), "unknown", True, "connection was lost"),
    (e.ConnectionFailure("gone"), "unknown", True, "connection was lost"),
    (e._OperationCancelled("cancelled"), "unknown", True, "connection was lost"),
    (e.NetworkTimeout("timed out"), "unknown", True, "did not answer in time"),
    (e.NotPrimaryError("stepped down", {"code": 10107}), "unknown", True, "stepped down"),
    (e.ProtocolError("garbage"), "unknown", True, "could not be read"),
    (e.ExecutionTimeout("too long", 50), "unknown", True, "gave up"),
    (e.WTimeoutError("waited", 64), "yes", False, "fail-over may undo it"),
    (e.WriteConcernError("not majority", 100), "yes", False, "fail-over may undo it"),
    (e.BulkWriteError({}), "partial", False, "Some of several"),
    (e.ClientBulkWriteException({}, True), "partial", False, "Some of several"),
    (e.DuplicateKeyError("E11000", 11000), "no", False, "unique index"),
    (e.WriteError("failed validation", 121), "no", False, "has rules"),
    (e.CursorNotFound("cursor", 43, {"errmsg": "cursor 7 not found"}), "no", False, "cursor 7 not found"),
    (e.OperationFailure("no code"), "unknown", False, "an internal error"),
    (e.DocumentTooLarge("17 MB"), "no", False, "16 MB"),
    (e.InvalidDocument("key 'a' is a set"), "no", False, "cannot be sent"),
    (e.InvalidOperation("client is closed"), "no", False, "cannot be sent"),
    (e.InvalidName("no name"), "no", False, "cannot be sent"),
    (e.InvalidURI("no address"), "no", False, "cannot be sent"),
    (e.ConfigurationError("no option"), "no", False, "cannot be sent"),
    (e.CollectionInvalid("exists"), "no", False, "cannot be sent"),
    (e.EncryptionError(RuntimeError("no key")), "no", False, "cannot be sent"),
    (e.EncryptedCollectionError(RuntimeError("no key"), {}), "no", False, "cannot be sent"),
    (e.PyMongoError("what now"), "unknown", True, "unexpected PyMongoError"),
]
OTHERS: list[tuple[BaseException, str, bool, str]] = [
    (bson.errors.InvalidBSON("garbage"), "unknown", True, "could not be read"),
    (bson.errors.InvalidDocument("no"), "no", False, "cannot be sent"),
    (OSError("broken pipe"), "unknown", True, "unexpected OSError"),
    (KeyError("errmsg"), "unknown", True, "unexpected KeyError"),
    (MemoryError(), "unknown", True, "unexpected MemoryError"),
]
GAVE_UP = (6, 7, 50, 89, 134, 202, 217, 262, 317, 384, 9001, 11601)
AWAY = (91, 189, 10058, 10107, 11600, 11602, 13435, 13436)
ANSWERS: list[tuple[e.OperationFailure, str, bool, str]] = [
    *((answered(code), "unknown", True, "gave up on the write") for code in GAVE_UP),
    *((answered(code), "unknown", True, "stepped down or was shut down") for code in AWAY),
    *((answered(code), "unknown", False, "an internal error") for code in (1, 8)),
    (answered(None, "node is in trouble"), "unknown", False, "an internal error"),
    *((answered(code), "unknown", True, "as safely as the connection asks") for code in (64, 75, 79, 100)),
    *((answered(code), "no", True, "too busy") for code in (24, 46, 365, 462, 16500)),
    (answered(112), "no", True, "Another write"),
    (answered(91, labels=("RetryableWriteError", "NoWritesPerformed")), "no", True, "did not take the write"),
    (answered(13), "no", False, "readWrite"),
    *((answered(code), "no", False, "user name and password") for code in (18, 391)),
    (answered(8000, "bad auth : authentication failed"), "no", False, "user name and password"),
    (answered(8000, "user is not allowed to do action [insert] on [a.b]"), "no", False, "readWrite"),
    (answered(8000, "not authorized on shop to execute command"), "no", False, "readWrite"),
    (answered(8000, "you are over your space quota, using 513 MB of 512 MB"), "no", False, "no room left"),
    (answered(301, "Retryable writes are not supported"), "no", False, "retryWrites=false"),
    (answered(20, "This MongoDB deployment does not support retryable writes"), "no", False, "retryWrites=false"),
    (answered(8000, "this cluster is paused"), "no", False, "this cluster is paused"),
    *((answered(code), "no", False, "no room left") for code in (12501, 14031)),
    (answered(96, "WiredTiger: No space left on device"), "no", False, "no room left"),
    *((answered(code), "no", False, "16 MB") for code in (10334, 17419, 17420)),
    (answered(17280), "no", False, "too long for an index"),
    (answered(121), "no", False, "has rules"),
    (answered(166), "no", False, "is a view"),
    *((answered(code), "no", False, "unique index") for code in (11000, 11001, 12582)),
    (answered(9, "unknown operator: $nonsense"), "no", False, "unknown operator: $nonsense"),
    (answered(66, "the (immutable) field '_id' was found"), "no", False, "immutable"),
]


def name(part: object) -> str | None:
    if isinstance(part, e.OperationFailure):
        return f"{type(part).__name__} {part.code}"
    return type(part).__name__ if isinstance(part, BaseException) else None


@support.table("error, applied, retry, part", [*CLASSES, *OTHERS, *ANSWERS], ids=name)
def test_every_error_says_whether_the_write_was_applied(
    error: BaseException, applied: str, retry: bool, part: str
) -> None:
    said = meaning(error)
    assert (said.applied, said.retry) == (applied, retry)
    assert part in said.sentence
    assert said.sentence[0].isupper()
    assert said.sentence.endswith(".")
    assert "\n" not in said.sentence
    assert (said.duplicate is not None) == ("unique index" in said.sentence)


def test_no_error_of_the_driver_is_without_its_line_in_the_table() -> None:
    raised = {kind for _, kind in inspect.getmembers(e, inspect.isclass) if issubclass(kind, Exception)}
    mine = {kind for kind in raised if kind.__module__ == e.__name__}
    assert mine <= {type(error) for error, *_ in CLASSES}


def test_no_code_is_without_its_line_and_what_the_driver_retries_is_in_doubt() -> None:
    assert set(CODES) <= {error.code for error, *_ in ANSWERS}
    retried = pymongo.helpers_shared._RETRYABLE_ERROR_CODES | pymongo.helpers_shared._NOT_PRIMARY_CODES
    assert {code for code in retried if meaning(answered(code)).applied != "unknown"} == set()


SAID = 'E11000 duplicate key error collection: t.c index: odd { name dup key: { a.b: 3, n: "x, \\"y\\": { z" }'


@support.table(
    "told, index, fields, values",
    [
        (
            {"keyPattern": {"a.b": 1, "n": -1}, "keyValue": {"a.b": 3, "n": None}},
            "odd { name",
            ("a.b", "n"),
            ("3", "null"),
        ),
        ({}, "odd { name", ("a.b", "n"), ("3", '"x, \\"y\\": { z"')),
        ({"errmsg": 'E11000 duplicate key error index: t.c.$email_1 dup key: { : "x" }'}, "email_1", (), ('"x"',)),
        (
            {"errmsg": "Duplicate key violation on the requested collection: Index 'email_1'"},
            "email_1",
            (),
            (),
        ),
        ({"errmsg": "E11000 duplicate key error collection: t.c index: email_1"}, "email_1", (), ()),
        ({"errmsg": "E11000 duplicate key error"}, "", (), ()),
        ({"errmsg": "E11000 duplicate key error collection: t.c"}, "", (), ()),
        ({"errmsg": "Duplicate key violation on the requested collection."}, "", (), ()),
    ],
    ids=[
        "by the fields of the reply",
        "by the message",
        "as before MongoDB 4.2",
        "within quotes",
        "without the key",
        "not at all",
        "the collection alone",
        "in other words",
    ],
)
def test_a_duplicate_key_says_which_index_and_which_value(
    told: dict[str, object], index: str, fields: tuple[str, ...], values: tuple[str, ...]
) -> None:
    said = meaning(e.DuplicateKeyError(SAID, 11000, {"code": 11000, "errmsg": SAID} | told)).duplicate
    assert said == DuplicateKey(index, fields, values)
    named = said.among([{"name": "email_1", "key": {"email": 1}}])
    assert named.fields == (("email",) if index == "email_1" else fields)


def test_a_refusal_can_never_be_taken_for_a_duplicate_of_our_own_first_attempt() -> None:
    assert {code for code, said in CODES.items() if said.duplicate} == {11000, 11001, 12582}
    assert not meaning(answered(13)).duplicate


@support.table("code", [*GAVE_UP, *AWAY, 16500, 24, 112, 365], ids=str)
def test_a_read_that_a_server_gave_up_on_can_be_tried_again_and_says_so(code: int) -> None:
    said = str(cannot_read(answered(code), "mongodb://u:s3cr3t@h/", "find", "shop.orders"))
    assert "try again" in said or "ask for less" in said, said
    assert "s3cr3t" not in said


def test_a_meaning_is_data_that_nobody_can_change() -> None:
    with pytest.raises(AttributeError):
        CODES[91].applied = "yes"  # type: ignore[misc]
    assert all(isinstance(said, Meaning) for said in CODES.values())


@support.table(
    "said, part",
    [
        ("bad auth : authentication failed", "user name and password"),
        ("not authorized on shop to execute command", "find on shop.orders"),
        ("you are over your space quota, using 513 MB of 512 MB", "no room left"),
        ("$indexStats is not allowed in this atlas tier", "$indexStats is not allowed in this atlas tier"),
    ],
)
def test_a_read_that_atlas_refuses_says_why(said: str, part: str) -> None:
    assert part in str(cannot_read(answered(8000, said), "mongodb://u:s3cr3t@h/", "find", "shop.orders"))
