"""Install programs that write histories, let them write with a fresh seed, and judge how the product shows them.

The states of known programs are compared; for those in ``unknown``, nothing may be claimed.

If a program's documents may be edited from here, that is done too; then the program reads every version, restores an
earlier one and continues to save.

``python -m tests.writers [--only NAME] [--seed N] [--documents 100] [--states 30] [--keep FOLDER]``
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from model.writers.writers import preset
from tests.writers.editing import Edits, misread
from tests.writers.judging import OFFERED, judged, misjudged, offered
from tests.writers.libraries import NAMES, UNKNOWN, VARIANTS, write


def main() -> int:
    """Print a line a program; 1 where one is shown wrongly."""
    asked = argparse.ArgumentParser(prog="python -m tests.writers")
    asked.add_argument("--only", action="append", choices=(*NAMES, *VARIANTS, *UNKNOWN))
    asked.add_argument("--seed", type=int, default=random.randrange(2**31))
    asked.add_argument("--documents", type=int, default=100)
    asked.add_argument("--states", type=int, default=30)
    asked.add_argument("--keep", type=Path, help="keep dumps and states here")
    args = asked.parse_args()
    print(f"seed {args.seed}")
    wrong = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        for name in args.only or (*NAMES, *VARIANTS, *UNKNOWN):
            may = name not in UNKNOWN and preset(name.partition("/")[0]).keys.get("edit", "no") != "no"
            edits = Edits(Path(scratch) / "home", args.seed) if may else None
            read = write(name, folder, args.seed, args.documents, args.states, edits)
            if name in UNKNOWN:
                told = misjudged(name, folder) + (offered(name, folder).wrong if name in OFFERED else [])
                print(f"{name:40} {'; '.join(told) or 'claimed as nothing that it is not'}", flush=True)
                wrong += len(told)
                continue
            verdict = judged(name, folder)
            if edits is not None:
                verdict.wrong += misread(folder / name, read)
            said = f"{verdict.states:,} states right ({verdict.exact:,} to the type), {len(verdict.wrong)} wrong"
            wrote = f", {edits.done:,} edits from here" if edits is not None else ""
            print(f"{name:28} {said}, {verdict.findings} findings{wrote}", flush=True)
            for each in verdict.wrong[:5]:
                print(f"    {each}")
            wrong += len(verdict.wrong) + verdict.findings
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
