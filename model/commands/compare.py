"""The command that compares two collections: ``palimpsest compare SOURCE NS SOURCE NS [--key PATH]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from model.commands.arguments import open_session
from model.commands.comparing import rules_of
from model.commands.output import Progress, json_row, table
from model.commands.standard_streams import say
from model.session.two_collections import SideBySide, Standing
from model.text.names import id_name, version_name
from model.values.canonical import Value

HEADER = ("Document", "What", "Here", "There", "Since")


def compare(args: argparse.Namespace) -> int:
    """Print what differs between two collections; 1 if anything does."""
    given = rules_of(args)
    reading = argparse.Namespace(**{**vars(args), "read_only": True, "into_memory": False})
    with open_session(reading) as here, open_session(args, args.other_source) as there:
        with Progress("Comparing document") as progress:
            two = here.beside(args.ns, there, args.other_ns, args.key)
            rules = given.with_unordered(two.unordered.unordered)
            if rules:
                say(rules.words, file=sys.stderr if args.json else sys.stdout)
            found = two.compare(rules, progress)
            _print(found, args.json, progress)
        say(_summed(found), file=sys.stderr if args.json else sys.stdout)
    return 1 if found.counts else 0


def _print(found: SideBySide, as_json: bool, progress: Progress) -> None:
    if as_json:
        for each in found:
            progress.make_way()
            say(_row(each))
    else:
        table(HEADER, map(_cells, _quiet(found, progress)), progress=progress)


def _quiet(found: SideBySide, progress: Progress) -> Iterator[Standing]:
    for each in found:
        progress.make_way()
        yield each


def _row(each: Standing) -> str:
    sides = {"id": each.here if each.here is not None else each.there, "other_id": each.there}
    return json_row(key=each.key, **sides, change=each.change, **{"from": each.v, "to": each.w}, since=each.since)


def _cells(each: Standing) -> tuple[str, ...]:
    return (id_name(each.key), each.change, _named(each.v), _named(each.w), _named(each.since))


def _named(v: Value | None) -> str:
    return version_name(v) if v is not None else ""


def _summed(found: SideBySide) -> str:
    """How many documents are the same, and how many differ in each way."""
    return ", ".join(f"{count:,} {what}" for what, count in (("same", found.same), *found.counts.items())) + "."
