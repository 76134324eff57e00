"""``python -m tests.hostile [NAME …]``: the attacks, on the product and on careless forms of it.

Exit status: 0 where nothing comes through to the product and every careless form is convicted, else 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
os.environ["PYTHON_KEYRING_BACKEND"] = "keyring.backends.null.Keyring"

from gui import app
from tests.hostile.attacks import ATTACKS, Attack
from tests.hostile.careless import Taken

SHOWN = 20  # faults of one attack that are printed


def came_through(attack: Attack, guard: Taken | None = None) -> list[str]:
    """What an attack brings about, without one of the guards where one is named."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        stack.enter_context(patch.dict(os.environ, {"PALIMPSEST_HOME": str(folder / "home")}))
        if guard is not None:
            stack.enter_context(guard())
        return attack.run(folder) if guard is None else attack.short(folder)


def main() -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m tests.hostile", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", metavar="NAME", nargs="*", help=f"of {', '.join(each.name for each in ATTACKS)}")
    asked = parser.parse_args()
    app.application(["palimpsest"])
    wrong = 0
    for attack in ATTACKS:
        if asked.names and attack.name not in asked.names:
            continue
        found = came_through(attack)
        wrong += bool(found)
        print(f"{attack.name}: {len(found)} came through", *found[:SHOWN], sep="\n  ", flush=True)
        for guard in attack.guards:
            without = came_through(attack, guard)
            wrong += not without
            verdict = f"convicted by {len(without)}" if without else "NOT CONVICTED"
            print(f"  {guard.__name__}: {verdict}", flush=True)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
