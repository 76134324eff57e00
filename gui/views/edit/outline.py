"""Where the fields of a JSON text are: the path at each position, and the foldable lines.

It reads text while people type it, so it accepts incomplete text as far as it goes. The wrappers of Extended JSON,
such as ``{"$oid": …}``, are values here, not documents.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Mapping
from typing import Literal, TypeAlias

from msgspec import Struct, field

from model.values.canonical import Path

Part: TypeAlias = Literal["name", "string", "word", "wrapper", "sign"]
TOKENS = re.compile(r'"(?:[^"\\\n]|\\.)*"?|[{}\[\],:]|[^\s{}\[\],:"]+')
_NAMED = re.compile(r"\s*:")


class Outline(Struct, frozen=True):
    """The fields of a text by their start, and its folds: the first and last line of each container."""

    starts: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()
    folds: Mapping[int, int] = field(default_factory=dict)

    def path_at(self, place: int) -> Path:
        """The path of the field at a position in the text; ``()`` before the first field."""
        at = bisect_right(self.starts, place) - 1
        return self.paths[at] if at >= 0 else ()

    def place_of(self, path: Path) -> int | None:
        """The start of a field; if it has none, of the nearest container around it."""
        places = dict(zip(reversed(self.paths), reversed(self.starts), strict=True))
        while path:
            if path in places:
                return places[path]
            path = path[:-1]
        return None


class _Open(Struct):
    """A container that is not closed yet."""

    path: Path
    is_array: bool
    line: int
    count: int = 0
    name: str | None = None
    wraps: bool = False  # the wrapper of a typed value

    @property
    def awaits_name(self) -> bool:
        """Whether a name comes next."""
        return not self.is_array and self.name is None

    def name_next(self, said: str) -> None:
        """Take a name; one that begins with a dollar sign makes this a wrapper."""
        self.name = _decoded(said)
        self.wraps = self.wraps or (self.name.startswith("$") and not self.count)


def outline(text: str) -> Outline:
    """The outline of a text."""
    starts: list[int] = []
    paths: list[Path] = []
    folds: dict[int, int] = {}
    stack: list[_Open] = []
    line, seen = 0, 0
    for found in TOKENS.finditer(text):
        said, at = found.group(), found.start()
        line += text.count("\n", seen, at)
        seen = at
        above = stack[-1] if stack else None
        if said in "}]":
            if stack and (closed := stack.pop()).line < line:
                folds.setdefault(closed.line, line)
        elif said == ",":
            if above is not None:
                above.count, above.name = above.count + 1, None
        elif said != ":":
            is_name = above is not None and above.awaits_name
            if above is not None and is_name and said.startswith('"'):
                above.name_next(said)
            path = _path(above)
            if above is not None and not above.wraps and (is_name or (above.is_array and said not in "}]")):
                starts.append(at)
                paths.append(path)
            if said in "{[":
                wraps = above is not None and above.wraps
                stack.append(_Open(path, said == "[", line, wraps=wraps))
    return Outline(tuple(starts), tuple(paths), folds)


def _decoded(said: str) -> str:
    try:
        return str(json.loads(said))
    except ValueError:
        return said.strip('"')


def _path(above: _Open | None) -> Path:
    if above is None:
        return ()
    if above.wraps:
        return above.path
    return (*above.path, above.count if above.is_array else above.name or "")


def parts(line: str) -> list[tuple[int, int, Part]]:
    """The parts of one line, each with its start and length: names, strings, other values, wrappers, signs."""
    made: list[tuple[int, int, Part]] = []
    for found in TOKENS.finditer(line):
        said = found.group()
        kind: Part = "word"
        if said in "{}[],:":
            kind = "sign"
        elif said.startswith('"'):
            named = _NAMED.match(line, found.end()) is not None
            kind = ("wrapper" if said.startswith('"$') else "name") if named else "string"
        made.append((found.start(), len(said), kind))
    return made
