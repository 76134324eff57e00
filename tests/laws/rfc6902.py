"""Applies JSON Patch as RFC 6902 says, written from its text, with no code of what writes our patches."""

from __future__ import annotations

import copy
from typing import Any

from tests.laws.confirming import same


def applied(patch: list[dict[str, Any]], document: Any) -> Any:
    """The patched document; raises ``ValueError`` where an operation does not fit."""
    top = {"": copy.deepcopy(document)}
    for op in patch:
        path = _steps(op["path"])
        if op["op"] == "add":
            _add(top, path, op["value"])
        elif op["op"] == "remove":
            _remove(top, path)
        elif op["op"] == "replace":
            _remove(top, path)
            _add(top, path, op["value"])
        elif op["op"] == "move":
            source = _steps(op["from"])
            if source != path and source == path[: len(source)]:
                raise ValueError("A value cannot be moved into itself.")
            _add(top, path, _remove(top, source))
        elif op["op"] == "copy":
            _add(top, path, copy.deepcopy(_get(top, _steps(op["from"]))))
        elif op["op"] != "test" or not _equal(_get(top, path), op["value"]):
            raise ValueError(f"{op['op']} {op['path']} fails.")
    return top[""]


def _steps(pointer: str) -> list[str]:
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer} is not a JSON Pointer.")
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")]


def _at(container: Any, step: str, end: int) -> Any:
    """The key or position of a step; positions are below ``end``."""
    if isinstance(container, dict):
        return step
    if not isinstance(container, list) or not step.isascii() or not step.isdigit() or (step[0] == "0" and step != "0"):
        raise ValueError(f"{step} leads nowhere.")
    if int(step) >= end:
        raise ValueError(f"Position {step} is too high.")
    return int(step)


def _get(top: Any, steps: list[str]) -> Any:
    here = top
    for step in steps:
        at = _at(here, step, len(here) if isinstance(here, list) else 0)
        if isinstance(here, dict) and at not in here:
            raise ValueError(f"There is no {step}.")
        here = here[at]
    return here


def _add(top: Any, steps: list[str], value: Any) -> None:
    parent, last = _get(top, steps[:-1]), steps[-1]
    if isinstance(parent, list):
        parent.insert(len(parent) if last == "-" else _at(parent, last, len(parent) + 1), value)
    else:
        parent[_at(parent, last, 0)] = value


def _remove(top: Any, steps: list[str]) -> Any:
    _get(top, steps)
    parent = _get(top, steps[:-1])
    return parent.pop(_at(parent, steps[-1], len(parent)))


def _equal(a: Any, b: Any) -> bool:
    """As JSON: names have no order, and a boolean is no number."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return isinstance(a, bool) == isinstance(b, bool) and a == b
    return same(a, b)
