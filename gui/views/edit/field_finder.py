"""Finds fields by name or value, in the order of the tree, and replaces text in values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from PySide6.QtCore import QObject

from gui import messages, tasks
from gui.language import tr
from gui.style.wording import count
from gui.views.edit.editor_parts import FindField
from model import text
from model.errors import Refused
from model.foundation.records import Checkpoint, no_checkpoint
from model.values.canonical import ARRAY, EMPTY, OBJECT, STRING, Path, Value, array, document, fields

MOST = 10_000
SMALL = 1024 * 1024  # bytes; a larger document is searched in a task


def found(content: bytes, words: str, zone: str, checkpoint: Checkpoint = no_checkpoint) -> list[Path]:
    """The paths whose name or value contains the words, ignoring case; at most :data:`MOST`."""
    wanted = words.casefold()
    hits: list[Path] = []
    if not wanted:
        return hits
    for done, (path, value) in enumerate(_walk(content)):
        if done % 2000 == 0:
            checkpoint(done, None)
        name = path[-1]
        if (isinstance(name, str) and wanted in name.casefold()) or wanted in _words(value, zone).casefold():
            hits.append(path)
            if len(hits) == MOST:
                break
    return hits


def replaced(content: bytes, words: str, by: str, zone: str, only: Path | None = None) -> tuple[bytes, int]:
    """The content with words replaced in its values, and in how many; ``only`` limits it to one path.

    Inside a String any part is replaced, ignoring case; any other value only as a whole, if the new words are a value
    of its type. Names stay.
    """
    count = 0

    def other(value: Value) -> Value | None:
        if value.type == STRING:
            try:
                before = str(value.python())
                after = re.sub(re.escape(words), lambda _: by, before, flags=re.IGNORECASE)
                return Value.of(after) if after != before else None
            except (Refused, UnicodeEncodeError):
                return None
        if _words(value, zone).casefold() != words.casefold():
            return None
        try:
            made = text.parsed(by, value.kind, zone)
        except Refused:
            return None
        return made if made != value else None

    def walked(container: Value, path: Path) -> Value:
        nonlocal count
        is_array, changed = container.type == ARRAY, False
        made = []
        for at, (name, value) in enumerate(fields(container.data)):
            here = (*path, at if is_array else name)
            if only is not None and here != only[: len(here)]:
                new = value
            elif value.is_container:
                new = walked(value, here)
            else:
                found = other(value) if only in (None, here) else None
                count += found is not None
                new = value if found is None else found
            changed = changed or new is not value
            made.append((name, new))
        if not changed:
            return container
        return array(value for _, value in made) if is_array else Value(container.type, document(made))

    return (walked(Value(OBJECT, content), ()).data, count) if words else (content, 0)


def _words(value: Value, zone: str) -> str:
    if value.is_container:
        return ""
    if value.type == STRING:
        return value.data[4:-1].decode("utf-8", "replace")
    return text.shown(value, zone)


def _walk(content: bytes) -> Iterator[tuple[Path, Value]]:
    waiting: list[tuple[Path, Value]] = [((), Value(OBJECT, content))]
    while waiting:
        path, value = waiting.pop()
        if path:
            yield path, value
        if value.is_container and value.data != EMPTY:
            is_array = value.type == ARRAY
            inner = [((*path, i if is_array else name), v) for i, (name, v) in enumerate(fields(value.data))]
            waiting += reversed(inner)


class FieldFinder(QObject):
    """The search of the find field: it goes to the first hit while words are typed, then from hit to hit."""

    def __init__(
        self, field: FindField, where: Callable[[], tuple[bytes, str]], show: Callable[[Path], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._field, self._where, self._show = field, where, show
        self._hits: list[Path] = []
        self._at = -1
        self._looked: tuple[str, bytes] = ("", b"")
        self._forward = True
        field.textChanged.connect(self._changed)
        field.asked.connect(self.look)

    def _changed(self, said: str) -> None:
        self._looked = ("", b"")
        self._field.say("")
        if said:
            self.look(said)

    def next(self) -> None:
        """Go to the next hit; without words, to the field to type them."""
        if self._field.text():
            self.look(self._field.text())
        else:
            self._field.setFocus()

    def previous(self) -> None:
        """Go to the previous hit."""
        self.look(self._field.text(), forward=False)

    def look(self, said: str, forward: bool = True) -> None:
        """Go to the next or previous hit; hits are looked for again after the content changed."""
        content, zone = self._where()
        if not said:
            return
        if self._looked == (said, content):
            self._go(forward)
            return
        self._looked, self._forward = (said, content), forward
        if len(content) <= SMALL:
            self._found(found(content, said, zone))
        else:
            work = lambda progress: found(content, said, zone, progress)  # noqa: E731
            tasks.run(
                work,
                done=self._found,
                failed=partial(messages.fail, self._field),
                owner=self,
                key="find",
                title=tr("Finding"),
            )

    def _found(self, hits: list[Path]) -> None:
        self._hits, self._at = hits, -1
        if hits:
            self._go(self._forward)
        else:
            self._field.say(tr("none"))

    def _go(self, forward: bool) -> None:
        if not self._hits:
            return
        self._at = (self._at + 1) % len(self._hits) if forward else (max(self._at, 0) - 1) % len(self._hits)
        self._field.say(tr("{at} of {hits}", at=count(self._at + 1), hits=count(len(self._hits))))
        self._show(self._hits[self._at])
