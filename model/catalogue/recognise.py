"""Recognises layouts: a proposal for each collection from samples and indexes; a person decides.

A collection is a history's second half, one of a pair, documents with their own past, documents that are versions,
documents with their hash, a pattern, or plain. These are tried in this order and the first that fits is proposed.
Collections stated in a profile are not examined.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from model.catalogue import near_collections
from model.catalogue.contradictions import fits_roles, refuted
from model.catalogue.find_writers import signed, written
from model.catalogue.lock_history import strays
from model.catalogue.offers import of_keyed_rows
from model.catalogue.several_writers import parts_of, several_writers
from model.catalogue.verdict import SURE
from model.errors import NotAllowed, Refused, Unreadable
from model.foundation.collection_profile import CollectionProfile, LockField
from model.foundation.records import Checkpoint, CollectionInfo, Version, no_checkpoint
from model.layouts.base import Layout
from model.layouts.log import Log
from model.layouts.plain import Plain
from model.layouts.registry import LAYOUTS, bind, declared, fields_of, has_archive, info_of, stated, versions_told
from model.recognition import find_embedded, find_logs, find_version_documents
from model.recognition.field_names import is_version_name
from model.recognition.find_archives import is_past, is_past_of, pair
from model.recognition.keys_in_ids import paths_in_id
from model.recognition.lock_fields import with_lock
from model.recognition.metadata_fields import TOKEN, token_doubt, usual_token
from model.recognition.patterns import PATTERNS, Pattern, tokens_in
from model.recognition.sampling import (
    SAMPLE_BYTES,
    Beginning,
    Document,
    Proposal,
    Sample,
    beginnings,
    counted,
    gently,
    listed,
    matching,
    share,
    take,
)
from model.recognition.small_collections import SmallCollections
from model.server.port import Listed
from model.server.retry import Port
from model.storage import overflow_archive
from model.storage.reserved_fields import number_of
from model.values import canonical as c
from model.values.canonical import Value
from model.writers.writers import presets, title
from model.writers.written_rows import WrittenRows

__all__ = ["LAYOUTS", "as_stated", "bind", "profile_for", "recognise", "recognise_one"]


class Stated(Protocol):
    """The profiles of some collections, as a file states them."""

    @property
    def collections(self) -> Sequence[CollectionProfile]: ...


Earned: TypeAlias = Callable[[CollectionInfo, CollectionProfile, Sample | None, Sample | None], object]
"""Told of each layout, with the samples of its collection and of its archive by which it was earned."""

UNSURE = "That is not sure enough to write by it."
SEALS_TRIED = 5  # documents whose hash may show whether it covers the author
TOKENS_ASKED = 40  # tokens to test whether they are ids of something
BEGUN_TOGETHER = 60  # collections of a database whose first documents are read in one command
SETTLED = 0.8  # the confidence in a history found by its name that makes a further search unnecessary


class _Found(Struct, frozen=True):
    """A collection that was examined."""

    ns: str
    kind: str
    sample: Sample | None
    trouble: str = ""


def recognise(
    server: Port,
    db: str,
    profile: Stated | None = None,
    checkpoint: Checkpoint = no_checkpoint,
    unseen: Mapping[str, str] | None = None,
    earned: Earned | None = None,
    listed: Listed | None = None,
) -> Iterator[tuple[CollectionInfo, CollectionProfile]]:
    """Each collection of a database with its layout; a layout stated in the profile is taken as it is.

    An archive is listed with ``belongs_to``, and with a profile for browsing its rows. Raises ``Unreachable`` and
    ``NotAllowed``; an unreadable collection is listed with the reason. ``unseen`` says, under a database's name,
    which collections its list omits; ``listed`` are its collections, if they were just asked for.
    """
    ground = _Ground(server, db, profile, unseen, earned=earned, listed=listed)
    # Twice, because every collection is read before any is judged: one may be another's history.
    steps = _Steps(checkpoint, 2 * len(ground.kinds))
    places = list(ground.kinds)
    for at, ns in enumerate(places):
        if at % BEGUN_TOGETHER == 0:
            begun = ground.beginnings(places[at : at + BEGUN_TOGETHER])
        steps.next()
        ground.look(ns, begun.get(ns))
    ground.relate()
    for ns in ground.kinds:
        steps.next()
        yield ground.judged(ns)


def recognise_one(
    server: Port,
    ns: str,
    profile: Stated | None = None,
    unseen: Mapping[str, str] | None = None,
    uncounted: Callable[[str], object] | None = None,
    earned: Earned | None = None,
    listed: Listed | None = None,
) -> tuple[CollectionInfo, CollectionProfile] | None:
    """One collection with its layout, as :func:`recognise` finds it, by reading only related collections.

    ``listed`` are the collections of its database, if they were just asked for.

    None if it does not exist, or if all collections must be read to tell. If ``uncounted`` is given, it is told of a
    large collection instead of counting it. Raises ``Unreachable`` and ``NotAllowed``.
    """
    ground = _Ground(server, ns.partition(".")[0], profile, unseen, uncounted, earned, listed)
    if ns not in ground.kinds:
        return None
    # Nothing about others can change what these are, so no other collection is read.
    if ns in ground.stated or ns in ground.claimed or ground.kinds[ns] != "collection":
        ground.look(ns)
        return ground.judged(ns)
    made = _by_those_near(ground, ns)
    return None if made is not None and made[0].doubt else made  # a doubtful one is judged among all others


def _by_those_near(ground: _Ground, ns: str) -> tuple[CollectionInfo, CollectionProfile] | None:
    """One collection, judged from those named as its history and those related by a glimpse."""
    open_to_look = ground.open_names()
    named = near_collections.named_near(ns.partition(".")[2], open_to_look)
    if named is None:
        return None
    begun = [ns, *map(ground.ns_of, named)]
    others = sorted(each for each in map(ground.ns_of, open_to_look) if each not in begun)
    seen = near_collections.glimpses(ground.server, begun, () if named else others, ground.share)
    if seen is None:
        return None
    ground.look_at(seen)
    first = seen.begun[ns].rows
    if named:  # a collection that is named as its history, and is it, ends the search
        ground.relate()
        if ground.is_settled(ns):
            return ground.judged(ns)
        if (seen := near_collections.glimpses(ground.server, (), others, ground.share)) is None:
            return None
    return _by_those_referred(ground, ns, seen, first, begun)


def _by_those_referred(
    ground: _Ground, ns: str, seen: near_collections.Glimpses, first: Sequence[bytes], begun: Sequence[str]
) -> tuple[CollectionInfo, CollectionProfile] | None:
    """One collection, by those that name its documents or are called after them; ``first`` are its first rows."""
    sample = ground.found[ns].sample
    assert sample is not None
    if any(signed(sample, known) for known in presets().values()):
        return None  # the rows of a known program, whose documents may be anywhere
    if (told := near_collections.those_named(ground.server, sample, seen, first)) is None:
        return None
    elsewhere, here = told
    near = {*near_collections.related(sample, seen, elsewhere, here)}
    near |= {*map(ground.ns_of, near_collections.named_after_documents(sample, ground.open_names()))} - {*begun}
    if near and (more := near_collections.glimpses(ground.server, sorted(near), (), ground.share)) is not None:
        ground.look_at(more)
    for each in sorted(near):
        ground.look(each)
    ground.relate()
    if ns in ground.claimed:
        of = ground.claimed[ns].ns.partition(".")[2]
        histories = map(ground.ns_of, near_collections.named_near(of, ground.open_names()) or ())
        if {*histories} - {ns, *ground.found}:
            return None  # what it seems to be the history of may have another one, by its name
    made = ground.judged(ns)
    # A token that is an id somewhere else is a reference, and then the shortcut has seen too little.
    referred = {row.get("_id") for each, rows in elsewhere.items() if each not in near for row in rows}
    return None if referred & {*_write_tokens(sample, made[1])} else made


class _Ground:
    """A database under examination: its collections, the samples so far, and the conclusions."""

    def __init__(
        self,
        server: Port,
        db: str,
        profile: Stated | None,
        unseen: Mapping[str, str] | None,
        uncounted: Callable[[str], object] | None = None,
        earned: Earned | None = None,
        listed: Listed | None = None,
    ) -> None:
        self.server, self._db, self._uncounted, self._earned = server, db, uncounted, earned
        there = server.collections(db) if listed is None else listed
        shown = ((name, kind) for name, kind, _ in there if kind == "system" or not is_system(name))
        self.kinds = {f"{db}.{name}": kind for name, kind in shown}
        self._left_out = (unseen or {}).get(db, "")
        profiles = profile.collections if profile else ()
        self.stated = {each.ns: each for each in profiles if each.ns in self.kinds}
        # An archive need not be stated itself: it is what the collection that names it says.
        self._stated_rows = {each.archive: each for each in profiles if has_archive(each.layout)}
        self.claimed = self._stated_rows
        self.found: dict[str, _Found] = {}
        # A collection that the list omits may be there all the same: only a complete list saves asking for it.
        self.here = SmallCollections(server, "" if self._left_out else db, self.kinds)
        self._proposals: dict[str, Proposal] = {}
        self._logs: dict[str, Proposal] = {}
        self._samples: list[Sample] = []

    @property
    def share(self) -> int:
        """The bytes for the sample of one collection."""
        return share(len(self.kinds))

    def ns_of(self, name: str) -> str:
        """The full name of a collection."""
        return f"{self._db}.{name}"

    def is_open(self, ns: str) -> bool:
        """Whether a collection must be recognised: the profile does not state it, and it holds documents."""
        return ns not in self.stated and ns not in self._stated_rows and self.kinds[ns] == "collection"

    def open_names(self) -> set[str]:
        """The collections to recognise, without the name of the database."""
        return {ns.partition(".")[2] for ns in self.kinds if self.is_open(ns)}

    def look(self, ns: str, begun: Beginning | None = None, further: Sequence[bytes] | None = None) -> None:
        """Take a sample of a collection, unless the profile states what it is."""
        if ns in self.stated or ns in self._stated_rows or ns in self.found:
            return
        self.found[ns] = each = _look(self.server, ns, self.kinds[ns], self.share, begun, further)
        if each.sample is not None:
            self.here.hold(each.sample)

    def beginnings(self, places: Sequence[str]) -> Mapping[str, Beginning]:
        """The first documents of those of some collections that are to be recognised, if one command can read them."""
        return beginnings(self.server, [ns for ns in places if self.is_open(ns)], self.share)

    def look_at(self, seen: near_collections.Glimpses) -> None:
        """Make samples from the beginnings in a glimpse."""
        for ns, beginning in seen.begun.items():
            self.look(ns, beginning, seen.ends.get(ns))

    def relate(self) -> None:
        """Compare all examined collections with one another."""
        stated_rows, found = self._stated_rows, self.found
        self._proposals = dict(_pairs(self.here, found))
        every = self._proposals.values()
        claimed = stated_rows | {ns: each.profile for each in every for ns in each.rows or (each.profile.archive,)}
        grown = {ns: p for ns, p in _outgrown(self.stated, found) if ns in self.kinds and ns not in claimed}
        self.claimed = claimed | grown
        self._samples = [each.sample for each in found.values() if each.sample is not None]
        unclaimed = [each for each in self._samples if each.ns not in self.claimed and each.ns not in self._proposals]
        self._logs = {each.ns: log for each in unclaimed if (log := _log(self.here, each, self._samples)) is not None}

    def is_settled(self, ns: str) -> bool:
        """Whether rows confirm that one of these collections is another's history, and nothing in it names others."""
        of = self.claimed[ns].ns if ns in self.claimed else ns
        made, found = self._proposals.get(of), self.found.get(of)
        if made is None or made.confidence < SETTLED or found is None or found.sample is None:
            return False
        return not _write_tokens(found.sample, made.profile)

    def judged(self, ns: str) -> tuple[CollectionInfo, CollectionProfile]:
        """The layout of a collection."""
        if ns in self.stated:
            return as_stated(self.server, self.stated[ns], self.share, self._earned, counts=self._uncounted is None)
        if ns in self.claimed:
            return _second_half(ns, self.claimed[ns], self._proposals, self._count(ns))
        proposed = self._proposals.get(ns) or self._logs.get(ns)
        made = _judged(self.here, self.found[ns], proposed, self._samples, _recorded_in(ns, self._logs))
        if self.found[ns].sample is not None:
            made = replace(made[0], documents=self._count(ns)), made[1]
        made = _with_what_is_hidden(made, self.found, self._left_out)
        if self._earned is not None:
            rows = self.found.get(made[1].archive)
            self._earned(*made, self.found[ns].sample, rows.sample if rows is not None else None)
        return made

    def _count(self, ns: str) -> int | None:
        """The number of documents in a collection; None if unknown, or to be counted later."""
        found = self.found.get(ns)
        sample = found.sample if found is not None else None
        if sample is not None and (sample.whole is not None or self._uncounted is None):
            return sample.count
        if self._uncounted is None:
            return counted(self.server, ns)
        self._uncounted(ns)
        return None


def is_system(name: str) -> bool:
    """Whether a collection is the server's own."""
    return name.startswith("system.")


def profile_for(server: Port, info: CollectionInfo, layout: str) -> CollectionProfile:
    """The field names to use if a person picks another layout; raises ``Refused`` if that is impossible."""
    kind = declared(layout)  # refuses unknown layouts
    db, _, name = info.ns.partition(".")
    kinds = {each: kind for each, kind, _ in server.collections(db)}
    if kinds.get(name) == "view" and not kind.unversioned:
        raise Refused(f"{info.ns} is a view, which can only be read; pick a layout for the collection behind it.")
    sample = take(server, info.ns)
    # An empty collection contradicts nothing, so the usual names of the layout are taken.
    if not sample.documents and not kind.unversioned:
        return stated(info.ns, layout)
    others = [each for each in kinds if each != name and kinds[each] == "collection" and not is_system(each)]
    parts = [*parts_of(sample), sample] if info.doubt else [sample]
    told = ((part, made) for part in parts if (made := kind.picked(server, part, others)) is not None)
    part, proposal = next(told, (sample, None))
    if layout == info.layout and info.belongs_to is None:  # the names in use stay, others are looked up
        fields: dict[str, Any] = {role: name for role, name in info.fields.items() if role != "guard"}
        found = replace(proposal.profile if proposal else stated(info.ns, layout), **fields)
    elif proposal is None:
        raise Refused(f"{info.ns} cannot be read as {layout}: {kind.lacks} State its fields in a profile.")
    else:
        found = proposal.profile
    return _with_lock(found, part)[0]


def as_stated(
    server: Port,
    profile: CollectionProfile,
    most: int = SAMPLE_BYTES,
    earned: Earned | None = None,
    counts: bool = True,
) -> tuple[CollectionInfo, CollectionProfile]:
    """A collection as stated in a profile, plus a lock field that the profile does not name, and contradictions.

    Unless it ``counts`` them, the number of its documents is only known if the sample holds them all.
    """
    sample = _look(server, profile.ns, "collection", most).sample
    if sample is None:
        return info_of(profile, None, 1.0, STATED), profile
    found, said = _with_lock(_with_author(server, _with_token(profile, sample), sample), sample)
    rows = cache(partial(take, server, found.archive))
    try:
        # A statement that takes too long to check counts as not refuted: the person has said so, and knows more.
        doubt = gently(lambda: refuted(server, found, sample, rows), "")
        if found.token_unsaid and not found.token:
            doubt = doubt or token_doubt(_bearers(found, sample), sample.ns)
        if not doubt and (astray := gently(partial(strays, server, found, sample), "")):
            doubt = f"In {found.ns} {astray}."
    except NotAllowed:  # for the archive
        doubt = ""
    why = " ".join(filter(None, (STATED, said, doubt, _unindexed(server, found))))
    documents = sample.count if counts or sample.whole is not None else None
    info = replace(info_of(found, documents, 1.0, why), doubt=doubt)
    if earned is not None:
        with contextlib.suppress(NotAllowed):  # nothing is kept that the archive could not bear out
            earned(info, found, sample, rows() if found.archive else None)
    return info, found


def as_read(profile: CollectionProfile, document: Document) -> CollectionProfile | None:
    """A stated profile as completed by one document that was read; None if only a sample of others tells that.

    That is so if the document contradicts the profile, or may have a lock of another program.
    """
    sample = Sample(profile.ns, lambda: None, (document,), 0, lambda: ())
    if (profile.author and profile.hash) or declared(profile.layout).written_by_others:
        return None
    found = _with_token(profile, sample)
    locked, _ = _with_lock(found, sample)
    if locked != found or token_doubt(_bearers(found, sample), sample.ns) or not fits_roles(found, sample):
        return None
    return found


def _with_token(profile: CollectionProfile, sample: Sample) -> CollectionProfile:
    """The profile, completed by the write token of its documents if it names none."""
    kind = declared(profile.layout)
    if profile.token:
        return profile
    if "hash" not in kind.roles:
        if not profile.token_unsaid:
            return profile
        return replace(profile, token=usual_token(_bearers(profile, sample)))
    made = find_embedded.hashed(sample, wanted=True)
    if made is None or made.profile.hash != profile.hash:
        return profile
    return replace(profile, token=made.profile.token)


def _bearers(profile: CollectionProfile, sample: Sample) -> Sequence[Document]:
    """The documents, or their current versions inside, that bear a write token if there is one."""
    if "token" in declared(profile.layout).inside:  # next to the version, in the current one's sub-document
        parts = [d.get(profile.current) for d in sample.documents]
        return [Document(part.data) for part in parts if part is not None and part.type == c.OBJECT]
    numbered = [d for d in sample.documents if profile.version in d.fields] if versions_told(profile.layout) else []
    return numbered or sample.documents


def _with_author(server: Port, profile: CollectionProfile, sample: Sample) -> CollectionProfile:
    """The profile with the author as content, if the documents' hashes fit only with the author."""
    if not (profile.author and profile.hash) or LAYOUTS.get(profile.layout, Plain).read_only:
        return profile
    sealed = replace(profile, seals_author=True)
    ids = [id for each in sample.documents if (id := each.get(profile.id)) is not None]
    for id in list(dict.fromkeys(ids))[:SEALS_TRIED]:
        with contextlib.suppress(Refused):
            beside, within = (one.state == "damaged" for one in _sealed_version(server, id, (profile, sealed)))
            if beside != within:
                # One document decides: its hash fits with the author or without, and a collection has one recipe.
                return sealed if beside else profile
    return profile


def _sealed_version(server: Port, id: Value, profiles: Sequence[CollectionProfile]) -> list[Version]:
    """A version as each profile reads it: the current one, or the first in an archive that has the hashes."""
    layouts = [bind(server, each) for each in profiles]
    found = [layout.version(id) for layout in layouts]
    number = number_of(found[0].v)
    if number is None or any(one.state == "damaged" for one in found):
        return found
    first = layouts[0].first_between(id, 0, number)
    if first is None or first.raw is None or c.get(first.raw, (profiles[0].hash,)) is None:
        return found
    again = (layout.first_between(id, 0, number) for layout in layouts[1:])
    return [first, *(one for one in again if one is not None)]


def _with_marks(server: Port, profile: CollectionProfile, sample: Sample) -> tuple[CollectionProfile, str]:
    """The profile with the marks of other programs: what is odd about write tokens, and a lock, with a sentence."""
    if not profile.token and not LAYOUTS.get(profile.layout, Plain).read_only:
        profile = replace(profile, token_doubt=token_doubt(_bearers(profile, sample), sample.ns))
    profile, locked = _with_lock(profile, sample)
    astray = gently(partial(strays, server, profile, sample), "")
    if not astray or profile.guard is None:
        return profile, locked
    return replace(profile, guard=LockField(profile.guard.field)), f"{astray[:1].upper()}{astray[1:]}."


def _with_lock(profile: CollectionProfile, sample: Sample) -> tuple[CollectionProfile, str]:
    kind = LAYOUTS.get(profile.layout, Plain)
    if kind is Log or (kind.written_by_others and profile.edit == "no"):  # nothing here ever raises it
        return profile, ""
    try:
        return with_lock(profile, sample, fields_of(profile).values(), not (kind.own_documents or kind.read_only))
    except Unreadable:
        return profile, ""


STATED = "The profile states it."
WHY_NOT = {
    "system": "Kept by the MongoDB server for itself, and only read: its documents have no versions.",
    "view": "A view, which can only be read.",
    "timeseries": "A time series: its measurements are not versions of one another.",
}


class _Steps(Struct):
    """Counts the steps of recognition, for the checkpoint."""

    checkpoint: Checkpoint
    total: int
    done: int = 0

    def next(self) -> None:
        self.checkpoint(self.done, self.total)
        self.done += 1


def _look(
    server: Port,
    ns: str,
    kind: str,
    most: int,
    begun: Beginning | None = None,
    further: Sequence[bytes] | None = None,
) -> _Found:
    if kind != "collection":
        return _Found(ns, kind, None)
    try:
        return _Found(ns, kind, take(server, ns, most, begun, further))
    except NotAllowed as error:
        return _Found(ns, kind, None, str(error))


def _pairs(server: Port, found: dict[str, _Found]) -> Iterator[tuple[str, Proposal]]:
    """Current collections with their archives; none is the archive of two, or indirectly of itself."""
    samples = [each.sample for each in found.values() if each.sample is not None]
    archives: set[str] = set()
    mains: set[str] = set()
    for known in written(server, samples):
        archives.update(known.rows or (known.profile.archive,))
        mains.add(known.profile.ns)
        yield known.profile.ns, known
    # Collections with a history named after them come first, or a stranger could claim that history.
    for sample in sorted(samples, key=lambda s: not any(is_past_of(o.name, s.name) for o in samples)):
        if sample.ns in archives or sample.ns in mains or not sample.documents:
            continue
        others = [other for other in samples if other.ns not in (sample.ns, *archives)]
        try:
            made = pair(server, sample, others)
        except (Unreadable, NotAllowed):  # damaged BSON at a deeper level
            continue
        if made is not None:
            archives.add(made.profile.archive)
            mains.add(sample.ns)
            yield sample.ns, made
    yield from _keyed_pairs(server, [each for each in samples if each.documents and each.ns not in (*archives, *mains)])


def _keyed_pairs(server: Port, free: Sequence[Sample]) -> Iterator[tuple[str, Proposal]]:
    """Current collections with rows whose key stands in ``_id``; each collection is in one pair."""
    for rows in free:
        if rows in free and (keyed := _keyed(server, rows, [each for each in free if each.ns != rows.ns])) is not None:
            free = [each for each in free if each.ns not in (rows.ns, keyed.profile.ns)]
            yield keyed.profile.ns, keyed


def _keyed(server: Port, rows: Sample, others: Sequence[Sample]) -> Proposal | None:
    """The documents whose versions are rows with id and version in ``_id``; None if there are none."""
    for documents in others if paths_in_id(rows) else ():
        with contextlib.suppress(Unreadable, NotAllowed):
            if (made := of_keyed_rows(server, documents, rows)) is not None:
                p = made.profile
                why = f"{made.said} They are found by {p.archive_id} and {p.version}."
                return Proposal(p, 0.9, why)
    return None


def _outgrown(
    stated_ones: Mapping[str, CollectionProfile], found: Mapping[str, _Found]
) -> Iterator[tuple[str, CollectionProfile]]:
    """Overflow archives of ``embedded`` documents, each with the collection it belongs to."""
    for each in stated_ones.values():
        if declared(each.layout).overflows and overflow_archive.place(each) not in stated_ones:
            yield overflow_archive.place(each), each
    for ns, one in found.items():
        rows = found.get(f"{ns}{overflow_archive.SUFFIX}")
        if one.sample is None or rows is None or rows.sample is None:
            continue
        try:
            made = find_embedded.embedded(one.sample)
            p = made.profile if made is not None and declared(made.profile.layout).overflows else None
            if p is not None and any(overflow_archive.is_row(each.raw, p) for each in rows.sample.documents):
                yield rows.ns, p
        except Unreadable:
            continue


def _second_half(
    ns: str, of: CollectionProfile, proposals: dict[str, Proposal], documents: int | None
) -> tuple[CollectionInfo, CollectionProfile]:
    proposal = proposals.get(of.ns)
    what = "every version" if LAYOUTS[of.layout].holds_current and of.kept == "all" else "the earlier versions"
    what = "the changes" if of.patch else what
    sure = proposal.confidence if proposal else 1.0
    by = f", written by {title(of.writer)}" if of.writer else ""
    info = info_of(of, documents, sure, f"Holds {what} of {of.ns.partition('.')[2]}{by}.")
    # A hash in a row covers only the content, without the row's key and number.
    return replace(info, ns=ns, belongs_to=of.ns), CollectionProfile(ns, token="", hash="")


def _log(server: Port, sample: Sample, others: Sequence[Sample]) -> Proposal | None:
    """The proposal for a record of changes to other documents; None for all else."""
    try:
        return find_logs.recorded(server, sample, others) or find_logs.streamed(sample, others)
    except Unreadable:  # damaged BSON at a deeper level
        return None


def _recorded_in(ns: str, logs: Mapping[str, Proposal]) -> str:
    """A warning for editors of documents whose changes others record, one sentence; "" if nobody does."""
    names = [each.partition(".")[2] for each, log in logs.items() if ns in log.about]
    return f"An edit made here has no entry in {listed(names)}." if names else ""


def _unindexed(server: Port, profile: CollectionProfile, samples: Sequence[Sample] = ()) -> str:
    """The index that is missing for a history of another program, one sentence; "" if none is."""
    kind = LAYOUTS.get(profile.layout, Plain)
    if not (kind.written_by_others and profile.archive):
        return ""
    rows = next((each for each in samples if each.ns == profile.archive and each.whole is None), None)
    if rows is not None and not (profile.where or profile.parts) and rows.leads_index(profile.archive_id):
        return ""
    try:
        return gently(WrittenRows(server, profile).unindexed, "")
    except NotAllowed:
        return ""


def _judged(
    server: Port, found: _Found, paired: Proposal | None, samples: Sequence[Sample], recorded: str
) -> tuple[CollectionInfo, CollectionProfile]:
    sample = found.sample
    if sample is None:
        why = found.trouble or WHY_NOT.get(
            found.kind, f"Of the kind {found.kind}, which holds no documents of its own."
        )
        made = CollectionProfile(found.ns, token="")
        return info_of(made, None, 0.0 if found.trouble else 1.0, why), made
    made_by = paired or _beside(server, sample, samples)
    doubt, several = several_writers(sample, made_by, partial(_by_itself, server, samples))
    if doubt:  # without a layout, every document can be seen
        made_by = Proposal(_plain(sample), 0.5, doubt, several)
    doubt = doubt or made_by.doubt
    profile = made_by.profile
    why = made_by.why
    waiting = tokens_in(sample, profile) if declared(profile.layout).counts == "tokens" else []
    if there := _named_by(server, waiting, samples):
        why = f"The list {profile.pending} holds ids of {there}, so nothing waits in it to be counted."
        made_by = Proposal(_plain(sample), 0.8, why)
        profile = made_by.profile
    # An ObjectId that names a document elsewhere is a reference; written anew with each edit, it would point nowhere.
    elif there := _named_by(server, _write_tokens(sample, profile), samples, profile.token):
        token = profile.token
        why = why.replace(f"{token} is a write token", f"{token} is not a write token: it names {there}")
        profile = replace(profile, token="")
    profile, locked = _with_marks(server, profile, sample)
    recorded = "" if LAYOUTS.get(profile.layout, Plain).read_only else recorded
    sure = doubt or made_by.confidence >= SURE or not versions_told(profile.layout)
    missing = "" if doubt else _unindexed(server, profile, samples) if sure else UNSURE
    why = " ".join(filter(None, (why, locked, recorded, missing)))
    if sample.unreadable:
        why += f" {sample.unreadable} of the documents sampled {'do' if sample.unreadable > 1 else 'does'} not decode."
    others = tuple(name for name in made_by.alternatives if name != profile.layout)
    against = "" if sure else made_by.grounds.weakest(SURE)
    return replace(info_of(profile, None, made_by.confidence, why, others), doubt=doubt, against=against), profile


def _with_what_is_hidden(
    made: tuple[CollectionInfo, CollectionProfile], found: Mapping[str, _Found], left_out: str
) -> tuple[CollectionInfo, CollectionProfile]:
    """A single collection, with the doubt that its other half may be where this user cannot read.

    Writing to it as if it had none would omit a version that other programs rely on, or invent one.
    """
    info, profile = made
    sample = found[info.ns].sample
    hidden = [each for each in found.values() if each.trouble]
    if sample is None or info.doubt or not sample.documents or not (hidden or left_out):
        return made
    doubt = _doubt_of_hidden(info, sample, hidden, left_out)
    return (replace(info, doubt=doubt, why=doubt), profile) if doubt else made


def _doubt_of_hidden(info: CollectionInfo, sample: Sample, hidden: Sequence[_Found], left_out: str) -> str:
    names = {each.ns.partition(".")[2]: each.trouble for each in hidden}
    if info.unversioned:
        for past, why in names.items():
            if is_past_of(past, sample.name):
                return f"{past} may hold the earlier versions of {sample.name}, and cannot be read. {why}"
        near = find_version_documents.near_miss(sample)
        return f"{near} They may be in another collection. {left_out or hidden[0].trouble}" if near else ""
    current = next((each for each in names if is_past_of(sample.name, each)), "")
    if current or (left_out and is_past(sample.name)):
        whose = current or "another collection, which cannot be seen"
        return f"{sample.name} is named as the history of {whose}. {names.get(current) or left_out}"
    return ""


def _by_itself(server: Port, samples: Sequence[Sample], part: Sample) -> Iterator[Proposal]:
    """The proposals for a part of a collection's documents, compared with the other collections."""
    with contextlib.suppress(Unreadable, NotAllowed):
        if (paired := pair(server, part, [each for each in samples if each.ns != part.ns])) is not None:
            yield paired
    yield from _proposals(server, part)


def _write_tokens(sample: Sample, profile: CollectionProfile) -> list[Value]:
    """The values of the field that was taken for a write token; empty if its name alone proves it."""
    if profile.token in ("", TOKEN):
        return []
    paths = ((profile.token,), (profile.current, profile.token))
    found = (c.get(d.raw, path) for d in sample.documents for path in paths)
    return list(dict.fromkeys(v for v in found if v is not None and v.type == c.OBJECT_ID))


def _named_by(server: Port, tokens: Sequence[Value], samples: Sequence[Sample], name: str = "") -> str:
    """The collection in which the tokens are ids after all; "" if there is none.

    A row with its ``_id`` also in the field ``name`` was written with this token.
    """
    asked = list(tokens)[:TOKENS_ASKED]
    for other in samples if asked else ():
        # Ids of other types cannot be these tokens, and the query is saved.
        if all(id.type != c.OBJECT_ID for document in other.documents if (id := document.get("_id")) is not None):
            continue
        try:
            found, _ = matching(server, other.ns, {"_id": {"$in": asked}}, projection={name or "_id": 1})
        except NotAllowed:
            continue
        if any(not name or row.get(name) != row.get("_id") for row in found):
            return other.name
    return ""


def _beside(server: Port, sample: Sample, others: Sequence[Sample]) -> Proposal:
    """The proposal for a collection that records nothing: states of others' documents, or by itself."""
    by_itself = _alone(server, sample)
    try:
        if declared(by_itself.profile.layout).unversioned:
            return find_logs.states_at_top(server, sample, others) or by_itself
    except Unreadable:  # damaged BSON at a deeper level
        pass
    return by_itself


def _alone(server: Port, sample: Sample) -> Proposal:
    """The proposal for a single collection; a judge that cannot read some bytes abstains.

    If a judge says ``plain``, its evidence against its own layout is reported unless another layout fits.
    """
    but: Proposal | None = None
    for made in _proposals(server, sample):
        if not declared(made.profile.layout).unversioned:
            return made
        but = but or made
    return _nothing(sample, but)


def _proposals(server: Port, sample: Sample) -> Iterator[Proposal]:
    """The opinion of each judge that has one."""
    for kind in _judges():
        try:
            made = kind.proposed(server, sample)
        except (Unreadable, NotAllowed):
            continue
        if made is not None:
            yield made


@cache
def _judges() -> Sequence[type[Layout] | Pattern]:
    return [*LAYOUTS.values(), *PATTERNS.values()]


def _nothing(sample: Sample, but: Proposal | None) -> Proposal:
    profile = _plain(sample)
    if but is not None:
        return replace(but, profile=profile)
    if sample.documents:
        why = "No field of the documents sampled tells one version from another."
        if find_logs.records(sample):
            why = "Its rows record changes or events, but nothing in them names a document that is there."
            return Proposal(profile, 0.7, why, ("log",))
        if near := find_version_documents.near_miss(sample):
            return Proposal(profile, 0.7, near, ("versions",))
        return Proposal(profile, 0.9 if len(sample.documents) > 2 else 0.6, why)
    if sample.unreadable:
        return Proposal(profile, 0.3, "None of the documents sampled can be read.")
    if sample.whole is None:
        return Proposal(profile, 0.2, "None of it arrived in time, so nothing is known about it.")
    for index in sample.indexes:
        version = next((name for name in index.names if is_version_name(name)), "")
        id = next((name for name in index.names if name != version), "")
        if index.unique and len(index.names) == 2 and version and id:
            why = f"It is empty; a unique index on {id} and {version} suits a document for every version."
            made = stated(sample.ns, "versions", id=id, version=version)
            return Proposal(made, 0.4, why, ("flagged", "deltas", "plain"))
    return Proposal(profile, 0.2, "It is empty, so nothing is known about it.")


def _plain(sample: Sample) -> CollectionProfile:
    return CollectionProfile(sample.ns, token=usual_token(sample.documents))
