"""The choices in Settings that every cell with a date uses."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray

from gui.style import preferences


def test_the_file_of_the_choices_is_looked_for_once_in_each_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for: list[str] = []

    def path(text: str) -> Path:
        looked_for.append(text)
        return Path(text)

    monkeypatch.setattr(preferences, "Path", path)
    for name in ("one", "two"):
        monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / name))
        preferences.put("zone", "Europe/Berlin" if name == "one" else "Asia/Tokyo")
        assert [preferences.zone() for _ in range(3)] == [preferences.get("zone")] * 3
    monkeypatch.setenv("PALIMPSEST_HOME", str(tmp_path / "one"))
    assert preferences.zone() == "Europe/Berlin"
    assert looked_for == [str(tmp_path / name) for name in ("one", "two", "one")]
    preferences.forget()


def test_the_system_is_asked_for_its_zone_once_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Zones:
        @staticmethod
        def systemTimeZoneId() -> QByteArray:
            asked.append("Europe/Berlin" if not asked else "Asia/Tokyo")
            return QByteArray(asked[-1].encode())

    now = [1000.2]
    monkeypatch.setattr(preferences, "QTimeZone", Zones)
    monkeypatch.setattr(preferences.time, "monotonic", lambda: now[0])
    preferences._zone_then.cache_clear()
    assert [preferences.system_zone() for _ in range(50)] == ["Europe/Berlin"] * 50
    now[0] += 1
    assert [preferences.system_zone() for _ in range(50)] == ["Asia/Tokyo"] * 50
    preferences._zone_then.cache_clear()
