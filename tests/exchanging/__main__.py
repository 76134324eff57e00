"""``python -m tests.exchanging REPOSITORY PATH …``: JSON files of a git repository, with all their versions.

Each file is planted as a document in every layout that keeps versions, with the times and authors of its commits. It
is exported to git, to a folder and to lines of JSON; each is imported into a collection of its own and compared
version by version. Ends with 1 if a version differs, or if the check overlooks one that was changed on purpose.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from model.localserver import LocalServer
from tests.exchanging.run import LAYOUTS, exchanged, lives_of


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.exchanging", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("paths", nargs="+", metavar="PATH")
    parser.add_argument("--last", type=int, default=10**6, help="only so many versions of each file")
    parser.add_argument(
        "--layout", choices=LAYOUTS, action="append", default=[], help="only this one; again for others"
    )
    asked = parser.parse_args()
    lives = lives_of(asked.repository, asked.paths, asked.last)
    print(f"{sum(map(len, lives.values())):,} versions of {len(lives)} documents")
    bad = 0
    with LocalServer() as server, tempfile.TemporaryDirectory() as home:
        for layout in asked.layout or LAYOUTS:
            began = time.monotonic()
            wrong, versions, blind = exchanged(server.uri, layout, lives, Path(home))
            bad += bool(wrong) or blind
            said = "; a version that was changed on purpose was not seen" if blind else ""
            print(
                f"{layout:10} {versions:6,} versions  {len(wrong)} wrong  {time.monotonic() - began:.1f} s{said}",
                flush=True,
            )
            for each in wrong[:5]:
                print(f"    {each}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
