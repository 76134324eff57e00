"""``python -m tests.over_time``: random edits by twenty authors in all layouts and as other programs, then queried.

    python -m tests.over_time --edits 10000 --moments 1000
    python -m tests.over_time --only archive --seed 7      one source, the same edits again

Clocks jump, versions are lost, documents come and go. Prints its seed. Exit status: 0 where every change is told once
and in order, every state is right or marked where it cannot be proven, and each careless subject is convicted.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

from model.localserver import LocalServer
from model.server.retry import Server
from tests.over_time.judging import SHOWN, SUBJECTS, Tally, judged
from tests.over_time.oracle import Oracle
from tests.over_time.sources import NAMES, source


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.over_time", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--edits", type=int, default=10_000, help="edits, over all sources")
    parser.add_argument("--moments", type=int, default=1000, help="random times, over all sources")
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**31))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    names = asked.only or NAMES
    edits, moments = -(-asked.edits // len(names)), -(-asked.moments // len(names))
    whole, edited, guilty = Tally(), 0, True
    with LocalServer() as local, Server.connect(local.uri) as server:
        for name in names:
            began = time.monotonic()
            oracle = Oracle(source(server, f"over_time_{NAMES.index(name)}", name), f"{name} {asked.seed}")
            oracle.run(edits)
            edited += oracle.edits
            found = judged(oracle, moments)
            told = (
                f"{oracle.edits:,} edits, {found.changes:,} changes, {found.states:,} states at {found.moments:,} times"
            )
            seconds = time.monotonic() - began
            print(f"{name:24} {told}, {found.marked:,} marked, {len(found.wrong)} wrong, {seconds:.0f} s", flush=True)
            for each in found.wrong[:SHOWN]:
                print(f"    {each}")
            whole.add(found)
        for subject, tellers in SUBJECTS.items():
            oracle = Oracle(source(server, f"subject_{len(subject)}", "versions"), f"{subject} {asked.seed}")
            oracle.run(400)
            wrong = len(judged(oracle, 40, *tellers).wrong)
            print(f"{'convicted' if wrong else 'NOT CONVICTED':13} {subject}: {wrong} wrong", flush=True)
            guilty = guilty and wrong > 0
    print(
        f"{edited:,} edits, {whole.changes:,} changes, {whole.states:,} states at {whole.moments:,} times, "
        f"{whole.marked:,} of them marked: {len(whole.wrong)} wrong"
    )
    return 0 if guilty and not whole.wrong else 1


if __name__ == "__main__":
    sys.exit(main())
