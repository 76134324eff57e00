"""Whether anything may be written to a source, judged by its connection, server and profiles."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import suppress
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING

from model.catalogue.catalogue import Catalogue
from model.errors import NotAllowed, NotFound, Refused
from model.foundation.checkpoints import Checkpoint, no_checkpoint
from model.foundation.guarantee import EVERY, Guarantee, WriteKind
from model.layouts.registry import writes_of
from model.session.sources import Source

if TYPE_CHECKING:  # most sessions never measure
    from model.guarantees.server_verdicts import Measured, ServerVerdicts


class Trust:
    """Measurements of the server, and whether writing is allowed."""

    def __init__(self, opened: Source, catalogue: Catalogue, home: FilePath | None, name: Callable[[], str]) -> None:
        """``home`` is the folder of verdicts and saved connections, ``name`` returns the source's name for people."""
        self._opened, self._catalogue, self._home, self._name = opened, catalogue, home, name
        self._scratch = ""
        self.barred = ""
        """Why this user may write nothing, one sentence; "" until :meth:`look_at_rights` finds that."""

    @cached_property
    def _verdicts(self) -> ServerVerdicts:
        from model.guarantees.server_verdicts import ServerVerdicts

        return ServerVerdicts(self._home)

    @property
    def _version(self) -> str:
        facts = self._opened.server.facts()
        return facts.version if facts.engine == "MongoDB" else facts.program

    @property
    def read_only(self) -> bool:
        """Whether writing raises ``NotAllowed``; settable, but a dump always stays read-only."""
        return self._opened.server.read_only

    @read_only.setter
    def read_only(self, value: bool) -> None:
        self._opened.server.read_only = value or bool(self._opened.fixed or self.barred)

    def look_at_rights(self) -> None:
        """Make the source read-only if this user may write nothing in it, by the privileges that the server reports."""
        if not self._opened.is_local and not self._opened.server.may_write():
            self.barred = "This user may only read: no privilege allows insert, update or remove."
            self.read_only = True

    def is_production(self) -> bool:
        """Whether a person has marked this connection as production."""
        if self._opened.is_local:
            return False
        from model.userdata.connections import Connections

        return any(saved.production and saved.uri == self._opened.text for saved in Connections(self._home).all())

    @property
    def scratch(self) -> str:
        """The name of the scratch database that the next check will create and drop."""
        from model.guarantees.scratch import scratch_name

        self._scratch = self._scratch or scratch_name()
        return self._scratch

    def check(self, quick: bool = False, checkpoint: Checkpoint = no_checkpoint) -> Iterator[Guarantee]:
        """Measure the server's guarantees in the database :attr:`scratch`, and keep the verdict.

        A check that was stopped after an unsafe finding is kept too. Raises ``NotAllowed`` in a read-only session,
        and for a user who may not write to a database of its own.
        """
        from model.guarantees import check

        found: list[Guarantee] = []
        database, self._scratch = self.scratch, ""
        try:
            for each in check(self._opened.server, quick, checkpoint, database):
                found.append(each)
                yield each
        except BaseException:
            if not self._opened.is_local and any(each.verdict == "unsafe" for each in found):
                with suppress(Refused):  # the error that ended the check matters more
                    self._verdicts.keep(self._opened.text, self._version, found)
            raise
        if not self._opened.is_local:
            self._verdicts.keep(self._opened.text, self._version, found)

    @property
    def measured(self) -> Measured | None:
        """The last measurement of this source; None if there is none, or if the server's version has changed since."""
        return None if self._opened.is_local else self._verdicts.measured(self._opened.text, self._version)

    def allow_unsafe(self, allowed: bool) -> None:
        """Allow edits on this connection although its server is unsafe, or forbid them again."""
        self._verdicts.allow(self._opened.text, self._version, allowed)

    def _writes(self, ns: str) -> Set[WriteKind]:
        """The kinds of writes that an edit in a collection sends; every kind if its layout is not known."""
        try:
            return writes_of(self._catalogue.known(ns)[1])
        except NotFound:  # the first write makes it
            return EVERY

    def why_read_only(self, ns: str = "", writes: Set[WriteKind] = frozenset()) -> str:
        """Why something may not be written to this source, one or two sentences; "" if it may.

        It is an edit in a collection, and ``writes`` besides; without either, a write of any kind.
        """
        if self._opened.fixed or self.barred:
            return self._opened.fixed or self.barred
        name = self._name()
        known = None if self._opened.is_local else self._verdicts.lately(self._opened.text, self._version)
        if known is not None and known.unsafe and not known.allowed:
            asked = (self._writes(ns) if ns else frozenset()) | writes or EVERY
            if unsafe := known.refuses(asked):
                return (
                    f"Editing on {name} is refused, as its server is unsafe: {unsafe} To edit all the same, "
                    "allow it for this connection (palimpsest check SOURCE --allow-edits)."
                )
        return f"{name} is open read-only; to edit, reconnect and allow writes." if self.read_only else ""

    def check_server(self, *names: str, writes: Set[WriteKind] = frozenset()) -> None:
        """Raise ``NotAllowed`` if the source may not be written, or its server is unsafe for edits in collections.

        ``writes`` are further kinds of writes; without either, it is every kind.
        """
        for ns in names or ("",):
            if ns:
                self._catalogue.ready_to_write(ns)
            if reason := self.why_read_only(ns, writes):
                raise NotAllowed(reason)

    def check_allowed(self, *names: str, writes: Set[WriteKind] = frozenset()) -> None:
        """Raise as :meth:`check_server` does, or if collections may not be written because of their profiles."""
        self.check_server(*names, writes=writes)
        for ns in names:
            if reason := self._catalogue.objection(ns):
                raise Refused(reason)
