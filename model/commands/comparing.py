"""The commands diff and merge, over files and over versions of a document."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from model import text
from model.commands.output import json_row, table
from model.commands.standard_streams import hand_on, say
from model.diff import Diff, diff, diff_values, export
from model.errors import Refused
from model.text import document_file
from model.values import canonical

if TYPE_CHECKING:
    from model.merge import Decision


def differ(args: argparse.Namespace) -> int:
    """Print the changes between two versions or two files; 1 if there are any."""
    form = args.format or ("json" if args.json else "text")
    if len(args.sides) == 2:
        # git passes the null device to its external diff for a file that was added or deleted.
        a, b = (document_file.read_value(side, empty=side == os.devnull) for side in args.sides[:2])
        if a.type != b.type:
            which = args.sides[0 if a.type == canonical.ARRAY else 1]
            raise Refused(f"{which} holds an array and the other file one document; give two files of one kind.")
        return _print_diff(diff_values(a, b, ("_id", *args.keys)), a.data, b.data, form, a.type)
    if len(args.sides) != 5:
        raise Refused("diff takes two files, or SOURCE NS ID V W; see `palimpsest diff --help`.")
    from model.commands.arguments import document, open_session  # files need no server

    source, args.ns, args.id, v, w = args.sides
    with open_session(args, source) as session:
        id = document(args, session)
        found = session.history.compare(
            args.ns, id, session.catalogue.find_version(args.ns, id, v), session.catalogue.find_version(args.ns, id, w)
        )
    before, after = found.a.content or canonical.EMPTY, found.b.content or canonical.EMPTY
    changes = diff(before, after, ("_id", *args.keys)) if args.keys else found.diff
    return _print_diff(changes, before, after, form)


def _print_diff(changes: Diff, a: bytes, b: bytes, form: str, kind: int = canonical.OBJECT) -> int:
    if form == "json":
        for row in changes.row_texts():
            say(row)
    elif form == "json-patch":
        say(export.to_json_patch(changes, a, b, kind))
    elif form == "deepdiff":
        say(export.to_deepdiff(a, b, kind))
    elif form == "delta":
        if kind == canonical.ARRAY:
            raise Refused("A Delta leads from one document to another; for arrays take another format, such as json.")
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
