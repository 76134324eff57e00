"""The published examples of RFC 6902 through ``palimpsest diff --format json-patch``, applied by other code.

``PALIMPSEST_JSON_PATCH_TESTS`` may name further files of such examples, as github.com/json-patch/json-patch-tests has.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from model.commands import command_line
from tests import support
from tests.laws.rfc6902 import applied

FILES = [support.CASES / "rfc6902.json"]
FILES += [Path(name) for name in os.environ.get("PALIMPSEST_JSON_PATCH_TESTS", "").split(os.pathsep) if name]
EXAMPLES = [case for file in FILES for case in json.loads(file.read_text("utf-8")) if not case.get("disabled")]
LEADING = [case for case in EXAMPLES if "expected" in case and "doc" in case]
FAILING = [case for case in EXAMPLES if "expected" not in case and "error" not in case and "comment" not in case]


def _name(case: dict[str, Any]) -> str:
    return str(case.get("name") or case.get("comment") or case["patch"])[:60]


@pytest.mark.parametrize("case", LEADING, ids=_name)
@pytest.mark.parametrize("back", [False, True], ids=["there", "back"])
def test_an_example_s_documents_compared_give_a_patch_from_the_one_to_the_other(
    case: dict[str, Any], back: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sides = [{"top": case["doc"]}, {"top": case["expected"]}][:: -1 if back else 1]
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, side in zip(files, sides, strict=True):
        file.write_text(json.dumps(side), "utf-8")
    status = command_line.main(["diff", *map(str, files), "--format", "json-patch"])
    patch = json.loads(capsys.readouterr().out or "[]")
    assert applied(patch, sides[0]) == sides[1]
    assert status == (json.dumps(sides[0]) != json.dumps(sides[1]))
    assert len(patch) <= max(2, 2 * len(case["patch"]))


@pytest.mark.parametrize("case", LEADING, ids=_name)
def test_what_applies_our_patches_applies_the_published_ones(case: dict[str, Any]) -> None:
    assert applied(case["patch"], case["doc"]) == case["expected"]


@pytest.mark.parametrize("case", FAILING, ids=_name)
def test_what_applies_our_patches_refuses_what_does_not_fit(case: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\."):
        applied(case["patch"], case["doc"])
