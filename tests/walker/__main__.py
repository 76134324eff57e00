"""``python -m tests.walker``: the walker in C, under AddressSanitizer, beside the walk in Python on bytes of all kinds.

    python -m tests.walker                       100,000 inputs, after each careless walker has been convicted
    python -m tests.walker --inputs 1000000 --seed 7

Needs a C compiler with AddressSanitizer. Exit status: 0 where both walks agree, no byte outside is read, and every
careless walker is convicted; else 1.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.support import ROOT
from tests.walker import building, comparing

CARELESS = {
    "reads on behind a string": ("length > most - extra ? -1", "0 ? -1"),
    "takes a number for whole": ("most < 8 ? -1 : 8", "8"),
    "believes a document's length": ("length > size - start ||", ""),
    "lets surrogates pass": ("most = 0x9F", "most = 0xBF"),
    "overlooks a name that comes twice": ("names->seen[i].hash == hash &&", "names->seen[i].hash != hash &&"),
    "writes behind the names that it can hold": ("count == MOST_FIELDS || f->name", "f->name"),
    "forgets the first of many names": ("names->slots[slot] = (uint16_t)(i + 1);", "names->slots[slot] = 1;"),
    "writes terms behind the room that it has": ("size > buffer->room - buffer->used", "buffer->bytes == NULL"),
    "takes the beginning of a name for all of it": ("found.begin - 1 - found.name == length &&", ""),
    "takes a time for the number of a version": ("found[VERSION].kind == 9", "0"),
    "overlooks a hash": ("if (found[SEAL].kind)", "if (0)"),
    "takes the beginning of a wanted name for it": ("f.begin - 1 - f.name == lengths[i]", "1"),
    "takes a quote for plain text": ("c != '\"' &&", ""),
    "reads on behind a character that is cut off": ("if ((at[i] & 0xC0) != 0x80)", "if (0)"),
    "shows a character that nobody sees": ("(c >= 0x2010 && c <= 0x2027)", "(c >= 0x2010 && c <= 0x202F)"),
    "forgets that years begin in January": ("+ (month >= 10)", ""),
    "overlooks a name that comes twice among very many": ("PySet_Size(names) == count", "1"),
    "takes any name for a place": ("return length == (Py_ssize_t)sizeof digits - n", "return 1 || length"),
    "writes a small Int64 as if it were an Int32": ("w->notation == EXACT &&", "0 &&"),
    "takes any name for a position": ("memcmp(d.raw + f.name, name, (size_t)digits) != 0", "0"),
}
"""Faults, each as what stands in the source and what it is replaced by."""


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.walker", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000, help="pairs of documents")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--convict", type=int, default=3000, help="inputs that a careless walker gets")
    parser.add_argument("--walker", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.walker:
        return inside(arguments.walker, arguments.seed, arguments.inputs)
    if not building.compiler():
        print("There is no C compiler here, or no header of Python.")
        return 1
    print(f"Seed {arguments.seed}")
    source = building.SOURCE.read_text("utf-8")
    failed = False
    for name, (right, wrong) in CARELESS.items():
        assert source.count(right) == 1, right
        convicted, said = run(source.replace(right, wrong), arguments.seed, arguments.convict)
        print(f"{'convicted' if convicted else 'NOT CONVICTED'}: a walker that {name}: {said}", flush=True)
        failed = failed or not convicted
    wrong_now, said = run(source, arguments.seed, arguments.inputs)
    print(f"The walker itself: {said}")
    return int(failed or wrong_now)


def run(source: str, seed: int, inputs: int) -> tuple[bool, str]:
    """Whether a walker of this source is wrong, and in a line how that shows."""
    with tempfile.TemporaryDirectory() as folder:
        made = building.built(Path(folder), source, (*building.SANITIZED, "-Wno-error"))
        library = subprocess.run(
            [*building.compiler(), "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
        ).stdout.strip()
        sanitized = {"LD_PRELOAD": library, "ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"}
        command = [sys.executable, "-m", "tests.walker", "--walker", str(made)]
        found = subprocess.run(
            [*command, "--seed", str(seed), "--inputs", str(inputs)],
            env={**os.environ, **sanitized}, cwd=ROOT, capture_output=True, text=True,
        )  # fmt: skip
    lines = (found.stdout + found.stderr).splitlines()
    telling = [line for line in lines if "ERROR: AddressSanitizer" in line or "runtime error:" in line] or lines[-1:]
    return found.returncode != 0, (telling or ["it said nothing"])[0][:200]


def inside(path: Path, seed: int, inputs: int) -> int:
    """Compare a compiled walker with Python's walk, in this process."""
    walker, began = building.loaded(path), time.monotonic()
    for number, (a, b) in enumerate(comparing.inputs(seed, inputs)):
        if wrong := comparing.compare(walker, a, b):
            print(f"input {number}: {wrong[0]}")
            return 1
    print(f"{inputs:,} inputs in {time.monotonic() - began:.0f} s: the same results and errors, no byte read outside")
    return 0


if __name__ == "__main__":
    sys.exit(main())
