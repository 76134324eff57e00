"""The content of a source: its collections with their layouts.

Recognition reads a whole database, so its result is kept. A layout stated in a profile, or picked by a person, comes
first. All methods may be called from several threads.
"""

from __future__ import annotations

import datetime as dt
import math
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from msgspec.structs import replace

from model.catalogue.collection_reading import CollectionReading, changed
from model.catalogue.kept_recognition import KeptRecognition
from model.errors import NotFound, Refused, Unreachable
from model.foundation.collection_profile import CollectionProfile
from model.foundation.late_module import LateModule
from model.foundation.records import Checkpoint, CollectionInfo, Row, Version, no_checkpoint
from model.layouts.layout_names import STANDING_LAYOUTS
from model.layouts.registry import bind, declared, fields_of, info_of, versions_told
from model.server.retry import Port, Server
from model.storage.composite_ids import CompositeIds
from model.text.names import split
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.catalogue import kept_verdicts, recognise, verdict
    from model.catalogue.kept_verdicts import KeptVerdict, KeptVerdicts
    from model.catalogue.offers import Offer
    from model.checks.damage_tally import ClassOf
    from model.layouts.base import Layout
    from model.profile import Profile
    from model.recognition import sampling
    from model.recognition.sampling import Sample
    from model.storage.kept_states import StateFiles
else:  # what is kept of earlier runs needs none of them
    kept_verdicts = LateModule("model.catalogue.kept_verdicts")
    recognise = LateModule("model.catalogue.recognise")
    sampling = LateModule("model.recognition.sampling")
    verdict = LateModule("model.catalogue.verdict")

T = TypeVar("T")
Listing: TypeAlias = Sequence[tuple[str, str, dict[str, Any], str]]
"""Name, type, options and UUID of each collection of a database."""
BY_HAND = "a layout that was stated by hand"
LATELY = 5.0
"""For this many seconds, kept states are taken for those of a collection without asking again for its UUID."""


class Catalogue:
    """The collections of one server, with the layout of each."""

    database: str
    """The database to use if none is named; "" for all that this user may see."""

    def __init__(
        self,
        server: Server,
        port: Port,
        profile: Profile | None,
        source: str,
        database: str = "",
        kept: KeptRecognition | None = None,
        class_of: ClassOf | None = None,
        verdicts: KeptVerdicts | None = None,
        states: StateFiles | None = None,
    ) -> None:
        """``class_of`` tells a class of damage by its code; without it no damage speaks against a layout.

        ``kept`` holds the recognition of earlier runs, if the source stays the same between starts; ``verdicts`` those
        on the collections of a server, ``states`` those of long histories of deltas there."""
        self._server, self._port, self._profile, self._source = server, port, profile, source
        self.database = database
        self._kept, self._class_of, self._verdicts, self.states = kept, class_of, verdicts, states
        # The window asks from several threads. It is never held while the server is asked, which may take a minute.
        self._lock = threading.RLock()
        self._known: dict[str, tuple[CollectionInfo, CollectionProfile]] = {}
        self._uncounted: set[str] = set()  # those of them whose documents are counted when they are shown
        self._picked: dict[str, tuple[CollectionInfo, CollectionProfile]] = {}
        self._accepted: frozenset[str] = frozenset()  # "" for all
        self._by_hand: frozenset[str] = frozenset()  # stated in the session's profile but not in its file
        self._picked_names: dict[str, str] = {}  # the layouts that were picked by name
        self._bound: dict[str, Layout] = {}
        self._supposed: dict[str, KeptVerdict] = {}  # verdicts in use that no sample has earned in this session
        self._keeping: dict[str, tuple[KeptVerdict, Listing]] = {}  # as they are kept, supposed ones or earned here
        self._held: set[str] = set()  # those of them that a document read has borne out
        self._listed: dict[str, tuple[float, Listing]] = {}  # the collections of databases, and when they were listed
        self._damaged: dict[str, str] = {}  # what scans found to speak against a recognised layout; "": nothing

    def databases(self) -> list[str]:
        """The databases this user may see, without the server's own; a single one if the session is limited to it."""
        return [self.database] if self.database else self._server.databases()

    def named(self, db: str) -> list[CollectionInfo]:
        """The collections of a database as they were recognised last, if they are the same; nothing is claimed by that.

        Else by name alone: their layouts are "" until they are recognised. How far archives and feeds have come is not
        said here.
        """
        if self._kept is not None and self._profile is None and (found := self._kept.left(db)):
            with self._lock:
                for info, profile in found:
                    self._known.setdefault(info.ns, (info, profile))  # it is of these very documents
            return [info for info, _ in found]
        listed = self._listing(db)
        left = {} if self._verdicts is None else self._verdicts.left(db, self._beside(db, listed), self._statements)
        names = [f"{db}.{name}" for name, *_ in listed]
        return [left.get(ns) or CollectionInfo(ns, "", {}, None, 0.0, "") for ns in names]

    @property
    def unseen(self) -> Mapping[str, str]:
        """Why this user cannot see databases (key ""), a database's collections, or a collection's documents."""
        with self._lock:
            unread = {ns: info.why for ns, (info, _) in self._known.items() if _may_not_be_read(info)}
        return {**self._server.unseen, **unread}

    def collections(self, db: str | None = None, checkpoint: Checkpoint = no_checkpoint) -> Iterator[CollectionInfo]:
        """Each collection with its layout, recognised anew."""
        return self._collections(db, checkpoint, None)

    def _collections(
        self, db: str | None, checkpoint: Checkpoint, earned: recognise.Earned | None
    ) -> Iterator[CollectionInfo]:
        names = [db] if db is not None else self.databases()
        wanted, there = db or self.database, False
        for name in names:
            by = self._profile
            left: list[CollectionInfo] = []
            told: list[KeptVerdict] = []
            listed = None if self._verdicts is None or earned is not None else self._listing(name)
            telling = earned if listed is None else _adder(told)
            for found_info, profile in self._recognised(name, by, checkpoint, telling, listed):
                there = True
                info = self._with_grounds(found_info)
                left.append(replace(info, documents=None))
                with self._lock:
                    # Meanwhile another thread may have stated a layout that this recognition did not know.
                    self._supposed.pop(info.ns, None)
                    self._keeping.pop(info.ns, None)
                    if by is self._profile and self._known.get(info.ns) != (info, profile):
                        self._known[info.ns] = (info, profile)
                        self._damaged.pop(info.ns, None)
                        self._uncounted.discard(info.ns)
                        self._bound.pop(info.ns, None)
                    picked = self._picked.get(info.ns)
                found = info if picked is None else replace(picked[0], documents=info.documents)
                yield replace(found, why=" ".join(filter(None, (found.why, self._standing(found)))))
            if self._verdicts is not None and listed and by is self._profile:
                beside = self._beside(name, listed)
                self._verdicts.keep(told, beside, self._statements)
                self._verdicts.leave(name, left, beside, self._statements)
        if wanted and not there:
            # Its collections were requested, not the list of databases, which many users may not read.
            raise NotFound(f"There is no database {wanted} in {self._source}; check its name.")

    def _recognised(
        self,
        db: str,
        by: Profile | None,
        checkpoint: Checkpoint,
        earned: recognise.Earned | None,
        listed: Listing | None,
    ) -> Iterator[tuple[CollectionInfo, CollectionProfile]]:
        beside = [each[:3] for each in listed] if listed else None

        def look() -> Iterator[tuple[CollectionInfo, CollectionProfile]]:
            return recognise.recognise(self._port, db, by, checkpoint, self._server.unseen, earned, beside)

        return look() if self._kept is None or by is not None else self._kept.all_of(db, look)

    def _with_grounds(self, info: CollectionInfo) -> CollectionInfo:
        is_by_hand = info.ns in self._by_hand and info.belongs_to is None
        return replace(info, why="Stated by hand, and in no profile yet.") if is_by_hand else info

    def _standing(self, info: CollectionInfo) -> str:
        """How far the archive or feed has come, in the layout's words; "" for an archive's own collection."""
        try:
            asked = info.layout in STANDING_LAYOUTS and not info.belongs_to
            return self.layout(info.ns).standing if asked else ""
        except Refused:
            return ""

    def info(self, ns: str) -> CollectionInfo:
        """One collection; raises ``NotFound``."""
        info, _ = self.known(ns)
        with self._lock:
            is_counted = ns not in self._uncounted
            self._uncounted.discard(ns)
        return info if is_counted else self._counted(info)

    def _counted(self, info: CollectionInfo) -> CollectionInfo:
        documents = sampling.counted(self._port, info.ns)
        with self._lock:
            for kept in (self._known, self._picked):
                if (known := kept.get(info.ns)) is not None:
                    kept[info.ns] = replace(known[0], documents=documents), known[1]
        return replace(info, documents=documents)

    def offers(self, places: Iterable[str], step: Checkpoint = no_checkpoint) -> Iterator[Offer]:
        """Readings of collections for which nothing is claimed, that replay what can be checked.

        Nothing is read or written by an offer until a person states it.
        """
        from model.catalogue.offers import Offers

        looking, free = Offers(self._port), dict[str, list[str]]()
        for ns in places:
            info, _ = self.known(ns)
            if not info.unversioned or self.is_stated(ns) or self.is_picked(ns):
                continue
            db, _ = split(ns)
            if db not in free:
                free[db] = list(self._free(db))
            others = [] if info.doubt else [each for each in free[db] if each != ns]
            if (made := looking.of(ns, others, step)) is not None:
                yield made

    def _free(self, db: str) -> Iterator[str]:
        """The collections of a database that are no part of a history that is claimed."""
        for name, kind, _ in self._port.collections(db):
            if kind == "collection" and not name.startswith("system."):
                info, _ = self.known(f"{db}.{name}")
                if info.belongs_to is None and (info.confidence < verdict.SURE or not versions_told(info.layout)):
                    yield info.ns

    def is_stated(self, ns: str) -> bool:
        """Whether a profile states the layout of a collection."""
        profile = self._profile
        return profile is not None and profile.get(ns) is not None

    def is_picked(self, ns: str) -> bool:
        """Whether a person picked a layout for a collection by name."""
        with self._lock:
            return ns in self._picked

    def fed(self) -> list[str]:
        """The collections for which the profile states a layout with a feed."""
        return [each.ns for each in self._profile.collections if declared(each.layout).fed] if self._profile else []

    def watched(self, places: Sequence[str] = ()) -> list[str]:
        """The collections with watched conditions in the profile, among ``places`` (collections or databases)."""
        named = places or ([self.database] if self.database else [])
        stated = self._profile.collections if self._profile else ()
        return [
            each.ns
            for each in stated
            if each.watches and (not named or {each.ns, each.ns.partition(".")[0]} & {*named})
        ]

    def is_watched(self, ns: str) -> bool:
        """Whether the profile states watched conditions for a collection."""
        return bool(self.watched([ns]))

    def known(self, ns: str) -> tuple[CollectionInfo, CollectionProfile]:
        """A collection and its profile, as recognised before if possible."""
        with self._lock:
            found = self._picked.get(ns) or self._known.get(ns)
        return found or self._look_at(ns)

    def _look_at(
        self, ns: str, listed: Listing | None = None, seen: Version | None = None
    ) -> tuple[CollectionInfo, CollectionProfile]:
        """A collection, recognised now; the verdict is kept if ``listed``, the collections beside it, is known."""
        db, _ = split(ns)
        stated = self._profile.get(ns) if self._profile else None
        told: list[KeptVerdict] = []
        if stated is not None:
            earned = None if listed is None else _adder(told)
            info, profile = recognise.as_stated(self._port, stated, earned=earned, counts=listed is None)
            self._keep(told, listed, ns, seen)
            if info.documents is None:
                self._uncounted.add(ns)
            with self._lock:
                # The first answer stays: two threads may have asked at once, and both must get one profile.
                return self._known.setdefault(ns, (self._with_grounds(info), profile))
        by = self._profile
        beside = None if listed is None else [each[:3] for each in listed]

        def look() -> tuple[CollectionInfo, CollectionProfile] | None:
            told_of = self._server.unseen, self._uncounted.add, _adder(told)
            return recognise.recognise_one(self._port, ns, by, *told_of, beside)

        if self._kept is None or by is not None:
            made = look()
        elif (made := self._kept.one(ns, look)) is not None and made[0].documents is None:
            self._uncounted.add(ns)  # it was kept without a count
        if made is None:
            # Nothing less tells: what it is depends on collections that only a look at all of them finds.
            for _ in self._collections(db, no_checkpoint, _adder(told)):
                pass
        self._keep(told, listed, ns, seen)
        with self._lock:
            if made is not None and by is self._profile:
                self._known.setdefault(ns, (self._with_grounds(made[0]), made[1]))
            found = self._known.get(ns)
        if found is None and by is not self._profile:
            return self._look_at(ns, listed, seen)  # a layout was stated meanwhile, and everything is recognised anew
        if found is None:
            if left_out := self.unseen.get(db):
                next(iter(self._port.find(ns, limit=1)), None)  # if it is refused, that is usually the reason
                raise NotFound(f"No collection {ns} can be seen in {self._source}. {left_out}")
            raise NotFound(
                f"There is no collection {ns} in {self._source}; `palimpsest collections` lists what is there."
            )
        return found

    def set_layout(self, ns: str, name: str) -> CollectionInfo:
        """Use another layout for a collection from now on."""
        info, known = self.known(ns)
        profile = recognise.profile_for(self._port, info, name)
        if known.guard is not None and known.guard.how:  # a person may have stated it
            profile = replace(profile, guard=known.guard)
        profile = replace(profile, watches=known.watches)
        others = tuple(dict.fromkeys((*info.alternatives, info.layout)))
        likely = tuple(other for other in others if other != name)
        made = info_of(profile, info.documents, 1.0, "Picked by hand.", likely)
        picked = replace(made, ns=ns, belongs_to=info.belongs_to)
        with self._lock:
            self._picked[ns] = (picked, profile)
            self._picked_names[ns] = name
            self._bound.pop(ns, None)
        return picked

    def state_guard(self, ns: str, how: str) -> CollectionInfo:
        """State how another program's lock field moves; raises ``Refused`` if there is none."""
        info, profile = self.known(ns)
        if profile.guard is None:
            raise Refused(f"{ns} has no field that looks like the lock of another program.")
        profile = replace(profile, guard=replace(profile.guard, how=how))
        made = replace(info, fields=fields_of(profile))
        with self._lock:
            self._picked[ns] = (made, profile)
            self._bound.pop(ns, None)
        return made

    def profile_of_ids(self, ns: str) -> CollectionProfile | None:
        """The profile by which the ids of a collection are read, as far as it is known already."""
        with self._lock:
            known = self._picked.get(ns) or self._known.get(ns)
            stated = self._profile.get(ns) if self._profile else None
        return stated or (known[1] if known else None)

    def accept(self, ns: str = "") -> None:
        """Allow writes by the profile of a collection ("": of all) that the data refute, as a person insists."""
        with self._lock:
            self._accepted |= {ns}

    # --- verdicts of earlier runs, held against what is read

    def is_borne_out(self, ns: str) -> bool:
        """Whether a document that was read has borne out the verdict of an earlier run."""
        with self._lock:
            return ns in self._held

    def fits_rows(self, ns: str, rows: Iterable[Row]) -> bool:
        """Whether listed documents bear out the verdict of an earlier run on their collection, if that is used."""
        with self._lock:
            supposed = self._supposed.get(ns)
        return supposed is None or supposed.provisional or all(map(supposed.fits_row, rows))

    def agrees(self, ns: str, version: Version) -> bool:
        """Whether a version that was read bears out the layout by which it was read.

        If not, the layout is recognised anew before this returns; True if it turns out to be the same.
        """
        with self._lock:
            supposed = self._supposed.get(ns)
            known = self._known.get(ns)
        stored = None if supposed is None else kept_verdicts.stored_in(version, supposed.profile)
        if supposed is None or known is None or stored is None:
            return True
        if not supposed.provisional:
            if supposed.fits(version):
                self._held.add(ns)
                return True
            self.look_again(ns, version)
            return self.known(ns)[1] == known[1]
        if supposed.profile.archive and not version.current:
            return True
        document = sampling.read(stored)
        made = recognise.as_read(supposed.profile, document) if document is not None else None
        with self._lock:
            is_first = ns not in self._held
            self._held.add(ns)
        if made is not None and (made == known[1] or (made == supposed.profile and not is_first)):
            return True  # as before, or without the write token that another document bears
        if made is None or not is_first:
            self.look_again(ns, version)
            return self.known(ns)[1] == known[1]
        with self._lock:
            self._known[ns] = known[0], made
            self._bound.pop(ns, None)
        return False

    def suppose(self, ns: str) -> None:
        """Read a collection by the verdict of an earlier run, if there is one that a sample has earned."""
        if self.is_supposed(ns):
            self.ready_to_write(ns)

    def is_supposed(self, ns: str) -> bool:
        """Whether a collection is read by a verdict that no sample has earned in this session."""
        with self._lock:
            if ns in self._picked or ns in self._known or self._verdicts is None:
                return ns in self._supposed and ns not in self._picked
        db = split(ns)[0]
        listed = self._listing(db)
        stated = self._profile.get(ns) if self._profile else None
        kept = self._verdicts.get(ns, self._beside(db, listed), self._statements)
        # Of a collection that is not there nothing can be read, and a look at it says so.
        if kept is None and stated is not None and any(each[0] == split(ns)[1] for each in listed):
            kept = kept_verdicts.KeptVerdict(info_of(stated, None, 1.0, recognise.STATED), stated, provisional=True)
        if kept is None:
            self._look_at(ns, listed)
            return False
        with self._lock:
            if ns in self._known:
                return ns in self._supposed
            self._supposed[ns], self._known[ns] = kept, (self._with_grounds(kept.info), kept.profile)
            self._uncounted.add(ns)
            if not kept.provisional:
                self._keeping[ns] = kept, listed
        if isinstance(self._port, CompositeIds):
            self._port.recall_indexes(kept.indexes)
        return True

    def look_again(self, ns: str, seen: Version | None = None) -> None:
        """Forget the verdict of an earlier run on a collection, and recognise it anew; nothing if there is none.

        ``seen`` is a version that did not bear it out, and need not be in the sample that earns it again.
        """
        with self._lock:
            supposed = self._supposed.pop(ns, None)
            self._held.discard(ns)
            self._keeping.pop(ns, None)
            if supposed is None:
                return
            self._known.pop(ns, None)
            self._bound.pop(ns, None)
            self._damaged.pop(ns, None)
        db = split(ns)[0]
        listed = self._listing(db)
        if self._verdicts is not None and not supposed.provisional:
            self._verdicts.drop(ns, self._beside(db, listed), self._statements)
        self._look_at(ns, listed, seen)

    def ready_to_write(self, ns: str) -> None:
        """Hold a profile's statement on a collection against a sample, as a write needs it; kept for a day."""
        with self._lock:
            supposed = self._supposed.get(ns)
        if supposed is not None and supposed.provisional:
            self.look_again(ns)

    def _is_borne_out(self, ns: str, base: Version | None) -> bool:
        """Whether a write over a version that was read may rely on the layout; it is recognised anew if not."""
        with self._lock:
            supposed, known = self._supposed.get(ns), self._known.get(ns)
        if supposed is None or known is None:
            return True
        held = base is not None and base.raw is not None and base.current
        if held and base is not None and supposed.told and not supposed.provisional and supposed.fits(base):
            return True
        self.look_again(ns, base)
        return self.known(ns)[1] == known[1]

    def _listing(self, db: str) -> Listing:
        try:
            listed = self._server.listing(db)
            if isinstance(self._port, CompositeIds):
                self._port.note_options(db, listed)
            self._listed[db] = time.monotonic(), listed
            return listed
        except Unreachable:
            raise
        except Refused:
            return []

    def _uuid(self, ns: str) -> str:
        """The UUID of a collection, as of some seconds ago; "" if this user is not told it."""
        db, name = split(ns)
        at, listed = self._listed.get(db, (-math.inf, ()))
        if time.monotonic() - at > LATELY:
            listed = self._listing(db)
        return next((uuid for each, _, uuid in self._beside(db, listed) if each == name), "")

    def forget_states(self, ns: str, id: Value) -> int:
        """Throw away the states that are kept of a document; returns how many files held some."""
        return self.states.forget(ns, id) if self.states is not None else 0

    def _beside(self, db: str, listed: Listing) -> list[tuple[str, str, str]]:
        """The collections to which a kept verdict belongs; [] if this user may not list them, so that none is kept."""
        hidden = db in self._server.unseen
        return [] if hidden else [(name, kind, uuid) for name, kind, _, uuid in listed]

    @property
    def _statements(self) -> Sequence[CollectionProfile]:
        return self._profile.collections if self._profile else ()

    def _keep(self, told: Sequence[KeptVerdict], listed: Listing | None, ns: str, seen: Version | None) -> None:
        if self._verdicts is None or listed is None:
            return
        if seen is not None:
            told = [each.widened(seen) if each.info.ns == ns else each for each in told]
        self._verdicts.keep(told, self._beside(split(ns)[0], listed), self._statements)
        with self._lock:
            self._keeping.update({each.info.ns: (each, listed) for each in told if each.info.ns == ns})

    def keep_learned(self, ns: str) -> None:
        """Keep what a write has found out about a collection whose verdict is kept, for the next run."""
        with self._lock:
            kept, layout = self._keeping.get(ns), self._bound.get(ns)
            undamaged = self._damaged.get(ns) == "" or (kept is not None and kept[0].undamaged)
        if kept is None or layout is None or self._verdicts is None:
            return
        known, listed = kept
        made = replace(known, undamaged=undamaged, proven=layout.proven or known.proven)
        if isinstance(self._port, CompositeIds):
            now = self._port.listed_indexes(list(filter(None, (ns, known.profile.archive))))
            if any(at - known.indexes.get(each, (0.0, []))[0] > 1 for each, (at, _) in now.items()):
                made = replace(made, indexes=now)
        if made != known:
            self._keeping[ns] = made, listed
            self._verdicts.keep([made], self._beside(split(ns)[0], listed), self._statements)

    def objection(self, ns: str, base: Version | None = None) -> str:
        """Why nothing is written to a collection with its layout, in one or two sentences; "" if writing is fine.

        This is the one verdict for edits, restores, inserts, repairs, imports, migrations and all else that writes. A
        layout stated in this session was stated with the contradictions in view, so it is not questioned again. A
        verdict of an earlier run serves only a write over ``base``, a version that bears it out.
        """
        if not self._is_borne_out(ns, base):
            return changed(ns)
        doubt = self.doubt(ns)
        if not doubt:
            return ""
        if self.is_stated(ns):
            return f"{doubt} So the profile does not fit, and nothing is written by it without --yes-layout."
        info, profile = self.known(ns)
        if info.doubt:
            return f"{doubt} So nothing is written there until a profile or --layout states one of them."
        if profile.token_doubt:
            return (
                f'{doubt} So nothing is written there until a profile states token = "_w", or token = "" if it is none.'
            )
        if info.belongs_to:
            return f"{doubt} So its rows are only read, unless --layout plain is given."
        return (
            f'{doubt} So nothing is written there until a profile states layout = "{info.layout}" or another one for '
            "it, or --layout does."
        )

    def doubt(self, ns: str) -> str:
        """What speaks against writing to a collection by its layout, one sentence; "" if nothing does.

        For a recognised layout that is its own doubt, a low confidence, or the same damage in many documents.
        """
        with self._lock:
            if ns in self._by_hand or ns in self._accepted or "" in self._accepted:
                return ""
        try:
            info, profile = self.known(ns)
        except NotFound:
            return ""  # it will be made by the first write
        # In order of cost: the last question reads a sample of documents, and is asked only if nothing else objects.
        if info.doubt or self.is_stated(ns) or info.confidence == 1.0:
            return info.doubt
        if info.belongs_to:
            return self._doubt_of_rows(info, info.belongs_to)
        if profile.token_doubt:
            return profile.token_doubt
        if profile.hash_doubt:
            return ""  # its layout refuses every write with better reason
        if said := verdict.unsure(info):
            return said
        return self._damage(info, profile)

    def _doubt_of_rows(self, info: CollectionInfo, of: str) -> str:
        """What speaks against writing to the rows of a history: another program keeps them, or they may not be one."""
        if not self.layout(of).written_by_others:
            return self.doubt(of)
        who = info.writer or "the application"
        return f"{info.ns} holds the history of {of.partition('.')[2]}, which {who} writes."

    def judge(self, ns: str, damage: str) -> None:
        """Keep what a whole scan found to speak against a recognised layout, one sentence; "" if nothing does."""
        with self._lock:
            self._damaged[ns] = damage

    def _damage(self, info: CollectionInfo, profile: CollectionProfile) -> str:
        """What a scan found or would probably find against a layout; looked for once."""
        with self._lock:
            if info.ns in self._damaged:
                return self._damaged[info.ns]
            if (supposed := self._supposed.get(info.ns)) is not None and supposed.undamaged:
                return ""
        if self._class_of is None or not verdict.is_judged(info):
            return ""
        check, now = self.layout(info.ns).check, dt.datetime.now(dt.UTC)
        try:
            found = verdict.damage_in_some(self._port, info, check, profile.id, now, self._class_of)
        except Unreachable:
            return ""  # the write will meet that as well, and this is looked for again
        except Refused:
            found = ""  # it takes too long to tell
        with self._lock:
            return self._damaged.setdefault(info.ns, found)

    def stated_for(self, ns: str) -> CollectionProfile | None:
        """The profile's statement on a collection, which need not exist yet."""
        return self._profile.get(ns) if self._profile else None

    def hold(self, profile: CollectionProfile, why: str) -> None:
        """Use this profile for a collection from now on; later recognition does not change it."""
        info = info_of(profile, None, 1.0, why)
        with self._lock:
            self._picked[profile.ns] = (info, profile)
            self._picked_names.pop(profile.ns, None)
            self._bound.pop(profile.ns, None)

    @property
    def profile_file(self) -> FilePath | None:
        """The file of the profile in use; None if there is none."""
        return self._profile.file if self._profile is not None else None

    def state(self, profile: CollectionProfile) -> CollectionInfo:
        """Use this profile for a collection from now on, as if the session's profile stated it."""
        with self._lock:
            before = self._profile or _nothing_stated()
            others = tuple(each for each in before.collections if each.ns != profile.ns)
            self._use(replace(before, collections=(*others, profile)), self._by_hand | {profile.ns})
        return self.info(profile.ns)

    def forget(self, ns: str) -> CollectionInfo:
        """Leave a collection to recognition again, whatever was stated or picked."""
        with self._lock:
            before = self._profile or _nothing_stated()
            others = tuple(each for each in before.collections if each.ns != ns)
            self._use(replace(before, collections=others), self._by_hand - {ns})
            self._picked.pop(ns, None)
            self._picked_names.pop(ns, None)
        return self.info(ns)

    def lookups(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The fields by which a document's versions are looked up, each with its collection."""
        for info in list(self.collections()):
            profile = self.known(info.ns)[1]
            if profile.id != "_id" and profile.version:
                yield profile.ns, (profile.id, profile.version)
            if profile.archive and profile.archive_id:
                yield profile.archive, tuple(filter(None, (profile.archive_id, profile.version)))

    def look_anew(self) -> None:
        """Forget what was recognised, because there are more documents now."""
        with self._lock:
            # Everything, not only what is new: more documents can also contradict what few of them suggested.
            self._known.clear()
            self._supposed.clear()
            self._keeping.clear()
            self._damaged.clear()
            self._bound.clear()

    def adopt(self, profile: Profile, ns: str) -> None:
        """Use this profile, to which ``ns`` was just saved; other statements of this session still override it."""
        with self._lock:
            by_hand = self._by_hand - {ns}
            kept = [each for each in self._profile.collections if each.ns in by_hand] if self._profile else []
            others = (each for each in profile.collections if each.ns not in by_hand)
            self._use(replace(profile, collections=(*kept, *others)), by_hand)

    def _use(self, profile: Profile, by_hand: frozenset[str]) -> None:
        self._profile, self._by_hand = profile, by_hand
        self._known.clear()  # a recognised collection may now be the archive of another
        self._supposed.clear()
        self._keeping.clear()
        self._damaged.clear()
        self._bound.clear()
        for each in profile.collections:
            self._picked.pop(each.ns, None)
            self._picked_names.pop(each.ns, None)

    def asked_for(self, ns: str) -> str:
        """The command line option that makes a collection read as it is, ``--layout NAME`` or ``--profile FILE``.

        :data:`BY_HAND` if no option does that; "" if it is read as recognised.
        """
        with self._lock:
            if ns in self._picked:
                return f"--layout {self._picked_names[ns]}" if ns in self._picked_names else ""
            if ns in self._by_hand:
                return BY_HAND
            stated = self._profile is not None and self._profile.get(ns) is not None
            import shlex

            return f"--profile {shlex.quote(str(self.profile_file))}" if stated and self.profile_file else ""

    def layout(self, ns: str) -> Layout:
        """The layout of a collection, bound to the server."""
        with self._lock:
            bound = self._bound.get(ns)
        while bound is None:
            found = self.known(ns)
            # Not under the lock, for which the window's thread may wait: it may import the layout.
            made = bind(self._port, found[1])
            with self._lock:
                _, profile = self._picked.get(ns) or self._known.get(ns) or found
                if profile != found[1]:
                    continue  # meanwhile another thread recognised or picked another layout, which must stay
                bound = self._bound.setdefault(ns, made)
                if (supposed := self._supposed.get(ns)) is not None and supposed.proven is not None:
                    bound.proven_before = supposed.proven
                if self.states is not None and bound.holds_changes:
                    bound.kept_states = self.states.of(ns, partial(self._uuid, ns), repr(profile))
        return bound

    def with_versions(self, places: Sequence[str]) -> list[str]:
        """The collections that keep earlier versions, among ``places`` (collections or databases), or all.

        Raises ``Refused`` for a named collection that keeps none.
        """
        found: list[str] = []
        for place in places or self.databases():
            if "." not in place:
                found += [info.ns for info in self.collections(place) if _keeps_versions(info)]
            elif _keeps_versions(info := self.info(place)):
                found.append(place)
            elif info.belongs_to:
                raise Refused(f"{place} holds versions of {info.belongs_to}; name that collection.")
            else:
                raise Refused(f"{place} is taken for {info.layout}, which keeps no earlier versions.")
        return found

    @cached_property
    def reading(self) -> CollectionReading:
        """Documents and versions, read through the layouts."""
        return CollectionReading(self)

    def layout_over(self, ns: str, port: Port) -> Layout:
        """The layout of a collection, bound to another port."""
        layout = self.layout(ns)
        return layout if port is self._port else bind(port, layout.profile)

    def begun(self, ns: str) -> Layout:
        """The layout of a collection that does not exist yet: plain, until there are documents to recognise."""
        split(ns)
        return bind(self._port, CollectionProfile(ns))


def _nothing_stated() -> Profile:
    from model.profile import Profile

    return Profile()


def _adder(told: list[KeptVerdict]) -> recognise.Earned:
    """Adds the verdicts that may be kept to a list."""

    def add(info: CollectionInfo, profile: CollectionProfile, sample: Sample | None, rows: Sample | None) -> None:
        if (made := kept_verdicts.earned(info, profile, sample, rows)) is not None:
            told.append(made)

    return add


def _may_not_be_read(info: CollectionInfo) -> bool:
    """Whether a collection is listed although this user may not read it; its ``why`` names the privilege."""
    return info.confidence == 0.0 and info.documents is None


def _keeps_versions(info: CollectionInfo) -> bool:
    return info.keeps_history and not info.about_others
