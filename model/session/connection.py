"""The objects that all parts of one open session share."""

from __future__ import annotations

import uuid
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from msgspec.structs import replace

from model.catalogue.catalogue import Catalogue
from model.catalogue.kept_recognition import KeptRecognition
from model.errors import Unreadable
from model.foundation.records import Version
from model.session.sources import SAMPLE, Source
from model.session.trust import Trust
from model.session.unread_dump import UnreadDump
from model.storage.composite_ids import CompositeIds, stored
from model.userdata import folders
from model.values import canonical
from model.values.canonical import Value

if TYPE_CHECKING:  # a command that only reads needs none of them
    from model.catalogue.kept_verdicts import KeptVerdicts
    from model.checks.damage_tally import KnownClass
    from model.layouts.base import Layout
    from model.profile import Profile
    from model.storage.kept_states import StateFiles
    from model.userdata.journal import Journal
    from model.writing.writer import Writer


class Connection:
    """An open source with its catalogue, journal and writer."""

    name: str
    """A short name for people."""

    def __init__(self, opened: Source, profile: Profile | None, home: FilePath | None) -> None:
        """``home`` is the folder for journal and drafts."""
        self._lifetime = uuid.uuid4().hex if opened.is_local else ""
        self.opened, self.server = opened, opened.server
        self.source, self.name = opened.text, opened.name
        self.is_sample = opened.text == SAMPLE
        self.data = f"{opened.text} {self._lifetime}".rstrip()
        self.home = home
        self.port = CompositeIds(opened.server, lambda ns: self.catalogue.profile_of_ids(ns))
        kept = KeptRecognition(folders.kept_again(home), opened.server.loaded) if self.is_sample else None
        verdicts = None if opened.is_local else _verdicts(home, opened.text)
        states = None if opened.is_local else _states(home, opened.text)
        self.catalogue = Catalogue(
            opened.server, self.port, profile, opened.text, opened.database, kept, _class_of, verdicts, states
        )
        self.trust = Trust(opened, self.catalogue, home, lambda: self.name)
        self.dump = UnreadDump(opened, self.catalogue)

    @cached_property
    def journal(self) -> Journal:
        """What was written from this computer."""
        from model.userdata.journal import Journal

        return Journal(self.home, self._lifetime)

    @cached_property
    def writer(self) -> Writer:
        """The gateway of all writes; replaced when a person gives a name or a reason."""
        from model.writing.writer import Writer

        return Writer(self.catalogue, self.port, self.journal, self.opened.text, _user(), self.data)

    def close(self) -> None:
        """Close the source and the journal; a second call does nothing."""
        self.opened.close()
        if "journal" in vars(self):
            self.journal.close()

    def because(self, reason: str) -> Writer:
        """A writer whose writes record why, if their layout has a field for that."""
        return replace(self.writer, reason=reason.strip()) if reason.strip() else self.writer

    def aside(self, ns: str) -> Layout:
        """A collection's layout for long reads, from secondary members if the server's address asks for them."""
        return self.catalogue.layout_over(ns, self.port.aside())

    def id_of(self, ns: str, id: Value | object) -> Value:
        """The stored id that a text, a ``Value`` or a Python object means; raises ``NotFound`` for a text."""
        return self.catalogue.layout(ns).find_id(id) if isinstance(id, str) else value_of(id)

    def shown(self, layout: Layout, version: Version) -> bytes:
        """A version with the layout's own fields, as people see it; of a damaged one the stored bytes."""
        raw, content = version.raw, version.content
        if raw is None:
            return content or b""
        try:
            if version.current or content is None:
                return stored(self.port, layout.ns, layout.document(raw))
            # In layouts that keep older versions inside, the content may be one field among others.
            names = {name for name, _ in canonical.fields(content)}
            own = [
                (name, value)
                for name, value in canonical.fields(raw)
                if name in layout.locked and name not in names and (name == "_id" or not value.is_container)
            ]
            return stored(self.port, layout.ns, canonical.document([*own, *canonical.fields(content)]))
        except Unreadable:
            return raw


def _verdicts(home: FilePath | None, source: str) -> KeptVerdicts:
    from model.catalogue.kept_verdicts import KeptVerdicts

    return KeptVerdicts(folders.kept_again(home), source)


def _states(home: FilePath | None, source: str) -> StateFiles:
    from model.catalogue.kept_recognition import name_for
    from model.storage.kept_states import StateFiles

    return StateFiles(folders.kept_again(home), source, name_for)


def value_of(value: object) -> Value:
    """A ``Value`` unchanged, or a Python object as BSON."""
    return value if isinstance(value, Value) else Value.of(value)


def _user() -> str | None:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None


def _class_of(code: str) -> KnownClass:
    """The class of damage that has a code; the table is read only if something was found."""
    from model.repair.damage_classes import class_of

    return class_of(code)
