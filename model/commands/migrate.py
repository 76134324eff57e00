"""The command that moves a collection to another layout: ``palimpsest migrate SOURCE NS --to LAYOUT``."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable

from model.commands.arguments import choose_layout, open_session
from model.commands.output import Progress, json_row
from model.commands.standard_streams import say
from model.errors import Refused
from model.foundation.records import Outcome
from model.operations.migration import Checked

_SHOWN = 20  # documents that are named one by one, except with --json


def migrate(args: argparse.Namespace) -> int:
    """Copy and verify, take back, or remove the old versions; without --apply, say how copying would end."""
    fields = dict(_field(written) for written in args.field)
    with open_session(args) as session, Progress("Looking at document") as progress:
        choose_layout(args, session)
        moving = session.exchange.migration(args.ns, args.to, args.target or "", fields, args.newest_only)
        told = _Told(args.json, progress)
        if args.take_back or args.remove_old:
            if not args.apply:
                raise Refused("Removing is done with --apply only; without it nothing is removed.")
            told.outcomes(moving.take_back(progress) if args.take_back else moving.remove_old(progress))
            return told.status("removed")
        if not args.apply:
            told.outcomes(moving.dry_run(progress))
            status = told.status("would be copied")
            if not args.json:
                say(f"Nothing was written. Copied to {moving.target.ns} with --apply, it is stated as:\n{moving.toml}")
            return status
        told.outcomes(moving.run(progress))
        status = told.status("copied")
        wrong = told.checked(moving.verify(progress))
        if not args.json and not status and not wrong:
            say(f"State both in a profile, for side by side they look like one's archive; {args.ns} stays as it is:")
            say(moving.toml)
        return max(status, wrong)


def _field(written: str) -> tuple[str, str]:
    role, mark, name = written.partition("=")
    if not mark or role not in ("id", "version", "token", "current", "prev", "removed", "hash", "at", "archive"):
        raise Refused(f"{written} names no field; write it as version=rev, id=docId or archive=shop.past.")
    return role, name


class _Told:
    """Prints rows as they come, and counts them."""

    def __init__(self, as_json: bool, progress: Progress) -> None:
        self._json, self._progress = as_json, progress
        self._counts: Counter[str] = Counter()

    def outcomes(self, found: Iterable[Outcome]) -> None:
        """Print a row for each outcome; as text, only for those that need a person."""
        last: dict[object, str] = {}
        shown = 0
        for each in found:
            last[each.id] = each.kind
            self._progress.make_way()
            if self._json:
                say(json_row(outcome=each.kind, ns=each.ns, id=each.id, detail=each.detail))
            elif each.kind not in ("applied", "skipped") and (shown := shown + 1) <= _SHOWN:
                say(f"{each.kind}: {each.detail}")
        self._counts = Counter(last.values())

    def status(self, done: str) -> int:
        """Print a line on all outcomes; returns the exit status."""
        counts = self._counts
        if not self._json:
            parts = [f"{counts['applied']:,} {done}", f"{counts['skipped']:,} left as they are"]
            parts += [f"{counts[kind]:,} {kind}" for kind in ("refused", "conflict", "unknown") if counts[kind]]
            say(", ".join(parts) + ".")
        return 3 if counts["unknown"] else 1 if counts["refused"] or counts["conflict"] else 0

    def checked(self, found: Iterable[Checked]) -> int:
        """Print the result of verifying; 1 if something differs."""
        documents = versions = wrong = 0
        for each in found:
            documents += 1
            versions += each.versions
            if each.wrong:
                wrong += 1
                self._progress.make_way()
                if self._json:
                    say(json_row(outcome="refused", ns="", id=each.id, detail=each.wrong))
                elif wrong <= _SHOWN:
                    say(f"differs: {each.wrong}")
        if not self._json:
            say(f"{versions:,} versions of {documents:,} documents are equal in both places, {wrong:,} are not.")
        return 1 if wrong else 0
