"""The command that measures a server: check."""

from __future__ import annotations

import argparse
import sys

from model.commands.output import Progress, json_row
from model.commands.standard_streams import say
from model.foundation.guarantee import NEEDS, Guarantee
from model.guarantees.server_verdicts import Measured
from model.session import Session

_MARKS = {"safe": "ok", "unsafe": "UNSAFE", "limited": "limited", "unknown": "unknown"}


def check(args: argparse.Namespace) -> int:
    """Print the guarantees of a server; 1 if something is unsafe."""
    with Session.open(args.source, args.profile, args.read_only) as session, Progress("Measuring") as progress:
        if args.allow_edits or args.refuse_edits:
            session.trust.allow_unsafe(args.allow_edits)
            said = "allowed, whatever a check finds" if args.allow_edits else "refused where a check finds it unsafe"
            say(f"Editing on {session.name} is {said}.")
            return 0
        found: list[Guarantee] = []
        if not session.trust.read_only:
            say(f"Measuring in the database {session.trust.scratch}, which is dropped at the end.", file=sys.stderr)
        for each in session.trust.check(args.quick, progress):
            found.append(each)
            progress.make_way()
            _print(each, args.json)
        unsafe = [each for each in found if each.verdict == "unsafe"]
        if not args.json:
            say()
            say(_summary(unsafe, [each for each in found if each.verdict == "unknown"]))
        left = _left_from_before(session.trust.measured, unsafe, args.json)
        return 1 if unsafe or left else 0


def _print(each: Guarantee, as_json: bool) -> None:
    if as_json:
        say(json_row(check=each.check, verdict=each.verdict, detail=each.detail, advice=each.advice))
        return
    say(f"{_MARKS[each.verdict]:8} {each.title}: {each.detail}")
    if each.advice:
        say(f"         {each.advice}")


def _left_from_before(measured: Measured | None, unsafe: list[Guarantee], as_json: bool) -> bool:
    """Whether an earlier check found unsafe points that this one did not test; a table mentions them."""
    if measured is None:
        return False
    left = [said for said in measured.unsafe if said not in {each.detail for each in unsafe}]
    if left and not as_json:
        say(f"A check of {measured.at:%Y-%m-%d} found more that is unsafe, and this one did not look at it again:")
        say("\n".join(f"  {said}" for said in left))
    return bool(left)


def _summary(unsafe: list[Guarantee], unknown: list[Guarantee]) -> str:
    if unsafe:
        what = ", ".join(each.title.lower() for each in unsafe)
        writes = "; ".join(NEEDS[each.check].called for each in unsafe if each.check in NEEDS)
        return f"Unsafe: {what}. Refused on this connection until --allow-edits overrides it: {writes}."
    if unknown:
        return f"Nothing unsafe was found; not measured: {', '.join(each.title.lower() for each in unknown)}."
    return "Nothing unsafe was found."
