"""Every write goes through one door, and names one document and its expected state."""

from __future__ import annotations

import ast
import datetime as dt
import functools
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from bson import ObjectId

from model.catalogue.recognise import bind
from model.counting import pending
from model.foundation.records import PendingToken
from model.layouts.registry import WRITABLE
from model.profile import stated
from model.server.retry import Server, Write
from model.values.canonical import Value
from tests import support
from tests.model.layouts.layout_support import doc, layout_of
from tests.model.server.faulty_server import FaultyServer
from tests.simulation.machine import check

MODEL = support.ROOT / "model"
GATEWAY = MODEL / "server" / "server.py"
GUARDS = ast.parse((MODEL / "server" / "guards.py").read_text("utf-8"))
STEPS = ast.parse((MODEL / "repair" / "steps.py").read_text("utf-8"))
CODE = [path for path in sorted(MODEL.rglob("*.py")) if MODEL / "localserver" not in path.parents]
WRITING = {
    *("insert_one", "insert_many", "update_one", "update_many", "replace_one", "delete_one", "delete_many"),
    *("bulk_write", "find_one_and_update", "find_one_and_replace", "find_one_and_delete", "drop_database"),
    *("drop_collection", "drop_index", "drop_indexes", "create_collection", "create_indexes"),
}
DRIVERS = {
    "driver_errors.py": {"pymongo", "pymongo.uri_parser"},  # which names the option of an address that is wrong
    "retry.py": {"pymongo"},
    "handshake.py": {"pymongo", "pymongo.errors", "pymongo.synchronous"},  # which reads greetings before all else
    "driver_import.py": {"pymongo"},  # which imports it before all else
    "driver.py": {"pymongo", "pymongo.monitoring", "pymongo.uri_parser"},
}
SOUGHT = re.compile(rf"\b(Write|send|pymongo|motor|{'|'.join(WRITING)})\b")
SENDERS = {"retry.py", "numbering.py", "composite_ids.py"}
"""Where a write is sent: by ``run``, by the two guarded steps that settle a number, and by the port between these and
the server that puts ids of several fields into the words of what is stored."""


def named(path: Path) -> str:
    return str(path.relative_to(MODEL))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """A file as it is parsed, once for all that look into it; empty where it names nothing of what they look for."""
    code = path.read_text("utf-8")
    return ast.parse(code if SOUGHT.search(code) else "")


def calls(tree: ast.AST) -> Iterator[tuple[str, ast.Call]]:
    """The calls in a piece of code, each with the last part of what is called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            yield called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", ""), node


def imported(tree: ast.AST) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@support.table("path", CODE, ids=named)
def test_only_the_gateway_writes_to_a_server(path: Path) -> None:
    tree = tree_of(path)
    if path == GATEWAY:
        (send,) = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_send"]
        inside = [node for name, node in calls(send) if name in WRITING]
        assert [node for name, node in calls(tree) if name in WRITING] == inside
        assert len(inside) == 4
        return
    assert not [f"{name} in line {node.lineno}" for name, node in calls(tree) if name in WRITING]
    drivers = {name for name in imported(tree) if name.partition(".")[0] in ("pymongo", "motor")}
    assert drivers <= DRIVERS.get(path.name, set()), "the driver is the gateway's alone"
    if path.name not in SENDERS:
        sent = [node.lineno for name, node in calls(tree) if name == "send" and _is_server(node)]
        assert not sent, f"a write is sent past run() in lines {sent}"


def _is_server(call: ast.Call) -> bool:
    of = ast.unparse(call.func).rpartition(".")[0]
    return of.endswith(("server", "port", "client"))


@support.table("path", CODE, ids=named)
def test_every_update_replacement_and_delete_has_its_id_and_a_guard_in_the_filter(path: Path) -> None:
    tree = tree_of(path)
    functions = _functions(tree)
    theirs = _functions(GUARDS) | _functions(STEPS)
    known = {name: node for name, node in theirs.items() if name in ("unchanged", "exactly")} | functions
    for function in functions.values():
        for name, call in calls(function):
            if name != "Write" or ast.unparse(call.args[1]) == "'insert'":
                continue
            said = _built(call.args[2], function, known)
            assert "by_id(" in said or "'_id'" in said, f"{path.name}:{call.lineno} has no _id in its filter"
            assert " | " in said or " |= " in said or "guard[" in said, f"{path.name}:{call.lineno} has no guard"


def _functions(tree: ast.AST) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def _built(
    filter: ast.expr, function: ast.FunctionDef, functions: dict[str, ast.FunctionDef], seen: tuple[str, ...] = ()
) -> str:
    """The code that a filter is made by: its expression, and what its names and own methods are made by."""
    said = ast.unparse(filter)
    names = {node.id for node in ast.walk(filter) if isinstance(node, ast.Name)} - set(seen)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            into: list[ast.expr] = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            into = [node.target]
        else:
            continue
        targets = {part.id for each in into for part in ast.walk(each) if isinstance(part, ast.Name)}
        if targets & names and node.value is not None:
            said += f"\n{ast.unparse(node)}\n" + _built(node.value, function, functions, (*seen, *names))
    for name, _ in calls(ast.parse(said)):
        if name in functions and name not in seen:
            said += "\n" + ast.unparse(functions[name])
    return said


@pytest.mark.parametrize("name", list(WRITABLE))
def test_every_write_that_a_layout_sends_is_guarded(name: str, local_uri: str) -> None:
    with Server.connect(local_uri) as server:
        sound = layout_of(server, f"gateway_{name}", name)
        port = FaultyServer(server)
        layout, id = bind(port, sound.profile), Value.of("K-1")
        layout.create(doc(a=1, b=2), id)
        for content in (doc(a=1, b=3), doc(c=1, a=1, b=3), doc(a=1)):  # by operators, whole, with fields gone
            layout.swap(id, layout.version(id), content)
        base = layout.version(id)
        removed = layout.all_stored(id, base)
        remove = layout.delete if name == "stream" else layout.purge
        assert remove(id, base).kind == "applied"
        assert layout.put_back(removed).kind == "applied"
        counted = {"numbering": "counter:gateway.seq", "token": "_w"}  # a number that is drawn is marked by a token
        numbered = bind(port, stated(sound.ns, name, archive=sound.profile.archive, **counted))
        numbered.swap(id, numbered.version(id), doc(a=7))
        if layout.own_documents:
            assert numbered.delete(id, numbered.version(id)).kind == "applied"
        for write in port.sent:
            check(write)
            assert write.note or write.ns.endswith(".seq"), "nobody could be told what this write is for"
        assert len(port.sent) >= 6


def test_every_write_that_finishes_a_token_is_guarded(local_uri: str) -> None:
    writes: list[Write] = []
    with Server.connect(local_uri) as server:
        for applied, keeps in itertools.product((False, True), (False, True)):
            token = PendingToken(
                *("shop.stats", Value.of("today"), Value.of(ObjectId()), None, dt.datetime.now(dt.UTC)),
                *("count", 1, Value.of(4), None, True, applied),
            )
            of = pending.TwoStepCounters("shop.stats", "pending", "applied", "count", keeps, dt.timedelta(0))
            writes += [pending.step_two(server, token, of), pending.step_back(token, of)]
    for write in writes:
        check(write)
