"""The choices in Settings that every cell with a date uses."""

from __future__ import annotations

from pathlib import Path

import pytest

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
