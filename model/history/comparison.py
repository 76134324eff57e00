"""Two versions of one document beside each other."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from model.diff import Diff, diff
from model.errors import Unreadable
from model.foundation.records import Version
from model.text.names import version_name


class Comparison(Struct, frozen=True):
    """Two versions of one document and the difference between their contents."""

    a: Version
    b: Version
    diff: Diff


def comparison(a: Version, b: Version, keys: Sequence[str]) -> Comparison:
    """Compare the contents of two versions; raises ``Unreadable`` if one has none."""
    return Comparison(a, b, diff(_content(a), _content(b), keys))


def _content(version: Version) -> bytes:
    if version.content is None:
        why = version.detail or version.state
        raise Unreadable(f"{version_name(version.v)} has no content to compare ({why}).")
    return version.content
