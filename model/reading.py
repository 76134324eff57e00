"""What a session reads: the collections of a source, their documents, and these over all their versions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path as FilePath

from model.catalogue import Catalogue, Comparison
from model.history import following
from model.history.chain import Bisection, Blame, Chain, bisect
from model.layouts import registry
from model.records import Checkpoint, CollectionInfo, Outline, Page, Version, no_checkpoint
from model.text.row_file import Written, write_rows
from model.values import canonical
from model.values.canonical import Value


class Reading:
    """The half of a session that writes nothing; methods may wait for the server and raise ``Refused``."""

    _catalogue: Catalogue

    def databases(self) -> list[str]:
        """The databases this user may see, without the server's own."""
        return self._catalogue.databases()

    def collections(self, db: str | None = None, checkpoint: Checkpoint = no_checkpoint) -> Iterator[CollectionInfo]:
        """Each collection of one database, or of all, with the layout recognised or stated for it."""
        return self._catalogue.collections(db, checkpoint)

    def info(self, ns: str) -> CollectionInfo:
        """One collection, from what is already known where possible; raises ``NotFound``."""
        return self._catalogue.info(ns)

    @property
    def layouts(self) -> dict[str, str]:
        """The layouts and patterns that a collection can be read as, each with what it is in a few words."""
        return {name: registry.declared(name).about for name in registry.NAMES}

    @property
    def histories(self) -> dict[str, str]:
        """The layouts that a collection can be moved to, each with what it is in a few words."""
        return {name: each.about for name, each in registry.LAYOUTS.items()}

    def set_layout(self, ns: str, name: str) -> CollectionInfo:
        """Use another layout for a collection from now on, as ``--layout`` does; an unknown one is ``Refused``."""
        return self._catalogue.set_layout(ns, name)

    def documents(
        self,
        ns: str,
        filter: str = "",
        sort: str = "",
        fields: str = "",
        skip: int = 0,
        limit: int = 50,
        any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> Page:
        """A page of current documents; filter, sort and fields as people type them (see ``model.text.loose``).

        The filter looks at current versions, or with ``any_version`` at earlier ones too.
        """
        return self._catalogue.page(ns, filter, sort, fields, skip, limit, any_version, checkpoint)

    def count(self, ns: str, filter: str = "", any_version: bool = False, max_ms: int = 5000) -> tuple[int | None, str]:
        """How many documents match, given more time than a page gives it; else None and why it is not known."""
        return self._catalogue.count(ns, filter, any_version, max_ms)

    def export(
        self, ns: str, path: str, filter: str = "", sort: str = "", any_version: bool = False,
        checkpoint: Checkpoint = no_checkpoint,
    ) -> Written:  # fmt: skip
        """Write every document that :meth:`documents` would list to a file; see ``model.text.row_file.write_rows``."""
        total, _ = self.count(ns, filter, any_version)
        return write_rows(self._catalogue.rows(ns, filter, sort, any_version), FilePath(path), total, checkpoint)

    def outlines(self, ns: str, ids: Sequence[Value], checkpoint: Checkpoint = no_checkpoint) -> Iterator[Outline]:
        """The histories in miniature of some documents, as they become known."""
        for done, outline in enumerate(self._catalogue.layout(ns).outline(ids), 1):
            checkpoint(done, len(ids))
            yield outline

    def find_id(self, ns: str, text: str) -> Value:
        """The stored id that a person means by a text: plain where only one matches, else Extended JSON.

        Raises ``NotFound``, or ``Refused`` with the ids that match.
        """
        return self._catalogue.layout(ns).find_id(text)

    def history(
        self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint, changed: bool = True
    ) -> Iterator[Version]:
        """The versions of a document, newest first, one for each missing number too.

        With ``changed`` each version says how many fields differ from the one before it. Raises ``NotFound``.
        """
        return self._catalogue.history(ns, id, changed, checkpoint)

    def find_version(self, ns: str, id: Value, text: str) -> Value:
        """The version of a document that a person means: ``7``, ``v7``, a hash, Extended JSON. Raises ``NotFound``."""
        return self._catalogue.find_version(ns, id, text)

    def version(self, ns: str, id: Value, v: Value | None = None) -> Version:
        """One version with content and stored document; the current one where ``v`` is None. Raises ``NotFound``."""
        return self._catalogue.layout(ns).version(id, v)

    def compare(self, ns: str, id: Value, v: Value | None, w: Value | None) -> Comparison:
        """Two versions and the difference from the first to the second; None is the current one."""
        return self._catalogue.compare(ns, id, v, w)

    def chain(
        self,
        ns: str,
        id: Value,
        checkpoint: Checkpoint = no_checkpoint,
        partial: Callable[[Chain], None] | None = None,
        keys: Sequence[str] | None = None,
    ) -> Chain:
        """Each field of a document over all its versions: what set it, when, and by whom.

        ``partial`` is given now and then what is known so far, newest versions first. ``keys`` are the fields by which
        elements of arrays are recognised, the profile's where they are left out. Raises ``NotFound``.
        """
        steps = following.RepeatedCheckpoint(checkpoint)
        return following.follow(self._contents(ns, id, steps), partial, self._keys(ns, keys), steps.again)

    def blame(
        self, ns: str, id: Value, checkpoint: Checkpoint = no_checkpoint, keys: Sequence[str] | None = None
    ) -> tuple[Blame, ...]:
        """Each field of the current version with the version that last set it.

        Reading stops as soon as that is known of all of them. Raises ``NotFound``, and ``Unreadable`` where the
        current version has no fields that could be followed.
        """
        steps = following.RepeatedCheckpoint(checkpoint)
        return following.blamed(self._contents(ns, id, steps), self._keys(ns, keys), steps.again)

    def bisect(self, ns: str, id: Value, filter: str, checkpoint: Checkpoint = no_checkpoint) -> Bisection:
        """The versions at which a condition turns: a filter as typed, judged on the content of each version.

        Raises ``NotFound``, ``Unreadable`` for a filter that is no document and ``Refused`` for one not understood.
        """
        return bisect(self._contents(ns, id, checkpoint), following.condition(filter))

    def _keys(self, ns: str, keys: Sequence[str] | None) -> Sequence[str]:
        return self._catalogue.layout(ns).profile.keys if keys is None else keys

    def _contents(self, ns: str, id: Value, checkpoint: Checkpoint) -> Iterator[Version]:
        """The versions newest first, with their contents, one at a time."""
        total: int | None = None
        for done, version in enumerate(self._catalogue.layout(ns).history(id, contents=True), 1):
            if done == 1 and version.v is not None and version.v.type in (canonical.INT32, canonical.INT64):
                total = int(version.v.python())
            checkpoint(done, total if total is not None and total >= done else None)
            yield version
