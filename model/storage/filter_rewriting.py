"""Rewrites filters for a version's place in storage: other names, or parts of one document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from model.errors import Refused
from model.server.retry import Terms
from model.values import canonical as c
from model.values.canonical import Value

LOGICAL = ("$and", "$or", "$nor")
ALTERNATIVES = 100
"""The most alternatives into which one filter is split."""


def renamed(terms: Terms | None, name_of: Callable[[str], str]) -> dict[str, Any]:
    """Terms with every field renamed by ``name_of``, also inside ``$and``, ``$or`` and ``$nor``."""
    moved: dict[str, Any] = {}
    for name, value in (terms or {}).items():
        if name in LOGICAL and not (isinstance(value, Value) and value.type != c.ARRAY):
            moved[name] = [_renamed_part(part, name_of) for part in _parts(value)]
        else:
            moved[name if name.startswith("$") else name_of(name)] = value
    return moved


def parted(terms: Terms, names: Collection[str]) -> list[tuple[list[Terms], list[Terms]]]:
    """A filter as alternatives: for each, the clauses that only concern these names, and the others."""
    found: list[tuple[list[Terms], list[Terms]]] = [([], [])]
    for name, value in _all_of(terms):
        whole: list[Terms] = [{name: value}]
        if _only(name, value, names):
            ways: list[tuple[list[Terms], list[Terms]]] = [(whole, [])]
        elif name not in LOGICAL or not _some(name, value, names):
            ways = [([], whole)]
        elif name == "$or":
            ways = [way for part in _parts(value) for way in parted(_terms_of(part) or {}, names)]
        else:  # $nor with one part: one of its clauses is false
            ways = [way for each in _all_of(_terms_of(_parts(value)[0]) or {}) for way in _without(*each, names)]
        # Each clause multiplies the alternatives, as when brackets are multiplied out; hence the limit.
        found = [(these + some, others + more) for these, others in found for some, more in ways]
        if len(found) > ALTERNATIVES:
            raise Refused("This filter has too many alternatives on both the id and other fields; split it.")
    return found


def _without(name: str, value: Any, names: Collection[str]) -> list[tuple[list[Terms], list[Terms]]]:
    """The alternatives in which a clause is false."""
    if name == "$nor":
        return parted({"$or": value}, names)
    if name == "$or":
        return parted({"$nor": value}, names)
    return [([{"$nor": [{name: value}]}], [])] if _only(name, value, names) else [([], [{"$nor": [{name: value}]}])]


def together(clauses: Sequence[Terms]) -> Terms:
    """Clauses that must all hold, as one filter."""
    names = [name for clause in clauses for name in clause]
    if len(names) > len(set(names)):
        # Merged, the second clause on a field would replace the first.
        return {"$and": list(clauses)}
    return {name: value for clause in clauses for name, value in clause.items()}


def _all_of(terms: Terms) -> Iterator[tuple[str, Any]]:
    for name, value in terms.items():
        parts = _parts(value) if name in ("$and", "$nor") else []
        if not parts or any(_terms_of(part) is None for part in parts):
            yield name, value
        elif name == "$and":
            for part in parts:
                yield from _all_of(_terms_of(part) or {})
        else:
            for part in parts:
                yield name, [part]


def _only(name: str, value: Any, names: Collection[str]) -> bool:
    if name in LOGICAL:
        parts = [_terms_of(part) for part in _parts(value)]
        return bool(parts) and all(part and all(_only(*each, names) for each in part.items()) for part in parts)
    return name.partition(".")[0] in names


def _some(name: str, value: Any, names: Collection[str]) -> bool:
    """Whether a clause concerns fields with these names."""
    if name not in LOGICAL:
        return name.partition(".")[0] in names
    return any(_some(*each, names) for part in _parts(value) for each in (_terms_of(part) or {}).items())


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
    return part if terms is None else renamed(terms, name_of)  # not a document: the server will refuse it
