"""UUIDs of old drivers: told by their bytes or by a connection, and read back as the same bytes."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator

import pytest
from bson import Binary
from bson.binary import UuidRepresentation

from model import text
from model.session import Session
from model.storage.document_ids import values_of
from model.text import legacy_uuids
from model.values import canonical
from model.values.canonical import Value

WRITERS = {
    "JUUID": UuidRepresentation.JAVA_LEGACY,
    "CSUUID": UuidRepresentation.CSHARP_LEGACY,
    "PYUUID": UuidRepresentation.PYTHON_LEGACY,
}
CHANCE = random.Random(3)
UUIDS = [uuid.UUID(int=CHANCE.getrandbits(128), version=4) for _ in range(200)]


@pytest.fixture(autouse=True)
def nothing_seen() -> Iterator[None]:
    legacy_uuids._seen.clear()
    yield
    legacy_uuids._seen.clear()


@pytest.mark.parametrize("call", WRITERS)
def test_the_driver_that_wrote_a_uuid_is_told_by_the_data(call: str) -> None:
    stored = [Binary.from_uuid(each, WRITERS[call]) for each in UUIDS]
    legacy_uuids.learn([canonical.encode({"ref": stored[:20], "text": "x"}), canonical.encode({"n": 1})])
    for each, binary in zip(UUIDS, stored, strict=True):
        value = Value.of(binary)
        assert text.shown(value) == f'{call}("{each}")'
        assert text.editable(value) == f'{call}("{each}")'
        assert text.parsed(text.editable(value), "Binary") == value
        assert text.loose_value(text.shown(value)) == value
        assert value in values_of(str(each))  # typed as an id, it finds what old drivers stored


def test_one_uuid_tells_its_driver_alone() -> None:
    one = uuid.UUID("73ffd264-44b3-4c69-90e8-e7d1dfc035d4")
    shown = {call: text.shown(Value.of(Binary.from_uuid(one, how))) for call, how in WRITERS.items()}
    assert shown == {call: f'{call}("{one}")' for call in WRITERS}
    assert text.shown(Value.of(Binary(bytes(16), 3))) == f'BinData(3, "{"A" * 22}==")'  # nobody can tell


def test_a_connection_states_the_order_while_it_is_open(server_uri: str) -> None:
    odd = Value.of(Binary(bytes(range(16)), 3))
    mark = "&" if "?" in server_uri else "?"
    with Session.open(f"{server_uri}{mark}uuidRepresentation=csharpLegacy"):
        assert text.shown(odd) == 'CSUUID("03020100-0504-0706-0809-0a0b0c0d0e0f")'
    assert text.shown(odd).startswith("BinData(3")
