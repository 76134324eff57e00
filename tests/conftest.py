"""Fixtures for all tests: servers, databases that are gone afterwards, and a home that is nobody's.

Without an option the tests run that catch most mistakes, the same ones with the same data each time: what is marked
``deep`` is left out, and so are the cases on the second server; the summary says how many. ``--deep`` runs all there
is. ``--slice`` runs what CI does after the quick tests: what is marked ``slice``, and the cases that tests marked
``second_server`` have on that server. A test that draws its cases asks ``support.by_depth`` how many.

``seed`` is what a test draws from. It is fixed in a quick run and fresh with ``--slice`` and ``--deep``, where the
header names the ``--seed`` that repeats it; a seed that was red is added to ``cases/seeds.json`` and is a case of its
test in every run.

``each_walk`` runs a test with the walker in C and without it, ``each_search`` with the patterns that fields of wide
documents are searched by, and without them.

``server_uri`` runs a test once for each server. ``database_name`` is a name of the test's own on it; whatever a test
leaves there is dropped. ``client`` and ``database`` are plain PyMongo, for tests that look for themselves.
"""

from __future__ import annotations

import gc
import importlib
import math
import os
import random
import sys
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

from model.diff import walk
from model.foundation import kept_files
from model.local_process import Served, ServerProcess
from model.localserver import time_limit
from model.session import sources
from model.values import canonical
from tests import servers, support
from tests.walker import building

COMPILED = support.ROOT / ".pytest_cache" / "compiled"
"""Byte code of the tests and of what they start, also where none may be written beside the code."""
sys.dont_write_bytecode, sys.pycache_prefix = False, str(COMPILED)  # to rewrite all assertions takes 15 seconds
_LEFT_OUT = pytest.StashKey[int]()
SLICE = (
    "tests/blackpipe",
    "tests/counting",
    "tests/gui/window",
    "tests/hosted",
    "tests/hostile",
    "tests/journeys",
    "tests/killed_plans",
    "tests/migrating",
    "tests/model",
    "tests/over_time",
    "tests/piping",
    "tests/processes",
    "tests/recognition",
    "tests/repairing",
    "tests/resources",
    "tests/scanning",
    "tests/simulation",
    "tests/soak",
    "tests/test_house.py",
    "tests/test_papers.py",
    "tests/walker",
    "tests/walking",
    "tests/writers",
)
"""Where ``--slice`` looks for tests, unless it is told: collecting the others costs time and finds nothing."""
PATIENCE = 60_000
"""Milliseconds that window and server get for what they are waited for: no test is about how long that takes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Define how deep to go."""
    parser.addoption("--deep", action="store_true", help="run every case on every server, with many seeds")
    parser.addoption("--slice", action="store_true", help="run the fixed slice of the deep tests that CI runs")
    parser.addoption("--seed", type=int, help="draw from this; else quick runs draw from 0, and others anew each time")


@pytest.hookimpl(tryfirst=True)  # hypothesis reads its seed in this step as well
def pytest_configure(config: pytest.Config) -> None:
    """Name the marks, say how deep to go, and draw the seed."""
    config.addinivalue_line("markers", "deep: only run with --deep")
    config.addinivalue_line("markers", "slice: run with --slice too")
    config.addinivalue_line("markers", "second_server: its cases on the second server are run with --slice too")
    config.addinivalue_line("markers", "long: takes half a minute or more, and is begun before all others")
    config.addinivalue_line("markers", "lint: reads the code and runs none of it; CI does that in one job")
    config.stash[_LEFT_OUT] = 0
    support.deep, support.sliced = config.getoption("--deep"), config.getoption("--slice")
    fresh = support.deep or support.sliced
    anew = random.SystemRandom().randrange(1, 10**9) if fresh else 0
    asked = getattr(config, "workerinput", {}).get("seed", config.option.seed)
    support.seed = anew if asked is None else asked
    config.option.hypothesis_seed = config.option.hypothesis_seed or str(support.seed)
    if support.sliced and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        config.args[:] = [str(support.ROOT / folder) for folder in SLICE]
    settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tests")
    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitActive, QtBot.waitExposed):
        wait.__kwdefaults__["timeout"] = PATIENCE


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist the seed: all draw from one."""
    node.workerinput["seed"] = support.seed


def pytest_sessionstart(session: pytest.Session) -> None:
    """Let one of two workers import the tests from the end: each compiles half of them, and reads what the other did.

    In a fresh clone both would compile all of them side by side.
    """
    config = session.config
    worker = str(getattr(config, "workerinput", {}).get("workerid", ""))
    if worker[2:] and int(worker[2:]) % 2 and config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        for path in sorted((support.ROOT / "tests").rglob("test_*.py"), reverse=True):
            name = path.relative_to(support.ROOT).with_suffix("").as_posix()
            if not support.sliced or name.startswith(SLICE):
                importlib.import_module(name.replace("/", "."))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test that draws its ``seed``, and those that were red once."""
    if "seed" in metafunc.fixturenames and not any(
        "seed" in str(mark.args[0]).replace(",", " ").split()
        for mark in metafunc.definition.iter_markers("parametrize")
    ):
        name = metafunc.definition.nodeid
        red = support.red_seeds().get(name, [])
        metafunc.parametrize("seed", [support.seed_of(name), *red], ids=["drawn", *map(str, red)])


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
    """Leave out what was not asked for, and begin with the long ones, while others run beside."""
    left: list[pytest.Item] = []
    if not support.deep:
        left = [item for item in items if not is_asked_for(item)]
        config.hook.pytest_deselected(items=left)
    leaving = set(left)
    items[:] = sorted((item for item in items if item not in leaving), key=is_short)
    config.stash[_LEFT_OUT] = len(left)
    if hasattr(config, "workeroutput"):  # this is a worker of xdist, whose summary nobody sees
        config.workeroutput["left out"] = len(left)


def is_asked_for(item: pytest.Item) -> bool:
    """Whether a test is one of the quick ones, or with ``--slice`` one of the slice."""
    if on_second_server(item):
        return support.sliced and item.get_closest_marker("second_server") is not None
    if support.sliced:
        return item.get_closest_marker("slice") is not None
    return item.get_closest_marker("deep") is None


def on_second_server(item: pytest.Item) -> bool:
    """Whether a case is the one that its test has on the Java server."""
    return bool(getattr(item, "callspec", None) and item.callspec.params.get("server_name") == "java")  # type: ignore[attr-defined]


def is_short(item: pytest.Item) -> bool:
    """Whether a test is not one of those that are begun before all others."""
    return item.get_closest_marker("long") is None


def pytest_report_header(config: pytest.Config) -> str | None:
    """The seed of what is drawn, where another run draws another."""
    return f"drawn with --seed {support.seed}" if support.seed else None


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Keep what a worker of xdist left out; each has collected the same."""
    config = node.config
    config.stash[_LEFT_OUT] = getattr(node, "workeroutput", {}).get("left out", config.stash[_LEFT_OUT])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say what was left out."""
    if (number := config.stash[_LEFT_OUT]) and not support.sliced:
        which, them = ("test was", "it") if number == 1 else ("tests were", "them")
        terminalreporter.write_line(f"{number:,} deeper {which} left out; `python -m pytest --deep` runs {them} too.")


time_limit.clock = time.thread_time  # what else a busy machine does uses up no limit of the in-process server
pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02  # a retry waits that long; the default costs half a second each


@pytest.fixture(scope="session", autouse=True)
def _compiled_once() -> Iterator[None]:
    """Programs that tests start find the product compiled, also where byte code may not be written beside the code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        patch.setenv("PYTHONPYCACHEPREFIX", str(COMPILED))
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
    monkeypatch.setattr(kept_files, "notices", kept_files.Notices())
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
