"""The in-process server in a process of its own, as the primary of a replica set, until its input ends."""

from __future__ import annotations

import sys

from model.localserver import LocalServer

HISTORY = 1_000_000  # changes that a feeder may go back by

if __name__ == "__main__":
    with LocalServer(replica_set="soak", history=HISTORY) as server:
        print(server.uri, flush=True)
        sys.stdin.read()
