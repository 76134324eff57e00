"""The commands diff and merge, over files and over versions of a document."""

from __future__ import annotations

import argparse
import datetime as dt
import os
import sys
from typing import TYPE_CHECKING

from model import text
from model.commands.output import json_row, table, tell_kept
from model.commands.standard_streams import hand_on, say
from model.diff import Diff, export
from model.diff.comparison_rules import ComparisonRules, names_from_text
from model.errors import Refused
from model.text import document_file
from model.values import canonical
from model.values.canonical import Value

if TYPE_CHECKING:
    from model.merge import Decision


EXACT_FORMS = ("json-patch", "deepdiff", "delta")
"""Formats that lead exactly from one document to the other."""


def rules_of(args: argparse.Namespace) -> ComparisonRules:
    """What the command was told not to count as a difference; raises ``Unreadable`` for a path."""
    tolerance = args.dates_within or dt.timedelta()
    return ComparisonRules(
        ignored=tuple(map(names_from_text, args.ignored)),
        unordered=tuple(map(names_from_text, args.unordered)),
        numbers=args.numbers_by_value,
        dates=tolerance // dt.timedelta(milliseconds=1),
        by_words=args.text_by_words,
    )


def differ(args: argparse.Namespace) -> int:
    """Print the changes between two versions or two files; 1 if there are any."""
    form = args.format or ("json" if args.json else "text")
    given = rules_of(args)
    if given and form in EXACT_FORMS:
        raise Refused(f"The format {form} leads exactly to the other side; with rules take text, json or words.")
    if len(args.sides) == 2:
        # git passes the null device to its external diff for a file that was added or deleted.
        a, b = (document_file.read_value(side, empty=side == os.devnull) for side in args.sides[:2])
        if a.type != b.type:
            which = args.sides[0 if a.type == canonical.ARRAY else 1]
            raise Refused(f"{which} holds an array and the other file one document; give two files of one kind.")
        return _print_diff(given.compare(a, b, ("_id", *args.keys)), a.data, b.data, form, a.type, given)
    if len(args.sides) != 5:
        raise Refused("diff takes two files, or SOURCE NS ID V W; see `palimpsest diff --help`.")
    from model.commands.arguments import document, open_session  # files need no server

    source, args.ns, args.id, v, w = args.sides
    with open_session(args, source) as session:
        id = document(args, session)
        if form not in EXACT_FORMS:
            given = given.with_unordered(session.history.rules(args.ns).unordered)
        old, new = (session.catalogue.reading.version_meant(args.ns, id, number) for number in (v, w))
        found = session.history.compare_read(args.ns, old, new, given)
    tell_kept(old, new)
    before, after = found.a.content or canonical.EMPTY, found.b.content or canonical.EMPTY
    changes = found.diff
    if args.keys:
        changes = given.compare(Value.document(before), Value.document(after), ("_id", *args.keys))
    return _print_diff(changes, before, after, form, canonical.OBJECT, given)


def _print_diff(changes: Diff, a: bytes, b: bytes, form: str, kind: int, rules: ComparisonRules) -> int:
    if form == "delta" and kind == canonical.ARRAY:
        raise Refused("A Delta leads from one document to another; for arrays take another format, such as json.")
    if rules:  # beside rows, which stay rows
        say(rules.words, file=sys.stderr if form == "json" else sys.stdout)
    if form == "json":
        for row in changes.row_texts():
            say(row)
    elif form == "json-patch":
        say(export.to_json_patch(changes, a, b, kind))
    elif form == "deepdiff":
        say(export.to_deepdiff(a, b, kind))
    elif form == "delta":
        say(export.to_delta(a, b), end="")
    elif form == "words":
        say(export.to_words(changes))
    elif changes:
        say(export.to_lines(changes))
    return 1 if changes else 0


def merged(args: argparse.Namespace) -> int:
    """Print the merge of three files, or its conflicts."""
    # git passes an empty base to its merge driver if both sides added the file.
    base, _ = document_file.read(args.base, empty=True)
    mine, form = document_file.read(args.mine)
    theirs, _ = document_file.read(args.theirs)
    from model.merge import merge

    result = merge(base, mine, theirs, ("_id", *args.keys))
    if result.conflicts:
        if args.json:
            for c in result.conflicts:
                say(json_row(path=list(c.path), base=c.base, mine=c.mine, theirs=c.theirs, kind=c.kind))
        else:
            table(("Conflict", "Base", "Mine", "Theirs", "Kind"), map(_conflict_cells, result.conflicts))
        return 1
    if args.out is not None:
        document_file.write(args.out, result.document(), form)
    elif form.binary:
        say(text.to_text(result.document()))
    else:
        hand_on(document_file.written(result.document(), form).decode("utf-8", "surrogatepass").rstrip("\n"))
    return 0


def _conflict_cells(decision: Decision) -> tuple[str, ...]:
    sides = (decision.base, decision.mine, decision.theirs)
    return (
        decision.place,
        *("" if s is None else text.shown(s, limit=50) for s in sides),
        decision.kind,
    )
