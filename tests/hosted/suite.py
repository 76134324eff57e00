"""``python -m tests.hosted.suite``: the tests that run on any server, on every server that people use.

    python -m tests.hosted.suite                                                    all of them, some minutes each
    python -m tests.hosted.suite --server documentdb-5 tests/model/layouts -x       further arguments go to pytest

Each server is simulated in this process and given to pytest as ``PALIMPSEST_TEST_URI``. A test that fails after the
program said what the server lacks is skipped with these words, which the summary lists. Exit status: 0 if no test
failed, else 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import replace

from pymongo.common import MIN_SUPPORTED_WIRE_VERSION

from tests.servers.hosted_server import PROFILES, HostedServer
from tests.support import ROOT

FOLDERS = ("tests/model", "tests/journeys", "tests/migrating", "tests/repairing", "tests/scanning")


def ran(name: str, asked: list[str]) -> tuple[str, bool]:
    """Run tests on a server; the last line that pytest prints, with the numbers, and whether all is well."""
    profile = PROFILES[name]
    spoken = replace(profile, wire=max(profile.wire, MIN_SUPPORTED_WIRE_VERSION))  # the driver takes no older one
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-k", "given", "-p", "tests.hosted.said"]
    command += asked or FOLDERS
    with HostedServer(spoken) as server:
        given = os.environ | {"PALIMPSEST_TEST_URI": server.address}
        with subprocess.Popen(command, cwd=ROOT, env=given, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdout is not None
            line = ""
            for line in running.stdout:
                print(line, end="", flush=True)
    return line.strip(), running.returncode == 0


def main() -> int:
    """Run what the command line asks for; the numbers of all servers come last."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.hosted.suite", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--server", action="append", choices=list(PROFILES), help="one of them; else all")
    asked, words = parser.parse_known_args()
    names = asked.server or list(PROFILES)
    ends = {name: ran(name, words) for name in names}
    print()
    for name, (line, _) in ends.items():
        print(f"{name:22} {line}")
    return 0 if all(well for _, well in ends.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
