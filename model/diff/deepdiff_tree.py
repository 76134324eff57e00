"""A document for DeepDiff: dictionaries and lists; each other value is a leaf, equal only if its bytes are.

DeepDiff compares BSON values by their public attributes and considers two different ObjectIds equal. Here each BSON
type has its own class of leaf, so that DeepDiff sees a change of type, and an operator compares the bytes.
"""

from __future__ import annotations

from typing import Any

from deepdiff.diff import DeepDiff
from deepdiff.operator import BaseOperatorPlus

from model.text import json_object
from model.text.json_writer import needs_elements, needs_fields
from model.text.scalars import string_data
from model.values import canonical as c
from model.values.canonical import Value
from model.values.kinds import KINDS

_ESCAPE = "\U0001d1c0"  # DeepDiff writes this before a quote within quotes


class ExactLeaf:
    """A BSON value that contains no others."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExactLeaf) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return str(self.plain())

    def plain(self) -> object:
        """Canonical Extended JSON."""
        return json_object(self.value)


LEAVES: dict[int, type[ExactLeaf]] = {
    kind.code: type(kind.name.replace(" ", ""), (ExactLeaf,), {"__slots__": ()})
    for kind in KINDS
    if kind.code not in (c.OBJECT, c.ARRAY)
}


def tree(whole: Value) -> Any:
    """The document or array with leaves, at any depth. Escape forms are those of ``model.text``."""
    top: list[Any] = [None]
    waiting: list[tuple[Any, Any, Value]] = [(top, 0, whole)]
    while waiting:
        parent, key, value = waiting.pop()
        if not value.is_container:
            parent[key] = LEAVES[value.type](value)
            continue
        parts = list(c.elements(value.data))
        is_array = value.type == c.ARRAY
        inner = [(c.name_of(name), Value(kind, value.data[a:b])) for name, kind, a, b in parts]
        if needs_elements(parts) if is_array else needs_fields(value.data, parts):
            pairs: list[list[Any]] = [[LEAVES[c.STRING](_string(name)), None] for name, _ in inner]
            parent[key] = {"$elements" if is_array else "$fields": pairs}
            waiting += [(pair, 1, one) for pair, (_, one) in zip(pairs, inner, strict=True)]
        elif is_array:
            parent[key] = [None] * len(inner)
            waiting += [(parent[key], i, one) for i, (_, one) in enumerate(inner)]
        else:
            parent[key] = {name: None for name, _ in inner}
            waiting += [(parent[key], name, one) for name, one in inner]
    return top[0]


def _string(text: str) -> Value:
    return Value(c.STRING, string_data(text))


class ExactLeaves(BaseOperatorPlus):
    """Compares two leaves of one type by their bytes."""

    def match(self, level: Any) -> bool:
        """Whether both sides are leaves of one type; DeepDiff itself tells other pairs apart."""
        return isinstance(level.t1, ExactLeaf) and type(level.t1) is type(level.t2)

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        """Report a change if the bytes differ; DeepDiff need not look at the pair in any case."""
        if level.t1 != level.t2:
            diff_instance._report_result("values_changed", level)  # what DeepDiff's own comparisons call
        return True

    def normalize_value_for_hashing(self, parent: Any, obj: Any) -> Any:
        """Hash a leaf as it is."""
        return obj


class Unspeakable(BaseOperatorPlus):
    """Reports a whole document if it differs under a name that DeepDiff's paths cannot express."""

    def match(self, level: Any) -> bool:
        """Whether both sides are documents, and one of them has such a name."""
        both = isinstance(level.t1, dict) and isinstance(level.t2, dict)
        return both and any(map(_unspeakable, (*level.t1, *level.t2)))

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        """Report the documents if they differ under such a name; else DeepDiff compares their fields."""
        old, new = level.t1, level.t2
        whole = any(_unspeakable(name) and old.get(name) != new.get(name) for name in {**old, **new})
        if whole:
            diff_instance._report_result("values_changed", level)
        return whole

    def normalize_value_for_hashing(self, parent: Any, obj: Any) -> Any:
        """Documents hash as they are."""
        return obj


def _unspeakable(name: str) -> bool:
    """Whether a Delta would refuse a path with this name as a Python attribute, or misread a quote in it."""
    return ("'" in name and '"' in name) or _ESCAPE in name or (name.startswith("__") and name.endswith("__"))


class KeyOrder(BaseOperatorPlus):
    """Reports documents whose common fields are in different order, which DeepDiff ignores."""

    def match(self, level: Any) -> bool:
        """Whether both sides are documents."""
        return isinstance(level.t1, dict) and isinstance(level.t2, dict)

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        """Report the orders if they differ; DeepDiff still compares the fields."""
        old = [name for name in level.t1 if name in level.t2]
        new = [name for name in level.t2 if name in level.t1]
        if old != new:
            report = {"old_order": list(level.t1), "new_order": list(level.t2)}
            diff_instance.custom_report_result("key_order_changed", level, report)
        return False

    def normalize_value_for_hashing(self, parent: Any, obj: Any) -> Any:
        """Documents hash as they are."""
        return obj


def text_view(a: Value, b: Value) -> str:
    """The text view of two documents or two arrays as JSON; ``RecursionError`` if they are nested too deep."""
    operators = [ExactLeaves(), Unspeakable(), KeyOrder()]
    # Names that begin with two underscores are fields here, such as Mongoose's __v, not private attributes.
    found = DeepDiff(tree(a), tree(b), custom_operators=operators, verbose_level=2, ignore_private_variables=False)
    return str(found.to_json(default_mapping={ExactLeaf: ExactLeaf.plain}, force_use_builtin_json=True))
