"""Commands that only read: collections, history, show, diff and merge."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable

from model import text
from model.commands.arguments import choose_layout, document, open_session
from model.commands.output import Progress, json_row, moment, number, size, table
from model.diff import Diff, diff, export
from model.errors import NotFound, Refused, Unreadable
from model.layouts.numbering import WAYS
from model.merge import Decision, merge
from model.names import id_name, version_name
from model.records import CollectionInfo, Version
from model.session import Session
from model.text import document_file
from model.values import canonical
from model.values.canonical import Value


def collections(args: argparse.Namespace) -> int:
    """Print each collection with its layout and the grounds for it."""
    with open_session(args) as session, Progress("Looking at collection") as progress:
        found = session.collections(checkpoint=progress)
        if args.json:
            for info in found:
                progress.make_way()
                row = {"ns": info.ns, "layout": info.layout, "fields": dict(info.fields), "documents": info.documents}
                by = {"writer": info.writer} if info.writer else {}
                print(json_row(**row, confidence=info.confidence, why=_grounds(info), **by))
            return 0
        rows = (
            (
                info.ns,
                info.layout,
                number(info.documents),
                f"{info.confidence:.0%}",
                _named(info.fields.items()),
                f"{_grounds(info)} {'' if info.numbering == WAYS['next'] else info.numbering}".strip(),
            )
            for info in found
        )
        table(("Collection", "Layout", "Documents", "Sure", "Fields", "Why"), rows, right=(2, 3), progress=progress)
    return 0


def _grounds(info: CollectionInfo) -> str:
    """Why the layout was proposed, and which others fit as well."""
    also = " or ".join(filter(None, (", ".join(info.alternatives[:-1]), *info.alternatives[-1:])))
    return f"{info.why} It fits {also} as well." if also else info.why


def _named(fields: Iterable[tuple[str, str]]) -> str:
    return " ".join(f"{role}={name}" for role, name in fields)


def history(args: argparse.Namespace) -> int:
    """Print the versions of a document, newest first."""
    with open_session(args) as session, Progress("Reading version") as progress:
        id = document(args, session)
        versions = session.history(args.ns, id, progress, changed=not args.json)
        if args.json:
            for version in versions:
                progress.make_way()
                print(_history_json(version))
            return 0
        named = session.info(args.ns).fields
        said = [role for role in ("author", "reason") if role in named]  # columns only where they can say something
        rows = (
            (
                version_name(v.v) + (" (current)" if v.current else ""),
                v.stored if v.state != "missing" else "",
                v.state,
                size(v.bytes),
                number(v.changed),
                moment(v.at),
                *(getattr(v, role) or "" for role in said),
                (v.hash or "")[:12],
                v.detail,
            )
            for v in versions
        )
        beside = [{"author": "By", "reason": "Reason"}[role] for role in said]
        header = ("Version", "Stored", "State", "Size", "Changed", "At", *beside, "Hash", "")
        table(header, rows, right=(3, 4), progress=progress)
    return 0


def _history_json(version: Version) -> str:
    return json_row(
        v=version.v,
        at=version.at,
        hash=version.hash,
        bytes=version.bytes,
        stored=version.stored,
        current=version.current,
        state=version.state,
        author=version.author,
        reason=version.reason,
        operation=version.operation,
        detail=version.detail,
    )


def show(args: argparse.Namespace) -> int:
    """Print one version's content, or the document as it is stored."""
    with open_session(args) as session:
        choose_layout(args, session)
        id, v = _id_at_version(session, args.ns, args.id, args.of_version)
        version = session.version(args.ns, id, v)
        raw = version.content
        if args.stored:
            raw = None if version.raw is None else session.stored(args.ns, version.raw)
    if raw is None:
        what = "stored document" if args.stored else "content"
        raise Refused(
            f"{version_name(version.v)} of {id_name(id)} has no {what} to show: {version.detail or version.state}."
        )
    try:
        written = text.to_text(raw, None if args.json else 2)
    except Unreadable as error:
        damage = str(error).rstrip(".")
        raise Unreadable(
            f"{id_name(id)} does not decode, so it has no Extended JSON ({damage}); "
            "`palimpsest history` tells its size and hash."
        ) from None
    print(written)
    return 0


def _id_at_version(session: Session, ns: str, written: str, of_version: str | None) -> tuple[Value, Value | None]:
    """The document and version of ID[@V]: behind the last @ stands a version only where that document has it."""
    if of_version is not None:
        id = session.find_id(ns, written)
        return id, session.find_version(ns, id, of_version)
    head, at, tail = written.rpartition("@")
    why: Refused | None = None
    if at and head and tail:
        try:
            id = session.find_id(ns, head)
        except NotFound:
            pass
        except Refused as error:
            why = error  # several ids are written like that
        else:
            try:
                return id, session.find_version(ns, id, tail)
            except NotFound as error:
                why = error
    try:
        return session.find_id(ns, written), None
    except NotFound:
        if why is not None:
            raise why from None
        raise


def differ(args: argparse.Namespace) -> int:
    """Print the changes between two versions or two files; 1 where there are any."""
    form = args.format or ("json" if args.json else "text")
    if len(args.sides) == 2:
        # git hands the null device to its external diff in place of a file that is new or gone.
        (a, _), (b, _) = (document_file.read(side, empty=side == os.devnull) for side in args.sides[:2])
        return _print_diff(diff(a, b, ("_id", *args.keys)), a, b, form)
    if len(args.sides) != 5:
        raise Refused("diff takes two files, or SOURCE NS ID V W; see `palimpsest diff --help`.")
    source, args.ns, args.id, v, w = args.sides
    with open_session(args, source) as session:
        id = document(args, session)
        found = session.compare(args.ns, id, session.find_version(args.ns, id, v), session.find_version(args.ns, id, w))
    before, after = found.a.content or canonical.EMPTY, found.b.content or canonical.EMPTY
    changes = diff(before, after, ("_id", *args.keys)) if args.keys else found.diff
    return _print_diff(changes, before, after, form)


def _print_diff(changes: Diff, a: bytes, b: bytes, form: str) -> int:
    if form == "json":
        for row in changes.row_texts():
            print(row)
    elif form == "json-patch":
        print(export.to_json_patch(changes, a, b))
    elif form == "deepdiff":
        print(export.to_deepdiff(a, b))
    elif form == "delta":
        print(export.to_delta(a, b), end="")
    elif form == "words":
        print(export.to_words(changes))
    elif changes:
        print(export.to_lines(changes))
    return 1 if changes else 0


def merged(args: argparse.Namespace) -> int:
    """Print the merge of three files, or its conflicts."""
    # git hands an empty base to its merge driver where both sides added the file.
    base, _ = document_file.read(args.base, empty=True)
    mine, form = document_file.read(args.mine)
    theirs, _ = document_file.read(args.theirs)
    result = merge(base, mine, theirs, ("_id", *args.keys))
    if result.conflicts:
        if args.json:
            for c in result.conflicts:
                print(json_row(path=list(c.path), base=c.base, mine=c.mine, theirs=c.theirs, kind=c.kind))
        else:
            table(("Conflict", "Base", "Mine", "Theirs", "Kind"), map(_conflict_cells, result.conflicts))
        return 1
    if args.out is not None:
        document_file.write(args.out, result.document(), form)
    elif form.binary:
        print(text.to_text(result.document()))
    else:
        print(document_file.written(result.document(), form).decode("utf-8", "surrogatepass").rstrip("\n"))
    return 0


def _conflict_cells(decision: Decision) -> tuple[str, ...]:
    sides = (decision.base, decision.mine, decision.theirs)
    return (
        decision.place,
        *("" if s is None else text.shown(s, limit=50) for s in sides),
        decision.kind,
    )
