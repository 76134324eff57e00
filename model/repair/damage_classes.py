"""Every class of damage in one table: title, check, effects, and safe repair.

To add a class, add one record here, its check, and its cases in ``tests/scanning`` and ``tests/repairing``.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from model.checks import archives, bson_damage, embedded_chain, own_documents, rules, single_documents
from model.foundation.findings import Finding
from model.repair import (
    archive_repairs,
    counter_repairs,
    embedded_repairs,
    outgrown_documents,
    questions,
    version_repairs,
)
from model.repair.items import Item
from model.repair.questions import Ask
from model.repair.steps import Prepared, RepairContext
from model.scan import entries, sequences, tokens


class Repair(Struct, frozen=True):
    """A repair as plans know it. ``prepare`` reads the documents as they are now and returns the writes."""

    name: str
    prepare: Callable[[RepairContext, Item], Prepared]
    rank: int  # a document with two kinds of damage is repaired in order of rank
    would: str  # in a dry run: "Would be removed"
    verb: str  # on a button: "Remove"
    noun: str  # its object, singular: "phantom version"
    done: str  # the past participle: "removed"
    nouns: str = ""  # the plural; "" if it ends in s
    ask: Callable[[Finding], Ask] | None = None  # the question that only a person can answer; None if it is safe
    second_look: Callable[[RepairContext, Item], Prepared | None] | None = (
        None  # called after a removal that no single write makes safe
    )
    removes: bool = False


class DamageClass(Struct, frozen=True):
    """A kind of broken state, with its words, its check and its repair."""

    code: str
    title: str  # as a heading, plural for countable things
    group: str  # a member of GROUPS: how severe it is, and for whom
    meaning: str  # how it arises, one or two sentences
    today: str  # its effect on readers and writers today, one sentence
    advice: str  # advice if there is no repair (yet), one sentence
    check: Callable[..., object] | None  # finds it; None for a class from a newer version
    repair: Repair | None = None
    waits: bool = False  # no repair within the grace period, because its writer may still be at work
    in_any_layout: bool = False  # it means the same in every layout, so it never speaks against the one recognised
    tolerable: float = 0.2  # the share of documents up to which it does not speak against a recognised layout
    is_gap: bool = False  # versions are missing that the quarantine may hold
    may_be_lag: bool = True  # on a secondary it may only look so, until that has what the primary has


BLOCKS, DOUBT, INCOMPLETE, UNFINISHED, COUNTS = (
    "Blocks edits",
    "Content in doubt",
    "History incomplete",
    "Unfinished writes",
    "Counts and numbers",
)
GROUPS = (BLOCKS, DOUBT, INCOMPLETE, UNFINISHED, COUNTS)
"""The groups in display order."""

CLASSES: dict[str, DamageClass] = {
    each.code: each
    for each in (
        DamageClass(
            "A3",
            "Phantom versions",
            BLOCKS,
            meaning="The archive holds a version above the current one. It was written first and its edit never "
            "landed.",
            today="Every later edit of the document is refused.",
            advice="The edit that wrote it may still be at work; look again later.",
            check=archives.with_archive,
            repair=Repair(
                "remove-phantom",
                archive_repairs.remove_phantom,
                rank=3,
                would="Would be removed",
                verb="Remove",
                noun="phantom version",
                done="removed",
                second_look=archive_repairs.bring_back,
                removes=True,
            ),
        ),
        DamageClass(
            "V1",
            "Duplicate versions",
            BLOCKS,
            meaning="Two stored documents carry the same id and version, as no unique index keeps them apart.",
            today="Readers get either of them; writers cannot tell which one they edit.",
            advice="The versions differ, so a person has to decide which is right: compare them, and delete the other "
            "by hand.",
            check=rules.twice,
            tolerable=0.5,  # without a unique index, two writers take one number whenever they meet
            repair=Repair(
                "remove-duplicate",
                version_repairs.remove_duplicate,
                rank=2,
                would="Would be removed",
                verb="Remove",
                noun="duplicate version",
                done="removed",
                second_look=version_repairs.bring_back,
                removes=True,
            ),
        ),
        DamageClass(
            "C1",
            "None or several current",
            BLOCKS,
            meaning="No version carries the current flag, or several do, or another one than the newest.",
            today="Readers that ask for the flag get nothing, two documents or an old one.",
            advice="Look at the versions; the flag can be set once their numbers are right.",
            check=own_documents.flagged,
            repair=Repair(
                "set-current-flag",
                version_repairs.set_current_flag,
                rank=6,
                would="Would be set right",
                verb="Set",
                noun="current flag",
                done="set",
            ),
        ),
        DamageClass(
            "V3",
            "Versions of a wrong type",
            BLOCKS,
            meaning="A version is stored as text or as a fraction where whole numbers are expected.",
            today="It sorts apart from the others, so another version may be taken for the newest.",
            advice="Set the version to its whole number with an edit of your own.",
            check=rules.wrong_types,
            repair=Repair(
                "convert-version",
                version_repairs.convert_version,
                rank=0,
                would="Would become a whole number",
                verb="Convert",
                noun="version",
                done="converted",
                ask=questions.convert,
            ),
        ),
        DamageClass(
            "B1",
            "Unreadable documents",
            BLOCKS,
            meaning="The document does not decode, or would not survive being read and written again.",
            today="Drivers stop at it or change it silently; here it is shown and never written.",
            advice="It is shown and never written; mend it with the tools of whoever wrote it.",
            check=bson_damage.damage_of,
            in_any_layout=True,
            may_be_lag=False,
        ),
        DamageClass(
            "H1",
            "Stored hash differs",
            DOUBT,
            meaning="The stored hash is not the hash of the content: something wrote past it, or stored another field "
            "order.",
            today="Writers that swap on a hash computed from the content never match.",
            advice="Look at the content; if it is right, save it once more, which stores its hash.",
            check=rules.hashes,
            repair=Repair(
                "rebuild-hash",
                embedded_repairs.rebuild_hash,
                rank=8,
                would="Would be computed again",
                verb="Rebuild",
                noun="hash",
                done="rebuilt",
                nouns="hashes",
                ask=questions.rebuild,
            ),
        ),
        DamageClass(
            "A2",
            "Archived copy differs",
            DOUBT,
            meaning="The archive holds the current version with another content: the document was edited in place.",
            today="The history shows a content that was replaced without a version of its own.",
            advice="Compare both, and save the one that is right as a new version.",
            check=archives.with_archive,
            repair=Repair(
                "save-as-version",
                archive_repairs.save_as_version,
                rank=4,
                would="Would become a version of its own",
                verb="Save",
                noun="archived copy",
                done="saved",
                nouns="archived copies",
            ),
        ),
        DamageClass(
            "M1",
            "Times out of order",
            DOUBT,
            meaning="Versions that are dates, or carry them, are equal or run backwards.",
            today="What sorts by time shows them in another order than they were written.",
            advice="Times are never changed from here; check the clocks of the writers.",
            check=rules.times,
        ),
        DamageClass(
            "H2",
            "Equal hashes",
            DOUBT,
            meaning="Several documents have the same hash, which is legal where their contents are equal.",
            today="A writer that filters by the hash alone changes the wrong one.",
            advice="Nothing is wrong where the contents are equal; make sure that writers filter by the id too.",
            check=single_documents.SingleDocuments,
            in_any_layout=True,
        ),
        DamageClass(
            "V2",
            "Gaps in the versions",
            INCOMPLETE,
            meaning="Numbers are missing below the newest version: removed by a rule of retention, or lost.",
            today="These versions cannot be shown, compared or restored.",
            advice="Missing versions are never invented; if no rule of retention took them, look for them in a backup.",
            check=rules.gap,
            is_gap=True,
        ),
        DamageClass(
            "A4",
            "Archive lacks versions",
            INCOMPLETE,
            meaning="The archive has no copy of versions below the current one.",
            today="These versions cannot be shown, compared or restored.",
            advice="Missing versions are never invented; look for them in a backup.",
            check=rules.gap,
            is_gap=True,
        ),
        DamageClass(
            "A5",
            "Archive without document",
            INCOMPLETE,
            meaning="The archive holds versions of a document that is gone.",
            today="Nobody sees them unless they look into the archive.",
            advice="Restore the highest version as a document, or leave the archive as the record of what was deleted.",
            check=archives.with_archive,
            repair=Repair(
                "restore-document",
                archive_repairs.restore_document,
                rank=9,
                would="Would be restored",
                verb="Restore",
                noun="document",
                done="restored",
                ask=questions.restore,
            ),
        ),
        DamageClass(
            "E1",
            "Broken prev chains",
            INCOMPLETE,
            meaning="The embedded earlier versions are out of order, repeated or incomplete.",
            today="Code that takes the last element for the version before gets another one.",
            advice="Versions are missing or repeated with other contents; look for them in a backup before anything is "
            "changed.",
            check=embedded_chain.embedded_chain,
            repair=Repair(
                "rebuild-prev",
                embedded_repairs.rebuild_prev,
                rank=7,
                would="Would be put in order",
                verb="Rebuild",
                noun="prev array",
                done="rebuilt",
            ),
        ),
        DamageClass(
            "E2",
            "Documents near 16 MB",
            INCOMPLETE,
            meaning="The document with its embedded versions is close to the largest that can be stored.",
            today="Soon no edit of it can be saved.",
            advice="Move the earlier versions into an archive before the document can no longer be saved.",
            check=embedded_chain.embedded_chain,
            repair=Repair(
                "move-to-archive",
                outgrown_documents.move_to_archive,
                rank=15,
                would="Would be moved",
                verb="Move",
                noun="history",
                done="moved",
                nouns="histories",
                ask=questions.move,
            ),
            in_any_layout=True,
        ),
        DamageClass(
            "D1",
            "Deltas without a base",
            INCOMPLETE,
            meaning="A delta is missing, so the states after it cannot be rebuilt for certain.",
            today="Later states are shown as unproven.",
            advice="Later states are shown as unproven; look for the missing delta in a backup.",
            check=rules.gap,
            is_gap=True,
        ),
        DamageClass(
            "R1",
            "Archive behind its source",
            INCOMPLETE,
            meaning="The archive that a change stream feeds lacks the current version or earlier ones.",
            today="The history ends, or has holes, where the feed did not run.",
            advice="Find out why the feed stopped, and start it again; its resume point is not touched from here.",
            check=archives.with_archive,
            repair=Repair(
                "archive-current",
                archive_repairs.archive_current,
                rank=10,
                would="Would be archived",
                verb="Archive",
                noun="current version",
                done="archived",
            ),
            is_gap=True,
        ),
        DamageClass(
            "T1",
            "Old pending tokens",
            UNFINISHED,
            meaning="A writer noted a token and has not raised the counter: it died, or may still be at work.",
            today="The counter is too low by the token's amount.",
            advice="Its writer may still be at work; look again after the grace period.",
            check=tokens.judged,
            repair=Repair(
                "finish-token",
                counter_repairs.finish_token,
                rank=14,
                would="Would be finished",
                verb="Finish",
                noun="token",
                done="finished",
            ),
            waits=True,
        ),
        DamageClass(
            "T2",
            "Tokens pending and applied",
            UNFINISHED,
            meaning="A token is in both lists: it was counted and not removed.",
            today="A cleanup that does not look at both counts it twice.",
            advice="Look at both lists; the token cannot be named exactly.",
            check=tokens.judged,
            repair=Repair(
                "take-out-token",
                counter_repairs.take_out_token,
                rank=13,
                would="Would be taken out",
                verb="Take out",
                noun="token",
                done="taken out",
            ),
        ),
        DamageClass(
            "T3",
            "Counters that are not numbers",
            UNFINISHED,
            meaning="The counter is missing, null or not a number.",
            today="It cannot be raised, and totals that read it are wrong.",
            advice="Set the counter with an edit.",
            check=tokens.judged,
            repair=Repair(
                "set-counter",
                counter_repairs.set_counter,
                rank=1,
                would="Would be set",
                verb="Set",
                noun="counter",
                done="set",
                ask=questions.count,
            ),
            waits=True,
        ),
        DamageClass(
            "A1",
            "Residue of a running edit",
            UNFINISHED,
            meaning="The archive holds the current version too: an edit archived it and has not landed, or died.",
            today="Nothing is wrong for readers; the next edit absorbs it.",
            advice="The next edit of the document absorbs the copy; nothing needs to be done.",
            check=archives.with_archive,
            repair=Repair(
                "remove-residue",
                archive_repairs.remove_residue,
                rank=5,
                would="Would be removed",
                verb="Remove",
                noun="archived copy",
                done="removed",
                nouns="archived copies",
                second_look=archive_repairs.bring_back,
                removes=True,
            ),
            waits=True,
        ),
        DamageClass(
            "S1",
            "Counters that fell behind",
            COUNTS,
            meaning="The counter is lower than the highest number that is in use.",
            today="The next numbers that it hands out are taken already.",
            advice="Raise the counter by hand once it is clear which numbers are in use.",
            check=sequences.Sequences,
            repair=Repair(
                "raise-counter",
                counter_repairs.raise_counter,
                rank=11,
                would="Would be raised",
                verb="Raise",
                noun="counter",
                done="raised",
            ),
            may_be_lag=False,
        ),
        DamageClass(
            "S2",
            "Duplicate or invalid numbers",
            COUNTS,
            meaning="Two documents carry the same number, or one carries something that is not a number.",
            today="Looking a number up finds either document, or none.",
            advice="Numbers are never changed from here; decide which document keeps its number.",
            check=sequences.Sequences,
            may_be_lag=False,
        ),
        DamageClass(
            "P1",
            "Several documents for one key",
            COUNTS,
            meaning="An upsert raced with another, or did not match, so a key has more than one document.",
            today="Each holds part of the count.",
            advice="Counts are never added up from here; decide which document stands and take over what the other "
            "counted.",
            check=entries.Entries,
        ),
        DamageClass(
            "P2",
            "Entries listed twice",
            COUNTS,
            meaning="The list of processed entries holds an entry more than once.",
            today="It was counted twice, or its list was written without a guard.",
            advice="Look at the list; its entries cannot be told apart.",
            check=entries.repeats,
            repair=Repair(
                "remove-repeats",
                embedded_repairs.remove_repeats,
                rank=12,
                would="Would be listed once",
                verb="Shorten",
                noun="list",
                done="shortened",
            ),
        ),
    )
}
"""Every class by its code, in display order of the findings."""

REPAIRS: dict[str, Repair] = {
    each.name: each
    for each in sorted((of.repair for of in CLASSES.values() if of.repair is not None), key=lambda each: each.rank)
}
"""Every repair by its name, in the order of execution."""


def class_of(code: str) -> DamageClass:
    """The class of a code; an unknown one, from a newer plan, uses its code as title."""
    return CLASSES.get(code) or DamageClass(code, code, "", "", "", "", None)


def repair_of(finding: Finding) -> Repair | None:
    """The repair that a finding names; None if it names none, or one from a newer version."""
    return REPAIRS.get(finding.repair or "")


def asking(finding: Finding) -> Ask | None:
    """The question to ask before this finding is repaired; None if the repair is safe."""
    repair = repair_of(finding)
    return repair.ask(finding) if repair is not None and repair.ask is not None else None


def waits(finding: Finding) -> bool:
    """Whether a finding is left alone because it is young and its writer may still be at work."""
    of = CLASSES.get(finding.code)
    return finding.young and of is not None and of.waits


def no_repair(finding: Finding) -> str:
    """The advice on a finding without a repair."""
    if finding.doubt:
        return finding.doubt
    if waits(finding):
        return "It is younger than the grace period, so its writer may still be at work; scan again later."
    of = CLASSES.get(finding.code)
    return of.advice if of is not None else ""
