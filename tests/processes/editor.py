"""One process: some edits of one document, each by ``palimpsest edit``; a line of JSON per attempt."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys

import pymongo.common

pymongo.common.MIN_HEARTBEAT_INTERVAL = 0.02  # a lost connection waits that long; by default half a second

from model.commands.command_line import main  # noqa: E402

TRIES = 8
APPLIED, CONFLICT, TROUBLE, UNKNOWN = range(4)


def palimpsest(arguments: list[str], fresh: bool = False) -> tuple[int, str]:
    """The exit status and what was printed; ``fresh`` starts a process for it, as a shell does."""
    if fresh:
        done = subprocess.run([sys.executable, "-m", "gui", *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = main(arguments)
    return status, said.getvalue()


def run(uri: str, ns: str, profile: str, name: str, edits: int, fresh: int) -> None:
    """Do the edits, the first try of the first ``fresh`` of them in processes of their own."""
    for number in range(edits):
        for attempt in range(TRIES):
            mark = f"{name}e{number}a{attempt}"
            arguments = ["edit", uri, ns, "K-1", "--profile", profile, "--set", f"marks.{mark}=1", "--json"]
            status, said = palimpsest(arguments, number < fresh and not attempt)
            print(json.dumps({"mark": mark, "status": status, "said": said[-400:]}), flush=True)
            if status in (APPLIED, UNKNOWN):
                break


if __name__ == "__main__":
    run(*sys.argv[1:5], *map(int, sys.argv[5:7]))
