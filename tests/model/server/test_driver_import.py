"""The driver's import, with a release that imports more of its asynchronous half than is left out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from model.server import driver_import

BRINGS = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("driver_import", {file!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.bring()
import pymongo
base = sys.modules["pymongo.network_layer"].PyMongoProtocol.__bases__[0]
print(pymongo.AsyncMongoClient.__module__, pymongo.more, base.__module__)
"""
LAYER = """
from asyncio import BufferedProtocol, Future
class PyMongoProtocol(BufferedProtocol): ...
"""


@pytest.mark.parametrize(
    "needs",
    [
        "from pymongo.asynchronous.mongo_client import AsyncMongoClient, more",
        "import pymongo.asynchronous.mongo_client as m; AsyncMongoClient, more = m.AsyncMongoClient, m.more",
    ],
)
def test_a_release_that_needs_its_asynchronous_half_is_imported_as_it_is(tmp_path: Path, needs: str) -> None:
    half = tmp_path / "pymongo" / "asynchronous"
    half.mkdir(parents=True)
    (tmp_path / "pymongo" / "__init__.py").write_text(f"import pymongo.network_layer\n{needs}")
    (tmp_path / "pymongo" / "network_layer.py").write_text(LAYER)
    (half / "__init__.py").write_text("")
    (half / "mongo_client.py").write_text("class AsyncMongoClient: ...\nmore = 7\n")
    code = BRINGS.format(file=driver_import.__file__)
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["pymongo.asynchronous.mongo_client", "7", "asyncio.protocols"], done.stderr
