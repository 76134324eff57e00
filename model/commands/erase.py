"""The command that erases fields for good: ``palimpsest erase SOURCE NS ID --path P … [--apply]``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path as FilePath

from model.commands.arguments import document, open_session
from model.commands.output import Progress, json_row
from model.commands.printed_outcomes import outcome_table
from model.commands.standard_streams import say
from model.errors import Refused
from model.operations.erasing import ELSEWHERE, Certificate, Trace
from model.text.names import id_name
from model.text.paths import path_from_text
from model.userdata import folders
from model.values.canonical import Value


def erase(args: argparse.Namespace) -> int:
    """Erase fields, or say where they are; exit status as for a repair."""
    if not args.paths:
        raise Refused("Say which fields to erase: --path P, several times for several.")
    if args.certificate and not args.apply:
        raise Refused("A certificate is of an erasure: say --apply with --certificate.")
    paths = [path_from_text(path) for path in args.paths]
    with open_session(args) as session, Progress("Erasing in document") as progress:
        id = document(args, session)
        work = session.erasing
        if not args.apply:
            found = work.look(args.ns, id, paths)
            traces = found.traces
            _print(args, id, traces, "skipped", "would", "Would be erased: ")
            _print(args, id, found.misfits, "skipped", "skipped", "Hashes that fit nothing and would stay: ")
            if not args.json:
                some = "--apply erases them for good: there is no way back, and undo cannot bring them back."
                say(some if traces else f"{id_name(id)} has none of these fields anywhere.")
            return 0
        done = work.apply(args.ns, id, paths, progress, confirmed=True, reason=args.reason or "")
    if args.certificate:
        folders.write(FilePath(args.certificate), json.dumps(done.as_json(), ensure_ascii=False, indent=2) + "\n")
    _print(args, id, done.erased, "applied", "applied", "Erased: ")
    _print(args, id, done.left, "skipped", "skipped", "Hashes that fitted nothing and stay, for a scan to tell: ")
    _print(args, id, done.found, "conflict", "conflict", "Found again, somebody wrote it back; run it again: ")
    if not args.json:
        _sum_up(done)
    return 1 if done.found else 0


def _print(args: argparse.Namespace, id: Value, traces: Sequence[Trace], outcome: str, word: str, said: str) -> None:
    details = [(f"{said}{each.count:,} in {each.where} ({each.place}).", each) for each in traces]
    if args.json:
        for detail, each in details:
            say(json_row(outcome=outcome, ns=args.ns, id=id, detail=detail, place=each.place, count=each.count))
        return
    outcome_table((word, id, detail) for detail, _ in details)


def _sum_up(done: Certificate) -> None:
    if not done.erased:
        say("Nothing was there to erase.")
    again = sum(each.count for each in done.found)
    say(f"Looked for again in all of these and in {done.looked_through:,} files of this program: {again:,} found.")
    for file in done.files:
        say(f"One of the texts is still in {file}, perhaps of another document.")
    say(f"There is no way back. Not reached from here: {'; '.join(ELSEWHERE)}.")
