"""The pipe before a server with TLS and passwords: it speaks TLS to the server, and clients log in through it."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pymongo
import pytest
from pymongo.errors import OperationFailure

from model.pipe import Drawn, Pipe
from model.pipe.proxy import PASSED
from model.session import Session
from tests.certificates import Authority
from tests.guarded_server import GuardedServer

PASSWORD = "p4ss w/rd"


@pytest.mark.deep
def test_clients_log_in_through_the_pipe_to_a_server_with_tls(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    with GuardedServer({"eva": PASSWORD}, certificate=authority.signed("server", "127.0.0.1")) as server:
        source = f"mongodb://eva:{quote(PASSWORD, safe='')}@{server.host}/?tlsCAFile={quote(str(authority.file))}"
        with Session.open(source) as session, Pipe(session.dial, Drawn(1, 0.0, 0.0)) as pipe:
            through = pipe.uri_like(source)
            assert "tls" not in through.lower()
            with pymongo.MongoClient[dict[str, Any]](through) as client:
                client.shop.docs.insert_one({"_id": 1})
                assert client.shop.docs.find_one() == {"_id": 1}
            with pymongo.MongoClient[dict[str, Any]](pipe.uri) as stranger, pytest.raises(OperationFailure):
                stranger.shop.docs.find_one()
        assert pipe.did[PASSED] == 1
