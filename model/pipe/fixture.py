"""The pipe for a team's own tests: import :func:`palimpsest_pipe` where pytest looks for fixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TypeAlias

import pytest

from model.pipe.audit import Audit
from model.pipe.faults import FAULTS, Drawn, FaultPlan
from model.pipe.proxy import Pipe
from model.profile import Profile
from model.session import Session

Opened: TypeAlias = Callable[..., Pipe]


@pytest.fixture
def palimpsest_pipe() -> Iterator[Opened]:
    """Opens pipes: ``palimpsest_pipe(source, audit="layouts.toml", seed=7)`` gives one with ``.uri`` for the program.

    ``plan`` is a plan's file, in place of ``seed``; ``rate`` is the share of writes that fail, from 0 to 1; ``faults``
    are the kinds that are drawn. When the test has ended, each pipe is audited, and the test fails with what is wrong.
    """
    audits: list[tuple[Audit, str]] = []
    with ExitStack() as pipes, ExitStack() as sessions:

        def opened(
            source: str,
            audit: str | Path | None = None,
            seed: int = 0,
            plan: str | Path | None = None,
            rate: float = 0.3,
            faults: tuple[str, ...] = tuple(FAULTS),
        ) -> Pipe:
            session = sessions.enter_context(Session.open(source, profile=audit))
            witness = None
            if audit is not None:
                witness = Audit(session, Profile.load(audit))
                audits.append((witness, f"plan {plan}" if plan is not None else f"seed {seed}"))
            drawn = FaultPlan.load(plan) if plan is not None else Drawn(seed, rate, rate / 30, faults)
            return pipes.enter_context(Pipe(session.dial, drawn, witness=witness))

        yield opened
        pipes.close()
        wrong = [f"{each.kind}: {each.detail} ({how})" for audit, how in audits for each in audit.wrong()]
    if wrong:
        pytest.fail("\n".join(wrong), pytrace=False)
