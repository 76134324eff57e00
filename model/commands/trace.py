"""Commands that follow a document through all its versions: blame and bisect."""

from __future__ import annotations

import argparse
import sys

from model import text
from model.commands.arguments import document, open_session
from model.commands.output import Progress, json_row, moment, number, table
from model.commands.standard_streams import say
from model.foundation.records import Version
from model.history.chain import Bisection, Blame, SeenValue, Turn, key_text
from model.text.names import version_name


def blame(args: argparse.Namespace) -> int:
    """Print each field of the current version with the version that last set it."""
    with open_session(args) as session, Progress("Reading version") as progress:
        left_out: list[Version] = []
        found = session.history.blame(
            args.ns, document(args, session), progress, ("_id", *args.keys) if args.keys else None, left_out=left_out
        )
        progress.make_way()
        for each in left_out:
            said = f"{version_name(each.v)} never landed, because it is above the current version; it is left out."
            say(said, file=sys.stderr)
        if args.json:
            for one in found:
                of, old = one.version, one.before
                before = {"before": old and old.value, "before_bytes": old and old.size}
                say(json_row(path=list(one.path), v=of.v, at=of.at, author=of.author, reason=of.reason, **before))
            return 0
        reasons = any(one.version.reason for one in found)
        header = ("Field", "Set in", "At", "By", *(["Reason"] if reasons else []), "Before", "Value")
        table(header, (_blame_cells(one, reasons) for one in found))
    return 0


def _blame_cells(one: Blame, reasons: bool) -> tuple[str, ...]:
    version = version_name(one.version.v)
    where = (
        version if one.since is None else f"{version_name(one.since.v)}–{version}" if one.op else f"{version} or before"
    )
    why = [one.version.reason or ""] if reasons else []
    values = _shown(one.before) if one.before else "", _shown(one.now)
    return key_text(one.key), where, moment(one.version.at), one.version.author or "", *why, *values


def _shown(seen: SeenValue) -> str:
    return f"{seen.kind}, {number(seen.size)} bytes" if seen.value is None else text.shown(seen.value, limit=50)


def bisect(args: argparse.Namespace) -> int:
    """Print the versions at which a condition changes; 1 if it never does."""
    with open_session(args) as session, Progress("Looking at version") as progress:
        found = session.history.bisect(args.ns, document(args, session), args.filter, progress, whole=args.all)
        progress.make_way()
        if found.halved:
            say(
                f"Found by halving, in {found.looked:,} versions: if the condition turned more than once, "
                "--all finds every turn.",
                file=sys.stderr,
            )
        if args.json:
            for turn in found.turns:
                of = turn.version
                row = {"v": of.v, "at": of.at, "holds": turn.holds, "before": turn.before.v, "missing": turn.gap}
                say(json_row(**row, author=of.author, reason=of.reason))
        elif found.turns:
            table(("Version", "At", "By", "", ""), map(_turn_cells, found.turns))
        else:
            say(_never(found))
    return 0 if found.turns else 1


def _turn_cells(turn: Turn) -> tuple[str, ...]:
    version = turn.version
    missing = "version" if turn.gap == 1 else "versions"
    doubt = f"or in one of the {turn.gap} missing {missing} after {version_name(turn.before.v)}" if turn.gap else ""
    says = "holds from here on" if turn.holds else "does not hold from here on"
    return version_name(version.v), moment(version.at), version.author or "", says, doubt


def _never(found: Bisection) -> str:
    if not found.looked:
        return "No version could be read."
    says = "holds in each" if found.holds else "does not hold in any"
    return f"It never turns: the condition {says} of the {found.looked:,} versions that can be read."
