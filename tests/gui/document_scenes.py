"""A session with one document, real drafts and real merges, whose writes can be made to fail."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from model import text
from model.errors import NotFound
from model.foundation.collection_profile import CollectionProfile
from model.foundation.records import EDIT_IN_DOUBT, Draft, Opened, Outcome, Sending, Version
from model.layouts.base import Layout
from model.session import Session
from model.userdata.drafts import Drafts
from model.values import canonical
from model.values.canonical import Value
from model.writing import edit
from model.writing.edit import Conflict

NS = "insurance.contracts"
ID = Value.of("K-204117")

OPENED = text.loose(
    """{
    status: "active", product: "Household Plus",
    holder: {customerId: ObjectId("65f0a1c29b1e8a0012c4d7aa"), name: "Marta Lindqvist", birth: ISODate("1984-06-02"),
        phone: "+49 40 555 0117", email: "m.lindqvist@example.org", address: {street: "Elbchaussee 96", zip: "22763"}},
    period: {from: ISODate("2024-03-31T22:00:00Z"), to: ISODate("2027-03-31T22:00:00Z"), renews: true},
    premium: {net: NumberDecimal("438.60"), tax: NumberDecimal("83.33"), gross: NumberDecimal("521.93")},
    deductible: {$numberDouble: "150.0"},
    billing: {method: "sepa", iban: "DE02 1203 0000 0000 2020 51", interval: "yearly", count: NumberLong("7")},
    riders: [{_id: 1, code: "GLASS", premium: NumberDecimal("18.40")}, {_id: 2, code: "BIKE"}],
    notes: "Roof redone 2019. Call ahead.", tags: ["household", "paperless"]
}"""
)


def put(content: bytes, **values: object) -> bytes:
    """The content with fields set; two underscores are a dot."""
    for name, value in values.items():
        content = canonical.put(content, tuple(name.split("__")), Value.of(value))
    return content


def decimal(said: str) -> Value:
    """A Decimal128."""
    return text.parsed(said, "Decimal128")


MINE = canonical.put(
    put(OPENED, billing__interval="quarterly", notes="Roof redone 2024. Call ahead."),
    ("deductible",),
    decimal("250.00"),
)
"""The edit in the pictures."""


def theirs(content: bytes) -> bytes:
    """What the colleague in the pictures made of it."""
    made = canonical.put(put(content, billing__interval="monthly"), ("deductible",), decimal("150.00"))
    made = put(made, holder__phone="+49 40 555 0192")
    rider = canonical.document([("_id", Value.of(3)), ("code", Value.of("FLOOD")), ("premium", decimal("36.20"))])
    return canonical.put(made, ("riders", 2), Value.document(rider))


class Desk:
    """See the module's docstring. ``answers`` are given, first to last, in place of the next writes."""

    source = "desk:"
    name = "desk"
    is_sample = False

    def __init__(self, home: Path, content: bytes = OPENED, v: int = 12) -> None:
        self.drafts = Drafts(home)
        self.read_only = False
        self.content: bytes | None = content
        self.v = v
        self.author: str | None = None
        self.answers: list[Outcome | Exception] = []
        self.sent: list[tuple[str, bytes]] = []
        self.missing: str | None = None
        self.writable = True
        self.reason = "This document does not decode, so it cannot be written."
        self.left: list[Version] = []  # the versions of the deleted document
        self.created: list[tuple[bytes, Value | None]] = []
        self.settles: list[Outcome] = []
        self.history: Any = self
        self.writing: Any = self
        self.indexes: Any = SimpleNamespace(missing=lambda ns: self.missing, create=self._create_index)
        self.authorship: Any = self
        self.way_back: Any = self
        self.trust: Any = self

    def as_session(self) -> Session:
        """Itself, as what the panels take."""
        return cast(Session, self)

    def move(self, change: Callable[[bytes], bytes], by: int = 1) -> None:
        """Someone else saves."""
        assert self.content is not None
        self.content = change(self.content)
        self.v += by

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """What is in the database."""
        if self.content is None:
            raise NotFound("K-204117 is not in insurance.contracts.")
        at = dt.datetime(2026, 11, 20, 9, 12, tzinfo=dt.UTC)
        size, digest = len(self.content), canonical.hash_of(self.content)
        return Version(
            Value.of(self.v),
            at,
            self.author,
            "document",
            "present",
            True,
            digest,
            size,
            content=self.content,
            raw=self.content,
        )

    def open(self, ns: str, id: Value) -> Opened:
        """The same for editing."""
        base = self.version(ns, id)
        locked = [("_id", ID), ("v", Value.of(self.v))]
        behind = [("_w", Value.of("token"))]
        document = canonical.document([*locked, *canonical.fields(base.content or b""), *behind])
        reason = "" if self.writable else self.reason
        return Opened(ns, id, base, ("_id", "v", "_w"), self.writable, reason, document)

    def _create_index(self, ns: str) -> Outcome:
        """Nothing is missing any more."""
        self.missing = None
        return Outcome("applied", ns, None, "The index is there.")

    def preview(self, ns: str, id: Value, base: Version, content: bytes, reason: str = "") -> Sending:
        """Some code that names the content's size."""
        size = len(content)
        guard = "The swap applies only if v is still 12."
        return Sending(f"contracts.update_one({size})", f"db.contracts.updateOne({size})", guard)

    def save(
        self, ns: str, id: Value, base: Version, content: bytes, action: str = "edit", reason: str = ""
    ) -> Outcome:
        """A compare-and-swap on version and content."""
        self.sent.append((action, content))
        if self.answers:
            answer = self.answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        if self.content is None or (base.v, base.content) != (Value.of(self.v), self.content):
            return Outcome("conflict", ns, id, "It changed since it was read.")
        self.content, self.v = content, self.v + 1
        return Outcome("applied", ns, id, f"Saved as v{self.v}.", version=Value.of(self.v), entry="1")

    def conflict(self, ns: str, id: Value, base: Version, mine: bytes, known: Version | None = None) -> Conflict:
        """What the model says of it."""
        return edit.conflict(cast(Layout, _Bound(self)), id, base, mine, known)

    def create(
        self, ns: str, content: bytes, id: Value | None = None, reason: str = "", known: Version | None = None
    ) -> Outcome:
        """A new document; under the old id it takes the place of one that was deleted."""
        self.created.append((content, id))
        if id is not None:
            if self.content is not None:
                return Outcome("refused", ns, id, "The id is taken.")
            self.content, self.v = content, 1
        return Outcome("applied", ns, id or Value.of("new"), "Created.", version=Value.of(1))

    def settle(self, outcome: Outcome) -> Outcome:
        """The next of ``settles``."""
        return self.settles.pop(0) if self.settles else outcome

    def draft(self) -> Draft | None:
        """The draft that is kept on disk."""
        return self.drafts.get(self.source, NS, ID)


class _Bound:
    profile = CollectionProfile(NS)
    takes_reason = False
    read_only = ""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def version(self, id: Value, v: Value | None = None) -> Version:
        return self._desk.version(NS, id, v)

    def history(self, id: Value) -> list[Version]:
        return self._desk.left

    def follows(self, id: Value, base: Version) -> Version | None:
        return self._desk.left[0] if self._desk.left else None

    def ended_at(self, id: Value, v: Value) -> dt.datetime | None:
        return None


LOST = "The connection was lost after the write was sent."
UNKNOWN = Outcome("unknown", NS, ID, f"{EDIT_IN_DOUBT} {LOST}", token="691f0a4e")


def shown(qtbot: QtBot, widget: QWidget, width: int = 1168, height: int = 795) -> None:
    """Show a panel as the active window."""
    qtbot.addWidget(widget)
    widget.resize(width, height)
    widget.show()
    widget.activateWindow()
    qtbot.waitUntil(lambda: QApplication.activeWindow() is widget)
