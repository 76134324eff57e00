"""Fixtures for all tests: servers, databases that are gone afterwards, and a home that is nobody's.

``--deep`` runs all there is. Without it, what is marked ``deep`` is left out, and so are the cases that a test has on
the second server, unless it is marked ``second_server``; the summary says how many. A test that draws its cases asks
``support.by_depth`` how many. With ``--deep-until`` the deep tests follow the others as far as the time goes, and an
order is drawn, see ``depth``; its seed is printed.

``each_walk`` runs a test with the walker in C and without it, ``each_search`` with the patterns that fields of wide
documents are searched by, and without them.

``server_uri`` runs a test once for each server. ``database_name`` is a name of the test's own on it; whatever a test
leaves there is dropped. ``client`` and ``database`` are plain PyMongo, for tests that look for themselves.
"""

from __future__ import annotations

import gc
import math
import os
import random
import time
import uuid
from collections.abc import Generator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

import pymongo
import pymongo.common
from hypothesis import HealthCheck, settings
from pytestqt.qtbot import QtBot

from model.catalogue import sources
from model.diff import walk
from model.local_process import Served, ServerProcess
from model.localserver import time_limit
from model.values import canonical
from tests import depth, servers, support
from tests.walker import building

_LEFT_OUT = pytest.StashKey[int]()
_ENDS = pytest.StashKey[dict[str, tuple[float, str]]]()
"""Until when a test is begun, by its id, and what is said where it is too late."""
_SEED = pytest.StashKey[int]()
CHUNK = 150
"""Tests that a worker is given at once where their order counts: those of one file are mostly run by one worker."""
PATIENCE = 60_000
"""Milliseconds that window and server get for what they are waited for: no test is about how long that takes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define how deep to go."""
    parser.addoption("--deep", action="store_true", help="run every case on every server, with many seeds")
    parser.addoption(
        "--deep-until",
        type=float,
        metavar="TIME",
        help="run the deeper tests too, in an order that is drawn, as long as it is not yet TIME (seconds since 1970); "
        "on a slow machine the other tests are left to another run as well, a minute later",
    )
    parser.addoption(
        "--deep-seed", type=int, help="draws the order of --deep-until, which it repeats; at random without it"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Name the marks, and say how deep to go."""
    config.addinivalue_line("markers", "deep: only run with --deep")
    config.addinivalue_line("markers", "long: takes half a minute or more, and is begun before all others")
    config.addinivalue_line("markers", "lint: reads the code and runs none of it; CI does that in one job")
    config.addinivalue_line("markers", "second_server: its cases on the second server are run without --deep as well")
    config.stash[_LEFT_OUT] = 0
    config.stash[_ENDS] = {}
    seed = getattr(config, "workerinput", {}).get("deep seed", config.getoption("--deep-seed"))
    config.stash[_SEED] = random.randrange(10**6) if seed is None else seed
    if config.getoption("--deep-until") is not None and config.getoption("dist", "no") != "no":
        config.option.dist, config.option.maxschedchunk = "load", CHUNK  # workers keep to the order: quick ones first
    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitActive, QtBot.waitExposed):
        wait.__kwdefaults__["timeout"] = PATIENCE
    support.deep = config.getoption("--deep")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist the seed: all of them have to draw the same order."""
    node.workerinput["deep seed"] = node.config.stash[_SEED]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the collector of garbage from looking through all that stays: the tests, and before that their code."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)  # what -k and -m leave out is not counted
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the deep cases out, unless they are asked for, and begin with the long ones, while others run beside."""
    left: list[pytest.Item] = []
    if support.deep:
        items.sort(key=depth.is_short)
    elif config.getoption("--deep-until") is not None:
        order = depth.drawn(items, config.stash[_SEED])
        items[:] = [*order.always, *order.slice, *order.deeper]
        config.stash[_ENDS] = order.ends(config.getoption("--deep-until"))
    else:
        left = [item for item in items if depth.is_deep(item)]
        config.hook.pytest_deselected(items=left)
        items[:] = sorted((item for item in items if not depth.is_deep(item)), key=depth.is_short)
    config.stash[_LEFT_OUT] = len(left)
    if hasattr(config, "workeroutput"):  # this is a worker of xdist, whose summary nobody sees
        config.workeroutput["left out"] = len(left)


def pytest_report_header(config: pytest.Config) -> str | None:
    """The seed of what is drawn."""
    if config.getoption("--deep-until") is None:
        return None
    return f"as many tests as there is time for, in an order drawn with --deep-seed {config.stash[_SEED]}"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Leave a test to another run where the time for such is over."""
    ends, said = item.config.stash[_ENDS].get(item.nodeid, (math.inf, ""))
    if time.time() > ends:
        pytest.skip(said)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Keep what a worker of xdist left out; each has collected the same."""
    config = node.config
    config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", config.stash[_LEFT_OUT])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out."""
    if number := config.stash[_LEFT_OUT]:
        which, them = ("test was", "it") if number == 1 else ("tests were", "them")
        terminalreporter.write_line(f"{number:,} deeper {which} left out; `python -m pytest --deep` runs {them} too.")


time_limit.clock = time.thread_time  # what else a busy machine does uses up no limit of the in-process server
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])  # nor a law's
settings.load_profile("tests")
pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02  # a retry waits that long; the default costs half a second each


@pytest.fixture(scope="session", autouse=True)
def _compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Programs that tests start compile the product once and not each anew, wherever byte code may not be written."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(tmp_path_factory.mktemp("compiled")))
        yield


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all homes; no test may read or write what the person who runs it has kept."""
    folder = tmp_path_factory.mktemp("homes")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PALIMPSEST_HOME", str(folder))
        patch.setenv("PALIMPSEST_CACHE", str(tmp_path_factory.getbasetemp().parent / "kept again"))
        yield folder


@pytest.fixture(autouse=True)
def _served_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dumps and the sample are served from the process of the tests, which is quicker and can be looked into."""

    def none_to_be_had(_: object) -> None:
        raise OSError("tests ask for the fixture server_processes")

    monkeypatch.setattr(sources, "ServerProcess", none_to_be_had)


@pytest.fixture
def server_processes(_served_from_here: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ServerProcess]]:
    """Dumps and the sample get processes of their own, as in the program; all that were started, ended afterwards."""
    started: list[ServerProcess] = []

    class Noted(ServerProcess):
        def __init__(self, served: Served) -> None:
            super().__init__(served)
            started.append(self)

    monkeypatch.setattr(sources, "ServerProcess", Noted)
    yield started
    for process in started:
        process.close()


@pytest.fixture(autouse=True)
def home(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of this test's own: journal, drafts, saved connections."""
    folder = homes / uuid.uuid4().hex
    folder.mkdir()
    monkeypatch.setenv("PALIMPSEST_HOME", str(folder))
    return folder


@pytest.fixture(scope="session")
def local_uri() -> Iterator[str]:
    """The in-process server."""
    from model.localserver import LocalServer

    with LocalServer() as server:
        yield server.uri


@pytest.fixture(scope="session")
def java_uri() -> Iterator[str]:
    """The Java server; a skip where it cannot be started, a failure where it must."""
    try:
        with servers.java_server() as uri:
            yield uri
    except servers.NotStarted as reason:
        if servers.required():
            pytest.fail(str(reason), pytrace=False)
        pytest.skip(str(reason))


@pytest.fixture(params=servers.NAMES)
def server_name(request: pytest.FixtureRequest) -> str:
    """``local``, ``java``, or ``given`` by PALIMPSEST_TEST_URI: a test that asks for it runs on each."""
    return str(request.param)


@pytest.fixture
def server_uri(server_name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URI of the server that the test runs on this time.

    A password that it names is in the environment too: what is kept of an address, as in a journal, has none.
    """
    if server_name != "given":
        return str(request.getfixturevalue(f"{server_name}_uri"))
    if password := servers.GIVEN_PASSWORD:
        monkeypatch.setenv("PALIMPSEST_PASSWORD", password)
    return servers.GIVEN_URI


@pytest.fixture
def client(server_uri: str) -> Iterator[pymongo.MongoClient]:
    """A plain client, to look with independent eyes."""
    with pymongo.MongoClient(server_uri, serverSelectionTimeoutMS=PATIENCE) as made:
        yield made


@pytest.fixture
def database_name(client: pymongo.MongoClient) -> Iterator[str]:
    """The name of a database that is the test's own and is dropped after it."""
    name = f"palimpsest_test_{uuid.uuid4().hex[:12]}"
    yield name
    client.drop_database(name)


@pytest.fixture
def database(client: pymongo.MongoClient, database_name: str) -> pymongo.database.Database:
    """That database, by plain PyMongo."""
    return client[database_name]


@pytest.fixture(scope="session")
def walker(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The walker in C: the one that is installed, or else one that is compiled for the tests."""
    if canonical.walker is not None:
        found: ModuleType = canonical.walker
        return found
    if not building.compiler():
        pytest.skip("There is no C compiler here, or no header of Python.")
    folder = tmp_path_factory.mktemp("walker")
    return building.loaded(building.built(folder, building.SOURCE.read_text("utf-8")))


@pytest.fixture(params=["by patterns", "one by one"])
def each_search(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fields of wide documents are searched by patterns, and in a second run one by one, as few of them are."""
    monkeypatch.setattr(walk, "_WORTH", 0 if request.param == "by patterns" else math.inf)


@pytest.fixture(params=["in C", "in Python"])
def each_walk(request: pytest.FixtureRequest) -> Iterator[None]:
    """Documents are walked in C, and in a second run of the test in Python."""
    with building.using(request.getfixturevalue("walker") if request.param == "in C" else None):
        yield
