"""The command that measures a server: check."""

from __future__ import annotations

import argparse

from model.commands.output import Progress, json_row
from model.commands.standard_streams import say
from model.foundation.guarantee import Guarantee
from model.session import Session

_MARKS = {"safe": "ok", "unsafe": "UNSAFE", "limited": "limited", "unknown": "unknown"}


def check(args: argparse.Namespace) -> int:
    """Print the guarantees of a server; 1 where something is unsafe."""
    with Session.open(args.source, args.profile, args.read_only) as session, Progress("Measuring") as progress:
        if args.allow_edits or args.refuse_edits:
            session.trust.allow_unsafe(args.allow_edits)
            said = "allowed, whatever a check finds" if args.allow_edits else "refused where a check finds it unsafe"
            say(f"Editing on {session.name} is {said}.")
            return 0
        found: list[Guarantee] = []
        for each in session.trust.check(args.quick, progress):
            found.append(each)
            progress.make_way()
            if args.json:
                say(json_row(check=each.check, verdict=each.verdict, detail=each.detail, advice=each.advice))
            else:
                say(f"{_MARKS[each.verdict]:8} {each.title}: {each.detail}")
                if each.advice:
                    say(f"         {each.advice}")
        unsafe = [each for each in found if each.verdict == "unsafe"]
        if not args.json:
            say()
            say(_summary(unsafe, [each for each in found if each.verdict == "unknown"]))
        measured = session.trust.measured
        left = [] if measured is None else [said for said in measured.unsafe if said not in {e.detail for e in unsafe}]
        if left and measured is not None and not args.json:
            say(f"A check of {measured.at:%Y-%m-%d} found more that is unsafe, and this one did not look at it again:")
            say("\n".join(f"  {said}" for said in left))
        return 1 if unsafe or left else 0


def _summary(unsafe: list[Guarantee], unknown: list[Guarantee]) -> str:
    if unsafe:
        what = ", ".join(each.title.lower() for each in unsafe)
        return f"Unsafe: {what}. Editing is refused on this connection until --allow-edits overrides it."
    if unknown:
        return f"Nothing unsafe was found; not measured: {', '.join(each.title.lower() for each in unknown)}."
    return "Nothing unsafe was found."
