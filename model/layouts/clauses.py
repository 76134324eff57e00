"""Filters rewritten for where a version is stored: under other names, or in parts of one document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from model import canonical as c
from model.canonical import Value
from model.resilient import Terms

LOGICAL = ("$and", "$or", "$nor")


def renamed(terms: Terms | None, name_of: Callable[[str], str]) -> dict[str, Any]:
    """Terms with every field, inside ``$and``, ``$or`` and ``$nor`` too, under the name that ``name_of`` gives it."""
    moved: dict[str, Any] = {}
    for name, value in (terms or {}).items():
        if name in LOGICAL and not (isinstance(value, Value) and value.type != c.ARRAY):
            moved[name] = [_renamed_part(part, name_of) for part in _parts(value)]
        else:
            moved[name if name.startswith("$") else name_of(name)] = value
    return moved


def parted(terms: Terms, names: Collection[str]) -> tuple[list[Terms], list[Terms]]:
    """The clauses that all have to hold: those on fields of these names alone, and the others."""
    these: list[Terms] = []
    others: list[Terms] = []
    for name, value in _all_of(terms):
        (these if _only(name, value, names) else others).append({name: value})
    return these, others


def together(clauses: Sequence[Terms]) -> Terms:
    """Clauses that all have to hold, as one filter."""
    names = [name for clause in clauses for name in clause]
    if len(names) > len(set(names)):
        return {"$and": list(clauses)}
    return {name: value for clause in clauses for name, value in clause.items()}


def _all_of(terms: Terms) -> Iterator[tuple[str, Any]]:
    for name, value in terms.items():
        parts = _parts(value) if name == "$and" else []
        if parts and all(_terms_of(part) is not None for part in parts):
            for part in parts:
                yield from _all_of(_terms_of(part) or {})
        else:
            yield name, value


def _only(name: str, value: Any, names: Collection[str]) -> bool:
    if name in LOGICAL:
        parts = [_terms_of(part) for part in _parts(value)]
        return bool(parts) and all(part and all(_only(*each, names) for each in part.items()) for part in parts)
    return name.partition(".")[0] in names


def _parts(value: Any) -> list[Any]:
    if isinstance(value, Value):
        return c.items(value) if value.type == c.ARRAY else []
    return list(value)


def _terms_of(part: Any) -> Terms | None:
    if isinstance(part, Value):
        return dict(c.fields(part.data)) if part.type == c.OBJECT else None
    return part if isinstance(part, dict) else None


def _renamed_part(part: Any, name_of: Callable[[str], str]) -> Any:
    terms = _terms_of(part)
    return part if terms is None else renamed(terms, name_of)  # what is no document is for the server to refuse
