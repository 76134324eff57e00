"""The rows on real files: versions come from a clone, and a comparison that is too slow is reported."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.benchmarks import real_files
from tests.benchmarks.real_files import Pairs


class Peer:
    """Takes so many milliseconds for each pair."""

    missing = why = ""
    folder = Path("nowhere")

    def __init__(self, plain: float, decoding: float) -> None:
        self.took = {"fast-json-patch": plain, "fast-json-patch, decoding": decoding}

    def pairs(self, peer: str, lines: Path, limit: float, clock: str, budget: float) -> list[tuple[float, int]] | str:
        return self.why or [(self.took[peer], 1)] * (len(lines.read_text().splitlines()) - 1)


@pytest.fixture
def clones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "github" / "gemoji"
    place.mkdir(parents=True)
    git = ["git", "-C", str(place), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], check=True)
    for number in (1, 2, 2, 3):  # a version that says the same is none
        (place / "emoji.json").write_text(json.dumps([{"number": number}], indent=number))
        subprocess.run([*git, "add", "emoji.json"], check=True)
        subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "one more"], check=True)
    monkeypatch.setattr(real_files, "FILES", (("github/gemoji", "emoji.json", 10),))
    return tmp_path


def test_versions_of_a_file_are_compared_in_pairs(clones: Path) -> None:
    (found,) = real_files.measured(Peer(1000, 3000), clones, "cpu")  # type: ignore[arg-type]
    assert (found.file, found.count, found.peer, found.decoding) == ("github/gemoji, emoji.json", 2, 2000, 6000)
    assert 0 < found.ours < 2000
    assert found.missed == []


def test_what_cannot_be_had_is_left_out_with_a_reason(
    clones: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    peer = Peer(1, 1)
    peer.missing = "node or npm is not here"
    assert not list(real_files.measured(peer, clones, "cpu"))  # type: ignore[arg-type]
    assert "github/gemoji, emoji.json is left out: node or npm is not here" in capsys.readouterr().out
    peer.missing, peer.why = "", "> 120 s, cut off"
    assert not list(real_files.measured(peer, clones, "cpu"))  # type: ignore[arg-type]
    assert "is left out: fast-json-patch > 120 s, cut off" in capsys.readouterr().out


def test_a_comparison_that_is_slower_than_it_may_be_is_told() -> None:
    assert Pairs("a file", 1, 2.0, 1.0, 2.0).missed == []
    assert Pairs("a file", 1, 2.5, 1.0, 2.2).missed == [
        "a file: 2.5 times fast-json-patch, target 2",
        "a file: 2.5 ms, fast-json-patch with decoding 2.2 ms",
    ]
