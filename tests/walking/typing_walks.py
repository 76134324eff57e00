"""Walks that type into an editor while another program writes the document, and look where the text went."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path as File
from unittest.mock import patch

from PySide6.QtCore import QCoreApplication, QEvent, QEventLoop, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit

from gui import tasks
from gui.parts.fields import field_model
from gui.parts.fields.field_model import FIELD, VALUE
from gui.parts.fields.field_nodes import FieldEntry, FieldNode
from gui.views.edit import editor_panel
from gui.views.edit.editor_panel import EditorPanel
from model.errors import NotFound, Refused
from model.localserver import LocalServer
from model.session import Session
from model.session.guarded_writing import Conflict
from model.values import canonical
from model.values.canonical import ARRAY, INT32, INT64, OBJECT, STRING, Path, Value
from tests.walking.world import PATIENCE, living, where

LAYOUTS = ("embedded", "archive", "nested", "versions", "flagged", "deltas", "hashed", "plain")
PROFILE = "".join(
    f'[[collection]]\nns = "walk.{name}"\nlayout = "{name}"\n'
    + ("" if name in ("hashed", "plain") else 'at = "changedAt"\nauthor = "changedBy"\n')
    + ('removed = "removed"\n' if name == "deltas" else "")
    + (f'archive = "walk.{name}_history"\n' if name == "archive" else "")
    for name in LAYOUTS
)
ACTIONS = 14
NAMES = (
    "customer",
    "status",
    "note",
    "price",
    "count",
    "holder",
    "lines",
    "tags",
    "period",
    "agent",
    "origin",
    "state",
)
MOVES = (Qt.Key.Key_Down,) * 4 + (Qt.Key.Key_Up,) * 2 + (Qt.Key.Key_Right, Qt.Key.Key_Left, Qt.Key.Key_End)
TYPED = (STRING, INT32, INT64)
"""The kinds of value that the walk types into."""


@dataclass
class Walk:
    """A walk that was made, and where its text went astray."""

    seed: int
    done: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Desk:
    """A server with a collection for each layout, and two programs at it: the editor's, and the other one."""

    def __init__(self, stack: ExitStack) -> None:
        home = File(stack.enter_context(tempfile.TemporaryDirectory()))
        (home / "profile.toml").write_text(PROFILE)
        server = stack.enter_context(LocalServer())
        opened = (
            stack.enter_context(Session.open(server.uri, home=home / name, profile=home / "profile.toml"))
            for name in ("editor", "other")
        )
        self.session, self.other = opened
        for session, author in ((self.session, "nora"), (self.other, "ida")):
            session.authorship.author = author
        for name in LAYOUTS:
            if self.other.indexes.missing(f"walk.{name}"):
                self.other.indexes.create(f"walk.{name}")


class Typist:
    """One walk over one document, drawn from a seed."""

    def __init__(self, desk: Desk, seed: int, troubles: list[str]) -> None:
        self.random, self.walk = random.Random(seed), Walk(seed)
        self._desk, self._troubles, self._drawn = desk, troubles, 0
        self.ns, self.id = f"walk.{LAYOUTS[seed % len(LAYOUTS)]}", Value.of(f"d{seed}")
        self._tidy = seed // len(LAYOUTS) % 2 == 1
        self._conflicts: list[Conflict] = []
        self._before: bytes = self._document()
        desk.other.writing.create(self.ns, self._before, self.id)
        self.panel = EditorPanel(desk.session, self.ns, self.id)
        self.panel.conflict_found.connect(self._conflicts.append)
        self.panel.resize(1100, self.random.choice((320, 400, 700)))
        self.panel.tree.viewport().setUpdatesEnabled(False)  # to paint takes most of a walk
        self.panel.show()
        self.panel.activateWindow()
        self.ways: Sequence[tuple[int, Callable[[], str]]] = (
            (5, self._go), (8, self._type), (5, self._elsewhere), (2, self._step), (1, self._save)
        )  # fmt: skip

    def run(self, actions: int = ACTIONS) -> Walk:
        """Make the walk; it ends with the first text that is astray."""
        try:
            self._settle()
            self.panel.tree.setFocus()
            for _ in range(actions):
                way = self.random.choices([way for _, way in self.ways], [weight for weight, _ in self.ways])[0]
                self.walk.done.append(way())
                self.walk.wrong += self._troubles
                self._troubles.clear()
                if self.walk.wrong:
                    break
        except Exception as error:  # of the walker itself: the other walks go on
            self.walk.wrong.append(f"{type(error).__name__}: {error} {where(error)}")
        self.panel.tree.give_up()
        self.panel.discard()
        self._settle()
        self.panel.close()
        self.panel.deleteLater()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        return self.walk

    def _settle(self) -> None:
        end, rounds = time.monotonic() + PATIENCE, 0
        while rounds < 2 and time.monotonic() < end:
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            rounds = 0 if tasks.tasks.running else rounds + 1
            time.sleep(0.001)

    # --- the document

    def _new(self) -> str:
        self._drawn += 1
        return f"x{self._drawn}"

    def _value(self, depth: int = 0) -> Value:
        """A value of some kind; no two texts of a walk are alike."""
        kind = self.random.choice(("text", "text", "number", "long", "object", "list", "list of objects"))
        if kind in ("text", "number", "long") or depth > 1:
            made = {"number": Value.of(10_000 + self._drawn), "long": Value.of(10**12 + self._drawn)}
            return made.get(kind) or Value.of(self._new())
        if kind == "list":
            return canonical.array(Value.of(self._new()) for _ in range(self.random.randint(1, 5)))
        if kind == "object":
            return Value(OBJECT, self._fields(self.random.randint(1, 4), depth + 1))
        return canonical.array(
            Value(OBJECT, canonical.document([("_id", Value.of(n)), ("code", Value.of(self._new()))]))
            for n in range(self.random.randint(1, 4))
        )

    def _fields(self, count: int, depth: int) -> bytes:
        names = self.random.sample(NAMES, count)
        return canonical.document([(name, self._value(depth)) for name in names])

    def _document(self) -> bytes:
        return self._fields(self.random.randint(4, 10), 0)

    # --- what the person does

    def _go(self) -> str:
        """Go to another row by key or by mouse, and open or close what is on the way."""
        tree, model = self.panel.tree, self.panel.model
        if self.random.random() < 0.5 and model.rowCount():
            index = model.index(self.random.randrange(model.rowCount()), VALUE)
            if index.isValid() and self.random.random() < 0.5:
                tree.setExpanded(index.siblingAtColumn(0), True)
                if below := model.rowCount(index.siblingAtColumn(0)):
                    index = model.index(self.random.randrange(below), VALUE, index.siblingAtColumn(0))
            tree.scrollTo(index)
            QTest.mouseClick(
                tree.viewport(),
                Qt.MouseButton.LeftButton,
                Qt.KeyboardModifier.NoModifier,
                tree.visualRect(index).center(),
            )
        else:
            for _ in range(self.random.randint(1, 6)):
                QTest.keyClick(tree, self.random.choice(MOVES))
        return f"go to {self._chosen}"

    @property
    def _chosen(self) -> Path:
        node = self.panel.model.node(self.panel.tree.currentIndex())
        return self.panel.model.path(node) if node is not None else ()

    def _type(self) -> str:
        """Type at the chosen row, mostly while the other program writes, and look where the text is then."""
        panel, tree = self.panel, self.panel.tree
        node = panel.model.node(tree.currentIndex())
        path = self._chosen
        can = node is not None and node.kind == "field" and node.value.type in TYPED and tree.may_edit
        if node is not None and node.kind == "field" and not can and not node.value.is_container:
            return self._go()
        if tree.currentIndex().column() == FIELD:
            tree.setCurrentIndex(tree.currentIndex().siblingAtColumn(VALUE))
        is_number = node is not None and node.value.type != STRING
        typed = str(70_000 + self._drawn) if is_number else f"typed-{self._drawn}"
        self._drawn += 1
        draft, was_dirty = panel.content, panel.is_dirty
        at = self.random.choice((-1, 0, 0, 0, 2, len(typed)))
        wrote = ""
        for number, letter in enumerate(typed):
            if number == at:
                wrote = self._write_elsewhere(settle=self.random.random() < 0.6)
            QTest.keyClicks(tree.editor.widget or tree, letter)
            if self.random.random() < 0.2:
                QCoreApplication.processEvents()
        if at == len(typed):
            wrote = self._write_elsewhere(settle=True)
        if isinstance(tree.editor.widget, QLineEdit):
            QTest.keyClick(tree.editor.widget, Qt.Key.Key_Return)
        refused = tree.has_editor
        if refused:  # another kind of value is there by now
            tree.give_up()
        self._settle()
        self._judge(path, typed, draft, must=can and (was_dirty or not wrote or at > 0))
        if self._tidy:  # an editor without an edit follows the database, and the cursor with it
            panel.discard()
            self._settle()
        return f"type {typed} at {path}" + (f" while the other program has {wrote}" if wrote else "")

    def _judge(self, path: Path, typed: str, draft: bytes, must: bool) -> None:
        """Compare where the text is with where it may be: in the field that the person saw."""
        content = self.panel.content
        found = [at for at, value in _leaves(Value(OBJECT, content)) if str(value.python()) == typed]
        seen = canonical.get(draft, path) if path else None
        # Where nothing else is another than the person saw it, the text is where it was typed.
        as_seen = seen is not None and path in found and canonical.put(content, path, seen) == draft
        in_list = any(isinstance(step, int) for step in path)
        allowed = [path] if path and (must or as_seen or not in_list) else []
        if not must and seen is not None and (now := _followed(draft, self._before, path)):
            allowed.append(now)
        if len(found) > 1 or any(at not in allowed for at in found):
            self.walk.wrong.append(f"{typed}, typed at {path}, is at {found}")
        elif must and not found:
            self.walk.wrong.append(f"{typed}, typed at {path}, is nowhere")
        elif found:
            rest = [
                canonical.put(each, at, Value.of(""))
                for each in (draft, self._before, content)
                for at in found
                if canonical.get(each, at) is not None
            ]
            if rest[-1] not in rest[:-1]:
                self.walk.wrong.append(f"{typed}, typed at {path}, changed more than that field")

    def _step(self) -> str:
        """Change the structure oneself: remove, add, duplicate, move, undo, redo, or discard it all."""
        panel, tree = self.panel, self.panel.tree
        what = self.random.choice(("remove", "duplicate", "up", "down", "undo", "redo", "undo", "discard"))
        if what in ("undo", "redo", "discard"):
            getattr(panel, what)()
        elif (node := panel.model.node(tree.currentIndex())) is not None:
            tree.key_asked.emit(node, what)
        self._settle()
        return what

    def _save(self) -> str:
        """Save, and answer where the other program was faster."""
        self.panel.save()
        self._settle()
        said = "save"
        while self._conflicts:
            conflict = self._conflicts.pop()
            gone = ("create_again", "discard")
            choice = self.random.choice(gone if conflict.theirs is None else ("take", "overwrite", "discard"))
            self.panel.act_on(conflict, choice)
            self._settle()
            said += f", {choice}"
        with suppress(NotFound, Refused):
            self._before = self._desk.other.history.version(self.ns, self.id).content or canonical.EMPTY
        return said

    # --- what the other program does

    def _elsewhere(self) -> str:
        """The other program writes, and the editor is told."""
        return f"the other program has {self._write_elsewhere(settle=True)}"

    def _shape(self) -> tuple[object, ...]:
        """What a person sees of the tree: its rows, those that are open, the chosen one, and how far it is scrolled.

        In a view that is higher by now, as the words above it have changed, it may be scrolled otherwise.
        """
        tree, model = self.panel.tree, self.panel.model
        rows, index = [], model.index(0, 0)
        while index.isValid():
            node = model.node(index)
            assert node is not None
            rows.append((model.path(node), tree.isExpanded(index)))
            index = tree.indexBelow(index)
        place = tree.verticalScrollBar().value()
        return rows, self._chosen, self.panel.content, place, tree.viewport().height()

    def _write_elsewhere(self, settle: bool) -> str:
        kinds: dict[str, Callable[[bytes], bytes]] = {
            "added a field": self._added,
            "removed a field": self._removed,
            "removed some fields": lambda content: self._removed(self._removed(content)),
            "renamed a field": self._renamed,
            "reordered the fields": self._reordered,
            "retyped a field": self._retyped,
            "changed a field": self._changed,
            "changed a list": self._list_changed,
            "replaced the document": lambda _: self._document(),
        }
        kind = self.random.choice((*kinds, "added a field", "removed a field", "deleted the document"))
        before = self._shape() if settle and self.panel.is_dirty else None
        writing, ns, id, made = self._desk.other.writing, self.ns, self.id, self._before
        try:
            there = self._desk.other.history.version(ns, id)
        except NotFound:
            kind, made = "created the document again", self._document()
            outcome = writing.create(ns, made, id)
        else:
            if kind == "deleted the document":
                outcome = writing.delete(ns, id, there)
            else:
                made = kinds[kind](there.content or canonical.EMPTY)
                outcome = writing.save(ns, id, there, made)
        if outcome.kind == "applied":
            self._before = made
        self.panel.follow()
        if settle:
            self._settle()
        if before is not None:
            after = self._shape()
            seen = slice(None if after[-1] == before[-1] else -2)
            differ = [(was, now) for was, now in zip(before[seen], after[seen], strict=True) if was != now]
            self.walk.wrong += [f"below the cursor of an edit, {was} became {now}" for was, now in differ]
        return f"{kind} ({outcome.kind})"

    def _container(self, content: bytes) -> Path:
        """The document itself, or an object in it."""
        there = [(name,) for name, value in canonical.fields(content) if value.type == OBJECT]
        return self.random.choice([(), (), *there])

    def _pairs(self, content: bytes, change: Callable[[list[tuple[str, Value]]], object]) -> bytes:
        path = self._container(content)
        inner = content if not path else canonical.get(content, path)
        pairs = canonical.fields(inner if isinstance(inner, bytes) else inner.data) if inner is not None else []
        change(pairs)
        made = canonical.document(pairs)
        return made if not path else canonical.put(content, path, Value(OBJECT, made))

    def _added(self, content: bytes) -> bytes:
        def change(pairs: list[tuple[str, Value]]) -> None:
            free = [name for name in (*NAMES, "more") if name not in dict(pairs)]
            if free:
                pairs.insert(self.random.randint(0, len(pairs)), (free[0], self._value(1)))

        return self._pairs(content, change)

    def _removed(self, content: bytes) -> bytes:
        def change(pairs: list[tuple[str, Value]]) -> None:
            if len(pairs) > 1:
                pairs.pop(self.random.randrange(len(pairs)))

        return self._pairs(content, change)

    def _renamed(self, content: bytes) -> bytes:
        def change(pairs: list[tuple[str, Value]]) -> None:
            free = [name for name in NAMES if name not in dict(pairs)]
            if pairs and free:
                at = self.random.randrange(len(pairs))
                pairs[at] = free[0], pairs[at][1]

        return self._pairs(content, change)

    def _reordered(self, content: bytes) -> bytes:
        return self._pairs(content, self.random.shuffle)

    def _retyped(self, content: bytes) -> bytes:
        return self._pairs(content, partial(self._another, same=False))

    def _changed(self, content: bytes) -> bytes:
        return self._pairs(content, partial(self._another, same=True))

    def _another(self, pairs: list[tuple[str, Value]], same: bool) -> None:
        if pairs:
            at = self.random.randrange(len(pairs))
            name, value = pairs[at]
            pairs[at] = name, Value.of(self._new()) if same == (value.type == STRING) else Value.of(self._drawn)

    def _list_changed(self, content: bytes) -> bytes:
        lists = [(name, value) for name, value in canonical.fields(content) if value.type == ARRAY]
        if not lists:
            return self._added(content)
        name, value = self.random.choice(lists)
        items = canonical.items(value)
        what = self.random.choice(("in front", "behind", "less", "turned"))
        if what == "in front":
            items.insert(0, Value.of(self._new()))
        elif what == "behind":
            items.append(Value.of(self._new()))
        elif what == "less" and items:
            items.pop(self.random.randrange(len(items)))
        else:
            items.reverse()
        return canonical.put(content, (name,), canonical.array(items))


def _leaves(value: Value, path: Path = ()) -> Iterator[tuple[Path, Value]]:
    if not value.is_container:
        yield path, value
        return
    inside = enumerate(canonical.items(value)) if value.type == ARRAY else canonical.fields(value.data)
    for step, each in inside:
        yield from _leaves(each, (*path, step))


def _followed(before: bytes, after: bytes, path: Path) -> Path | None:
    """Where a field of one content is in another: fields are known by name, elements by value, ``_id`` or place."""
    made: Path = ()
    was, now = Value(OBJECT, before), Value(OBJECT, after)
    for step in path:
        if not now.is_container or now.type != was.type:
            return None
        if isinstance(step, int):
            old, new = canonical.items(was), canonical.items(now)
            at = _place(old[step], new)
            if at is None and len(old) == len(new) and old[step] not in new:
                at = step
            if at is None:
                return None
            was, now, made = old[step], new[at], (*made, at)
        else:
            old_field, new_field = canonical.get(was.data, (step,)), canonical.get(now.data, (step,))
            if old_field is None or new_field is None:
                return None
            was, now, made = old_field, new_field, (*made, step)
    return made


def _place(element: Value, there: Sequence[Value]) -> int | None:
    if element in there:
        return there.index(element)
    ids = [canonical.get(each.data, ("_id",)) if each.type == OBJECT else None for each in there]
    own = canonical.get(element.data, ("_id",)) if element.type == OBJECT else None
    return ids.index(own) if own is not None and own in ids else None


# --- editors that are wrong on purpose


def _by_row(old: Sequence[FieldNode], new: Sequence[FieldEntry], by_value: bool, renamed: bool) -> list[int | None]:
    return [at if at < len(old) else None for at in range(len(new))]


def _below_the_cursor(panel: EditorPanel, loaded: editor_panel._Loaded) -> None:
    _LOADED(panel, loaded)
    panel._show_locked(loaded.opened)


_LOADED = EditorPanel._loaded

FAULTS = {
    "rows": partial(patch.object, field_model, "rows_kept", _by_row),
    "below": partial(patch.object, EditorPanel, "_loaded", _below_the_cursor),
}
"""An editor that keeps the cursor by row, and one that reads the layout's own fields anew below an edit."""


@contextmanager
def typing_desk(troubles: list[str], fault: str = "") -> Iterator[Desk]:
    """A desk for walks, with an editor that has one of ``FAULTS`` where one is named."""
    with ExitStack() as stack:
        if fault:
            stack.enter_context(FAULTS[fault]())
        yield Desk(stack)
        tasks.tasks.stop_all()


def type_all(asked: tuple[list[int], str]) -> list[Walk]:
    """Make the walks of some seeds at one desk."""
    seeds, fault = asked
    with living() as troubles, typing_desk(troubles, fault) as desk:
        return [Typist(desk, seed, troubles).run() for seed in seeds]


__all__ = ["FAULTS", "Desk", "Typist", "Walk", "type_all", "typing_desk"]
