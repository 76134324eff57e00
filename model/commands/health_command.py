"""The command that shows how a source has fared over time: health."""

from __future__ import annotations

import argparse
import sys

from model import sources
from model.commands.output import json_row, moment, number, table
from model.health import Health, compared, told


def health(args: argparse.Namespace) -> int:
    """The scans of a source that were made from here, newest first; the source itself is not opened."""
    source = sources.named(args.source)
    scans = compared(Health(source).scans(args.place))
    if not scans:
        where = f"{args.place} in {source}" if args.place else source
        why = (
            "The sample is made anew each time, so its scans are only kept while a window shows it."
            if source == sources.SAMPLE
            else f"`palimpsest scan SOURCE{f' {args.place}' if args.place else ''}` makes the first."
        )
        print(f"No scan of {where} was made from here yet. {why}", file=sys.stderr)
        return 0
    if args.json:
        for scan, before in scans:
            print(
                json_row(
                    at=scan.at,
                    place=scan.place,
                    ids=scan.ids,
                    documents=scan.documents,
                    seconds=round(scan.seconds, 3),
                    whole=scan.whole,
                    findings=scan.findings,
                    classes=dict(scan.counts),
                    before=None if before is None else dict(before.counts),
                    unchecked=scan.unchecked,
                )
            )
        return 0
    rows = []
    for scan, before in scans:
        said = told(scan, before) or "nothing found"
        said += "" if scan.whole else "; stopped before its end"
        rows.append((moment(scan.at), scan.where, number(scan.documents), number(scan.findings), said))
    table(("When", "Where", "Documents", "Findings", "By class, and the change since the scan before"), rows, (2, 3))
    return 0
