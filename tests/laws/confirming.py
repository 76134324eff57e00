"""Checks a diff by an independent comparison that walks two JSON documents leaf by leaf.

The operations only tell which array elements belong together; all else is found here, from plain values. Each
difference found must be listed, and each listed one found, exactly once. Order of keys counts, and 1 is not 1.0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from bson import Int64

from model.diff import Operation
from model.values.canonical import Path

Listed: TypeAlias = dict[tuple[str, Path], Operation]


def confirm(old: Any, new: Any, operations: Iterable[Operation]) -> list[str]:
    """What is wrong with the operations that lead from one document to the other, in words; empty where nothing is."""
    listed: Listed = {}
    for op in operations:
        if (op.op, op.path) in listed:
            return [f"{op.op} {op.path} is listed twice"]
        listed[op.op, op.path] = op
    wrong: list[str] = []
    waiting: list[tuple[Any, Any, Path, Path]] = [(old, new, (), ())]
    while waiting:
        a, b, path, to_path = waiting.pop()
        if same(a, b):
            continue
        at = [name for name in ("replace", "retype", "text") if (name, path) in listed]
        if at:
            op = listed.pop((at[0], path))
            if op.to_path != to_path or not _holds(op.old, a) or not _holds(op.new, b):
                wrong.append(f"{at[0]} {path} has other values or leads elsewhere")
        elif isinstance(a, dict) and isinstance(b, dict):
            _fields(a, b, path, to_path, listed, wrong)
            waiting += [(a[name], b[name], (*path, name), (*to_path, name)) for name in a if name in b]
        elif isinstance(a, list) and isinstance(b, list):
            waiting += _elements(a, b, path, to_path, listed, wrong)
        else:
            wrong.append(f"{path} differs and is not listed")
    return wrong + [f"{name} {path} is listed and is not so" for name, path in listed]


def same(a: Any, b: Any) -> bool:
    """Whether two values of JSON are equal with their types and the order of their keys."""
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(map(same, a.values(), b.values()))
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b and str(a) == str(b)


def _holds(value: Any, plain: Any) -> bool:
    return value is not None and same(_plain(value.python()), plain)


def _plain(value: Any) -> Any:
    """As JSON is read: PyMongo gives whole numbers beyond 32 bits in a class of their own, inside others too."""
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, Int64) else value


def _fields(
    a: dict[str, Any], b: dict[str, Any], path: Path, to_path: Path, listed: Listed, wrong: list[str]
) -> None:  # fmt: skip
    """Names that only one side has, and the order of those that both have."""
    for op, side, other, base in (("remove", a, b, path), ("add", b, a, to_path)):
        for name in side:
            if name not in other and not _taken(op, (*base, name), side[name], listed):
                wrong.append(f"{op} of {(*base, name)} is missing or has another value")
    moved = [name for name in a if name in b] != [name for name in b if name in a]
    if moved != (listed.pop(("reorder", path), None) is not None):
        wrong.append(f"the order of the keys of {path} is told wrongly")


def _taken(op: str, path: Path, plain: Any, listed: Listed) -> bool:
    found = listed.pop((op, path), None)
    return found is not None and _holds(found.new if op == "add" else found.old, plain)


def _elements(
    a: list[Any], b: list[Any], path: Path, to_path: Path, listed: Listed, wrong: list[str]
) -> list[tuple[Any, Any, Path, Path]]:
    """The elements that belong together, by what is listed as removed, added and moved."""
    left = {i for i in range(len(a)) if ("remove", (*path, i)) in listed}
    come = {j for j in range(len(b)) if ("add", (*to_path, j)) in listed}
    moved: dict[int, int] = {}
    for i in range(len(a)):
        op = listed.pop(("move", (*path, i)), None)
        if op is not None:
            moved[i] = int(op.to_path[-1])
            if op.to_path[:-1] != to_path or not _holds(op.old, a[i]) or not _holds(op.new, b[moved[i]]):
                wrong.append(f"move {(*path, i)} has other values or leads elsewhere")
    for op_name, places, side, base in (("remove", left, a, path), ("add", come, b, to_path)):
        for i in places:
            if not _taken(op_name, (*base, i), side[i], listed):
                wrong.append(f"{op_name} {(*base, i)} has another value")
    stay = [i for i in range(len(a)) if i not in left and i not in moved]
    here = [j for j in range(len(b)) if j not in come and j not in moved.values()]
    if len(stay) != len(here):
        wrong.append(f"{path}: elements are missing or too many")
        return []
    return [
        (a[i], b[j], (*path, i), (*to_path, j)) for i, j in [*moved.items(), *zip(stay, here, strict=True)]
    ]  # fmt: skip
