"""Two versions of one document beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from model.diff import Diff
from model.diff.comparison_rules import EXACT, ComparisonRules
from model.errors import Unreadable
from model.foundation.records import Version
from model.text.names import version_name
from model.values.canonical import Value


class Comparison(Struct, frozen=True):
    """Two versions of one document and the difference between their contents."""

    a: Version
    b: Version
    diff: Diff
    rules: ComparisonRules = EXACT  # by which ``diff`` leaves out differences that do not count


def comparison(a: Version, b: Version, keys: Sequence[str], rules: ComparisonRules = EXACT) -> Comparison:
    """Compare the contents of two versions; raises ``Unreadable`` if one has none."""
    before, after = Value.document(_content(a)), Value.document(_content(b))
    return Comparison(a, b, rules.compare(before, after, keys), rules)


def _content(version: Version) -> bytes:
    if version.content is None:
        why = version.detail or version.state
        raise Unreadable(f"{version_name(version.v)} has no content to compare ({why}).")
    return version.content
