"""A repair that is killed before and after every one of its writes, and then run again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from model.userdata.journal import Journal
from tests import support
from tests.repairing.planting import Case, contents, snapshot
from tests.repairing.proving import Counting, Dead, Place, place, same

ROOT = support.ROOT


def writes_of(case: Case, uri: str, names: str, home: Path) -> int:
    """How many writes repairing one document takes."""
    with place(case, uri, names, 1, home / "count") as here:
        port = Counting(here.session._connection.opened.server)
        list(here.repairs(port).apply(here.plan()))
        return port.writes


def killed(
    case: Case, uri: str, names: str, home: Path, at: int, behind: bool, really: bool = False, forgotten: bool = False
) -> list[str]:
    """Kill one run at a write, run the same plan again, then scan and repair anew; what is wrong about it.

    ``forgotten``: whoever runs it again has not the journal of the one that died.
    """
    where = f"{case.name}, {names}, killed {'behind' if behind else 'before'} write {at}"
    wrong: list[str] = []
    with place(case, uri, names, 1, home / f"{at}{behind}") as here:
        before, kept = snapshot(here.database), contents(here.database, here.names)
        plan = here.plan()
        if really:
            plan.save(here.home / "plan.json")
            status = _really(here, uri, at, behind)
            if status != -signal.SIGKILL:
                wrong.append(f"the process ended with {status}")
        else:
            try:
                list(here.repairs(Counting(here.session._connection.opened.server, at, behind)).apply(plan))
                wrong.append("nobody was killed")
            except Dead:
                pass
        if not case.counts and (lost := kept - contents(here.database, here.names)):
            wrong.append(f"{len(lost)} contents are lost with the process")
        if forgotten:
            here.session.journal = Journal(here.home / "elsewhere")
        outcomes = list(here.repairs().apply(plan))
        wrong += [
            f"again, item {no} ended {o.kind}: {o.detail}" for no, o in outcomes if o.kind in ("unknown", "refused")
        ]
        for _ in range(case.rounds):
            if left := here.findings():
                if case.rounds == 1 and not forgotten:
                    wrong.append(f"the same plan left {[(each.code, each.detail) for each in left[:3]]}")
                list(here.repairs().apply(here.plan()))
        if left := here.findings():
            wrong.append(f"the damage is still there: {[(each.code, each.detail) for each in left[:3]]}")
        if not case.counts and (lost := kept - contents(here.database, here.names)):
            wrong.append(f"{len(lost)} contents are lost")
        third = Counting(here.session._connection.opened.server)
        list(here.repairs(third).apply(plan))
        if third.writes:
            wrong.append(f"the third run wrote {third.writes} times")
        wrong += [] if forgotten else _undone(here, before)
    return [f"{where}: {each}" for each in wrong]


def _undone(here: Place, before: dict[str, list[bytes]]) -> list[str]:
    """Everything that any process wrote for the plans, taken back from the newest on."""
    runs = [entry.extra["run"] for e in here.session.journal.entries() if (entry := here.session.journal.record(e.id))]
    for run in dict.fromkeys(runs):
        said = list(here.repairs().undo(run))
        if bad := [o for o in said if o.kind not in ("applied", "skipped")]:
            return [f"undo ended {o.kind}: {o.detail}" for o in bad]
    return [each for each in same(before, snapshot(here.database)) if not each.startswith("order:")]


def _really(here: Place, uri: str, at: int, behind: bool) -> int:
    """The same in a process of its own, which ends itself by SIGKILL."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PALIMPSEST_HOME": str(here.home)}
    arguments = [uri, str(here.profile), str(here.home), str(at), str(behind)]
    command = [sys.executable, "-m", "tests.repairing.killing", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=False, timeout=120).returncode


def _victim(uri: str, profile: str, home: str, at: int, behind: bool) -> None:
    """Apply the plan, and be killed on the way."""
    from model.catalogue.catalogue import Catalogue
    from model.profile import Profile
    from model.session import Session
    from model.session.repairs import Repairs
    from model.writing.writer import Writer

    with Session.open(uri, profile=profile, home=Path(home)) as session:
        server = session._connection.opened.server
        port = Counting(server, at, behind, lambda: os.kill(os.getpid(), signal.SIGKILL))
        catalogue = Catalogue(server, port, Profile.load(profile), session.source)
        repairs = Repairs(Writer(catalogue, port, session.journal, session.source, "tester"), lambda *_: None)
        list(repairs.apply(repairs.load(Path(home) / "plan.json")))


if __name__ == "__main__":
    _victim(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5] == "True")
