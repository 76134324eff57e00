"""The pipe as a command: a proxy that fails on cue or by the dice, and the audit when it is stopped."""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from model.commands.arguments import open_session
from model.commands.output import json_row
from model.commands.standard_streams import say
from model.commands.stop_signals import until_stopped
from model.errors import NotAllowed, Refused
from model.pipe import Audit, Drawn, FaultPlan, Pipe, Wrong
from model.pipe.faults import FAULTS, Faults, said
from model.pipe.proxy import PASSED
from model.profile import Profile
from model.session import sources
from model.text.names import id_name

ADDRESS = "PALIMPSEST_PIPE"
"""The environment variable by which a program that the pipe starts knows where to connect."""
_LOOK = 0.1  # seconds between two looks whether a program has ended


def pipe(args: argparse.Namespace) -> int:
    """Carry messages until stopped, then audit; 0 if nothing is wrong, 1 if something is."""
    if args.read_only:
        raise NotAllowed("The pipe passes writes on, so it cannot be read-only; leave --read-only out.")
    faults, how = _faults(args)
    stated = Profile.load(args.audit) if args.audit else None
    args.profile = args.audit or args.profile
    with until_stopped() as stop, open_session(args) as session:
        audit = Audit(session, stated) if stated is not None else None
        with Pipe(session.dial, faults, args.listen, audit, lambda sentence: say(sentence, file=sys.stderr)) as made:
            _tell(args, how, made)
            status = _until_the_end(args, made, stop)
        _sum_up(args, made.did, audit)
        wrong = _judged(args, audit)
        if not wrong and status:
            raise Refused(f"The program ended with status {status}, and what it had written by then is right.")
    return 1 if wrong else 0


def _faults(args: argparse.Namespace) -> tuple[Faults, str]:
    """What goes wrong, and that in words."""
    if args.plan:
        return FaultPlan.load(args.plan), f"faults by {args.plan}"
    if unknown := [each for each in args.fault if each not in FAULTS]:
        raise Refused(f"{unknown[0]} is no fault; they are {', '.join(FAULTS)}.")
    if not 0 <= args.rate <= 100:
        raise Refused(f"--rate is a share of writes in percent, from 0 to 100, and not {args.rate:g}.")
    seed = random.SystemRandom().randrange(10**9) if args.seed is None else args.seed
    kinds = tuple(args.fault) or tuple(FAULTS)
    return Drawn(seed, args.rate / 100, args.rate / 3000, kinds), f"faults drawn with --seed {seed}"


def _tell(args: argparse.Namespace, how: str, made: Pipe) -> None:
    if args.json:
        say(json_row(listening=made.uri, faults=how), flush=True)
    else:
        say(f"Connect the program to {made.uri} ({how}).", flush=True)


def _until_the_end(args: argparse.Namespace, made: Pipe, stop: threading.Event) -> int:
    """Wait until stopped, for --for, or for the program of --run; returns the program's status, else 0."""
    seconds = args.seconds.total_seconds() if args.seconds is not None else None
    if not args.program:
        stop.wait(seconds)
        return 0
    with _started(args.program, made, sources.with_kept_password(args.source)) as program:
        waited = 0.0
        while program.poll() is None and not stop.wait(_LOOK):
            waited += _LOOK
            if seconds is not None and waited >= seconds:
                break
        return program.poll() or 0


@contextmanager
def _started(words: list[str], made: Pipe, source: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program, which is ended with the block."""
    try:
        program = subprocess.Popen(words, env=os.environ | {ADDRESS: made.uri_like(source)})
    except OSError as error:
        raise Refused(f"{words[0]} cannot be started: {error.strerror or error}.") from None
    try:
        yield program
    finally:
        if program.poll() is None:
            program.terminate()
            try:
                program.wait(5)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def _sum_up(args: argparse.Namespace, did: Counter[str], audit: Audit | None) -> None:
    counts = {} if audit is None else {"acknowledged": audit.seen.acknowledged, "in_doubt": audit.seen.in_doubt}
    if args.json:
        say(json_row(passed=did[PASSED], did={name: did[name] for name in FAULTS if did[name]}, **counts), flush=True)
        return
    say(f"Writes that passed: {did[PASSED]:,}. Faults: {said(did) or 'none'}.")
    if counts:
        say(f"Acknowledged: {counts['acknowledged']:,}. In doubt, as their reply was lost: {counts['in_doubt']:,}.")


def _judged(args: argparse.Namespace, audit: Audit | None) -> list[Wrong]:
    """Print what is wrong."""
    if audit is None:
        return []
    found = audit.wrong()
    for sentence in audit.unchecked:
        say(f"Not checked: {sentence}", file=sys.stderr)
    for each in found:
        if args.json:
            say(json_row(wrong=each.kind, ns=each.ns, id=each.id, detail=each.detail))
        else:
            say(f"{each.kind}: {each.ns} {'' if each.id is None else id_name(each.id)}: {each.detail}")
    if not args.json:
        say(f"{len(found):,} wrong." if found else "Nothing is wrong.")
    return found
