"""Names offered for a file: every system accepts them, whatever a collection or document is called."""

from __future__ import annotations

import pytest

from gui.style.wording import file_name


@pytest.mark.parametrize("device", ["con", "NUL", "aux", "Prn.txt", "com1", "LPT9.a.b", "com²", "aux ", "CONIN"])
def test_a_device_of_windows_is_no_file(device: str) -> None:
    assert file_name(device, ".jsonl") == f"palimpsest-{device.strip()}.jsonl"


@pytest.mark.parametrize(
    "said",
    [
        "../../etc/passwd",
        "a:b",
        'a"b',
        "a\\b",
        "a*?<>|b",
        "a\0b",
        "a\nb",
        "dots...",
        " blanks ",
        "\u202egpj.exe",
        "-rf",
    ],
)
def test_no_sign_that_a_system_forbids_and_no_path_is_in_a_name(said: str) -> None:
    name = file_name(said, ".png")
    assert not set('<>:"/\\|?*\0\n\u202e') & set(name)
    assert name == name.strip(" .-")
    assert ".." not in name


@pytest.mark.parametrize("said", ["x" * 4000, "日本" * 400, "😀" * 300, "", "...", "///"])
def test_a_name_is_neither_too_long_nor_empty(said: str) -> None:
    name = file_name(said, ".jsonl")
    assert len(name.encode()) <= 255
    assert len(name) > len(".jsonl")


def test_ordinary_names_stay_as_they_are() -> None:
    assert file_name("contracts", ".jsonl") == "contracts.jsonl"
    assert file_name("orders.2026 (März)", "") == "orders.2026 (März)"
