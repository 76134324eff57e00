"""The tour: every view as a picture, in both themes, at any size and ratio."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from hashlib import sha1
from pathlib import Path

import pytest
from PySide6.QtGui import QImage

from gui import app, language
from gui.tour import tour
from model.userdata.connections import Connections
from tests.support import ROOT

VIEWS = {
    "opening", "welcome", "connect", "connect-login", "connect-test", "connect-ssh", "scan-consent", "about",
    "main", "history", "diff-inline", "diff-hidden", "layout", "editor-last-set", "json",
    "empty", "bad-filter", "restore", "editor-both", "read-only", "offline", "doubt", "unknown", "failed", "loading",
    "completion", "columns", "explain",
    "delete-picked", "pair", "other-document", "import", "new-document", "delete", "replace", "keys",
    "editor", "editor-json", "drafts",
    "prompt", "resolver", "pending", "journal", "repair", "health", "settings", "palette", "help", "states",
    "activity-loading", "activity", "activity-day", "activity-empty", "activity-failed",
    "take-back", "take-back-later-edit",
    "payload", "payload-list", "javers", "javers-list",
    *(
        f"{view}-{state}" for state in ("failed", "loading", "read-only", "offline") for view in
        ("list", "pair", "two-times", "two-collections", "drafts", "change-map", "blame", "field", "bisect",
         "take-back", "pending", "journal", "migrate", "repair", "health", "check")
    ),
    *(f"{view}-unknown" for view in ("list", "resolver", "take-back", "pending", "journal", "migrate", "repair")),
    *(f"{view}-empty" for view in ("drafts", "journal", "health", "check", "bisect")),
    *(f"{view}-empty" for view in
      ("repair", "pair", "blame", "field", "two-times", "pending", "migrate", "activity", "activity-live")),
    *(f"{view}-{state}" for view in ("activity", "activity-live") for state in ("read-only", "offline")),
    "activity-live", "archive", "bisect", "blame", "change-map", "check", "document", "field", "found-in", "migrate",
    "pending-drop", "process-entry", "version", "words",
    "two-times-first", "two-collections-first", "two-collections-empty", "two-collections",
    "resolver-read-only", "resolver-offline", "as-of-time", "as-of", "two-times", "deleted", "reason",
    "retention-rule", "retention", "copies", "erasing",
}  # fmt: skip
COMMANDS = {"find", "aggregate", "count", "listIndexes"}


def yielded() -> set[str]:
    """The names of pictures that the tour spells out."""
    nodes = [
        node
        for path in (ROOT / "gui/tour").glob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple)
    ]
    return {str(first.value) for node in nodes if isinstance(first := node.value.elts[0], ast.Constant)}


def test_every_picture_that_the_tour_names_is_expected() -> None:
    assert len(yielded()) > 50
    assert not yielded() - VIEWS, "add it to VIEWS in tests/gui/tour/test_tour.py"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("first", "views", "texts", "commands"),
    [
        pytest.param("9", {"opening", "welcome", "connect"}, 100, {"find"}, id="the first views"),
        pytest.param("", VIEWS, 500, COMMANDS, id="all views", marks=[pytest.mark.long, pytest.mark.deep]),
    ],
)
def test_every_view_is_rendered_as_asked_for_in_the_chosen_language_and_nothing_of_ones_own_is_touched(
    tmp_path: Path, home: Path, first: str, views: set[str], texts: int, commands: set[str]
) -> None:
    before = sorted(path.name for path in home.rglob("*"))
    asked = ["--theme", "dark", "--size", "1440x900", "--ratio", "1.25", "--zoom", "110"]
    done = subprocess.run(
        [sys.executable, "-m", "tests.gui.tour.watched_tour", f"--first={first}", str(tmp_path), *asked],
        cwd=ROOT, env=os.environ | {"QT_QPA_PLATFORM": "offscreen"}, check=False, encoding="utf-8", capture_output=True,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    assert seen["texts"] > texts
    assert seen["bare"] == []  # signs stand for all letters: what is still to be read is data, or was forgotten
    assert commands <= set(seen["commands"])
    assert seen["unbounded"] == []  # no query of any view is without a limit or a time
    pictures = list(tmp_path.iterdir())
    assert {path.name for path in pictures} >= {f"{view}-dark.png" for view in views}
    images = ((path.name, QImage(str(path))) for path in pictures)
    drawn = [(name, (image.width(), image.height()), sha1(image.constBits()).digest()) for name, image in images]
    # The page of states is as high as it has to be, and words stand in a window.
    assert {size for name, size, _ in drawn if not name.startswith(("states", "words"))} == {(1800, 1125)}
    assert len({pixels for *_, pixels in drawn}) == len(drawn)
    assert sorted(path.name for path in home.rglob("*")) == before
    assert not Connections().all()


@pytest.mark.parametrize(
    "words", [["--size", "big"], ["--ratio", "9"], ["--theme", "pink"], ["--zoom", "300"], ["--language", "xx"], []]
)
def test_wrong_words_end_with_2(words: list[str], tmp_path: Path) -> None:
    assert tour.main([*([str(tmp_path)] if words else []), *words]) == 2


def test_a_folder_that_cannot_be_made_is_said_in_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert tour.main([str(tmp_path / "file" / "deeper")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be made" in said


def test_without_a_font_the_tour_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "has_fonts", lambda: False)
    assert tour.main([str(tmp_path)]) == 2
    assert not list(tmp_path.iterdir())


def test_a_tour_in_another_language_takes_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "has_fonts", lambda: False)  # it ends before the first picture
    before = language.locale().name().partition("_")[0]
    try:
        assert tour.main([str(tmp_path), "--language", "de"]) == 2
        assert language.tr("Cancel") == "Abbrechen"
    finally:
        language.choose(before)
        language.install()  # the tour gave the application Qt's own words
