"""The actions of the program, each as a person would do it on the bench."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from model.layouts.registry import WRITABLE
from model.session import Session
from model.values.canonical import Value
from tests.hosted.bench import EXACT, SHOP, Bench

VERSIONED = [name for name, kind in WRITABLE.items() if not (kind.newest_alone or kind.fed)]
Work = Callable[[Bench], object]


@dataclass(frozen=True)
class Action:
    """One thing that a person does."""

    name: str
    work: Work
    many: bool = False
    """Whether it writes several things of which each ends by itself."""
    tells: bool = False
    """Whether its words are about the server, and so differ."""


def _asking(question: Callable[[Session], object]) -> Work:
    return lambda bench: bench.ask(question)


def _page(layout: str, **how: object) -> Work:
    def rows(session: Session) -> object:
        page = session.documents.page(SHOP[layout], **how)  # type: ignore[arg-type]
        return [(row.id.python(), row.version.python() if row.version else None) for row in page.rows]

    return _asking(rows)


def _save(layout: str) -> Work:
    gone = () if layout == "deltas" else ("--unset", "tags")  # which has no word for that
    return lambda bench: bench.shop("edit", SHOP[layout], "K-2", "--set", "price=9", 'name="new"', *gone)


def _create(layout: str) -> Work:
    return lambda bench: bench.shop("edit", SHOP[layout], "K-9", "--create", "--set", "price=1")


def _delete(layout: str) -> Work:
    def gone(session: Session) -> object:
        ns, id = SHOP[layout], Value.of("K-2")
        return session.writing.delete(ns, id, session.history.last(ns, id))

    return _asking(gone)


def _undo(layout: str) -> Work:
    def work(bench: Bench) -> None:
        _save(layout)(bench)
        if bench.status == 0:
            bench.call("undo", 1, "--source", bench.uri, "--profile", bench.profile)

    return work


def _retype(bench: Bench) -> None:
    bench.shop("edit", SHOP["archive"], "K-2", "--set", 'price={"$numberInt": "3"}')


def _decimal(bench: Bench) -> None:
    bench.shop("edit", SHOP["archive"], EXACT, "--create", "--set", 'sum={"$numberDecimal": "1.500"}')


def _dotted(bench: Bench) -> None:
    bench.ask(lambda s: s.edit(SHOP["archive"], "K-2", {("a.b",): 1}))


def _dollar(bench: Bench) -> None:
    bench.ask(lambda s: s.edit(SHOP["archive"], "K-2", {("$price",): 1}))


def _import(bench: Bench) -> None:
    target = bench.folder / "history.jsonl"
    bench.shop("export", SHOP["archive"], "--jsonl", target)
    if bench.status == 0:
        bench.call("import", target, bench.uri, "shop.arrived", "--layout", "versions", "--apply", "--yes-layout")


def _drawn(bench: Bench) -> None:
    plan = bench.folder / "plan.json"
    bench.run("scan", "insurance_2019", "--plan", plan)
    if plan.exists() and bench.status < 2:  # a plan of a scan that could check nothing has nothing to do
        bench.run("repair", "--plan", plan)


def _repair(bench: Bench) -> None:
    plan = bench.folder / "plan.json"
    bench.run("scan", "insurance_2019", "--plan", plan)
    if plan.exists():
        bench.run("repair", "--plan", plan, "--apply")


def _health(bench: Bench) -> None:
    bench.run("scan", "insurance_2019.policies")
    if bench.status < 2:  # the scans that were made are told without the server
        bench.run("health")


def _feed(bench: Bench) -> None:
    bench.shop("edit", SHOP["stream"], "K-1", "--set", "price=9")
    bench.shop("feed", SHOP["stream"], "--once")


def _follow(session: Session) -> object:
    tail = session.time.tail([SHOP["archive"]])
    tail.more()
    tail.rest()
    return tail.places


ACTIONS = [
    Action("collections", lambda b: b.run("collections")),
    *(Action(f"page {name}", _page(name)) for name in WRITABLE),
    Action("filtered page", _page("versions", filter='{"price": {"$gt": 2}}', sort='{"price": -1}')),
    Action("page, any version", _page("versions", filter='{"price": 2}', any_version=True)),
    Action("count", _asking(lambda s: s.documents.count(SHOP["versions"], '{"price": 3}'))),
    Action("fields", _asking(lambda s: [f.path for f in s.queries.fields(SHOP["archive"]).fields])),
    Action("indexes", _asking(lambda s: [i.name for i in s.indexes.listed(SHOP["archive"]).rows])),
    Action("explain", _asking(lambda s: len(s.queries.explain(SHOP["archive"], '{"price": 3}')))),
    *(Action(f"versions {name}", lambda b, n=name: b.shop("history", SHOP[n], "K-1")) for name in WRITABLE),
    Action("open a document", lambda b: b.shop("show", SHOP["archive"], "K-1")),
    Action("open an id of digits", lambda b: b.shop("show", "shop.numbered", "3")),
    Action("find documents", lambda b: b.shop("find", SHOP["archive"], "{price: {$exists: true}}")),
    Action("open a version", lambda b: b.shop("show", SHOP["archive"], "K-1@2")),
    Action("compare", lambda b: b.shop("diff", SHOP["archive"], "K-1", 1, 3)),
    Action("compare collections", lambda b: b.shop("compare", SHOP["archive"], b.uri, SHOP["versions"])),
    Action("blame", lambda b: b.shop("blame", SHOP["archive"], "K-1")),
    Action("bisect", lambda b: b.shop("bisect", SHOP["archive"], "K-1", '{"price": {"$gt": 1}}')),
    Action("activity", lambda b: b.shop("activity", SHOP["archive"])),
    Action("follow", _asking(_follow)),
    Action("as of", lambda b: b.shop("asof", SHOP["archive"], "2030-01-01")),
    Action("as of two times", lambda b: b.shop("asof", SHOP["archive"], "2020-01-01", "2030-01-01", "--compare")),
    Action("report", lambda b: b.shop("report", SHOP["archive"], "K-1")),
    Action("export", lambda b: b.shop("export", SHOP["archive"], "--jsonl", b.folder / "out.jsonl")),
    Action("export to git", lambda b: b.shop("export", SHOP["archive"], "--git", b.folder / "git")),
    Action("import", _import, many=True),
    *(Action(f"save {name}", _save(name)) for name in WRITABLE),
    *(Action(f"create {name}", _create(name)) for name in WRITABLE),
    *(Action(f"delete {name}", _delete(name)) for name in WRITABLE),
    *(Action(f"undo {name}", _undo(name)) for name in WRITABLE),
    Action("change a type", _retype),
    Action("change digits", _decimal),
    Action("set a name with a dot", _dotted),
    Action("set a name with a dollar", _dollar),
    *(Action(f"restore {name}", lambda b, n=name: b.shop("restore", SHOP[n], "K-1", 1)) for name in VERSIONED),
    Action("change many", lambda b: b.shop("change", SHOP["archive"], "{}", "--set", "note=1", "--apply"), many=True),
    Action("retain", lambda b: b.shop("retain", SHOP["archive"], "--keep", 1, "--apply"), many=True),
    Action("erase", lambda b: b.shop("erase", SHOP["archive"], "K-1", "--path", "note", "--apply"), many=True),
    Action("revert", lambda b: b.shop("revert", SHOP["archive"], "--id", "K-1", "--version", 3, "--apply"), many=True),
    Action("next number", lambda b: b.shop("next", "shop.sequence", "orders")),
    Action("insert", lambda b: b.shop("insert", SHOP["plain"], '{"name": "new"}', "--id", "K-9")),
    Action("count once", lambda b: b.shop("count", "shop.pending", "day", "event-1")),
    Action("process once", lambda b: b.shop("process", "shop.processed", "sum", "c")),
    Action("scan", lambda b: b.run("scan", "insurance_2019")),
    Action("health", _health),
    Action("repair, drawn", _drawn, many=True),
    Action("repair", _repair, many=True),
    Action("clean up", lambda b: b.shop("cleanup", "shop.pending", "--apply"), many=True),
    Action("migrate", lambda b: b.shop("migrate", SHOP["versions"], "--to", "archive", "--apply"), many=True),
    Action("feed", _feed, many=True),
    Action("quick check", lambda b: b.run("check", "--quick"), tells=True),
    Action("check", lambda b: b.run("check"), tells=True),
]

ROWS: dict[str, tuple[str, ...]] = {
    "list collections": ("collections",),
    "list documents": ("page", "filtered page", "fields", "find documents"),
    "count documents": ("count",),
    "show indexes": ("indexes",),
    "explain a query": ("explain",),
    "open, compare, blame": ("versions ", "open ", "compare", "blame", "bisect", "report"),
    "follow new versions": ("follow",),
    "look at past times": ("activity", "as of", "export"),
    "edit, restore, undo": ("save ", "undo ", "restore ", "revert", "retain", "erase", "change ", "set a name"),
    "create a document": ("create ", "insert"),
    "delete a document": ("delete ",),
    "draw a number": ("next number",),
    "count once, clean up": ("count once", "clean up"),
    "process once": ("process once",),
    "scan": ("scan", "health"),
    "repair": ("repair",),
    "import, migrate": ("import", "migrate"),
    "feed an archive": ("feed",),
    "check the server": ("quick check", "check"),
}
"""The rows of the manual's table, each with how the names of its actions begin."""


def actions_of(row: str) -> list[Action]:
    """The actions of a row: of two rows that fit a name, the one that says more of it."""
    return [action for action in ACTIONS if max(ROWS, key=lambda each: _fit(action.name, each)) == row]


def _fit(name: str, row: str) -> int:
    return max(len(part) if name.startswith(part) else 0 for part in ROWS[row])
