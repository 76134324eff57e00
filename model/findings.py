"""What a scan reports: a finding is one state that should not be, with what was seen; and the classes of such states.

The classes are a closed set with fixed codes (V1 … B1). A finding names its document by the value of the profile's
id field; its evidence is the stored documents as they were read, so that a repair can check that they still are.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from model.records import Raw
from model.values.canonical import Value


@dataclass(frozen=True)
class Evidence:
    """A stored document that a finding rests on, as it was read."""

    ns: str  # where it is stored: the archive's namespace for what the archive holds
    name: str  # what it is, for people: "in the document", "in the archive", "v9"
    raw: Raw
    v: Value | None = None  # its version, where it has one
    sha256: str = ""  # of the whole document, where ``raw`` is no more than its `_id`


@dataclass(frozen=True)
class Finding:
    """One state of one document (or key, number, hash) that somebody should look at."""

    code: str  # a key of CLASSES
    ns: str  # the profile's, never the archive's; for S1 the counters', for S2 the target's
    id: Value | None  # the profile's id, for B1 the physical one; S1: the counter's name, S2: the number
    versions: tuple[Value, ...]  # the missing numbers of a gap, else those concerned
    detail: str  # what was found, one clause or sentence
    repair: str | None = None  # the name of the safe repair; None where there is none, or none yet
    evidence: tuple[Evidence, ...] = ()
    at: dt.datetime | None = None  # when what was found was written, where that is known
    young: bool = False  # inside the grace period, or of unknown age where age matters


@dataclass(frozen=True)
class Unchecked:
    """What a scan did not look at, and why."""

    ns: str
    why: str  # one sentence
    id: Value | None = None  # None: the whole collection


@dataclass(frozen=True)
class FindingClass:
    """A kind of state: its code, what it is called, and what it means."""

    code: str
    name: str  # as a heading, plural where it counts things
    group: str  # a member of GROUPS
    meaning: str  # one or two sentences: how it comes about
    today: str  # what it does to readers and writers today, one sentence


BLOCKS, DOUBT, INCOMPLETE, UNFINISHED, COUNTS = (
    "Blocks edits",
    "Content in doubt",
    "History incomplete",
    "Unfinished writes",
    "Counts and numbers",
)
GROUPS = (BLOCKS, DOUBT, INCOMPLETE, UNFINISHED, COUNTS)
"""The groups in the order in which they are shown."""

CLASSES: dict[str, FindingClass] = {
    each.code: each
    for each in (
        FindingClass(
            "A3",
            "Phantom versions",
            BLOCKS,
            "The archive holds a version above the current one. It was written first and its edit never landed.",
            "Every later edit of the document is refused.",
        ),
        FindingClass(
            "V1",
            "Duplicate versions",
            BLOCKS,
            "Two stored documents carry the same id and version, as no unique index keeps them apart.",
            "Readers get either of them; writers cannot tell which one they edit.",
        ),
        FindingClass(
            "C1",
            "None or several current",
            BLOCKS,
            "No version carries the current flag, or several do, or another one than the newest.",
            "Readers that ask for the flag get nothing, two documents or an old one.",
        ),
        FindingClass(
            "V3",
            "Versions of a wrong type",
            BLOCKS,
            "A version is stored as text or as a fraction where whole numbers are expected.",
            "It sorts apart from the others, so another version may be taken for the newest.",
        ),
        FindingClass(
            "B1",
            "Unreadable documents",
            BLOCKS,
            "The document does not decode, or would not survive being read and written again.",
            "Drivers stop at it or change it silently; here it is shown and never written.",
        ),
        FindingClass(
            "H1",
            "Stored hash differs",
            DOUBT,
            "The stored hash is not the hash of the content: something wrote past it, or stored another field order.",
            "Writers that swap on a hash computed from the content never match.",
        ),
        FindingClass(
            "A2",
            "Archived copy differs",
            DOUBT,
            "The archive holds the current version with another content: the document was edited in place.",
            "The history shows a content that was replaced without a version of its own.",
        ),
        FindingClass(
            "M1",
            "Times out of order",
            DOUBT,
            "Versions that are dates, or carry them, are equal or run backwards.",
            "What sorts by time shows them in another order than they were written.",
        ),
        FindingClass(
            "H2",
            "Equal hashes",
            DOUBT,
            "Several documents have the same hash, which is legal where their contents are equal.",
            "A writer that filters by the hash alone changes the wrong one.",
        ),
        FindingClass(
            "V2",
            "Gaps in the versions",
            INCOMPLETE,
            "Numbers are missing below the newest version: removed by a rule of retention, or lost.",
            "These versions cannot be shown, compared or restored.",
        ),
        FindingClass(
            "A4",
            "Archive lacks versions",
            INCOMPLETE,
            "The archive has no copy of versions below the current one.",
            "These versions cannot be shown, compared or restored.",
        ),
        FindingClass(
            "A5",
            "Archive without document",
            INCOMPLETE,
            "The archive holds versions of a document that is gone.",
            "Nobody sees them unless they look into the archive.",
        ),
        FindingClass(
            "E1",
            "Broken prev chains",
            INCOMPLETE,
            "The embedded earlier versions are out of order, repeated or not all there.",
            "Code that takes the last element for the version before gets another one.",
        ),
        FindingClass(
            "E2",
            "Documents near 16 MB",
            INCOMPLETE,
            "The document with its embedded versions is close to the largest that can be stored.",
            "Soon no edit of it can be saved.",
        ),
        FindingClass(
            "D1",
            "Deltas without a base",
            INCOMPLETE,
            "A delta is missing, so the states after it cannot be rebuilt for certain.",
            "Later states are shown as unproven.",
        ),
        FindingClass(
            "R1",
            "Archive behind its source",
            INCOMPLETE,
            "The archive that a change stream feeds lacks the current version or earlier ones.",
            "The history ends, or has holes, where the feed did not run.",
        ),
        FindingClass(
            "T1",
            "Old pending tokens",
            UNFINISHED,
            "A writer noted a token and died before it raised the counter.",
            "The counter is too low by what the token stands for.",
        ),
        FindingClass(
            "T2",
            "Tokens pending and applied",
            UNFINISHED,
            "A token stands in both lists: it was counted and not taken out.",
            "A cleanup that does not look at both counts it twice.",
        ),
        FindingClass(
            "T3",
            "Counters that are no numbers",
            UNFINISHED,
            "The counter is missing, null or not a number.",
            "It cannot be raised, and totals that read it are wrong.",
        ),
        FindingClass(
            "A1",
            "Residue of a running edit",
            UNFINISHED,
            "The archive holds the current version too: an edit archived it and has not landed, or died.",
            "Nothing is wrong for readers; the next edit absorbs it.",
        ),
        FindingClass(
            "S1",
            "Counters that fell behind",
            COUNTS,
            "The counter is lower than the highest number that is in use.",
            "The next numbers that it hands out are taken already.",
        ),
        FindingClass(
            "S2",
            "Numbers used twice or no numbers",
            COUNTS,
            "Two documents carry the same number, or one carries something that is no number.",
            "Who looks a number up gets either document, or none.",
        ),
        FindingClass(
            "P1",
            "Several documents for one key",
            COUNTS,
            "An upsert raced with another, or did not match, so a key has more than one document.",
            "Each holds part of the count.",
        ),
        FindingClass(
            "P2",
            "Entries listed twice",
            COUNTS,
            "The list of processed entries holds an entry more than once.",
            "It was counted twice, or its list was written without a guard.",
        ),
    )
}
"""Every class by its code, in the order in which findings are shown."""
