"""Settings take effect at once and last until the next run."""

from __future__ import annotations

import datetime as dt

import pytest
from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QLabel, QWidget
from pytestqt.qtbot import QtBot

from gui.style import preferences, theme, wording
from gui.window.settings_dialog import SettingsDialog
from gui.window.window import Window
from model.values.canonical import Value
from tests.gui.window.windows import new_window


def dialog(qtbot: QtBot) -> SettingsDialog:
    made = SettingsDialog(new_window(qtbot))
    made.open()
    return made


def test_a_hint_stands_right_below_its_field_and_nearer_than_the_next_setting(qtbot: QtBot) -> None:
    asked = dialog(qtbot)
    qtbot.waitExposed(asked)

    def top_and_bottom(part: QWidget) -> tuple[int, int]:
        top = part.mapTo(asked, QPoint()).y()
        return top, top + part.height()

    hints = [top_and_bottom(part) for part in asked.findChildren(QLabel) if part.property("role") == "hint"]
    fields = [top_and_bottom(part) for part in (asked.theme, asked.language, asked.zone, asked.rows, asked.motion)]
    below = {hint[0] - max(bottom for _, bottom in fields if bottom <= hint[0]) for hint in hints}
    behind = [min(top for top, _ in fields if top >= hint[1]) - hint[1] for hint in hints[:-1]]
    assert len(hints) == 3
    assert below == {theme.px(4)}
    assert min(behind) > 2 * theme.px(4)


def test_a_theme_is_in_force_at_once(qtbot: QtBot) -> None:
    asked = dialog(qtbot)
    asked.theme.group.button(2).click()
    assert theme.is_dark()
    asked.theme.group.button(1).click()
    assert not theme.is_dark()


def test_what_is_chosen_is_there_in_the_next_run(qtbot: QtBot) -> None:
    asked = dialog(qtbot)
    asked.zone.setCurrentIndex(asked.zone.findData("Asia/Tokyo"))
    asked.rows.group.button(0).click()
    asked.motion.group.button(2).click()
    preferences.forget()
    assert preferences.zone() == "Asia/Tokyo"
    assert preferences.get("page_size") == 25
    assert not preferences.still()


def test_dates_are_shown_in_the_chosen_zone_with_its_summer_time() -> None:
    summer = dt.datetime(2026, 7, 1, 22, 30, tzinfo=dt.UTC)
    winter = dt.datetime(2026, 12, 1, 22, 30, tzinfo=dt.UTC)
    assert (wording.moment(summer), wording.moment(winter)) == ("02 Jul 2026 00:30", "01 Dec 2026 23:30")
    preferences.put("zone", "America/New_York")
    assert (wording.moment(summer), wording.moment(winter)) == ("01 Jul 2026 18:30", "01 Dec 2026 17:30")


def test_times_lately_are_said_as_people_say_them() -> None:
    now = dt.datetime(2026, 11, 20, 13, 2, tzinfo=dt.UTC)
    said = [wording.recently(now - dt.timedelta(days=days), now) for days in (0, 1, 2, 20)]
    assert said == ["today, 14:02", "yesterday", "2 days ago", "31 Oct 26"]


def test_sizes_counts_and_versions_are_worded_once() -> None:
    assert [wording.size(n) for n in (0, 1023, 1024, 2150, 16_777_216)] == [
        "0 B",
        "1023 B",
        "1.0 KB",
        "2.1 KB",
        "16.0 MB",
    ]
    assert wording.many(1, "field") == "1 field"
    assert wording.many(2318, "document") == "2,318 documents"
    assert wording.version(Value.of(14)) == "v14"
    assert wording.version(Value.of("a3f5c2b19e77d0aa")) == "a3f5c2b"
    assert wording.version(None) == ""
    assert wording.plain(Value.of("K-204117")) == "K-204117"


def test_a_zone_that_the_file_names_and_nobody_knows_does_no_harm() -> None:
    preferences.put("zone", "Mars/Olympus")
    assert wording.moment(dt.datetime(2026, 7, 1, 22, 30, tzinfo=dt.UTC)) == "01 Jul 2026 22:30"


def test_nothing_moves_where_the_system_asks_for_that_or_the_person_does(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = dialog(qtbot)
    said = {}
    for wish in (False, True):
        monkeypatch.setattr(preferences, "system_reduces_motion", wish)
        for at, chosen in enumerate(("system", "less", "full")):
            asked.motion.group.button(at).click()
            said[wish, chosen] = preferences.still()
    assert said == {
        (False, "system"): False,
        (False, "less"): True,
        (False, "full"): False,
        (True, "system"): True,
        (True, "less"): True,
        (True, "full"): False,
    }
    assert preferences.DEFAULTS["motion"] == "system"


def test_the_sidebar_folds_at_once_where_the_system_reduces_motion(
    window: Window, monkeypatch: pytest.MonkeyPatch
) -> None:
    sidebar = window.workspace.sidebar
    preferences.put("motion", "system")
    unfolded = sidebar.width()
    sidebar.fold(True)
    assert sidebar.width() == unfolded  # on its way
    sidebar.fold(False, at_once=True)
    monkeypatch.setattr(preferences, "system_reduces_motion", True)
    sidebar.fold(True)
    assert sidebar.width() < unfolded
