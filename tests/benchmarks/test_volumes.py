"""The rows on large data: a figure beyond its limit is reported, whether it is too high or too low."""

from __future__ import annotations

import pytest

from tests.benchmarks import volumes
from tests.benchmarks.volumes import Volume


def test_what_does_not_reach_its_target_is_told() -> None:
    assert Volume("memory", 73.0, "MB", 150).missed == []
    assert Volume("memory", 183.25, "MB", 150).missed == ["memory: 183 MB, target 150"]
    assert Volume("reading", 200.0, "MB/s", 200, least=True).missed == []
    assert Volume("reading", 120.0, "MB/s", 200, least=True).missed == ["reading: 120 MB/s, target 200"]


@pytest.mark.deep
def test_a_dump_is_read_in_a_process_of_its_own_and_its_memory_is_what_that_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(volumes, "GIGABYTE", 100_000_000)
    held = bytearray(300 << 20)
    shown, rate, most = volumes._dump("cpu")
    assert len(held) > most.figure * 1e6 > 20e6, "the memory of whoever measures is none of it"
    assert 0 < shown.figure < 60
    assert rate.figure > 0
