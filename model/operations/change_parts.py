"""The part of a change that is taken back: some fields of it, without what every version sets anew.

Programs stamp their documents: with the time and the author of the last change, a counter, a token. The layout may
know one such field and not the next. A later change of a stamp is no later change of the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from model.foundation.records import Version
from model.history.tracking import key_at, locate
from model.over_time.activity import changed_paths
from model.recognition.field_names import CHANGE_TIMES, CHANGERS, TOKENS, VERSIONS, bare
from model.storage.reserved_fields import WHOLE_NUMBERS
from model.text.paths import fitted
from model.values import canonical as c
from model.values.canonical import Path, Value
from model.writing.edit import with_values

_TIMES = CHANGE_TIMES - {"at", "occurredat", "occurredon"}
_COUNTERS = VERSIONS - {"edition", "generation", "iteration"}
_TIME_TYPES = (c.DATE, c.TIMESTAMP, c.STRING, c.DOUBLE, *WHOLE_NUMBERS)
_TOKEN_TYPES = (c.OBJECT_ID, c.BINARY, c.STRING)


# --- some fields of a change


def only_at(paths: Iterable[Path], before: bytes, after: bytes, keys: Sequence[str]) -> bytes:
    """The content before a change, if the change had set only some fields: ``after`` with their earlier values.

    Positions in arrays are those of ``after``; elements are followed by their ``keys``. A name below an array means
    that field of all its elements. Equal to ``after`` if the change did not set these fields. Raises ``Unreadable`` if
    an earlier value has no place any more.
    """
    values: dict[Path, Value | None] = {}
    for path in (each for asked in paths for each in _each(after, before, asked)):
        old = _earlier(path, before, after, keys)
        if old != c.get(after, path):
            values[path] = old
    return with_values(after, values)


def _each(after: bytes, before: bytes, asked: Path) -> Iterator[Path]:
    """The paths that a person means by one: a name below an array is a field of each element."""
    path = fitted(after if c.get(after, asked[:1]) is not None else before, asked)
    for at, step in enumerate(path):
        here = c.get(after, path[:at]) if isinstance(step, str) and at else None
        if here is not None and here.type == c.ARRAY:
            for n in range(len(c.items(here))):
                yield from _each(after, before, (*path[:at], n, *path[at:]))
            return
    yield path


def _earlier(path: Path, before: bytes, after: bytes, keys: Sequence[str]) -> Value | None:
    """The value before a change of the field at a path of the content after it."""
    if not any(isinstance(step, int) for step in path):
        return c.get(before, path)
    key = key_at(after, path, keys)
    above = locate(before, key, keys) if key else ()
    return None if above is None else c.get(before, (*above, *path[len(key) :]))


# --- stamps


def later_stamps(
    versions: Callable[[], Iterable[Version]], before: bytes, after: bytes, now: bytes
) -> tuple[Path, ...]:
    """The stamps that a change set and that have another value by now, at the top or in sub-documents.

    ``versions`` reads the document's, newest first, with contents; it is called only if a field has a stamp's name. An
    author counts by its name; a time, a counter or a token only if most versions set it anew.
    """
    named = [
        path
        for path in changed_paths(before, after)
        if _is_named_as_one(path, c.get(after, path)) and c.get(now, path) != c.get(after, path)
    ]
    doubtful = [path for path in named if bare(str(path[-1])) not in CHANGERS]
    if not doubtful:
        return tuple(named)
    renewed, steps = dict.fromkeys(doubtful, 0), 0
    newer: bytes | None = None
    for each in versions():
        if newer is not None and each.content is not None and each.content != newer:
            steps += 1
            for path in doubtful:
                renewed[path] += c.get(newer, path) != c.get(each.content, path)
        newer = each.content
    return tuple(path for path in named if path not in renewed or 2 * renewed[path] > steps)


def _is_named_as_one(path: Path, value: Value | None) -> bool:
    name = bare(str(path[-1]))
    if value is None:
        return False
    return (
        (name in CHANGERS and value.type == c.STRING)
        or (name in _TIMES and value.type in _TIME_TYPES)
        or (name in _COUNTERS and value.type in WHOLE_NUMBERS)
        or (name in TOKENS and value.type in _TOKEN_TYPES)
    )


def without_stamps(before: bytes, after: bytes, stamps: Iterable[Path], now: bytes) -> tuple[bytes, bytes]:
    """The contents before and after a change as if it had left some fields as they are now."""
    for path in stamps:
        value = c.get(now, path)
        if value is not None and c.get(before, path) is not None:
            before, after = (c.put(each, path, value) for each in (before, after))
        else:
            before, after = (c.drop(each, path) for each in (before, after))
    return before, after
