"""``python -m tests.killed_plans``: every plan in every layout, its process killed at every write.

    python -m tests.killed_plans                            all of it
    python -m tests.killed_plans --kind copy --layout archive

Exit status: 0 if nothing is lost or doubled and every careless subject is convicted, else 1.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.killed_plans.careless import SUBJECTS
from tests.killed_plans.proving import convicted, proved
from tests.killed_plans.scenes import KINDS


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.killed_plans", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--kind", choices=KINDS, help="one kind of plan; else all")
    parser.add_argument("--layout", help="one layout; else all")
    asked = parser.parse_args()
    kinds = [asked.kind] if asked.kind else list(KINDS)
    deaths, wrong = 0, list[str]()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        for kind in kinds:
            for layout in KINDS[kind]:
                if asked.layout in (None, layout):
                    done, said = proved(kind, layout, Path(folder) / f"{kind}-{layout}")
                    deaths, wrong = deaths + done, wrong + said
                    print(
                        f"{kind:8} {layout:9} killed {done:3} times, {len(said)} wrong", *said, sep="\n  ", flush=True
                    )
            if kind in SUBJECTS and asked.layout is None and not convicted(kind, SUBJECTS[kind], Path(folder) / kind):
                wrong.append(f"{kind}: a careless subject is not convicted")
    print(f"{deaths} processes killed, {len(wrong)} times something was wrong.")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
