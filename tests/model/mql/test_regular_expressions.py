"""Every regular expression ends in time."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from model.commands import command_line
from model.mql import regular_expressions
from model.mql.command_error import CommandError
from tests import support

ENDLESS = "(a|aa)+$"
TEXT = "a" * 60 + "b"  # some ten thousand million ways to read it


def test_a_pattern_that_would_not_end_is_given_up_and_other_threads_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(regular_expressions, "SECONDS", 0.3)
    begun, other, beats = threading.Event(), threading.Event(), []

    def beat() -> None:
        begun.set()
        while not other.wait(0.01):
            beats.append(1)

    thread = threading.Thread(target=beat)
    thread.start()
    begun.wait()
    before = len(beats)
    with pytest.raises(CommandError, match="takes too long on a text of 61 characters"):
        regular_expressions.compiled(ENDLESS, "")(TEXT)
    during = len(beats) - before
    other.set()
    thread.join()
    assert during > 0


@support.table(
    "pattern, flags, text, found",
    [
        ("^K-2", "", "K-204117", True),
        ("^k-2", "i", "K-204117", True),
        ("a.c", "", "a\nc", False),
        ("a.c", "s", "a\nc", True),
        ("^b$", "m", "a\nb", True),
        ("a b # no comment", "x", "ab", True),
        ("[[a]", "", "[", True),
        (r"(?<=\d)x{2,3}", "", "7xxx", True),
    ],
)
def test_patterns_mean_what_they_mean_on_a_server(pattern: str, flags: str, text: str, found: bool) -> None:
    assert regular_expressions.compiled(pattern, flags)(text) is found


@support.table("pattern", ["(", "a**", "*", "(" * 5000 + ")" * 5000])
def test_what_is_no_pattern_is_said(pattern: str) -> None:
    with pytest.raises(CommandError, match="Regular expression is invalid"):
        regular_expressions.compiled(pattern, "")


def test_a_command_with_such_a_pattern_ends_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(regular_expressions, "SECONDS", 0.1)
    rows = [{"_id": n, "docId": "K", "v": n, "note": TEXT} for n in (1, 2)]
    dump = tmp_path / "notes.jsonl"
    dump.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    asked = json.dumps({"note": {"$regex": ENDLESS}})
    assert command_line.main(["collections", str(dump), "--json"]) == 0
    ns = json.loads(capsys.readouterr().out.splitlines()[0])["ns"]
    assert command_line.main(["bisect", str(dump), ns, "K", asked, "--layout", "versions"]) == 2
    _, err = capsys.readouterr()
    assert "takes too long" in err
    assert "Traceback" not in err
