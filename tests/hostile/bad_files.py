"""The attack on what is read: commands get files that never end, that unpack without end, or that are none.

Each runs in a process of its own, which must end by itself, in little memory, with one sentence.
"""

from __future__ import annotations

import gzip
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import support

ROOM = 1200 << 20  # bytes that a command may take; one that reads little takes 100 MB
SLOW = 90.0  # seconds on a busy machine
NS = "insurance.contracts"
Bad = Callable[[Path], object]
Words = Callable[[Path, Path], Sequence[str]]


def zeros_without_end(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_pipe(path: Path) -> None:
    os.mkfifo(path)


def a_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))


def a_folder(path: Path) -> None:
    path.mkdir()


def a_link_to_itself(path: Path) -> None:
    path.symlink_to(path.name)


def nothing_but_size(path: Path) -> None:
    path.touch()
    os.truncate(path, 40 << 30)


def random_bytes(path: Path) -> None:
    path.write_bytes(random.Random(1).randbytes(3 << 20))


def one_long_key(path: Path) -> None:
    path.write_text("a" + ".a" * 20_000 + " = 1", "utf-8")


def many_deep_keys(path: Path) -> None:
    path.write_text("".join(f"a{n}{'.b' * 30} = 1\n" for n in range(20_000)), "utf-8")


def many_small_values(path: Path) -> None:
    path.write_text("[" + "[]," * 200_000 + "[]]", "utf-8")


def deep(path: Path) -> None:
    path.write_text("[" * 50_000, "utf-8")


def a_bomb(path: Path) -> None:
    """Ten megabytes that unpack to ten gigabytes of spaces."""
    member = gzip.compress(b" " * (64 << 20), 6)
    with path.open("wb") as file:
        for _ in range(160):
            file.write(member)


def a_bomb_of_documents(path: Path) -> None:
    """Some megabytes that unpack to ten gigabytes of documents."""
    document = (1 << 20).to_bytes(4, "little") + b"\x02a\0" + ((1 << 20) - 13).to_bytes(4, "little")
    document += b" " * ((1 << 20) - 13 - 1) + b"\0\0"
    member = gzip.compress(document * 64, 6)
    with path.open("wb") as file:
        for _ in range(90):
            file.write(member)


BAD: tuple[Bad, ...] = (
    *(zeros_without_end, a_pipe, a_socket, a_folder, a_link_to_itself, nothing_but_size, random_bytes),
    *(one_long_key, many_deep_keys, many_small_values, deep, a_bomb, a_bomb_of_documents),
)
NOWHERE = "mongodb://eva@127.0.0.1:9/?serverSelectionTimeoutMS=100"


def _in_a_dump(path: Path, folder: Path, name: str) -> Sequence[str]:
    (folder / "dump" / "shop").mkdir(parents=True)
    (folder / "dump" / "shop" / "sound.bson").write_bytes(b"\x05\0\0\0\0")
    path.rename(folder / "dump" / "shop" / name)
    return "collections", str(folder / "dump")


READERS: dict[str, Words] = {
    "profile": lambda path, _: ("collections", "sample:", "--profile", str(path)),
    "plan": lambda path, _: ("repair", "sample:", "--plan", str(path)),
    "plan of a reversal": lambda path, _: ("revert", "sample:", NS, "--plan", str(path), "--apply"),
    "plan of a comparison": lambda path, _: ("compare", "sample:", NS, "sample:", NS, "--plan", str(path), "--apply"),
    "plan of a change": lambda path, _: ("change", "sample:", NS, "--plan", str(path), "--apply"),
    "plan of a retention": lambda path, _: ("retain", "sample:", NS, "--plan", str(path), "--apply"),
    "password": lambda path, _: ("collections", NOWHERE, "--password-file", str(path)),
    "compared": lambda path, _: ("diff", str(path), str(path)),
    "merged": lambda path, _: ("merge", str(path), str(path), str(path)),
    "history": lambda path, _: ("import", str(path), "sample:", NS),
    "parts": lambda path, _: ("scan", "sample:", "--merge", str(path)),
    "source": lambda path, _: ("collections", str(path)),
    "file of a dump": lambda path, folder: _in_a_dump(path, folder, "bad.bson"),
    "packed file of a dump": lambda path, folder: _in_a_dump(path, folder, "bad.bson.gz"),
    "metadata of a dump": lambda path, folder: _in_a_dump(path, folder, "sound.metadata.json"),
    "authority": lambda path, _: ("collections", f"mongodb://127.0.0.1:9/?tls=true&tlsCAFile={path}"),
    "key": lambda path, _: ("collections", f"mongodb://127.0.0.1:9/?tls=true&tlsCertificateKeyFile={path}"),
    "standard input": lambda path, _: ("insert", "sample:", NS, "-"),
}


@dataclass(frozen=True)
class Case:
    """A command that reads a bad file."""

    reader: str
    bad: Bad

    def fault(self) -> str:
        """What is wrong; "" if nothing is."""
        with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
            folder = Path(name)
            path = folder / "bad"
            self.bad(path)
            words = READERS[self.reader](path, folder)
            environment = os.environ | {"PALIMPSEST_HOME": str(folder / "home"), "PALIMPSEST_DEBUG": ""}
            command = [sys.executable, "-c", RUN, str(ROOM), *words]
            began = time.monotonic()
            stream = path if self.reader == "standard input" and path.exists() and path.is_file() else None
            if self.reader == "standard input" and stream is None and self.bad is not zeros_without_end:
                return ""  # what is no file cannot be given
            given = os.open("/dev/zero" if self.bad is zeros_without_end else stream or os.devnull, os.O_RDONLY)
            try:
                done = subprocess.run(
                    command,
                    cwd=support.ROOT,
                    env=environment,
                    stdin=given,
                    capture_output=True,
                    timeout=SLOW,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return "does not end"
            finally:
                os.close(given)
            said = done.stderr.decode("utf-8", "replace").strip()
            if time.monotonic() - began > SLOW:
                return "is slow"
            if "GREW" in said:
                return said.splitlines()[-1]
            tidy = len(said.splitlines()) == 1 and said.endswith((".", "?")) and "defect" not in said
            return "" if done.returncode == 2 and tidy else self._fine(done.returncode, said)

    def _fine(self, status: int, said: str) -> str:
        """A dump with a bad file is shown without it, which is told; whatever can be read may be read."""
        if self.reader in ("compared", "merged") and status in (0, 1) and not said:
            return ""
        shown = status == 0 and ("dump" in self.reader or self.reader == "source")
        return "" if shown and "defect" not in said and "Traceback" not in said else f"ends with {status}: {said[:500]}"


RUN = """
import re, resource, sys
from pathlib import Path
from gui.__main__ import main
room, *words = sys.argv[1:]
status = main(words)
# Not ru_maxrss, which a new process takes over from the one that started it.
grown = int(re.search(r"VmHWM:\\s*(\\d+)", Path("/proc/self/status").read_text())[1]) * 1024
children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
if max(grown, children) > int(room):
    print(f"GREW to {max(grown, children) >> 20} MB", file=sys.stderr)
sys.exit(status)
"""


def cases() -> list[Case]:
    """Every command with every bad file."""
    return [Case(reader, bad) for reader in READERS for bad in BAD]


def faults(chosen: Sequence[Case], folder: Path) -> Iterator[str]:
    """What is wrong with each case."""
    before = Path.cwd()
    os.chdir(folder)  # the path of a socket may not be long
    try:
        for case in chosen:
            if fault := case.fault():
                yield f"{case.reader}, {case.bad.__name__}: {fault}"
    finally:
        os.chdir(before)


def attack(folder: Path, number: int | None = None, seed: int = 1) -> list[str]:
    """What is wrong with all cases, or with so many that are drawn."""
    every = cases()
    return [*faults(every if number is None else random.Random(seed).sample(every, number), folder)]
