"""Modules imported at their first use, also while another thread is importing them."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from model.foundation.late_module import LateModule

MODULE = """
from threading import Thread
from model.foundation.late_module import LateModule

found = []
thread = Thread(target=lambda: found.append(LateModule(__name__).value))
thread.start()
thread.join(0.05)
value = 1
"""


def test_a_thread_that_uses_a_module_waits_until_another_one_has_imported_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "module_of_two_threads.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("module_of_two_threads")
    module.thread.join()
    assert module.found == [1]


def test_nothing_is_imported_before_it_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    late = LateModule("module_of_later")
    (tmp_path / "module_of_later.py").write_text("value = 2")
    monkeypatch.syspath_prepend(tmp_path)
    assert late.value == 2
