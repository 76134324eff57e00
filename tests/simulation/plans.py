"""The plans over documents that the simulation runs beside the layouts: each subject with what runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tests.simulation import changing, copying, erasing, retaining, taking_back
from tests.simulation.run import Result
from tests.simulation.schedule import Crew

PLANS: Mapping[str, Callable[[str, int, Crew], Result]] = {
    **dict.fromkeys(taking_back.SUBJECTS, taking_back.run_taking_back),
    **dict.fromkeys(changing.SUBJECTS, changing.run_changing),
    **dict.fromkeys(retaining.SUBJECTS, retaining.run_retaining),
    **dict.fromkeys(copying.SUBJECTS, copying.run_copying),
    **dict.fromkeys(erasing.SUBJECTS, erasing.run_erasing),
}
