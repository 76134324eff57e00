"""JSON text as Python objects, at any depth: ``json.loads`` fails after some thousand levels."""

from __future__ import annotations

import json
from typing import Any

_raw_decode = json.JSONDecoder().raw_decode


def tree(text: str) -> Any:
    """The objects that ``json.loads`` gives; ``text`` must be JSON on one line as this package writes it."""
    try:
        return json.loads(text)
    except RecursionError:
        return _deep(text)


def _deep(text: str) -> Any:
    """The objects that a JSON text stands for, made without recursion."""
    top: list[Any] = []
    stack: list[Any] = [top]
    names: list[str] = [""]
    at, size = 0, len(text)
    while at < size:
        here = text[at]
        if here in ",: ":
            at += 1
        elif here in "}]":
            stack.pop()
            names.pop()
            at += 1
        elif here == '"' and isinstance(stack[-1], dict) and names[-1] == "":
            name, at = _raw_decode(text, at)
            names[-1] = "=" + name  # marks that a name was read, even an empty one
        else:
            value: Any
            if here in "{[":
                value, at = ({} if here == "{" else []), at + 1
            else:
                value, at = _raw_decode(text, at)
            parent = stack[-1]
            if isinstance(parent, dict):
                parent[names[-1][1:]] = value
                names[-1] = ""
            else:
                parent.append(value)
            if here in "{[":
                stack.append(value)
                names.append("")
    return top[0]
