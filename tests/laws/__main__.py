"""``python -m tests.laws``: the laws over 100,000 pairs and triples of documents, half of them wide.

Prints its seed; ``--seed`` repeats the same documents. Ends with 1 and the documents if a law is broken.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.laws import laws, wide
from tests.model.diff.bson_strategies import documents, related

CHUNK = 2000  # examples between two lines of progress


def _small(number: int, start: int) -> None:
    """Documents of every type and shape, shrunk where a law is broken."""
    several = settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )

    @seed(start)
    @several
    @given(related(3))
    def changed(three: tuple[bytes, bytes, bytes]) -> None:
        laws.of_a_diff(three[0], three[1])
        laws.of_a_merge(*three)

    @seed(start)
    @settings(several, max_examples=max(number // 10, 1))
    @given(documents(), documents())
    def unrelated(a: bytes, b: bytes) -> None:
        laws.of_a_diff(a, b)

    changed()
    unrelated()


def _wide(number: int, start: int) -> None:
    """Documents with many fields and long arrays."""
    for n in range(start, start + number):
        three = wide.related(random.Random(n), 3)
        try:
            laws.of_a_diff(three[0], three[1])
            laws.of_a_merge(*three)
        except Exception as error:
            error.add_note(f"wide.related(random.Random({n}), 3)")
            raise


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=100_000, help="pairs and triples")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    arguments = parser.parse_args()
    print(f"--seed {arguments.seed} --count {arguments.count}", flush=True)
    began, done = time.monotonic(), 0
    while done < arguments.count:
        number = min(CHUNK, arguments.count - done)
        try:
            _small((number + 1) // 2, arguments.seed + done)
            _wide(number // 2, arguments.seed + done)
        except Exception:
            traceback.print_exc()
            print(f"A law is broken; again with --seed {arguments.seed + done} --count {number}")
            return 1
        done += number
        print(f"{done:>9,} pairs and triples, {time.monotonic() - began:,.0f} s", flush=True)
    print("Every law held.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
