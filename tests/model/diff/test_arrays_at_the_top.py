"""``palimpsest diff`` of files that hold an array, as mongoexport and Compass write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from model.commands import command_line
from tests import support

CASES = [
    ('[{"_id":1,"a":1}]', '[{"_id":1,"a":2}]', 1, [["replace", [0, "a"]]]),
    ('[{"_id":1,"a":1}]', '[{"_id":1,"a":1}]', 0, []),
    ("[]", "[]", 0, []),
    ("[]", '[{"_id":1}]', 1, [["add", [0]]]),
    ('[{"_id":1},{"_id":2,"b":1}]', '[{"_id":2,"b":[1]}]', 1, [["remove", [0]], ["replace", [1, "b"]]]),
    ('[{"_id":1},{"_id":2}]', '[{"_id":2},{"_id":1}]', 1, [["move", [0]]]),
    ("[1, [2, 3]]", "[1, [2, 4]]", 1, [["replace", [1, 1]]]),
    ("[1]", '[{"$numberLong": "1"}]', 1, [["retype", [0]]]),
]


@support.table("a, b, status, expected", CASES)
def test_paths_begin_with_positions(
    a: str, b: str, status: int, expected: list[object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(tmp_path / "a.json"), str(tmp_path / "b.json")]
    for path, written in zip(files, (a, b), strict=True):
        Path(path).write_text(written, "utf-8")
    assert command_line.main(["diff", *files, "--json"]) == status
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [[row["op"], row["path"]] for row in rows] == expected
    assert command_line.main(["diff", *files]) == status
    assert bool(capsys.readouterr().out) == bool(status)
    assert command_line.main(["diff", *files, "--format", "json-patch"]) == status
    patch = json.loads(capsys.readouterr().out)
    assert bool(patch) == bool(status)
    assert all(row["path"].startswith("/") for row in patch)
    assert command_line.main(["diff", *files, "--format", "deepdiff"]) == status
    assert "root" in capsys.readouterr().out or not status


def test_a_document_beside_an_array_and_what_is_neither_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, written in (("array", "[]"), ("document", "{}"), ("number", "5")):
        (tmp_path / name).write_text(written, "utf-8")
    array, document, number = (str(tmp_path / name) for name in ("array", "document", "number"))
    for sides, said in (
        ([array, document], "array holds an array and the other file one document"),
        ([document, array], "array holds an array and the other file one document"),
        ([number, array], "this is a value of type Int32"),
        ([array, array, "--format", "delta"], "A Delta leads from one document to another"),
    ):
        status = command_line.main(["diff", *sides])
        assert (status, said in capsys.readouterr().err) == (2, True)
    assert command_line.main(["merge", array, array, array]) == 2
    assert "a document is written {…}" in capsys.readouterr().err
