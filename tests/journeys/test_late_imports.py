"""A command only imports what it uses: importing DeepDiff, driver or window takes longer than many a command."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pymongo
import pytest

from model.commands import grammar
from tests import support
from tests.model import session_scenes

DEEPDIFF = "deepdiff.diff"
LISTS = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
RUNS = """
import contextlib, io, json, sys
from gui.__main__ import main
for words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
        status = main(words)
    print(json.dumps([status, said.getvalue(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def python(code: str, given: str = "") -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], input=given, cwd=support.ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def brought() -> set[str]:
    """The packages that DeepDiff imports, itself among them."""
    found = set(python(f"import {DEEPDIFF}; {LISTS}").split()) - set(python(LISTS).split())
    assert "deepdiff" in found
    return found - set(sys.stdlib_module_names)


@pytest.mark.parametrize(
    "module", ["gui.__main__", "gui.window.window", "model.session", "model.commands.command_line"]
)
def test_no_entry_into_the_program_imports_deepdiff(module: str, brought: set[str]) -> None:
    assert not brought & set(python(f"import {module}; {LISTS}").split())


@pytest.mark.deep
@pytest.mark.slice
def test_no_command_imports_deepdiff_but_the_diff_in_its_format(
    brought: set[str], local_uri: str, tmp_path: Path
) -> None:
    names = ("1.json", "2.json", "plan", "p", "kept.jsonl")
    db, one, two, plan, profile, kept = "late_imports", *(str(tmp_path / name) for name in names)
    Path(one).write_text('{"a": 1}')
    Path(two).write_text('{"a": 2}')
    Path(profile).write_text(f'[[collection]]\nns = "{db}.orders"\nlayout = "stream"\n')
    contracts, claims, stats = f"{db}.contracts", f"{db}.claims", f"{db}.stats"
    here = local_uri
    commands: list[tuple[int, list[str]]] = [
        (0, ["collections", here]),
        (0, ["profile", here, contracts]),
        (0, ["history", here, contracts, "K-1"]),
        (0, ["show", here, contracts, "K-1@1"]),
        (0, ["find", here, contracts]),
        *((1, ["diff", here, contracts, "K-1", "1", "2", "--format", form]) for form in ("text", "json", "json-patch")),
        (0, ["merge", one, one, two]),
        (0, ["compare", here, contracts, here, contracts]),
        (0, ["blame", here, contracts, "K-1"]),
        (0, ["bisect", here, contracts, "K-1", '{"status": "active"}']),
        (0, ["activity", here, contracts]),
        (0, ["asof", here, contracts, "2026-01-01T00:00Z"]),
        (0, ["report", here, contracts, "K-1"]),
        (0, ["export", here, contracts, "--jsonl", kept]),
        (0, ["import", kept, here, f"{db}.again"]),
        (1, ["revert", here, contracts, "--id", "K-1", "--version", "1"]),
        (0, ["change", here, contracts, "{}", "--unset", "status"]),
        (0, ["retain", here, contracts, "--keep", "1"]),
        (0, ["erase", here, contracts, "K-1", "--path", "note"]),
        (0, ["edit", here, contracts, "K-2", "--set", 'status="draft"']),
        (0, ["undo", "1", "--source", here]),
        (0, ["restore", here, claims, "C-1", "1"]),
        (0, ["journal"]),
        (0, ["help", "layouts"]),
        (1, ["scan", here, f"{db}.contracts", "--plan", plan]),
        (0, ["health", here]),
        (0, ["repair", here, "--plan", plan]),
        (0, ["cleanup", here, stats]),
        (0, ["adopt", here, f"{db}.agents"]),
        (0, ["migrate", here, claims, "--to", "archive"]),
        (0, ["feed", here, "--profile", profile, "--once"]),
        (0, ["check", here, "--quick"]),
        (0, ["next", here, f"{db}.counters", "orders"]),
        (0, ["insert", here, f"{db}.agents", '{"name": "Ted R."}']),
        (0, ["count", here, stats, "2020-07-04", "order-7"]),
        (0, ["process", here, f"{db}.teams", "Spain", "brasil-2014", "--field", "wins"]),
        (1, ["diff", one, two, "--format", "deepdiff"]),
    ]
    assert {words[0] for _, words in commands} == set(grammar.names()) - {"tail", "pipe"}, "which end when stopped"
    with pymongo.MongoClient(here) as client:
        for scene in (session_scenes.archive, session_scenes.versions, session_scenes.plain, session_scenes.pending):
            scene(client[db])
        teams = [{"_id": name, "wins": 1, "processed": ["germany-2006"]} for name in ("Spain", "Italy", "France")]
        client[db]["teams"].insert_many(teams)
        client[db]["counters"].insert_one({"_id": "orders", "seq": 41})
        client[db]["orders"].insert_one({"_id": "A", "v": 1})
        try:
            out = python(RUNS, json.dumps([words for _, words in commands]))
        finally:
            client.drop_database(db)
    ended = [json.loads(line) for line in out.splitlines()]
    for (expected, words), (status, said, modules) in zip(commands, ended, strict=True):
        assert status == expected, (words, said)
        assert bool(brought & set(modules)) == (words[-1] == "deepdiff"), words
        assert not {"PySide6", "gui.app"} & set(modules), words


def modules_of(*words: str) -> set[str]:
    """All modules that are there once a command has been run in an interpreter of its own."""
    run = "import contextlib, io, sys\nfrom gui.__main__ import main\nwith contextlib.redirect_stdout(io.StringIO()): "
    return set(python(f"{run}main({[*words]!r})\nprint(*sys.modules)").split())


def ours(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name.partition(".")[0] in ("gui", "model", "resources"))


def test_the_version_is_told_by_eight_files() -> None:
    there = modules_of("--version")
    files = [name for name in ours(there) if not (support.ROOT / name.replace(".", "/")).is_dir()]
    assert len(files) <= 8, files
    assert not {"bson", "pymongo", "PySide6", "ctypes", "importlib.metadata", "argparse", "re", "gettext"} & there


def test_a_diff_and_a_merge_of_files_import_no_driver_no_session_and_no_server(tmp_path: Path) -> None:
    one, two = tmp_path / "1.json", tmp_path / "2.json"
    one.write_text('{"a": 1}')
    two.write_text('{"a": 2}')
    for words in (("diff", str(one), str(two)), ("merge", str(one), str(one), str(two))):
        there = modules_of(*words)
        assert "model.diff" in there
        assert not {"pymongo", "PySide6", "model.session", "model.localserver", "model.layouts.registry"} & there
        assert len(ours(there)) <= 82, ours(there)


def test_a_history_imports_neither_repairs_nor_what_else_a_session_can_do() -> None:
    there = modules_of("history", "sample:", "insurance.contracts", "K-204117")
    assert {"model.catalogue.catalogue", "model.history.chain"} <= there
    rooms = ("browsing", "exchange", "feed", "guarantees", "merge", "migration", "repair", "scan", "taking_back")
    assert not {f"model.{room}" for room in rooms} & there
    assert not {"rapidfuzz", "platformdirs"} & there  # the home is named, and few fields have to be compared


def test_a_history_by_a_kept_layout_imports_that_layout_and_nothing_that_recognises_or_writes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path))
    words = ("history", "sample:", "insurance.contracts", "K-204117")
    modules_of(*words)  # keeps the layout
    there = modules_of(*words)
    layouts = {name for name in there if name.startswith("model.layouts.")}
    reads = ("archive", "archive_reader", "base", "layout_names", "registry")
    assert layouts == {f"model.layouts.{name}" for name in reads}
    rooms = ("recognition", "writers", "patches", "writing", "counting", "profile")
    assert not {name for name in there if name.startswith(tuple(f"model.{room}" for room in rooms))}
    assert not {"model.catalogue.recognise", "model.checks.chains", "model.userdata.journal", "sqlite3"} & there
    assert len(ours(there)) <= 170, ours(there)


def test_a_connection_imports_no_asynchronous_driver() -> None:
    there = set(python("import sys; import model.server.server; print(*sys.modules)").split())
    assert {name for name in there if name.startswith("pymongo.asynchronous.")} == {"pymongo.asynchronous.helpers"}
    assert not {name for name in there if name.startswith(("asyncio.", "concurrent."))}
    assert not {"email.message", "zipfile", "csv"} & there  # of importlib.metadata


def test_a_connection_keeps_no_source_of_a_module(local_uri: str) -> None:
    opens = f"from model.session import Session; session = Session.open({local_uri!r}, apart=True, at_once=True)"
    assert python(f"import linecache; {opens}; print(len(linecache.cache)); session.close()") == "0\n"


def test_what_the_driver_was_imported_without_is_not_loaded() -> None:
    late = "import sys; import model.server.server; print(*(type(sys.modules[name]).__name__ for name in {}))"
    assert set(python(late.format(["asyncio", "difflib", "importlib.metadata"])).split()) == {"_Late"}


def test_what_the_driver_was_imported_without_is_there_for_who_asks() -> None:
    asks = (
        "import model.server.server, pymongo, difflib, importlib.metadata as m;"
        "from pymongo.asynchronous.mongo_client import AsyncMongoClient;"
        "from importlib.metadata import entry_points, version;"
        "print(pymongo.AsyncMongoClient is AsyncMongoClient, version('pymongo') == pymongo.version,"
        "type(m).__name__, difflib.SequenceMatcher(None, 'ab', 'ab').ratio(), hasattr(pymongo, 'Nothing'))"
    )
    assert python(asks).split() == ["True", "True", "module", "1.0", "False"]
    refuses = (
        "from model.server import driver; import pymongo\n"
        "try: pymongo.MongoClient('localhost', connect=False, retryWritez=True)\n"
        "except pymongo.errors.ConfigurationError as error: print('retrywrites' in str(error))"
    )
    assert python(refuses) == "True\n"


ASKS_ASYNCHRONOUSLY = """
import sys
from model.server import driver
import pymongo
async def ask():
    async with pymongo.AsyncMongoClient(sys.argv[1]) as client:
        return (await client.admin.command("ping"))["ok"], asyncio.current_task() is not None
"""


@pytest.mark.parametrize(
    "asks",
    [
        "import asyncio; print(*asyncio.run(ask()))",
        "import asyncio.subprocess as inside, asyncio; print(*asyncio.run(ask()))",
        "from asyncio import events; import asyncio; print(*asyncio.run(ask()))",
        "from asyncio import *; import asyncio; print(*run(ask()))",
    ],
)
def test_the_asynchronous_driver_works_for_who_asks_however_asyncio_is_imported(asks: str, local_uri: str) -> None:
    told = f"import sys; sys.argv[1:] = [{local_uri!r}]{ASKS_ASYNCHRONOUSLY}"
    there = "assert not {name for name in sys.modules if name.startswith('asyncio.')}"
    assert python(f"{told}{there}\n{asks}") == "1.0 True\n"


def test_help_and_a_mistake_need_no_driver() -> None:
    for words in (("--help",), ("history", "--help"), ("help", "layouts")):
        assert not {"bson", "pymongo", "PySide6"} & modules_of(*words), words


def test_a_window_is_there_before_driver_layouts_and_views() -> None:
    there = set(python("import sys; import gui.window.open_windows; print(*sys.modules)").split())
    assert "gui.window.window" in there
    views = {name for name in there if name.startswith("gui.views.")} - {"gui.views.browse", "gui.views.browse.query"}
    assert not views
    assert not {"pymongo", "asyncio", "ssl", "model.layouts", "model.diff", "deepdiff"} & there
    assert not {name for name in there if name.startswith("model.session.")}
    assert not {"bson", "sqlite3", "ctypes.util", "zoneinfo", "PySide6.QtNetwork"} & there
    assert (
        not {f"model.{part}" for part in ("foundation.records", "catalogue.sources", "values", "text.display")} & there
    )
    assert not {f"gui.{part}" for part in ("style.cells", "window.palette", "window.sidebar", "window.tabs")} & there
    assert len(ours(there)) <= 82, ours(there)


def test_the_door_of_texts_brings_what_is_asked_for_and_all_of_its_names_are_there() -> None:
    there = set(python("import sys; from model import text; text.plain('a'); print(*sys.modules)").split())
    assert not {"bson", "model.values", "model.text.json_reader"} & there
    assert python("from model.text import *\nfrom model import text\nassert {*text.__all__} <= {*vars(text)}") == ""
    assert python("from model import text\nassert not hasattr(text, 'nothing_of_that_name')") == ""


def brought_early(*names: str) -> set[str]:
    """All modules that are there once a window has imported tuples of these names ahead."""
    brings = "import sys; from gui.starting import early_imports as e\nfor name in sys.argv[1:]: e.bring(vars(e)[name])"
    return set(python(f"import sys; sys.argv[1:] = {[*names]!r}\n{brings}\nprint(*sys.modules)").split())


def test_a_window_at_rest_holds_no_page_that_nobody_has_opened() -> None:
    there = brought_early("SOON", "LATER")
    assert {"model.catalogue.catalogue", "gui.views.timeline.timeline_panel", "gui.window.palette"} <= there
    assert not {name for name in there if name.startswith(("gui.views.edit", "gui.views.merge", "gui.views.history"))}
    assert not {name for name in there if name.startswith(("model.merge", "model.writing", "model.recognition"))}
    assert not {"gzip", "csv", "model.text.file_documents", "model.text.row_file"} & there


def test_a_window_that_was_touched_holds_no_repairs_no_exchange_and_no_server() -> None:
    there = brought_early("SOON", "LATER", "TOUCHED")
    assert {"model.catalogue.catalogue", "gui.pages.document_pages"} <= there
    rooms = {f"model.{room}" for room in ("operations", "exchange", "feed", "repair", "scan")}
    assert not {*rooms, "model.localserver.dumps", "model.localserver.local_server", "xml.etree"} & there
    assert not {"model.catalogue.recognise", "model.writers", "model.profile", "model.localserver.store"} & there
    assert not {"rapidfuzz", "zoneinfo", "email.message"} & there


def test_texts_of_few_words_are_compared_without_the_library() -> None:
    compares = (
        "import sys; from model.diff.text_comparison import text_edits; "
        "assert text_edits('+49 40 555 0117', '+49 40 555 0192') == [(13, '17', '92')]; "
        "assert len(text_edits('a b\\nc d\\n', 'a x\\nd c\\n')) > 1; print(*sys.modules)"
    )
    assert not {"rapidfuzz"} & set(python(compares).split())


def test_a_layout_that_is_known_brings_nothing_that_recognises() -> None:
    binds = "import sys; from model.layouts.registry import LAYOUTS as L; [L[name] for name in L]; print(*sys.modules)"
    there = set(python(binds).split())
    assert {"model.layouts.hashed", "model.layouts.stream"} <= there
    rooms = ("recognition", "catalogue", "localserver", "counting")
    assert not {name for name in there if name.startswith(tuple(f"model.{room}" for room in rooms))}


def test_a_process_that_serves_the_sample_imports_nothing_of_files_and_dumps() -> None:
    serves = (
        "import sys; from model import local_process as p; from model.userdata import folders; "
        'p.opened(p.Served("", True, str(folders.kept_again(None)))).close(); print(*sys.modules)'
    )
    python(serves)  # the first one may have to build the sample
    there = set(python(serves).split())
    assert {"model.localserver.kept_sample", "model.localserver.large_file"} <= there
    assert not {"pymongo", "PySide6", "model.localserver.dumps", "model.localserver.sample", "model.text"} & there
    assert len(ours(there)) <= 60, ours(there)


@pytest.mark.deep
@pytest.mark.slice
def test_the_session_and_each_of_its_parts_can_be_imported_first() -> None:
    parts = sorted(path.stem for path in (support.ROOT / "model" / "session").glob("*.py") if path.stem != "__init__")
    assert len(parts) > 10
    for name in ("model.session", *(f"model.session.{part}" for part in parts)):
        assert python(f"import {name}") == ""
    assert python("import model.session\nassert not hasattr(model.session, 'nothing_of_that_name')") == ""


def test_a_session_that_is_not_open_needs_no_driver() -> None:
    there = set(python("import sys; from model.session import Session; print(*sys.modules)").split())
    assert not {"bson", "pymongo", "model.values", "model.session.connection"} & there


@pytest.mark.skipif(importlib.util.find_spec("OpenSSL") is not None, reason="PyMongo uses pyOpenSSL where it is")
def test_the_driver_imports_no_second_library_for_tls_in_vain() -> None:
    there = set(python("import sys; import model.server.retry; print(*sys.modules)").split())
    assert "pymongo.ssl_context" in there
    assert not {name for name in there if name.startswith("cryptography")}


def test_an_installation_to_edit_is_a_path_that_no_start_needs_a_finder_for() -> None:
    stated = tomllib.loads((support.ROOT / "pyproject.toml").read_text("utf-8"))
    assert stated["tool"]["setuptools"]["package-dir"] == {"": "."}
