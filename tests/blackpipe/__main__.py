"""``python -m tests.blackpipe``: the operations of the product over a connection that fails on cue.

    python -m tests.blackpipe                     about 5,400 cases, chosen by the seed
    python -m tests.blackpipe --all               every case
    python -m tests.blackpipe --tokens            where a profile states a write token
    python -m tests.blackpipe --case 'standalone/archive/edit/4/land late/once' --seed 7
    python -m tests.blackpipe --malformed 10000   replies that are no replies
    python -m tests.blackpipe --kill              processes killed at each message

Exit status: 0 where nothing is violated and every blind writer is convicted, else 1.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter

from tests.blackpipe import killed, malformed
from tests.blackpipe.blind import BLIND, convictions
from tests.blackpipe.cases import SERVERS, Case, Result, benches
from tests.blackpipe.pipe import FAULTS

USUAL = 5400
EVERY = 26_000  # about as many there are


def chosen(case: Case, seed: int, share: float) -> bool:
    """Whether a case belongs to the share of this seed."""
    return random.Random(f"{seed} {case}").random() < share


def run(seed: int, share: float, only: str, tokens: bool = False) -> list[Result]:
    """The cases of a seed; what is wrong is printed as it is found."""
    results: list[Result] = []
    for server in SERVERS:
        with benches(server, only, tokens) as each:
            for bench in each:
                for case in bench.cases():
                    if chosen(case, seed, share):
                        results.append(bench.run(case, seed))
                        if results[-1].wrong:
                            print(shown(results[-1], seed, tokens), flush=True)
    return results


def shown(result: Result, seed: int, tokens: bool = False) -> str:
    """A result in full, and how to see it again."""
    wrong = "".join(f"\n  WRONG: {each}" for each in result.wrong)
    how = " --tokens" if tokens else ""
    return f"--case '{result.case}' --seed {seed}{how}\n  {result.told}: {result.detail}{wrong}\n  hit {result.hit}"


def table(results: list[Result]) -> list[str]:
    """Faults by what people were told, and how many of each were wrong."""
    kinds = ("applied", "conflict", "refused", "skipped", "unknown", "crashed")
    lines = [f"{'fault':22}{'cases':>7}" + "".join(f"{kind:>10}" for kind in kinds) + f"{'violations':>12}"]
    for fault in (*FAULTS, ""):
        mine = [r for r in results if not fault or r.case.fault == fault]
        told = Counter(r.told for r in mine)
        wrong = sum(bool(r.wrong) for r in mine)
        lines.append(f"{fault or 'all':22}{len(mine):7,}" + "".join(f"{told[k]:10,}" for k in kinds) + f"{wrong:12,}")
    return lines


def _one(named: str, seed: int, tokens: bool) -> int:
    server, layout, operation, point, fault, times = named.split("/")
    with benches(server, f"{layout}/{operation}", tokens) as each:
        for bench in each:
            result = bench.run(Case(layout, operation, int(point), fault, times, server), seed)
            print(f"messages: {bench.messages}\n{shown(result, seed, tokens)}")
            return 1 if result.wrong else 0
    raise SystemExit(f"There is no operation {layout}/{operation}.")


def _convicted(seed: int) -> bool:
    found = Counter(name for server in SERVERS for name, _, _ in convictions(server, seed))
    for blind in BLIND:
        print(f"{blind.name}: convicted in {found[blind.name]} cases")
    return all(found[blind.name] for blind in BLIND)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.blackpipe", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--all", action="store_true", help="every case, not a share of them")
    parser.add_argument("--tokens", action="store_true", help="state a write token for the collection")
    parser.add_argument("--cases", type=int, default=USUAL, help="about how many")
    parser.add_argument("--only", default="", help="a layout, or layout/operation")
    parser.add_argument("--case", help="one case, as it was printed")
    parser.add_argument("--malformed", type=int, help="that many malformed replies instead")
    parser.add_argument("--kill", action="store_true", help="processes killed at each message instead")
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    if asked.malformed is not None:
        return malformed.main(asked.malformed, asked.seed)
    if asked.kill:
        return killed.main(1.0, asked.seed)
    if asked.case:
        return _one(asked.case, asked.seed, asked.tokens)
    began = time.monotonic()
    results = run(asked.seed, 1.0 if asked.all else asked.cases / EVERY, asked.only, asked.tokens)
    print(*table(results), sep="\n")
    wrong = sum(bool(r.wrong) for r in results)
    took = time.monotonic() - began
    print(f"{len(results):,} cases in {took:.0f} s, {len(results) / took:.1f} a second, {wrong:,} violations")
    convicted = _convicted(asked.seed)
    return 1 if wrong or not convicted else 0


if __name__ == "__main__":
    sys.exit(main())
